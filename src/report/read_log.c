/* read_log.c - log.jsonl: the start of the run, its curves, how it ended, how long it took. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "report/record.h"

enum {
    LINE_LIMIT = 1 << 22, /* the longest line that is taken for one */
    PIECE = 1 << 16,
};

static gerne_status stage_of(gn_run_record *run, const json_t *event, gn_curves **out)
{
    const char *name = gn_json_text(event, "stage");
    *out = NULL;
    name = name ? name : "main";
    for (size_t i = 0; i < run->stage_count; i++)
        if (strcmp(run->stages[i].name, name) == 0)
            *out = &run->stages[i].curves;
    if (*out || run->stage_count == GN_STAGES_SHOWN || strlen(name) >= GN_CURVE_NAME)
        return GERNE_OK;
    gn_stage_record *stage = &run->stages[run->stage_count++];
    snprintf(stage->name, sizeof stage->name, "%s", name);
    gn_curves_open(run->ctx, &stage->curves);
    *out = &stage->curves;
    return GERNE_OK;
}

static gerne_status put_groups(gn_curves *curves, const char *split, const json_t *groups)
{
    char name[GN_CURVE_NAME];
    const json_t *value;
    size_t i;
    json_array_foreach(groups, i, value)
    {
        snprintf(name, sizeof name, "%s#%zu", split, i);
        if (json_is_number(value))
            GN_TRY(gn_curves_put(curves, name, json_number_value(value)));
    }
    return GERNE_OK;
}

static gerne_status put_figures(gn_curves *curves, const char *part, const json_t *figures)
{
    char name[2 * GN_CURVE_NAME];
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)figures, key, value)
    {
        snprintf(name, sizeof name, "%s/%s", part, key);
        if (json_is_number(value))
            GN_TRY(gn_curves_put(curves, name, json_number_value(value)));
    }
    return GERNE_OK;
}

static gerne_status take_evaluation(gn_run_record *run, const json_t *event)
{
    gn_curves *curves;
    double step = gn_json_real(event, "step");
    static const char *const parts[] = {"train", "val", "test"};
    GN_TRY(stage_of(run, event, &curves));
    if (!curves || !(step >= 0))
        return GERNE_OK;
    GN_TRY(gn_curves_entry(curves, step));
    GN_TRY(gn_curves_put(curves, "epoch", gn_json_real(event, "epoch")));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const json_t *part = json_object_get(event, parts[i]);
        GN_TRY(put_figures(curves, parts[i], part));
        GN_TRY(put_groups(curves, parts[i], json_object_get(part, "groups")));
    }
    return GERNE_OK;
}

static gerne_status take_event(gn_run_record *run, json_t *event)
{
    const char *name = gn_json_text(event, "event");
    if (!name)
        run->damaged_lines++;
    else if (strcmp(name, "evaluation") == 0)
        return take_evaluation(run, event);
    else if (strcmp(name, "end") == 0)
        run->seconds = gn_json_real(event, "seconds");
    else if (strcmp(name, "start") == 0 && !run->start)
        run->start = json_incref(event);
    else if (strcmp(name, "diverged") == 0 && !run->results)
        return gn_take_divergence(run, event);
    else if (strcmp(name, "warning") == 0 && !run->results) /* the results have them all */
        return gn_take_warning(run, json_object_get(event, "message"));
    return GERNE_OK;
}

static gerne_status take_line(gn_run_record *run, const char *line, size_t size)
{
    while (size && (line[size - 1] == '\r' || line[size - 1] == ' '))
        size--;
    if (!size)
        return GERNE_OK;
    GN_LOCAL(json_t) *event = NULL;
    gerne_status status = GERNE_OK;
    if (size <= LINE_LIMIT)
        status = gn_json_parse(run->ctx, line, size, "the log", &event);
    if (status == GERNE_ENOMEM)
        return status; /* anything else is a damaged line */
    if (!json_is_object(event)) {
        run->damaged_lines++;
        return GERNE_OK;
    }
    return take_event(run, event);
}

