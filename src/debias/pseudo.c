/* pseudo.c - attributes from the scores of a biased model. */
#include "debias/pseudo.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/arguments.h"
#include "debias/bounds.h"
#include "debias/groups.h"
#include "debias/sampler.h"

typedef struct scored {
    float score;
    uint32_t sample;
} scored;

GN_LOCAL_HANDLE(gerne_pseudo, gerne_pseudo_close)

static int compare(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static gerne_status sort_classes(gerne_ctx *ctx, gerne_pseudo *pseudo, const gerne_groups *groups,
                                 const float *scores)
{
    uint64_t largest = 0;
    for (uint32_t y = 0; y < pseudo->classes; y++) {
        pseudo->starts[y + 1] = groups->starts[y + 1];
        if (groups->class_counts[y] > largest)
            largest = groups->class_counts[y];
    }
    GN_FREED scored *list = NULL;
    GN_TRY(gn_alloc(ctx, largest, sizeof *list, "pseudo-attributes", &list));
    for (uint32_t y = 0; y < pseudo->classes; y++) {
        const uint32_t *members = groups->members + groups->starts[y];
        size_t count = groups->class_counts[y];
        for (size_t i = 0; i < count; i++)
            list[i] = (scored){scores[members[i]], members[i]};
        qsort(list, count, sizeof *list, compare);
        for (size_t i = 0; i < count; i++)
            pseudo->order[pseudo->starts[y] + i] = list[i].sample;
    }
    return GERNE_OK;
}

gerne_status gerne_pseudo_new(gerne_ctx *ctx, const int32_t *y, const float *scores, size_t n,
                              uint32_t classes, gerne_pseudo **out)
{
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_NEEDS(ctx, y);
    GN_NEEDS(ctx, scores);
    for (size_t i = 0; i < n; i++)
        if (isnan(scores[i]))
            return gn_fail(ctx, GERNE_EUSAGE, "the score of sample %zu is not a number", i);
    GN_LOCAL(gerne_groups) *groups = NULL;
    GN_LOCAL(gerne_pseudo) *pseudo = NULL;
    GN_TRY(gerne_groups_from_labels(ctx, y, NULL, n, classes, 1, &groups));
    GN_TRY(gn_alloc(ctx, 1, sizeof *pseudo, "pseudo-attributes", &pseudo));
    pseudo->n = n;
    pseudo->classes = classes;
    GN_TRY(gn_alloc(ctx, (size_t)classes + 1, sizeof *pseudo->starts, "pseudo-attributes",
                    &pseudo->starts));
    GN_TRY(gn_alloc(ctx, n, sizeof *pseudo->order, "pseudo-attributes", &pseudo->order));
    GN_TRY(sort_classes(ctx, pseudo, groups, scores));
    return gn_give(&pseudo, out);
}

void gerne_pseudo_close(gerne_pseudo *pseudo)
{
    if (!pseudo)
        return;
    gn_free(pseudo->starts);
    gn_free(pseudo->order);
    gn_free(pseudo);
}

/* How many of the samples of a class t calls hard: at least one. */
static uint64_t share_of(uint64_t all, double t, bool round_up)
{
    double wanted = gn_snap(t * (double)all);
    uint64_t hard = (uint64_t)(round_up ? ceil(wanted) : floor(wanted));
    return hard ? hard : 1;
}

gerne_status gn_pseudo_counts(gerne_ctx *ctx, const gerne_groups *groups, double t, bool round_up,
                              gerne_groups **out)
{
    GN_FREED int64_t *counts = NULL;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 2 * (size_t)groups->classes, sizeof *counts, "pseudo-groups", &counts));
    for (uint32_t y = 0; y < groups->classes; y++) {
        uint64_t all = groups->class_counts[y], hard = share_of(all, t, round_up);
        counts[2 * y] = (int64_t)(hard < all ? hard : all);
        counts[2 * y + 1] = (int64_t)all - counts[2 * y];
    }
    return gerne_groups_from_counts(ctx, counts, groups->classes, 2, out);
}

/* The same for a class that has samples to tell apart; both parts get at least one. */
static gerne_status hard_count(gerne_ctx *ctx, const gerne_pseudo *pseudo, uint32_t y, double t,
                               bool round_up, uint64_t *out)
{
    *out = 0;
    if (!(t > 0 && t < 1))
        return gn_fail(ctx, GERNE_EUSAGE, "t %g is outside (0, 1)", t);
    uint64_t all = pseudo->starts[y + 1] - pseudo->starts[y];
    uint64_t hard = share_of(all, t, round_up);
    if (hard >= all) {
        gn_fail(ctx, GERNE_EUSAGE,
                "t = %g makes all %llu samples of class y=%u hard and leaves none easy", t,
                (unsigned long long)all, y);
        gn_hint(ctx, "%s", all > 1 ? "use a smaller t" : "a class needs at least two samples");
        return GERNE_EUSAGE;
    }
    *out = hard;
    return GERNE_OK;
}

