/* manual.c - gerne(1), from the tables that parser and help use. */
#include <string.h>

#include "cli/command.h"

/* Appends text with what roff would read as its own made plain: backslashes, hyphens (which it
 * would print as dashes that cannot be searched or copied), and dots and quotes that start a line.
 * A long list of choices may be broken after a bar. */
static gerne_status add_plain(gerne_ctx *ctx, gn_text *out, const char *text)
{
    for (const char *at = text; *at; at++) {
        bool starts_line = out->size == 0 || out->bytes[out->size - 1] == '\n';
        if (starts_line && *at == '.')
            GN_TRY(gn_text_add(ctx, out, "\\&"));
        if (*at == '\\')
            GN_TRY(gn_text_add(ctx, out, "\\e"));
        else if (*at == '-')
            GN_TRY(gn_text_add(ctx, out, "\\-"));
        else if (*at == '|')
            GN_TRY(gn_text_add(ctx, out, "|\\:"));
        else if (*at == '\'')
            GN_TRY(gn_text_add(ctx, out, "\\(aq"));
        else if (*at == '"')
            GN_TRY(gn_text_add(ctx, out, "\\(dq"));
        else
            GN_TRY(gn_text_add_bytes(ctx, out, at, 1));
    }
    return GERNE_OK;
}

typedef struct manual {
    gerne_ctx *ctx;
    gn_text *out;
    gn_text words; /* of one option, before they are made plain */
} manual;

static gerne_status add_option(void *user, const char *section, const char *summary,
                               const gn_option *option)
{
    (void)summary;
    manual *m = user;
    gn_text_clear(&m->words);
    GN_TRY(gn_option_label(m->ctx, section, option, &m->words));
    GN_TRY(gn_text_add(m->ctx, m->out, ".TP\n\\fB"));
    GN_TRY(add_plain(m->ctx, m->out, m->words.bytes));
    gn_text_clear(&m->words);
    GN_TRY(gn_option_description(m->ctx, option, &m->words));
    GN_TRY(gn_text_add(m->ctx, m->out, "\\fR\n"));
    GN_TRY(add_plain(m->ctx, m->out, m->words.bytes));
    return gn_text_add(m->ctx, m->out, "\n");
}

static gerne_status add_options(gn_cli *cli, gn_text *out)
{
    manual m = {.ctx = cli->ctx, .out = out};
    gerne_status status = gn_config_visit(cli->config, add_option, &m);
    gn_text_free(&m.words);
    return status;
}

/* A command's options alone; those of every command have a section of their own. */
static gerne_status add_command_options(gn_cli *cli, const gn_command *command, gn_text *out)
{
    gn_cli other = {.ctx = cli->ctx, .arena = cli->arena};
    GN_TRY(gn_config_new(cli->ctx, &other.config));
    gerne_status status =
        command ? gn_add_own_options(&other, command) : gn_add_common_options(&other);
    if (status == GERNE_OK)
        status = add_options(&other, out);
    gn_config_close(other.config);
    return status;
}

static gerne_status add_command(gn_cli *cli, const gn_command *command, gn_text *out)
{
    GN_TRY(gn_text_add(cli->ctx, out, ".SS gerne %s ", command->name));
    GN_TRY(add_plain(cli->ctx, out, command->arguments));
    GN_TRY(gn_text_add(cli->ctx, out, "\n"));
    GN_TRY(add_plain(cli->ctx, out, command->summary));
    GN_TRY(gn_text_add(cli->ctx, out, ".\n"));
    if (command->help) {
        /* Written for the terminal, with its own line ends. */
        GN_TRY(gn_text_add(cli->ctx, out, ".PP\n.nf\n"));
        GN_TRY(add_plain(cli->ctx, out, command->help));
        GN_TRY(gn_text_add(cli->ctx, out, "\n.fi\n"));
    }
    return add_command_options(cli, command, out);
}

gerne_status gn_print_manual(gn_cli *cli, gn_text *out)
{
    gerne_ctx *ctx = cli->ctx;
    GN_TRY(gn_text_add(
        ctx, out,
        ".\\\" Printed by 'gerne help --man'.\n"
        ".TH GERNE 1 \"\" \"gerne %s\" \"User Commands\"\n"
        ".SH NAME\ngerne \\- " GN_TAGLINE "\n"
        ".SH SYNOPSIS\n.B gerne\n.I COMMAND\n[arguments] [\\-\\-key value ...]\n"
        ".br\n.B gerne \\-\\-version\n"
        ".SH DESCRIPTION\n"
        "Results go to standard output, progress and log lines to standard error. A\n"
        "key is given as \\-\\-key value or \\-\\-key=value, lists are comma separated,\n"
        "and a boolean key needs no value. Unknown keys are errors. Colour and progress\n"
        "appear on terminals only; NO_COLOR in the environment turns colour off.\n"
        ".SH COMMANDS\n",
        gerne_version()));
    for (size_t i = 0; gn_commands[i]; i++)
        GN_TRY(add_command(cli, gn_commands[i], out));
    GN_TRY(gn_text_add(ctx, out, ".SH OPTIONS OF EVERY COMMAND\n"));
    GN_TRY(add_command_options(cli, NULL, out));
    GN_TRY(gn_text_add(ctx, out,
                       ".TP\n\\fB\\-\\-help\\fR\nshow the command and all its keys\n"
                       ".SH EXIT STATUS\n"));
    for (size_t i = 0; i < GN_EXIT_CODES; i++)
        GN_TRY(gn_text_add(ctx, out, ".TP\n%d\n%s\n", gn_exit_codes[i].code,
                           gn_exit_codes[i].meaning));
    return GERNE_OK;
}