/* The lines of a piece; what is left of an unfinished one stays in rest. A line that is longer than
 * any of ours is dropped, and counted once. */
static gerne_status take_piece(gn_run_record *run, const char *bytes, size_t size, gn_text *rest,
                               bool *skipping)
{
    while (size) {
        const char *end = memchr(bytes, '\n', size);
        size_t part = end ? (size_t)(end - bytes) : size;
        if (!*skipping && rest->size + part > LINE_LIMIT) {
            *skipping = true;
            run->damaged_lines++;
        }
        if (!*skipping)
            GN_TRY(gn_text_add_bytes(run->ctx, rest, bytes, part));
        if (end) {
            if (!*skipping)
                GN_TRY(take_line(run, rest->bytes, rest->size));
            gn_text_clear(rest);
            *skipping = false;
            part++;
        }
        bytes += part;
        size -= part;
    }
    return GERNE_OK;
}

/* Read, not mapped: the log of a run that is resumed just now is cut. What stands after the last
 * line end is a line in the making. */
static gerne_status take_lines(gn_run_record *run, FILE *file, const char *path)
{
    GN_FREED char *piece = NULL;
    GN_LOCAL(gn_text) rest = {0};
    bool skipping = false;
    GN_TRY(gn_alloc(run->ctx, PIECE, 1, "a log", &piece));
    for (size_t got; (got = fread(piece, 1, PIECE, file)) > 0;)
        GN_TRY(take_piece(run, piece, got, &rest, &skipping));
    if (ferror(file))
        return gn_fail_errno(run->ctx, GERNE_EIO, "cannot read '%s'", path);
    if (run->results && rest.size)
        GN_TRY(take_line(run, rest.bytes, rest.size));
    return GERNE_OK;
}

/* A FIFO in its place cannot hang us, and a directory is told from a file. */
static gerne_status open_log(gn_run_record *run, const char *path, FILE **out)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *out = NULL;
    if (fd < 0)
        return gn_fail_errno(run->ctx, GERNE_EIO, "cannot open '%s'", path);
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        *out = fdopen(fd, "rb");
    if (*out)
        return GERNE_OK;
    close(fd);
    return gn_fail(run->ctx, GERNE_EIO, "'%s' is not a regular file", path);
}

static void fill_from_start(gn_run_record *run)
{
    if (run->results || !run->start)
        return;
    run->fingerprint = gn_json_text(run->start, "data_fingerprint");
    run->run_hash = gn_json_text(run->start, "run_hash");
    run->version = gn_json_text(run->start, "gerne");
    run->threads = json_integer_value(json_object_get(run->start, "threads"));
}

gerne_status gn_read_log(gn_run_record *run)
{
    const char *path;
    FILE *file;
    GN_TRY(gn_record_path(run, "log.jsonl", &path));
    if (!gn_path_exists(path))
        return gn_run_note(run, "log.jsonl is missing: there are no curves.");
    GN_TRY(open_log(run, path, &file));
    gerne_status status = take_lines(run, file, path);
    fclose(file);
    GN_TRY(status);
    fill_from_start(run);
    if (run->damaged_lines)
        GN_TRY(gn_run_note(run, "%llu damaged line%s of log.jsonl %s ignored.",
                           (unsigned long long)run->damaged_lines,
                           run->damaged_lines == 1 ? "" : "s",
                           run->damaged_lines == 1 ? "was" : "were"));
    if (run->stage_count && run->stages[run->stage_count - 1].curves.per_row > 1)
        GN_TRY(gn_run_note(run,
                           "The log is long: each point of a curve is the mean of %llu "
                           "evaluations.",
                           (unsigned long long)run->stages[run->stage_count - 1].curves.per_row));
    return gn_read_names(run);
}
