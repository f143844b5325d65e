/* own_trainer.c - GERNE inside somebody else's training loop, with nothing but gerne.h.
 *
 * The loop below trains a logistic regression on two numbers: a weak one that really tells the
 * classes apart, and a strong one that comes from the attribute, which agrees with the class in 98
 * % of the training samples. All that GERNE adds to such a loop is the choice of the samples of a
 * step and their signed weights.
 *
 *     cc own_trainer.c $(pkg-config --cflags --libs gerne) -lm
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <gerne.h>

enum { N = 4000, STEPS = 600, PER_CLASS = 50 };

typedef struct data {
    int32_t y[N], a[N];
    double x[N][2];
} data;

/* A small generator of its own: uniform in [0, 1). */
static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 33) / 2147483648.0;
}

static double noise(uint64_t *state)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += uniform(state);
    return sum - 6;
}

static void make(data *d)
{
    uint64_t state = 1;
    for (int i = 0; i < N; i++) {
        d->y[i] = uniform(&state) < 0.5;
        d->a[i] = uniform(&state) < 0.98 ? d->y[i] : 1 - d->y[i];
        d->x[i][0] = (d->y[i] ? 1 : -1) + noise(&state);       /* weak, and true */
        d->x[i][1] = (d->a[i] ? 2 : -2) + 0.5 * noise(&state); /* strong, and only the attribute */
    }
}

/* The lowest accuracy over the four groups. */
static double worst_group(const data *d, const double w[3])
{
    int right[4] = {0}, all[4] = {0};
    for (int i = 0; i < N; i++) {
        int g = 2 * d->y[i] + d->a[i];
        all[g]++;
        right[g] += (w[0] * d->x[i][0] + w[1] * d->x[i][1] + w[2] > 0) == d->y[i];
    }
    double worst = 1;
    for (int g = 0; g < 4; g++)
        worst = fmin(worst, all[g] ? (double)right[g] / all[g] : 1);
    return worst;
}

/* Trains with one beta; -1 is ordinary training with balanced classes. */
static gerne_status train(gerne_ctx *ctx, const data *d, const gerne_groups *groups, double beta,
                          double *worst)
{
    const gerne_sampler_options options = {
        .seed = 0, .per_class = PER_CLASS, .c = 0.5, .beta = beta};
    gerne_sampler *sampler = NULL;
    gerne_batch *batch = NULL;
    double w[3] = {0};
    gerne_status status = gerne_check_beta(ctx, groups, options.c, beta, 0);
    if (status == GERNE_OK)
        status = gerne_sampler_new(ctx, groups, &options, &sampler);
    if (status == GERNE_OK)
        status = gerne_batch_new(ctx, &batch);
    for (uint64_t step = 0; step < STEPS && status == GERNE_OK; step++) {
        status = gerne_sampler_draw(ctx, sampler, GERNE_DRAW_EXTRAPOLATED, step, batch);
        double gradient[3] = {0};
        for (size_t k = 0; status == GERNE_OK && k < gerne_batch_size(batch); k++) {
            uint32_t i = gerne_batch_samples(batch)[k];
            double z = w[0] * d->x[i][0] + w[1] * d->x[i][1] + w[2];
            double error = (1 / (1 + exp(-z)) - d->y[i]) * (double)gerne_batch_weights(batch)[k];
            gradient[0] += error * d->x[i][0];
            gradient[1] += error * d->x[i][1];
            gradient[2] += error;
        }
        for (int j = 0; j < 3; j++)
            w[j] -= 0.2 * gradient[j];
    }
    *worst = worst_group(d, w);
    gerne_batch_close(batch);
    gerne_sampler_close(sampler);
    return status;
}

static gerne_status compare(gerne_ctx *ctx, const data *d, double *plain, double *debiased)
{
    gerne_groups *groups;
    gerne_bounds bounds;
    gerne_status status = gerne_groups_from_labels(ctx, d->y, d->a, N, 2, 2, &groups);
    if (status != GERNE_OK)
        return status;
    status = gerne_bounds_of(ctx, groups, 0.5, &bounds);
    if (status == GERNE_OK) {
        printf("beta may be up to %.3f; all groups weigh the same at %.3f\n", bounds.beta_max,
               bounds.beta_balanced);
        status = train(ctx, d, groups, -1, plain);
    }
    if (status == GERNE_OK)
        status = train(ctx, d, groups, bounds.beta_balanced, debiased);
    gerne_groups_close(groups);
    return status;
}

int main(void)
{
    static data d;
    double plain = 0, debiased = 0;
    gerne_ctx *ctx;
    if (gerne_ctx_new(&ctx) != GERNE_OK)
        return EXIT_FAILURE;
    make(&d);
    gerne_status status = compare(ctx, &d, &plain, &debiased);
    if (status != GERNE_OK)
        fprintf(stderr, "%s\n%s\n", gerne_message(ctx), gerne_hint(ctx));
    else
        printf("worst group: %.1f %% with ordinary training, %.1f %% with GERNE\n", 100 * plain,
               100 * debiased);
    gerne_ctx_close(ctx);
    return status == GERNE_OK && debiased > plain ? EXIT_SUCCESS : EXIT_FAILURE;
}
