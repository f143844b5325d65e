/* estimating.h - what estimators of groups share: a budget, predictions kept in tables, and groups
 * and cells made of them.
 *
 * A table of an estimator holds the training samples first, then those of the validation split.
 */
#ifndef GN_METHODS_ESTIMATING_H
#define GN_METHODS_ESTIMATING_H

#include "methods/method.h"

#pragma GCC visibility push(default) /* what plug-ins may call */

typedef struct gn_estimator_budget {
    double epochs, lr;
    int augment; /* 0: data.augment; else 1 + a gn_augment */
} gn_estimator_budget;

/* Their rows, for options that have a field budget. */
#define GN_ESTIMATOR_BUDGET(type, usual_epochs)                                                    \
    {"estimator_epochs",                                                                           \
     GN_REAL,                                                                                      \
     offsetof(type, budget.epochs),                                                                \
     .fallback = usual_epochs,                                                                     \
     .min = 0,                                                                                     \
     .max = 1e6,                                                                                   \
     .flags = GN_TUNABLE,                                                                          \
     .help = "attributes unknown: epochs of each of the estimator's stages; 0: those of the run"}, \
        {"estimator_lr",                                                                           \
         GN_REAL,                                                                                  \
         offsetof(type, budget.lr),                                                                \
         .fallback = "1",                                                                          \
         .min = 0,                                                                                 \
         .max = 1e6,                                                                               \
         .flags = GN_TUNABLE | GN_OPEN_MIN,                                                        \
         .help = "attributes unknown: learning rate of the estimator, as a multiple of train.lr"}, \
    {                                                                                              \
        "estimator_augment", GN_CHOICE, offsetof(type, budget.augment),                            \
            .fallback = "data", .choices = "data|" GN_AUGMENT_CHOICES,                             \
            .help = "attributes unknown: random changes of the estimator's training images, as "   \
                    "those of data.augment; data: the same as there"                               \
    }

/* A stage with that budget, one network, whose last weights count. */
gn_stage gn_estimator_stage(const char *name, const gn_estimator_budget *budget);

size_t gn_val_count(const gn_run *run); /* samples of the validation split */

/* The classes that network i predicts: [samples of the set]. */
GERNE_CHECKED gerne_status gn_predict_set(gn_run *run, int i, gn_sample_set set, float *classes);

/* right[i] = the prediction of sample i is its label. */
void gn_mark_right(const float *predictions, const int32_t *y, size_t n, float *right);

/* The samples with chosen[i] != 0 [training samples], for a stage that trains on these alone: map
 * leads from their indices to those of the run, their groups are classes, and an epoch is as long
 * as they are. */
GERNE_CHECKED gerne_status gn_take_part(gn_run *run, const float *chosen, uint32_t **map,
                                        const gerne_groups **groups);

/* A biased model of a part of the samples: batches with equally many of every class, and, where
 * shortcuts are to win, generalised cross-entropy of exponent 0.7. */
typedef struct gn_train_part {
    const gerne_sampler *sampler;
    uint32_t *map;
} gn_train_part;
GERNE_CHECKED gerne_status gn_train_part_start(gn_run *run, const float *chosen,
                                               gn_train_part *part);
GERNE_CHECKED gerne_status gn_train_part_plan(const gn_train_part *part, gn_plan *plan);
GERNE_CHECKED gerne_status gn_gce_step(gn_run *run, gn_minibatch *batch);

/* Two attributes, from marks [training samples]: 0 is attribute 0 and the minority. */
enum { GN_TWO_ATTRIBUTES = 2 };
GERNE_CHECKED gerne_status gn_regroup_in_two(gn_run *run, const float *marks,
                                             const char *const names[GN_TWO_ATTRIBUTES]);

/* As many attributes as classes, and with their names: the class that each training sample was
 * taken for [training samples]. */
GERNE_CHECKED gerne_status gn_regroup_by_class(gn_run *run, const float *classes);

/* sums [samples of the set][classes]: of the probabilities of the first networks of the run; logits
 * has room for as many values. */
GERNE_CHECKED gerne_status gn_sum_probabilities(gn_run *run, int networks, gn_sample_set set,
                                                float *logits, float *sums);

/* gn_run_val_cells of values that are kept in a table. */
GERNE_CHECKED gerne_status gn_cells_of_table(gn_run *run, gn_val_cells kind, const float *values,
                                             uint32_t count);

/* The hook attributes_found of estimators with two. */
uint32_t gn_finds_two(const gn_run *run);

#pragma GCC visibility pop

#endif
