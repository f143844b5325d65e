#include "train/found.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "debias/groups.h"
#include "ranks/ranks.h"

/* As blocks of the file, and in words. */
static const char *const cell_names[GN_CELLS_KINDS] = {
    [GN_CELLS_INFERRED] = "inferred", [GN_CELLS_BIASED] = "biased"};
static const char *const cell_words[GN_CELLS_KINDS] = {
    [GN_CELLS_INFERRED] = "groups", [GN_CELLS_BIASED] = "predictions of a biased model"};

enum { ATTRIBUTES_MAX = 100000 };

/* ---- out ---- */

static json_t *head_of(const gn_trainer *t)
{
    const gerne_groups *groups = t->input.groups;
    json_t *names = json_array(), *cells = json_object(), *counts = json_array();
    for (size_t g = 0; g < (size_t)groups->classes * groups->attributes; g++)
        json_array_append_new(counts, json_integer((json_int_t)gerne_groups_count(
                                          groups, (uint32_t)(g / groups->attributes),
                                          (uint32_t)(g % groups->attributes))));
    for (uint32_t a = 0; a < groups->attributes; a++)
        json_array_append_new(names, json_string(groups->attribute_names[a]));
    for (int kind = 0; kind < GN_CELLS_KINDS; kind++)
        if (t->input.val_cells[kind].values)
            json_object_set_new(cells, cell_names[kind],
                                json_integer(t->input.val_cells[kind].count));
    return json_pack("{s:s,s:s,s:s,s:o,s:o,s:o}", "gerne", gerne_version(), "samples",
                     t->input.samples_digest, "estimator", t->run.estimator->name, "attributes",
                     names, "counts", counts, "cells", cells);
}

gerne_status gn_found_write(gn_trainer *t)
{
    gerne_ctx *ctx = t->run.ctx;
    const gn_grouping *found = &t->input.found;
    size_t n = t->input.samples[GN_TRAIN].count;
    gn_checkpoint_blocks blocks = {0};
    const char *path;
    GN_TRY(gn_path_of(t, GN_FOUND_FILE, &path));
    if (!gn_ranks_first(ctx) || gn_path_exists(path))
        return GERNE_OK;
    GN_TRY(gn_checkpoint_add(ctx, &blocks, "groups", t->input.a, n * sizeof *t->input.a));
    GN_TRY(gn_checkpoint_add(ctx, &blocks, "minority", found->minority,
                             found->attributes * sizeof *found->minority));
    GN_TRY(gn_checkpoint_add(ctx, &blocks, "membership", t->run.membership,
                             n * found->attributes * sizeof(float)));
    for (int kind = 0; kind < GN_CELLS_KINDS; kind++)
        GN_TRY(gn_checkpoint_add(ctx, &blocks, cell_names[kind], t->input.val_cells[kind].values,
                                 t->input.samples[GN_VAL].count * sizeof(int32_t)));
    return gn_checkpoint_write(ctx, path, &blocks, head_of(t));
}

/* ---- in ---- */

static gerne_status damaged(gerne_ctx *ctx, const char *path)
{
    return gn_fail(ctx, GERNE_EDATA, "%s: the file is damaged", path);
}

gerne_status gn_found_path(gerne_ctx *ctx, gn_arena *arena, const char *directory, const char **out)
{
    GN_TRY(gn_path_join(ctx, arena, directory, GN_FOUND_FILE, out));
    if (gn_path_exists(*out))
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "'%s' has no groups that an estimator has found (%s)", directory,
            GN_FOUND_FILE);
    gn_hint(ctx, "name a run with --method.attributes unknown and an estimator; a run that is "
                 "resumed needs the one that it was started with");
    return GERNE_EUSAGE;
}

static gerne_status open_file(gerne_ctx *ctx, const char *path, gn_checkpoint **out)
{
    GN_TRY(gn_checkpoint_open(ctx, path, out));
    const json_t *head = gn_checkpoint_head(*out);
    const json_t *names = json_object_get(head, "attributes");
    size_t count = json_array_size(names);
    bool whole =
        count > 0 && count <= ATTRIBUTES_MAX && json_is_string(json_object_get(head, "samples"));
    for (size_t a = 0; a < count; a++)
        whole = whole && json_is_string(json_array_get(names, a));
    return whole ? GERNE_OK : damaged(ctx, path);
}

typedef struct reader {
    gn_trainer *t;
    const char *directory, *path;
    gn_checkpoint *file;
    gn_found_groups *out;
} reader;

