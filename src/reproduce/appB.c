/* appB.c - appendix B: GERNE beside sampling and weighting, drawn and derived. */
#include "reproduce/reproduction.h"
#include "reproduce/variance.h"

enum { DRAWS = 2000 };

static gerne_status add_row(gn_reproduction *r, gn_sheet *sheet, double c, double beta)
{
    gn_variance_check k;
    GN_TRY(gn_variance_measure(r->ctx, c, beta, DRAWS, &k));
    const double figures[] = {k.expected,
                              k.gerne_mean,
                              k.sw_mean,
                              k.gerne,
                              k.derived.independent,
                              k.shared,
                              k.derived.shared,
                              k.sw,
                              k.derived.weighted,
                              k.derived.least};
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, c, 2));
    GN_TRY(gn_sheet_add_number(r->ctx, sheet, beta, 2));
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        GN_TRY(gn_sheet_add_number(r->ctx, sheet, figures[i], 3));
    return gn_sheet_add(r->ctx, sheet, gn_variance_agrees(&k) ? "yes" : "no");
}

/* From balance, 1/c - 1, to where the aligned samples vanish, 2/c - 1. */
gerne_status gn_reproduce_appB(gn_reproduction *r)
{
    static const char *const columns[] = {"c",       "beta",      "expected loss", "GERNE",
                                          "SW",      "var GERNE", "derived",       "var shared",
                                          "derived", "var SW",    "derived",       "paper's bound",
                                          "agree"};
    static const double cs[] = {0.5, 1};
    if (!r->check) {
        GN_TRY(gn_sheet_new(r->ctx, r->arena, "Appendix B: expectation and variance", columns,
                            sizeof columns / sizeof columns[0], &r->check));
        r->check->note =
            "Two classes, two attributes, 99.5 % aligned; 2,000 batches of 100 per class drawn by "
            "the "
            "samplers that train. Losses: expected under the extrapolated law, and the means over "
            "draws. Variances with the minority fitted, in units of that of a batch of aligned "
            "samples: GERNE with independent batches, with shared majority samples, and SW. agree: "
            "means within 1 %, variances within 15 %, none below the paper's bound.";
        for (size_t i = 0; i < 2; i++)
            for (int k = 0; k <= 2; k++)
                GN_TRY(add_row(r, r->check, cs[i], (1 + k / 2.0) / cs[i] - 1));
    }
    r->sheets[r->sheet_count++] = r->check;
    return GERNE_OK;
}
