/* bounds.c - `gerne bounds`: the arithmetic of the method for a table of counts. */
#include <math.h>

#include "cli/client.h"
#include "cli/counts.h"
#include "debias/describe.h"
#include "debias/groups.h"
#include "debias/line.h"

typedef struct bounds_options {
    const char *counts, *target;
    double c, beta;
    bool keep_empty;
} bounds_options;

static const gn_option table[] = {
    {"counts", GN_TEXT, offsetof(bounds_options, counts), .flags = GN_REQUIRED,
     .help = "samples per group: classes separated by ';', attributes by ','"},
    {"c", GN_REAL, offsetof(bounds_options, c), .fallback = "0.5", .min = 0, .max = 1,
     .flags = GN_OPEN_MIN,
     .help = "how far the less biased batch moves from the data to balanced groups"},
    {"beta", GN_REAL, offsetof(bounds_options, beta), .min = -1e6, .max = 1e6,
     .help = "extrapolation factor whose effect is shown"},
    {"target", GN_TEXT, offsetof(bounds_options, target), .fallback = "uniform",
     .help = "what counts as balance in a class: uniform, equal groups; marginal, the attributes "
             "of all classes together; or shares, 0.7,0.3, of each class 0.7,0.3;0.5,0.5"},
    {"keep-empty", GN_BOOL, offsetof(bounds_options, keep_empty), .fallback = "false",
     .help = "count empty groups in the formulas, exactly as in the paper"},
};

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 1, sizeof(bounds_options), &cli->options));
    return gn_config_add(cli->ctx, cli->config, "", "Bounds", table, sizeof table / sizeof table[0],
                         cli->options);
}

/* ---- text ---- */

static gerne_status print_law(gn_cli *cli, const gerne_groups *groups, gerne_law law)
{
    const bounds_options *given = cli->options;
    double *p;
    size_t cells = (size_t)gerne_groups_classes(groups) * gerne_groups_attributes(groups);
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, cells, sizeof *p, &p));
    GN_TRY(gerne_law_fill(cli->ctx, groups, law, given->c, given->beta, p));
    return gn_print_shares(cli->ctx, groups, p, &cli->output);
}

/* Classes that could go further than the tightest one. */
static gerne_status print_classes(gn_cli *cli, const gerne_groups *groups, double tightest)
{
    enum { SHOWN = 8 };
    uint32_t classes = gerne_groups_classes(groups), shown = 0;
    for (uint32_t y = 0; y < classes && shown < SHOWN; y++) {
        gn_s_bounds own = gn_s_bounds_of_class(groups, y);
        if (own.upper <= tightest * (1 + 1e-6))
            continue;
        GN_TRY(
            gn_text_add(cli->ctx, &cli->output, "%s y=%u ",
                        shown++ ? "," : "The largest s of single classes (method.s_by_class):", y));
        GN_TRY(own.binds ? gn_text_add(cli->ctx, &cli->output, "%.4f", own.upper)
                         : gn_text_add(cli->ctx, &cli->output, "any"));
    }
    return shown ? gn_text_add(cli->ctx, &cli->output, ".\n") : GERNE_OK;
}

static gerne_status print_range(gn_cli *cli, const gerne_groups *groups, const gerne_bounds *b)
{
    const bounds_options *given = cli->options;
    gn_text *out = &cli->output;
    if (gerne_groups_attributes(groups) == 1)
        return gn_text_add(
            cli->ctx, out,
            "\nThere is only one attribute value: no group can be under-represented in its class,\n"
            "so c and beta change nothing and no bound exists.\n");
    if (!b->binds && !isfinite(b->beta_balanced))
        return gn_text_add(cli->ctx, out,
                           "\nWith a c this small the less biased batch is the data, and every "
                           "beta is allowed.\n");
    if (!b->binds)
        return gn_text_add(
            cli->ctx, out,
            groups->target
                ? "\nEvery class has the shares of the target: c and beta change nothing,\n"
                  "so no bound exists.\n"
                : "\nEvery class is balanced over the groups that have samples: c and beta "
                  "change nothing,\n"
                  "so no bound exists.\n");
    double alpha = gerne_groups_alpha(groups, b->y, b->a);
    GN_TRY(gn_text_add(
        cli->ctx, out,
        "\nUseful values of beta for c = %g, and of s = c (1 + beta), on which the expected loss "
        "depends:\n"
        "        beta         s\n"
        "  %10.6f  %8.6f  no debiasing: the groups of the data, classes balanced\n"
        "  %10.6f  %8.6f  the less biased batch alone\n"
        "  %10.6f  %8.6f  %s (1/c - 1)\n"
        "  %10.6f  %8.6f  the maximum: group y=%u, a=%u, %.2f %% of its class, has weight 0;\n"
        "                        beyond it training would increase that group's loss without "
        "bound\n"
        "Below -1, down to %.6f, training would be more biased than the data.\n"
        "A smaller c allows a larger beta: c (beta + 1) may be at most %.6f.\n",
        given->c, -1.0, 0.0, 0.0, given->c, b->beta_balanced, 1.0,
        groups->target ? "balance: the groups of a class have the shares of the target"
                       : "balance: all groups of a class have the same weight",
        b->beta_max, gn_s_of(given->c, b->beta_max), b->y, b->a, 100 * alpha, b->lower,
        gn_s_of(given->c, b->beta_max)));
    return print_classes(cli, groups, gn_s_of(given->c, b->beta_max));
}

