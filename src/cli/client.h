/* client.h - what the commands that are clients of gerne.h share: flags as a configuration, models,
 * texts of the library as output. */
#ifndef GN_CLI_CLIENT_H
#define GN_CLI_CLIENT_H

#include "cli/command.h"

/* Which flags a call of the library is to get. */
typedef bool gn_flag_filter(const void *user, const char *key);

/* Sets the flags that the filter lets through. */
GERNE_CHECKED gerne_status gn_set_flags(gn_cli *cli, gn_flag_filter *filter, const void *user,
                                        gerne_config *config);

/* The model in the first argument, with the flags that models know; the command's own are not
 * among them. */
GERNE_CHECKED gerne_status gn_open_model(gn_cli *cli, gerne_model **out);

/* A filter: the section data. And whether any flag belongs to it. */
bool gn_is_data_key(const void *unused, const char *key);
bool gn_has_data_keys(const gn_cli *cli);

/* What --json asks for. */
gerne_form gn_form(const gn_cli *cli);

/* Appends what a call has given, and frees it; nothing unless status says that it went well. */
GERNE_CHECKED gerne_status gn_output_text(gn_cli *cli, gerne_status status, char *text);

#endif
