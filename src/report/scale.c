#include "report/scale.h"

#include <math.h>
#include <stdio.h>

enum { DECIMALS_MAX = 9 };

/* The smallest of 1, 2, 2.5, 5 times a power of ten that is at least the given step. */
static double round_step(double step)
{
    double power = pow(10, floor(log10(step)));
    double digit = step / power;
    static const double steps[] = {1, 2, 2.5, 5};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (digit <= steps[i] * (1 + 1e-9))
            return steps[i] * power;
    return 10 * power;
}

static void make_drawable(double *lo, double *hi)
{
    if (!isfinite(*lo) || !isfinite(*hi) || *lo > *hi) {
        *lo = 0;
        *hi = 1;
    }
    if (*hi - *lo <= 1e-12 * fmax(fabs(*lo), fabs(*hi)) || *hi == *lo) {
        double margin = *lo == 0 ? 1 : 0.1 * fabs(*lo);
        *lo -= margin;
        *hi += margin;
    }
}

static void linear_ticks(gn_scale *s, size_t wanted, bool widen)
{
    double step = round_step((s->hi - s->lo) / (double)(wanted ? wanted : 1));
    double first = widen ? floor(s->lo / step + 1e-9) : ceil(s->lo / step - 1e-9);
    double last = widen ? ceil(s->hi / step - 1e-9) : floor(s->hi / step + 1e-9);
    for (double i = first; i <= last && s->tick_count < GN_TICKS_MAX; i++)
        s->ticks[s->tick_count++] = i * step;
    if (widen && s->tick_count) {
        s->lo = s->ticks[0];
        s->hi = s->ticks[s->tick_count - 1];
    }
    double whole = step;
    while (s->decimals < DECIMALS_MAX && fabs(whole - round(whole)) > 1e-6 * whole) {
        whole *= 10;
        s->decimals++;
    }
}

static void log_ticks(gn_scale *s, bool widen)
{
    double first = floor(log10(s->lo) + 1e-9), last = ceil(log10(s->hi) - 1e-9);
    double stride = ceil((last - first + 1) / GN_TICKS_MAX);
    bool few = last - first <= 2;
    s->decimals = -1;
    static const double digits[] = {1, 2, 5};
    for (double e = first; e <= last; e += stride)
        for (int i = 0; i < (few ? 3 : 1); i++) {
            double tick = digits[i] * pow(10, e);
            bool inside = tick >= s->lo * (1 - 1e-9) && tick <= s->hi * (1 + 1e-9);
            if (s->tick_count < GN_TICKS_MAX && (inside || (widen && i == 0)))
                s->ticks[s->tick_count++] = tick;
        }
    if (widen && s->tick_count) {
        s->lo = fmin(s->lo, s->ticks[0]);
        s->hi = fmax(s->hi, s->ticks[s->tick_count - 1]);
    }
}

static gn_scale make(double lo, double hi, bool log, size_t wanted, bool widen)
{
    log = log && lo > 0 && isfinite(hi) && hi >= lo;
    if (log && hi <= lo * (1 + 1e-9)) {
        lo /= 2;
        hi *= 2;
    } else if (!log) {
        make_drawable(&lo, &hi);
    }
    gn_scale s = {.lo = lo, .hi = hi, .log = log, .from = 0, .to = 1};
    if (log)
        log_ticks(&s, widen);
    else
        linear_ticks(&s, wanted, widen);
    return s;
}

gn_scale gn_scale_over(double lo, double hi, bool log, size_t wanted)
{
    return make(lo, hi, log, wanted, true);
}

gn_scale gn_scale_inside(double lo, double hi, bool log, size_t wanted)
{
    return make(lo, hi, log, wanted, false);
}

double gn_scale_at(const gn_scale *scale, double value)
{
    double share = scale->log
                       ? (log10(value) - log10(scale->lo)) / (log10(scale->hi) - log10(scale->lo))
                       : (value - scale->lo) / (scale->hi - scale->lo);
    return scale->from + share * (scale->to - scale->from);
}

void gn_scale_label(const gn_scale *scale, double tick, char *out, size_t size)
{
    double magnitude = fabs(tick);
    if (magnitude < 1e-12 * fmax(fabs(scale->lo), fabs(scale->hi)))
        snprintf(out, size, "0");
    else if (magnitude >= 1e7 || magnitude < 1e-4)
        snprintf(out, size, "%.3g", tick);
    else if (magnitude >= 1e4)
        snprintf(out, size, "%.6gk", tick / 1e3);
    else if (scale->decimals < 0)
        snprintf(out, size, "%.4g", tick);
    else
        snprintf(out, size, "%.*f", scale->decimals, tick);
}

void gn_extend_range(const double *values, size_t count, double *lo, double *hi)
{
    for (size_t i = 0; values && i < count; i++)
        if (isfinite(values[i])) {
            *lo = fmin(*lo, values[i]);
            *hi = fmax(*hi, values[i]);
        }
}
