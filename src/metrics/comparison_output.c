/* comparison_output.c - a comparison as JSON for programs and as lines for people. */
#include "metrics/comparison.h"
#include "metrics/metrics.h"

static json_t *pairs_json(const gn_comparison *c)
{
    json_t *list = json_array();
    for (int32_t y = 0; y < c->classes; y++)
        for (int32_t a = 0; a < c->attributes; a++) {
            const gn_pairs *pairs = &c->groups[(size_t)y * (size_t)c->attributes + (size_t)a];
            json_array_append_new(list, json_pack("{s:i, s:i, s:I, s:I, s:I, s:I}", "y", (int)y,
                                                  "a", (int)a, "both", (json_int_t)pairs->both,
                                                  "only_first", (json_int_t)pairs->only_first,
                                                  "only_second", (json_int_t)pairs->only_second,
                                                  "neither", (json_int_t)pairs->neither));
        }
    return list;
}

json_t *gn_comparison_json(const gn_comparison *comparison)
{
    const gn_comparison *c = comparison;
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:{s:I, s:I, s:o}, s:o}", "wga_difference",
        gn_json_number(c->wga_difference), "wga_difference_ci95", gn_json_interval(c->wga_ci95),
        "gba_difference", gn_json_number(c->gba_difference), "gba_difference_ci95",
        gn_json_interval(c->gba_ci95), "acc_avg_difference", gn_json_number(c->acc_difference),
        "gap_samples", (json_int_t)c->gap_samples, "resamples", (json_int_t)c->resamples, "mcnemar",
        "only_first", (json_int_t)c->all.only_first, "only_second", (json_int_t)c->all.only_second,
        "p", gn_json_number(c->mcnemar), "groups", pairs_json(c));
}

static gerne_status print_difference(gerne_ctx *ctx, const char *name, double value,
                                     gn_interval interval, gn_text *out)
{
    const char *verdict = interval.lo > 0   ? "better"
                          : interval.hi < 0 ? "worse"
                                            : "no significant difference";
    return gn_text_add(ctx, out, "  %-14s  %+7.2f  %+7.2f to %+7.2f  %s\n", name, 100 * value,
                       100 * interval.lo, 100 * interval.hi, verdict);
}

gerne_status gn_comparison_print(gerne_ctx *ctx, const gn_comparison *comparison, const char *first,
                                 const char *second, gn_text *out)
{
    const gn_comparison *c = comparison;
    GN_TRY(gn_text_add(ctx, out, "%s minus %s, in points, with 95%% intervals:\n", first, second));
    GN_TRY(print_difference(ctx, "WGA difference", c->wga_difference, c->wga_ci95, out));
    GN_TRY(print_difference(ctx, "GBA difference", c->gba_difference, c->gba_ci95, out));
    if (c->wga_difference != 0)
        GN_TRY(
            gn_text_add(ctx, out,
                        "  gap = %llu sample%s: as many more correct predictions would bring the "
                        "%s file's WGA up to the other's\n",
                        (unsigned long long)c->gap_samples, c->gap_samples == 1 ? "" : "s",
                        c->wga_difference > 0 ? "second" : "first"));
    GN_TRY(gn_text_add(ctx, out,
                       "  only the first is correct on %llu sample%s, only the second on %llu "
                       "(McNemar p = %.3g)\n",
                       (unsigned long long)c->all.only_first, c->all.only_first == 1 ? "" : "s",
                       (unsigned long long)c->all.only_second, c->mcnemar));
    return gn_text_add(ctx, out, "  %llu paired resamples within the groups\n",
                       (unsigned long long)c->resamples);
}
