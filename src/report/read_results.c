/* read_results.c - results.json: names, selection, and the figures of the splits. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "debias/groups.h"
#include "report/record.h"

enum { RESULTS_LIMIT = 1 << 28, GROUPS_LIMIT = 1 << 20 };

static gerne_status damaged(gn_run_record *run, const char *what)
{
    return gn_fail(run->ctx, GERNE_EDATA, "'%s/results.json' is damaged: %s", run->path, what);
}

static uint64_t whole(const json_t *object, const char *key)
{
    double value = gn_json_real(object, key);
    return value >= 0 && value < 9e15 ? (uint64_t)value : 0;
}

static gerne_status copy_names(gn_run_record *run, const json_t *list, const char ***out,
                               uint32_t *count)
{
    size_t size = json_array_size(list);
    if (size > GROUPS_LIMIT)
        return damaged(run, "too many names");
    *count = (uint32_t)size;
    GN_TRY(gn_arena_alloc(run->ctx, run->arena, size ? size : 1, sizeof **out, out));
    for (size_t i = 0; i < size; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name)
            return damaged(run, "a name is not a string");
        (*out)[i] = name;
    }
    return GERNE_OK;
}

static gerne_status take_counts(gn_run_record *run)
{
    const json_t *matrix = json_object_get(run->start, "train_counts");
    if (json_array_size(matrix) != run->classes || run->classes == 0)
        return GERNE_OK;
    uint64_t *counts;
    GN_TRY(gn_arena_alloc(run->ctx, run->arena, (size_t)run->classes * run->attributes,
                          sizeof *counts, &counts));
    for (uint32_t y = 0; y < run->classes; y++) {
        const json_t *row = json_array_get(matrix, y);
        if (json_array_size(row) != run->attributes)
            return GERNE_OK;
        for (uint32_t a = 0; a < run->attributes; a++) {
            json_int_t n = json_integer_value(json_array_get(row, a));
            counts[(size_t)y * run->attributes + a] = n > 0 ? (uint64_t)n : 0;
        }
    }
    run->train_counts = counts;
    return GERNE_OK;
}

gerne_status gn_read_names(gn_run_record *run)
{
    if (!run->class_names) {
        const json_t *from = run->results ? run->results : run->start;
        GN_TRY(copy_names(run, json_object_get(from, "class_names"), &run->class_names,
                          &run->classes));
        GN_TRY(copy_names(run, json_object_get(from, "attribute_names"), &run->attribute_names,
                          &run->attributes));
        if (run->attributes == 0) { /* unknown: one attribute that all samples have */
            run->attributes = 1;
            run->attribute_names[0] = GN_ALL_SAMPLES;
        }
        if ((uint64_t)run->classes * run->attributes > GROUPS_LIMIT)
            return damaged(run, "too many groups");
    }
    return run->start && !run->train_counts ? take_counts(run) : GERNE_OK;
}

static gerne_status read_group(gn_run_record *run, const json_t *group, gn_split_record *out)
{
    uint64_t y = whole(group, "y"), a = whole(group, "a");
    if (y >= run->classes || a >= run->attributes)
        return damaged(run, "a group is outside the classes and attributes");
    gn_group_record *g = &out->groups[y * run->attributes + a];
    g->n = whole(group, "n");
    g->correct = whole(group, "correct");
    g->acc = gn_json_real(group, "acc");
    gn_json_range(group, "ci95", &g->lo, &g->hi);
    return GERNE_OK;
}

static void read_figures(const json_t *split, gn_split_record *out)
{
    out->n = whole(split, "n");
    out->acc_avg = gn_json_real(split, "acc_avg");
    out->gba = gn_json_real(split, "gba");
    gn_json_range(split, "gba_ci95", &out->gba_lo, &out->gba_hi);
    out->wga = gn_json_real(split, "wga");
    gn_json_range(split, "wga_ci95", &out->wga_lo, &out->wga_hi);
    out->worst_class = gn_json_real(split, "worst_class");
    out->balanced_acc = gn_json_real(split, "balanced_acc");
    out->minority_acc = gn_json_real(split, "minority_acc");
    out->adj_acc_avg = gn_json_real(split, "adj_acc_avg");
    out->auroc = gn_json_real(split, "auroc");
    out->ece = gn_json_real(split, "ece");
}