/* Groups belong to samples by their places. */
static gerne_status compare_samples(const reader *r)
{
    const json_t *samples = json_object_get(gn_checkpoint_head(r->file), "samples");
    if (strcmp(json_string_value(samples), r->t->input.samples_digest) == 0)
        return GERNE_OK;
    gn_fail(r->t->run.ctx, GERNE_EUSAGE, "the groups of '%s' were found in other samples",
            r->directory);
    gn_hint(r->t->run.ctx, "use the data, splits and --repair of that run; augmentation, "
                           "normalisation and what is known of attributes may differ");
    return GERNE_EUSAGE;
}

static gerne_status take_block(const reader *r, const char *name, size_t count, size_t size,
                               void *out)
{
    gerne_ctx *ctx = r->t->run.ctx;
    void *bytes;
    bool found;
    GN_TRY(gn_arena_alloc(ctx, r->t->arena, count + 1, size, &bytes));
    if (gn_checkpoint_take(r->file, name, bytes, count * size, &found) != GERNE_OK)
        return damaged(ctx, r->path);
    *(void **)out = found ? bytes : NULL;
    return GERNE_OK;
}

static gerne_status take_minority(const reader *r, gn_grouping *grouping)
{
    uint8_t *bytes;
    bool *minority;
    GN_TRY(take_block(r, "minority", grouping->attributes, sizeof *bytes, &bytes));
    if (!bytes)
        return GERNE_OK;
    GN_TRY(gn_arena_alloc(r->t->run.ctx, r->t->arena, grouping->attributes, sizeof *minority,
                          &minority));
    for (uint32_t a = 0; a < grouping->attributes; a++)
        minority[a] = bytes[a] != 0;
    grouping->minority = minority;
    return GERNE_OK;
}

static gerne_status take_membership(const reader *r, gn_grouping *grouping)
{
    size_t count = r->t->input.samples[GN_TRAIN].count * grouping->attributes;
    float *values;
    GN_TRY(take_block(r, "membership", count, sizeof *values, &values));
    for (size_t i = 0; values && i < count; i++)
        if (!(values[i] >= 0 && values[i] <= 1))
            return damaged(r->t->run.ctx, r->path);
    grouping->membership = values;
    return GERNE_OK;
}

static gerne_status check_below(const reader *r, const int32_t *values, size_t n, int64_t limit)
{
    for (size_t i = 0; i < n; i++)
        if (values[i] < 0 || values[i] >= limit)
            return damaged(r->t->run.ctx, r->path);
    return GERNE_OK;
}

static gerne_status take_names(const reader *r, gn_grouping *grouping)
{
    const json_t *names = json_object_get(gn_checkpoint_head(r->file), "attributes");
    size_t count = json_array_size(names);
    const char **copies;
    GN_TRY(gn_arena_alloc(r->t->run.ctx, r->t->arena, count, sizeof *copies, &copies));
    for (size_t a = 0; a < count; a++)
        GN_TRY(gn_arena_copy_text(r->t->run.ctx, r->t->arena,
                                  json_string_value(json_array_get(names, a)), &copies[a]));
    grouping->names = copies;
    grouping->attributes = (uint32_t)count;
    return GERNE_OK;
}

static gerne_status take_groups(const reader *r)
{
    gn_grouping *grouping = &r->out->grouping;
    size_t n = r->t->input.samples[GN_TRAIN].count;
    int32_t *a;
    GN_TRY(take_names(r, grouping));
    GN_TRY(take_block(r, "groups", n, sizeof *a, &a));
    GN_TRY(take_minority(r, grouping));
    GN_TRY(take_membership(r, grouping));
    if (!a)
        return damaged(r->t->run.ctx, r->path);
    grouping->a = a;
    return check_below(r, a, n, grouping->attributes);
}

static gerne_status take_cells(const reader *r, gn_val_cells kind)
{
    const json_t *counts = json_object_get(gn_checkpoint_head(r->file), "cells");
    json_int_t count = json_integer_value(json_object_get(counts, cell_names[kind]));
    size_t n = r->t->input.samples[GN_VAL].count;
    int32_t *values;
    GN_TRY(take_block(r, cell_names[kind], n, sizeof *values, &values));
    if (!values)
        return GERNE_OK;
    if (count < 1 || count > ATTRIBUTES_MAX)
        return damaged(r->t->run.ctx, r->path);
    GN_TRY(check_below(r, values, n, count));
    r->out->cells[kind] = values;
    r->out->cell_counts[kind] = (uint32_t)count;
    return GERNE_OK;
}

