#include "study/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/result.h"

const char *const gn_test_figures[GN_TEST_FIGURES] = {"gba", "wga", "acc_avg"};

enum { TIES_SHOWN = 12 };

/* ---- configurations ---- */

static bool same_configuration(const gn_trial *a, const gn_trial *b)
{
    return a->level == b->level && strcmp(a->settings, b->settings) == 0 &&
           strcmp(a->tag, b->tag) == 0;
}

static void count_trial(gn_ranked *item, const gn_trial *trial)
{
    const char *warning;
    item->done += trial->state == GN_TRIAL_DONE;
    item->failed += trial->state == GN_TRIAL_FAILED;
    if (gn_result_warnings(trial->results, &warning) > 0)
        item->warning = item->warned++ ? item->warning : warning;
}

/* Every configuration takes its trials, in the order of the list, from those that none has. */
static gerne_status group(gerne_ctx *ctx, const gn_trial_list *list, bool *taken, gn_ranking *out)
{
    const gn_trial **next = out->trials;
    for (size_t i = 0; i < list->count; i++) {
        const gn_trial *first = &list->items[i];
        if (taken[i])
            continue;
        gn_ranked *item = &out->items[out->count++];
        *item = (gn_ranked){.trials = next, .to_first = {.mean = NAN}};
        for (size_t k = i; k < list->count; k++) {
            if (taken[k] || !same_configuration(first, &list->items[k]))
                continue;
            taken[k] = true;
            *next++ = &list->items[k];
            item->count++;
            count_trial(item, &list->items[k]);
        }
        GN_TRY(gn_json_parse(ctx, first->settings, strlen(first->settings), "the ledger's settings",
                             &item->settings));
    }
    return GERNE_OK;
}

/* ---- figures over seeds ---- */

typedef struct judge {
    const char *split, *metric; /* of the selection */
    double *values;             /* room for all trials */
} judge;

static double figure_of(const gn_trial *trial, const char *split, const char *metric)
{
    return gn_result_figure(gn_result_splits(trial->results, false), split, metric);
}

static gn_spread spread(judge *j, const gn_ranked *item, const char *split, const char *metric)
{
    size_t count = 0;
    for (size_t i = 0; i < item->count; i++)
        if (item->trials[i]->state == GN_TRIAL_DONE)
            j->values[count++] = figure_of(item->trials[i], split, metric);
    return gn_spread_of(j->values, count);
}

static gn_interval mean_interval(const judge *j, const gn_ranked *item)
{
    gn_interval sum = {0, 0};
    for (size_t i = 0; i < item->count; i++) {
        if (item->trials[i]->state != GN_TRIAL_DONE)
            continue;
        const json_t *splits = gn_result_splits(item->trials[i]->results, false);
        gn_interval one = gn_result_interval(splits, j->split, j->metric);
        sum.lo += one.lo;
        sum.hi += one.hi;
    }
    double n = (double)item->done;
    return (gn_interval){sum.lo / n, sum.hi / n};
}

static void judge_item(judge *j, gn_ranked *item)
{
    item->figure = spread(j, item, j->split, j->metric);
    item->interval = mean_interval(j, item);
    for (int f = 0; f < GN_TEST_FIGURES; f++)
        item->test[f] = spread(j, item, "test", gn_test_figures[f]);
}

/* ---- order ---- */

static bool is_whole(const gn_ranked *item)
{
    return item->done > 0 && item->failed == 0;
}

static int compare(const void *left, const void *right)
{
    const gn_ranked *a = left, *b = right;
    if (is_whole(a) != is_whole(b))
        return is_whole(a) ? -1 : 1;
    if ((a->done > 0) != (b->done > 0))
        return a->done > 0 ? -1 : 1;
    if (a->trials[0]->level != b->trials[0]->level)
        return a->trials[0]->level > b->trials[0]->level ? -1 : 1;
    if (a->done > 0 && a->figure.mean != b->figure.mean)
        return a->figure.mean > b->figure.mean ? -1 : 1;
    return a->trials < b->trials ? -1 : a->trials > b->trials;
}

/* ---- differences from rank 1 ---- */

static const gn_trial *find_seed(const gn_ranked *item, int64_t seed)
{
    for (size_t i = 0; i < item->count; i++)
        if (item->trials[i]->seed == seed && item->trials[i]->state == GN_TRIAL_DONE)
            return item->trials[i];
    return NULL;
}

static gn_difference difference(judge *j, const gn_ranked *item, const gn_ranked *reference)
{
    size_t pairs = 0;
    if (!is_whole(item) || !is_whole(reference) ||
        item->trials[0]->level != reference->trials[0]->level)
        return (gn_difference){GN_NOT_TESTED, NAN, {NAN, NAN}};
    for (size_t i = 0; i < item->count; i++) {
        const gn_trial *trial = item->trials[i], *twin = find_seed(reference, trial->seed);
        if (twin && trial->state == GN_TRIAL_DONE)
            j->values[pairs++] =
                figure_of(trial, j->split, j->metric) - figure_of(twin, j->split, j->metric);
    }
    return pairs > 1 ? gn_difference_over_seeds(j->values, pairs)
                     : gn_difference_of_figures(item->figure.mean, item->interval,
                                                reference->figure.mean, reference->interval);
}

