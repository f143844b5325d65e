/* missing.h - rows without a class or an attribute: an error, dropped, or a group of their own.
 *
 * A label is missing when its cell is empty. Every reader of labels shows its rows to
 * gn_missing_take and asks gn_missing_check after the last one, so that an error tells how many
 * there are.
 */
#ifndef GN_DEBIAS_MISSING_H
#define GN_DEBIAS_MISSING_H

#include "base/status.h"

/* In the order of the words; group applies to the attribute: a sample without a class cannot be
 * learnt or judged. */
#define GN_MISSING_CHOICES "error|drop|group"
#define GN_MISSING_HELP                                                                            \
    "rows with an empty class or attribute: error refuses the file, drop ignores them, group "     \
    "makes the missing attribute a group of its own"
typedef enum gn_missing_rule {
    GN_MISSING_ERROR,
    GN_MISSING_DROP,
    GN_MISSING_GROUP
} gn_missing_rule;

#define GN_MISSING_NAME "(missing)" /* of the attribute of that group */

typedef struct gn_missing {
    int rule;
    uint64_t rows, dropped, without_y, without_a;
} gn_missing;

/* Counts a row with these labels (NULL: there is no such column) and tells whether to use it; *a
 * becomes GN_MISSING_NAME where the rule says so. Under the rule error a row that lacks a label is
 * not to be used either, and the check fails. */
bool gn_missing_take(gn_missing *missing, const char *y, const char **a);

/* After the last row: GERNE_EDATA when labels are missing that the rule does not allow; y and a
 * are the names of the columns, flag is what sets the rule, file may be NULL. Logs what was dropped
 * or grouped. */
GERNE_CHECKED gerne_status gn_missing_check(gerne_ctx *ctx, const gn_missing *missing,
                                            const char *file, const char *y, const char *a,
                                            const char *flag);

#endif
