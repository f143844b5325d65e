#include "tune/points.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"

enum { VALUE_MAX = 32 };

/* A configuration in the making: a text for each axis. */
typedef struct maker {
    gerne_ctx *ctx;
    gn_arena *arena;
    const gn_points_request *request;
    char values[GN_AXES_MAX][VALUE_MAX];
    gn_points *out;
} maker;

void gn_points_free(gn_points *points)
{
    for (size_t i = 0; i < points->count; i++)
        gn_settings_free(&points->items[i]);
    gn_free(points->items);
    *points = (gn_points){0};
}

static bool is_same(const maker *m, const gn_settings *point)
{
    for (size_t i = 0; i < point->count; i++)
        if (strcmp(point->list[i].items[0], m->values[i]) != 0)
            return false;
    return true;
}

static gerne_status add_point(maker *m)
{
    const gn_space *space = m->request->space;
    gn_points *out = m->out;
    for (size_t i = 0; i < out->count; i++)
        if (is_same(m, &out->items[i]))
            return GERNE_OK;
    if (out->count == GN_POINTS_MAX) {
        gn_fail(m->ctx, GERNE_EUSAGE, "the grid has more than %d configurations", GN_POINTS_MAX);
        gn_hint(m->ctx, "search at random: --tune.strategy random --tune.trials 50");
        return GERNE_EUSAGE;
    }
    GN_TRY(gn_grow(m->ctx, &out->items, &out->capacity, out->count + 1, sizeof *out->items,
                   "configurations"));
    gn_settings *point = &out->items[out->count++];
    *point = (gn_settings){.arena = m->arena};
    for (size_t i = 0; i < space->count; i++) {
        const char *value = m->values[i];
        GN_TRY(gn_settings_add(m->ctx, point, space->axes[i].key, &value, 1, false, 0));
    }
    return GERNE_OK;
}

/* ---- the bounds of the present c and t ---- */

static double value_of(const maker *m, const char *key, double fallback)
{
    const gn_space *space = m->request->space;
    double value;
    for (size_t i = 0; i < space->count; i++)
        if (strcmp(space->axes[i].key, key) == 0 && gn_parse_double(m->values[i], &value))
            return value;
    return fallback;
}

static double present_c(const maker *m)
{
    return value_of(m, "method.c", m->request->limits->c);
}

static double present_t(const maker *m)
{
    return value_of(m, "method.t", m->request->limits->t);
}

static gerne_status interval_of(const maker *m, gn_interval *out)
{
    return gn_limits_interval(m->ctx, m->request->limits, present_c(m), present_t(m), out);
}

/* The last axis has its value; whether method.beta may have its own. */
static gerne_status check_beta(maker *m, bool *allowed)
{
    gn_interval interval;
    double beta = value_of(m, "method.beta", (double)NAN);
    *allowed = true;
    if (isnan(beta) || !m->request->limits->apply)
        return GERNE_OK;
    GN_TRY(interval_of(m, &interval));
    double slack = 1e-9 * (1 + fabs(beta));
    *allowed = beta >= interval.lo - slack && beta <= interval.hi + slack;
    if (*allowed)
        return GERNE_OK;
    char t[48] = "";
    if (m->request->limits->pseudo)
        snprintf(t, sizeof t, ", t = %g", present_t(m));
    if (m->out->dropped++ == 0)
        snprintf(m->out->example, sizeof m->out->example,
                 "beta %g is outside [%.4g, %.4g] at c = %g%s", beta, interval.lo, interval.hi,
                 present_c(m), t);
    return GERNE_OK;
}

/* ---- grid ---- */

static gerne_status descend(maker *m, size_t depth);

static gerne_status take(maker *m, size_t depth, const char *value)
{
    snprintf(m->values[depth], VALUE_MAX, "%s", value);
    return descend(m, depth + 1);
}

