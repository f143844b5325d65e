/* data.c - gerne data info: what a dataset is. */
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "data/describe.h"

typedef struct data_command {
    gn_data_options data;
} data_command;

static gerne_status setup(gn_cli *cli)
{
    data_command *self;
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 1, sizeof *self, &self));
    cli->options = self;
    return gn_data_options_add(cli->ctx, cli->config, &self->data);
}

static int thread_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > 64 ? 64 : (int)count;
}

static gerne_status print_info(gn_cli *cli, gn_dataset *dataset)
{
    gn_inspection inspection;
    GN_TRY(gn_dataset_inspect(cli->ctx, dataset, thread_count(), &inspection));
    if (!cli->json)
        return gn_dataset_text(cli->ctx, dataset, &inspection, &cli->output);
    json_t *json;
    GN_TRY(gn_dataset_json(cli->ctx, dataset, &inspection, &json));
    return gn_output_json(cli, json);
}

static gerne_status run_info(gn_cli *cli)
{
    data_command *self = cli->options;
    gn_dataset *dataset;
    GN_TRY(gn_dataset_open(cli->ctx, &self->data, &dataset));
    gerne_status status = print_info(cli, dataset);
    gn_dataset_close(dataset);
    return status;
}

static gerne_status run(gn_cli *cli)
{
    const char *verb = cli->argument_count ? cli->arguments[0] : "info";
    if (strcmp(verb, "info") == 0)
        return run_info(cli);
    gn_fail(cli->ctx, GERNE_EUSAGE, "'%s' is not something that 'gerne data' does", verb);
    gn_hint(cli->ctx, "gerne data info [data.* keys]");
    return GERNE_EUSAGE;
}

const gn_command gn_command_data = {
    .name = "data",
    .arguments = "info [data.* keys]",
    .summary = "describe a dataset",
    .help = "'info' prints what a dataset holds: samples per split and group, sizes, a few file\n"
            "names, and problems; every image file is looked at.\n",
    .max_arguments = 1,
    .setup = setup,
    .run = run,
};
