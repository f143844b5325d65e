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

#ifdef __cplusplus
}
#endif

#endif
