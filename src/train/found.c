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
    json_t *names = json_array(), *cells = json_object();
    for (uint32_t a = 0; a < groups->attributes; a++)
        json_array_append_new(names, json_string(groups->attribute_names[a]));
    for (int kind = 0; kind < GN_CELLS_KINDS; kind++)
        if (t->input.val_cells[kind].values)
            json_object_set_new(cells, cell_names[kind],
                                json_integer(t->input.val_cells[kind].count));
    return json_pack("{s:s,s:s,s:s,s:I,s:I,s:o,s:o}", "gerne", gerne_version(), "data_fingerprint",
                     t->input.fingerprint, "estimator", t->run.estimator->name, "training",
                     (json_int_t)t->input.samples[GN_TRAIN].count, "validation",
                     (json_int_t)t->input.samples[GN_VAL].count, "attributes", names, "cells",
                     cells);
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

typedef struct reader {
    gn_trainer *t;
    const char *directory;
    gn_checkpoint *file;
    gn_found_groups *out;
} reader;

static gerne_status open_file(reader *r)
{
    gerne_ctx *ctx = r->t->run.ctx;
    unsigned char digest[GN_SHA256_SIZE];
    const char *path;
    GN_TRY(gn_path_join(ctx, r->t->arena, r->directory, GN_FOUND_FILE, &path));
    if (gn_path_exists(path)) {
        GN_TRY(gn_sha256_file(ctx, path, digest));
        gn_sha256_hex(digest, r->t->input.elsewhere_digest);
        return gn_checkpoint_open(ctx, path, &r->file);
    }
    gn_fail(ctx, GERNE_EUSAGE, "'%s' has no groups that an estimator has found (%s)", r->directory,
            GN_FOUND_FILE);
    gn_hint(ctx, "name a run with --method.attributes unknown and an estimator");
    return GERNE_EUSAGE;
}

static json_int_t number(const reader *r, const char *key)
{
    return json_integer_value(json_object_get(gn_checkpoint_head(r->file), key));
}

/* Groups belong to samples by their order: the data must be the same, and split alike. */
static gerne_status compare_data(const reader *r)
{
    const gn_run_input *input = &r->t->input;
    const char *data =
        json_string_value(json_object_get(gn_checkpoint_head(r->file), "data_fingerprint"));
    if (data && strcmp(data, input->fingerprint) == 0 &&
        number(r, "training") == (json_int_t)input->samples[GN_TRAIN].count &&
        number(r, "validation") == (json_int_t)input->samples[GN_VAL].count)
        return GERNE_OK;
    gn_fail(r->t->run.ctx, GERNE_EUSAGE, "the groups of '%s' were found in other data",
            r->directory);
    gn_hint(r->t->run.ctx, "use the same section data (and --repair) as in that run");
    return GERNE_EUSAGE;
}

static gerne_status damaged(const reader *r)
{
    return gn_fail(r->t->run.ctx, GERNE_EDATA, "%s/%s: the file is damaged", r->directory,
                   GN_FOUND_FILE);
}

static gerne_status take_block(const reader *r, const char *name, size_t count, size_t size,
                               void *out)
{
    void *bytes;
    bool found;
    GN_TRY(gn_arena_alloc(r->t->run.ctx, r->t->arena, count + 1, size, &bytes));
    GN_TRY(gn_checkpoint_take(r->file, name, bytes, count * size, &found));
    *(void **)out = found ? bytes : NULL;
    return GERNE_OK;
}

/* Which attributes stand for the minority, where that is not a matter of their shares. */
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

static gerne_status check_below(const reader *r, const int32_t *values, size_t n, int64_t limit)
{
    for (size_t i = 0; i < n; i++)
        if (values[i] < 0 || values[i] >= limit)
            return damaged(r);
    return GERNE_OK;
}

static gerne_status take_names(const reader *r, gn_grouping *grouping)
{
    const json_t *names = json_object_get(gn_checkpoint_head(r->file), "attributes");
    size_t count = json_array_size(names);
    const char **copies;
    if (count < 1 || count > ATTRIBUTES_MAX)
        return damaged(r);
    GN_TRY(gn_arena_alloc(r->t->run.ctx, r->t->arena, count, sizeof *copies, &copies));
    for (size_t a = 0; a < count; a++) {
        const char *name = json_string_value(json_array_get(names, a));
        GN_TRY(gn_arena_copy_text(r->t->run.ctx, r->t->arena, name ? name : "", &copies[a]));
    }
    grouping->names = copies;
    grouping->attributes = (uint32_t)count;
    return GERNE_OK;
}

static gerne_status take_groups(const reader *r)
{
    gn_grouping *grouping = &r->out->grouping;
    size_t n = r->t->input.samples[GN_TRAIN].count;
    GN_TRY(take_names(r, grouping));
    GN_TRY(take_block(r, "groups", n, sizeof(int32_t), &grouping->a));
    GN_TRY(take_minority(r, grouping));
    GN_TRY(take_block(r, "membership", n * grouping->attributes, sizeof(float),
                      &grouping->membership));
    if (!grouping->a)
        return damaged(r);
    return check_below(r, grouping->a, n, grouping->attributes);
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
        return damaged(r);
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
    GN_TRY(open_file(r));
    GN_TRY(compare_data(r));
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
