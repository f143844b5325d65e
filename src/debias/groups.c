#include "debias/groups.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arguments.h"
#include "base/text.h"

/* A table of more cells than this is a mistake (a column of free text taken for labels). */

static gerne_status groups_new(gerne_ctx *ctx, uint32_t classes, uint32_t attributes,
                               gerne_groups **out)
{
    *out = NULL;
    if (classes < 1 || attributes < 1)
        return gn_fail(ctx, GERNE_EUSAGE, "%u classes and %u attributes make no groups", classes,
                       attributes);
    if ((uint64_t)classes * attributes > GN_MAX_GROUPS) {
        gn_fail(ctx, GERNE_EUSAGE, "%u classes times %u attributes are more than %d groups",
                classes, attributes, GN_MAX_GROUPS);
        gn_hint(ctx,
                "a column of identifiers or measurements is no class or attribute; name others "
                "with --y and --a (--data.y and --data.a of a dataset)");
        return GERNE_EUSAGE;
    }
    GN_LOCAL(gerne_groups) *groups = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *groups, "a table of groups", &groups));
    groups->classes = classes;
    groups->attributes = attributes;
    GN_TRY(gn_arena_new(ctx, &groups->arena));
    GN_TRY(gn_alloc(ctx, (size_t)classes * attributes, sizeof *groups->counts, "a table of groups",
                    &groups->counts));
    GN_TRY(gn_alloc(ctx, classes, sizeof *groups->class_counts, "a table of groups",
                    &groups->class_counts));
    GN_TRY(gn_alloc(ctx, classes, sizeof *groups->present, "a table of groups", &groups->present));
    return gn_give(&groups, out);
}

void gerne_groups_close(gerne_groups *groups)
{
    if (!groups)
        return;
    gn_arena_close(groups->arena);
    gn_free(groups->counts);
    gn_free(groups->class_counts);
    gn_free(groups->present);
    gn_free(groups->target);
    gn_free(groups->starts);
    gn_free(groups->members);
    gn_free(groups);
}

/* Sums over classes; every class needs a sample. */
static gerne_status add_up(gerne_ctx *ctx, gerne_groups *groups)
{
    for (uint32_t y = 0; y < groups->classes; y++) {
        for (uint32_t a = 0; a < groups->attributes; a++) {
            uint64_t count = groups->counts[gn_group_id(groups, y, a)];
            groups->class_counts[y] += count;
            groups->present[y] += count > 0;
            if (__builtin_add_overflow(groups->total, count, &groups->total) ||
                groups->total > INT64_MAX)
                return gn_fail(ctx, GERNE_EUSAGE, "the counts add up to more than %lld",
                               (long long)INT64_MAX);
        }
    }
    if (groups->total == 0)
        return gn_fail(ctx, GERNE_EUSAGE, "all counts are zero");
    for (uint32_t y = 0; y < groups->classes; y++)
        if (groups->class_counts[y] == 0) {
            gn_fail(ctx, GERNE_EUSAGE, "class y=%u has no samples", y);
            gn_hint(ctx, "remove the class: a batch has equally many samples of every class");
            return GERNE_EUSAGE;
        }
    return GERNE_OK;
}

gerne_status gerne_groups_from_counts(gerne_ctx *ctx, const int64_t *counts, uint32_t classes,
                                      uint32_t attributes, gerne_groups **out)
{
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_NEEDS(ctx, counts);
    GN_LOCAL(gerne_groups) *groups = NULL;
    GN_TRY(groups_new(ctx, classes, attributes, &groups));
    for (uint32_t y = 0; y < classes; y++)
        for (uint32_t a = 0; a < attributes; a++) {
            int64_t count = counts[gn_group_id(groups, y, a)];
            if (count < 0)
                return gn_fail(ctx, GERNE_EUSAGE, "the count of y=%u, a=%u is negative: %lld", y, a,
                               (long long)count);
            groups->counts[gn_group_id(groups, y, a)] = (uint64_t)count;
        }
    GN_TRY(add_up(ctx, groups));
    return gn_give(&groups, out);
}

static gerne_status count_labels(gerne_ctx *ctx, gerne_groups *groups, const int32_t *y,
                                 const int32_t *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (y[i] < 0 || (uint32_t)y[i] >= groups->classes)
            return gn_fail(ctx, GERNE_EUSAGE, "sample %zu has class %d, outside 0..%u", i, y[i],
                           groups->classes - 1);
        if (a && (a[i] < 0 || (uint32_t)a[i] >= groups->attributes))
            return gn_fail(ctx, GERNE_EUSAGE, "sample %zu has attribute %d, outside 0..%u", i, a[i],
                           groups->attributes - 1);
        groups->counts[gn_group_id(groups, (uint32_t)y[i], a ? (uint32_t)a[i] : 0)]++;
    }
    return add_up(ctx, groups);
}

/* A counting sort: one pass, no memory besides the result. */
static gerne_status index_members(gerne_ctx *ctx, gerne_groups *groups, const int32_t *y,
                                  const int32_t *a, size_t n)
{
    size_t cells = (size_t)groups->classes * groups->attributes;
    GN_TRY(
        gn_alloc(ctx, cells + 1, sizeof *groups->starts, "the index of groups", &groups->starts));
    GN_TRY(gn_alloc(ctx, n, sizeof *groups->members, "the index of groups", &groups->members));
    uint64_t *next = groups->starts; /* shifted by one group while filling */
    for (size_t g = 0; g + 1 < cells; g++)
        next[g + 2] = next[g + 1] + groups->counts[g];
    for (size_t i = 0; i < n; i++) {
        size_t g = gn_group_id(groups, (uint32_t)y[i], a ? (uint32_t)a[i] : 0);
        groups->members[next[g + 1]++] = (uint32_t)i;
    }
    return GERNE_OK;
}

