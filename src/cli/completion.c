/* completion.c - gerne completion: what a shell needs to complete commands, keys and values, from
 * the tables that the parser uses. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "methods/list.h"
#include "nn/model.h"

enum { FLAG_MAX = 160 };

typedef enum value_kind { NO_VALUE, ANY_VALUE, FILE_VALUE, WORD_VALUE } value_kind;

/* One key of a command. */
typedef struct key {
    const char *name, *help;
    value_kind kind;
    const char *words; /* of WORD_VALUE, with blanks between */
} key;

typedef struct shell shell;

typedef struct script {
    gerne_ctx *ctx;
    gn_text *out;
    const shell *shell;
    gn_text words;                            /* that the key at hand may be */
    gn_text seen;                             /* keys of the command; two methods may share one */
    gn_text choices, any_values, file_values; /* of the command, for bash */
} script;

/* How a shell wants it; begin_command, end_command and end may be NULL. arguments: what the
 * command's first argument may be, "" for a file. */
struct shell {
    const char *name;
    gerne_status (*begin)(script *s);
    gerne_status (*begin_command)(script *s, const gn_command *command, const char *arguments);
    gerne_status (*key)(script *s, const gn_command *command, const key *k);
    gerne_status (*end_command)(script *s, const gn_command *command, const char *arguments);
    gerne_status (*end)(script *s);
};

/* Appends text with a backslash before each of the characters in escaped; a single quote, inside
 * single quotes, becomes the given words. */
static gerne_status add_escaped(script *s, const char *text, const char *escaped, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'')
            GN_TRY(gn_text_add(s->ctx, s->out, "%s", quote));
        else
            GN_TRY(gn_text_add(s->ctx, s->out, "%s%c", strchr(escaped, *text) ? "\\" : "", *text));
    }
    return GERNE_OK;
}

/* ---- bash ---- */

static gerne_status begin_bash(script *s)
{
    GN_TRY(gn_text_add(s->ctx, s->out,
                       "_gerne() {\n"
                       "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                       "    local words= files=\n"
                       "    COMPREPLY=()\n"
                       "    # bash splits --key=value at the sign\n"
                       "    if [[ $cur == = ]]; then\n"
                       "        cur=\n"
                       "    elif [[ $prev == = ]]; then\n"
                       "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                       "    fi\n"
                       "    if ((COMP_CWORD == 1)); then\n"
                       "        words=\"--help --version"));
    for (size_t i = 0; gn_commands[i]; i++)
        GN_TRY(gn_text_add(s->ctx, s->out, " %s", gn_commands[i]->name));
    return gn_text_add(s->ctx, s->out,
                       "\"\n"
                       "    else\n"
                       "        case ${COMP_WORDS[1]} in\n");
}

static gerne_status bash_key(script *s, const gn_command *command, const key *k)
{
    (void)command;
    if (k->kind == WORD_VALUE)
        return gn_text_add(s->ctx, &s->choices, "            --%s) words=\"%s\" ;;\n", k->name,
                           k->words);
    gn_text *list = k->kind == ANY_VALUE ? &s->any_values : &s->file_values;
    if (k->kind == NO_VALUE)
        return GERNE_OK;
    return gn_text_add(s->ctx, list, "%s--%s", list->size ? " | " : "", k->name);
}

static gerne_status end_bash_command(script *s, const gn_command *command, const char *arguments)
{
    GN_TRY(gn_text_add(s->ctx, s->out, "        %s)\n            case $prev in\n%s", command->name,
                       s->choices.size ? s->choices.bytes : ""));
    if (s->any_values.size)
        GN_TRY(gn_text_add(s->ctx, s->out, "            %s) ;;\n", s->any_values.bytes));
    if (s->file_values.size)
        GN_TRY(gn_text_add(s->ctx, s->out, "            %s) files=1 ;;\n", s->file_values.bytes));
    GN_TRY(gn_text_add(s->ctx, s->out,
                       "            *)\n"
                       "                if [[ $cur == -* ]]; then\n"
                       "                    words=\"--help%s\"\n",
                       s->seen.bytes));
    if (command->max_arguments && !arguments[0])
        GN_TRY(gn_text_add(s->ctx, s->out,
                           "                else\n"
                           "                    files=1\n"));
    else if (command->max_arguments)
        GN_TRY(gn_text_add(s->ctx, s->out,
                           "                elif ((COMP_CWORD == 2)); then\n"
                           "                    words=\"%s\"\n",
                           arguments));
    return gn_text_add(s->ctx, s->out,
                       "                fi ;;\n"
                       "            esac ;;\n");
}

