#include "tune/limits.h"

#include <string.h>

#include "data/dataset.h"

gerne_status gn_limiter_open(gerne_ctx *ctx, gn_arena *arena, const gn_run_config *base,
                             const int64_t *counts, uint32_t classes, uint32_t attributes,
                             gn_limiter *out)
{
    bool known = base->method_choice.attributes == GN_KNOWN;
    int64_t *sizes;
    *out =
        (gn_limiter){.base = base, .classes = classes, .attributes = attributes, .counts = counts};
    if (!base->method->limited)
        return GERNE_OK;
    GN_TRY(gn_arena_alloc(ctx, arena, 1, base->method->options_size, &out->options));
    if (known)
        return gerne_groups_from_counts(ctx, counts, classes, attributes, &out->groups);
    GN_TRY(gn_arena_alloc(ctx, arena, classes, sizeof *sizes, &sizes));
    for (size_t i = 0; i < (size_t)classes * attributes; i++)
        sizes[i / attributes] += counts[i];
    return gerne_groups_from_counts(ctx, sizes, classes, 1, &out->groups);
}

static gerne_status count_groups(gerne_ctx *ctx, gn_arena *arena, const gn_dataset *data,
                                 uint32_t attributes, int64_t **out)
{
    size_t cells = (size_t)data->classes * attributes;
    uint64_t *counts;
    GN_TRY(gn_arena_alloc(ctx, arena, cells, sizeof *counts, &counts));
    GN_TRY(gn_arena_alloc(ctx, arena, cells, sizeof **out, out));
    gn_dataset_count(data, GN_TRAIN, counts);
    for (size_t i = 0; i < cells; i++)
        (*out)[i] = (int64_t)counts[i];
    return GERNE_OK;
}

gerne_status gn_limiter_open_data(gerne_ctx *ctx, gn_arena *arena, const gn_run_config *base,
                                  gn_limiter *out)
{
    gn_dataset *data;
    int64_t *counts;
    GN_TRY(gn_dataset_open(ctx, &base->data, &data));
    uint32_t classes = data->classes, attributes = data->attributes ? data->attributes : 1;
    gerne_status status = count_groups(ctx, arena, data, attributes, &counts);
    gn_dataset_close(data);
    GN_TRY(status);
    return gn_limiter_open(ctx, arena, base, counts, classes, attributes, out);
}

void gn_limiter_close(gn_limiter *limiter)
{
    gerne_groups_close(limiter->groups);
    *limiter = (gn_limiter){0};
}

/* The method's options at a point. */
static gerne_status resolve(gerne_ctx *ctx, const gn_limiter *l, const gn_space *space,
                            const gn_point_value *values)
{
    const gn_run_config *base = l->base;
    memcpy(l->options, base->method_options, base->method->options_size);
    for (size_t i = 0; i + 1 < space->count; i++) {
        void *target;
        const char *text = values[i].text;
        const gn_option *option = gn_config_find(base->config, space->axes[i].key, &target);
        if (target == base->method_options)
            GN_TRY(gn_option_parse(ctx, gn_config_arena(base->config), option,
                                   &(gn_setting){.items = &text, .count = 1}, l->options));
    }
    return GERNE_OK;
}

gerne_status gn_limits_at(gerne_ctx *ctx, const gn_limiter *limiter, const gn_space *space,
                          const gn_point_value *values, int steps, gn_limits *out)
{
    const gn_method *method = limiter->base->method;
    GN_TRY(resolve(ctx, limiter, space, values));
    const gn_run run = {.ctx = ctx,
                        .method = method,
                        .options = limiter->options,
                        .groups = limiter->groups,
                        .known = limiter->base->method_choice.attributes == GN_KNOWN};
    return method->limits(&run, steps, out);
}
