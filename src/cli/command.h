/* command.h - what a command is made of, and what main does for all of them: flags, help, output.
 */
#ifndef GN_CLI_COMMAND_H
#define GN_CLI_COMMAND_H

#include "base/json.h"
#include "base/option.h"

typedef struct gn_cli {
    gerne_ctx *ctx;
    struct gn_ranks *ranks; /* the processes that this one works with; NULL alone */
    gn_arena *arena;        /* lives as long as the command */
    gn_config *config;      /* the command's option tables */
    gn_settings flags;      /* what was typed, for commands that read a file first */
    const char **arguments; /* what is not a flag */
    size_t argument_count;
    void *options;      /* the command's own struct, if it has one: made by setup, read by run */
    bool json, quiet;   /* every command has these */
    const char *plugin; /* where takes_plugin says so */
    bool has_printed;   /* part of the output is on the standard output */
    bool reader_left;   /* nobody reads the standard output any more */
    bool gate_failed;   /* set by a command whose gate says no: exit code 3 */
    gn_text output;     /* becomes stdout when the command ends well */
} gn_cli;

/* Where mpirun has started several processes. */
typedef enum gn_on_ranks {
    GN_RANKS_REFUSED,  /* it runs in one */
    GN_RANKS_TOGETHER, /* they share the work of one run */
    GN_RANKS_APART,    /* each works on runs of its own, out of one ledger */
} gn_on_ranks;

typedef struct gn_command {
    const char *name;
    const char *arguments; /* "[FILE.csv]", for the usage line */
    const char *summary;   /* one line for the list of commands */
    const char *help;      /* paragraphs after the usage line; may be NULL */
    size_t max_arguments;
    const char *(*word)(size_t i); /* what the first argument may be, up to a NULL; NULL: a file */
    bool applies_flags_itself;     /* run() calls gn_config_apply: it reads a file first */
    gn_on_ranks on_ranks;          /* what it does on several processes */
    bool takes_plugin;             /* has the flag plugin: knows the methods of a plug-in */
    gerne_status (*setup)(gn_cli *cli); /* adds option tables; may be NULL */
    gerne_status (*run)(gn_cli *cli);
} gn_command;

/* The flag of commands that take a plug-in. It is never part of a configuration. */
#define GN_PLUGIN_FLAG "plugin"

/* The command table ends with a NULL; its order is the order of help. */
extern const gn_command *const gn_commands[];

/* Runs the command's setup and adds the options that every command has: the config is complete. */
GERNE_CHECKED gerne_status gn_setup_command(gn_cli *cli, const gn_command *command);

/* Calls visit for every option of a command; its values are not touched. */
GERNE_CHECKED gerne_status gn_visit_options(const gn_cli *cli, const gn_command *command,
                                            gn_option_visit *visit, void *user);

/* Adds the command's own options, by its setup; then those that every command has. */
GERNE_CHECKED gerne_status gn_add_own_options(gn_cli *cli, const gn_command *command);
GERNE_CHECKED gerne_status gn_add_common_options(gn_cli *cli);

/* Turns argv (without program and command name) into cli->flags and cli->arguments. */
GERNE_CHECKED gerne_status gn_parse_arguments(gn_cli *cli, int argc, char **argv);

/* The command as it can be typed again, in the arena. */
GERNE_CHECKED gerne_status gn_command_line(gn_cli *cli, const char *command, const char **out);

/* Appends the usage, help and options of a command. */
GERNE_CHECKED gerne_status gn_print_help(gn_cli *cli, const gn_command *command, gn_text *out);

/* Appends paragraphs, each a line of text, in lines of a terminal's width; lines that start with a
 * blank stay as they are. */
GERNE_CHECKED gerne_status gn_print_paragraphs(gerne_ctx *ctx, const char *text, gn_text *out);

/* Appends the rows of an option table as gn_print_help does, under a heading. */
GERNE_CHECKED gerne_status gn_print_options(gerne_ctx *ctx, const char *section,
                                            const char *heading, const gn_option *options,
                                            size_t count, gn_text *out);

/* Appends to cli->output what there is under a name: the help of a command, a method or estimator,
 * a network, a key. GERNE_EUSAGE with the nearest name when there is nothing. */
GERNE_CHECKED gerne_status gn_print_topic(gn_cli *cli, const char *name);

/* The i-th name but for keys, or NULL after the last. */
const char *gn_topic(size_t i);

