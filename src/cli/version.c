/* version.c - gerne version. */
#include "cli/command.h"

static gerne_status run(gn_cli *cli)
{
    char mpi[64];
    gn_mpi_words(mpi, sizeof mpi);
    if (cli->json)
        return gn_output_json(cli, json_pack("{s:s,s:s}", "gerne", gerne_version(), "mpi", mpi));
    return gn_text_add(cli->ctx, &cli->output, "gerne %s\nMPI: %s\n", gerne_version(), mpi);
}

const gn_command gn_command_version = {
    .name = "version",
    .arguments = "",
    .summary = "Print the version",
    .run = run,
};
