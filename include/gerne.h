/* gerne.h - train classifiers that do not rely on spurious correlations.
 *
 * Every call that can fail returns a gerne_status and leaves a message in the context;
 * nothing in this library exits, aborts or prints.
 *
 * Ownership: the caller owns what a *_new, *_from or *_open call returns and frees it with the
 * matching *_close, which accepts NULL; pointers returned by getters are borrowed from their
 * object. A text that a call gives through a char ** is the caller's: free it with gerne_free.
 *
 * The first part (groups, bounds, sampling, pseudo-attributes, audit, evaluation) is also the
 * library libgerne-core, which needs nothing but libc, libm and the JSON library jansson; the
 * second part (configuration, datasets, training, models) is in libgerne alone.
 */
#ifndef GERNE_H
#define GERNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GERNE_API     __attribute__((visibility("default")))
#define GERNE_CHECKED __attribute__((warn_unused_result))

/* One list defines the enumeration and its names. */
#define GERNE_STATUS_LIST(X)                                                                       \
    X(OK, "ok")                                                                                    \
    X(EUSAGE, "wrong usage")         /* a wrong argument, flag or configuration */                 \
    X(EDATA, "bad data")             /* the contents of a file are wrong */                        \
    X(EIO, "input or output failed") /* the system refused to read or write */                     \
    X(ENOMEM, "out of memory")                                                                     \
    X(EUNSUPPORTED, "not supported") /* this machine or build cannot do it */                      \
    X(EDIVERGED, "diverged")         /* the training loss is no longer finite */                   \
    X(EINTERRUPTED, "interrupted")   /* a progress callback or a signal asked to stop */           \
    X(EINTERNAL, "internal error")                                                                 \
    X(ENOTHING, "nothing found") /* training went well, but found no errors or groups to use */

typedef enum gerne_status {
#define GERNE_STATUS_ENUM(name, text) GERNE_##name,
    GERNE_STATUS_LIST(GERNE_STATUS_ENUM)
#undef GERNE_STATUS_ENUM
} gerne_status;

/* The version of this header. */
#define GERNE_VERSION_MAJOR 0
#define GERNE_VERSION_MINOR 1
#define GERNE_VERSION_PATCH 0

/* The version of the library, such as "0.1.0"; static. */
GERNE_API const char *gerne_version(void);

/* A short name for a status; static. */
GERNE_API const char *gerne_status_name(gerne_status status);

/* Structs that may grow start with their size: gerne_arrays arrays = {.size = sizeof arrays, ...};
 * fields that a program of an older version does not have are zero. */

/* Frees a text that a call has given; accepts NULL. */
GERNE_API void gerne_free(void *text);

/* A context carries the message of the last failure and the hooks; use one context per thread. */
typedef struct gerne_ctx gerne_ctx;

GERNE_API GERNE_CHECKED gerne_status gerne_ctx_new(gerne_ctx **out);
GERNE_API void gerne_ctx_close(gerne_ctx *ctx);

/* What failed last, and what to do about it; "" if there is nothing to report.
 * Borrowed: valid until the next failing call on this context. */
GERNE_API const char *gerne_message(const gerne_ctx *ctx);
GERNE_API const char *gerne_hint(const gerne_ctx *ctx);

typedef enum gerne_log_level {
    GERNE_LOG_DEBUG,
    GERNE_LOG_INFO,
    GERNE_LOG_WARNING,
} gerne_log_level;

/* Called with one line, without a newline. By default no hook is set: the library is silent. */
typedef void gerne_log_fn(void *user, gerne_log_level level, const char *line);
GERNE_API void gerne_set_log(gerne_ctx *ctx, gerne_log_fn *fn, void *user);

typedef struct gerne_progress {
    const char *what;     /* the job, such as "train" or "download" */
    uint64_t done, total; /* total is 0 while unknown */
    const char *detail;   /* "" or parts joined by ", ", the most important first */
} gerne_progress;

/* Called now and then during long work; a non-zero return stops it with GERNE_EINTERRUPTED. */
typedef int gerne_progress_fn(void *user, const gerne_progress *progress);
GERNE_API void gerne_set_progress(gerne_ctx *ctx, gerne_progress_fn *fn, void *user);

/* Asks the work that this context does, or else the next one, to stop with GERNE_EINTERRUPTED; a
 * training run is saved first, and gerne_resume continues it exactly. May be called from any thread
 * and from a signal handler. One request stops one call; gerne_unstop withdraws it. */
GERNE_API void gerne_stop(gerne_ctx *ctx);
GERNE_API void gerne_unstop(gerne_ctx *ctx);

