/* help.c - everything that help prints comes from the tables that the parser uses. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

enum { LABEL_MAX = 160, COLUMN = 30 };

gerne_status gn_print_overview(gerne_ctx *ctx, gn_text *out)
{
    GN_TRY(gn_text_add(ctx, out,
                       "gerne %s - train classifiers that do not lean on spurious correlations\n\n"
                       "usage: gerne COMMAND [arguments] [--key value ...]\n\n",
                       gerne_version()));
    for (size_t i = 0; gn_commands[i]; i++)
        GN_TRY(
            gn_text_add(ctx, out, "  %-10s  %s\n", gn_commands[i]->name, gn_commands[i]->summary));
    return gn_text_add(ctx, out,
                       "\n'gerne COMMAND --help' describes a command with all its keys.\n"
                       "exit codes: 0 done, 1 a file or the system failed, 2 wrong usage or\n"
                       "configuration, 3 a gate said no, 130 interrupted\n");
}

static const char *value_word(const gn_option *option)
{
    switch (option->type) {
    case GN_BOOL:
        return "";
    case GN_INT:
        return " N";
    case GN_REAL:
        return " X";
    case GN_INTS:
        return " N,N,...";
    case GN_REALS:
        return " X,X,...";
    case GN_TEXTS:
        return " TEXT,...";
    default:
        return " TEXT";
    }
}

static gerne_status print_limits(gerne_ctx *ctx, const gn_option *option, gn_text *out)
{
    if (option->min == 0 && option->max == 0)
        return GERNE_OK;
    if (isinf(option->max) || option->max >= 1e15)
        return gn_text_add(ctx, out, "; %s %g", option->flags & GN_OPEN_MIN ? "above" : "at least",
                           option->min);
    return gn_text_add(ctx, out, "; in %c%g, %g%c", option->flags & GN_OPEN_MIN ? '(' : '[',
                       option->min, option->max, option->flags & GN_OPEN_MAX ? ')' : ']');
}

typedef struct printer {
    gerne_ctx *ctx;
    gn_text *out;
    const char *summary; /* of the table printed last */
} printer;

static gerne_status print_option(void *user, const char *section, const char *summary,
                                 const gn_option *option)
{
    printer *p = user;
    if (p->summary != summary)
        GN_TRY(gn_text_add(p->ctx, p->out, "\n%s:\n", summary));
    p->summary = summary;
    char label[LABEL_MAX];
    if (option->type == GN_CHOICE)
        snprintf(label, sizeof label, "--%s%s%s %s", section, section[0] ? "." : "", option->name,
                 option->choices);
    else
        snprintf(label, sizeof label, "--%s%s%s%s", section, section[0] ? "." : "", option->name,
                 value_word(option));
    bool wide = strlen(label) > COLUMN - 4;
    GN_TRY(gn_text_add(p->ctx, p->out, "  %-*s", COLUMN - 2, label));
    if (wide)
        GN_TRY(gn_text_add(p->ctx, p->out, "\n%*s", COLUMN, ""));
    GN_TRY(gn_text_add(p->ctx, p->out, "%s", option->help));
    GN_TRY(print_limits(p->ctx, option, p->out));
    if (option->fallback && option->fallback[0] && option->type != GN_BOOL)
        GN_TRY(gn_text_add(p->ctx, p->out, " (default %s)", option->fallback));
    if (option->flags & GN_REQUIRED)
        GN_TRY(gn_text_add(p->ctx, p->out, " (required)"));
    return gn_text_add(p->ctx, p->out, "\n");
}

gerne_status gn_print_help(gn_cli *cli, const gn_command *command, gn_text *out)
{
    GN_TRY(gn_text_add(cli->ctx, out, "usage: gerne %s%s%s [--key value ...]\n\n%s.\n",
                       command->name, command->arguments[0] ? " " : "", command->arguments,
                       command->summary));
    if (command->help)
        GN_TRY(gn_text_add(cli->ctx, out, "\n%s", command->help));
    printer p = {.ctx = cli->ctx, .out = out};
    return gn_config_visit(cli->config, print_option, &p);
}

gerne_status gn_output_json(gn_cli *cli, json_t *json)
{
    gerne_status status = gn_json_print(cli->ctx, json, &cli->output);
    json_decref(json);
    return status;
}

const gn_command *gn_find_command(const char *name)
{
    for (size_t i = 0; gn_commands[i]; i++)
        if (strcmp(gn_commands[i]->name, name) == 0)
            return gn_commands[i];
    return NULL;
}

static gerne_status run(gn_cli *cli)
{
    if (cli->argument_count == 0)
        return gn_print_overview(cli->ctx, &cli->output);
    const gn_command *command = gn_find_command(cli->arguments[0]);
    if (!command) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "no help on '%s'", cli->arguments[0]);
        gn_hint(cli->ctx, "'gerne help' lists the commands");
        return GERNE_EUSAGE;
    }
    gn_cli other = *cli;
    GN_TRY(gn_config_new(cli->ctx, &other.config));
    gerne_status status = command->setup ? command->setup(&other) : GERNE_OK;
    if (status == GERNE_OK)
        status = gn_print_help(&other, command, &cli->output);
    gn_config_close(other.config);
    return status;
}

const gn_command gn_command_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "Describe a command with all its keys",
    .max_arguments = 1,
    .run = run,
};