gerne_status gerne_pseudo_assign(gerne_ctx *ctx, const gerne_pseudo *pseudo, double t,
                                 bool round_up, int32_t *a)
{
    GN_NEEDS(ctx, pseudo);
    GN_NEEDS(ctx, a);
    for (uint32_t y = 0; y < pseudo->classes; y++) {
        uint64_t hard;
        GN_TRY(hard_count(ctx, pseudo, y, t, round_up, &hard));
        uint64_t first = pseudo->starts[y], end = pseudo->starts[y + 1];
        for (uint64_t i = first; i < end; i++)
            a[pseudo->order[i]] = i >= first + hard;
    }
    return GERNE_OK;
}

/* Of one class: samples found, those of its minority, and both. */
typedef struct class_tally {
    uint64_t found, minority, both;
} class_tally;

gerne_status gn_judge_minority(gerne_ctx *ctx, const int32_t *y, const int32_t *true_a,
                               const bool *found, size_t n, uint32_t classes, uint32_t attributes,
                               gn_minority_quality *out)
{
    GN_FREED uint64_t *counts = NULL;
    GN_FREED class_tally *tallies = NULL;
    *out = (gn_minority_quality){NAN, NAN};
    GN_TRY(gn_alloc(ctx, (size_t)classes * (attributes + 1), sizeof *counts, "counts", &counts));
    GN_TRY(gn_alloc(ctx, classes, sizeof *tallies, "counts", &tallies));
    uint64_t *sizes = counts + (size_t)classes * attributes;
    for (size_t i = 0; i < n; i++) {
        counts[(size_t)y[i] * attributes + (size_t)true_a[i]]++;
        sizes[y[i]]++;
    }
    for (size_t i = 0; i < n; i++) {
        class_tally *tally = &tallies[y[i]];
        bool minor = gn_is_minority(counts[(size_t)y[i] * attributes + (size_t)true_a[i]],
                                    sizes[y[i]], attributes);
        tally->found += found[i];
        tally->minority += minor;
        tally->both += found[i] && minor;
    }
    double precision = 0, recall = 0;
    uint32_t with_found = 0, with_minority = 0;
    for (uint32_t c = 0; c < classes; c++) {
        const class_tally *tally = &tallies[c];
        precision += tally->found ? (double)tally->both / (double)tally->found : 0;
        recall += tally->minority ? (double)tally->both / (double)tally->minority : 0;
        with_found += tally->found > 0;
        with_minority += tally->minority > 0;
    }
    if (with_minority) {
        out->precision = with_found ? precision / with_found : NAN;
        out->recall = recall / with_minority;
    }
    return GERNE_OK;
}

/* The labels that the samples were sorted by. */
static void fill_classes(const gerne_pseudo *pseudo, int32_t *y)
{
    for (uint32_t c = 0; c < pseudo->classes; c++)
        for (uint64_t i = pseudo->starts[c]; i < pseudo->starts[c + 1]; i++)
            y[pseudo->order[i]] = (int32_t)c;
}

static gerne_status judge_one(gerne_ctx *ctx, const gerne_pseudo *pseudo, const int32_t *y,
                              const int32_t *true_a, uint32_t attributes, bool round_up, int32_t *a,
                              bool *found, gerne_pseudo_quality *out)
{
    gn_minority_quality quality;
    GN_TRY(gerne_pseudo_assign(ctx, pseudo, out->t, round_up, a));
    out->hard = 0;
    for (size_t i = 0; i < pseudo->n; i++) {
        found[i] = a[i] == 0;
        out->hard += found[i];
    }
    GN_TRY(
        gn_judge_minority(ctx, y, true_a, found, pseudo->n, pseudo->classes, attributes, &quality));
    out->precision = quality.precision;
    out->recall = quality.recall;
    return GERNE_OK;
}

gerne_status gerne_pseudo_judge(gerne_ctx *ctx, const gerne_pseudo *pseudo, const int32_t *true_a,
                                uint32_t attributes, const double *t, size_t count, bool round_up,
                                gerne_pseudo_quality *out)
{
    GN_NEEDS(ctx, pseudo);
    GN_NEEDS(ctx, true_a);
    GN_NEEDS(ctx, t);
    GN_NEEDS(ctx, out);
    for (size_t i = 0; i < pseudo->n; i++)
        if (true_a[i] < 0 || (uint32_t)true_a[i] >= attributes)
            return gn_fail(ctx, GERNE_EUSAGE, "sample %zu has attribute %d, outside 0..%d", i,
                           true_a[i], (int)attributes - 1);
    GN_FREED int32_t *labels = NULL;
    GN_FREED bool *found = NULL;
    GN_TRY(gn_alloc(ctx, 2 * pseudo->n, sizeof *labels, "pseudo-attributes", &labels));
    GN_TRY(gn_alloc(ctx, pseudo->n, sizeof *found, "pseudo-attributes", &found));
    fill_classes(pseudo, labels);
    for (size_t i = 0; i < count; i++) {
        out[i] = (gerne_pseudo_quality){.t = t[i]};
        GN_TRY(judge_one(ctx, pseudo, labels, true_a, attributes, round_up, labels + pseudo->n,
                         found, &out[i]));
    }
    return GERNE_OK;
}
