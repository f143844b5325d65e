/* status.h - failing with a sentence, logging, progress: what every other file uses of the context.
 *
 * A message says what is wrong first, in lower case and without a full stop, quotes the subject and
 * names the limit; the hint says the way out:
 *     return gn_fail(ctx, GERNE_EUSAGE, "c %g is outside (0, 1]", c);
 */
#ifndef GN_BASE_STATUS_H
#define GN_BASE_STATUS_H

#include "base/scope.h"
#include "gerne.h"

#pragma GCC visibility push(default) /* what plug-ins may call */

#define GN_PRINTF(form, first) __attribute__((format(printf, form, first)))

/* Records the sentence and returns the status, so that it can stand in a return statement.
 * An earlier hint is dropped. ctx may be NULL (the sentence is lost then). */
gerne_status gn_fail(gerne_ctx *ctx, gerne_status status, const char *format, ...) GN_PRINTF(3, 4);

/* As gn_fail, with the text of errno after a colon. */
gerne_status gn_fail_errno(gerne_ctx *ctx, gerne_status status, const char *format, ...)
    GN_PRINTF(3, 4);

/* Puts words such as "file.csv, line 7" before the sentence just recorded; returns status. */
gerne_status gn_fail_in(gerne_ctx *ctx, gerne_status status, const char *format, ...)
    GN_PRINTF(3, 4);

/* Adds the way out to the failure just recorded. */
void gn_hint(gerne_ctx *ctx, const char *format, ...) GN_PRINTF(2, 3);

/* The compiler and its analyzer, which read one file at a time, see through these that the status
 * comes back, and so which paths a failure does not take. status is evaluated twice. */
static inline gerne_status gn_failed_(gerne_status recorded, gerne_status status)
{
    (void)recorded;
    return status;
}
#define gn_fail(ctx, status, ...) gn_failed_((gn_fail)(ctx, status, __VA_ARGS__), status)
#define gn_fail_errno(ctx, status, ...)                                                            \
    gn_failed_((gn_fail_errno)(ctx, status, __VA_ARGS__), status)
#define gn_fail_in(ctx, status, ...) gn_failed_((gn_fail_in)(ctx, status, __VA_ARGS__), status)

/* The present failure, kept while something else is tried. */
enum { GN_MESSAGE_MAX = 2048 };
typedef struct gn_saved_failure {
    char message[GN_MESSAGE_MAX], hint[GN_MESSAGE_MAX];
} gn_saved_failure;
gn_saved_failure gn_save_failure(const gerne_ctx *ctx);
void gn_restore_failure(gerne_ctx *ctx, const gn_saved_failure *failure);

/* Forwards a failure. */
#define GN_TRY(expression)                                                                         \
    do {                                                                                           \
        gerne_status gn_try_status_ = (expression);                                                \
        if (gn_try_status_ != GERNE_OK)                                                            \
            return gn_try_status_;                                                                 \
    } while (0)

void gn_log(gerne_ctx *ctx, gerne_log_level level, const char *format, ...) GN_PRINTF(3, 4);

/* A warning about what is computed rather than about the system: it goes to the log, and to the
 * sink of whoever keeps a record (a run). The same work gives the same text: no paths in it. */
void gn_warn(gerne_ctx *ctx, const char *format, ...) GN_PRINTF(2, 3);
typedef void gn_warning_fn(void *user, const char *text);
void gn_set_warning_sink(gerne_ctx *ctx, gn_warning_fn *fn, void *user); /* NULL: none */

/* The hooks that are set now, for work that reports as a part of larger work. */
void gn_progress_hook(const gerne_ctx *ctx, gerne_progress_fn **fn, void **user);
void gn_log_hook(const gerne_ctx *ctx, gerne_log_fn **fn, void **user);

/* Reports progress; GERNE_EINTERRUPTED when the hook asks to stop. */
GERNE_CHECKED gerne_status gn_progress(gerne_ctx *ctx, const gerne_progress *progress);

#pragma GCC visibility pop

/* The processes that share the work of this context, for src/ranks alone; NULL: none. */
void *gn_peers(const gerne_ctx *ctx);
void gn_set_peers(gerne_ctx *ctx, void *peers);

#endif
