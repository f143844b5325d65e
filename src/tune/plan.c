/* plan.c - which trials a search has: configurations times seeds, or rungs of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tune/tune.h"

gerne_status gn_tune_draw(gn_tuner *t)
{
    const gn_tune_options *o = &t->request->options;
    const gn_points_request request = {.space = &t->space,
                                       .limiter = &t->limiter,
                                       .steps = (int)o->beta_steps,
                                       .seed = (uint64_t)o->seed,
                                       .count = (size_t)o->trials};
    GN_TRY(o->strategy == GN_GRID ? gn_points_grid(t->ctx, t->arena, &request, &t->points)
                                  : gn_points_random(t->ctx, t->arena, &request, &t->points));
    if (t->points.dropped)
        gn_log(t->ctx, GERNE_LOG_INFO, "%zu configuration%s skipped: %s%s", t->points.dropped,
               t->points.dropped == 1 ? " is" : "s are", t->points.example,
               t->points.dropped == 1 ? "" : ", for example");
    if (t->points.count)
        return GERNE_OK;
    gn_fail(t->ctx, GERNE_EUSAGE, "no configuration is left: %s", t->points.example);
    gn_hint(t->ctx, "use 'search.method.%s: auto', which stays inside the limits",
            t->config->method->limited);
    return GERNE_EUSAGE;
}

/* ---- rungs ---- */

static int last_rung(const gn_tuner *t)
{
    return t->request->options.strategy == GN_HALVING ? (int)t->request->options.rungs - 1 : 0;
}

static size_t rung_size(const gn_tuner *t, int rung)
{
    size_t size = t->points.count;
    for (int r = 0; r < rung; r++)
        size /= (size_t)t->request->options.eta;
    return size ? size : 1;
}

static int64_t rung_seeds(const gn_tuner *t, int rung)
{
    return rung == last_rung(t) ? t->request->options.seeds : 1;
}

size_t gn_tune_to_come(const gn_tuner *t)
{
    size_t sum = 0;
    for (int r = t->rung + 1; r <= last_rung(t); r++)
        sum += rung_size(t, r) * (size_t)rung_seeds(t, r);
    return sum;
}

/* Steps or epochs of a rung: the configured budget on the last, eta times less on each before. */
static const char *budget_of(const gn_tuner *t, int rung, char text[32])
{
    double share = pow((double)t->request->options.eta, (double)(rung - last_rung(t)));
    bool steps = gn_config_origin(t->config->config, "train.steps") != GN_UNSET;
    if (steps)
        snprintf(text, 32, "%.0f", fmax(1, nearbyint(share * (double)t->config->train.steps)));
    else
        snprintf(text, 32, "%.6g", share * t->config->train.epochs);
    return steps ? "train.steps" : "train.epochs";
}

/* Adds a configuration, with its seeds, to the trials. */
static gerne_status add_trials(gn_tuner *t, const gn_settings *point, gn_trial *trials,
                               size_t *count)
{
    char text[32];
    const char *value = text, *key = budget_of(t, t->rung, text);
    GN_LOCAL(gn_settings) changes = {.arena = t->arena};
    GN_TRY(gn_settings_pick(t->ctx, point, key, false, &changes));
    if (t->request->options.strategy == GN_HALVING)
        GN_TRY(gn_settings_add(t->ctx, &changes, key, &value, 1, false, 0));
    for (int64_t s = 0; s < rung_seeds(t, t->rung); s++) {
        gn_trial *trial = &trials[(*count)++];
        *trial = (gn_trial){.tag = "", .seed = t->request->first_seed + s, .level = t->rung};
        GN_TRY(gn_trial_make(t->ctx, t->arena, &t->base, &changes, trial));
    }
    return GERNE_OK;
}

static gerne_status plan_rung(gn_tuner *t, const gn_settings *points, size_t count)
{
    GN_FREED gn_trial *trials = NULL;
    size_t made = 0;
    GN_TRY(gn_alloc(t->ctx, count * (size_t)rung_seeds(t, t->rung), sizeof *trials, "trials",
                    &trials));
    for (size_t i = 0; i < count; i++)
        GN_TRY(add_trials(t, &points[i], trials, &made));
    return gn_ledger_plan(t->ledger, trials, made);
}

gerne_status gn_tune_plan(gn_tuner *t)
{
    t->rung = 0;
    t->rung_start = 0;
    size_t later = gn_tune_to_come(t), now = t->points.count * (size_t)rung_seeds(t, 0);
    gn_log(t->ctx, GERNE_LOG_INFO, "%zu configuration%s, %zu trial%s in '%s'", t->points.count,
           t->points.count == 1 ? "" : "s", now + later, now + later == 1 ? "" : "s",
           t->request->dir);
    return plan_rung(t, t->points.items, t->points.count);
}

/* ---- the next rung ---- */

/* Back from {"method.beta":"1"} to settings. */
static gerne_status settings_of(gn_tuner *t, json_t *object, gn_settings *out)
{
    const char *key;
    json_t *value;
    *out = (gn_settings){.arena = t->arena};
    json_object_foreach(object, key, value)
    {
        const char *word = json_string_value(value);
        if (word)
            GN_TRY(gn_settings_add(t->ctx, out, key, &word, 1, false, 0));
    }
    return GERNE_OK;
}

static gerne_status promote(gn_tuner *t, const gn_ranking *ranking, size_t *promoted)
{
    size_t wanted = rung_size(t, t->rung), count = 0;
    gn_settings *points;
    GN_TRY(gn_alloc(t->ctx, wanted, sizeof *points, "configurations", &points));
    gerne_status status = GERNE_OK;
    for (; count < wanted && count < ranking->count && ranking->items[count].done &&
           status == GERNE_OK;
         count++)
        status = settings_of(t, ranking->items[count].settings, &points[count]);
    if (status == GERNE_OK)
        status = plan_rung(t, points, count);
    for (size_t i = 0; i < count; i++)
        gn_settings_free(&points[i]);
    gn_free(points);
    *promoted = count;
    return status;
}

gerne_status gn_tune_grow(void *user, gn_ledger *ledger, size_t *to_come, bool *grew)
{
    gn_tuner *t = user;
    GN_LOCAL(gn_trial_list) list = {0};
    GN_LOCAL(gn_ranking) ranking = {0};
    size_t promoted = 0;
    *grew = false;
    if (t->rung == last_rung(t))
        return GERNE_OK;
    GN_TRY(gn_ledger_list(ledger, &list));
    const gn_trial_list present = {.items = list.items + t->rung_start,
                                   .count = list.count - t->rung_start};
    GN_TRY(gn_rank(t->ctx, &present, t->split, t->metric, &ranking));
    t->rung++;
    t->rung_start = list.count;
    GN_TRY(promote(t, &ranking, &promoted));
    *grew = promoted > 0;
    if (!*grew)
        t->rung = last_rung(t); /* no configuration is left */
    *to_come = gn_tune_to_come(t);
    if (*grew)
        gn_log(t->ctx, GERNE_LOG_INFO, "rung %d: %zu configuration%s promoted", t->rung + 1,
               promoted, promoted == 1 ? "" : "s");
    return GERNE_OK;
}
