/* method.h - what a method is, and what it sees of a run.
 *
 * A method is one file with a static descriptor, named in list.c or exported by a plug-in
 * (plugin.h); so is an estimator of groups, for runs whose attributes are unknown. Two hooks carry
 * the work:
 *
 *   plan   names the batches of step k, a pure function of the seed, k and what start made, so that
 *          samples can be fetched ahead and a resumed run needs no state of the drawing
 *   step   reads like the paper's pseudo-code: passes, weights, apply
 *
 * A method never touches oneDNN, files or the terminal: the run does that for it. The calls below
 * that start with gn_run_ are implemented by src/train.
 */
#ifndef GN_METHODS_METHOD_H
#define GN_METHODS_METHOD_H

#include "base/augment.h"
#include "base/option.h"
#include "base/statistics.h"
#include "nn/pass.h"

#pragma GCC visibility push(default) /* what plug-ins may call */

enum { GN_BATCHES_MAX = 4, GN_NETWORKS_MAX = 3, GN_STAGES_MAX = 8, GN_LIMIT_VALUES_MAX = 128 };

/* One batch of a step: the step's draw from a sampler, or a list of samples. */
typedef struct gn_request {
    const gerne_sampler *sampler; /* NULL: the list */
    gerne_draw draw;
    const uint32_t *map;     /* sampler's index -> training sample; NULL: they are the same */
    const uint32_t *samples; /* the list; read before plan is called again */
    size_t count;            /* of the list; its weights are 1 / count */
    float scale;             /* multiplies the weights; 0 stands for 1 */
} gn_request;

typedef struct gn_plan {
    size_t count;
    gn_request batches[GN_BATCHES_MAX];
    bool joined;     /* the batches come as one, in their order */
    bool everywhere; /* every rank reads all samples: passes take other batches than these, or mix
                        their samples; else a rank reads its share of each batch */
    /* Without any the step gets no samples: it fits a head to features that it has inferred. */
} gn_plan;

/* Samples of a step, and what the networks said about them in its passes. */
typedef struct gn_minibatch {
    const uint32_t *indices; /* training samples, 0..run->n-1 */
    gn_samples samples;      /* labels, and weights of the draw times the request's scale */
    const float *biased, *less_biased; /* after an extrapolated draw: the weights of L_b and L_lb */
    float *losses[GN_NETWORKS_MAX];    /* [count] of network i, before they are weighted */
    int32_t *predictions[GN_NETWORKS_MAX];
    float *weights; /* [count], for the method to fill */
} gn_minibatch;

typedef enum gn_keep {
    GN_KEEP_SELECTED,     /* the checkpoint that section "select" asks for */
    GN_KEEP_LAST,         /* the last one */
    GN_KEEP_BALANCED_ACC, /* the best class-balanced accuracy on validation */
} gn_keep;

/* What a network starts from; "previous" are the kept weights of the stage before. */
typedef enum gn_start {
    GN_START_CONFIGURED,        /* model.weights, or fresh weights */
    GN_START_PREVIOUS,          /* the previous network of this index */
    GN_START_PREVIOUS_BODY,     /* its body; the head is fresh */
    GN_START_PREVIOUS_HEAD,     /* its head; the body is as configured */
    GN_START_PREVIOUS_PREDICTOR /* the previous network 0, whatever the index of this one */
} gn_start;

typedef struct gn_method gn_method;

/* A part of a run with networks and a budget of its own. */
typedef struct gn_stage {
    const char *name;
    double lr_factor, decay_factor; /* of train.lr and train.weight_decay */
    double lr;                      /* when above 0: the rate itself */
    int64_t steps;                  /* budget; when above 0: so many whatever the run's is */
    double epochs;                  /* budget; 0: that of the run */
    double share;                   /* when above 0: this share of the run's budget instead */
    int networks;                   /* that train; network 0 predicts */
    gn_model_options models[GN_NETWORKS_MAX]; /* arch NULL: as configured */
    bool on_features[GN_NETWORKS_MAX]; /* network i is a head on the features of network 0, for
                                          gn_run_head_forward; its model is linear */
    gn_start start;                    /* of network 0 */
    gn_start others[GN_NETWORKS_MAX];  /* of the networks after it, by their index */
    bool head_only;                    /* bodies do not train; they run in inference mode */
    bool on_validation;                /* trains on the validation split: run->n, y, a are its */
    bool augments_itself; /* its pictures are changed as augment says, else as data.augment does */
    gn_augment augment;   /* without augments_itself set by the run */
    gn_keep keep;
    const char *table;      /* what the stage is for: a table that other runs may reuse; or NULL */
    const char *from;       /* a run directory to take that table from; or NULL */
    const char *from_key;   /* the option that names it: "method.biased" */
    const gn_method *owner; /* whose hooks carry it: the method or its estimator; set by the run */
} gn_stage;

