/* figures.c - how the figure of a search depends on each option: the best mean at each value.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/figure.h"
#include "tune/tune.h"

enum { SERIES_MAX = 8 };

static bool number_in(const json_t *settings, const char *key, double *out)
{
    const char *text = json_string_value(json_object_get(settings, key));
    return text && gn_parse_double(text, out);
}

/* What the lines of a figure differ in: an option and a value of it; without a key there is one. */
typedef struct curve_key {
    char key[64];
    double value;
} curve_key;

static bool is_on(const curve_key *line, const json_t *settings)
{
    double value;
    return !line->key[0] || (number_in(settings, line->key, &value) && value == line->value);
}

/* The best configuration at each value of an option, with its standard error, among those of a
 * line. */
static void collect(const gn_ranking *ranking, const char *key, const curve_key *line,
                    gn_track *out)
{
    for (size_t i = 0; i < ranking->count; i++) {
        const gn_ranked *r = &ranking->items[i];
        double x;
        if (r->trials[0]->level != ranking->items[0].trials[0]->level || !r->done ||
            !number_in(r->settings, key, &x) || !is_on(line, r->settings))
            continue;
        size_t at = 0; /* the track is kept in the order of x */
        while (at < out->count && out->x[at] < x)
            at++;
        bool is_new = at == out->count || out->x[at] != x;
        for (size_t j = out->count; is_new && j > at; j--) {
            out->x[j] = out->x[j - 1];
            out->mean[j] = out->mean[j - 1];
            out->width[j] = out->width[j - 1];
        }
        out->count += is_new;
        if (!is_new && r->figure.mean <= out->mean[at])
            continue;
        out->x[at] = x;
        out->mean[at] = r->figure.mean;
        out->width[at] = r->figure.se;
    }
}

static gerne_status add_series(gn_tuner *t, const gn_ranking *ranking, const char *key,
                               const curve_key *line, json_t *figure)
{
    char name[80] = "best";
    gn_track track = {0};
    double *values;
    GN_TRY(gn_arena_alloc(t->ctx, t->arena, 3 * ranking->count, sizeof *values, &values));
    track.x = values;
    track.mean = values + ranking->count;
    track.width = values + 2 * ranking->count;
    collect(ranking, key, line, &track);
    if (line->key[0])
        snprintf(name, sizeof name, "%s = %g", strchr(line->key, '.') + 1, line->value);
    return track.count > 1 ? gn_figure_add_series(t->ctx, figure, name, &track, 100, false)
                           : GERNE_OK;
}

/* The different values of the option that moves the limits, at most SERIES_MAX. */
static size_t list_lines(const gn_tuner *t, const gn_ranking *ranking, curve_key *lines)
{
    size_t count = 0;
    curve_key next;
    if (!t->config->method->limited_by)
        return 0;
    snprintf(next.key, sizeof next.key, "method.%s", t->config->method->limited_by);
    for (size_t i = 0; i < ranking->count; i++) {
        size_t at = 0;
        if (!number_in(ranking->items[i].settings, next.key, &next.value))
            continue;
        while (at < count && lines[at].value != next.value)
            at++;
        if (at == count && count < SERIES_MAX)
            lines[count++] = next;
    }
    return count;
}

static gerne_status add_figure(gn_tuner *t, const gn_ranking *ranking, const gn_search_axis *axis,
                               json_t *figures)
{
    static const char note[] = "At each value the mean of the best configuration that has it, and "
                               "its standard error over seeds.";
    char title[128], label[64];
    curve_key lines[SERIES_MAX] = {{.key = ""}};
    bool limited = t->space.limited && axis == &t->space.axes[t->space.count - 1];
    size_t count = limited ? list_lines(t, ranking, lines) : 0;
    snprintf(title, sizeof title, "%s against %s", t->metric, axis->key);
    snprintf(label, sizeof label, "%s on %s", t->metric, t->split);
    json_t *figure = gn_figure_add(figures, title, (gn_figure_axis){axis->key, "", axis->log},
                                   (gn_figure_axis){label, "%", false}, note);
    for (size_t i = 0; i < (count ? count : 1); i++)
        GN_TRY(add_series(t, ranking, axis->key, &lines[i], figure));
    if (json_array_size(json_object_get(figure, "series")) == 0)
        json_array_remove(figures, json_array_size(figures) - 1);
    return GERNE_OK;
}

gerne_status gn_tune_figures(gn_tuner *t, const gn_ranking *ranking, json_t **out)
{
    GN_LOCAL(json_t) *figures = json_array();
    *out = NULL;
    for (size_t i = 0; ranking->count && i < t->space.count; i++)
        GN_TRY(add_figure(t, ranking, &t->space.axes[i], figures));
    return gn_give(&figures, out);
}
