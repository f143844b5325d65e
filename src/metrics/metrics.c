#include "metrics/metrics.h"

#include <math.h>

#include "debias/groups.h"
#include "metrics/ranking.h"

static const gn_interval no_interval = {NAN, NAN};

static size_t group_count(const gn_metrics *m)
{
    return (size_t)m->classes * (size_t)m->attributes;
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static void count_groups(const gn_predictions *p, gn_metrics *m)
{
    for (size_t i = 0; i < p->count; i++) {
        gn_group_metrics *group =
            &m->groups[(size_t)p->y[i] * (size_t)m->attributes + (size_t)p->a[i]];
        group->n++;
        group->correct += p->pred[i] == p->y[i];
    }
}

static void judge_groups(gn_metrics *m)
{
    for (size_t g = 0; g < group_count(m); g++) {
        gn_group_metrics *group = &m->groups[g];
        group->acc = ratio(group->correct, group->n);
        group->ci95 = group->n ? gn_clopper_pearson(group->correct, group->n, 0.95) : no_interval;
    }
}

/* The mean of the groups. Its interval recovers each group's variance from its own exact interval,
 * one side at a time (Zou and Donner's MOVER): the squared distances of the ends add up. Groups are
 * independent samples, so that this is sound; at 100 % or 0 % it keeps a width, and with one group
 * it is that group's interval. */
static void judge_mean(gn_metrics *m)
{
    double sum = 0, below = 0, above = 0;
    size_t counted = 0;
    for (size_t g = 0; g < group_count(m); g++) {
        const gn_group_metrics *group = &m->groups[g];
        if (group->n == 0)
            continue;
        sum += group->acc;
        below += (group->acc - group->ci95.lo) * (group->acc - group->ci95.lo);
        above += (group->ci95.hi - group->acc) * (group->ci95.hi - group->acc);
        counted++;
    }
    if (counted == 0)
        return;
    double share = 1.0 / (double)counted;
    m->gba = sum * share;
    m->gba_ci95 = (gn_interval){.lo = fmax(0, m->gba - share * sqrt(below)),
                                .hi = fmin(1, m->gba + share * sqrt(above))};
}

/* The worst group; which group is the worst is itself uncertain, so that all groups are covered at
 * once (Bonferroni) and the least ends are taken. */
static void judge_worst(gn_metrics *m)
{
    size_t counted = 0;
    for (size_t g = 0; g < group_count(m); g++) {
        counted += m->groups[g].n > 0;
        if (m->groups[g].n > 0 && (m->worst_group < 0 || m->groups[g].acc < m->wga)) {
            m->worst_group = (int32_t)g;
            m->wga = m->groups[g].acc;
        }
    }
    if (counted == 0)
        return;
    m->wga_ci95 = (gn_interval){1, 1};
    for (size_t g = 0; g < group_count(m); g++) {
        const gn_group_metrics *group = &m->groups[g];
        if (group->n == 0)
            continue;
        gn_interval wide = gn_clopper_pearson(group->correct, group->n, 1 - 0.05 / (double)counted);
        m->wga_ci95.lo = fmin(m->wga_ci95.lo, wide.lo);
        m->wga_ci95.hi = fmin(m->wga_ci95.hi, wide.hi);
    }
}

static void judge_classes(gn_metrics *m)
{
    double sum = 0;
    int32_t counted = 0;
    for (int32_t y = 0; y < m->classes; y++) {
        uint64_t n = 0, correct = 0;
        for (int32_t a = 0; a < m->attributes; a++) {
            n += m->groups[(size_t)y * (size_t)m->attributes + (size_t)a].n;
            correct += m->groups[(size_t)y * (size_t)m->attributes + (size_t)a].correct;
        }
        if (n == 0)
            continue;
        double recall = ratio(correct, n);
        m->worst_class = counted == 0 ? recall : fmin(m->worst_class, recall);
        sum += recall;
        counted++;
    }
    if (counted)
        m->balanced_acc = sum / counted;
}

static void judge_samples(gn_metrics *m)
{
    uint64_t n = 0, correct = 0;
    for (size_t g = 0; g < group_count(m); g++) {
        n += m->groups[g].n;
        correct += m->groups[g].correct;
    }
    m->n = n;
    m->acc_avg = ratio(correct, n);
}

/* A class without training samples has no minority. */
static void judge_minority(gn_metrics *m, const uint64_t *train_counts)
{
    uint64_t n = 0, correct = 0;
    size_t attributes = (size_t)m->attributes;
    for (size_t g = 0; g < group_count(m); g += attributes) {
        uint64_t in_class = 0;
        for (size_t a = 0; a < attributes; a++)
            in_class += train_counts ? train_counts[g + a] : m->groups[g + a].n;
        for (size_t a = 0; a < attributes; a++) {
            uint64_t count = train_counts ? train_counts[g + a] : m->groups[g + a].n;
            if (gn_is_minority(count, in_class, (uint32_t)attributes)) {
                n += m->groups[g + a].n;
                correct += m->groups[g + a].correct;
            }
        }
    }
    m->minority_acc = ratio(correct, n);
    m->minority_by_training = train_counts != NULL;
}

/* Weights are renewed over the groups that have samples here. */
static void judge_adjusted(gn_metrics *m, const uint64_t *train_counts)
{
    double sum = 0, weight = 0;
    for (size_t g = 0; g < group_count(m); g++) {
        if (m->groups[g].n == 0)
            continue;
        sum += (double)train_counts[g] * m->groups[g].acc;
        weight += (double)train_counts[g];
    }
    if (weight > 0)
        m->adj_acc_avg = sum / weight;
}

gerne_status gn_metrics_compute(gerne_ctx *ctx, const gn_predictions *predictions,
                                const uint64_t *train_counts, gn_metrics *out)
{
    *out = (gn_metrics){
        .classes = predictions->classes,
        .attributes = predictions->attributes,
        .acc_avg = NAN,
        .gba = NAN,
        .gba_ci95 = no_interval,
        .wga = NAN,
        .wga_ci95 = no_interval,
        .worst_group = -1,
        .worst_class = NAN,
        .balanced_acc = NAN,
        .adj_acc_avg = NAN,
        .inferred = {NAN, NAN},
        .bias = {NAN, NAN},
    };
    GN_TRY(gn_check_group_count(ctx, (size_t)out->classes, (size_t)out->attributes));
    GN_TRY(gn_auroc(ctx, predictions, &out->auroc));
    out->ece = gn_calibration_error(predictions);
    GN_TRY(gn_alloc(ctx, group_count(out), sizeof *out->groups, "groups", &out->groups));
    count_groups(predictions, out);
    judge_groups(out);
    judge_samples(out);
    judge_minority(out, train_counts);
    judge_mean(out);
    judge_worst(out);
    judge_classes(out);
    if (train_counts)
        judge_adjusted(out, train_counts);
    return GERNE_OK;
}

gerne_status gn_metrics_judge_cells(gerne_ctx *ctx, const gn_predictions *predictions,
                                    const int32_t *values, int32_t count, gn_cell_metrics *out)
{
    const gn_predictions regrouped = {.classes = predictions->classes,
                                      .attributes = count,
                                      .count = predictions->count,
                                      .y = predictions->y,
                                      .a = (int32_t *)values, /* not written to */
                                      .pred = predictions->pred};
    GN_LOCAL(gn_metrics) metrics = {0};
    GN_TRY(gn_metrics_compute(ctx, &regrouped, NULL, &metrics));
    *out = (gn_cell_metrics){.gba = metrics.gba, .wga = metrics.wga};
    return GERNE_OK;
}

void gn_metrics_free(gn_metrics *metrics)
{
    gn_free(metrics->groups);
    metrics->groups = NULL;
}

double gn_metrics_value(const gn_metrics *metrics, gn_metric metric)
{
    const double values[] = {
        [GN_METRIC_GBA] = metrics->gba,
        [GN_METRIC_WGA] = metrics->wga,
        [GN_METRIC_WORST_CLASS] = metrics->worst_class,
        [GN_METRIC_BALANCED_ACC] = metrics->balanced_acc,
        [GN_METRIC_ACC_AVG] = metrics->acc_avg,
        [GN_METRIC_MINORITY_ACC] = metrics->minority_acc,
        [GN_METRIC_INFERRED_WGA] = metrics->inferred.wga,
        [GN_METRIC_INFERRED_GBA] = metrics->inferred.gba,
        [GN_METRIC_BIAS_WGA] = metrics->bias.wga,
        [GN_METRIC_BIAS_GBA] = metrics->bias.gba,
    };
    return (size_t)metric < sizeof values / sizeof values[0] ? values[metric] : NAN;
}