/* For a name that is not among names: the nearest one as a hint, or else where to look. */
void gn_hint_nearest(gerne_ctx *ctx, const char *name, const char *const *names, size_t count,
                     const char *otherwise);

/* Appends the list of commands. */
GERNE_CHECKED gerne_status gn_print_overview(gerne_ctx *ctx, gn_text *out);

/* Appends the manual page gerne(1) in roff: all commands with all their options. */
GERNE_CHECKED gerne_status gn_print_manual(gn_cli *cli, gn_text *out);

/* The words that help and manual share about an option: "--train.lr X", and what it does with
 * limits and default. */
GERNE_CHECKED gerne_status gn_option_label(gerne_ctx *ctx, const char *section,
                                           const gn_option *option, gn_text *out);
GERNE_CHECKED gerne_status gn_option_description(gerne_ctx *ctx, const gn_option *option,
                                                 gn_text *out);

#define GN_TAGLINE "train classifiers that do not rely on spurious correlations"

typedef struct gn_exit_code {
    int code;
    const char *meaning;
} gn_exit_code;

enum {
    GN_EXIT_DONE = 0,
    GN_EXIT_FAILED = 1,
    GN_EXIT_USAGE = 2,
    GN_EXIT_GATE = 3,
    GN_EXIT_STOPPED = 130
};
enum { GN_EXIT_CODES = 5 };
extern const gn_exit_code gn_exit_codes[GN_EXIT_CODES];

/* The progress hook of the program (user is the gn_cli): one line, as long as the terminal is wide,
 * once work takes some seconds; asks to stop after SIGINT, SIGTERM or SIGUSR1. */
int gn_show_progress(void *user, const gerne_progress *progress);
void gn_clear_progress(void);      /* before anything else is printed */
void gn_catch_signals(bool again); /* asks to stop after them from now on; again: also the second */

/* Joins the other processes where mpirun or srun has started several; GERNE_EUSAGE when the command
 * or this build is for one process. Rank 0 alone speaks then. */
GERNE_CHECKED gerne_status gn_join_ranks(gn_cli *cli, const gn_command *command);
bool gn_speaks(const gn_cli *cli); /* this process prints: alone, or rank 0 */
/* The end: the status of all ranks. Processes that were left alone by a failure are ended. */
GERNE_CHECKED gerne_status gn_meet_ranks(gn_cli *cli, gerne_status status, bool *alone);
void gn_leave_ranks(gn_cli *cli, bool alone, int code);
/* "Open MPI 4.1.4", or "none" */
void gn_mpi_words(char *words, size_t size);

/* The code for the standard error; "" unless that is a terminal and NO_COLOR is not set. */
const char *gn_style(const char *code);
#define GN_BOLD   "\033[1m"
#define GN_RED    "\033[1;31m"
#define GN_YELLOW "\033[33m"
#define GN_PLAIN  "\033[0m"

/* Starts the program anew with threads that spin only briefly, unless the environment has a choice
 * of its own (OMP_WAIT_POLICY or GOMP_SPINCOUNT); returns when there is nothing to do. */
void gn_shorten_waiting(char **argv);

/* Writes cli->output now and empties it, for commands whose output is long. */
GERNE_CHECKED gerne_status gn_output_flush(gn_cli *cli);

/* Appends the document to cli->output and releases it. */
GERNE_CHECKED gerne_status gn_output_json(gn_cli *cli, json_t *json);

/* Writes report.html into the directory of a run or study that has just ended, and says where. It
 * cannot spoil what it reports on: a failure is a warning. */
GERNE_CHECKED gerne_status gn_close_with_report(gn_cli *cli, const char *directory);

const gn_command *gn_find_command(const char *name);

/* Commands, one file each. */
extern const gn_command gn_command_audit;
extern const gn_command gn_command_bounds;
extern const gn_command gn_command_completion;
extern const gn_command gn_command_data;
extern const gn_command gn_command_eval;
extern const gn_command gn_command_export;
extern const gn_command gn_command_help;
extern const gn_command gn_command_methods;
extern const gn_command gn_command_models;
extern const gn_command gn_command_predict;
extern const gn_command gn_command_report;
extern const gn_command gn_command_reproduce;
extern const gn_command gn_command_train;
extern const gn_command gn_command_tune;
extern const gn_command gn_command_version;

#endif
