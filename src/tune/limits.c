#include "tune/limits.h"

#include <stdio.h>
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
    out->estimator = known ? NULL : base->estimator;
    if (out->estimator)
        GN_TRY(gn_arena_alloc(ctx, arena, 1, out->estimator->options_size + 1,
                              &out->estimator_options));
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
                                  const gn_dataset *data, gn_limiter *out)
{
    int64_t *counts;
    uint32_t attributes = data->attributes ? data->attributes : 1;
    GN_TRY(count_groups(ctx, arena, data, attributes, &counts));
    return gn_limiter_open(ctx, arena, base, counts, data->classes, attributes, out);
}

void gn_limiter_close(gn_limiter *limiter)
{
    gerne_groups_close(limiter->groups);
    *limiter = (gn_limiter){0};
}

/* The options of the method and of its estimator at a point. */
static gerne_status resolve(gerne_ctx *ctx, const gn_limiter *l, const gn_space *space,
                            const gn_point_value *values)
{
    const gn_run_config *base = l->base;
    memcpy(l->options, base->method_options, base->method->options_size);
    if (l->estimator)
        memcpy(l->estimator_options, base->estimator_options, l->estimator->options_size);
    for (size_t i = 0; i + 1 < space->count; i++) {
        void *target, *copy = NULL;
        const char *text = values[i].text;
        const gn_option *option = gn_config_find(base->config, space->axes[i].key, &target);
        if (target == base->method_options)
            copy = l->options;
        else if (l->estimator && target == base->estimator_options)
            copy = l->estimator_options;
        if (copy)
            GN_TRY(gn_option_parse(ctx, gn_config_arena(base->config), option,
                                   &(gn_setting){.items = &text, .count = 1}, copy));
    }
    return GERNE_OK;
}

gerne_status gn_limits_at(gerne_ctx *ctx, const gn_limiter *limiter, const gn_space *space,
                          const gn_point_value *values, int steps, gn_limits *out)
{
    const gn_method *method = limiter->base->method, *estimator = limiter->estimator;
    gerne_groups *expected = NULL;
    char at[32] = "";
    GN_TRY(resolve(ctx, limiter, space, values));
    gn_run run = {.ctx = ctx,
                  .method = method,
                  .estimator = estimator,
                  .options = limiter->estimator_options,
                  .groups = limiter->groups,
                  .classes = limiter->classes,
                  .known = limiter->base->method_choice.attributes == GN_KNOWN};
    if (estimator && estimator->expect)
        GN_TRY(estimator->expect(&run, at, sizeof at, &expected));
    run.options = limiter->options;
    run.expected = expected;
    gerne_status status = method->limits(&run, steps, out);
    gerne_groups_close(expected);
    if (status == GERNE_OK && at[0]) {
        size_t used = strlen(out->at);
        snprintf(out->at + used, sizeof out->at - used, ", %s", at);
    }
    return status;
}