typedef struct gn_pseudo_report {
    bool made;
    double t;
    uint64_t n;                /* samples taken for the minority */
    double precision, recall;  /* NaN when the truth is not known */
    double expected_precision; /* estimator biased with t auto: by the mixture alone; else NaN */
    double flipped;            /* estimator xrm: share of labels that it has flipped; else NaN */
} gn_pseudo_report;

/* How far an option may go with the other options and groups of a run: for searches. */
typedef struct gn_limits {
    gn_interval allowed;                /* what check accepts; infinite where it refuses nothing */
    gn_interval usual;                  /* to draw from at random */
    double values[GN_LIMIT_VALUES_MAX]; /* worth trying, ascending */
    size_t count;
    char at[64]; /* the options that the limits depend on: "c = 0.5" */
} gn_limits;

/* Accuracies on validation by group, as far as the run may know its attributes. */
typedef struct gn_validated {
    const double *accuracies; /* [classes * attributes], NaN where there are no samples; NULL when
                                 attributes are unknown */
    uint32_t attributes;
    int64_t step; /* that the evaluation follows: so many are done */
} gn_validated;

/* What a method may read of its run, and the few fields that start may set. */
typedef struct gn_run {
    gerne_ctx *ctx;
    const gn_method *method;
    const gn_method *estimator; /* that finds the groups when attributes are unknown; or NULL */
    const void *options;        /* of the hook's owner: the method or the estimator */
    void *state;                /* owner->state_size bytes, zeroed before every start */
    uint64_t seed;              /* of this stage */
    size_t n;                   /* training samples */
    uint32_t classes, attributes;
    uint32_t attributes_found; /* those that the estimator will find; without one, attributes */
    const int32_t *y, *a;      /* [n]; a is 0 everywhere when attributes are unknown */
    const int32_t *true_a;     /* [n], or NULL when the data has no attributes; for reports */
    uint32_t true_attributes;
    gerne_groups *groups;          /* of y and a; check, limits and start may set their target */
    gerne_groups *expected;        /* in check: sizes of the groups that the estimator will find;
                                      NULL when attributes are known or it cannot tell */
    bool sizes_checked;            /* check has seen expected */
    const float *membership;       /* [n][attributes], by the estimator, debias/soft.h; or NULL */
    bool has_membership;           /* in check: the estimator will give it */
    bool known;                    /* method.attributes */
    const gn_model_options *model; /* as configured */
    size_t width;                  /* of the features of the configured network */
    uint32_t per_class;            /* samples of each class in a batch by law */
    uint32_t batch;                /* samples of a plain batch */
    bool coupled;                  /* a batch must be run whole: batch normalisation trains */
    bool fixed;                    /* a sample's forward pass is always the same: no augmentation,
                                      no views, no dropout */
    bool concatenate;              /* coupled batches run as one: model.bn concat */
    bool pictures;                 /* samples are pixels, not features */
    bool diagnose;                 /* this step: log norms and cosine of gradients, if it has two */
    const gn_stage *stage;
    int stage_index;
    int64_t steps;       /* of this stage */
    double weight_decay; /* of this stage */
    bool repairs;        /* option repair: the head is fitted anew before evaluations */

    /* start may set these. */
    double automatic_value; /* what auto stands for in this run, of an option with GN_AUTO */
    bool whole;             /* batches are not cut into micro-batches; coupled at first */
    bool looks_first;       /* losses of all its samples come before gradients: a small network runs
                               the batch at once, so that nothing is computed twice */
    size_t pass_samples;    /* of one such batch at most; batch at first */
    size_t epoch_samples;   /* n at first */
    const gerne_sampler *shuffled; /* by gn_shuffled_start, for gn_shuffled_plan */
    double c, beta;                /* of the groups' law, for reports; 1 and NaN at first */
    double lr_scale; /* step may set it too: multiplies the learning rate; 1 at first */
    gn_pseudo_report pseudo;
} gn_run;