/* ---- Groups -------------------------------------------------------------------------------------
 *
 * A group is a cell (y, a): the samples of class y that have attribute a. The share of a group
 * inside its class is alpha. If the groups of a class differ in size, a classifier may rely on the
 * attribute. Arrays over groups are [classes][attributes], group id y * attributes + a.
 */
typedef struct gerne_groups gerne_groups;

/* From counts alone: enough for laws and bounds, not for drawing. Every class needs a sample. */
GERNE_API GERNE_CHECKED gerne_status gerne_groups_from_counts(gerne_ctx *ctx, const int64_t *counts,
                                                              uint32_t classes, uint32_t attributes,
                                                              gerne_groups **out);

/* From the labels of n samples (y in 0..classes-1, a in 0..attributes-1; a may be NULL when
 * attributes is 1). The arrays are only read here; the index that is kept takes 4 bytes per sample.
 */
GERNE_API GERNE_CHECKED gerne_status gerne_groups_from_labels(gerne_ctx *ctx, const int32_t *y,
                                                              const int32_t *a, size_t n,
                                                              uint32_t classes, uint32_t attributes,
                                                              gerne_groups **out);
GERNE_API void gerne_groups_close(gerne_groups *groups); /* accepts NULL */

/* Names for messages and tables, copied; either may be NULL (then the numbers are shown). */
GERNE_API GERNE_CHECKED gerne_status gerne_groups_set_names(gerne_ctx *ctx, gerne_groups *groups,
                                                            const char *const *class_names,
                                                            const char *const *attribute_names);

/* What "balanced" means in a class with empty groups: equal shares of the groups that it has
 * (false, the default), or 1/attributes for each as if they had samples (true, exactly the paper's
 * formulas). Set it before creating a sampler. */
GERNE_API void gerne_groups_keep_empty(gerne_groups *groups, bool keep);

/* Other shares of the groups of a class than equal ones to balance towards, in laws, bounds and
 * samplers: "uniform" (the default), "marginal" (in every class the mix of attributes that all
 * classes have together, so that the attribute says nothing of the class), or shares of the
 * attributes, "0.7,0.3", of each class if they differ, "0.7,0.3;0.5,0.5". Shares of a class add up
 * to 1, and are 0 for empty groups. Set it before creating a sampler. */
GERNE_API GERNE_CHECKED gerne_status gerne_groups_set_target(gerne_ctx *ctx, gerne_groups *groups,
                                                             const char *target);

GERNE_API uint32_t gerne_groups_classes(const gerne_groups *groups);
GERNE_API uint32_t gerne_groups_attributes(const gerne_groups *groups);
GERNE_API uint64_t gerne_groups_total(const gerne_groups *groups);
GERNE_API uint64_t gerne_groups_count(const gerne_groups *groups, uint32_t y, uint32_t a);
GERNE_API double gerne_groups_alpha(const gerne_groups *groups, uint32_t y, uint32_t a);

/* ---- Laws and bounds ----------------------------------------------------------------------------
 *
 * Each law is a distribution of the attribute inside every class, classes being equally likely:
 *   biased        alpha
 *   less biased   alpha + c (1/A - alpha),             c in (0, 1]
 *   extrapolated  alpha + c (beta + 1) (1/A - alpha),  what L_lb + beta (L_lb - L_b) simulates
 */
typedef enum gerne_law {
    GERNE_LAW_BIASED,
    GERNE_LAW_LESS_BIASED,
    GERNE_LAW_EXTRAPOLATED,
} gerne_law;

/* Fills p[classes * attributes]. c and beta are ignored where the law has none. */
GERNE_API GERNE_CHECKED gerne_status gerne_law_fill(gerne_ctx *ctx, const gerne_groups *groups,
                                                    gerne_law law, double c, double beta,
                                                    double *p);

typedef struct gerne_bounds {
    double lower, upper;  /* every extrapolated share stays in [0, 1]; infinite if nothing binds */
    double beta_max;      /* the same upper end by the short formula of the largest share */
    double beta_balanced; /* 1/c - 1: all groups of a class have the same weight */
    bool binds;           /* false if every class is already balanced, or has only one group */
    uint32_t y, a;        /* the group whose share reaches 0 at beta_max */
} gerne_bounds;

GERNE_API GERNE_CHECKED gerne_status gerne_bounds_of(gerne_ctx *ctx, const gerne_groups *groups,
                                                     double c, gerne_bounds *out);

/* The same with the laws as the JSON document of 'gerne bounds --json': alpha, p_lb, p_ext (where
 * beta is not NULL), interval, beta_max, beta_balanced, binding. */
GERNE_API GERNE_CHECKED gerne_status gerne_bounds_json(gerne_ctx *ctx, const gerne_groups *groups,
                                                       double c, const double *beta, char **json);