static gerne_status take_beta_grid(maker *m, size_t depth)
{
    gn_beta_list list;
    char text[VALUE_MAX];
    GN_TRY(gn_limits_grid(m->ctx, m->request->limits, present_c(m), present_t(m),
                          m->request->beta_steps, &list));
    for (size_t i = 0; i < list.count; i++) {
        snprintf(text, sizeof text, "%.4g", list.items[i]);
        GN_TRY(take(m, depth, text));
    }
    return GERNE_OK;
}

static gerne_status descend(maker *m, size_t depth)
{
    const gn_space *space = m->request->space;
    char text[VALUE_MAX];
    if (depth == space->count) {
        bool allowed;
        GN_TRY(check_beta(m, &allowed));
        return allowed ? add_point(m) : GERNE_OK;
    }
    const gn_search_axis *axis = &space->axes[depth];
    for (size_t i = 0; axis->kind == GN_AXIS_LIST && i < axis->count; i++)
        GN_TRY(take(m, depth, axis->values[i]));
    for (int i = 0; axis->kind == GN_AXIS_RANGE && i < axis->points; i++) {
        gn_range_text(axis, (double)i / (axis->points - 1), text);
        GN_TRY(take(m, depth, text));
    }
    return axis->kind == GN_AXIS_BETA ? take_beta_grid(m, depth) : GERNE_OK;
}

gerne_status gn_points_grid(gerne_ctx *ctx, gn_arena *arena, const gn_points_request *request,
                            gn_points *out)
{
    maker m = {.ctx = ctx, .arena = arena, .request = request, .out = out};
    *out = (gn_points){0};
    return descend(&m, 0);
}

/* ---- random ---- */

/* The part of an axis for method.beta that the bounds leave; from no extrapolation on where beta is
 * ours to choose, and off the upper bound itself, where a group's share is zero. */
static gerne_status cut(const maker *m, const gn_search_axis *axis, gn_search_axis *out)
{
    gn_interval interval;
    *out = *axis;
    GN_TRY(interval_of(m, &interval));
    if (axis->kind == GN_AXIS_BETA) {
        out->kind = GN_AXIS_RANGE;
        out->lo = 0;
        out->hi = isinf(interval.hi) ? 1 : 0.99 * interval.hi;
    }
    out->lo = fmax(out->lo, interval.lo);
    out->hi = fmin(out->hi, interval.hi);
    return GERNE_OK;
}

/* Four digits may round beyond the bound; one unit of the last digit less does not. */
static void keep_below(double limit, char text[VALUE_MAX])
{
    double value;
    if (gn_parse_double(text, &value) && value > limit)
        snprintf(text, VALUE_MAX, "%.4g", limit - 1e-3 * fmax(fabs(limit), 1e-3));
}

static gerne_status draw(maker *m, size_t depth, gn_stream *stream)
{
    const gn_search_axis *axis = &m->request->space->axes[depth];
    gn_search_axis range = *axis;
    if (axis->kind == GN_AXIS_LIST) {
        snprintf(m->values[depth], VALUE_MAX, "%s",
                 axis->values[gn_random_below(stream, axis->count)]);
        return GERNE_OK;
    }
    bool beta = strcmp(axis->key, "method.beta") == 0;
    if (beta)
        GN_TRY(cut(m, axis, &range));
    gn_range_text(&range, gn_random_uniform(stream), m->values[depth]);
    if (beta)
        keep_below(range.hi, m->values[depth]);
    return GERNE_OK;
}

gerne_status gn_points_random(gerne_ctx *ctx, gn_arena *arena, const gn_points_request *request,
                              gn_points *out)
{
    maker m = {.ctx = ctx, .arena = arena, .request = request, .out = out};
    *out = (gn_points){0};
    for (size_t i = 0; i < request->count; i++) {
        bool allowed;
        for (size_t j = 0; j < request->space->count; j++) {
            gn_stream stream = gn_stream_at(request->seed, GN_RNG_SEARCH, i, j);
            GN_TRY(draw(&m, j, &stream));
        }
        GN_TRY(check_beta(&m, &allowed));
        if (allowed)
            GN_TRY(add_point(&m));
    }
    return GERNE_OK;
}
