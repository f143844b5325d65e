#include "tune/limits.h"

#include <math.h>

#include "data/dataset.h"

/* The field behind a key; NULL when the method has no such option. */
static const void *field_of(const gn_run_config *config, const char *key, gn_option_type type)
{
    void *target;
    const gn_option *option = gn_config_find(config->config, key, &target);
    return option && option->type == type ? (const char *)target + option->offset : NULL;
}

double gn_number_of(const gn_run_config *config, const char *key, double fallback)
{
    const double *real = field_of(config, key, GN_REAL);
    const int64_t *whole = field_of(config, key, GN_INT);
    return real ? *real : whole ? (double)*whole : fallback;
}

static gerne_status count_groups(gerne_ctx *ctx, gn_arena *arena, const gn_run_config *base,
                                 gn_limits *out)
{
    gn_dataset *data;
    uint64_t *counts;
    GN_TRY(gn_dataset_open(ctx, &base->data, &data));
    out->classes = data->classes;
    out->attributes = data->attributes ? data->attributes : 1;
    size_t cells = (size_t)out->classes * out->attributes;
    gerne_status status = gn_arena_alloc(ctx, arena, cells, sizeof *counts, &counts);
    if (status == GERNE_OK)
        status = gn_arena_alloc(ctx, arena, cells, sizeof *out->counts, &out->counts);
    if (status == GERNE_OK) {
        gn_dataset_count(data, GN_TRAIN, counts);
        for (size_t i = 0; i < cells; i++)
            out->counts[i] = (int64_t)counts[i];
    }
    gn_dataset_close(data);
    return status;
}

gerne_status gn_limits_of(gerne_ctx *ctx, gn_arena *arena, const gn_run_config *base,
                          gn_limits *out)
{
    const bool *beyond = field_of(base, "method.beyond_bounds", GN_BOOL);
    const int *rounding = field_of(base, "method.t_rounding", GN_CHOICE);
    bool known = base->method_choice.attributes == GN_KNOWN;
    *out = (gn_limits){.c = gn_number_of(base, "method.c", 1),
                       .t = gn_number_of(base, "method.t", (double)NAN),
                       .round_up = rounding && *rounding == 1};
    out->apply = field_of(base, "method.c", GN_REAL) && field_of(base, "method.beta", GN_REAL) &&
                 beyond && !*beyond;
    out->pseudo = !known && base->estimator != NULL;
    GN_TRY(count_groups(ctx, arena, base, out));
    if (!known && !out->pseudo)
        out->apply = false; /* every class is one group */
    return GERNE_OK;
}

/* As methods/gerne.c counts them. */
static gerne_status guessed_groups(gerne_ctx *ctx, const gn_limits *l, double t, gerne_groups **out)
{
    int64_t *counts;
    GN_TRY(gn_alloc(ctx, 2 * (size_t)l->classes, sizeof *counts, "groups", &counts));
    for (uint32_t y = 0; y < l->classes; y++) {
        double n = 0;
        for (uint32_t a = 0; a < l->attributes; a++)
            n += (double)l->counts[(size_t)y * l->attributes + a];
        double hard = fmax(1, l->round_up ? ceil(t * n) : floor(t * n));
        counts[2 * y] = (int64_t)fmin(hard, n);
        counts[2 * y + 1] = (int64_t)n - counts[2 * y];
    }
    gerne_status status = gerne_groups_from_counts(ctx, counts, l->classes, 2, out);
    gn_free(counts);
    return status;
}

static gerne_status groups_of(gerne_ctx *ctx, const gn_limits *l, double t, gerne_groups **out)
{
    if (l->pseudo)
        return guessed_groups(ctx, l, t, out);
    return gerne_groups_from_counts(ctx, l->counts, l->classes, l->attributes, out);
}

gerne_status gn_limits_interval(gerne_ctx *ctx, const gn_limits *limits, double c, double t,
                                gn_interval *out)
{
    gerne_groups *groups;
    gerne_bounds bounds;
    *out = (gn_interval){-INFINITY, INFINITY};
    if (!limits->apply)
        return GERNE_OK;
    GN_TRY(groups_of(ctx, limits, t, &groups));
    gerne_status status = gerne_bounds_of(ctx, groups, c, &bounds);
    if (status == GERNE_OK && bounds.binds)
        *out =
            (gn_interval){bounds.lower, limits->pseudo ? gn_pseudo_cap(groups, c) : bounds.upper};
    gerne_groups_close(groups);
    return status;
}

gerne_status gn_limits_grid(gerne_ctx *ctx, const gn_limits *limits, double c, double t, int steps,
                            gn_beta_list *out)
{
    gerne_groups *groups;
    GN_TRY(groups_of(ctx, limits, t, &groups));
    gerne_status status = gn_beta_grid(ctx, groups, c, steps, out);
    gerne_groups_close(groups);
    return status;
}