enum {
    GERNE_PSEUDO_GROUPS = 1, /* groups come from scores: a share down to -0.25 is allowed */
    GERNE_BEYOND_BOUNDS = 2, /* warn instead of failing */
};

/* GERNE_EUSAGE, with the interval, the binding group and a hint, if beta cannot be used with these
 * groups; a beta that can be used but is unusual is a warning in the log. */
GERNE_API GERNE_CHECKED gerne_status gerne_check_beta(gerne_ctx *ctx, const gerne_groups *groups,
                                                      double c, double beta, unsigned flags);

/* Proposition 1: the beta for which a true attribute gets the share p of a class that is split into
 * two pseudo-groups. alpha is the share of pseudo-group 1, q1 and q2 the shares of the attribute
 * inside pseudo-groups 1 and 2. */
GERNE_API GERNE_CHECKED gerne_status gerne_beta_target(gerne_ctx *ctx, double alpha, double q1,
                                                       double q2, double c, double p, double *beta);

/* ---- Sampling -----------------------------------------------------------------------------------
 *
 * A draw is a pure function of (seed, step): any step can be drawn at any time, in any order, on
 * any thread, after any interruption, and workers that each take a part of a batch agree on the
 * whole. No sample repeats in a batch until its group (in a biased batch: its class) is exhausted.
 */
typedef struct gerne_sampler gerne_sampler;

typedef struct gerne_sampler_options {
    uint64_t seed;
    uint32_t per_class;  /* samples per class in a batch by law; 0 if none is drawn */
    uint32_t batch;      /* samples in a plain batch; 0 if none is drawn */
    double c, beta;      /* check beta with gerne_check_beta; here it only has to be finite */
    bool share_majority; /* the two batches share samples: same mean, lower variance */
    bool rounded;        /* round the number of samples per group; by default exact on average */
    bool drop_last;      /* an epoch-shuffled batch never spans two epochs */
} gerne_sampler_options;

/* groups (created from labels) is borrowed and must outlive the sampler. A sampler never changes
 * after its creation: threads may share it. */
GERNE_API GERNE_CHECKED gerne_status gerne_sampler_new(gerne_ctx *ctx, const gerne_groups *groups,
                                                       const gerne_sampler_options *options,
                                                       gerne_sampler **out);
GERNE_API void gerne_sampler_close(gerne_sampler *sampler); /* accepts NULL */

typedef enum gerne_draw {
    GERNE_DRAW_BIASED,       /* per_class of each class, uniform inside the class */
    GERNE_DRAW_LESS_BIASED,  /* per_class of each class by the less biased law */
    GERNE_DRAW_EXTRAPOLATED, /* both in one: every distinct sample once, with a signed weight */
    GERNE_DRAW_SHUFFLED,     /* the step-th batch of endless shuffled passes over all samples */
    GERNE_DRAW_UNIFORM,      /* batch samples, each uniform over all (repeats happen) */
    GERNE_DRAW_GROUPS,       /* batch samples, each from a uniform group (repeats happen) */
} gerne_draw;

/* A batch is reused from draw to draw; it belongs to one thread at a time. */
typedef struct gerne_batch gerne_batch;

GERNE_API GERNE_CHECKED gerne_status gerne_batch_new(gerne_ctx *ctx, gerne_batch **out);
GERNE_API void gerne_batch_close(gerne_batch *batch); /* accepts NULL */

GERNE_API GERNE_CHECKED gerne_status gerne_sampler_draw(gerne_ctx *ctx,
                                                        const gerne_sampler *sampler,
                                                        gerne_draw draw, uint64_t step,
                                                        gerne_batch *batch);

/* Of the last draw; borrowed until the next. Samples are indices into the arrays that the groups
 * were made from. The loss to minimise is the sum of weight times loss: plain means for all draws
 * except the extrapolated one, whose weights are those of L_lb + beta (L_lb - L_b); with beta = -1
 * that is the biased batch, with beta = 0 the less biased one, sample by sample. */
GERNE_API size_t gerne_batch_size(const gerne_batch *batch);
GERNE_API const uint32_t *gerne_batch_samples(const gerne_batch *batch);
GERNE_API const float *gerne_batch_weights(const gerne_batch *batch);

/* After an extrapolated draw: with these weights the same losses give L_b and L_lb. All zero for a
 * batch that was not drawn because its weight is zero (L_b when beta = 0, L_lb when beta = -1). */
GERNE_API const float *gerne_batch_biased_weights(const gerne_batch *batch);
GERNE_API const float *gerne_batch_less_biased_weights(const gerne_batch *batch);

/* After an extrapolated draw: the largest beta for which no group's realised share in this very
 * batch is negative; infinite if there is none. For information: it varies in small batches. */
GERNE_API double gerne_batch_realised_bound(const gerne_batch *batch);

