/* method.h - what a method is, and what it sees of a run.
 *
 * A method is one file with a static descriptor, named in list.c. Two hooks carry the work:
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

#include "base/option.h"
#include "base/statistics.h"
#include "nn/pass.h"

enum { GN_BATCHES_MAX = 4, GN_NETWORKS_MAX = 2, GN_STAGES_MAX = 2, GN_LIMIT_VALUES_MAX = 128 };

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
    bool joined; /* the batches come as one, in their order */
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

/* A part of a run with networks and a budget of its own. */
typedef struct gn_stage {
    const char *name;
    double lr_factor, decay_factor; /* of train.lr and train.weight_decay */
    double epochs;                  /* budget; 0: that of the run */
    double share;                   /* when above 0: this share of the run's budget instead */
    int networks;                   /* that train; network 0 predicts */
    gn_keep keep;
    const char *table; /* what the stage is for: a table that other runs may reuse; or NULL */
    const char *from;  /* a run directory to take that table from; or NULL */
} gn_stage;

typedef struct gn_pseudo_report {
    bool made;
    double t;
    uint64_t n;               /* samples taken for the minority */
    double precision, recall; /* NaN when the truth is not known */
} gn_pseudo_report;

/* How far an option may go with the other options and groups of a run: for searches. */
typedef struct gn_limits {
    gn_interval allowed;                /* what check accepts; infinite where it refuses nothing */
    gn_interval usual;                  /* to draw from at random */
    double values[GN_LIMIT_VALUES_MAX]; /* worth trying, ascending */
    size_t count;
    char at[64]; /* the options that the limits depend on: "c = 0.5" */
} gn_limits;

typedef struct gn_method gn_method;

/* What a method may read of its run, and the few fields that start may set. */
typedef struct gn_run {
    gerne_ctx *ctx;
    const gn_method *method;
    const void *options; /* of the method */
    void *state;         /* method->state_size bytes, zeroed before every start */
    uint64_t seed;       /* of this stage */
    size_t n;            /* training samples */
    uint32_t classes, attributes;
    const int32_t *y, *a;  /* [n]; a is 0 everywhere when attributes are unknown */
    const int32_t *true_a; /* [n], or NULL when the data has no attributes; for reports */
    uint32_t true_attributes;
    const gerne_groups *groups; /* of y and a */
    bool known;                 /* method.attributes */
    uint32_t per_class;         /* samples of each class in a batch by law */
    uint32_t batch;             /* samples of a plain batch */
    bool coupled;               /* a batch must be run whole: batch normalisation trains */
    bool fixed;                 /* a sample's forward pass is always the same: no augmentation,
                                   no dropout */
    bool concatenate;           /* coupled batches run as one: model.bn concat */
    bool diagnose;              /* this step: log norms and cosine of gradients, if it has two */
    const gn_stage *stage;
    int stage_index;
    int64_t steps; /* of this stage */

    /* start may set these. */
    bool whole;           /* batches are not cut into micro-batches; coupled at first */
    size_t pass_samples;  /* of one such batch at most; batch at first */
    size_t epoch_samples; /* n at first */
    double c, beta;       /* of the groups' law, for reports; 1 and NaN at first */
    gn_pseudo_report pseudo;
} gn_run;

typedef enum gn_attribute_need {
    GN_ATTRIBUTES_UNUSED,  /* the method does not look at them */
    GN_ATTRIBUTES_GROUPS,  /* needs them; unknown ones make every class one group */
    GN_ATTRIBUTES_GUESSED, /* needs them, and has a way of its own when they are unknown */
} gn_attribute_need;

struct gn_method {
    const char *name, *paper, *summary;
    gn_attribute_need attributes;
    const gn_option *options;
    size_t option_count, options_size;
    size_t state_size;
    bool plain_batches;          /* draws run->batch samples, not run->per_class of each class */
    uint32_t guessed_attributes; /* GN_ATTRIBUTES_GUESSED: how many there will be */
    const char *guess;           /* and what becomes of unknown ones, in words */
    const char *limited;         /* the option that limits is about; or NULL */
    const char *limited_by;      /* the option that moves its limits most, for figures; or NULL */

    /* Fills stages[GN_STAGES_MAX] and returns their number; NULL: one stage as configured. */
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
    /* When training diverges: appends the reason (after "; ") and what to do about it beside
     * lowering train.lr (after " or "). May be NULL. */
    gerne_status (*explain)(const gn_run *run, gn_text *reason, gn_text *remedy);
};

/* Ends with a NULL. */
extern const gn_method *const gn_methods[];

/* GERNE_EUSAGE with the nearest name when there is none. */
GERNE_CHECKED gerne_status gn_method_find(gerne_ctx *ctx, const char *name, const gn_method **out);

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

/* One step of network i's optimiser at the stage's learning rate. */
GERNE_CHECKED gerne_status gn_run_apply(gn_run *run, int i);

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

/* From now on the run's groups are those of a[n] (copied). names[attributes] may be NULL. */
GERNE_CHECKED gerne_status gn_run_regroup(gn_run *run, const int32_t *a, uint32_t attributes,
                                          const char *const *names);

/* Logits [n][classes] of the training samples by network i: in inference mode, not augmented. */
GERNE_CHECKED gerne_status gn_run_predict(gn_run *run, int i, float *logits);

#endif