/* What selects the checkpoint has to be among it. */
static gerne_status check_metric(const reader *r)
{
    gerne_ctx *ctx = r->t->run.ctx;
    gn_val_cells kind;
    if (!gn_metric_of_cells(r->t->config->select.metric, &kind) || r->out->cells[kind])
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "select.metric: '%s' has no %s for the validation split",
            r->directory, cell_words[kind]);
    gn_hint(ctx, "use --select.metric worst_class, or a run with another estimator");
    return GERNE_EUSAGE;
}

static gerne_status read_all(reader *r)
{
    gerne_ctx *ctx = r->t->run.ctx;
    unsigned char digest[GN_SHA256_SIZE];
    GN_TRY(gn_found_path(ctx, r->t->arena, r->directory, &r->path));
    GN_TRY(gn_sha256_file(ctx, r->path, digest));
    gn_sha256_hex(digest, r->t->input.elsewhere_digest);
    GN_TRY(open_file(ctx, r->path, &r->file));
    GN_TRY(compare_samples(r));
    GN_TRY(take_groups(r));
    for (int kind = 0; kind < GN_CELLS_KINDS; kind++)
        GN_TRY(take_cells(r, (gn_val_cells)kind));
    return check_metric(r);
}

gerne_status gn_run_found_elsewhere(gn_run *run, const char *directory, const gn_found_groups **out)
{
    gn_trainer *t = (gn_trainer *)run;
    *out = t->input.elsewhere;
    if (*out)
        return GERNE_OK;
    gn_found_groups *found;
    GN_TRY(gn_arena_alloc(run->ctx, t->arena, 1, sizeof *found, &found));
    reader r = {.t = t, .directory = directory, .out = found};
    gerne_status status = read_all(&r);
    gn_checkpoint_close(r.file);
    GN_TRY(status);
    *out = t->input.elsewhere = found;
    return GERNE_OK;
}

/* ---- the sizes alone ---- */

static gerne_status sizes_of(gerne_ctx *ctx, const char *path, const json_t *head, uint32_t classes,
                             gerne_groups **out)
{
    const json_t *counts = json_object_get(head, "counts");
    uint32_t attributes = (uint32_t)json_array_size(json_object_get(head, "attributes"));
    size_t groups = (size_t)classes * attributes;
    GN_FREED int64_t *values = NULL;
    if (json_array_size(counts) != groups)
        return damaged(ctx, path);
    GN_TRY(gn_alloc(ctx, groups, sizeof *values, "the sizes of groups", &values));
    for (size_t g = 0; g < groups; g++)
        values[g] = json_integer_value(json_array_get(counts, g));
    return gerne_groups_from_counts(ctx, values, classes, attributes, out);
}

gerne_status gn_found_sizes(gerne_ctx *ctx, const char *directory, uint32_t classes,
                            gerne_groups **out)
{
    GN_LOCAL(gn_arena) *arena = NULL;
    GN_LOCAL(gn_checkpoint) *file = NULL;
    const char *path;
    *out = NULL;
    GN_TRY(gn_arena_new(ctx, &arena));
    GN_TRY(gn_found_path(ctx, arena, directory, &path));
    GN_TRY(open_file(ctx, path, &file));
    return sizes_of(ctx, path, gn_checkpoint_head(file), classes, out);
}

/* ---- what a study has to have in common ---- */

static gerne_status add_digest(gerne_ctx *ctx, const char *what, const char *path, gn_text *out)
{
    unsigned char digest[GN_SHA256_SIZE];
    char hex[GN_SHA256_HEX];
    GN_TRY(gn_sha256_file(ctx, path, digest));
    gn_sha256_hex(digest, hex);
    return gn_text_add(ctx, out, "%s: %s\n", what, hex);
}

static const char *other_run_of(const gn_run_config *config)
{
    char key[64];
    void *target;
    if (config->method_choice.attributes == GN_KNOWN || !config->estimator ||
        !config->estimator->reads)
        return NULL;
    snprintf(key, sizeof key, "method.%s", config->estimator->reads);
    const gn_option *option = gn_config_find(config->config, key, &target);
    return option ? *(const char *const *)((const char *)target + option->offset) : NULL;
}

gerne_status gn_describe_inputs(gerne_ctx *ctx, const gn_run_config *config, gn_text *out)
{
    GN_LOCAL(gn_arena) *arena = NULL;
    const char *directory = other_run_of(config), *path;
    if (config->model.weights)
        GN_TRY(add_digest(ctx, "digest of model.weights", config->model.weights, out));
    if (!directory)
        return GERNE_OK;
    GN_TRY(gn_arena_new(ctx, &arena));
    GN_TRY(gn_found_path(ctx, arena, directory, &path));
    return add_digest(ctx, "digest of the other run's groups", path, out);
}