typedef enum gn_attribute_need {
    GN_ATTRIBUTES_UNUSED,    /* the method does not look at them */
    GN_ATTRIBUTES_GROUPS,    /* uses groups: of the attributes, of an estimator, or classes */
    GN_ATTRIBUTES_ESTIMATED, /* does not look at them; its estimator runs whatever is known */
} gn_attribute_need;

/* What a method takes from the validation split beside the checkpoint that is selected on it. */
typedef enum gn_validation_use {
    GN_VALIDATION_SELECTS,     /* nothing else */
    GN_VALIDATION_FITS_GROUPS, /* it is fitted to its samples, whose groups it balances */
    GN_VALIDATION_FITS_LABELS, /* it is fitted to its samples; their attributes are not used */
} gn_validation_use;

/* Partitions of the validation split beside its true groups, for selection without attributes: a
 * cell is a class together with what the partition says of the sample. */
typedef enum gn_val_cells {
    GN_CELLS_INFERRED, /* the attribute that an estimator infers: inferred_wga, inferred_gba */
    GN_CELLS_BIASED,   /* the class that a biased model predicts: bias_wga, bias_gba */
    GN_CELLS_KINDS
} gn_val_cells;

/* A plot of the report: figures of gn_run_log over the steps of the last stage. */
enum { GN_LOG_LINES_MAX = 8 };

typedef struct gn_log_line {
    const char *figure;
    const char *name; /* in the legend; or NULL */
    bool limit;       /* grey and dashed */
} gn_log_line;

typedef struct gn_log_plot {
    const char *title, *note;            /* note may be NULL */
    const char *needs;                   /* the figure without which it is not drawn */
    gn_log_line lines[GN_LOG_LINES_MAX]; /* up to one without a figure */
} gn_log_plot;

struct gn_method {
    const char *name;
    const char *paper;   /* who and when: "Sagawa et al. 2020" */
    const char *title;   /* of that paper; or NULL */
    const char *summary; /* one line without a full stop: "upweights the groups ..."; of an
                            estimator what becomes the minority: "samples that ..." */
    /* For help and docs/methods.md, or NULL: what it does, assumes and becomes when attributes are
     * unknown, when to use it, what its options do. Paragraphs are lines with an empty line
     * between; a formula is a paragraph whose lines start with four blanks. */
    const char *description;
    gn_attribute_need attributes;
    gn_validation_use validation;
    const gn_option *options;
    size_t option_count, options_size;
    size_t state_size;
    bool plain_batches;            /* draws run->batch samples, not run->per_class of each class */
    const char *default_estimator; /* when attributes are unknown; NULL: none */
    const char *limited;           /* the option that limits is about; or NULL */
    const char *limited_by;        /* the option that moves its limits most, for figures; or NULL */
    unsigned val_cells; /* bits 1 << kind: the partitions that it gives by gn_run_val_cells */

    const gn_log_plot *plots; /* up to one without a title; NULL: loss, and figures called L_... */

    /* Fills stages[GN_STAGES_MAX] and returns their number; NULL: one stage as configured. An
     * estimator that trains nothing returns 0, and has neither plan nor step. */
    int (*stages)(const gn_run *run, gn_stage *stages);
    /* Before any sample is read: are the options and the groups usable? May be NULL. */
    gerne_status (*check)(gn_run *run);
    /* The limits of the option limited, its values in so many steps; with limited. Of the run only
     * ctx, options, groups and known are set. */
    gerne_status (*limits)(const gn_run *run, int steps, gn_limits *out);
    /* Enters a stage, also when a run is resumed inside it: samplers, tables. May be NULL. */
    gerne_status (*start)(gn_run *run);
    gerne_status (*plan)(gn_run *run, int64_t k, gn_plan *plan);
    gerne_status (*step)(gn_run *run, int64_t k, gn_minibatch *batches);
    /* After a stage that is not the last, with the kept checkpoint loaded. May be NULL. */
    gerne_status (*finish)(gn_run *run);
    /* Judges the mean loss since the last evaluation: appends a warning, or nothing. May be NULL.
     */
    gerne_status (*watch)(const gn_run *run, double mean_loss, gn_text *warning);
    /* Before an evaluation: may set the head of network 0 for it; the run puts the present one back
     * afterwards, and a checkpoint that is selected has the other. A pure function of the network,
     * the data and the tables. May be NULL. */
    gerne_status (*refit)(gn_run *run);
    /* After an evaluation. May be NULL. */
    gerne_status (*evaluated)(gn_run *run, const gn_validated *validated);
    /* When training diverges: appends the reason (after "; ") and what to do about it beside
     * lowering train.lr (after " or "). May be NULL. */
    gerne_status (*explain)(const gn_run *run, gn_text *reason, gn_text *remedy);

