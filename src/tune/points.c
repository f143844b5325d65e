#include "tune/points.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"

/* A configuration in the making: a text for each axis. */
typedef struct maker {
    gerne_ctx *ctx;
    gn_arena *arena;
    const gn_points_request *request;
    gn_point_value values[GN_AXES_MAX];
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
        if (strcmp(point->list[i].items[0], m->values[i].text) != 0)
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
        const char *value = m->values[i].text;
        GN_TRY(gn_settings_add(m->ctx, point, space->axes[i].key, &value, 1, false, 0));
    }
    return GERNE_OK;
}

/* ---- limits ---- */

static gerne_status limits_of(const maker *m, gn_limits *out)
{
    return gn_limits_at(m->ctx, m->request->limiter, m->request->space, m->values,
                        m->request->steps, out);
}

/* Every axis has its value; whether the limited one may have its own. */
static gerne_status check_limits(maker *m, bool *allowed)
{
    const gn_space *space = m->request->space;
    gn_limits limits;
    double value;
    *allowed = true;
    if (!space->limited || !gn_parse_double(m->values[space->count - 1].text, &value))
        return GERNE_OK;
    GN_TRY(limits_of(m, &limits));
    double slack = 1e-9 * (1 + fabs(value));
    *allowed = value >= limits.allowed.lo - slack && value <= limits.allowed.hi + slack;
    if (!*allowed && m->out->dropped++ == 0)
        snprintf(m->out->example, sizeof m->out->example, "%s %g is outside [%.4g, %.4g] at %s",
                 m->request->limiter->base->method->limited, value, limits.allowed.lo,
                 limits.allowed.hi, limits.at);
    return GERNE_OK;
}

/* ---- grid ---- */

static gerne_status descend(maker *m, size_t depth);

static gerne_status take(maker *m, size_t depth, const char *value)
{
    snprintf(m->values[depth].text, sizeof m->values[depth].text, "%s", value);
    return descend(m, depth + 1);
}

static gerne_status take_limits(maker *m, size_t depth)
{
    gn_limits limits;
    gn_point_value value;
    GN_TRY(limits_of(m, &limits));
    for (size_t i = 0; i < limits.count; i++) {
        snprintf(value.text, sizeof value.text, "%.4g", limits.values[i]);
        GN_TRY(take(m, depth, value.text));
    }
    return GERNE_OK;
}

static gerne_status descend(maker *m, size_t depth)
{
    const gn_space *space = m->request->space;
    if (depth == space->count) {
        bool allowed;
        GN_TRY(check_limits(m, &allowed));
        return allowed ? add_point(m) : GERNE_OK;
    }
    const gn_search_axis *axis = &space->axes[depth];
    for (size_t i = 0; axis->kind == GN_AXIS_LIST && i < axis->count; i++)
        GN_TRY(take(m, depth, axis->values[i]));
    for (int i = 0; axis->kind == GN_AXIS_RANGE && i < axis->points; i++)
        GN_TRY(take(m, depth, gn_range_value(axis, (double)i / (axis->points - 1)).text));
    return axis->kind == GN_AXIS_LIMITS ? take_limits(m, depth) : GERNE_OK;
}

gerne_status gn_points_grid(gerne_ctx *ctx, gn_arena *arena, const gn_points_request *request,
                            gn_points *out)
{
    maker m = {.ctx = ctx, .arena = arena, .request = request, .out = out};
    *out = (gn_points){0};
    return descend(&m, 0);
}

/* ---- random ---- */

/* The part of the limited axis that its limits leave. */
static gerne_status cut(const maker *m, const gn_search_axis *axis, gn_search_axis *out)
{
    gn_limits limits;
    *out = *axis;
    GN_TRY(limits_of(m, &limits));
    if (axis->kind == GN_AXIS_LIMITS) {
        out->kind = GN_AXIS_RANGE;
        out->lo = limits.usual.lo;
        out->hi = limits.usual.hi;
    }
    out->lo = fmax(out->lo, limits.allowed.lo);
    out->hi = fmin(out->hi, limits.allowed.hi);
    return GERNE_OK;
}

/* Four digits may round beyond the limit; one unit of the last digit less does not. */
static void keep_below(double limit, gn_point_value *value)
{
    double number;
    if (gn_parse_double(value->text, &number) && number > limit)
        snprintf(value->text, sizeof value->text, "%.4g", limit - 1e-3 * fmax(fabs(limit), 1e-3));
}

static gerne_status draw(maker *m, size_t depth, gn_stream *stream)
{
    const gn_space *space = m->request->space;
    const gn_search_axis *axis = &space->axes[depth];
    gn_point_value *value = &m->values[depth];
    gn_search_axis range = *axis;
    if (axis->kind == GN_AXIS_LIST) {
        snprintf(value->text, sizeof value->text, "%s",
                 axis->values[gn_random_below(stream, axis->count)]);
        return GERNE_OK;
    }
    bool limited = space->limited && depth + 1 == space->count;
    if (limited)
        GN_TRY(cut(m, axis, &range));
    *value = gn_range_value(&range, gn_random_uniform(stream));
    if (limited)
        keep_below(range.hi, value);
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
        GN_TRY(check_limits(&m, &allowed));
        if (allowed)
            GN_TRY(add_point(&m));
    }
    return GERNE_OK;
}
