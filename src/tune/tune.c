#include "tune/tune.h"

#include <stdio.h>

#include "base/file.h"
#include "debias/bounds.h"
#include "metrics/metrics.h"
#include "train/found.h"

#define OPTION(key) offsetof(gn_tune_options, key)

const gn_option gn_tune_option_table[] = {
    {"strategy", GN_CHOICE, OPTION(strategy), .fallback = "grid", .choices = "grid|random|halving",
     .help = "every combination; configurations drawn at random; or successive halving of those"},
    {"seeds", GN_INT, OPTION(seeds), .fallback = "3", .min = 1, .max = 1000,
     .help = "runs of each configuration, with seed, seed + 1, ..."},
    {"trials", GN_INT, OPTION(trials), .fallback = "16", .min = 1, .max = 10000,
     .help = "random, halving: configurations to draw"},
    {"seed", GN_INT, OPTION(seed), .fallback = "0", .min = 0, .max = 9e15,
     .help = "random, halving: seed that draws the configurations"},
    {"beta_steps", GN_INT, OPTION(beta_steps), .fallback = "10", .min = 1, .max = GN_BETA_STEPS_MAX,
     .help = "grid: steps of 'method.beta: auto' from balance to its "
             "bound"},
    {"eta", GN_INT, OPTION(eta), .fallback = "3", .min = 2, .max = 100,
     .help = "halving: the best 1/eta of a rung are promoted, with eta times the budget"},
    {"rungs", GN_INT, OPTION(rungs), .fallback = "3", .min = 2, .max = 10,
     .help = "halving: number of rungs; the last has the configured budget and all seeds, the "
             "others one seed"},
    {"workers", GN_INT, OPTION(workers), .fallback = "0", .min = 0, .max = 1024,
     .help = "trials that run at the same time and divide the threads; 0: as many as threads for "
             "linear and mlp, else 1"},
};
const size_t gn_tune_option_count = sizeof gn_tune_option_table / sizeof gn_tune_option_table[0];

/* ---- what makes the study what it is ---- */

/* Seeds, and the number of random configurations, may grow from one call to the next. */
static gerne_status describe_options(gn_tuner *t, gn_text *out)
{
    const gn_tune_options *o = &t->request->options;
    char word[16];
    gn_choice_word(gn_tune_option_table[0].choices, o->strategy, word, sizeof word);
    GN_TRY(gn_text_add(t->ctx, out, "tune.strategy: %s\nseed: %lld\n", word,
                       (long long)t->request->first_seed));
    if (o->strategy == GN_GRID)
        return gn_text_add(t->ctx, out, "tune.beta_steps: %lld\n", (long long)o->beta_steps);
    GN_TRY(gn_text_add(t->ctx, out, "tune.seed: %lld\n", (long long)o->seed));
    if (o->strategy == GN_HALVING)
        GN_TRY(gn_text_add(t->ctx, out, "tune.trials: %lld\ntune.eta: %lld\ntune.rungs: %lld\n",
                           (long long)o->trials, (long long)o->eta, (long long)o->rungs));
    return GERNE_OK;
}

static gerne_status describe_data(gn_tuner *t, gn_text *out)
{
    const gn_limiter *l = &t->limiter;
    GN_TRY(gn_text_add(t->ctx, out, "training groups:"));
    for (size_t i = 0; i < (size_t)l->classes * l->attributes; i++)
        GN_TRY(gn_text_add(t->ctx, out, " %lld", (long long)l->counts[i]));
    return gn_text_add(t->ctx, out, "\n");
}

static gerne_status open_ledger(gn_tuner *t)
{
    GN_LOCAL(gn_text) text = {0};
    GN_TRY(gn_text_add(t->ctx, &text, "gerne: %s\n", gerne_version()));
    GN_TRY(gn_base_describe(t->ctx, &t->base, &text));
    GN_TRY(gn_space_describe(t->ctx, &t->space, &text));
    GN_TRY(describe_options(t, &text));
    GN_TRY(describe_data(t, &text));
    GN_TRY(gn_describe_inputs(t->ctx, t->limiter.base, &text));
    return gn_ledger_open(t->ctx, t->request->dir, "tune", text.bytes, &t->ledger);
}

