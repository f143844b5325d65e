/* main.c - the program: finds the command, runs it, turns its status into an exit code. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/map.h"
#include "cli/command.h"
#include "train/plugin.h"

static int exit_code(gerne_status status)
{
    switch (status) {
    case GERNE_OK:
        return GN_EXIT_DONE;
    case GERNE_EUSAGE:
        return GN_EXIT_USAGE;
    case GERNE_EINTERRUPTED:
        return GN_EXIT_STOPPED;
    default:
        return GN_EXIT_FAILED;
    }
}

/* Foreign words may be in any message: names of classes, files, keys. */
static void print_message(const char *style, const char *head, const char *words)
{
    gn_text shown = {0};
    bool fine = gn_text_add_visible(NULL, &shown, words, strlen(words), false) == GERNE_OK;
    gn_clear_progress();
    fprintf(stderr, "%s%s%s%s%s\n", gn_style(style), head, head[0] ? gn_style(GN_PLAIN) : "",
            head[0] ? " " : "", fine ? shown.bytes : "no memory");
    gn_text_free(&shown);
}

static void print_log(void *user, gerne_log_level level, const char *line)
{
    const gn_cli *cli = user;
    if (!gn_speaks(cli))
        return;
    if (level == GERNE_LOG_WARNING)
        print_message(GN_YELLOW, "warning:", line);
    else if (level == GERNE_LOG_INFO && !cli->quiet)
        print_message("", "", line);
}

static void print_failure(const gerne_ctx *ctx, gerne_status status)
{
    const char *message = gerne_message(ctx);
    print_message(GN_RED, "gerne:", message[0] ? message : gerne_status_name(status));
    if (gerne_hint(ctx)[0])
        print_message(GN_BOLD, "hint:", gerne_hint(ctx));
}

/* The word after --NAME or --NAME=, for what is asked before the flags are parsed; "" when it ends
 * the line, NULL when the flag is not there. */
static const char *value_of_flag(const char *name, int argc, char **argv)
{
    size_t length = strlen(name);
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--", 2) != 0 || strncmp(argv[i] + 2, name, length) != 0)
            continue;
        if (argv[i][2 + length] == '=')
            return argv[i] + 2 + length + 1;
        if (argv[i][2 + length] == '\0')
            return i + 1 < argc ? argv[i + 1] : "";
    }
    return NULL;
}

/* A failure may come before the flags are parsed. */
static bool asks_for_json(int argc, char **argv)
{
    bool on;
    const char *value = value_of_flag("json", argc, argv);
    return value && (!gn_parse_bool(value, &on) || on); /* it may stand alone */
}

/* A file or a pipe gets the bytes of the output as they are, a terminal none that steer it. */
static gerne_status make_visible(gn_cli *cli)
{
    GN_LOCAL(gn_text) visible = {0};
    gn_text *text = &cli->output;
    if (!text->size || !isatty(STDOUT_FILENO))
        return GERNE_OK;
    GN_TRY(gn_text_add_visible(cli->ctx, &visible, text->bytes, text->size, true));
    gn_text raw = *text;
    *text = visible;
    visible = raw;
    return GERNE_OK;
}

/* Programs find the failure where they look for the result. */
static void print_failure_json(gn_cli *cli, gerne_status status)
{
    const char *message = gerne_message(cli->ctx), *hint = gerne_hint(cli->ctx);
    json_t *json =
        json_pack("{s:{s:s, s:i, s:s, s:o}}", "error", "status", gerne_status_name(status),
                  "exit_code", exit_code(status), "message",
                  message[0] && gn_is_utf8(message) ? message : gerne_status_name(status), "hint",
                  hint[0] && gn_is_utf8(hint) ? json_string(hint) : json_null());
    gn_text_clear(&cli->output);
    if (gn_output_json(cli, json) == GERNE_OK && make_visible(cli) == GERNE_OK)
        fwrite(cli->output.bytes, 1, cli->output.size, stdout);
}

