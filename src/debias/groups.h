/* groups.h - the inside of a table of groups, for the rest of this folder. */
#ifndef GN_DEBIAS_GROUPS_H
#define GN_DEBIAS_GROUPS_H

#include "base/memory.h"

/* Classes times attributes: of any table, in memory or printed. */
enum { GN_MAX_GROUPS = 1 << 20 };

struct gerne_groups {
    gn_arena *arena; /* names */
    uint32_t classes, attributes;
    bool keep_empty;
    uint64_t total;
    uint64_t *counts;       /* [classes * attributes] */
    uint64_t *class_counts; /* [classes] */
    uint32_t *present;      /* [classes]: groups that are not empty */
    double *target; /* [classes * attributes]: shares that count as balance; NULL: equal ones */
    /* Samples sorted by group, then index: those of group g are members[starts[g]..starts[g+1]).
     * Both are NULL in a table made from counts. */
    uint64_t *starts;
    uint32_t *members;
    const char **class_names, **attribute_names; /* NULL: numbers */
};

GN_LOCAL_HANDLE(gerne_groups, gerne_groups_close)

static inline size_t gn_group_id(const gerne_groups *groups, uint32_t y, uint32_t a)
{
    return (size_t)y * groups->attributes + a;
}

/* How many groups a balanced class is divided over. */
static inline uint32_t gn_groups_divisor(const gerne_groups *groups, uint32_t y)
{
    return groups->keep_empty ? groups->attributes : groups->present[y];
}

/* x times the share of a group where its class is balanced. */
static inline double gn_target_part(const gerne_groups *groups, uint32_t y, uint32_t a, double x)
{
    return groups->target ? x * groups->target[gn_group_id(groups, y, a)]
                          : x / gn_groups_divisor(groups, y);
}

/* Whether a group is a minority of its class: its share alpha is below 1/A. */
static inline bool gn_is_minority(uint64_t count, uint64_t class_count, uint32_t attributes)
{
    return (unsigned __int128)count * attributes < class_count;
}

/* Whether a group has less than its share of a balanced class. */
static inline bool gn_is_small(const gerne_groups *groups, uint32_t y, uint32_t a)
{
    if (groups->target)
        return gerne_groups_alpha(groups, y, a) < groups->target[gn_group_id(groups, y, a)];
    return gn_is_minority(gerne_groups_count(groups, y, a), groups->class_counts[y],
                          gn_groups_divisor(groups, y));
}

/* The name of the one attribute that all samples have where attributes are unknown. */
#define GN_ALL_SAMPLES "all"

enum { GN_GROUP_TEXT = 160 };

/* "y=0, a=1", or with the names; returns buffer, which has GN_GROUP_TEXT bytes. */
const char *gn_group_text(const gerne_groups *groups, uint32_t y, uint32_t a, char *buffer);

/* The same for a class: "y=0". */
const char *gn_class_text(const gerne_groups *groups, uint32_t y, char *buffer);

uint64_t gn_groups_empty(const gerne_groups *groups); /* how many groups have no sample */

/* Logs one warning when groups are empty: how many, which first, and what is done about it. */
void gn_groups_warn_empty(gerne_ctx *ctx, const gerne_groups *groups);

/* How well samples marked as found are those of under-represented groups: means over classes of the
 * per-class ratios; NaN when there is no such group. pseudo.c */
typedef struct gn_minority_quality {
    double precision, recall;
} gn_minority_quality;

GERNE_CHECKED gerne_status gn_judge_minority(gerne_ctx *ctx, const int32_t *y,
                                             const int32_t *true_a, const bool *found, size_t n,
                                             uint32_t classes, uint32_t attributes,
                                             gn_minority_quality *out);

#endif