static gerne_status end_bash(script *s)
{
    return gn_text_add(s->ctx, s->out,
                       "        esac\n"
                       "    fi\n"
                       "    if [[ $files ]]; then\n"
                       "        compopt -o filenames 2>/dev/null\n"
                       "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                       "    else\n"
                       "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                       "    fi\n"
                       "}\n"
                       "complete -F _gerne gerne\n");
}

/* ---- zsh ---- */

static const char zsh_special[] = "\\[]:$`", zsh_quote[] = "'\\''";

static gerne_status begin_zsh(script *s)
{
    GN_TRY(gn_text_add(s->ctx, s->out,
                       "_gerne() {\n"
                       "    local -a commands=(\n"));
    for (size_t i = 0; gn_commands[i]; i++) {
        GN_TRY(gn_text_add(s->ctx, s->out, "        '%s:", gn_commands[i]->name));
        GN_TRY(add_escaped(s, gn_commands[i]->summary, zsh_special, zsh_quote));
        GN_TRY(gn_text_add(s->ctx, s->out, "'\n"));
    }
    return gn_text_add(s->ctx, s->out,
                       "    )\n"
                       "    if (( CURRENT == 2 )); then\n"
                       "        _describe -t commands command commands\n"
                       "        return\n"
                       "    fi\n"
                       "    shift words\n"
                       "    (( CURRENT-- ))\n"
                       "    case $words[1] in\n");
}

static gerne_status begin_zsh_command(script *s, const gn_command *command, const char *arguments)
{
    (void)arguments;
    return gn_text_add(s->ctx, s->out, "    %s)\n        _arguments \\\n", command->name);
}

static gerne_status zsh_key(script *s, const gn_command *command, const key *k)
{
    (void)command;
    GN_TRY(gn_text_add(s->ctx, s->out, "            '--%s%s[", k->name, k->kind ? "=" : ""));
    GN_TRY(add_escaped(s, k->help, zsh_special, zsh_quote));
    GN_TRY(gn_text_add(s->ctx, s->out, "]"));
    if (k->kind == WORD_VALUE)
        GN_TRY(gn_text_add(s->ctx, s->out, ":value:(%s)", k->words));
    else if (k->kind)
        GN_TRY(gn_text_add(s->ctx, s->out, k->kind == FILE_VALUE ? ":file:_files" : ":value: "));
    return gn_text_add(s->ctx, s->out, "' \\\n");
}

static gerne_status end_zsh_command(script *s, const gn_command *command, const char *arguments)
{
    GN_TRY(gn_text_add(s->ctx, s->out, "            '--help[describe the command]'"));
    if (command->max_arguments && arguments[0])
        GN_TRY(gn_text_add(s->ctx, s->out, " \\\n            '1:argument:(%s)'", arguments));
    else if (command->max_arguments)
        GN_TRY(gn_text_add(s->ctx, s->out, " \\\n            '*:file:_files'"));
    return gn_text_add(s->ctx, s->out, " ;;\n");
}

/* Works as an autoloaded function and when it is sourced. */
static gerne_status end_zsh(script *s)
{
    return gn_text_add(s->ctx, s->out,
                       "    esac\n"
                       "}\n"
                       "if [[ $funcstack[1] == _gerne ]]; then\n"
                       "    _gerne \"$@\"\n"
                       "else\n"
                       "    compdef _gerne gerne\n"
                       "fi\n");
}

/* ---- fish ---- */

