/* target.c - what balance is: equal shares of the groups of a class, or others. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arguments.h"
#include "base/text.h"
#include "debias/line.h"
#include "debias/target.h"

/* Every class gets the mix of attributes that all of them have together, classes being equally
 * frequent, as far as it has these groups: the attribute then says nothing of the class. */
static void fill_marginal(const gerne_groups *groups, double *target)
{
    for (uint32_t y = 0; y < groups->classes; y++) {
        double *row = target + gn_group_id(groups, y, 0), sum = 0;
        for (uint32_t a = 0; a < groups->attributes; a++) {
            row[a] = 0;
            for (uint32_t k = 0; k < groups->classes && gerne_groups_count(groups, y, a); k++)
                row[a] += gerne_groups_alpha(groups, k, a);
            sum += row[a];
        }
        for (uint32_t a = 0; a < groups->attributes; a++)
            row[a] /= sum;
    }
}

static gerne_status refuse(gerne_ctx *ctx, const char *text)
{
    gn_fail(ctx, GERNE_EUSAGE, "the target '%s' is neither uniform, marginal, nor a list of shares",
            text);
    gn_hint(ctx, "shares of the attributes as 0.7,0.3, or for each class as 0.7,0.3;0.5,0.5");
    return GERNE_EUSAGE;
}

static gerne_status refuse_size(gerne_ctx *ctx, const char *text, uint32_t classes,
                                uint32_t attributes)
{
    gn_fail(ctx, GERNE_EUSAGE,
            "the target '%s' does not have %u share%s, or not one row for each of %u classes", text,
            attributes, attributes == 1 ? "" : "s", classes);
    gn_hint(ctx, "attributes are separated by ',', classes by ';'; one row stands for all classes");
    return GERNE_EUSAGE;
}

/* One row, up to ';' or the end. */
static gerne_status read_row(gerne_ctx *ctx, const char *text, const char **at, uint32_t attributes,
                             double *row, uint32_t *count)
{
    for (*count = 0;; (*at)++) {
        char item[32];
        *at += strspn(*at, " ");
        size_t size = strcspn(*at, ",; ");
        double value;
        snprintf(item, sizeof item, "%.*s", (int)(size < sizeof item ? size : 0), *at);
        if (!gn_parse_double(item, &value)) /* nor is a number that long one */
            return refuse(ctx, text);
        if (*count < attributes)
            row[*count] = value;
        (*count)++;
        *at += size;
        *at += strspn(*at, " ");
        if (**at == ';' || !**at)
            return GERNE_OK;
        if (**at != ',')
            return refuse(ctx, text);
    }
}

static gerne_status read_shares(gerne_ctx *ctx, const char *text, uint32_t classes,
                                uint32_t attributes, double *target)
{
    uint32_t rows = 0, count;
    for (const char *at = text;; at++) {
        if (rows == classes)
            return refuse_size(ctx, text, classes, attributes);
        GN_TRY(read_row(ctx, text, &at, attributes, target + (size_t)rows++ * attributes, &count));
        if (count != attributes)
            return refuse_size(ctx, text, classes, attributes);
        if (!*at)
            break;
    }
    if (rows != 1 && rows != classes)
        return refuse_size(ctx, text, classes, attributes);
    for (uint32_t y = 1; rows == 1 && y < classes; y++)
        memcpy(target + (size_t)y * attributes, target, attributes * sizeof *target);
    return GERNE_OK;
}

static bool is_word(const char *text)
{
    return strcmp(text, "uniform") == 0 || strcmp(text, "marginal") == 0;
}

gerne_status gn_target_check(gerne_ctx *ctx, const char *text, uint32_t classes,
                             uint32_t attributes)
{
    GN_FREED double *target = NULL;
    if (is_word(text))
        return GERNE_OK;
    GN_TRY(gn_alloc(ctx, (size_t)classes * attributes, sizeof *target, "a target", &target));
    return read_shares(ctx, text, classes, attributes, target);
}

gerne_status gerne_groups_set_target(gerne_ctx *ctx, gerne_groups *groups, const char *text)
{
    GN_NEEDS(ctx, groups);
    GN_NEEDS(ctx, text);
    GN_FREED double *target = NULL;
    size_t cells = (size_t)groups->classes * groups->attributes;
    if (strcmp(text, "uniform") != 0) {
        GN_TRY(gn_alloc(ctx, cells, sizeof *target, "a target", &target));
        if (strcmp(text, "marginal") == 0)
            fill_marginal(groups, target);
        else
            GN_TRY(read_shares(ctx, text, groups->classes, groups->attributes, target));
        GN_TRY(gn_check_target(ctx, groups, target));
    }
    gn_free(groups->target);
    groups->target = target;
    target = NULL;
    return GERNE_OK;
}
