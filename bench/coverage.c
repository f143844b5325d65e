/* coverage.c - how often gba_ci95 and wga_ci95 hold the true figure, exactly.
 *
 * usage: bench_coverage
 *
 * For some sizes of groups, every possible outcome is judged once by the metrics of the program;
 * for random true accuracies of the groups the probabilities of the outcomes whose interval holds
 * the true mean (the true least) are summed. No simulation: only the accuracies are drawn.
 */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/rng.h"
#include "metrics/metrics.h"

enum { GROUPS_MAX = 4, DRAWS = 20000 };

typedef struct shape {
    int groups, sizes[GROUPS_MAX];
} shape;

static const shape shapes[] = {
    {1, {20}},         {2, {5, 5}},       {2, {20, 20}},     {2, {40, 40}},     {2, {1, 40}},
    {3, {3, 3, 3}},    {3, {10, 10, 10}}, {4, {1, 1, 1, 1}}, {4, {2, 2, 2, 2}}, {4, {5, 5, 5, 5}},
    {4, {8, 8, 8, 8}}, {4, {2, 2, 8, 8}}, {4, {1, 3, 9, 9}}, {4, {9, 9, 9, 9}},
};

typedef struct outcome {
    gn_interval gba, wga;
} outcome;

static size_t count_outcomes(const shape *s)
{
    size_t count = 1;
    for (int g = 0; g < s->groups; g++)
        count *= (size_t)s->sizes[g] + 1;
    return count;
}

/* How many of each group are right in outcome i. */
static void right_of(const shape *s, size_t i, int *right)
{
    for (int g = 0; g < s->groups; g++) {
        size_t cases = (size_t)s->sizes[g] + 1;
        right[g] = (int)(i % cases);
        i /= cases;
    }
}

/* Groups are attributes of class 0 of two classes. */
static gerne_status judge(gerne_ctx *ctx, const shape *s, size_t i, gn_predictions *p, outcome *out)
{
    int right[GROUPS_MAX] = {0};
    gn_metrics m = {0};
    right_of(s, i, right);
    gn_predictions_clear(p);
    for (int g = 0; g < s->groups; g++)
        for (int n = 0; n < s->sizes[g]; n++)
            GN_TRY(gn_predictions_add(ctx, p, 0, g, n < right[g] ? 0 : 1, NULL));
    GN_TRY(gn_metrics_compute(ctx, p, NULL, &m));
    *out = (outcome){m.gba_ci95, m.wga_ci95};
    gn_metrics_free(&m);
    return GERNE_OK;
}

static bool holds(gn_interval interval, double value)
{
    return interval.lo <= value + 1e-12 && value <= interval.hi + 1e-12;
}

/* The probability that both intervals hold the truth, for one set of true accuracies. */
static void cover(const shape *s, const outcome *outcomes, const double *truth, double *gba,
                  double *wga)
{
    double chance[GROUPS_MAX][64], mean = 0, least = 1;
    for (int g = 0; g < s->groups; g++) {
        int n = s->sizes[g];
        mean += truth[g] / s->groups;
        least = fmin(least, truth[g]);
        for (int k = 0; k <= n; k++)
            chance[g][k] = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) *
                           pow(truth[g], k) * pow(1 - truth[g], n - k);
    }
    *gba = *wga = 0;
    for (size_t i = 0; i < count_outcomes(s); i++) {
        int right[GROUPS_MAX] = {0};
        double probability = 1;
        right_of(s, i, right);
        for (int g = 0; g < s->groups; g++)
            probability *= chance[g][right[g]];
        *gba += holds(outcomes[i].gba, mean) ? probability : 0;
        *wga += holds(outcomes[i].wga, least) ? probability : 0;
    }
}

static void print_coverage(const shape *s, const outcome *outcomes)
{
    double sums[2] = {0}, lowest[2] = {1, 1};
    int below = 0, draws = count_outcomes(s) > 2000 ? DRAWS / 10 : DRAWS;
    for (int d = 0; d < draws; d++) {
        double truth[GROUPS_MAX], found[2];
        gn_stream stream = gn_stream_at(1, GN_RNG_TEST, (uint64_t)d, 0);
        for (int g = 0; g < s->groups; g++)
            truth[g] = gn_random_uniform(&stream);
        cover(s, outcomes, truth, &found[0], &found[1]);
        below += found[0] < 0.95;
        for (int i = 0; i < 2; i++) {
            sums[i] += found[i];
            lowest[i] = fmin(lowest[i], found[i]);
        }
    }
    for (int g = 0; g < GROUPS_MAX; g++)
        printf(g < s->groups ? "%3d" : "   ", s->sizes[g]);
    printf("  %10.2f %10.2f %12.2f   %10.2f %10.2f\n", 100 * sums[0] / draws, 100 * lowest[0],
           100.0 * below / draws, 100 * sums[1] / draws, 100 * lowest[1]);
}

static gerne_status run(gerne_ctx *ctx, const shape *s)
{
    outcome *outcomes;
    gn_predictions p;
    GN_TRY(gn_alloc(ctx, count_outcomes(s), sizeof *outcomes, "outcomes", &outcomes));
    gn_predictions_init(&p, 2, s->groups, false);
    gerne_status status = GERNE_OK;
    for (size_t i = 0; i < count_outcomes(s) && status == GERNE_OK; i++)
        status = judge(ctx, s, i, &p, &outcomes[i]);
    if (status == GERNE_OK)
        print_coverage(s, outcomes);
    gn_predictions_free(&p);
    gn_free(outcomes);
    return status;
}

int main(void)
{
    gerne_ctx *ctx;
    if (gerne_ctx_new(&ctx) != GERNE_OK)
        return 1;
    printf("coverage in %%, over random true accuracies\n");
    printf("groups of       gba: mean     lowest  below 95 in    wga: mean     lowest\n");
    gerne_status status = GERNE_OK;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0] && status == GERNE_OK; i++)
        status = run(ctx, &shapes[i]);
    if (status != GERNE_OK)
        fprintf(stderr, "bench_coverage: %s\n", gerne_message(ctx));
    gerne_ctx_close(ctx);
    return status != GERNE_OK;
}
