#include "study/ranking.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/result.h"

const char *const gn_test_figures[GN_TEST_FIGURES] = {"gba", "wga", "acc_avg"};

static gerne_status group(gerne_ctx *ctx, const gn_trial_list *list, gn_ranking *out)
{
    GN_TRY(
        gn_alloc(ctx, list->count ? list->count : 1, sizeof *out->items, "a ranking", &out->items));
    for (size_t i = 0; i < list->count; i++) {
        const gn_trial *trial = &list->items[i];
        size_t at = 0;
        while (at < out->count && (out->items[at].level != trial->level ||
                                   strcmp(out->items[at].settings, trial->settings) != 0 ||
                                   strcmp(list->items[out->items[at].first].tag, trial->tag) != 0))
            at++;
        if (at == out->count)
            out->items[out->count++] =
                (gn_ranked){.settings = trial->settings, .first = i, .level = trial->level};
        out->items[at].trials++;
        out->items[at].done += trial->state == GN_TRIAL_DONE;
        out->items[at].failed += trial->state == GN_TRIAL_FAILED;
    }
    return GERNE_OK;
}

static bool belongs(const gn_ranked *item, const gn_trial_list *list, const gn_trial *trial)
{
    const gn_trial *first = &list->items[item->first];
    return trial->state == GN_TRIAL_DONE && trial->level == item->level &&
           strcmp(trial->settings, item->settings) == 0 && strcmp(trial->tag, first->tag) == 0;
}

/* values has room for all trials. */
static gn_spread spread(const gn_ranked *item, const gn_trial_list *list, const char *split,
                        const char *metric, double *values)
{
    size_t count = 0;
    for (size_t i = item->first; i < list->count; i++)
        if (belongs(item, list, &list->items[i]))
            values[count++] =
                gn_result_figure(gn_result_splits(list->items[i].results, false), split, metric);
    return gn_spread_of(values, count);
}

static gn_interval mean_interval(const gn_ranked *item, const gn_trial_list *list,
                                 const char *split, const char *metric)
{
    gn_interval sum = {0, 0};
    for (size_t i = item->first; i < list->count; i++) {
        if (!belongs(item, list, &list->items[i]))
            continue;
        const json_t *splits = gn_result_splits(list->items[i].results, false);
        gn_interval one = gn_result_interval(splits, split, metric);
        sum.lo += one.lo;
        sum.hi += one.hi;
    }
    double n = (double)item->done;
    return (gn_interval){sum.lo / n, sum.hi / n};
}

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
    if (a->level != b->level)
        return a->level > b->level ? -1 : 1;
    if (a->done > 0 && a->figure.mean != b->figure.mean)
        return a->figure.mean > b->figure.mean ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

gerne_status gn_rank(gerne_ctx *ctx, const gn_trial_list *list, const char *split,
                     const char *metric, gn_ranking *out)
{
    double *values;
    *out = (gn_ranking){0};
    GN_TRY(group(ctx, list, out));
    gerne_status status =
        gn_alloc(ctx, list->count ? list->count : 1, sizeof *values, "a ranking", &values);
    if (status != GERNE_OK) {
        gn_ranking_free(out);
        return status;
    }
    for (size_t i = 0; i < out->count; i++) {
        gn_ranked *item = &out->items[i];
        item->figure = spread(item, list, split, metric, values);
        item->interval = mean_interval(item, list, split, metric);
        for (int f = 0; f < GN_TEST_FIGURES; f++)
            item->test[f] = spread(item, list, "test", gn_test_figures[f], values);
    }
    gn_free(values);
    qsort(out->items, out->count, sizeof *out->items, compare);
    return GERNE_OK;
}

void gn_ranking_free(gn_ranking *ranking)
{
    gn_free(ranking->items);
    *ranking = (gn_ranking){0};
}

const gn_ranked *gn_ranking_best(const gn_ranking *ranking)
{
    return ranking->count && ranking->items[0].done ? &ranking->items[0] : NULL;
}
