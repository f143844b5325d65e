/* version.c - gerne version. */
#include "cli/command.h"

static gerne_status run(gn_cli *cli)
{
    if (cli->json)
        return gn_output_json(cli, json_pack("{s:s}", "gerne", gerne_version()));
    return gn_text_add(cli->ctx, &cli->output, "gerne %s\n", gerne_version());
}

const gn_command gn_command_version = {
    .name = "version",
    .arguments = "",
    .summary = "Print the version",
    .run = run,
};