    /* ---- estimators of groups, which are methods of a list of their own ---- */

    uint32_t (*attributes_found)(const gn_run *run); /* how many there will be in each class */
    bool (*gives_membership)(const gn_run *run);     /* with these options; NULL: never */
    /* Before training: the sizes that its groups will have, to be closed by the caller. It may be
     * NULL, and leave *out NULL, when they cannot be told. May append to at, "t = 0.01", what they
     * depend on. */
    gerne_status (*expect)(const gn_run *run, char *at, size_t size, gerne_groups **out);
    const char *reads; /* the option that names a run whose groups it takes; or NULL */
    /* After its stages, and again whenever a run is resumed after them: gives the groups, by
     * gn_run_regroup, from the tables that the stages have left. */
    gerne_status (*groups)(gn_run *run);
};

/* ---- services ---- */

gn_network *gn_run_network(gn_run *run, int i);

/* Forward and backward of network i in one go: the gradient of a loss. Fills batch->losses[i] and
 * ->predictions[i]. */
GERNE_CHECKED gerne_status gn_run_pass(gn_run *run, int i, gn_minibatch *batch, const gn_loss *loss,
                                       bool accumulate);

/* The same in two halves, for losses whose terms need all logits of the batch first: a loss sees
 * them in the forward pass too. No other pass of network i may lie between the halves. */
GERNE_CHECKED gerne_status gn_run_forward(gn_run *run, int i, gn_minibatch *batch,
                                          const gn_loss *loss);
GERNE_CHECKED gerne_status gn_run_backward(gn_run *run, int i, gn_minibatch *batch,
                                           const gn_loss *loss, bool accumulate);

/* Before a pass of network i whose gradient others will add to. Ranks sum gradients while a pass
 * runs; of several they then sum the last one's, which has all, and not each. */
void gn_run_more(gn_run *run, int i);

/* The gradients that the passes of network i since the last that replaced them add up to, in the
 * order of gn_network_trained: look here and not there, where ranks have their parts. Borrowed
 * until the next call. */
GERNE_CHECKED gerne_status gn_run_gradients(gn_run *run, int i, const float **out);

/* One step of network i's optimiser at the stage's learning rate, or at a multiple of it. */
GERNE_CHECKED gerne_status gn_run_apply(gn_run *run, int i);
GERNE_CHECKED gerne_status gn_run_apply_at(gn_run *run, int i, double lr_factor);

/* A figure of this step; means between two evaluations go to the log. "loss" is watched for
 * divergence and has to be given in every step. NaN is ignored. */
void gn_run_log(gn_run *run, const char *name, double value);

/* A named table of count floats that lives as long as the run and is part of every checkpoint; a
 * new one is filled with initial. */
GERNE_CHECKED gerne_status gn_run_table(gn_run *run, const char *name, size_t count, float initial,
                                        float **out);

/* Memory of this stage, zeroed. */
GERNE_CHECKED gerne_status gn_run_alloc(gn_run *run, size_t count, size_t size, void *out);

/* A sampler over groups (the run's own when NULL) with the stage's seed; closed after the stage.
 * Size fields that are 0 take the run's. */
GERNE_CHECKED gerne_status gn_run_sampler(gn_run *run, const gerne_groups *groups,
                                          const gerne_sampler_options *options,
                                          const gerne_sampler **out);

/* Groups of other samples or labels than the run's own; closed after the stage. */
GERNE_CHECKED gerne_status gn_run_groups(gn_run *run, const int32_t *y, const int32_t *a, size_t n,
                                         uint32_t attributes, const gerne_groups **out);

typedef struct gn_grouping {
    const int32_t *a; /* [n] of the training split, copied */
    uint32_t attributes;
    const char *const *names; /* [attributes], or NULL */
    const bool *minority;    /* [attributes]: which stand for the minority; NULL: by their shares */
    const float *membership; /* [n][attributes]: how much a sample is of each, adding up to 1,
                                copied; or NULL */
} gn_grouping;

/* From now on the run's groups are these. GERNE_ENOTHING when all samples of a class are in one of
 * them, unless method.no_shortcut lets it be. Where the truth is known, run->pseudo says how well
 * the minority was found; nothing else ever looks at it. */
GERNE_CHECKED gerne_status gn_run_regroup(gn_run *run, const gn_grouping *grouping);

