/* help.c - everything that help prints comes from the tables that the parser uses. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

enum { COLUMN = 30, WIDTH = 80 };

const gn_exit_code gn_exit_codes[GN_EXIT_CODES] = {
    {GN_EXIT_DONE, "done"},
    {GN_EXIT_FAILED, "bad file contents or a system error"},
    {GN_EXIT_USAGE, "wrong usage or configuration"},
    {GN_EXIT_GATE, "a gate failed"},
    {GN_EXIT_STOPPED, "interrupted"},
};

gerne_status gn_print_overview(gerne_ctx *ctx, gn_text *out)
{
    GN_TRY(gn_text_add(ctx, out,
                       "gerne %s - " GN_TAGLINE "\n\n"
                       "usage: gerne COMMAND [arguments] [--key value ...]\n\n",
                       gerne_version()));
    for (size_t i = 0; gn_commands[i]; i++)
        GN_TRY(
            gn_text_add(ctx, out, "  %-10s  %s\n", gn_commands[i]->name, gn_commands[i]->summary));
    GN_TRY(gn_text_add(
        ctx, out,
        "\n'gerne COMMAND --help' shows a command and all its keys, 'gerne help NAME' a\n"
        "method, an estimator, a network or a key.\n"
        "exit codes:\n"));
    for (size_t i = 0; i < GN_EXIT_CODES; i++)
        GN_TRY(gn_text_add(ctx, out, "  %-10d  %s\n", gn_exit_codes[i].code,
                           gn_exit_codes[i].meaning));
    return GERNE_OK;
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

/* A limit this large only says that there is none in practice. */
static const double no_limit = 1e6;

static gerne_status print_limits(gerne_ctx *ctx, const gn_option *option, gn_text *out)
{
    if (option->min == 0 && option->max == 0)
        return GERNE_OK;
    if (option->max >= no_limit && option->min <= -no_limit)
        return GERNE_OK;
    if (option->max >= no_limit)
        return gn_text_add(ctx, out, "; %s %g", option->flags & GN_OPEN_MIN ? "above" : "at least",
                           option->min);
    return gn_text_add(ctx, out, "; in %c%g, %g%c", option->flags & GN_OPEN_MIN ? '(' : '[',
                       option->min, option->max, option->flags & GN_OPEN_MAX ? ')' : ']');
}

gerne_status gn_option_label(gerne_ctx *ctx, const char *section, const gn_option *option,
                             gn_text *out)
{
    return gn_text_add(ctx, out, "--%s%s%s%s%s", section, section[0] ? "." : "", option->name,
                       option->type == GN_CHOICE ? " " : "",
                       option->type == GN_CHOICE ? option->choices : value_word(option));
}

/* "arch a|b|c" -> "; with arch a, b or c" */
static gerne_status print_condition(gerne_ctx *ctx, const char *when, gn_text *out)
{
    GN_TRY(gn_text_add(ctx, out, "; with "));
    for (const char *bar; (bar = strchr(when, '|')); when = bar + 1)
        GN_TRY(gn_text_add(ctx, out, "%.*s%s", (int)(bar - when), when,
                           strchr(bar + 1, '|') ? ", " : " or "));
    return gn_text_add(ctx, out, "%s", when);
}

gerne_status gn_option_description(gerne_ctx *ctx, const gn_option *option, gn_text *out)
{
    GN_TRY(gn_text_add(ctx, out, "%s", option->help));
    GN_TRY(print_limits(ctx, option, out));
    bool off =
        option->type == GN_BOOL && option->fallback && strcmp(option->fallback, "false") == 0;
    if (option->fallback && option->fallback[0] && !off)
        GN_TRY(gn_text_add(ctx, out, "; default %s", option->fallback));
    if (option->when)
        GN_TRY(print_condition(ctx, option->when, out));
    if (option->flags & GN_REQUIRED)
        GN_TRY(gn_text_add(ctx, out, "; required"));
    if (option->flags & GN_TUNABLE)
        GN_TRY(gn_text_add(ctx, out, "; searchable"));
    return GERNE_OK;
}

/* Appends length characters in lines of a terminal's width, each after the first behind a margin.
 */
