/* describe.h - tables of groups as JSON and as text that needs no paper beside it. */
#ifndef GN_DEBIAS_DESCRIBE_H
#define GN_DEBIAS_DESCRIBE_H

#include "base/json.h"

/* The object of `gerne bounds --json`; beta may be NULL (no p_ext then). New reference. */
GERNE_CHECKED gerne_status gn_bounds_json(gerne_ctx *ctx, const gerne_groups *groups, double c,
                                          const double *beta, json_t **out);

/* The names of the attributes by index; without attributes the one name GN_ALL_SAMPLES. */
json_t *gn_attribute_names_json(const char *const *names, uint32_t count);

/* Appends the groups with their samples and shares, one line a class. */
GERNE_CHECKED gerne_status gn_print_groups(gerne_ctx *ctx, const gerne_groups *groups,
                                           gn_text *out);

/* Appends the shares p[y][a] in per cent. */
GERNE_CHECKED gerne_status gn_print_shares(gerne_ctx *ctx, const gerne_groups *groups,
                                           const double *p, gn_text *out);

#endif
