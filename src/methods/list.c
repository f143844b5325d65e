/* list.c - all methods and estimators: a new file becomes one by its line here. */
#include <string.h>

#include "base/text.h"
#include "methods/method.h"

/* One line each, in the order of `gerne methods`. */
#define METHODS(X)                                                                                 \
    X(gerne)                                                                                       \
    X(erm)                                                                                         \
    X(resampling)                                                                                  \
    X(sw)                                                                                          \
    X(groupdro)                                                                                    \
    X(lff)                                                                                         \
    X(jtt)                                                                                         \
    X(reweight)                                                                                    \
    X(sqrt_reweight)                                                                               \
    X(cbloss)                                                                                      \
    X(bsoftmax)                                                                                    \
    X(focal)                                                                                       \
    X(resample)                                                                                    \
    X(mixup)                                                                                       \
    X(lisa)                                                                                        \
    X(crt)                                                                                         \
    X(reweight_crt)                                                                                \
    X(lc)                                                                                          \
    X(denetdm)                                                                                     \
    X(mat)                                                                                         \
    X(ula)                                                                                         \
    X(cnc)                                                                                         \
    X(dfa)                                                                                         \
    X(dfr)                                                                                         \
    X(afr)                                                                                         \
    X(self)                                                                                        \
    X(pde)

#define ESTIMATORS(X)                                                                              \
    X(biased)                                                                                      \
    X(jtt)                                                                                         \
    X(xrm)                                                                                         \
    X(mst)                                                                                         \
    X(ecs)

#define DECLARE_METHOD(name)    extern const gn_method gn_method_##name;
#define DECLARE_ESTIMATOR(name) extern const gn_method gn_estimator_##name;
METHODS(DECLARE_METHOD)
ESTIMATORS(DECLARE_ESTIMATOR)

#define LIST_METHOD(name)    &gn_method_##name,
#define LIST_ESTIMATOR(name) &gn_estimator_##name,
const gn_method *const gn_methods[] = {METHODS(LIST_METHOD) NULL};
const gn_method *const gn_estimators[] = {ESTIMATORS(LIST_ESTIMATOR) NULL};

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