/* ---- Pseudo-attributes --------------------------------------------------------------------------
 *
 * If attributes are unknown, the samples that a biased model finds hard stand for the groups on
 * which its shortcut fails: per class the fraction t with the lowest scores (the biased model's
 * probability of the true class) becomes attribute 0, "hard", the rest attribute 1, "easy".
 */
typedef struct gerne_pseudo gerne_pseudo;

/* Sorts the samples of each class by score, ties by index; the arrays are only read here. */
GERNE_API GERNE_CHECKED gerne_status gerne_pseudo_new(gerne_ctx *ctx, const int32_t *y,
                                                      const float *scores, size_t n,
                                                      uint32_t classes, gerne_pseudo **out);
GERNE_API void gerne_pseudo_close(gerne_pseudo *pseudo); /* accepts NULL */

/* Fills a[n] with 0 (hard: floor(t n_y) samples of class y, at least one; the ceiling if round_up)
 * and 1 (easy). A class whose easy part would be empty is GERNE_EUSAGE. */
GERNE_API GERNE_CHECKED gerne_status gerne_pseudo_assign(gerne_ctx *ctx, const gerne_pseudo *pseudo,
                                                         double t, bool round_up, int32_t *a);

typedef struct gerne_pseudo_quality {
    double t;
    uint64_t hard;            /* samples labelled hard */
    double precision, recall; /* of "hard" for the true minority; NaN when there is none */
} gerne_pseudo_quality;

/* How well "hard" finds the samples of under-represented groups (alpha < 1/attributes), for count
 * values of t: means over classes of the per-class ratios. true_a holds the n true attributes. */
GERNE_API GERNE_CHECKED gerne_status gerne_pseudo_judge(gerne_ctx *ctx, const gerne_pseudo *pseudo,
                                                        const int32_t *true_a, uint32_t attributes,
                                                        const double *t, size_t count,
                                                        bool round_up, gerne_pseudo_quality *out);

/* ---- Audit and evaluation -----------------------------------------------------------------------
 *
 *     char *text;
 *     if (gerne_audit(ctx, groups, GERNE_TEXT, &text) == GERNE_OK)
 *         puts(text);
 *     gerne_free(text);
 *
 * Results are texts in one of two forms: the JSON document that the program prints with --json
 * (docs/metrics.md defines its figures), or what it prints for people. *out is NULL after a
 * failure.
 */
typedef enum gerne_form {
    GERNE_JSON,
    GERNE_TEXT,
} gerne_form;

/* How biased the groups are: Cramer's V and a verdict, the smallest groups, bounds on beta. */
GERNE_API GERNE_CHECKED gerne_status gerne_audit(gerne_ctx *ctx, const gerne_groups *groups,
                                                 gerne_form form, char **out);

/* By Cramer's V between class and attribute: below 0.1, below 0.5, above. */
typedef enum gerne_verdict {
    GERNE_UNBIASED,
    GERNE_BIASED,
    GERNE_STRONGLY_BIASED,
} gerne_verdict;

typedef struct gerne_bias {
    size_t size; /* sizeof(gerne_bias), set by the caller */
    double cramers_v;
    gerne_verdict verdict;
} gerne_bias;

/* The same in figures, for gates. */
GERNE_API GERNE_CHECKED gerne_status gerne_bias_of(gerne_ctx *ctx, const gerne_groups *groups,
                                                   gerne_bias *out);

/* Predictions of any model on labelled samples. All arrays are borrowed during the call. */
typedef struct gerne_predicted {
    size_t size; /* sizeof(gerne_predicted) */
    size_t n;
    uint32_t classes, attributes; /* attributes: 1 or 0 without a */
    const int32_t *y;             /* [n] true classes, 0..classes-1 */
    const int32_t *a;             /* [n] attributes, 0..attributes-1; NULL: none */
    const int32_t *pred;          /* [n] predicted classes; NULL: the most probable, the first on
                                     ties */
    const double *probabilities;  /* [n][classes]; NULL: none, then AUROC and ECE do not exist */
    const char *const *class_names, *const *attribute_names; /* NULL: the numbers */
    const int64_t *train_counts; /* [classes][attributes] sizes of the training groups, for
                                    adj_acc_avg and minority_acc; NULL: unknown */
    const char *name; /* what texts for people call them; NULL: "predictions", "first", "second" */
} gerne_predicted;

/* The figures that gates and tables need most; NaN where one does not exist. */
typedef struct gerne_metrics {
    size_t size; /* sizeof(gerne_metrics), set by the caller */
    uint64_t n;
    double acc_avg, balanced_acc, worst_class;
    double gba, gba_ci95[2]; /* mean accuracy of the groups */
    double wga, wga_ci95[2]; /* accuracy of the worst group */
    uint32_t worst_y, worst_a;
    double minority_acc, adj_acc_avg, auroc, ece;
} gerne_metrics;

