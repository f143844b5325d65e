/* trainer.h - the inside of a run, for the files of this folder that make it up. */
#ifndef GN_TRAIN_TRAINER_H
#define GN_TRAIN_TRAINER_H

#include "data/dataset.h"
#include "metrics/metrics.h"
#include "train/checkpoint.h"
#include "train/events.h"
#include "train/feed.h"
#include "train/frozen.h"
#include "train/inference.h"
#include "train/options.h"
#include "train/runlog.h"
#include "train/snapshot.h"

enum { GN_FIGURES_MAX = 16, GN_FIGURE_NAME = 24, GN_TABLES_MAX = 8, GN_STAGE_PARTS_MAX = 8 };

/* The evaluation that a choice fell on. */
typedef struct gn_choice_made {
    int64_t step; /* 0: none yet */
    double value;
} gn_choice_made;

/* Mean of what a method logs between two evaluations. */
typedef struct gn_figure {
    char name[GN_FIGURE_NAME];
    double sum;
    int64_t count;
} gn_figure;

/* Where a run is; saved as it stands, so it has no pointers. */
typedef struct gn_position {
    int64_t stage, step; /* step: those done in this stage */
    int64_t averaged;    /* weights in the mean of train.average tail */
    gn_choice_made best, oracle;
    bool warned; /* by the method's watch hook; once is enough */
    gn_figure figures[GN_FIGURES_MAX];
    gn_pseudo_report pseudo;
} gn_position;

typedef struct gn_table {
    char name[GN_FIGURE_NAME];
    float *values; /* owned */
    size_t count;
} gn_table;

/* Where a run writes. */
typedef struct gn_run_directory {
    const char *path;
    int lock;         /* -1: not locked */
    bool fresh, made; /* started by this process, and in a directory of its own making */
} gn_run_directory;

/* A partition of the validation split beside its groups. */
typedef struct gn_cell_values {
    int32_t *values; /* [its samples], or NULL */
    uint32_t count;
} gn_cell_values;

/* The part of the validation split that a stage is judged on. */
typedef struct gn_judged_part {
    gn_sample_list samples;
    size_t *places;       /* [its samples] in the whole split */
    int32_t *cell_values; /* [its samples], scratch */
} gn_judged_part;

/* What it learns from. */
typedef struct gn_run_input {
    gn_dataset *data;
    gn_frozen
        *frozen; /* of frozen layers: data are their features, networks what trains; or NULL */
    float scale[GN_CHANNELS], shift[GN_CHANNELS]; /* of the pixels behind those features */
    gn_sample_list samples[GN_SPLITS];
    gn_sample_list repair;  /* what the head is fitted to by the option repair */
    int32_t *repair_groups; /* [its samples] */
    int32_t *y, *a, *true_a;
    uint64_t *train_counts;            /* of the true groups */
    gerne_groups *groups, *val_groups; /* of the training and the validation split */
    int32_t *val_y, *val_a;
    gn_cell_values val_cells[GN_CELLS_KINDS];
    gn_grouping found; /* of the estimator: how many attributes, and which are the minority */
    const gn_found_groups *elsewhere;     /* taken from another run, or NULL */
    char elsewhere_digest[GN_SHA256_HEX]; /* of their file; "" without one */
    char fingerprint[GN_SHA256_HEX];
    char samples_digest[GN_SHA256_HEX]; /* which samples train and which validate, in their order */
    char weights_digest[GN_SHA256_HEX]; /* of the file model.weights; "" without one */
} gn_run_input;

/* Rows of a batch that lie on several ranks, gathered. */
typedef struct gn_split_rows {
    float *values;
    size_t capacity;
} gn_split_rows;

/* What the gradients of a network are. */
typedef enum gn_sum_state {
    GN_SUM_PART,      /* this rank's part of a sum */
    GN_SUM_UNDER_WAY, /* being summed: gn_ranks_sum_wait */
    GN_SUM_WHOLE,     /* those of all ranks */
} gn_sum_state;

/* What a network has of other ranks. */
typedef struct gn_split_parts {
    gn_sum_state sum;
    bool more; /* the next pass is not the last of its sum */
    gn_split_rows features, logits, logit_gradient, feature_gradient;
} gn_split_parts;

