/* trainer.h - the inside of a run, for the files of this folder that make it up. */
#ifndef GN_TRAIN_TRAINER_H
#define GN_TRAIN_TRAINER_H

#include "data/dataset.h"
#include "train/checkpoint.h"
#include "train/events.h"
#include "train/feed.h"
#include "train/frozen.h"
#include "train/inference.h"
#include "metrics/metrics.h"
#include "train/options.h"
#include "train/runlog.h"

enum { GN_FIGURES_MAX = 8, GN_FIGURE_NAME = 24, GN_TABLES_MAX = 8, GN_STAGE_PARTS_MAX = 8 };

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
    gn_figure figures[GN_FIGURES_MAX];
    gn_pseudo_report pseudo;
} gn_position;

/* Weights of network 0. */
typedef struct gn_snapshot {
    float *values, *statistics;
} gn_snapshot;

typedef struct gn_table {
    char name[GN_FIGURE_NAME];
    float *values; /* owned */
    size_t count;
} gn_table;

typedef struct gn_trainer {
    gn_run run; /* first: methods get its address */
    const gn_run_config *config;
    gn_model_options model; /* as configured, with what model.bn auto stands for */
    const char *dir;
    int lock;
    int stage_lock; /* on making what the stage leaves in the cache; -1 */
    const char *stage_lock_path;
    bool fresh, made_dir; /* started by this process, and in a directory of its own making */
    bool stepped;         /* this process has taken a step */
    gn_arena *arena, *stage_arena;
    gn_dataset *data;
    gn_frozen *frozen; /* model.freeze body: data are its features, networks its heads; or NULL */
    float scale[GN_CHANNELS], shift[GN_CHANNELS]; /* of the pixels behind those features */
    gn_sample_list samples[GN_SPLITS];
    int32_t *y, *a, *true_a;
    uint64_t *train_counts; /* of the true groups */
    gerne_groups *groups;
    gn_device *device;
    gn_stage stages[GN_STAGES_MAX];
    int stage_count;

    /* Of the present stage. */
    gn_optimizer_options optimizer_options;
    gn_network *networks[GN_NETWORKS_MAX];
    gn_optimizer *optimizers[GN_NETWORKS_MAX];
    gn_inference *inference;
    gn_feed *feed;
    double epoch_steps; /* steps of an epoch; not a whole number */
    gerne_sampler *samplers[GN_STAGE_PARTS_MAX];
    gerne_groups *other_groups[GN_STAGE_PARTS_MAX];
    size_t sampler_count, group_count;
    float *average;
    gn_snapshot best, oracle;
    double step_loss;
    bool warned;                            /* of a negative loss; once is enough */
    double started, in_steps, in_inference; /* seconds, for the log */

    gn_table tables[GN_TABLES_MAX];
    size_t table_count;
    gn_position at;
    gn_checkpoint *resume; /* what to go on from, until the stage is entered */
    gn_runlog *log;
    gn_events *events;
    bool best_changed; /* since best.safetensors was written */
    double saved_at;   /* seconds */
    char fingerprint[GN_SHA256_HEX], run_hash[GN_SHA256_HEX];
    char weights_digest[GN_SHA256_HEX]; /* of the file model.weights; "" without one */
} gn_trainer;

/* freeze.c */
/* With model.freeze body the features of all samples take the place of the data. */
GERNE_CHECKED gerne_status gn_freeze_body(gn_trainer *t);
/* Writes network 0, behind its frozen body if there is one, as a model file. */
GERNE_CHECKED gerne_status gn_save_model(gn_trainer *t, const char *path);

/* train.c: a run that has nothing yet; data, groups and checks; and the end of it. The
 * configuration is lent. */
GERNE_CHECKED gerne_status gn_trainer_new(gerne_ctx *ctx, const gn_run_config *config,
                                          gn_trainer **out);
GERNE_CHECKED gerne_status gn_trainer_settle(gn_trainer *t);
void gn_trainer_close(gn_trainer *t); /* takes NULL */

/* stage.c */
GERNE_CHECKED gerne_status gn_stage_enter(gn_trainer *t);
GERNE_CHECKED gerne_status gn_stage_run(gn_trainer *t);
void gn_update_average(gn_trainer *t); /* after a step, before it is counted */
void gn_stage_leave(gn_trainer *t);

/* evaluate.c */
GERNE_CHECKED gerne_status gn_evaluate(gn_trainer *t, gn_split split, gn_predictions *predictions,
                                       gn_metrics *metrics);
/* The evaluation after a step: logs, and takes a snapshot when it is the best so far. */
GERNE_CHECKED gerne_status gn_evaluate_step(gn_trainer *t);
bool gn_evaluation_due(const gn_trainer *t, int64_t step); /* after so many steps */
void gn_swap_average(gn_trainer *t); /* network 0's weights <-> their mean, if there is one */
/* Memory for the weights of network 0; free it also after a failure. */
GERNE_CHECKED gerne_status gn_snapshot_new(gn_trainer *t, gn_snapshot *snapshot);
void gn_snapshot_free(gn_snapshot *snapshot);
void gn_snapshot_take(gn_trainer *t, const gn_snapshot *snapshot);
void gn_snapshot_put(gn_trainer *t, const gn_snapshot *snapshot);
/* Where the kept checkpoint of this stage lies. */
GERNE_CHECKED gerne_status gn_load_kept(gn_trainer *t);

/* save.c */
GERNE_CHECKED gerne_status gn_save(gn_trainer *t);
GERNE_CHECKED gerne_status gn_restore_stage(gn_trainer *t);
GERNE_CHECKED gerne_status gn_save_best(gn_trainer *t);
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