static gerne_status rank(gerne_ctx *ctx, const gn_trial_list *list, judge *j, bool *taken,
                         gn_ranking *out)
{
    GN_TRY(group(ctx, list, taken, out));
    for (size_t i = 0; i < out->count; i++)
        judge_item(j, &out->items[i]);
    qsort(out->items, out->count, sizeof *out->items, compare);
    for (size_t i = 1; i < out->count; i++)
        out->items[i].to_first = difference(j, &out->items[i], &out->items[0]);
    return GERNE_OK;
}

gerne_status gn_rank(gerne_ctx *ctx, const gn_trial_list *list, const char *split,
                     const char *metric, gn_ranking *out)
{
    judge j = {.split = split, .metric = metric};
    size_t room = list->count + 1;
    GN_LOCAL(gn_ranking) ranking = {0};
    GN_FREED bool *taken = NULL;
    GN_FREED double *values = NULL;
    *out = ranking;
    GN_TRY(gn_alloc(ctx, room, sizeof *ranking.items, "a ranking", &ranking.items));
    GN_TRY(gn_alloc(ctx, room, sizeof *ranking.trials, "a ranking", &ranking.trials));
    GN_TRY(gn_alloc(ctx, room, sizeof *values, "a ranking", &values));
    GN_TRY(gn_alloc(ctx, room, sizeof *taken, "a ranking", &taken));
    j.values = values;
    GN_TRY(rank(ctx, list, &j, taken, &ranking));
    *out = ranking;
    ranking = (gn_ranking){0};
    return GERNE_OK;
}

void gn_ranking_free(gn_ranking *ranking)
{
    for (size_t i = 0; i < ranking->count; i++)
        json_decref(ranking->items[i].settings);
    gn_free(ranking->items);
    gn_free(ranking->trials);
    *ranking = (gn_ranking){0};
}

const gn_ranked *gn_ranking_best(const gn_ranking *ranking)
{
    return ranking->count && ranking->items[0].done ? &ranking->items[0] : NULL;
}

/* ---- in words ---- */

bool gn_ranked_ties(const gn_ranked *item)
{
    return item->to_first.test != GN_NOT_TESTED && !gn_difference_significant(&item->to_first);
}

static gerne_status list_ties(gerne_ctx *ctx, const gn_ranking *ranking, size_t ties, gn_text *out)
{
    size_t said = 0;
    for (size_t i = 1; i < ranking->count && said < TIES_SHOWN; i++)
        if (gn_ranked_ties(&ranking->items[i]))
            GN_TRY(gn_text_add(ctx, out, "%s%zu", said++ ? ", " : (ties == 1 ? "rank " : "ranks "),
                               i + 1));
    return ties > said ? gn_text_add(ctx, out, " and %zu more", ties - said) : GERNE_OK;
}

gerne_status gn_ranking_describe_ties(gerne_ctx *ctx, const gn_ranking *ranking, gn_text *out)
{
    size_t compared = 0, tested = 0, paired = 0, ties = 0;
    for (size_t i = 1; i < ranking->count; i++) {
        compared += isnan(ranking->items[i].to_first.mean) ? 0 : 1;
        tested += ranking->items[i].to_first.test != GN_NOT_TESTED;
        paired += ranking->items[i].to_first.test == GN_PAIRED_OVER_SEEDS;
        ties += gn_ranked_ties(&ranking->items[i]);
    }
    if (!compared)
        return GERNE_OK;
    if (!tested)
        return gn_text_add(ctx, out,
                           "no rank could be tested against rank 1: that takes two "
                           "seeds, or a metric with an interval");
    if (ties) {
        GN_TRY(gn_text_add(ctx, out, "no significant difference from rank 1: "));
        GN_TRY(list_ties(ctx, ranking, ties, out));
    } else
        GN_TRY(gn_text_add(ctx, out, "every rank that was tested is significantly below rank 1"));
    return gn_text_add(ctx, out, " (5 %% level; %s; each rank on its own)",
                       paired == tested ? "paired t-test over seeds"
                       : paired         ? "paired t-test over seeds, or intervals of the figures"
                                        : "from the 95 % intervals of the figures");
}

gerne_status gn_ranked_describe_warnings(gerne_ctx *ctx, const gn_ranked *item, gn_text *out)
{
    if (!item->warned)
        return GERNE_OK;
    return gn_text_add(ctx, out, "%zu of %zu run%s warned: %s", item->warned, item->done,
                       item->done == 1 ? "" : "s", item->warning);
}
