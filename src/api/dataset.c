/* dataset.c - gerne_dataset: arrays of the caller, or what a configuration describes. */
#include <string.h>

#include "api/api.h"
#include "api/handles.h"
#include "api/labels.h"
#include "data/arrays.h"

static gerne_status new_dataset(gerne_ctx *ctx, gerne_dataset **out)
{
    gerne_dataset *dataset;
    GN_TRY(gn_alloc(ctx, 1, sizeof *dataset, "a dataset", &dataset));
    gerne_status status = gn_arena_new(ctx, &dataset->arena);
    dataset->keys.arena = dataset->arena;
    if (status != GERNE_OK)
        gn_free(dataset);
    else
        *out = dataset;
    return status;
}

void gerne_dataset_close(gerne_dataset *dataset)
{
    if (!dataset)
        return;
    gn_dataset_close(dataset->labels);
    gn_settings_free(&dataset->keys);
    gn_config_close(dataset->config);
    gn_arena_close(dataset->arena);
    gn_free(dataset);
}

static gerne_status open_labels(gerne_ctx *ctx, gerne_dataset *dataset)
{
    GN_TRY(gn_dataset_open(ctx, &dataset->options, &dataset->labels));
    const gn_dataset *labels = dataset->labels;
    for (size_t i = 0; i < labels->n; i++)
        dataset->counts[labels->split[i]]++;
    dataset->counts[GN_SPLITS] = labels->n;
    dataset->name = labels->format;
    return GERNE_OK;
}

static gerne_status fill_from_arrays(gerne_ctx *ctx, const gerne_arrays *arrays, gerne_dataset *d)
{
    gn_data_format format;
    GN_TRY(gn_take_struct(ctx, "gerne_arrays", arrays, &d->arrays, sizeof d->arrays));
    GN_TRY(gn_arrays_format(ctx, &d->arrays, &format));
    GN_TRY(gn_data_options_default(ctx, &d->options));
    d->options.format = (int)format;
    d->options.arrays = &d->arrays;
    const char *word = gn_data_format_name((int)format);
    const gn_setting setting = {.key = "data.format", .items = &word, .count = 1};
    GN_TRY(gn_settings_put(ctx, &d->keys, &setting));
    return open_labels(ctx, d);
}

/* A dataset that was filled is the caller's, one that was not is closed. */
static gerne_status give(gerne_status status, gerne_dataset *dataset, gerne_dataset **out)
{
    if (status != GERNE_OK)
        gerne_dataset_close(dataset);
    else
        *out = dataset;
    return status;
}

gerne_status gerne_dataset_from_arrays(gerne_ctx *ctx, const gerne_arrays *arrays,
                                       gerne_dataset **out)
{
    gerne_dataset *dataset;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_NEEDS(ctx, arrays);
    GN_TRY(new_dataset(ctx, &dataset));
    return give(fill_from_arrays(ctx, arrays, dataset), dataset, out);
}

static gerne_status fill_from_config(gerne_ctx *ctx, const gerne_config *config, gerne_dataset *d)
{
    GN_TRY(gn_config_new(ctx, &d->config));
    GN_TRY(gn_data_options_add(ctx, d->config, &d->options));
    GN_TRY(gn_config_pick(ctx, config, "data.", &d->keys));
    GN_TRY(gn_config_apply(ctx, d->config, &d->keys));
    GN_TRY(gn_config_complete(ctx, d->config));
    return open_labels(ctx, d);
}

gerne_status gerne_dataset_open(gerne_ctx *ctx, const gerne_config *config, gerne_dataset **out)
{
    gerne_dataset *dataset;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_NEEDS(ctx, config);
    GN_TRY(new_dataset(ctx, &dataset));
    return give(fill_from_config(ctx, config, dataset), dataset, out);
}

/* ---- reading ---- */

gerne_status gn_take_split(gerne_ctx *ctx, gerne_split split, gn_split *out)
{
    if ((int)split < 0 || split > GERNE_ALL)
        return gn_fail(ctx, GERNE_EUSAGE, "split %d is not GERNE_TRAIN, _VAL, _TEST or _ALL",
                       (int)split);
    *out = (gn_split)split;
    return GERNE_OK;
}

size_t gerne_dataset_count(const gerne_dataset *dataset, gerne_split split)
{
    return dataset && (int)split >= 0 && split <= GERNE_ALL ? dataset->counts[split] : 0;
}

uint32_t gerne_dataset_classes(const gerne_dataset *dataset)
{
    return dataset ? dataset->labels->classes : 0;
}

uint32_t gerne_dataset_attributes(const gerne_dataset *dataset)
{
    return dataset ? dataset->labels->attributes : 0;
}

const char *gerne_dataset_class_name(const gerne_dataset *dataset, uint32_t y)
{
    return y < gerne_dataset_classes(dataset) ? dataset->labels->class_names[y] : NULL;
}

const char *gerne_dataset_attribute_name(const gerne_dataset *dataset, uint32_t a)
{
    return a < gerne_dataset_attributes(dataset) ? dataset->labels->attribute_names[a] : NULL;
}

const int32_t *gerne_dataset_y(const gerne_dataset *dataset)
{
    return dataset ? dataset->labels->y : NULL;
}

const int32_t *gerne_dataset_a(const gerne_dataset *dataset)
{
    return dataset ? dataset->labels->a : NULL;
}

const uint8_t *gerne_dataset_split(const gerne_dataset *dataset)
{
    return dataset ? dataset->labels->split : NULL;
}

gerne_status gerne_dataset_groups(gerne_ctx *ctx, const gerne_dataset *dataset, gerne_split split,
                                  gerne_groups **out)
{
    gn_split which;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_NEEDS(ctx, dataset);
    GN_TRY(gn_take_split(ctx, split, &which));
    return gn_dataset_groups(ctx, dataset->labels, which, out);
}

gerne_status gerne_dataset_set_name(gerne_ctx *ctx, gerne_dataset *dataset, const char *name)
{
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, dataset);
    GN_NEEDS(ctx, name);
    return gn_arena_copy_text(ctx, dataset->arena, name, &dataset->name);
}

gerne_status gerne_dataset_audit(gerne_ctx *ctx, const gerne_dataset *dataset, gerne_split split,
                                 gerne_form form, char **out)
{
    gn_split which;
    gn_label_table table;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_NEEDS(ctx, dataset);
    GN_TRY(gn_take_split(ctx, split, &which));
    GN_TRY(gn_check_form(ctx, form));
    gerne_status status = gn_label_table_of(ctx, dataset->labels, which, &table);
    if (status == GERNE_OK)
        status = gn_give_label_report(ctx, &table, dataset->name, form, out);
    gn_label_table_free(&table);
    return status;
}
