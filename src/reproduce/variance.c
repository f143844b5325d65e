#include "reproduce/variance.h"

#include <math.h>

#include "base/memory.h"
#include "base/rng.h"

enum {
    MAJORITY = 20000, /* of each class: large, so that drawing without return does not matter */
    MINORITY = 100,
    PER_CLASS = 100,
    SAMPLES = 2 * (MAJORITY + MINORITY),
    GROUPS = 4,
};

typedef struct bench {
    gerne_ctx *ctx;
    int32_t *y, *a;
    float *losses; /* of aligned samples exponential with mean 1, of others with mean 2 */
    gerne_groups *groups;
    gerne_batch *batch;
    double sum[GROUPS], aligned_variance;
    int draws;
} bench;

static gerne_status fill(bench *b)
{
    gerne_ctx *ctx = b->ctx;
    GN_TRY(gn_alloc(ctx, SAMPLES, sizeof *b->y, "labels", &b->y));
    GN_TRY(gn_alloc(ctx, SAMPLES, sizeof *b->a, "labels", &b->a));
    GN_TRY(gn_alloc(ctx, SAMPLES, sizeof *b->losses, "losses", &b->losses));
    double squares = 0, sum = 0;
    gn_stream stream = gn_stream_at(1, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < SAMPLES; i++) {
        bool aligned = i % (MAJORITY + MINORITY) < MAJORITY;
        b->y[i] = i >= SAMPLES / 2;
        b->a[i] = aligned ? b->y[i] : 1 - b->y[i];
        double loss = -log(1 - gn_random_uniform(&stream)) * (aligned ? 1 : 2);
        b->losses[i] = (float)loss;
        b->sum[2 * b->y[i] + b->a[i]] += loss;
        sum += aligned ? loss : 0;
        squares += aligned ? loss * loss : 0;
    }
    double mean = sum / (2 * MAJORITY);
    b->aligned_variance = squares / (2 * MAJORITY) - mean * mean;
    GN_TRY(gerne_batch_new(ctx, &b->batch));
    return gerne_groups_from_labels(ctx, b->y, b->a, SAMPLES, 2, 2, &b->groups);
}

static double expected_loss(bench *b, const double *law)
{
    double loss = 0;
    for (int g = 0; g < GROUPS; g++) {
        bool aligned = g == 0 || g == 3;
        loss += 0.5 * law[g] * b->sum[g] / (aligned ? MAJORITY : MINORITY);
    }
    return loss;
}

/* Mean of the loss over draws, and its variance when the minority is fitted. group_weights is NULL
 * for GERNE, whose batches carry their weights. */
static gerne_status draw(bench *b, const gerne_sampler *sampler, const double *group_weights,
                         double *mean, double *variance)
{
    double all = 0, sum = 0, squares = 0;
    for (int step = 0; step < b->draws; step++) {
        double loss = 0, fitted = 0;
        GN_TRY(gerne_sampler_draw(b->ctx, sampler,
                                  group_weights ? GERNE_DRAW_LESS_BIASED : GERNE_DRAW_EXTRAPOLATED,
                                  (uint64_t)step, b->batch));
        const uint32_t *samples = gerne_batch_samples(b->batch);
        const float *weights = gerne_batch_weights(b->batch);
        for (size_t i = 0; i < gerne_batch_size(b->batch); i++) {
            uint32_t s = samples[i];
            double w = weights[i];
            if (group_weights)
                w *= group_weights[2 * b->y[s] + b->a[s]];
            loss += w * b->losses[s];
            fitted += b->y[s] == b->a[s] ? w * b->losses[s] : 0;
        }
        all += loss;
        sum += fitted;
        squares += fitted * fitted;
    }
    double n = b->draws, centre = sum / n;
    *mean = all / n;
    *variance = (squares / n - centre * centre) * n / (n - 1);
    /* A batch of both classes has 2 PER_CLASS samples. */
    *variance /= b->aligned_variance / (2 * PER_CLASS);
    return GERNE_OK;
}

static gerne_status measure(bench *b, double c, double beta, bool share,
                            const double *group_weights, double *mean, double *variance)
{
    gerne_sampler *sampler;
    const gerne_sampler_options options = {
        .seed = 7, .per_class = PER_CLASS, .c = c, .beta = beta, .share_majority = share};
    GN_TRY(gerne_sampler_new(b->ctx, b->groups, &options, &sampler));
    gerne_status status = draw(b, sampler, group_weights, mean, variance);
    gerne_sampler_close(sampler);
    return status;
}

static gerne_status check(bench *b, gn_variance_check *out)
{
    double c = out->c, beta = out->beta;
    double law[GROUPS], weights[GROUPS], ignored;
    GN_TRY(fill(b));
    GN_TRY(gerne_law_fill(b->ctx, b->groups, GERNE_LAW_EXTRAPOLATED, c, beta, law));
    GN_TRY(gn_weights_of(b->ctx, b->groups, c, beta, weights));
    out->expected = expected_loss(b, law);
    GN_TRY(measure(b, c, beta, false, NULL, &out->gerne_mean, &out->gerne));
    GN_TRY(measure(b, c, beta, true, NULL, &ignored, &out->shared));
    GN_TRY(measure(b, c, beta, false, weights, &out->sw_mean, &out->sw));
    out->derived = gn_variances_of(c, beta);
    return GERNE_OK;
}

gerne_status gn_variance_measure(gerne_ctx *ctx, double c, double beta, int draws,
                                 gn_variance_check *out)
{
    bench b = {.ctx = ctx, .draws = draws};
    *out = (gn_variance_check){.c = c, .beta = beta};
    gerne_status status = check(&b, out);
    gerne_batch_close(b.batch);
    gerne_groups_close(b.groups);
    gn_free(b.y);
    gn_free(b.a);
    gn_free(b.losses);
    return status;
}

static bool near(double measured, double derived)
{
    return fabs(measured - derived) <= fmax(0.15 * derived, 0.02);
}

bool gn_variance_agrees(const gn_variance_check *k)
{
    return fabs(k->gerne_mean - k->expected) <= 0.01 * k->expected &&
           fabs(k->sw_mean - k->expected) <= 0.01 * k->expected &&
           near(k->gerne, k->derived.independent) && near(k->shared, k->derived.shared) &&
           near(k->sw, k->derived.weighted) && k->gerne >= 0.85 * k->derived.least &&
           k->shared >= 0.85 * k->derived.least;
}
