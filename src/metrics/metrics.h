/* metrics.h - the figures of a split: accuracies by group, class and on average, their intervals.
 *
 * docs/metrics.md defines each name. Accuracies are fractions; what does not exist
 * (an empty group, a figure that needs probabilities) is NaN here and null in JSON. A group's id is
 * g = y * attributes + a; ties go to the lowest id.
 */
#ifndef GN_METRICS_METRICS_H
#define GN_METRICS_METRICS_H

#include "base/json.h"
#include "metrics/predictions.h"

typedef struct gn_group_metrics {
    uint64_t n, correct;
    double acc;
    gn_interval ci95; /* Clopper-Pearson */
} gn_group_metrics;

/* The same predictions judged by other cells than the groups. */
typedef struct gn_cell_metrics {
    double gba, wga;
} gn_cell_metrics;

typedef struct gn_metrics {
    int32_t classes, attributes;
    uint64_t n;
    double acc_avg;       /* right / all */
    double gba;           /* mean accuracy of the non-empty groups */
    gn_interval gba_ci95; /* from the group intervals, see docs/metrics.md */
    double wga;           /* least accuracy of the non-empty groups */
    gn_interval wga_ci95; /* least ends of simultaneous group intervals */
    int32_t worst_group;  /* id, or -1 when there are no samples */
    double worst_class;   /* least recall of a class */
    double balanced_acc;  /* mean recall of the classes */
    double minority_acc;  /* of the groups whose share of their class is below 1/A in training */
    bool minority_by_training; /* else by the shares of these samples */
    double adj_acc_avg;        /* group accuracies weighted by the training groups' sizes (WILDS) */
    double auroc, ece;         /* only with probabilities */
    gn_cell_metrics inferred, bias; /* of a validation split: see gn_metrics_judge_cells */
    gn_group_metrics *groups;       /* [classes * attributes], owned */
} gn_metrics;

/* All of them. train_counts [classes * attributes], the sizes of the training groups, may be NULL:
 * adj_acc_avg does not exist then, and minority_acc goes by the shares of the predictions. Free the
 * result with gn_metrics_free. */
GERNE_CHECKED gerne_status gn_metrics_compute(gerne_ctx *ctx, const gn_predictions *predictions,
                                              const uint64_t *train_counts, gn_metrics *out);
void gn_metrics_free(gn_metrics *metrics);
GN_LOCAL_STRUCT(gn_metrics, gn_metrics_free)

/* GBA and WGA as if the attributes of the samples were these values, 0..count-1. */
GERNE_CHECKED gerne_status gn_metrics_judge_cells(gerne_ctx *ctx, const gn_predictions *predictions,
                                                  const int32_t *values, int32_t count,
                                                  gn_cell_metrics *out);

/* The figures that select a checkpoint, in the order of the words of an option of type GN_CHOICE.
 */
#define GN_METRIC_CHOICES                                                                          \
    "gba|wga|worst_class|balanced_acc|acc_avg|minority_acc|inferred_wga|inferred_gba|bias_wga|"    \
    "bias_gba"
typedef enum gn_metric {
    GN_METRIC_GBA,
    GN_METRIC_WGA,
    GN_METRIC_WORST_CLASS,
    GN_METRIC_BALANCED_ACC,
    GN_METRIC_ACC_AVG,
    GN_METRIC_MINORITY_ACC,
    GN_METRIC_INFERRED_WGA,
    GN_METRIC_INFERRED_GBA,
    GN_METRIC_BIAS_WGA,
    GN_METRIC_BIAS_GBA,
} gn_metric;
double gn_metrics_value(const gn_metrics *metrics, gn_metric metric);

/* The object S of results.json and `eval --json`. New reference, or NULL without memory. */
json_t *gn_metrics_json(const gn_metrics *metrics);

/* Adds the figures of cells that exist. */
void gn_metrics_add_cells(const gn_metrics *metrics, json_t *object);

/* A group and how good it is, for orders. */
typedef struct gn_ranked_group {
    size_t id;
    double acc;
} gn_ranked_group;

/* Sorts: the worst first, then the lowest id. */
void gn_sort_groups(gn_ranked_group *groups, size_t count);

/* Names of classes and attributes, by index; borrowed. */
typedef struct gn_group_names {
    const char *const *classes, *const *attributes;
} gn_group_names;

/* Appends a table of the groups and the figures below it, for people. */
GERNE_CHECKED gerne_status gn_metrics_print(gerne_ctx *ctx, const gn_metrics *metrics,
                                            const gn_group_names *names, gn_text *out);

#endif
