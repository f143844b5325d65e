/* tune.c - gerne tune: a search over configurations, aggregated over seeds. */
#include <string.h>

#include "base/file.h"
#include "cli/command.h"
#include "tune/tune.h"

typedef struct tune_flags {
    int64_t seeds;
    bool keep, retry;
} tune_flags;

static tune_flags given;
static gn_tune_options tune;
static gn_run_config described; /* where the tables of help point to */

static const gn_option options[] = {
    {"seeds", GN_INT, offsetof(tune_flags, seeds), .min = 1, .max = 1000,
     .help = "short for --tune.seeds"},
    {"keep", GN_BOOL, offsetof(tune_flags, keep), .fallback = "false",
     .help = "keep the weights and checkpoints of all trials, not only of the best"},
    {"retry", GN_BOOL, offsetof(tune_flags, retry), .fallback = "false",
     .help = "run failed trials again"},
};

static const char help[] =
    "Trains many configurations, each with several seeds, and ranks them by the mean of\n"
    "select.metric on validation; the ranking marks configurations without a significant "
    "difference\n"
    "from the first. The search space is the section search of the file, or flags; it may contain\n"
    "every option that is marked searchable below:\n"
    "\n"
    "  search:\n"
    "    method.c: [0.5, 1]            a list\n"
    "    method.beta: auto             values within the bounds for each c (and t)\n"
    "    train.lr: 1e-3..1e-1          a range: log for lr, weight_decay and t, else linear\n"
    "    train.momentum: 0.5..0.9 linear 3     scale, and how many points a grid takes\n"
    "\n"
    "By default beta (within its bounds), c and the learning rate are searched, and t where "
    "groups\n"
    "are guessed. Values of beta outside the exact interval of their c are skipped and counted.\n"
    "\n"
    "  gerne tune examples/tune-synthetic.yaml\n"
    "  gerne tune config.yaml --search.method.beta 0,0.5,1 --seeds 5 --out runs/beta\n"
    "  gerne tune config.yaml --tune.strategy random --tune.trials 20\n"
    "\n"
    "--out (default: the file's, with -tune) receives ledger.sqlite, trials/, study.json,\n"
    "report.html and best.yaml, which 'gerne train' runs. The same command resumes an interrupted\n"
    "or killed search; several processes may work on one directory (give each its share of\n"
    "--threads), or 'mpirun -n 4 gerne tune ...' starts them.\n";

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_config_add(cli->ctx, cli->config, "", "The study", options,
                         sizeof options / sizeof options[0], &given));
    GN_TRY(gn_config_add(cli->ctx, cli->config, "tune", "Search (section tune)",
                         gn_tune_option_table, gn_tune_option_count, &tune));
    return gn_run_config_describe(cli->ctx, cli->config, cli->arena, &described);
}

/* What was typed or stands in the file, by whom it is for. */
typedef struct parts {
    gn_settings own, run, search;
} parts;

static void free_parts(parts *p)
{
    gn_settings_free(&p->own);
    gn_settings_free(&p->run);
    gn_settings_free(&p->search);
}

