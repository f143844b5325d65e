#include "train/runlog.h"

#include <math.h>

#include "base/append.h"
#include "base/clock.h"

struct gn_runlog {
    gerne_ctx *ctx;
    gn_append *file;
    gn_text line;
};

gerne_status gn_runlog_open(gerne_ctx *ctx, const char *path, uint64_t keep, gn_runlog **out)
{
    *out = NULL;
    GN_LOCAL(gn_runlog) *log = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *log, path, &log));
    log->ctx = ctx;
    GN_TRY(gn_append_open(ctx, path, keep, &log->file));
    return gn_give(&log, out);
}

gerne_status gn_runlog_event(gn_runlog *log, const char *name, json_t *fields)
{
    if (!log) {
        json_decref(fields);
        return GERNE_OK;
    }
    double milliseconds = floor(1e3 * gn_wall_clock()); /* enough, and keep the lines short */
    json_t *line = json_pack("{s:s, s:f}", "event", name, "time", milliseconds / 1e3);
    bool whole = line && (!fields || json_object_update(line, fields) == 0);
    gn_text_clear(&log->line);
    gerne_status status = whole ? gn_json_print_line(log->ctx, line, &log->line)
                                : gn_fail(log->ctx, GERNE_EINTERNAL,
                                          "the event '%s' cannot be written as JSON", name);
    json_decref(line);
    json_decref(fields);
    GN_TRY(status);
    GN_TRY(gn_append_write(log->file, log->line.bytes, log->line.size));
    return gn_append_flush(log->file);
}

gerne_status gn_runlog_sync(gn_runlog *log, uint64_t *length)
{
    return gn_append_sync(log->file, length);
}

void gn_runlog_close(gn_runlog *log)
{
    if (!log)
        return;
    gn_append_close(log->file);
    gn_text_free(&log->line);
    gn_free(log);
}
