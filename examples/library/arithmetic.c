/* arithmetic.c - groups, laws, bounds, draws and pseudo-attributes, without any training. Needs the
 * small library alone.
 *
 *     cc arithmetic.c $(pkg-config --cflags --libs gerne-core)
 */
#include <stdio.h>
#include <stdlib.h>

#include <gerne.h>

static gerne_ctx *ctx;

static void check(gerne_status status)
{
    if (status == GERNE_OK)
        return;
    fprintf(stderr, "%s\n%s\n", gerne_message(ctx), gerne_hint(ctx));
    exit(EXIT_FAILURE);
}

/* Waterbirds, from the sizes of its groups. */
static void from_counts(void)
{
    static const int64_t counts[] = {3498, 184, 56, 1057};
    const char *const birds[] = {"landbird", "waterbird"}, *const places[] = {"land", "water"};
    const double c = 0.5, beta = 1;
    gerne_groups *groups;
    gerne_bounds bounds;
    gerne_bias bias = {.size = sizeof bias};
    double p[4], target;
    char *text;
    check(gerne_groups_from_counts(ctx, counts, 2, 2, &groups));
    check(gerne_groups_set_names(ctx, groups, birds, places));
    gerne_groups_keep_empty(groups, false);
    check(gerne_audit(ctx, groups, GERNE_TEXT, &text));
    puts(text);
    gerne_free(text);
    check(gerne_bias_of(ctx, groups, &bias));
    printf("Cramer's V %.3f, %s\n", bias.cramers_v,
           bias.verdict == GERNE_UNBIASED ? "nothing to do" : "biased");
    printf("%u classes, %u attributes\n", gerne_groups_classes(groups),
           gerne_groups_attributes(groups));
    for (uint32_t y = 0; y < 2; y++)
        for (uint32_t a = 0; a < 2; a++)
            printf("%s on %s: %llu of %llu, alpha %.4f\n", birds[y], places[a],
                   (unsigned long long)gerne_groups_count(groups, y, a),
                   (unsigned long long)gerne_groups_total(groups),
                   gerne_groups_alpha(groups, y, a));
    check(gerne_bounds_of(ctx, groups, c, &bounds));
    check(gerne_check_beta(ctx, groups, c, beta, 0));
    check(gerne_law_fill(ctx, groups, GERNE_LAW_EXTRAPOLATED, c, beta, p));
    printf("beta %g of at most %g: shares %g %g, %g %g\n", beta, bounds.beta_max, p[0], p[1], p[2],
           p[3]);
    check(gerne_bounds_json(ctx, groups, c, &beta, &text));
    puts(text);
    gerne_free(text);
    check(gerne_beta_target(ctx, 0.05, 0.9, 0.1, c, 0.5, &target));
    printf("a pseudo-group of 5 %% that holds 90 %% of the attribute: beta %g\n", target);
    check(gerne_groups_set_target(ctx, groups, "marginal"));
    check(gerne_law_fill(ctx, groups, GERNE_LAW_LESS_BIASED, 1, 0, p));
    printf("every class with the places of all birds: shares %g %g\n", p[0], p[1]);
    gerne_groups_close(groups);
}

/* What a step of training sees. */
static void from_labels(void)
{
    static const int32_t y[] = {0, 0, 0, 0, 1, 1, 1, 1}, a[] = {0, 0, 0, 1, 1, 1, 1, 0};
    const gerne_sampler_options options = {.seed = 7, .per_class = 2, .c = 0.5, .beta = 1};
    gerne_groups *groups;
    gerne_sampler *sampler;
    gerne_batch *batch;
    check(gerne_groups_from_labels(ctx, y, a, 8, 2, 2, &groups));
    check(gerne_sampler_new(ctx, groups, &options, &sampler));
    check(gerne_batch_new(ctx, &batch));
    check(gerne_sampler_draw(ctx, sampler, GERNE_DRAW_EXTRAPOLATED, 0, batch));
    for (size_t i = 0; i < gerne_batch_size(batch); i++)
        printf("sample %u: weight %+.3f = 2 x %.3f - %.3f\n", gerne_batch_samples(batch)[i],
               (double)gerne_batch_weights(batch)[i],
               (double)gerne_batch_less_biased_weights(batch)[i],
               (double)gerne_batch_biased_weights(batch)[i]);
    printf("in this very batch beta may be up to %g\n", gerne_batch_realised_bound(batch));
    gerne_batch_close(batch);
    gerne_sampler_close(sampler);
    gerne_groups_close(groups);
}

/* Groups from the scores of a biased model. */
static void from_scores(void)
{
    static const int32_t y[] = {0, 0, 0, 0, 1, 1, 1, 1}, true_a[] = {0, 0, 0, 1, 1, 1, 1, 0};
    static const float scores[] = {0.9f, 0.8f, 0.95f, 0.1f, 0.7f, 0.9f, 0.6f, 0.2f};
    const double t = 0.25;
    int32_t a[8];
    gerne_pseudo *pseudo;
    gerne_pseudo_quality quality;
    check(gerne_pseudo_new(ctx, y, scores, 8, 2, &pseudo));
    check(gerne_pseudo_assign(ctx, pseudo, t, false, a));
    check(gerne_pseudo_judge(ctx, pseudo, true_a, 2, &t, 1, false, &quality));
    printf("%llu hard samples, sample 3 is %s, precision %g, recall %g\n",
           (unsigned long long)quality.hard, a[3] ? "easy" : "hard", quality.precision,
           quality.recall);
    gerne_pseudo_close(pseudo);
}

int main(void)
{
    if (gerne_ctx_new(&ctx) != GERNE_OK)
        return EXIT_FAILURE;
    printf("gerne %s, header %d.%d.%d\n", gerne_version(), GERNE_VERSION_MAJOR, GERNE_VERSION_MINOR,
           GERNE_VERSION_PATCH);
    from_counts();
    from_labels();
    from_scores();
    gerne_ctx_close(ctx);
    return EXIT_SUCCESS;
}