static gerne_status add_fish_text(script *s, const char *text)
{
    GN_TRY(gn_text_add(s->ctx, s->out, " -d '"));
    GN_TRY(add_escaped(s, text, "\\", "\\'"));
    return gn_text_add(s->ctx, s->out, "'\n");
}

static gerne_status begin_fish(script *s)
{
    return gn_text_add(s->ctx, s->out,
                       "function __gerne_command\n"
                       "    set -l words (commandline -opc)\n"
                       "    test (count $words) -ge 2; and test $words[2] = $argv[1]\n"
                       "end\n"
                       "function __gerne_no_command\n"
                       "    test (count (commandline -opc)) -eq 1\n"
                       "end\n");
}

static gerne_status begin_fish_command(script *s, const gn_command *command, const char *arguments)
{
    GN_TRY(gn_text_add(s->ctx, s->out, "complete -c gerne -n __gerne_no_command -f -a %s",
                       command->name));
    GN_TRY(add_fish_text(s, command->summary));
    if (command->max_arguments && !arguments[0])
        return GERNE_OK; /* files, which fish offers by itself */
    return gn_text_add(s->ctx, s->out, "complete -c gerne -n '__gerne_command %s' -f -a '%s'\n",
                       command->name, arguments);
}

static gerne_status fish_key(script *s, const gn_command *command, const key *k)
{
    GN_TRY(gn_text_add(s->ctx, s->out, "complete -c gerne -n '__gerne_command %s' -l %s",
                       command->name, k->name));
    if (k->kind == WORD_VALUE)
        GN_TRY(gn_text_add(s->ctx, s->out, " -x -a '%s'", k->words));
    else if (k->kind)
        GN_TRY(gn_text_add(s->ctx, s->out, k->kind == FILE_VALUE ? " -r -F" : " -x"));
    return add_fish_text(s, k->help);
}

/* ---- the walk over commands and keys ---- */

static const shell shells[] = {
    {"bash", begin_bash, NULL, bash_key, end_bash_command, end_bash},
    {"zsh", begin_zsh, begin_zsh_command, zsh_key, end_zsh_command, end_zsh},
    {"fish", begin_fish, begin_fish_command, fish_key, NULL, NULL},
};
enum { SHELLS = sizeof shells / sizeof shells[0] };

/* Texts that are names of a list. */
static gerne_status add_names(script *s, const char *name)
{
    bool method = strcmp(name, "method.name") == 0, network = strcmp(name, "model.arch") == 0;
    bool estimator = strcmp(name, "method.estimator") == 0;
    for (size_t i = 0; method && gn_methods[i]; i++)
        GN_TRY(gn_text_add(s->ctx, &s->words, "%s%s", i ? " " : "", gn_methods[i]->name));
    for (size_t i = 0; estimator && gn_estimators[i]; i++)
        GN_TRY(
            gn_text_add(s->ctx, &s->words, "%s%s", i ? " " : "auto none ", gn_estimators[i]->name));
    for (size_t i = 0; network && gn_architectures[i]; i++)
        GN_TRY(gn_text_add(s->ctx, &s->words, "%s%s", i ? " " : "", gn_architectures[i]->name));
    return GERNE_OK;
}

typedef struct walk {
    script *script;
    const gn_command *command;
} walk;

/* Appends "a|b|c" with blanks instead of bars. */
static gerne_status add_choices(script *s, const char *choices, size_t length, gn_text *out)
{
    for (size_t i = 0; i < length; i++)
        GN_TRY(gn_text_add(s->ctx, out, "%c", choices[i] == '|' ? ' ' : choices[i]));
    return GERNE_OK;
}