/* ---- from beginning to end ---- */

/* A run's directory is no place for a study. */
static gerne_status check_directory(gn_tuner *t)
{
    const char *path;
    GN_TRY(gn_path_join(t->ctx, t->arena, t->request->dir, "config.yaml", &path));
    if (!gn_path_exists(path))
        return GERNE_OK;
    gn_fail(t->ctx, GERNE_EUSAGE, "'%s' is the directory of a run", t->request->dir);
    gn_hint(t->ctx, "choose another --out for the study");
    return GERNE_EUSAGE;
}

static gerne_status prepare(gn_tuner *t)
{
    const gn_tune_request *r = t->request;
    gn_settings none = {.arena = t->arena};
    GN_LOCAL(gn_dataset) *data = NULL; /* for its labels */
    GN_TRY(check_directory(t));
    GN_TRY(gn_run_config_new(t->ctx, r->base, &none, &t->config));
    gn_choice_word(GN_METRIC_CHOICES, t->config->select.metric, t->metric, sizeof t->metric);
    snprintf(t->split, sizeof t->split, "%s",
             t->config->select.split == GN_SELECT_TEST ? "test" : "val");
    GN_TRY(gn_space_read(t->ctx, t->arena, r->base, r->search, &t->space));
    GN_TRY(gn_dataset_open(t->ctx, &t->config->data, &data));
    GN_TRY(gn_limiter_open_data(t->ctx, t->arena, t->config, data, &t->limiter));
    GN_TRY(gn_tune_divide(t, data));
    GN_TRY(gn_tune_draw(t));
    GN_TRY(open_ledger(t));
    GN_TRY(gn_tune_plan(t));
    return r->retry ? gn_ledger_retry(t->ledger) : GERNE_OK;
}

static gerne_status after_trial(void *user, gn_ledger *ledger)
{
    (void)ledger;
    return gn_tune_prune(user);
}

/* What an interrupted study has so far is written; the interrupt is what is told. */
static gerne_status conclude_early(gn_tuner *t, gerne_status why)
{
    gn_saved_failure interrupt = gn_save_failure(t->ctx);
    gerne_status status = gn_tune_conclude(t, NULL, NULL);
    if (status != GERNE_OK && status != GERNE_EDIVERGED)
        return status;
    gn_restore_failure(t->ctx, &interrupt);
    return why;
}

static gerne_status run(gn_tuner *t, gn_text *report, json_t **study)
{
    GN_TRY(prepare(t));
    const gn_study_work work = {.what = "tune",
                                .cache = t->request->cache,
                                .workers = t->workers,
                                .to_come = gn_tune_to_come(t),
                                .grow = gn_tune_grow,
                                .after = after_trial,
                                .user = t};
    gerne_status status = gn_study_run(t->ctx, t->ledger, &work);
    if (status == GERNE_EINTERRUPTED)
        return conclude_early(t, status);
    GN_TRY(status);
    GN_TRY(gn_tune_prune(t));
    return gn_tune_conclude(t, report, study);
}

gerne_status gn_tune(gerne_ctx *ctx, const gn_tune_request *request, gn_text *report,
                     json_t **study)
{
    gn_tuner t = {.ctx = ctx, .request = request};
    if (study)
        *study = NULL;
    GN_TRY(gn_arena_new(ctx, &t.arena));
    gerne_status status = run(&t, report, study);
    gn_ledger_close(t.ledger);
    gn_points_free(&t.points);
    gn_limiter_close(&t.limiter);
    gn_run_config_close(t.config);
    gn_settings_free(&t.base);
    gn_arena_close(t.arena);
    return status;
}
