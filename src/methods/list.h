/* list.h - the methods and estimators that there are: ours, and those of a plug-in. */
#ifndef GN_METHODS_LIST_H
#define GN_METHODS_LIST_H

#include "methods/method.h"

/* End with a NULL. */
extern const gn_method *const *const gn_methods, *const *const gn_estimators;

/* GERNE_EUSAGE with the nearest name when there is none. */
GERNE_CHECKED gerne_status gn_method_find(gerne_ctx *ctx, const char *name, const gn_method **out);
GERNE_CHECKED gerne_status gn_estimator_find(gerne_ctx *ctx, const char *name,
                                             const gn_method **out);

bool gn_method_has_option(const gn_method *method, const char *name);

/* An estimator is a method that gives groups. */
bool gn_is_estimator(const gn_method *method);

/* GERNE_EDATA, saying what is wrong, when a descriptor cannot be used: hooks or texts are missing,
 * or a row of its options is faulty. For descriptors that are not covered by our tests. */
GERNE_CHECKED gerne_status gn_method_check(gerne_ctx *ctx, const gn_method *method);

/* Adds methods and estimators, up to a NULL, that gn_method_check has passed; all or none. They are
 * lent for the rest of the process. GERNE_EDATA when a name is taken or there are too many. Not to
 * be called while other threads use the lists. */
enum { GN_ADDED_MAX = 8 }; /* to each list */
GERNE_CHECKED gerne_status gn_methods_add(gerne_ctx *ctx, const gn_method *const *added);

#endif