/* Group accuracies with intervals. metrics and out may be NULL. */
GERNE_API GERNE_CHECKED gerne_status gerne_evaluate(gerne_ctx *ctx,
                                                    const gerne_predicted *predicted,
                                                    gerne_metrics *metrics, gerne_form form,
                                                    char **out);

/* Two models on the same samples: paired differences (first minus second) with bootstrap intervals.
 * resamples 0 stands for 10000. The JSON is that of the first, with the object "comparison". */
GERNE_API GERNE_CHECKED gerne_status gerne_compare(gerne_ctx *ctx, const gerne_predicted *first,
                                                   const gerne_predicted *second,
                                                   uint64_t resamples, gerne_form form, char **out);

/* Differences of a comparison, with the 95 % intervals of the bootstrap. */
typedef struct gerne_differences {
    size_t size; /* sizeof(gerne_differences), set by the caller */
    double acc_avg;
    double gba, gba_ci95[2];
    double wga, wga_ci95[2];
} gerne_differences;

/* The same in figures, for gates. */
GERNE_API GERNE_CHECKED gerne_status gerne_differences_of(gerne_ctx *ctx,
                                                          const gerne_predicted *first,
                                                          const gerne_predicted *second,
                                                          uint64_t resamples,
                                                          gerne_differences *out);

/* ==== libgerne alone from here on ================================================================
 *
 * ---- Configuration ------------------------------------------------------------------------------
 *
 *     gerne_config *config;
 *     gerne_config_new(ctx, &config);
 *     gerne_config_read(ctx, config, "birds.yaml");
 *     gerne_config_set(ctx, config, "train.lr", "0.01");
 *
 * The keys and values of the program's flags: 'gerne help train' and gerne_config_keys list them.
 */
typedef struct gerne_config gerne_config;

GERNE_API GERNE_CHECKED gerne_status gerne_config_new(gerne_ctx *ctx, gerne_config **out);
GERNE_API void gerne_config_close(gerne_config *config);

/* Sets a key as a flag does: it wins over YAML, whichever came first. Lists are comma separated.
 * A NULL value withdraws it. An unknown key fails here, with the nearest one as a hint; a value is
 * checked when the configuration is used, because other keys decide what it may be. */
GERNE_API GERNE_CHECKED gerne_status gerne_config_set(gerne_ctx *ctx, gerne_config *config,
                                                      const char *key, const char *value);

/* Adds the keys of a YAML file or text; a key that comes again replaces the earlier one. The
 * sections tune and search are ignored. */
GERNE_API GERNE_CHECKED gerne_status gerne_config_read(gerne_ctx *ctx, gerne_config *config,
                                                       const char *path);
GERNE_API GERNE_CHECKED gerne_status gerne_config_parse(gerne_ctx *ctx, gerne_config *config,
                                                        const char *yaml);

/* Checks all values. *value becomes what the key is for a training run, default or not, or NULL
 * where it is not set; yaml the whole of it, as config.yaml of a run has it. */
GERNE_API GERNE_CHECKED gerne_status gerne_config_get(gerne_ctx *ctx, const gerne_config *config,
                                                      const char *key, char **value);
GERNE_API GERNE_CHECKED gerne_status gerne_config_yaml(gerne_ctx *ctx, const gerne_config *config,
                                                       char **yaml);

/* All keys of training, those of every method included, as a JSON list of objects: key, type (bool,
 * int, real, text, choice, or a list of one of them: ints, reals, texts), default, choices, min,
 * max, help. */
GERNE_API GERNE_CHECKED gerne_status gerne_config_keys(gerne_ctx *ctx, char **json);

/* ---- Datasets -----------------------------------------------------------------------------------
 *
 *     gerne_arrays arrays = {.size = sizeof arrays, .n = n, .features = x, .dimension = 512,
 *                            .y = y, .a = a, .split = split};
 *     gerne_dataset_from_arrays(ctx, &arrays, &dataset);
 *
 * Samples in memory are borrowed, never copied: every array has to stay as it is until the dataset
 * is closed. Arrays are contiguous in C order (the last index runs fastest), without strides.
 */
typedef enum gerne_split {
    GERNE_TRAIN,
    GERNE_VAL,
    GERNE_TEST,
    GERNE_ALL, /* every sample, where a call takes a split */
} gerne_split;

/* Writes one sample: dimension floats, or height * width * 3 bytes. A non-zero return is an error.
 * Called from several threads at a time, for any index below n, as often as it takes; the same
 * index gives the same sample. */
typedef int gerne_fetch_fn(void *user, size_t index, void *sample);

