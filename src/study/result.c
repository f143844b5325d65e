#include "study/result.h"

#include <math.h>
#include <stdio.h>

const json_t *gn_result_splits(const json_t *results, bool oracle)
{
    const json_t *side = oracle ? json_object_get(results, "oracle") : results;
    return json_object_get(side, "splits");
}

static double number(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

double gn_result_figure(const json_t *splits, const char *split, const char *metric)
{
    return gn_json_real(json_object_get(splits, split), metric);
}

gn_interval gn_result_interval(const json_t *splits, const char *split, const char *metric)
{
    char key[64];
    snprintf(key, sizeof key, "%s_ci95", metric);
    const json_t *ends = json_object_get(json_object_get(splits, split), key);
    gn_interval interval = {number(json_array_get(ends, 0)), number(json_array_get(ends, 1))};
    return isnan(interval.lo) || isnan(interval.hi) ? (gn_interval){NAN, NAN} : interval;
}

double gn_result_pseudo(const json_t *results, const char *key)
{
    return number(json_object_get(json_object_get(results, "pseudo"), key));
}

bool gn_result_selection_of(const json_t *results, gn_result_selection *out)
{
    const json_t *selection = json_object_get(results, "selection");
    const char *metric = gn_json_text(selection, "metric");
    const char *split = gn_json_text(selection, "split");
    *out = (gn_result_selection){metric ? metric : "", split ? split : "",
                                 json_is_true(json_object_get(selection, "oracle"))};
    return metric && split;
}

size_t gn_result_warnings(const json_t *results, const char **first)
{
    const json_t *list = json_object_get(results, "warnings");
    *first = json_string_value(json_array_get(list, 0));
    return *first ? json_array_size(list) : 0;
}

static void drop_groups(json_t *splits)
{
    json_object_del(json_object_get(splits, "val"), "groups");
    json_object_del(json_object_get(splits, "test"), "groups");
}

void gn_result_slim(json_t *results)
{
    json_object_del(results, "bounds");
    drop_groups(json_object_get(results, "splits"));
    drop_groups(json_object_get(results, "last"));
    drop_groups(json_object_get(json_object_get(results, "oracle"), "splits"));
}
