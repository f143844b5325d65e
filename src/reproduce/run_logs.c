#include "reproduce/run_logs.h"

#include <math.h>
#include <string.h>

#include "base/file.h"

enum { LOG_LIMIT = 1 << 28 };

/* ---- logs ---- */

static bool is_evaluation(const json_t *event)
{
    const char *what = json_string_value(json_object_get(event, "event"));
    const char *stage = json_string_value(json_object_get(event, "stage"));
    return what && stage && strcmp(what, "evaluation") == 0 && strcmp(stage, "main") == 0;
}

static gerne_status parse_log(gerne_ctx *ctx, const char *path, const gn_text *text, json_t *out)
{
    for (const char *line = text->bytes; line && *line;) {
        const char *end = strchr(line, '\n');
        if (!end)
            return GERNE_OK; /* half a line, of a run that is still going */
        json_t *event;
        GN_TRY(gn_json_parse(ctx, line, (size_t)(end - line), path, &event));
        if (is_evaluation(event))
            json_array_append(out, event);
        json_decref(event);
        line = end + 1;
    }
    return GERNE_OK;
}

static gerne_status path_in_trial(gn_reproduction *r, const char *id, const char *name,
                                  const char **out)
{
    gn_text text = {0};
    gerne_status status = gn_text_add(r->ctx, &text, "%s/trials/%s/%s", r->dir, id, name);
    if (status == GERNE_OK)
        status = gn_arena_copy_text(r->ctx, r->arena, text.bytes, out);
    gn_text_free(&text);
    return status;
}

static gerne_status read_log(gn_reproduction *r, const char *id, json_t **out)
{
    const char *path;
    gn_text text = {0};
    *out = json_array();
    GN_TRY(path_in_trial(r, id, "log.jsonl", &path));
    gerne_status status = gn_file_read(r->ctx, path, LOG_LIMIT, &text);
    if (status == GERNE_OK)
        status = parse_log(r->ctx, path, &text, *out);
    gn_text_free(&text);
    return status;
}

static double share_of_minority(const json_t *results)
{
    const json_t *test = json_object_get(json_object_get(results, "splits"), "test"), *group;
    double all = 0, minority = 0;
    size_t i;
    json_array_foreach(json_object_get(test, "groups"), i, group)
    {
        double n = (double)json_integer_value(json_object_get(group, "n"));
        all += n;
        if (json_integer_value(json_object_get(group, "y")) !=
            json_integer_value(json_object_get(group, "a")))
            minority += n;
    }
    return all > 0 ? minority / all : (double)NAN;
}

/* The ledger keeps results without groups: results.json has them. */
static gerne_status read_share(gn_reproduction *r, const char *id, double *out)
{
    const char *path;
    gn_text text = {0};
    json_t *results = NULL;
    GN_TRY(path_in_trial(r, id, "results.json", &path));
    gerne_status status = gn_file_read(r->ctx, path, LOG_LIMIT, &text);
    if (status == GERNE_OK)
        status = gn_json_parse(r->ctx, text.bytes, text.size, path, &results);
    if (status == GERNE_OK)
        *out = share_of_minority(results);
    json_decref(results);
    gn_text_free(&text);
    return status;
}

gerne_status gn_run_logs_read(gn_reproduction *r, const gn_cell *cell, size_t point,
                              gn_run_logs *out)
{
    *out = (gn_run_logs){.minority_share = NAN};
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, cell->run_count + 1, sizeof(json_t *), &out->logs));
    for (size_t i = 0; i < cell->run_count; i++) {
        const gn_trial *trial = gn_trial_of(r, &cell->runs[i]);
        if (cell->runs[i].point != point || trial->state != GN_TRIAL_DONE)
            continue;
        GN_TRY(read_log(r, trial->id, &out->logs[out->count++]));
        if (isnan(out->minority_share))
            GN_TRY(read_share(r, trial->id, &out->minority_share));
    }
    return GERNE_OK;
}

void gn_run_logs_free(gn_run_logs *curves)
{
    for (size_t i = 0; i < curves->count; i++)
        json_decref(curves->logs[i]);
    curves->count = 0;
}

/* ---- curves ---- */

static double number_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static double value_of(const gn_run_logs *curves, const json_t *event, const char *part,
                       const char *key)
{
    const json_t *from = json_object_get(event, part);
    if (strcmp(key, "majority_acc") != 0)
        return number_at(from, key);
    double m = curves->minority_share;
    return (number_at(from, "acc_avg") - m * number_at(from, "minority_acc")) / (1 - m);
}

gerne_status gn_track_of(gn_reproduction *r, const gn_run_logs *curves, const char *part,
                         const char *key, gn_track *out)
{
    double *values;
    size_t longest = curves->count ? json_array_size(curves->logs[0]) : 0;
    *out = (gn_track){0};
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, longest + 1, sizeof(double), &out->x));
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, longest + 1, sizeof(double), &out->mean));
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, longest + 1, sizeof(double), &out->width));
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, curves->count + 1, sizeof(double), &values));
    for (size_t e = 0; e < longest; e++) {
        size_t n = 0;
        for (size_t i = 0; i < curves->count; i++) {
            double value = value_of(curves, json_array_get(curves->logs[i], e), part, key);
            if (!isnan(value))
                values[n++] = value;
        }
        if (!n)
            continue;
        gn_spread spread = gn_spread_of(values, n);
        out->x[out->count] = number_at(json_array_get(curves->logs[0], e), "epoch");
        out->mean[out->count] = spread.mean;
        out->width[out->count++] = spread.sd;
    }
    return GERNE_OK;
}

gerne_status gn_run_logs_plateau(gn_reproduction *r, const gn_run_logs *curves, const char *part,
                                 const char *key, double from, gn_spread *out)
{
    double *means;
    size_t runs = 0;
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, curves->count + 1, sizeof(double), &means));
    for (size_t i = 0; i < curves->count; i++) {
        double sum = 0;
        size_t n = 0, e;
        json_t *event;
        json_array_foreach(curves->logs[i], e, event)
        {
            double value = value_of(curves, event, part, key);
            if (number_at(event, "epoch") < from || isnan(value))
                continue;
            sum += value;
            n++;
        }
        if (n)
            means[runs++] = sum / (double)n;
    }
    *out = gn_spread_of(means, runs);
    return GERNE_OK;
}