typedef struct gerne_arrays {
    size_t size; /* sizeof(gerne_arrays) */
    size_t n;    /* samples, of all splits together */

    /* The samples: one of these three. */
    const float *features; /* [n][dimension], finite */
    size_t dimension;
    const uint8_t *pixels; /* [n][height][width][3], red, green, blue */
    size_t height, width;
    const char *const *texts; /* [n] in UTF-8, each ended by a NUL */
    const char *const *pairs; /* [n] the second texts of pairs; NULL: single texts */

    /* Instead of features (with dimension) or pixels (with height and width): data that the caller
     * keeps elsewhere. Pixels beyond data.memory_limit are fetched again in every epoch. */
    gerne_fetch_fn *fetch;
    void *user;

    /* Labels. */
    const int32_t *y;     /* [n] 0..classes-1; NULL: unlabelled, for predicting */
    const int32_t *a;     /* [n] 0..attributes-1; NULL: unknown */
    const uint8_t *split; /* [n] gerne_split values; NULL: all train, or all test without y */
    uint32_t classes, attributes;                            /* 0: the largest label plus one */
    const char *const *class_names, *const *attribute_names; /* NULL: the numbers */
} gerne_arrays;

typedef struct gerne_dataset gerne_dataset;

GERNE_API GERNE_CHECKED gerne_status gerne_dataset_from_arrays(gerne_ctx *ctx,
                                                               const gerne_arrays *arrays,
                                                               gerne_dataset **out);

/* What the section data of a configuration describes (files, folders, generated data). Labels are
 * read now, samples when they are used. The configuration may be closed afterwards. */
GERNE_API GERNE_CHECKED gerne_status gerne_dataset_open(gerne_ctx *ctx, const gerne_config *config,
                                                        gerne_dataset **out);
GERNE_API void gerne_dataset_close(gerne_dataset *dataset);

GERNE_API size_t gerne_dataset_count(const gerne_dataset *dataset, gerne_split split);
GERNE_API uint32_t gerne_dataset_classes(const gerne_dataset *dataset);    /* 0: unlabelled */
GERNE_API uint32_t gerne_dataset_attributes(const gerne_dataset *dataset); /* 0: unknown */
/* NULL beyond the last. */
GERNE_API const char *gerne_dataset_class_name(const gerne_dataset *dataset, uint32_t y);
GERNE_API const char *gerne_dataset_attribute_name(const gerne_dataset *dataset, uint32_t a);

/* Labels of all samples, gerne_dataset_count(dataset, GERNE_ALL) each; NULL where there are none.
 */
GERNE_API const int32_t *gerne_dataset_y(const gerne_dataset *dataset);
GERNE_API const int32_t *gerne_dataset_a(const gerne_dataset *dataset);
GERNE_API const uint8_t *gerne_dataset_split(const gerne_dataset *dataset);

/* The groups of a split, named, for bounds and samplers; a sampler's indices count the samples of
 * the split in their order. The caller closes them. */
GERNE_API GERNE_CHECKED gerne_status gerne_dataset_groups(gerne_ctx *ctx,
                                                          const gerne_dataset *dataset,
                                                          gerne_split split, gerne_groups **out);

/* What an audit for people calls the data, copied; by default its format. */
GERNE_API GERNE_CHECKED gerne_status gerne_dataset_set_name(gerne_ctx *ctx, gerne_dataset *dataset,
                                                            const char *name);

/* As gerne_audit; with a line, or the object "all_splits", about all splits together. */
GERNE_API GERNE_CHECKED gerne_status gerne_dataset_audit(gerne_ctx *ctx,
                                                         const gerne_dataset *dataset,
                                                         gerne_split split, gerne_form form,
                                                         char **out);

/* ---- Labels alone -------------------------------------------------------------------------------
 *
 * Two columns of a CSV file: enough for an audit and for bounds, without samples.
 */
typedef struct gerne_labels gerne_labels;

/* Rows with an empty class or attribute. */
typedef enum gerne_missing {
    GERNE_MISSING_ERROR, /* the file is refused */
    GERNE_MISSING_DROP,  /* they are ignored */
    GERNE_MISSING_GROUP, /* the missing attribute is a group of its own */
} gerne_missing;

typedef struct gerne_label_columns {
    size_t size;       /* sizeof(gerne_label_columns) */
    const char *y;     /* NULL: "y" */
    const char *a;     /* NULL: "a" where there is one, else the column that predicts y best */
    const char *split; /* a value of the split column, or "all"; NULL: the training rows, if any */
    gerne_missing missing;
    const char *split_column; /* NULL: "split", where there is one */
} gerne_label_columns;