gerne_status gerne_groups_from_labels(gerne_ctx *ctx, const int32_t *y, const int32_t *a, size_t n,
                                      uint32_t classes, uint32_t attributes, gerne_groups **out)
{
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_NEEDS(ctx, y);
    if (n == 0)
        return gn_fail(ctx, GERNE_EUSAGE, "no samples");
    if (n > UINT32_MAX)
        return gn_fail(ctx, GERNE_EUSAGE, "%zu samples are more than %u", n, UINT32_MAX);
    if (classes < 2)
        return gn_fail(ctx, GERNE_EUSAGE, "there is only one class; classification takes two");
    if (!a && attributes != 1)
        return gn_fail(ctx, GERNE_EUSAGE, "%u attributes, but no attribute of any sample",
                       attributes);
    GN_LOCAL(gerne_groups) *groups = NULL;
    GN_TRY(groups_new(ctx, classes, attributes, &groups));
    GN_TRY(count_labels(ctx, groups, y, a, n));
    GN_TRY(index_members(ctx, groups, y, a, n));
    return gn_give(&groups, out);
}

static gerne_status copy_names(gerne_ctx *ctx, gn_arena *arena, const char *const *names,
                               uint32_t count, const char ***out)
{
    *out = NULL;
    if (!names)
        return GERNE_OK;
    const char **copies;
    GN_TRY(gn_arena_alloc(ctx, arena, count, sizeof *copies, &copies));
    for (uint32_t i = 0; i < count; i++) {
        GN_NEEDS(ctx, names[i]);
        GN_TRY(gn_arena_copy_text(ctx, arena, names[i], &copies[i]));
    }
    *out = copies;
    return GERNE_OK;
}

gerne_status gerne_groups_set_names(gerne_ctx *ctx, gerne_groups *groups,
                                    const char *const *class_names,
                                    const char *const *attribute_names)
{
    GN_NEEDS(ctx, groups);
    GN_TRY(copy_names(ctx, groups->arena, class_names, groups->classes, &groups->class_names));
    return copy_names(ctx, groups->arena, attribute_names, groups->attributes,
                      &groups->attribute_names);
}

void gerne_groups_keep_empty(gerne_groups *groups, bool keep)
{
    if (groups)
        groups->keep_empty = keep;
}

uint32_t gerne_groups_classes(const gerne_groups *groups)
{
    return groups ? groups->classes : 0;
}

uint32_t gerne_groups_attributes(const gerne_groups *groups)
{
    return groups ? groups->attributes : 0;
}

uint64_t gerne_groups_total(const gerne_groups *groups)
{
    return groups ? groups->total : 0;
}

static bool has_group(const gerne_groups *groups, uint32_t y, uint32_t a)
{
    return groups && y < groups->classes && a < groups->attributes;
}

uint64_t gerne_groups_count(const gerne_groups *groups, uint32_t y, uint32_t a)
{
    return has_group(groups, y, a) ? groups->counts[gn_group_id(groups, y, a)] : 0;
}

double gerne_groups_alpha(const gerne_groups *groups, uint32_t y, uint32_t a)
{
    return has_group(groups, y, a)
               ? (double)gerne_groups_count(groups, y, a) / (double)groups->class_counts[y]
               : NAN;
}

const char *gn_class_text(const gerne_groups *groups, uint32_t y, char *buffer)
{
    if (groups->class_names)
        snprintf(buffer, GN_GROUP_TEXT, "y=%.60s", groups->class_names[y]);
    else
        snprintf(buffer, GN_GROUP_TEXT, "y=%u", y);
    gn_mend_end(buffer);
    return buffer;
}

const char *gn_group_text(const gerne_groups *groups, uint32_t y, uint32_t a, char *buffer)
{
    gn_class_text(groups, y, buffer);
    size_t used = strlen(buffer);
    if (groups->attribute_names)
        snprintf(buffer + used, GN_GROUP_TEXT - used, ", a=%.60s", groups->attribute_names[a]);
    else
        snprintf(buffer + used, GN_GROUP_TEXT - used, ", a=%u", a);
    gn_mend_end(buffer);
    return buffer;
}

uint64_t gn_groups_empty(const gerne_groups *groups)
{
    uint64_t empty = 0;
    for (uint32_t y = 0; y < groups->classes; y++)
        empty += groups->attributes - groups->present[y];
    return empty;
}

void gn_groups_warn_empty(gerne_ctx *ctx, const gerne_groups *groups)
{
    uint64_t empty = gn_groups_empty(groups);
    if (empty == 0)
        return;
    size_t cells = (size_t)groups->classes * groups->attributes, first = 0;
    while (groups->counts[first])
        first++;
    char text[GN_GROUP_TEXT];
    gn_group_text(groups, (uint32_t)(first / groups->attributes),
                  (uint32_t)(first % groups->attributes), text);
    gn_warn(ctx, "%llu of %zu groups have no samples (the first is %s); %s",
            (unsigned long long)empty, cells, text,
            groups->keep_empty ? "the formulas still count them"
                               : "each class is balanced over the groups that it has");
}
