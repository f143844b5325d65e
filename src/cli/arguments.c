/* arguments.c - the flags of a command, and from argv to settings. */
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
            return gn_config_unknown_key(cli->ctx, cli->config, flag);
        snprintf(key, sizeof key, "%.*s", (int)(equals - flag), flag);
        return add_flag(cli, key, equals + 1);
    }
    const gn_option *option = gn_config_find(cli->config, flag, NULL);
    const char *next = *at + 1 < argc ? argv[*at + 1] : NULL;
    bool word;
    if (option && option->type == GN_BOOL && !(next && gn_parse_bool(next, &word)))
        return add_flag(cli, flag, "true");
    if (!next && !option)
        return gn_config_unknown_key(cli->ctx, cli->config, flag);
    if (!next) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "'--%s' needs a value", flag);
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

/* Appends a word as a shell reads it back. */
static gerne_status add_word(gn_cli *cli, gn_text *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=.,:/@%";
    if (word[0] && word[strspn(word, plain)] == '\0')
        return gn_text_add(cli->ctx, out, " %s", word);
    GN_TRY(gn_text_add(cli->ctx, out, " '"));
    for (const char *at = word; *at; at++)
        GN_TRY(*at == '\'' ? gn_text_add(cli->ctx, out, "'\\''")
                           : gn_text_add_bytes(cli->ctx, out, at, 1));
    return gn_text_add(cli->ctx, out, "'");
}

static gerne_status add_words(gn_cli *cli, gn_text *out)
{
    for (size_t i = 0; i < cli->argument_count; i++)
        GN_TRY(add_word(cli, out, cli->arguments[i]));
    for (size_t i = 0; i < cli->flags.count; i++) {
        GN_TRY(gn_text_add(cli->ctx, out, " --%s", cli->flags.list[i].key));
        GN_TRY(add_word(cli, out, cli->flags.list[i].items[0]));
    }
    return GERNE_OK;
}

gerne_status gn_command_line(gn_cli *cli, const char *command, const char **out)
{
    gn_text text = {0};
    gerne_status status = gn_text_add(cli->ctx, &text, "gerne %s", command);
    if (status == GERNE_OK)
        status = add_words(cli, &text);
    if (status == GERNE_OK)
        status = gn_arena_copy_text(cli->ctx, cli->arena, text.bytes, out);
    gn_text_free(&text);
    return status;
}

static const gn_option common_options[] = {
    {"json", GN_BOOL, offsetof(gn_cli, json), .fallback = "false",
     .help = "print one JSON document to standard output", .flags = GN_NO_HASH},
    {"quiet", GN_BOOL, offsetof(gn_cli, quiet), .fallback = "false",
     .help = "suppress progress and log lines", .flags = GN_NO_HASH},
};

static const gn_option plugin_options[] = {
    {GN_PLUGIN_FLAG, GN_TEXT, offsetof(gn_cli, plugin), .flags = GN_NO_HASH,
     .help = "shared object (FILE.so) with methods that are not built in; runs its code"},
};

gerne_status gn_add_common_options(gn_cli *cli)
{
    return gn_config_add(cli->ctx, cli->config, "", "Every command", common_options,
                         sizeof common_options / sizeof common_options[0], cli);
}

gerne_status gn_add_own_options(gn_cli *cli, const gn_command *command)
{
    if (command->setup)
        GN_TRY(command->setup(cli));
    if (!command->takes_plugin)
        return GERNE_OK;
    return gn_config_add(cli->ctx, cli->config, "", "Plug-in", plugin_options, 1, cli);
}

gerne_status gn_setup_command(gn_cli *cli, const gn_command *command)
{
    GN_TRY(gn_add_own_options(cli, command));
    return gn_add_common_options(cli);
}

gerne_status gn_visit_options(const gn_cli *cli, const gn_command *command, gn_option_visit *visit,
                              void *user)
{
    gn_cli other = {.ctx = cli->ctx, .arena = cli->arena};
    GN_TRY(gn_config_new(cli->ctx, &other.config));
    gerne_status status = gn_setup_command(&other, command);
    if (status == GERNE_OK)
        status = gn_config_visit(other.config, visit, user);
    gn_config_close(other.config);
    return status;
}
