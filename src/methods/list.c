/* list.c - all methods and estimators: a new file becomes one by its line here. */
#include "methods/list.h"

#include <string.h>

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
    X(ecs)                                                                                         \
    X(ensemble)                                                                                    \
    X(crossfit)                                                                                    \
    X(run)

#define DECLARE_METHOD(name)    extern const gn_method gn_method_##name;
#define DECLARE_ESTIMATOR(name) extern const gn_method gn_estimator_##name;
METHODS(DECLARE_METHOD)
ESTIMATORS(DECLARE_ESTIMATOR)

#define COUNT_ONE(name) +1
enum { OUR_METHODS = METHODS(COUNT_ONE), OUR_ESTIMATORS = ESTIMATORS(COUNT_ONE) };

/* With room for those of a plug-in and the NULL at the end. */
#define LIST_METHOD(name)    &gn_method_##name,
#define LIST_ESTIMATOR(name) &gn_estimator_##name,
static const gn_method *methods[OUR_METHODS + GN_ADDED_MAX + 1] = {METHODS(LIST_METHOD)};
static const gn_method *estimators[OUR_ESTIMATORS + GN_ADDED_MAX + 1] = {
    ESTIMATORS(LIST_ESTIMATOR)};
const gn_method *const *const gn_methods = methods;
const gn_method *const *const gn_estimators = estimators;

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

bool gn_is_estimator(const gn_method *method)
{
    return method->groups != NULL;
}

static size_t count_of(const gn_method *const *list)
{
    size_t count = 0;
    while (list[count])
        count++;
    return count;
}

static gerne_status add(gerne_ctx *ctx, const gn_method *method)
{
    bool estimator = gn_is_estimator(method);
    const gn_method **list = estimator ? estimators : methods;
    const char *kind = estimator ? "estimator" : "method";
    size_t count = count_of(list), ours = estimator ? OUR_ESTIMATORS : OUR_METHODS;
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i]->name, method->name) == 0)
            return gn_fail(ctx, GERNE_EDATA, "there is a%s %s '%s' already", estimator ? "n" : "",
                           kind, method->name);
    if (count == ours + GN_ADDED_MAX)
        return gn_fail(ctx, GERNE_EDATA, "more than %d %ss", GN_ADDED_MAX, kind);
    list[count] = method;
    return GERNE_OK;
}

gerne_status gn_methods_add(gerne_ctx *ctx, const gn_method *const *added)
{
    size_t method_count = count_of(methods), estimator_count = count_of(estimators);
    gerne_status status = GERNE_OK;
    for (size_t i = 0; added[i] && status == GERNE_OK; i++)
        status = add(ctx, added[i]);
    if (status != GERNE_OK) { /* all or none */
        memset(methods + method_count, 0, sizeof methods - method_count * sizeof *methods);
        memset(estimators + estimator_count, 0,
               sizeof estimators - estimator_count * sizeof *estimators);
    }
    return status;
}