/* columns may be NULL; path "-" is the standard input. */
GERNE_API GERNE_CHECKED gerne_status gerne_labels_open(gerne_ctx *ctx, const char *path,
                                                       const gerne_label_columns *columns,
                                                       gerne_labels **out);
GERNE_API void gerne_labels_close(gerne_labels *labels);

/* Of the rows that were chosen; borrowed. They are counts: no sampler draws from them. */
GERNE_API const gerne_groups *gerne_labels_groups(const gerne_labels *labels);

/* As gerne_dataset_audit; with the columns ranked by how well they predict the class if a is NULL.
 * The ranking ignores rows in which a column is empty, for that column. */
GERNE_API GERNE_CHECKED gerne_status gerne_labels_audit(gerne_ctx *ctx, const gerne_labels *labels,
                                                        gerne_form form, char **out);

/* ---- Training -----------------------------------------------------------------------------------
 *
 *     gerne_config_set(ctx, config, "method.name", "gerne");
 *     gerne_config_set(ctx, config, "out", "runs/birds");
 *     status = gerne_train(ctx, config, dataset, GERNE_JSON, &results);
 *     if (status == GERNE_EINTERRUPTED)
 *         status = gerne_resume(ctx, "runs/birds", dataset, GERNE_JSON, &results);
 *
 * A run is a directory (key out): configuration, log, results, predictions, weights, checkpoint and
 * report, the same files as the program's. Log lines and progress go to the hooks of the context.
 */

/* dataset NULL: the data that the configuration describes. With arrays, the configuration may still
 * say what is done to them (data.val, data.standardize, data.normalize, ...). GERNE_EINTERRUPTED
 * when gerne_stop or the progress hook asked to stop: what is done so far is saved. *out (out may
 * be NULL) becomes the document of results.json, or a table of the groups. */
GERNE_API GERNE_CHECKED gerne_status gerne_train(gerne_ctx *ctx, const gerne_config *config,
                                                 const gerne_dataset *dataset, gerne_form form,
                                                 char **out);

/* Continues the run in a directory exactly where it stopped, with the same bits as without the
 * interruption; a finished one is left alone. A run on arrays needs the same arrays again. */
GERNE_API GERNE_CHECKED gerne_status gerne_resume(gerne_ctx *ctx, const char *directory,
                                                  const gerne_dataset *dataset, gerne_form form,
                                                  char **out);

/* ---- Models -------------------------------------------------------------------------------------
 *
 *     gerne_model_open(ctx, "runs/birds", NULL, &model);
 *     gerne_model_predict(ctx, model, dataset, GERNE_TEST, 0, &predictions);
 *     const double *p = gerne_predictions_probabilities(predictions);
 *
 * A model does not change once it is open: threads may predict with one model, each with a context
 * of its own.
 */
typedef struct gerne_model gerne_model;

/* path is a run directory or a file of weights (safetensors, or PyTorch's .pth). config (may be
 * NULL) may set checkpoint (best or last), threads, cache, train.precision, model.vocab, data.* for
 * other data than the run's own, other-data (see gerne_model_evaluate), and for weights without
 * metadata model.arch with its sizes and class-names; other keys are refused. */
GERNE_API GERNE_CHECKED gerne_status gerne_model_open(gerne_ctx *ctx, const char *path,
                                                      const gerne_config *config,
                                                      gerne_model **out);
GERNE_API void gerne_model_close(gerne_model *model);

/* 0 and NULL for weights without metadata before the first prediction. */
GERNE_API uint32_t gerne_model_classes(const gerne_model *model);
GERNE_API uint32_t gerne_model_attributes(const gerne_model *model); /* 0: unknown */
GERNE_API const char *gerne_model_class_name(const gerne_model *model, uint32_t y);
GERNE_API const char *gerne_model_attribute_name(const gerne_model *model, uint32_t a);

/* The metadata of the weights as a JSON object of texts: model, sample_shape, class_names, method,
 * ... */
GERNE_API GERNE_CHECKED gerne_status gerne_model_metadata(gerne_ctx *ctx, const gerne_model *model,
                                                          char **json);

typedef struct gerne_predictions gerne_predictions;

enum {
    GERNE_WITH_FEATURES = 1, /* keep what the network's body gives for each sample */
};

/* dataset NULL: the run's own data. Classes of the data need not be known. */
GERNE_API GERNE_CHECKED gerne_status gerne_model_predict(gerne_ctx *ctx, gerne_model *model,
                                                         const gerne_dataset *dataset,
                                                         gerne_split split, unsigned flags,
                                                         gerne_predictions **out);
GERNE_API void gerne_predictions_close(gerne_predictions *predictions);

