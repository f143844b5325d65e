/* commands.c - the command table. A new command is one file and one line here. */
#include "cli/command.h"

/* clang-format off */
const gn_command *const gn_commands[] = {
    &gn_command_audit,
    &gn_command_bounds,
    &gn_command_data,
    &gn_command_train,
    &gn_command_tune,
    &gn_command_eval,
    &gn_command_predict,
    &gn_command_export,
    &gn_command_report,
    &gn_command_reproduce,
    &gn_command_methods,
    &gn_command_models,
    &gn_command_help,
    &gn_command_completion,
    &gn_command_version,
    NULL,
};
/* clang-format on */
