/* figures.c - how the figure of a search depends on each option: the best mean at each value.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tune.h"

enum { SERIES_MAX = 8 };

typedef struct place {
    double x, y, se;
} place;

/* One curve: the best configuration at each value of an option, among those with one c. */
typedef struct curve {
    place *places;
    size_t count;
} curve;

static bool number_in(const json_t *settings, const char *key, double *out)
{
    const char *text = json_string_value(json_object_get(settings, key));
    return text && gn_parse_double(text, out);
}

static void take(curve *c, double x, const gn_spread *figure)
{
    size_t i = 0;
    while (i < c->count && c->places[i].x != x)
        i++;
    if (i == c->count)
        c->places[c->count++] = (place){.x = x, .y = -INFINITY};
    if (figure->mean > c->places[i].y)
        c->places[i] = (place){.x = x, .y = figure->mean, .se = figure->se};
}

static int by_x(const void *left, const void *right)
{
    const place *a = left, *b = right;
    return a->x < b->x ? -1 : a->x > b->x;
}

static json_t *series_json(const curve *c, const char *name)
{
    json_t *x = json_array(), *y = json_array(), *lo = json_array(), *hi = json_array();
    for (size_t i = 0; i < c->count; i++) {
        const place *p = &c->places[i];
        json_array_append_new(x, gn_json_number(p->x));
        json_array_append_new(y, gn_json_number(100 * p->y));
        json_array_append_new(lo, gn_json_number(100 * (p->y - p->se)));
        json_array_append_new(hi, gn_json_number(100 * (p->y + p->se)));
    }
    bool known = c->count && !isnan(c->places[0].se);
    for (size_t i = 0; i < c->count; i++)
        known = known && !isnan(c->places[i].se);
    if (!known) {
        json_decref(lo);
        json_decref(hi);
        lo = json_null();
        hi = json_null();
    }
    return json_pack("{s:s,s:o,s:o,s:o,s:o,s:b}", "name", name, "x", x, "y", y, "lo", lo, "hi", hi,
                     "dashed", 0);
}

/* settings[i] belongs to ranking->items[i]. c is NaN for configurations of any c. */
static gerne_status add_series(gerne_ctx *ctx, const gn_ranking *ranking, json_t *const *settings,
                               const char *key, double c, json_t *out)
{
    curve line = {0};
    char name[48] = "best";
    GN_TRY(gn_alloc(ctx, ranking->count, sizeof *line.places, "a figure", &line.places));
    int level = ranking->items[0].level;
    for (size_t i = 0; i < ranking->count; i++) {
        const gn_ranked *r = &ranking->items[i];
        double x, own = (double)NAN;
        bool has_c = number_in(settings[i], "method.c", &own);
        if (r->level == level && r->done && number_in(settings[i], key, &x) &&
            (isnan(c) || (has_c && own == c)))
            take(&line, x, &r->figure);
    }
    qsort(line.places, line.count, sizeof *line.places, by_x);
    if (!isnan(c))
        snprintf(name, sizeof name, "c = %g", c);
    if (line.count > 1)
        json_array_append_new(out, series_json(&line, name));
    gn_free(line.places);
    return GERNE_OK;
}

/* The different c of a search, at most SERIES_MAX. */
static size_t list_c(const gn_ranking *ranking, json_t *const *settings, double *cs)
{
    size_t count = 0;
    for (size_t i = 0; i < ranking->count; i++) {
        double c;
        size_t at = 0;
        if (!number_in(settings[i], "method.c", &c))
            continue;
        while (at < count && cs[at] != c)
            at++;
        if (at == count && count < SERIES_MAX)
            cs[count++] = c;
    }
    return count;
}

static gerne_status add_figure(gn_tuner *t, const gn_ranking *ranking, json_t *const *settings,
                               const gn_axis *axis, json_t *figures)
{
    char title[128], label[64];
    double cs[SERIES_MAX];
    bool beta = strcmp(axis->key, "method.beta") == 0;
    size_t count = beta ? list_c(ranking, settings, cs) : 0;
    json_t *series = json_array();
    gerne_status status = GERNE_OK;
    for (size_t i = 0; i < count && status == GERNE_OK; i++)
        status = add_series(t->ctx, ranking, settings, axis->key, cs[i], series);
    if (count == 0)
        status = add_series(t->ctx, ranking, settings, axis->key, (double)NAN, series);
    if (status == GERNE_OK && json_array_size(series)) {
        snprintf(title, sizeof title, "%s against %s", t->metric, axis->key);
        snprintf(label, sizeof label, "%s on %s", t->metric, t->split);
        json_array_append_new(
            figures,
            json_pack("{s:s,s:{s:s,s:s,s:b},s:{s:s,s:s},s:O,s:s}", "title", title, "x", "label",
                      axis->key, "unit", "", "log", axis->log, "y", "label", label, "unit", "%",
                      "series", series, "note",
                      "At each value the mean of the best configuration that has it, and its "
                      "standard error over seeds."));
    }
    json_decref(series);
    return status;
}

static gerne_status add_figures(gn_tuner *t, const gn_ranking *ranking, json_t **settings,
                                json_t *figures)
{
    for (size_t i = 0; i < ranking->count; i++) {
        const char *text = ranking->items[i].settings;
        GN_TRY(gn_json_parse(t->ctx, text, strlen(text), "the ledger's settings", &settings[i]));
    }
    for (size_t i = 0; ranking->count && i < t->space.count; i++)
        GN_TRY(add_figure(t, ranking, settings, &t->space.axes[i], figures));
    return GERNE_OK;
}

gerne_status gn_tune_figures(gn_tuner *t, const gn_ranking *ranking, json_t **out)
{
    json_t **settings;
    *out = NULL;
    GN_TRY(gn_alloc(t->ctx, ranking->count ? ranking->count : 1, sizeof *settings, "figures",
                    &settings));
    json_t *figures = json_array();
    gerne_status status = add_figures(t, ranking, settings, figures);
    for (size_t i = 0; i < ranking->count; i++)
        json_decref(settings[i]);
    gn_free(settings);
    if (status == GERNE_OK)
        *out = figures;
    else
        json_decref(figures);
    return status;
}
