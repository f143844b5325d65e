#include "study/figure.h"

#include <math.h>

json_t *gn_figure_add(json_t *figures, const char *title, gn_figure_axis x, gn_figure_axis y,
                      const char *note)
{
    json_t *figure =
        json_pack("{s:s,s:{s:s,s:s,s:b},s:{s:s,s:s},s:[],s:o}", "title", title, "x", "label",
                  x.label, "unit", x.unit, "log", x.log, "y", "label", y.label, "unit", y.unit,
                  "series", "note", note ? json_string(note) : json_null());
    return json_array_append_new(figures, figure) == 0 ? figure : NULL;
}

/* The curve moved by so many widths of its band. */
static json_t *numbers(const gn_track *track, double factor, double widths)
{
    json_t *list = json_array();
    for (size_t i = 0; i < track->count; i++) {
        double width = !track->width || isnan(track->width[i]) ? 0 : track->width[i];
        json_array_append_new(list, gn_json_number(factor * (track->mean[i] + widths * width)));
    }
    return list;
}

gerne_status gn_figure_add_series(gerne_ctx *ctx, json_t *figure, const char *name,
                                  const gn_track *track, double factor, bool dashed)
{
    bool banded = false;
    if (!track->count)
        return GERNE_OK;
    json_t *x = json_array();
    for (size_t i = 0; i < track->count; i++) {
        json_array_append_new(x, gn_json_number(track->x[i]));
        banded = banded || (track->width && !isnan(track->width[i]));
    }
    json_t *series =
        json_pack("{s:s,s:o,s:o,s:o,s:o,s:b}", "name", name, "x", x, "y", numbers(track, factor, 0),
                  "lo", banded ? numbers(track, factor, -1) : json_null(), "hi",
                  banded ? numbers(track, factor, 1) : json_null(), "dashed", dashed);
    return json_array_append_new(json_object_get(figure, "series"), series) == 0
               ? GERNE_OK
               : gn_fail(ctx, GERNE_ENOMEM, "no memory for a figure");
}
