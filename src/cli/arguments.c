/* arguments.c - from argv to settings. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

enum { KEY_MAX = 128 };

static gerne_status add_flag(gn_cli *cli, const char *key, const char *value)
{
    if (gn_settings_find(&cli->flags, key))
        return gn_fail(cli->ctx, GERNE_EUSAGE, "'--%s' is given twice", key);
    return gn_settings_add(cli->ctx, &cli->flags, key, &value, 1, false, 0);
}

/* --key=value, --key value; a switch (boolean) may stand alone. */
static gerne_status take_flag(gn_cli *cli, int argc, char **argv, int *at)
{
    const char *flag = argv[*at] + 2;
    const char *equals = strchr(flag, '=');
    if (equals) {
        char key[KEY_MAX];
        if (equals - flag >= KEY_MAX)
            return gn_fail(cli->ctx, GERNE_EUSAGE, "unknown key '%s'", flag);
        snprintf(key, sizeof key, "%.*s", (int)(equals - flag), flag);
        return add_flag(cli, key, equals + 1);
    }
    const gn_option *option = gn_config_find(cli->config, flag, NULL);
    const char *next = *at + 1 < argc ? argv[*at + 1] : NULL;
    bool word;
    if (option && option->type == GN_BOOL && !(next && gn_parse_bool(next, &word)))
        return add_flag(cli, flag, "true");
    if (!next) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "'--%s' needs a value", flag);
        if (option)
            gn_hint(cli->ctx, "--%s: %s", flag, option->help);
        return GERNE_EUSAGE;
    }
    ++*at;
    return add_flag(cli, flag, next);
}

gerne_status gn_parse_arguments(gn_cli *cli, int argc, char **argv)
{
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, (size_t)argc, sizeof *cli->arguments,
                          &cli->arguments));
    bool only_arguments = false;
    for (int i = 0; i < argc; i++) {
        if (!only_arguments && strcmp(argv[i], "--") == 0)
            only_arguments = true;
        else if (!only_arguments && strncmp(argv[i], "--", 2) == 0)
            GN_TRY(take_flag(cli, argc, argv, &i));
        else if (!only_arguments && argv[i][0] == '-' && argv[i][1])
            return gn_fail(cli->ctx, GERNE_EUSAGE, "unknown flag '%s' (flags start with --)",
                           argv[i]);
        else
            cli->arguments[cli->argument_count++] = argv[i];
    }
    return GERNE_OK;
}