/* The present stage. */
typedef struct gn_stage_parts {
    gn_optimizer_options optimizer_options;
    gn_network *networks[GN_NETWORKS_MAX];
    gn_optimizer *optimizers[GN_NETWORKS_MAX];
    gn_split_parts split[GN_NETWORKS_MAX];
    gn_inference *inference;
    gn_feed *feed;
    double epoch_steps;    /* steps of an epoch; not a whole number */
    gn_judged_part judged; /* of the validation split; all of it when places is NULL */
    gerne_sampler *samplers[GN_STAGE_PARTS_MAX];
    gerne_groups *other_groups[GN_STAGE_PARTS_MAX];
    size_t sampler_count, group_count;
    float *average; /* of the weights of network 0, or NULL */
    gn_snapshot best, oracle;
    gn_snapshot best_others[GN_NETWORKS_MAX]; /* networks 1.. at the best, where a stage follows */
    double step_loss;
    bool figures_full; /* the method logs more figures than GN_FIGURES_MAX */
} gn_stage_parts;

/* What it tells. */
typedef struct gn_trainer_record {
    gn_runlog *log;
    gn_events *events;
    json_t *warnings;                       /* texts, in their order; part of every checkpoint */
    double started, in_steps, in_inference; /* seconds */
    bool best_changed;                      /* since best.safetensors was written */
    double saved_at;                        /* seconds */
} gn_trainer_record;

/* The right to make what a stage leaves in the cache, while others wait. */
typedef struct gn_reuse {
    int lock; /* -1: none */
    const char *path;
} gn_reuse;

typedef struct gn_trainer {
    gn_run run; /* first: methods get its address */
    const gn_run_config *config;
    gn_model_options model; /* as configured, with what model.bn auto stands for */
    char run_hash[GN_SHA256_HEX];
    gn_arena *arena, *stage_arena;
    gn_device *device;
    gn_run_directory directory;
    gn_run_input input;
    gn_stage stages[GN_STAGES_MAX];
    int stage_count;
    bool couples;     /* layers of the configured network couple samples in training */
    bool drops;       /* ... or drop activations at random */
    bool on_features; /* what frozen layers compute takes the place of the samples */
    gn_plain_weights inherited[GN_NETWORKS_MAX]; /* what the stage before has left */
    gn_stage_parts now;
    gn_reuse reuse;
    gn_table tables[GN_TABLES_MAX];
    size_t table_count;
    gn_position at;
    bool stepped;          /* this process has taken a step */
    gn_checkpoint *resume; /* what to resume from, until the stage is entered */
    gn_trainer_record record;
} gn_trainer;

/* train.c: a run that has nothing yet, and the end of it. The configuration is lent. */
GERNE_CHECKED gerne_status gn_trainer_new(gerne_ctx *ctx, const gn_run_config *config,
                                          gn_trainer **out);
void gn_trainer_close(gn_trainer *t); /* takes NULL */
GN_LOCAL_HANDLE(gn_trainer, gn_trainer_close)

/* settle.c: data, groups, sizes, and everything that can be refused before anything is written. */
GERNE_CHECKED gerne_status gn_trainer_settle(gn_trainer *t);
/* Whether a metric of section select is about cells of the validation split, and which. */
bool gn_metric_of_cells(int metric, gn_val_cells *kind);
/* Ranks of another version, configuration, data or kind of CPU are refused. */
GERNE_CHECKED gerne_status gn_compare_ranks(gn_trainer *t);
/* Where layers are frozen the features of all samples take the place of the data. */
GERNE_CHECKED gerne_status gn_settle_frozen(gn_trainer *t);

/* views.c: what model.views cannot be combined with, before the samples are read, and once the
 * network is known. */
GERNE_CHECKED gerne_status gn_check_views(const gn_trainer *t, const gn_dataset *data);
GERNE_CHECKED gerne_status gn_check_views_are_kept(const gn_trainer *t);

/* stage.c */
/* Whether the forward pass of a sample is the same whenever it is drawn. */
bool gn_passes_are_fixed(const gn_trainer *t, gn_augment augment);
GERNE_CHECKED gerne_status gn_stage_enter(gn_trainer *t);
GERNE_CHECKED gerne_status gn_stage_run(gn_trainer *t);
/* The networks as they are, for a stage that starts from them. */
GERNE_CHECKED gerne_status gn_stage_bequeath(gn_trainer *t);
void gn_stage_leave(gn_trainer *t);