GERNE_API size_t gerne_predictions_count(const gerne_predictions *predictions);
GERNE_API uint32_t gerne_predictions_classes(const gerne_predictions *predictions);
/* [count][classes] and [count]. */
GERNE_API const double *gerne_predictions_probabilities(const gerne_predictions *predictions);
GERNE_API const int32_t *gerne_predictions_pred(const gerne_predictions *predictions);
/* [count] the row of each sample in its arrays or file: ascending, not of every row unless the
 * split is GERNE_ALL. */
GERNE_API const uint32_t *gerne_predictions_rows(const gerne_predictions *predictions);
/* [count][feature_count]; NULL and 0 without GERNE_WITH_FEATURES. */
GERNE_API const float *gerne_predictions_features(const gerne_predictions *predictions);
GERNE_API size_t gerne_predictions_feature_count(const gerne_predictions *predictions);

/* One sample at a time, for data whose predictions need not be kept. Valid during the call. */
typedef struct gerne_prediction {
    size_t size;                 /* sizeof(gerne_prediction) of the library */
    size_t row;                  /* as in gerne_predictions_rows */
    const char *y, *a;           /* names of class and attribute; NULL: unknown */
    gerne_split split;           /* of the sample */
    const char *file;            /* its path, "" if unknown; NULL: samples are not files */
    uint32_t classes;            /* of the model */
    int32_t pred;                /* a class of the model */
    const double *probabilities; /* [classes] */
    uint32_t attributes;         /* of the data, whose names may differ from the model's */
    const char *const *attribute_names;
} gerne_prediction;

/* GERNE_OK, or what the call is to end with. A message is set by the function if at all. */
typedef gerne_status gerne_prediction_fn(void *user, const gerne_prediction *prediction);

/* Calls take for every sample in ascending order of rows, in the thread of the caller. */
GERNE_API GERNE_CHECKED gerne_status gerne_model_predict_each(gerne_ctx *ctx, gerne_model *model,
                                                              const gerne_dataset *dataset,
                                                              gerne_split split,
                                                              gerne_prediction_fn *take,
                                                              void *user);

/* What the program's eval gives for a run: classes are matched by name. dataset NULL: the run's own
 * data, GERNE_EUSAGE if it has changed since the training, unless the model was opened with the key
 * other-data or keys of other data. metrics and out may be NULL. */
GERNE_API GERNE_CHECKED gerne_status gerne_model_evaluate(gerne_ctx *ctx, gerne_model *model,
                                                          const gerne_dataset *dataset,
                                                          gerne_split split, gerne_metrics *metrics,
                                                          gerne_form form, char **out);

/* The tensors of the weights file, in its order; names as in PyTorch's state_dict. */
enum { GERNE_TENSOR_DIMS = 8 };
typedef struct gerne_tensor {
    size_t size;      /* sizeof(gerne_tensor), set by the caller */
    const char *name; /* borrowed from the model */
    const char *type; /* "F32", "F16", "BF16", "F64", "I64", ...; static */
    size_t count, ndims;
    int64_t dims[GERNE_TENSOR_DIMS];
} gerne_tensor;

GERNE_API size_t gerne_model_tensor_count(const gerne_model *model);
GERNE_API GERNE_CHECKED gerne_status gerne_model_tensor(gerne_ctx *ctx, const gerne_model *model,
                                                        size_t index, gerne_tensor *out);

/* Writes the values of a tensor, in C order and as floats whatever their type in the file; count is
 * the room in values and has to be the tensor's own. Tensors of integers are refused. */
GERNE_API GERNE_CHECKED gerne_status gerne_model_read(gerne_ctx *ctx, const gerne_model *model,
                                                      const char *name, float *values,
                                                      size_t count);

/* Files for other programs, as 'gerne export' writes them; NULL: none. Files appear only when they
 * are complete. */
typedef struct gerne_export_options {
    size_t size;             /* sizeof(gerne_export_options) */
    const char *onnx;        /* the network from samples to probabilities */
    const char *safetensors; /* the weights, with the names of PyTorch's libraries */
    bool fp16;               /* store half-precision weights */
    bool features;           /* the ONNX file also gives what the body does */
    bool overwrite;          /* existing files; by default they are refused */
    /* Of a sample: 3, height and width of images, the number of features, or the most tokens of a
     * text. NULL: derived from metadata, weights or the samples that the model has predicted for.
     * Required for ResNet weights without metadata. */
    const int64_t *shape;
    size_t shape_count;
    /* Of images, for weights without metadata: "none", "imagenet" or "cifar"; NULL: "auto", which
     * is imagenet. */
    const char *normalize;
} gerne_export_options;

GERNE_API GERNE_CHECKED gerne_status gerne_model_export(gerne_ctx *ctx, gerne_model *model,
                                                        const gerne_export_options *options);

#ifdef __cplusplus
}
#endif

#endif
