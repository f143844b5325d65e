/* data.h - subcommands of `gerne data` that have a file of their own. */
#ifndef GN_CLI_DATA_H
#define GN_CLI_DATA_H

#include "cli/command.h"

/* `gerne data tokens`: lines of the standard input as token ids. */
GERNE_CHECKED gerne_status gn_data_tokens(gn_cli *cli, const char *vocab, size_t max_tokens);

#endif
