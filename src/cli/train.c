/* train.c - gerne train: one run into a run directory, or resuming one. */
#include <string.h>

#include "cli/client.h"
#include "train/options.h"

typedef struct train_flags {
    const char *resume;
} train_flags;

static train_flags given;
static gn_run_config described; /* where the tables of help point to */

static const gn_option options[] = {
    {"resume", GN_TEXT, offsetof(train_flags, resume),
     .help = "resume the run in this directory exactly where it stopped"},
};

static const char help[] =
    "Trains a network and writes the run directory (--out): config.yaml, log.jsonl,\n"
    "results.json, predictions.csv of the test split, best.safetensors, last.ckpt, a\n"
    "TensorBoard event file, images of the worst group's errors, and report.html, which\n"
    "shows all of it. Every key below can also be set in the YAML file, under its section;\n"
    "flags override the file.\n"
    "\n"
    "  gerne train --method.name erm --out runs/erm              the embedded synthetic data\n"
    "  gerne train --method.c 0.5 --method.beta 1 --out runs/gerne\n"
    "  gerne train --method.attributes unknown --method.t 0.01 --out runs/unknown\n"
    "  gerne train config.yaml --seed 1 --out runs/seed1\n"
    "  gerne train --resume runs/seed1\n"
    "  gerne train --plugin mine.so --method.name mine --out runs/mine     a method of your own\n"
    "\n"
    "The checkpoint with the best select.metric on the validation split is selected; the\n"
    "test split is read once, at the end. A run that was interrupted or killed is resumed\n"
    "with --resume and gives the same bits as an uninterrupted one; if its method comes from a\n"
    "plug-in, with the same --plugin.\n";

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_config_add(cli->ctx, cli->config, "", "Resuming", options, 1, &given));
    return gn_run_config_describe(cli->ctx, cli->config, cli->arena, &described);
}

static bool is_own(const char *key)
{
    static const char *const keys[] = {"resume", "json", "quiet", GN_PLUGIN_FLAG};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static bool is_of_run(const void *unused, const char *key)
{
    (void)unused;
    return !is_own(key);
}

static gerne_status apply_own_flags(gn_cli *cli)
{
    gn_settings own = {.arena = cli->arena};
    gerne_status status = GERNE_OK;
    for (size_t i = 0; status == GERNE_OK && i < cli->flags.count; i++) {
        const gn_setting *s = &cli->flags.list[i];
        if (is_own(s->key))
            status = gn_settings_add(cli->ctx, &own, s->key, s->items, s->count, s->is_list, 0);
    }
    if (status == GERNE_OK)
        status = gn_config_apply(cli->ctx, cli->config, &own);
    gn_settings_free(&own);
    return status;
}

static gerne_status start(gn_cli *cli, char **out)
{
    gerne_config *config;
    GN_TRY(gerne_config_new(cli->ctx, &config));
    gerne_status status = GERNE_OK;
    if (cli->argument_count)
        status = gerne_config_read(cli->ctx, config, cli->arguments[0]);
    if (status == GERNE_OK)
        status = gn_set_flags(cli, is_of_run, NULL, config);
    if (status == GERNE_OK)
        status = gerne_train(cli->ctx, config, NULL, gn_form(cli), out);
    gerne_config_close(config);
    return status;
}

static gerne_status resume(gn_cli *cli, char **out)
{
    const char *other = cli->argument_count ? cli->arguments[0] : NULL;
    for (size_t i = cli->flags.count; i-- > 0;)
        if (!is_own(cli->flags.list[i].key))
            other = cli->flags.list[i].key;
    if (!other)
        return gerne_resume(cli->ctx, given.resume, NULL, gn_form(cli), out);
    gn_fail(cli->ctx, GERNE_EUSAGE, "'--resume' takes no other keys, but '%s' is given", other);
    gn_hint(cli->ctx, "a run is resumed with the configuration that it was started with");
    return GERNE_EUSAGE;
}

static gerne_status run(gn_cli *cli)
{
    char *out = NULL;
    GN_TRY(apply_own_flags(cli));
    gerne_status status = given.resume ? resume(cli, &out) : start(cli, &out);
    return gn_output_text(cli, status, out);
}

const gn_command gn_command_train = {
    .name = "train",
    .arguments = "[CONFIG.yaml]",
    .summary = "Train a network and report its accuracy on every group",
    .help = help,
    .max_arguments = 1,
    .applies_flags_itself = true,
    .on_ranks = GN_RANKS_TOGETHER,
    .takes_plugin = true,
    .setup = setup,
    .run = run,
};
