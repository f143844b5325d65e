/* audit.h - what a table of groups says about the bias of the data, as figures, JSON and words. */
#ifndef GN_DEBIAS_AUDIT_H
#define GN_DEBIAS_AUDIT_H

#include "base/json.h"
#include "debias/association.h"
#include "debias/bounds.h"

/* By Cramer's V: below 0.1, below 0.5, above. */
typedef enum gn_verdict { GN_UNBIASED, GN_BIASED, GN_STRONGLY_BIASED } gn_verdict;

enum { GN_AUDIT_CS = 3, GN_AUDIT_SMALLEST = 5 };

typedef struct gn_audit {
    const gerne_groups *groups; /* lent */
    gn_verdict verdict;
    gn_association association;
    size_t smallest[GN_AUDIT_SMALLEST]; /* ids of groups with samples, the smallest first */
    size_t smallest_count;
    uint64_t empty;
    double c[GN_AUDIT_CS];
    gerne_bounds bounds[GN_AUDIT_CS];
    double grid_c;
    gn_beta_list grid; /* worth trying with grid_c */
} gn_audit;

GERNE_CHECKED gerne_status gn_audit_of(gerne_ctx *ctx, const gerne_groups *groups, gn_audit *out);

gn_verdict gn_verdict_of(const gn_association *association);
const char *gn_verdict_text(gn_verdict verdict); /* "unbiased", "biased", "strongly biased" */

/* The object of `gerne audit --json`. New reference. */
GERNE_CHECKED gerne_status gn_audit_json(gerne_ctx *ctx, const gn_audit *audit, json_t **out);

/* Appends the same for people. name is the data's; y and a are what class and attribute are called
 * there, NULL when they have no name. */
GERNE_CHECKED gerne_status gn_audit_print(gerne_ctx *ctx, const gn_audit *audit, const char *name,
                                          const char *y, const char *a, gn_text *out);

#endif
