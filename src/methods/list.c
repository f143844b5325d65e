/* list.c - all methods: a new file becomes a method by its line here. */
#include <string.h>

#include "base/text.h"
#include "methods/method.h"

extern const gn_method gn_method_erm, gn_method_resampling, gn_method_gerne, gn_method_sw,
    gn_method_groupdro, gn_method_lff, gn_method_jtt;

const gn_method *const gn_methods[] = {
    &gn_method_gerne,    &gn_method_erm, &gn_method_resampling, &gn_method_sw,
    &gn_method_groupdro, &gn_method_lff, &gn_method_jtt,        NULL,
};

gerne_status gn_method_find(gerne_ctx *ctx, const char *name, const gn_method **out)
{
    enum { NAMES_MAX = 64 };
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (; count < NAMES_MAX && gn_methods[count]; count++) {
        names[count] = gn_methods[count]->name;
        if (strcmp(names[count], name) == 0) {
            *out = gn_methods[count];
            return GERNE_OK;
        }
    }
    const char *nearest = gn_nearest(name, names, count);
    gn_fail(ctx, GERNE_EUSAGE, "method.name: there is no method '%s'", name);
    if (nearest)
        gn_hint(ctx, "did you mean '%s'?", nearest);
    else
        gn_hint(ctx, "'gerne methods' lists them");
    return GERNE_EUSAGE;
}
