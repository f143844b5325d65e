#include "debias/missing.h"

#include <stdio.h>
#include <string.h>

bool gn_missing_take(gn_missing *missing, const char *y, const char **a)
{
    bool no_y = y && !*y, no_a = *a && !**a;
    missing->rows++;
    missing->without_y += no_y;
    missing->without_a += no_a;
    if (no_a && missing->rule == GN_MISSING_GROUP)
        *a = GN_MISSING_NAME;
    bool used = !no_y && !(no_a && missing->rule != GN_MISSING_GROUP);
    missing->dropped += !used;
    return used;
}

/* "5,000" */
typedef struct count_text {
    char text[32];
} count_text;

static count_text show(uint64_t count)
{
    char digits[24];
    count_text out = {""};
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count), at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out.text[at++] = ',';
        out.text[at++] = digits[i];
    }
    return out;
}

static gerne_status refuse(gerne_ctx *ctx, const gn_missing *missing, const char *file,
                           uint64_t count, const char *column)
{
    return gn_fail(ctx, GERNE_EDATA, "%s%s%s of %s row%s %s no '%s'", file ? file : "",
                   file ? ": " : "", show(count).text, show(missing->rows).text,
                   missing->rows == 1 ? "" : "s", count == 1 ? "has" : "have", column);
}

gerne_status gn_missing_check(gerne_ctx *ctx, const gn_missing *missing, const char *file,
                              const char *y, const char *a, const char *flag)
{
    if (missing->without_y && missing->rule != GN_MISSING_DROP) {
        gerne_status status = refuse(ctx, missing, file, missing->without_y, y);
        gn_hint(ctx, "--%s drop ignores these rows", flag);
        return status;
    }
    if (missing->without_a && missing->rule == GN_MISSING_ERROR) {
        gerne_status status = refuse(ctx, missing, file, missing->without_a, a);
        gn_hint(ctx, "--%s drop ignores these rows, --%s group makes them a group of their own",
                flag, flag);
        return status;
    }
    if (missing->dropped)
        gn_warn(ctx, "%s of %s rows %s ignored: %s class or attribute is missing",
                show(missing->dropped).text, show(missing->rows).text,
                missing->dropped == 1 ? "is" : "are", missing->dropped == 1 ? "its" : "their");
    else if (missing->without_a)
        gn_log(ctx, GERNE_LOG_INFO, "%s of %s rows %s no '%s': the group '%s'",
               show(missing->without_a).text, show(missing->rows).text,
               missing->without_a == 1 ? "has" : "have", a, GN_MISSING_NAME);
    return GERNE_OK;
}
