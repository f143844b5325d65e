#include "reproduce/run_logs.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "debias/groups.h"

enum { LOG_LIMIT = 1 << 28 };

/* ---- logs ---- */

static bool has_word(const json_t *event, const char *key, const char *word)
{
    const char *text = json_string_value(json_object_get(event, key));
    return text && strcmp(text, word) == 0;
}

/* Appends the evaluations to out; *counts, a new reference, is what the start says of the training
 * groups. */
static gerne_status parse_log(gerne_ctx *ctx, const char *path, const gn_text *text, json_t *out,
                              json_t **counts)
{
    for (const char *line = text->bytes; line && *line;) {
        const char *end = strchr(line, '\n');
        if (!end)
            return GERNE_OK; /* half a line, of a run that is still going */
        json_t *event;
        GN_TRY(gn_json_parse(ctx, line, (size_t)(end - line), path, &event));
        if (has_word(event, "event", "evaluation") && has_word(event, "stage", "main"))
            json_array_append(out, event);
        if (!*counts && has_word(event, "event", "start"))
            *counts = json_incref(json_object_get(event, "train_counts"));
        json_decref(event);
        line = end + 1;
    }
    return GERNE_OK;
}

static gerne_status read_log(gn_reproduction *r, const char *id, json_t **out, json_t **counts)
{
    const char *path;
    gn_text text = {0};
    *out = json_array();
    *counts = NULL;
    GN_TRY(gn_trial_path(r->ctx, r->arena, r->dir, id, "log.jsonl", &path));
    gerne_status status = gn_file_read(r->ctx, path, LOG_LIMIT, &text);
    if (status == GERNE_OK)
        status = parse_log(r->ctx, path, &text, *out, counts);
    gn_text_free(&text);
    return status;
}

/* As minority_acc: of groups below 1/A of their class in training. */
static bool is_minority(const json_t *counts, const json_t *group)
{
    const json_t *row =
        json_array_get(counts, (size_t)json_integer_value(json_object_get(group, "y")));
    size_t a = (size_t)json_integer_value(json_object_get(group, "a"));
    uint64_t all = 0;
    for (size_t i = 0; i < json_array_size(row); i++)
        all += (uint64_t)json_integer_value(json_array_get(row, i));
    return gn_is_minority((uint64_t)json_integer_value(json_array_get(row, a)), all,
                          (uint32_t)json_array_size(row));
}

static double share_of_minority(const json_t *results, const json_t *counts)
{
    const json_t *test = json_object_get(json_object_get(results, "splits"), "test"), *group;
    double all = 0, minority = 0;
    size_t i;
    json_array_foreach(json_object_get(test, "groups"), i, group)
    {
        double n = (double)json_integer_value(json_object_get(group, "n"));
        all += n;
        minority += is_minority(counts, group) ? n : 0;
    }
    return all > 0 && counts ? minority / all : (double)NAN;
}

/* The ledger keeps results without groups: results.json has them. */
static gerne_status read_share(gn_reproduction *r, const char *id, const json_t *counts,
                               double *out)
{
    const char *path;
    gn_text text = {0};
    json_t *results = NULL;
    GN_TRY(gn_trial_path(r->ctx, r->arena, r->dir, id, "results.json", &path));
    gerne_status status = gn_file_read(r->ctx, path, LOG_LIMIT, &text);
    if (status == GERNE_OK)
        status = gn_json_parse(r->ctx, text.bytes, text.size, path, &results);
    if (status == GERNE_OK)
        *out = share_of_minority(results, counts);
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
        json_t *counts;
        gerne_status status = read_log(r, trial->id, &out->logs[out->count++], &counts);
        if (status == GERNE_OK && isnan(out->minority_share))
            status = read_share(r, trial->id, counts, &out->minority_share);
        json_decref(counts);
        GN_TRY(status);
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
