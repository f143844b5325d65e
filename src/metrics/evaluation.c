#include "metrics/evaluation.h"

json_t *gn_evaluation_json(const gn_evaluation *evaluation)
{
    const gn_metrics *metrics = evaluation->first.metrics;
    const gn_group_names *names = &evaluation->first.names;
    json_t *json = gn_metrics_json(metrics);
    json_object_set_new(json, "class_names",
                        gn_json_names(names->classes, (size_t)metrics->classes));
    json_object_set_new(json, "attribute_names",
                        gn_json_names(names->attributes, (size_t)metrics->attributes));
    if (evaluation->comparison) {
        json_t *comparison = gn_comparison_json(evaluation->comparison);
        json_object_set_new(comparison, "other", gn_metrics_json(evaluation->second->metrics));
        json_object_set_new(json, "comparison", comparison);
    }
    return json;
}

gerne_status gn_evaluation_print(gerne_ctx *ctx, const gn_evaluation *evaluation, gn_text *out)
{
    const gn_evaluated *first = &evaluation->first, *second = evaluation->second;
    GN_TRY(gn_text_add(ctx, out, "%s: %llu sample%s\n\n", first->name,
                       (unsigned long long)first->metrics->n, first->metrics->n == 1 ? "" : "s"));
    GN_TRY(gn_metrics_print(ctx, first->metrics, &first->names, out));
    if (!evaluation->comparison)
        return GERNE_OK;
    GN_TRY(gn_text_add(ctx, out, "\n%s:\n\n", second->name));
    GN_TRY(gn_metrics_print(ctx, second->metrics, &second->names, out));
    GN_TRY(gn_text_add(ctx, out, "\n"));
    return gn_comparison_print(ctx, evaluation->comparison, first->name, second->name, out);
}

void gn_warn_of_empty_groups(gerne_ctx *ctx, const gn_metrics *metrics, const gn_group_names *names)
{
    size_t empty = 0, first = 0, groups = (size_t)metrics->classes * (size_t)metrics->attributes;
    for (size_t g = groups; g-- > 0;)
        if (metrics->groups[g].n == 0) {
            empty++;
            first = g;
        }
    size_t attributes = (size_t)metrics->attributes;
    if (empty == 1)
        gn_log(ctx, GERNE_LOG_WARNING,
               "the group of class '%s' and attribute '%s' has no rows and is ignored",
               names->classes[first / attributes], names->attributes[first % attributes]);
    else if (empty > 1)
        gn_log(ctx, GERNE_LOG_WARNING,
               "%zu of %zu groups have no rows and are ignored, first class '%s' with attribute "
               "'%s'",
               empty, groups, names->classes[first / attributes],
               names->attributes[first % attributes]);
}