static gerne_status print_wrapped(gerne_ctx *ctx, const char *text, size_t length, int margin,
                                  gn_text *out)
{
    size_t room = (size_t)(WIDTH - margin);
    for (;;) {
        size_t end = length;
        if (length > room) {
            for (end = room; end > 0 && text[end] != ' ';)
                end--;
            if (end == 0)
                end = strcspn(text, " \n");
        }
        GN_TRY(gn_text_add(ctx, out, "%.*s\n", (int)end, text));
        if (end >= length)
            return GERNE_OK;
        text += end + 1;
        length -= end + 1;
        GN_TRY(gn_text_add(ctx, out, "%*s", margin, ""));
    }
}

gerne_status gn_print_paragraphs(gerne_ctx *ctx, const char *text, gn_text *out)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (*text == ' ')
            GN_TRY(gn_text_add(ctx, out, "%.*s\n", (int)length, text));
        else
            GN_TRY(print_wrapped(ctx, text, length, 0, out));
        text += length + (text[length] == '\n');
    }
    return GERNE_OK;
}

typedef struct printer {
    gerne_ctx *ctx;
    gn_text *out;
    gn_text words;       /* of one option */
    const char *summary; /* of the table printed last */
} printer;

static gerne_status print_option(void *user, const char *section, const char *summary,
                                 const gn_option *option)
{
    printer *p = user;
    if (p->summary != summary)
        GN_TRY(gn_text_add(p->ctx, p->out, "%s%s:\n", p->out->size ? "\n" : "", summary));
    p->summary = summary;
    GN_TRY(gn_text_add(p->ctx, p->out, "  "));
    size_t start = p->out->size;
    GN_TRY(gn_option_label(p->ctx, section, option, p->out));
    size_t width = p->out->size - start + 2;
    if (width > COLUMN - 2)
        GN_TRY(gn_text_add(p->ctx, p->out, "\n%*s", COLUMN, ""));
    else
        GN_TRY(gn_text_add(p->ctx, p->out, "%*s", COLUMN - (int)width, ""));
    gn_text_clear(&p->words);
    GN_TRY(gn_option_description(p->ctx, option, &p->words));
    return print_wrapped(p->ctx, p->words.bytes, p->words.size, COLUMN, p->out);
}

gerne_status gn_print_options(gerne_ctx *ctx, const char *section, const char *heading,
                              const gn_option *options, size_t count, gn_text *out)
{
    printer p = {.ctx = ctx, .out = out};
    gerne_status status = GERNE_OK;
    for (size_t i = 0; i < count && status == GERNE_OK; i++)
        status = print_option(&p, section, heading, &options[i]);
    gn_text_free(&p.words);
    return status;
}

gerne_status gn_print_help(gn_cli *cli, const gn_command *command, gn_text *out)
{
    GN_TRY(gn_text_add(cli->ctx, out, "usage: gerne %s%s%s [--key value ...]\n\n%s.\n",
                       command->name, command->arguments[0] ? " " : "", command->arguments,
                       command->summary));
    if (command->help)
        GN_TRY(gn_text_add(cli->ctx, out, "\n%s", command->help));
    printer p = {.ctx = cli->ctx, .out = out};
    gerne_status status = gn_visit_options(cli, command, print_option, &p);
    gn_text_free(&p.words);
    return status;
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

typedef struct help_options {
    bool man;
} help_options;

static const gn_option help_option_table[] = {
    {"man", GN_BOOL, offsetof(help_options, man), .fallback = "false",
     .help = "print the manual page gerne(1) in roff"},
};

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 1, sizeof(help_options), &cli->options));
    return gn_config_add(cli->ctx, cli->config, "", "Help", help_option_table, 1, cli->options);
}

static gerne_status run(gn_cli *cli)
{
    const help_options *options = cli->options;
    if (options->man)
        return gn_print_manual(cli, &cli->output);
    if (cli->argument_count == 0)
        return gn_print_overview(cli->ctx, &cli->output);
    return gn_print_topic(cli, cli->arguments[0]);
}

const gn_command gn_command_help = {
    .name = "help",
    .arguments = "[NAME]",
    .summary = "Explain a command, a method, an estimator, a network or a key",
    .help = "  gerne help train\n"
            "  gerne help groupdro\n"
            "  gerne help train.lr\n",
    .max_arguments = 1,
    .word = gn_topic,
    .takes_plugin = true,
    .setup = setup,
    .run = run,
};
