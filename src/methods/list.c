/* list.c - all methods and estimators: a new file becomes one by its line here. */
#include <string.h>

#include "base/text.h"
#include "methods/method.h"

extern const gn_method gn_method_gerne, gn_method_erm, gn_method_resampling, gn_method_sw,
    gn_method_groupdro, gn_method_lff, gn_method_jtt, gn_method_reweight, gn_method_sqrt_reweight,
    gn_method_cbloss, gn_method_bsoftmax, gn_method_focal, gn_method_resample, gn_method_mixup,
    gn_method_lisa, gn_method_crt, gn_method_reweight_crt, gn_method_lc, gn_method_denetdm,
    gn_method_mat, gn_method_ula, gn_method_cnc;
extern const gn_method gn_estimator_biased, gn_estimator_jtt, gn_estimator_xrm, gn_estimator_mst,
    gn_estimator_ecs;

/* A line each. */
/* clang-format off */
const gn_method *const gn_methods[] = {
    &gn_method_gerne,
    &gn_method_erm,
    &gn_method_resampling,
    &gn_method_sw,
    &gn_method_groupdro,
    &gn_method_lff,
    &gn_method_jtt,
    &gn_method_reweight,
    &gn_method_sqrt_reweight,
    &gn_method_cbloss,
    &gn_method_bsoftmax,
    &gn_method_focal,
    &gn_method_resample,
    &gn_method_mixup,
    &gn_method_lisa,
    &gn_method_crt,
    &gn_method_reweight_crt,
    &gn_method_lc,
    &gn_method_denetdm,
    &gn_method_mat,
    &gn_method_ula,
    &gn_method_cnc,
    NULL,
};
/* clang-format on */

const gn_method *const gn_estimators[] = {
    &gn_estimator_biased, &gn_estimator_jtt, &gn_estimator_xrm,
    &gn_estimator_mst,    &gn_estimator_ecs, NULL,
};

static gerne_status find(gerne_ctx *ctx, const gn_method *const *list, const char *kind,
                         const char *key, const char *name, const gn_method **out)
{
    enum { NAMES_MAX = 64 };
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (; count < NAMES_MAX && list[count]; count++) {
        names[count] = list[count]->name;
        if (strcmp(names[count], name) == 0) {
            *out = list[count];
            return GERNE_OK;
        }
    }
    const char *nearest = gn_nearest(name, names, count);
    gn_fail(ctx, GERNE_EUSAGE, "%s: there is no %s '%s'", key, kind, name);
    if (nearest)
        gn_hint(ctx, "did you mean '%s'?", nearest);
    else
        gn_hint(ctx, "'gerne methods' lists them");
    return GERNE_EUSAGE;
}

gerne_status gn_method_find(gerne_ctx *ctx, const char *name, const gn_method **out)
{
    return find(ctx, gn_methods, "method", "method.name", name, out);
}

gerne_status gn_estimator_find(gerne_ctx *ctx, const char *name, const gn_method **out)
{
    return find(ctx, gn_estimators, "estimator", "method.estimator", name, out);
}
