/* descriptor.c - is a descriptor complete? Ours are tested; those of plug-ins are checked here. */
#include <string.h>

#include "methods/list.h"

bool gn_method_has_option(const gn_method *method, const char *name)
{
    for (size_t i = 0; i < method->option_count; i++)
        if (strcmp(method->options[i].name, name) == 0)
            return true;
    return false;
}

static const char *fault_of(const gn_method *method)
{
    if (!method->paper)
        return "paper is missing";
    if (!method->summary)
        return "summary is missing";
    bool trains = !(gn_is_estimator(method) && method->stages && !method->plan && !method->step);
    if (trains && !method->plan)
        return "the hook plan is missing";
    if (trains && !method->step)
        return "the hook step is missing";
    if (gn_is_estimator(method) && !method->attributes_found)
        return "the hook attributes_found is missing, which goes with groups";
    if (method->limited && !method->limits)
        return "the hook limits is missing, which goes with limited";
    if (method->limited && !gn_method_has_option(method, method->limited))
        return "limited names no option of it";
    if (method->limited_by && !gn_method_has_option(method, method->limited_by))
        return "limited_by names no option of it";
    return NULL;
}

gerne_status gn_method_check(gerne_ctx *ctx, const gn_method *method)
{
    if (!gn_is_identifier(method->name))
        return gn_fail(ctx, GERNE_EDATA,
                       "a method has no name of lower-case letters, digits and underscores");
    gerne_status status =
        gn_options_check(ctx, method->options, method->option_count, method->options_size);
    const char *fault = status == GERNE_OK ? fault_of(method) : NULL;
    if (fault)
        status = gn_fail(ctx, GERNE_EDATA, "%s", fault);
    return status == GERNE_OK ? status : gn_fail_in(ctx, status, "method '%s'", method->name);
}