static gerne_status print_beta(gn_cli *cli, const gerne_groups *groups, const gerne_bounds *b)
{
    const bounds_options *given = cli->options;
    gn_text *out = &cli->output;
    GN_TRY(gn_text_add(
        cli->ctx, out,
        "\nWith beta = %g training acts as if the classes had these group shares (p_ext):\n",
        given->beta));
    GN_TRY(print_law(cli, groups, GERNE_LAW_EXTRAPOLATED));
    const char *verdict =
        !b->binds                         ? "nothing binds"
        : given->beta > b->upper          ? "too large: a share above is negative"
        : given->beta < b->lower          ? "too small: a share above is negative"
        : given->beta < -1                ? "allowed, but more biased than the data"
        : given->beta < b->beta_balanced  ? "allowed; the small groups still weigh less"
        : given->beta == b->beta_balanced ? "allowed; balanced"
                                          : "allowed; the small groups weigh more than the large";
    return gn_text_add(cli->ctx, out, "beta = %g, s = %g: %s.\n", given->beta,
                       gn_s_of(given->c, given->beta), verdict);
}

static gerne_status print_text(gn_cli *cli, const gerne_groups *groups, bool with_beta)
{
    const bounds_options *given = cli->options;
    gerne_bounds bounds;
    GN_TRY(gerne_bounds_of(cli->ctx, groups, given->c, &bounds));
    GN_TRY(gn_text_add(
        cli->ctx, &cli->output,
        "%llu sample%s in %u class%s (y) and %u attribute value%s (a); each cell is a group:\n"
        "its samples, and its share of the class (alpha)\n",
        (unsigned long long)gerne_groups_total(groups), gerne_groups_total(groups) == 1 ? "" : "s",
        gerne_groups_classes(groups), gerne_groups_classes(groups) == 1 ? "" : "es",
        gerne_groups_attributes(groups), gerne_groups_attributes(groups) == 1 ? "" : "s"));
    GN_TRY(gn_print_groups(cli->ctx, groups, &cli->output));
    GN_TRY(gn_text_add(cli->ctx, &cli->output,
                       "\nThe less biased batch for c = %g, per class (p_lb)\n", given->c));
    GN_TRY(print_law(cli, groups, GERNE_LAW_LESS_BIASED));
    GN_TRY(print_range(cli, groups, &bounds));
    return with_beta ? print_beta(cli, groups, &bounds) : GERNE_OK;
}

static gerne_status print(gn_cli *cli, gerne_groups *groups)
{
    const bounds_options *given = cli->options;
    gerne_groups_keep_empty(groups, given->keep_empty);
    gn_groups_warn_empty(cli->ctx, groups);
    GN_TRY(gerne_groups_set_target(cli->ctx, groups, given->target));
    bool with_beta = gn_config_origin(cli->config, "beta") != GN_UNSET;
    if (!cli->json)
        return print_text(cli, groups, with_beta);
    char *out = NULL;
    gerne_status status =
        gerne_bounds_json(cli->ctx, groups, given->c, with_beta ? &given->beta : NULL, &out);
    return gn_output_text(cli, status, out);
}

static gerne_status run(gn_cli *cli)
{
    const bounds_options *given = cli->options;
    gn_counts counts = {0};
    gerne_groups *groups = NULL;
    gerne_status status = gn_parse_counts(cli->ctx, "counts", given->counts, &counts);
    if (status == GERNE_OK)
        status =
            gerne_groups_from_counts(cli->ctx, counts.items, counts.rows, counts.columns, &groups);
    if (status == GERNE_OK)
        status = print(cli, groups);
    gerne_groups_close(groups);
    gn_free(counts.items);
    return status;
}

const gn_command gn_command_bounds = {
    .name = "bounds",
    .arguments = "",
    .summary = "Show how far GERNE may extrapolate for a table of group sizes",
    .help =
        "GERNE draws two batches per step: a biased one with the group shares of the data, and a\n"
        "less biased one that moves by the fraction c towards balanced groups. It extrapolates\n"
        "beyond the second by the factor beta. This command shows which beta makes sense.\n"
        "\n"
        "  gerne bounds --counts \"3498,184;56,1057\" --c 0.5 --beta 2\n",
    .max_arguments = 0,
    .setup = setup,
    .run = run,
};
