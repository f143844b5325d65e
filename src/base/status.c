#include "base/status.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"

enum { LINE_MAX_BYTES = 2048 };

struct gerne_ctx {
    char message[GN_MESSAGE_MAX];
    char hint[GN_MESSAGE_MAX];
    gerne_log_fn *log;
    gn_warning_fn *warning;
    void *warning_user;
    void *log_user;
    gerne_progress_fn *progress;
    void *progress_user;
    _Atomic bool stop; /* asked for, and nothing has stopped for it yet */
    void *peers;
};

const char *gerne_version(void)
{
    return GERNE_VERSION;
}

const char *gerne_status_name(gerne_status status)
{
    static const char *const names[] = {
#define STATUS_NAME(name, text) [GERNE_##name] = text,
        GERNE_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    };
    size_t i = (size_t)status;
    return i < sizeof names / sizeof names[0] ? names[i] : "unknown status";
}

gerne_status gerne_ctx_new(gerne_ctx **out)
{
    if (!out)
        return GERNE_EUSAGE;
    *out = calloc(1, sizeof **out);
    return *out ? GERNE_OK : GERNE_ENOMEM;
}

void gerne_ctx_close(gerne_ctx *ctx)
{
    free(ctx);
}

const char *gerne_message(const gerne_ctx *ctx)
{
    return ctx ? ctx->message : "";
}

const char *gerne_hint(const gerne_ctx *ctx)
{
    return ctx ? ctx->hint : "";
}

void gerne_set_log(gerne_ctx *ctx, gerne_log_fn *fn, void *user)
{
    if (!ctx)
        return;
    ctx->log = fn;
    ctx->log_user = user;
}

void gerne_set_progress(gerne_ctx *ctx, gerne_progress_fn *fn, void *user)
{
    if (!ctx)
        return;
    ctx->progress = fn;
    ctx->progress_user = user;
}

void gerne_stop(gerne_ctx *ctx)
{
    if (ctx)
        atomic_store(&ctx->stop, true);
}

void gerne_unstop(gerne_ctx *ctx)
{
    if (ctx)
        atomic_store(&ctx->stop, false);
}

gerne_status(gn_fail)(gerne_ctx *ctx, gerne_status status, const char *format, ...)
{
    if (!ctx)
        return status;
    GN_FORMAT(ctx->message, format);
    ctx->hint[0] = '\0';
    return status;
}

gerne_status(gn_fail_errno)(gerne_ctx *ctx, gerne_status status, const char *format, ...)
{
    int saved = errno;
    if (!ctx)
        return status;
    GN_FORMAT(ctx->message, format);
    ctx->hint[0] = '\0';
    size_t used = strlen(ctx->message);
    char text[128];
    snprintf(ctx->message + used, sizeof ctx->message - used, ": %s",
             strerror_r(saved, text, sizeof text));
    return status;
}

void gn_hint(gerne_ctx *ctx, const char *format, ...)
{
    if (ctx)
        GN_FORMAT(ctx->hint, format);
}

gerne_status(gn_fail_in)(gerne_ctx *ctx, gerne_status status, const char *format, ...)
{
    if (!ctx)
        return status;
    char rest[GN_MESSAGE_MAX];
    memcpy(rest, ctx->message, sizeof rest);
    GN_FORMAT(ctx->message, format);
    size_t used = strlen(ctx->message);
    snprintf(ctx->message + used, sizeof ctx->message - used, ": %s", rest);
    return status;
}

gn_saved_failure gn_save_failure(const gerne_ctx *ctx)
{
    gn_saved_failure failure = {0};
    if (ctx) {
        memcpy(failure.message, ctx->message, sizeof failure.message);
        memcpy(failure.hint, ctx->hint, sizeof failure.hint);
    }
    return failure;
}

void gn_restore_failure(gerne_ctx *ctx, const gn_saved_failure *failure)
{
    if (!ctx)
        return;
    memcpy(ctx->message, failure->message, sizeof ctx->message);
    memcpy(ctx->hint, failure->hint, sizeof ctx->hint);
}

void *gn_peers(const gerne_ctx *ctx)
{
    return ctx ? ctx->peers : NULL;
}

void gn_set_peers(gerne_ctx *ctx, void *peers)
{
    ctx->peers = peers;
}

void gn_log(gerne_ctx *ctx, gerne_log_level level, const char *format, ...)
{
    if (!ctx || !ctx->log)
        return;
    char line[LINE_MAX_BYTES];
    GN_FORMAT(line, format);
    ctx->log(ctx->log_user, level, line);
}

void gn_warn(gerne_ctx *ctx, const char *format, ...)
{
    if (!ctx)
        return;
    char text[LINE_MAX_BYTES];
    GN_FORMAT(text, format);
    gn_log(ctx, GERNE_LOG_WARNING, "%s", text);
    if (ctx->warning)
        ctx->warning(ctx->warning_user, text);
}

void gn_set_warning_sink(gerne_ctx *ctx, gn_warning_fn *fn, void *user)
{
    ctx->warning = fn;
    ctx->warning_user = user;
}

void gn_progress_hook(const gerne_ctx *ctx, gerne_progress_fn **fn, void **user)
{
    *fn = ctx->progress;
    *user = ctx->progress_user;
}

void gn_log_hook(const gerne_ctx *ctx, gerne_log_fn **fn, void **user)
{
    *fn = ctx->log;
    *user = ctx->log_user;
}

gerne_status gn_progress(gerne_ctx *ctx, const gerne_progress *progress)
{
    if (!ctx)
        return GERNE_OK;
    GN_TRY(gn_map_check(ctx));
    bool stop = ctx->progress && ctx->progress(ctx->progress_user, progress) != 0;
    if (!atomic_exchange(&ctx->stop, false) && !stop)
        return GERNE_OK;
    if (!progress->total)
        return gn_fail(ctx, GERNE_EINTERRUPTED, "interrupted: '%s' was stopped", progress->what);
    return gn_fail(ctx, GERNE_EINTERRUPTED, "interrupted: '%s' was stopped after %llu of %llu",
                   progress->what, (unsigned long long)progress->done,
                   (unsigned long long)progress->total);
}