/* What the estimator of another run has found in the same data, from that run's directory: its
 * groups, and the cells of the validation split that it has (else NULL). Borrowed as long as the
 * run lives. */
typedef struct gn_found_groups {
    gn_grouping grouping;
    const int32_t *cells[GN_CELLS_KINDS];
    uint32_t cell_counts[GN_CELLS_KINDS];
} gn_found_groups;
GERNE_CHECKED gerne_status gn_run_found_elsewhere(gn_run *run, const char *directory,
                                                  const gn_found_groups **out);
/* Their sizes alone, to be closed by the caller: before a run has its data. */
GERNE_CHECKED gerne_status gn_found_sizes(gerne_ctx *ctx, const char *directory, uint32_t classes,
                                          gerne_groups **out);

/* From now on evaluations judge the validation split by these cells too: values [its samples] in
 * 0..count-1, copied. Called by groups (estimators) or start, so again after a resume. */
GERNE_CHECKED gerne_status gn_run_val_cells(gn_run *run, gn_val_cells kind, const int32_t *values,
                                            uint32_t count);

/* Until the end of the stage evaluations judge these samples of the validation split alone: a
 * method that trains on some of them has to select by others. judged [its samples]. Called by
 * start, so again after a resume. */
GERNE_CHECKED gerne_status gn_run_judge_on(gn_run *run, const bool *judged);

typedef enum gn_sample_set { GN_SET_TRAIN, GN_SET_VALIDATION } gn_sample_set;

/* The labels of a split: a is what the method may see of the attributes (0 when they are unknown).
 * Borrowed. */
typedef struct gn_labelled {
    size_t n;
    const int32_t *y, *a;
    uint32_t attributes;
} gn_labelled;
gn_labelled gn_run_labelled(const gn_run *run, gn_sample_set set);

/* What network i says about the samples of a split, in inference mode and not augmented: logits
 * [n][classes] and features [n][gn_run_width]; either may be NULL. */
GERNE_CHECKED gerne_status gn_run_infer(gn_run *run, int i, gn_sample_set set, float *logits,
                                        float *features);
/* The same of some samples of the split, by their places in it, which ascend. */
GERNE_CHECKED gerne_status gn_run_infer_part(gn_run *run, int i, gn_sample_set set,
                                             const uint32_t *places, size_t count, float *logits,
                                             float *features);
size_t gn_run_width(gn_run *run, int i); /* of the features of network i */

/* What section select makes of these logits [n][classes] of the validation split: its metric, on
 * the samples that are judged. */
GERNE_CHECKED gerne_status gn_run_judge(gn_run *run, const float *logits, double *value);
/* The same of a network that does not exist yet, for checks. */
GERNE_CHECKED gerne_status gn_run_model_width(gn_run *run, const gn_model_options *model,
                                              size_t *width);

/* The head of network i: [classes][width] and [classes], in plain order. */
GERNE_CHECKED gerne_status gn_run_get_head(gn_run *run, int i, float *weights, float *bias);
GERNE_CHECKED gerne_status gn_run_set_head(gn_run *run, int i, const float *weights,
                                           const float *bias);
/* Its weights without the bias where they lie, for penalties after the last pass of a step: values
 * and gradients element by element in an order of their own; padding is zero. */
GERNE_CHECKED gerne_status gn_run_head_weights(gn_run *run, int i, gn_block *out);

/* ---- body and head apart, for methods that edit features; batches run whole ---- */

/* Forward of the body in training mode; features [batch][width] stay until its next pass. */
GERNE_CHECKED gerne_status gn_run_body_forward(gn_run *run, int i, gn_minibatch *batch,
                                               const float **features);
/* Forward of the head; rows after the batch's samples are ignored. logits [count][classes]. */
GERNE_CHECKED gerne_status gn_run_head_forward(gn_run *run, int i, const float *features,
                                               size_t count, const float **logits);
/* Backward of the last head_forward: the gradient of a loss. losses [count] or NULL;
 * *feature_gradient [count][width] is borrowed, NULL when bodies do not train. */
GERNE_CHECKED gerne_status gn_run_head_backward(gn_run *run, int i, const gn_loss *loss,
                                                size_t count, bool accumulate, float *losses,
                                                const float **feature_gradient);
GERNE_CHECKED gerne_status gn_run_body_backward(gn_run *run, int i, const float *feature_gradient,
                                                size_t count, bool accumulate);

#pragma GCC visibility pop

#endif
