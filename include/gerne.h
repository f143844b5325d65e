/* gerne.h - train classifiers that do not lean on spurious correlations.
 *
 * Every call that can fail returns a gerne_status and leaves a sentence in the context;
 * nothing in this library exits, aborts or prints.
 *
 * Ownership: what a *_new or *_open call hands out belongs to the caller and goes back through the
 * matching *_close, which takes NULL; pointers returned by getters are borrowed from their object.
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

/* One list makes the enumeration and its names. */
#define GERNE_STATUS_LIST(X)                                                                       \
    X(OK, "ok")                                                                                    \
    X(EUSAGE, "wrong usage")         /* what was typed, configured or passed is wrong */           \
    X(EDATA, "bad data")             /* the contents of a file are wrong */                        \
    X(EIO, "input or output failed") /* the system refused to read or write */                     \
    X(ENOMEM, "out of memory")                                                                     \
    X(EUNSUPPORTED, "not supported") /* this machine or build cannot do it */                      \
    X(EDIVERGED, "diverged")         /* training left the finite numbers */                        \
    X(EINTERRUPTED, "interrupted")   /* a progress callback or a signal asked to stop */           \
    X(EINTERNAL, "internal error")

typedef enum gerne_status {
#define GERNE_STATUS_ENUM(name, text) GERNE_##name,
    GERNE_STATUS_LIST(GERNE_STATUS_ENUM)
#undef GERNE_STATUS_ENUM
} gerne_status;

/* The version of the library, such as "0.1.0"; static. */
GERNE_API const char *gerne_version(void);

/* A short name for a status; static. */
GERNE_API const char *gerne_status_name(gerne_status status);

/* A context carries the last failure's sentence and the hooks; use one context per thread. */
typedef struct gerne_ctx gerne_ctx;

GERNE_API GERNE_CHECKED gerne_status gerne_ctx_new(gerne_ctx **out);
GERNE_API void gerne_ctx_close(gerne_ctx *ctx);

/* What went wrong last, and what to do about it; "" when there is nothing to say.
 * Borrowed: valid until the next failing call on this context. */
GERNE_API const char *gerne_message(const gerne_ctx *ctx);
GERNE_API const char *gerne_hint(const gerne_ctx *ctx);

typedef enum gerne_log_level {
    GERNE_LOG_DEBUG,
    GERNE_LOG_INFO,
    GERNE_LOG_WARNING,
} gerne_log_level;

/* Called with one line, without a line end. No hook is set at first: the library is silent. */
typedef void gerne_log_fn(void *user, gerne_log_level level, const char *line);
GERNE_API void gerne_set_log(gerne_ctx *ctx, gerne_log_fn *fn, void *user);

typedef struct gerne_progress {
    const char *what;     /* the job, such as "train" or "download" */
    uint64_t done, total; /* total is 0 while unknown */
    const char *detail;   /* "" or a few words, such as "loss 0.31" */
} gerne_progress;

/* Called now and then during long work; a non-zero return stops it with GERNE_EINTERRUPTED. */
typedef int gerne_progress_fn(void *user, const gerne_progress *progress);
GERNE_API void gerne_set_progress(gerne_ctx *ctx, gerne_progress_fn *fn, void *user);

/* ---- Groups -------------------------------------------------------------------------------------
 *
 * A group is a cell (y, a): the samples of class y that have attribute a. The share of a group
 * inside its class is alpha. A class whose cells are not equally large invites a classifier to lean
 * on the attribute. Arrays over groups are [classes][attributes], group id y * attributes + a.
 */
typedef struct gerne_groups gerne_groups;

/* From counts alone: enough for laws and bounds, not for drawing. Every class needs a sample. */
GERNE_API GERNE_CHECKED gerne_status gerne_groups_from_counts(gerne_ctx *ctx, const int64_t *counts,
                                                              uint32_t classes, uint32_t attributes,
                                                              gerne_groups **out);

/* From the labels of n samples (y in 0..classes-1, a in 0..attributes-1; a may be NULL when
 * attributes is 1). The arrays are only read here; the index kept inside takes 4 bytes a sample. */
GERNE_API GERNE_CHECKED gerne_status gerne_groups_from_labels(gerne_ctx *ctx, const int32_t *y,
                                                              const int32_t *a, size_t n,
                                                              uint32_t classes, uint32_t attributes,
                                                              gerne_groups **out);
GERNE_API void gerne_groups_close(gerne_groups *groups); /* takes NULL */

/* Names for messages and tables, copied; either may be NULL (then the numbers are shown). */
GERNE_API GERNE_CHECKED gerne_status gerne_groups_set_names(gerne_ctx *ctx, gerne_groups *groups,
                                                            const char *const *class_names,
                                                            const char *const *attribute_names);

/* What "balanced" means in a class with empty groups: equal shares of the groups that it has
 * (false, the default), or 1/attributes for each as if they had samples (true, the paper's
 * formulas to the letter). Set it before a sampler is made. */
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
    double beta_balanced; /* 1/c - 1: all groups of a class weigh the same */
    bool binds;           /* false when every class is balanced already, or has one group only */
    uint32_t y, a;        /* the group whose share reaches 0 at beta_max */
} gerne_bounds;

GERNE_API GERNE_CHECKED gerne_status gerne_bounds_of(gerne_ctx *ctx, const gerne_groups *groups,
                                                     double c, gerne_bounds *out);

enum {
    GERNE_PSEUDO_GROUPS = 1, /* groups come from scores: up to a share of -0.25 is let pass */
    GERNE_BEYOND_BOUNDS = 2, /* warn instead of refusing */
};

/* GERNE_EUSAGE, with the interval, the binding group and the way out, when beta cannot be used with
 * these groups; what can be used but is unusual is a warning in the log. */
GERNE_API GERNE_CHECKED gerne_status gerne_check_beta(gerne_ctx *ctx, const gerne_groups *groups,
                                                      double c, double beta, unsigned flags);

/* Proposition 1: the beta for which a true attribute gets the share p of a class that is split into
 * two pseudo-groups. alpha is the share of pseudo-group 1, q1 and q2 the shares of the attribute
 * inside pseudo-groups 1 and 2. */
GERNE_API GERNE_CHECKED gerne_status gerne_beta_target(gerne_ctx *ctx, double alpha, double q1,
                                                       double q2, double c, double p, double *beta);

#ifdef __cplusplus
}
#endif

#endif