static gerne_status add_key(void *user, const char *section, const char *summary,
                            const gn_option *option)
{
    const walk *w = user;
    script *s = w->script;
    char flag[FLAG_MAX];
    (void)summary;
    snprintf(flag, sizeof flag, " --%s%s%s ", section, section[0] ? "." : "", option->name);
    if (strstr(s->seen.bytes, flag))
        return GERNE_OK;
    GN_TRY(gn_text_add(s->ctx, &s->seen, "%s", flag + 1));
    flag[strlen(flag) - 1] = '\0';
    key k = {.name = flag + strlen(" --"), .help = option->help, .kind = ANY_VALUE};
    gn_text_clear(&s->words);
    if (option->type == GN_BOOL)
        k.kind = NO_VALUE;
    if (option->type == GN_CHOICE)
        GN_TRY(add_choices(s, option->choices, strlen(option->choices), &s->words));
    if (option->type == GN_TEXT) {
        k.kind = FILE_VALUE;
        GN_TRY(add_names(s, k.name));
    }
    if (s->words.size)
        k.kind = WORD_VALUE;
    k.words = s->words.bytes;
    return s->shell->key(s, w->command, &k);
}

/* Names of a list, or the lower-case words of a usage line such as "info|make|fetch [NAME]". */
static gerne_status add_arguments(script *s, const gn_command *command, gn_text *out)
{
    GN_TRY(gn_text_add(s->ctx, out, "%s", ""));
    for (size_t i = 0; command->word && command->word(i); i++)
        GN_TRY(gn_text_add(s->ctx, out, "%s%s", i ? " " : "", command->word(i)));
    size_t length = strspn(command->arguments, "abcdefghijklmnopqrstuvwxyz|");
    return add_choices(s, command->arguments, length, out);
}

static gerne_status add_command(gn_cli *cli, script *s, const gn_command *command)
{
    walk w = {s, command};
    gn_text arguments = {0};
    gn_text *const lists[] = {&s->seen, &s->choices, &s->any_values, &s->file_values};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        gn_text_clear(lists[i]);
    gerne_status status = gn_text_add(s->ctx, &s->seen, " ");
    if (status == GERNE_OK)
        status = add_arguments(s, command, &arguments);
    if (status == GERNE_OK && s->shell->begin_command)
        status = s->shell->begin_command(s, command, arguments.bytes);
    if (status == GERNE_OK)
        status = gn_visit_options(cli, command, add_key, &w);
    if (status == GERNE_OK && s->shell->end_command)
        status = s->shell->end_command(s, command, arguments.bytes);
    gn_text_free(&arguments);
    return status;
}

static gerne_status print(gn_cli *cli, script *s)
{
    GN_TRY(gn_text_add(cli->ctx, s->out, "%s# %s completion of gerne %s\n",
                       strcmp(s->shell->name, "zsh") == 0 ? "#compdef gerne\n" : "", s->shell->name,
                       gerne_version()));
    GN_TRY(s->shell->begin(s));
    for (size_t i = 0; gn_commands[i]; i++)
        GN_TRY(add_command(cli, s, gn_commands[i]));
    return s->shell->end ? s->shell->end(s) : GERNE_OK;
}

static gerne_status run(gn_cli *cli)
{
    script s = {.ctx = cli->ctx, .out = &cli->output};
    for (size_t i = 0; i < SHELLS && cli->argument_count; i++)
        if (strcmp(cli->arguments[0], shells[i].name) == 0)
            s.shell = &shells[i];
    if (!s.shell) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "%s%s%s",
                cli->argument_count ? "no completion for '" : "the name of the shell is missing",
                cli->argument_count ? cli->arguments[0] : "", cli->argument_count ? "'" : "");
        gn_hint(cli->ctx, "gerne completion bash, gerne completion zsh or gerne completion fish");
        return GERNE_EUSAGE;
    }
    gerne_status status = print(cli, &s);
    gn_text *const texts[] = {&s.words, &s.seen, &s.choices, &s.any_values, &s.file_values};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        gn_text_free(texts[i]);
    return status;
}

const gn_command gn_command_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "Print a shell completion script for commands, keys and values",
    .help =
        "'make install' puts the scripts where the shells look for them. Otherwise:\n"
        "\n"
        "  source <(gerne completion bash)                          in ~/.bashrc\n"
        "  source <(gerne completion zsh)                           in ~/.zshrc, after compinit\n"
        "  gerne completion fish > ~/.config/fish/completions/gerne.fish\n",
    .max_arguments = 1,
    .run = run,
};
