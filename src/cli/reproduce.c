/* reproduce.c - gerne reproduce: a table or figure of the paper, with the paper's figures beside
 * ours. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/command.h"
#include "reproduce/reproduce.h"

typedef struct reproduce_flags {
    const char *only, *method, *out, *cache, *dataset;
    int budget;
    int64_t seeds, steps, threads;
    bool list, print, retry;
} reproduce_flags;

static reproduce_flags given;
static gn_places places;

#define FLAG(field) offsetof(reproduce_flags, field)
#define BUDGETS     "quick|paper"

static const gn_option options[] = {
    {"only", GN_TEXT, FLAG(only),
     .help = "prefixes of cells, comma separated: c-mnist, c-mnist/0.5, c-mnist/0.5/known"},
    {"method", GN_TEXT, FLAG(method), .help = "methods, comma separated: gerne,resampling,erm"},
    {"seeds", GN_INT, FLAG(seeds), .fallback = "3", .min = 1, .max = 1000,
     .help = "runs per cell, with seeds 0, 1, ..."},
    {"budget", GN_CHOICE, FLAG(budget), .fallback = "quick", .choices = BUDGETS,
     .help = "quick: minutes to hours on a CPU (frozen bodies, shorter runs, marked "
             "so); paper: training as in the paper"},
    {"out", GN_TEXT, FLAG(out),
     .help = "directory of the study (default: runs/reproduce-NAME); an existing one is resumed"},
    {"list", GN_BOOL, FLAG(list), .fallback = "false",
     .help = "list the cells, whether they can run and what is missing; run nothing"},
    {"print", GN_BOOL, FLAG(print), .fallback = "false",
     .help = "print the configurations of the cells as YAML; run nothing"},
    {"steps", GN_INT, FLAG(steps), .min = 1, .max = 1e9,
     .help = "limit every run to this many steps: a smoke test, not a result"},
    {"retry", GN_BOOL, FLAG(retry), .fallback = "false", .help = "run failed trials again"},
    {"dataset", GN_TEXT, FLAG(dataset),
     .help = "table3: configuration (YAML) whose data replaces CelebA"},
    {"threads", GN_INT, FLAG(threads), .fallback = "0", .min = 0, .max = 1024,
     .help = "number of threads per run; 0 uses all cores"},
    {"cache", GN_TEXT, FLAG(cache), .help = "cache directory (default: ~/.cache/gerne)"},
};

static const char help[] =
    "Runs cells of the paper's tables and figures from built-in configurations and prints the\n"
    "paper's figures beside ours: selected on validation, and on test (marked oracle). Without\n"
    "a name it lists all cells. Every cell and seed is a trial of a study in --out: finished\n"
    "trials are kept, the same command resumes after an interrupt, and several processes may\n"
    "work on one directory; 'mpirun -n 4 gerne reproduce ...' starts them.\n"
    "\n"
    "  gerne reproduce\n"
    "  gerne reproduce table1 --only c-mnist --mnist data/mnist\n"
    "  gerne reproduce table1 --only c-mnist/0.5/known --method gerne --print\n"
    "  gerne reproduce table2 --only waterbirds --data data\n"
    "  gerne reproduce table3 --dataset examples/synthetic.yaml\n"
    "  gerne reproduce methods --only synthetic\n"
    "  gerne reproduce methods --only civilcomments --civilcomments FOLDER --bert FILE\n"
    "\n"
    "Rows whose data is missing are shown with the paper's figure alone. Four are not in the\n"
    "paper: 'methods', every method on four datasets, tuned alike, the best first; 'adapt', rules\n"
    "that choose beta; 'estimators', how well groups are found without attributes; 'beyond',\n"
    "augmentation and another estimator on C-MNIST.\n"
    "\n"
    "Written to --out: NAME.md, NAME.tex, NAME.json, study.json, report.html and the directory\n"
    "of every run.\n";

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_config_add(cli->ctx, cli->config, "", "What to run", options,
                         sizeof options / sizeof options[0], &given));
    return gn_config_add(cli->ctx, cli->config, "", "Data and weights", gn_place_options,
                         gn_place_option_count, &places);
}

static gerne_status check_name(gn_cli *cli, const char *name)
{
    const char *names[16];
    char words[16][16];
    size_t count = 0;
    if (gn_choice_index(GN_REPRODUCE_CHOICES, name) >= 0)
        return GERNE_OK;
    while (count < 16 &&
           *gn_choice_word(GN_REPRODUCE_CHOICES, (int)count, words[count], sizeof words[0])) {
        names[count] = words[count];
        count++;
    }
    const char *near = gn_nearest(name, names, count);
    gn_fail(cli->ctx, GERNE_EUSAGE, "'%s' is not a table or figure of the paper", name);
    if (near)
        gn_hint(cli->ctx, "did you mean '%s'? there are %s", near, GN_REPRODUCE_CHOICES);
    else
        gn_hint(cli->ctx, "there are %s", GN_REPRODUCE_CHOICES);
    return GERNE_EUSAGE;
}

static gerne_status list_all(gn_cli *cli, const gn_reproduce_options *all_asked)
{
    char name[16];
    gn_reproduce_options asked = *all_asked;
    json_t *all = json_object();
    for (int i = 0; *gn_choice_word(GN_REPRODUCE_CHOICES, i, name, sizeof name); i++) {
        json_t *one = NULL;
        asked.what = name;
        gerne_status status = gn_reproduce_list(cli->ctx, &asked, cli->json ? NULL : &cli->output,
                                                cli->json ? &one : NULL);
        if (status == GERNE_OK && !cli->json)
            status = gn_text_add(cli->ctx, &cli->output, "\n");
        json_object_set_new(all, name, one ? one : json_null());
        if (status != GERNE_OK) {
            json_decref(all);
            return status;
        }
    }
    if (cli->json)
        return gn_output_json(cli, all);
    json_decref(all);
    return GERNE_OK;
}

static gerne_status default_out(gn_cli *cli, const char *what, const char **out)
{
    char name[64];
    snprintf(name, sizeof name, "reproduce-%s", what);
    return gn_path_join(cli->ctx, cli->arena, "runs", name, out);
}

static gerne_status run(gn_cli *cli)
{
    char budget[16];
    json_t *document = NULL;
    gn_text *report = cli->json ? NULL : &cli->output;
    json_t **wanted = cli->json ? &document : NULL;
    gn_reproduce_options asked = {
        .only = given.only,
        .method = given.method,
        .budget = gn_choice_word(BUDGETS, given.budget, budget, sizeof budget),
        .out = given.out,
        .cache = given.cache,
        .dataset = given.dataset,
        .retry = given.retry,
        .seeds = given.seeds,
        .steps = given.steps,
        .threads = given.threads,
        .places = places,
    };
    if (!cli->argument_count) {
        if (given.only || given.method || given.print) {
            gn_fail(cli->ctx, GERNE_EUSAGE, "name a table or figure");
            gn_hint(cli->ctx, "there are %s", GN_REPRODUCE_CHOICES);
            return GERNE_EUSAGE;
        }
        return list_all(cli, &asked);
    }
    asked.what = cli->arguments[0];
    GN_TRY(check_name(cli, asked.what));
    GN_TRY(gn_command_line(cli, "reproduce", &asked.command));
    if (given.print)
        return gn_reproduce_print(cli->ctx, &asked, &cli->output);
    if (!asked.out)
        GN_TRY(default_out(cli, asked.what, &asked.out));
    GN_TRY(given.list ? gn_reproduce_list(cli->ctx, &asked, report, wanted)
                      : gn_reproduce(cli->ctx, &asked, report, wanted));
    if (!given.list)
        GN_TRY(gn_close_with_report(cli, asked.out));
    return document ? gn_output_json(cli, document) : GERNE_OK;
}

const gn_command gn_command_reproduce = {
    .name = "reproduce",
    .arguments = "[" GN_REPRODUCE_CHOICES "]",
    .summary = "Reproduce a table or figure of the paper",
    .help = help,
    .max_arguments = 1,
    .on_ranks = GN_RANKS_APART,
    .setup = setup,
    .run = run,
};