gerne_status gn_output_flush(gn_cli *cli)
{
    gn_text *text = &cli->output;
    if (!gn_speaks(cli))
        gn_text_clear(text);
    GN_TRY(gn_map_check(cli->ctx));
    if (!gn_speaks(cli))
        gn_text_clear(text);
    GN_TRY(make_visible(cli));
    cli->has_printed = true;
    gn_clear_progress();
    size_t done = text->size ? fwrite(text->bytes, 1, text->size, stdout) : 0;
    if (done != text->size || fflush(stdout) != 0) {
        cli->reader_left = errno == EPIPE;
        return gn_fail_errno(cli->ctx, GERNE_EIO, "cannot write to standard output");
    }
    gn_text_clear(text);
    return GERNE_OK;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && argv[i]; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static gerne_status run_command(gn_cli *cli, const gn_command *command, int argc, char **argv)
{
    /* First, so that help and the parser know its methods. */
    const char *plugin = command->takes_plugin ? value_of_flag(GN_PLUGIN_FLAG, argc, argv) : NULL;
    if (plugin && plugin[0])
        GN_TRY(gn_plugin_load(cli->ctx, plugin));
    if (asks_for_help(argc, argv))
        return gn_print_help(cli, command, &cli->output);
    GN_TRY(gn_join_ranks(cli, command));
    GN_TRY(gn_setup_command(cli, command));
    GN_TRY(gn_parse_arguments(cli, argc, argv));
    if (cli->argument_count > command->max_arguments) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "unexpected argument '%s'",
                cli->arguments[command->max_arguments]);
        gn_hint(cli->ctx, "usage: gerne %s%s%s", command->name, command->arguments[0] ? " " : "",
                command->arguments);
        return GERNE_EUSAGE;
    }
    if (!command->applies_flags_itself) {
        GN_TRY(gn_config_apply(cli->ctx, cli->config, &cli->flags));
        GN_TRY(gn_config_complete(cli->ctx, cli->config));
    }
    return command->run(cli);
}

static gerne_status unknown_command(gerne_ctx *ctx, const char *name)
{
    const char *names[64];
    size_t count = 0;
    for (; count < 64 && gn_commands[count]; count++)
        names[count] = gn_commands[count]->name;
    gn_fail(ctx, GERNE_EUSAGE, "unknown command '%s'", name);
    gn_hint_nearest(ctx, name, names, count, "'gerne help' lists the commands");
    return GERNE_EUSAGE;
}

static gerne_status dispatch(gn_cli *cli, int argc, char **argv)
{
    if (argc < 2)
        return gn_print_overview(cli->ctx, &cli->output);
    if (strcmp(argv[1], "--version") == 0)
        return gn_command_version.run(cli);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return gn_print_overview(cli->ctx, &cli->output);
    const gn_command *command = gn_find_command(argv[1]);
    if (!command)
        return unknown_command(cli->ctx, argv[1]);
    return run_command(cli, command, argc - 2, argv + 2);
}

/* A standard stream that is closed would lend its number to the next file that is opened, and
 * output would end up in that file. The wrong direction makes using it an error still. */
static void fill_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            _exit(GN_EXIT_FAILED);
}

/* Blocks of a mebibyte and more go back to the system when they are freed: glibc would keep those
 * of up to 32 once one of that size has been freed. */
static void return_large_blocks(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    return_large_blocks();
    if (argc > 1 && argv[1][0] != '-')
        gn_shorten_waiting(argv);
    /* A closed pipe or a file that may not grow is a failed write, not the end of the program. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    gn_map_guard(); /* so is a file that shrinks while it is read */
    gn_cli cli = {0};
    if (gerne_ctx_new(&cli.ctx) != GERNE_OK) {
        fputs("gerne: no memory\n", stderr);
        return GN_EXIT_FAILED;
    }
    gerne_set_log(cli.ctx, print_log, &cli);
    gerne_set_progress(cli.ctx, gn_show_progress, &cli);
    gerne_status status = gn_arena_new(cli.ctx, &cli.arena);
    if (status == GERNE_OK)
        status = gn_config_new(cli.ctx, &cli.config);
    cli.flags.arena = cli.arena;
    if (status == GERNE_OK)
        status = dispatch(&cli, argc, argv);
    if (status != GERNE_OK &&
        gn_map_check(cli.ctx) != GERNE_OK) /* the cause of all that followed */
        status = GERNE_EIO;
    if (status == GERNE_OK)
        status = gn_output_flush(&cli);
    if (cli.reader_left) /* as in `gerne predict RUN | head`: it has all that it wanted */
        status = GERNE_OK;
    bool alone;
    status = gn_meet_ranks(&cli, status, &alone);
    bool tells = status != GERNE_OK && (alone || gn_speaks(&cli));
    if (tells)
        print_failure(cli.ctx, status);
    if (tells && !cli.has_printed && argc > 2 && asks_for_json(argc - 2, argv + 2))
        print_failure_json(&cli, status);
    int code = status == GERNE_OK && cli.gate_failed ? GN_EXIT_GATE : exit_code(status);
    if (!cli.ranks && !gn_speaks(&cli))
        code = GN_EXIT_DONE; /* rank 0 tells; its launcher would end it first */
    gn_leave_ranks(&cli, alone, code);
    gn_text_free(&cli.output);
    gn_settings_free(&cli.flags);
    gn_config_close(cli.config);
    gn_arena_close(cli.arena);
    gerne_ctx_close(cli.ctx);
    return code;
}
