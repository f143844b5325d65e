/* gerne.h - train classifiers that do not rely on spurious correlations.
 *
 * Every call that can fail returns a gerne_status and leaves a message in the context;
 * nothing in this library exits, aborts or prints.
 *
 * Ownership: the caller owns what a *_new or *_open call returns and frees it with the matching
 * *_close, which accepts NULL; pointers returned by getters are borrowed from their object.
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

/* The version of the library, such as "0.1.0"; static. */
GERNE_API const char *gerne_version(void);

/* A short name for a status; static. */
GERNE_API const char *gerne_status_name(gerne_status status);

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

#ifdef __cplusplus
}
#endif

#endif