static gerne_status read_split(gn_run_record *run, const json_t *split, gn_split_record *out)
{
    *out = (gn_split_record){.worst = -1};
    if (!json_is_object(split))
        return GERNE_OK;
    size_t count = (size_t)run->classes * run->attributes, i;
    const json_t *group, *worst = json_object_get(split, "worst_group");
    GN_TRY(
        gn_arena_alloc(run->ctx, run->arena, count ? count : 1, sizeof *out->groups, &out->groups));
    for (size_t g = 0; g < count; g++)
        out->groups[g] = (gn_group_record){.y = (uint32_t)(g / run->attributes),
                                           .a = (uint32_t)(g % run->attributes),
                                           .acc = NAN,
                                           .lo = NAN,
                                           .hi = NAN};
    json_array_foreach(json_object_get(split, "groups"), i, group)
    {
        GN_TRY(read_group(run, group, out));
    }
    read_figures(split, out);
    if (json_is_object(worst) && count) {
        uint64_t id = whole(worst, "y") * run->attributes + whole(worst, "a");
        out->worst = id < count ? (ptrdiff_t)id : -1;
    }
    out->there = out->n > 0;
    return GERNE_OK;
}

static void read_selection(const json_t *selection, gn_selection_record *out)
{
    out->metric = gn_json_text(selection, "metric");
    out->split = gn_json_text(selection, "split");
    out->oracle = json_is_true(json_object_get(selection, "oracle"));
    out->epoch = gn_json_real(selection, "epoch");
    out->step = gn_json_real(selection, "step");
}

static gerne_status read_warnings(gn_run_record *run)
{
    const json_t *text;
    size_t i;
    json_array_foreach(json_object_get(run->results, "warnings"), i, text)
    {
        GN_TRY(gn_take_warning(run, text));
    }
    return GERNE_OK;
}

static gerne_status interpret(gn_run_record *run)
{
    const json_t *r = run->results;
    const json_t *splits = json_object_get(r, "splits"), *last = json_object_get(r, "last");
    const json_t *oracle = json_object_get(json_object_get(r, "oracle"), "splits");
    if (!json_is_object(r) || !json_is_object(splits))
        return damaged(run, "it has no splits");
    GN_TRY(gn_read_names(run));
    if (run->classes == 0)
        return damaged(run, "it names no classes");
    run->method = gn_json_text(r, "method");
    run->fingerprint = gn_json_text(r, "data_fingerprint");
    run->run_hash = gn_json_text(r, "run_hash");
    run->version = gn_json_text(r, "gerne");
    run->seed = json_integer_value(json_object_get(r, "seed"));
    run->threads = json_integer_value(json_object_get(r, "threads"));
    read_selection(json_object_get(r, "selection"), &run->selection);
    GN_TRY(read_warnings(run));
    GN_TRY(read_split(run, json_object_get(splits, "val"), &run->val));
    GN_TRY(read_split(run, json_object_get(splits, "test"), &run->test));
    GN_TRY(read_split(run, json_object_get(last, "val"), &run->last_val));
    GN_TRY(read_split(run, json_object_get(last, "test"), &run->last_test));
    return read_split(run, json_object_get(oracle, "test"), &run->oracle_test);
}

/* Figures that should be there and are not numbers. */
static gerne_status note_missing_figures(gn_run_record *run)
{
    const struct {
        const char *name;
        double value;
    } list[] = {{"the worst group's accuracy", run->test.wga},
                {"the mean accuracy of the groups", run->test.gba},
                {"the average accuracy", run->test.acc_avg}};
    if (!run->test.there)
        return gn_run_note(run,
                           "The test split is empty: there is nothing to evaluate the model on.");
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (!isfinite(list[i].value))
            GN_TRY(gn_run_note(run, "Not a number on the test split: %s (shown as n/a).",
                               list[i].name));
    size_t empty = 0;
    for (size_t g = 0; g < (size_t)run->classes * run->attributes; g++)
        empty += run->test.groups[g].n == 0;
    if (empty)
        return gn_run_note(run, "%zu of %zu groups have no test samples and are ignored.", empty,
                           (size_t)run->classes * run->attributes);
    return GERNE_OK;
}

gerne_status gn_read_results(gn_run_record *run)
{
    const char *path;
    GN_TRY(gn_record_path(run, "results.json", &path));
    if (!gn_path_exists(path))
        return GERNE_OK;
    GN_TRY(gn_json_read(run->ctx, path, RESULTS_LIMIT, &run->results));
    GN_TRY(interpret(run));
    return note_missing_figures(run);
}