/* apart.c: before a pass replaces or adds to the gradients of network i, which sums them if it is
 * whole; and before they are used, when they become those of all ranks. */
GERNE_CHECKED gerne_status gn_expect_gradients(gn_run *run, int i, bool accumulate, bool whole);
GERNE_CHECKED gerne_status gn_sum_gradients(gn_run *run, int i);

/* evaluate.c */
GERNE_CHECKED gerne_status gn_evaluate(gn_trainer *t, gn_split split, gn_predictions *predictions,
                                       gn_metrics *metrics);
/* The evaluation after a step: logs, and takes a snapshot when it is the best so far. */
GERNE_CHECKED gerne_status gn_evaluate_step(gn_trainer *t);
bool gn_evaluation_due(const gn_trainer *t, int64_t step); /* after so many steps */
bool gn_out_of_patience(const gn_trainer *t);              /* train.patience, in the last stage */
/* The kept checkpoint of this stage goes into network 0, and into the others where they are kept.
 */
void gn_load_kept(gn_trainer *t);

/* refit.c: heads that are fitted for an evaluation, by the method's hook refit or by the option
 * repair. Between begin and end network 0 has such a head, where there is one; end puts back its
 * own, and sets *status when that fails. */
typedef struct gn_kept_head {
    gn_arena *arena; /* NULL: the head is its own */
    float *weights, *bias;
} gn_kept_head;

GERNE_CHECKED gerne_status gn_refit_begin(gn_trainer *t, gn_kept_head *kept);
void gn_refit_end(gn_trainer *t, gn_kept_head *kept, gerne_status *status);
/* Option repair, before the labels of the training split are taken: what the head is fitted to, and
 * what of the validation split is left to judge it. */
GERNE_CHECKED gerne_status gn_settle_repair(gn_trainer *t);
/* In a new stage: which samples are judged. */
GERNE_CHECKED gerne_status gn_enter_repair(gn_trainer *t);

/* services.c: network i over any samples; logits and features may be NULL. */
GERNE_CHECKED gerne_status gn_infer_list(gn_trainer *t, int i, const gn_sample_list *list,
                                         float *logits, float *features);

/* average.c: train.average, the mean weights of network 0 */
void gn_update_average(gn_trainer *t); /* after a step, before it is counted */
void gn_swap_average(gn_trainer *t);   /* network 0's weights <-> their mean, if there is one */

/* record.c: from its start on, the record takes every gn_warn of the context; log files are opened
 * when the run has its directory, and cut back to what the head of a checkpoint (or NULL) says. */
GERNE_CHECKED gerne_status gn_record_start(gn_trainer *t);
GERNE_CHECKED gerne_status gn_record_open(gn_trainer *t, const json_t *head);
void gn_record_close(gn_trainer *t);
/* The present failure, GERNE_EDIVERGED, into log.jsonl and diverged.json. */
void gn_record_divergence(gn_trainer *t);

/* save.c */
GERNE_CHECKED gerne_status gn_save(gn_trainer *t);
GERNE_CHECKED gerne_status gn_restore_stage(gn_trainer *t);
GERNE_CHECKED gerne_status gn_save_best(gn_trainer *t);
/* Writes network 0, behind its frozen body if there is one, as a model file. */
GERNE_CHECKED gerne_status gn_save_model(gn_trainer *t, const char *path);
GERNE_CHECKED gerne_status gn_path_of(gn_trainer *t, const char *name, const char **out);

/* reuse.c: the table of a stage from the cache or another run. */
GERNE_CHECKED gerne_status gn_reuse_stage(gn_trainer *t, bool *found);
GERNE_CHECKED gerne_status gn_keep_stage(gn_trainer *t);
void gn_end_reuse(gn_trainer *t); /* others may make what this run did not */

/* thumbnails.c: up to a dozen pictures of test samples of a group that were taken for another
 * class, in errors/<row>_<y>_<a>_<pred>.png. A failure is a warning. */
void gn_save_thumbnails(gn_trainer *t, const gn_predictions *predictions, int32_t group);

/* results.c */
GERNE_CHECKED gerne_status gn_finish_run(gn_trainer *t, gn_text *report, json_t **results);

#endif