static bool is_own(const char *key)
{
    static const char *const keys[] = {"seeds", "keep", "retry", "json", "quiet", NULL};
    for (size_t i = 0; keys[i]; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return strncmp(key, "tune.", 5) == 0;
}

static gerne_status sort_out(gn_cli *cli, const gn_settings *from, parts *out)
{
    out->own = out->run = out->search = (gn_settings){.arena = cli->arena, .source = from->source};
    for (size_t i = 0; i < from->count; i++) {
        const gn_setting *s = &from->list[i];
        bool plugin = !from->source && strcmp(s->key, GN_PLUGIN_FLAG) == 0; /* no file's to say */
        gn_settings *to = is_own(s->key) || plugin             ? &out->own
                          : strncmp(s->key, "search.", 7) == 0 ? &out->search
                                                               : &out->run;
        GN_TRY(gn_settings_add(cli->ctx, to, s->key, s->items, s->count, s->is_list, s->line));
    }
    return GERNE_OK;
}

/* The file's axes, with the flags' in their place or beside them. */
static gerne_status merge_search(gn_cli *cli, const parts *file, const parts *flags,
                                 gn_settings *out)
{
    for (size_t i = 0; i < file->search.count; i++) {
        const gn_setting *s = &file->search.list[i];
        const gn_setting *flag = gn_settings_find(&flags->search, s->key);
        s = flag ? flag : s;
        GN_TRY(gn_settings_add(cli->ctx, out, s->key, s->items, s->count, s->is_list, s->line));
    }
    for (size_t i = 0; i < flags->search.count; i++) {
        const gn_setting *s = &flags->search.list[i];
        if (!gn_settings_find(out, s->key))
            GN_TRY(gn_settings_add(cli->ctx, out, s->key, s->items, s->count, s->is_list, 0));
    }
    return GERNE_OK;
}

static const char *text_of(const gn_settings *settings, const char *key)
{
    const gn_setting *s = gn_settings_find(settings, key);
    return s && s->count ? s->items[0] : NULL;
}

/* A file's out is that of a run with it; the study lies beside. */
static gerne_status choose_directory(gn_cli *cli, const parts *file, const parts *flags,
                                     const char **out)
{
    gn_text text = {0};
    const char *flag = text_of(&flags->run, "out"), *from_file = text_of(&file->run, "out");
    if (flag)
        return gn_arena_copy_text(cli->ctx, cli->arena, flag, out);
    gerne_status status = gn_text_add(cli->ctx, &text, "%s", from_file ? from_file : "runs/run");
    while (status == GERNE_OK && text.size > 1 && text.bytes[text.size - 1] == '/')
        text.bytes[--text.size] = '\0';
    if (status == GERNE_OK)
        status = gn_text_add(cli->ctx, &text, "-tune");
    if (status == GERNE_OK)
        status = gn_arena_copy_text(cli->ctx, cli->arena, text.bytes, out);
    gn_text_free(&text);
    return status;
}

static gerne_status first_seed(gn_cli *cli, const parts *file, const parts *flags, int64_t *out)
{
    const char *text = text_of(&flags->run, "seed");
    text = text ? text : text_of(&file->run, "seed");
    *out = 0;
    if (text && !gn_parse_int(text, out))
        return gn_fail(cli->ctx, GERNE_EUSAGE, "seed: '%s' is not a whole number", text);
    return GERNE_OK;
}

static gerne_status search(gn_cli *cli, const parts *file, const parts *flags)
{
    gn_settings base = {.arena = cli->arena}, axes = {.arena = cli->arena};
    gn_tune_request request = {.base = &base, .search = &axes, .keep = given.keep};
    json_t *study = NULL;
    gerne_status status = gn_base_settings(cli->ctx, &file->run, &flags->run, &base);
    if (status == GERNE_OK)
        status = merge_search(cli, file, flags, &axes);
    if (status == GERNE_OK)
        status = choose_directory(cli, file, flags, &request.dir);
    if (status == GERNE_OK)
        status = first_seed(cli, file, flags, &request.first_seed);
    if (status == GERNE_OK)
        status = gn_command_line(cli, "tune", &request.command);
    request.cache = text_of(&flags->run, "cache");
    request.cache = request.cache ? request.cache : text_of(&file->run, "cache");
    request.options = tune;
    request.retry = given.retry;
    if (given.seeds)
        request.options.seeds = given.seeds;
    if (status == GERNE_OK)
        status =
            gn_tune(cli->ctx, &request, cli->json ? NULL : &cli->output, cli->json ? &study : NULL);
    if (status == GERNE_OK)
        status = gn_close_with_report(cli, request.dir);
    if (status == GERNE_OK && study)
        status = gn_output_json(cli, study);
    else
        json_decref(study);
    gn_settings_free(&base);
    gn_settings_free(&axes);
    return status;
}

static gerne_status run(gn_cli *cli)
{
    gn_settings whole = {.arena = cli->arena, .source = "no file"};
    parts file = {0}, flags = {0};
    gerne_status status = GERNE_OK;
    if (cli->argument_count)
        status = gn_settings_read(cli->ctx, cli->arguments[0], &whole);
    if (status == GERNE_OK)
        status = sort_out(cli, &whole, &file);
    if (status == GERNE_OK)
        status = sort_out(cli, &cli->flags, &flags);
    if (status == GERNE_OK)
        status = gn_config_apply(cli->ctx, cli->config, &file.own);
    if (status == GERNE_OK)
        status = gn_config_apply(cli->ctx, cli->config, &flags.own);
    if (status == GERNE_OK)
        status = search(cli, &file, &flags);
    gn_settings_free(&whole);
    free_parts(&file);
    free_parts(&flags);
    return status;
}

const gn_command gn_command_tune = {
    .name = "tune",
    .arguments = "[CONFIG.yaml]",
    .summary = "Search for the best configuration, over several seeds",
    .help = help,
    .max_arguments = 1,
    .applies_flags_itself = true,
    .on_ranks = GN_RANKS_APART,
    .takes_plugin = true,
    .setup = setup,
    .run = run,
};
