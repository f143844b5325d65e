#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "debias/bounds.h"
#include "fixtures.h"

/* ---- a small network of its own, in double precision ---- */

enum { INPUTS = 6, HIDDEN = 5, PARAMETERS_MAX = 128 };

typedef struct net {
    uint32_t classes;
    double w[PARAMETERS_MAX]; /* hidden [HIDDEN][INPUTS + 1], output [classes][HIDDEN + 1] */
} net;

static size_t parameter_count(const net *m)
{
    return HIDDEN * (INPUTS + 1) + (size_t)m->classes * (HIDDEN + 1);
}

static void input_of(uint32_t sample, double *x)
{
    gn_stream stream = gn_stream_at(77, GN_RNG_TEST, 1, sample);
    for (int i = 0; i < INPUTS; i++)
        x[i] = gn_random_normal(&stream);
}

/* Adds weight times the gradient of the sample's cross-entropy. */
static void add_gradient(const net *m, uint32_t sample, int32_t label, double weight, double *g)
{
    double x[INPUTS], h[HIDDEN], z[16], dh[HIDDEN] = {0}, sum = 0;
    const double *out = m->w + HIDDEN * (INPUTS + 1);
    double *g_out = g + HIDDEN * (INPUTS + 1);
    input_of(sample, x);
    for (int j = 0; j < HIDDEN; j++) {
        h[j] = m->w[j * (INPUTS + 1) + INPUTS];
        for (int i = 0; i < INPUTS; i++)
            h[j] += m->w[j * (INPUTS + 1) + i] * x[i];
        h[j] = h[j] > 0 ? h[j] : 0;
    }
    for (uint32_t k = 0; k < m->classes; k++) {
        z[k] = out[k * (HIDDEN + 1) + HIDDEN];
        for (int j = 0; j < HIDDEN; j++)
            z[k] += out[k * (HIDDEN + 1) + (uint32_t)j] * h[j];
        sum += z[k] = exp(z[k]);
    }
    for (uint32_t k = 0; k < m->classes; k++) {
        double d = weight * (z[k] / sum - (k == (uint32_t)label));
        g_out[k * (HIDDEN + 1) + HIDDEN] += d;
        for (int j = 0; j < HIDDEN; j++) {
            g_out[k * (HIDDEN + 1) + (uint32_t)j] += d * h[j];
            dh[j] += d * out[k * (HIDDEN + 1) + (uint32_t)j];
        }
    }
    for (int j = 0; j < HIDDEN; j++) {
        if (h[j] <= 0)
            continue;
        g[j * (INPUTS + 1) + INPUTS] += dh[j];
        for (int i = 0; i < INPUTS; i++)
            g[j * (INPUTS + 1) + i] += dh[j] * x[i];
    }
}

static void batch_gradient(const net *m, const fixture *f, const gerne_batch *batch,
                           const float *weights, double factor, double *g)
{
    for (size_t i = 0; i < gerne_batch_size(batch); i++) {
        uint32_t sample = gerne_batch_samples(batch)[i];
        add_gradient(m, sample, f->y[sample], factor * (double)weights[i], g);
    }
}

static net random_net(uint32_t classes)
{
    net m = {.classes = classes};
    gn_stream stream = gn_stream_at(5, GN_RNG_TEST, 0, 0);
    for (size_t i = 0; i < parameter_count(&m); i++)
        m.w[i] = gn_random_normal(&stream) / 2;
    return m;
}

/* One weighted pass over distinct samples is (1 + beta) grad L_lb - beta grad L_b. */
static void check_gradients(fixture *f, bool share, bool rounded)
{
    static const double betas[] = {-1, -0.5, 0, 0.7, 1, 3};
    net m = random_net(f->classes);
    gerne_batch *one = fixture_batch(f), *b = fixture_batch(f), *lb = fixture_batch(f);
    for (size_t i = 0; i < 6; i++) {
        gerne_sampler_options options = {.seed = 3,
                                         .per_class = 130,
                                         .c = 0.5,
                                         .beta = betas[i],
                                         .share_majority = share,
                                         .rounded = rounded};
        gerne_sampler *s = fixture_sampler(f, &options);
        for (uint64_t step = 0; step < 3; step++) {
            fixture_draw(f, s, GERNE_DRAW_EXTRAPOLATED, step, one);
            fixture_draw(f, s, GERNE_DRAW_BIASED, step, b);
            fixture_draw(f, s, GERNE_DRAW_LESS_BIASED, step, lb);
            double g1[PARAMETERS_MAX] = {0}, g2[PARAMETERS_MAX] = {0}, norm = 0, error = 0;
            batch_gradient(&m, f, one, gerne_batch_weights(one), 1, g1);
            batch_gradient(&m, f, b, gerne_batch_weights(b), -betas[i], g2);
            batch_gradient(&m, f, lb, gerne_batch_weights(lb), 1 + betas[i], g2);
            for (size_t j = 0; j < parameter_count(&m); j++) {
                norm += g2[j] * g2[j];
                error += (g1[j] - g2[j]) * (g1[j] - g2[j]);
            }
            assert_true(norm > 1e-6);
            assert_true(sqrt(error / norm) < 1e-6);
            assert_true(gerne_batch_size(one) <= gerne_batch_size(b) + gerne_batch_size(lb));
        }
        gerne_sampler_close(s);
    }
    gerne_batch_close(one);
    gerne_batch_close(b);
    gerne_batch_close(lb);
    fixture_close(f);
}

static void test_one_pass_equals_two(void **state)
{
    (void)state;
    check_gradients(fixture_waterbirds(), false, false);
    check_gradients(fixture_waterbirds(), true, false);
    check_gradients(fixture_cmnist(), false, true); /* rounding makes the sizes differ */
    check_gradients(fixture_cmnist(), true, false);
}

/* Same samples, same weights, same order: bit for bit. */
static void assert_same(const gerne_batch *x, const gerne_batch *y)
{
    size_t size = gerne_batch_size(x);
    assert_int_equal(size, gerne_batch_size(y));
    assert_memory_equal(gerne_batch_samples(x), gerne_batch_samples(y), size * 4);
    assert_memory_equal(gerne_batch_weights(x), gerne_batch_weights(y), size * 4);
}

/* beta = -1 is class-balanced ERM, whatever c and sharing; c = 1 with beta = 0 is Resampling. */
static void test_special_cases(void **state)
{
    (void)state;
    fixture *f = fixture_waterbirds();
    gerne_batch *x = fixture_batch(f), *y = fixture_batch(f);
    gerne_sampler_options options = {.seed = 8, .per_class = 50, .c = 1, .beta = 0};
    gerne_sampler *reference = fixture_sampler(f, &options);
    for (int share = 0; share < 2; share++)
        for (uint64_t step = 0; step < 20; step++) {
            options.share_majority = share == 1;
            options.c = 0.3;
            options.beta = -1;
            gerne_sampler *erm = fixture_sampler(f, &options);
            fixture_draw(f, erm, GERNE_DRAW_EXTRAPOLATED, step, x);
            fixture_draw(f, reference, GERNE_DRAW_BIASED, step, y);
            assert_same(x, y);
            assert_memory_equal(gerne_batch_biased_weights(x), gerne_batch_weights(x),
                                gerne_batch_size(x) * 4);
            assert_true(gerne_batch_less_biased_weights(x)[0] == 0);
            options.c = 1;
            options.beta = 0;
            gerne_sampler *resampling = fixture_sampler(f, &options);
            fixture_draw(f, resampling, GERNE_DRAW_EXTRAPOLATED, step, x);
            fixture_draw(f, reference, GERNE_DRAW_LESS_BIASED, step, y);
            assert_same(x, y);
            gerne_sampler_close(erm);
            gerne_sampler_close(resampling);
        }
    gerne_sampler_close(reference);
    gerne_batch_close(x);
    gerne_batch_close(y);
    fixture_close(f);
}

/* c (beta + 1) = 1: every group of a class weighs the same on average, as in Resampling. And in
 * general the average weight of a group is p_ext / K, those of the two batches p_b / K, p_lb / K.
 */
static void test_expected_weights(void **state)
{
    (void)state;
    fixture *f = fixture_waterbirds();
    enum { DRAWS = 4000 };
    static const double cs[] = {0.5, 0.25, 0.5, 0.8}, betas[] = {1, 3, 2.5, -0.5};
    gerne_batch *batch = fixture_batch(f);
    for (int k = 0; k < 4; k++)
        for (int share = 0; share < 2; share++) {
            gerne_sampler_options options = {.seed = 6,
                                             .per_class = 9,
                                             .c = cs[k],
                                             .beta = betas[k],
                                             .share_majority = share == 1};
            gerne_sampler *s = fixture_sampler(f, &options);
            double sum[3][4] = {{0}}, square[3][4] = {{0}}, p[3][4];
            for (uint64_t step = 0; step < DRAWS; step++) {
                fixture_draw(f, s, GERNE_DRAW_EXTRAPOLATED, step, batch);
                const float *w[3] = {gerne_batch_biased_weights(batch),
                                     gerne_batch_less_biased_weights(batch),
                                     gerne_batch_weights(batch)};
                for (int law = 0; law < 3; law++) {
                    double mass[4] = {0};
                    for (size_t i = 0; i < gerne_batch_size(batch); i++)
                        mass[fixture_group(f, gerne_batch_samples(batch)[i])] += (double)w[law][i];
                    for (int g = 0; g < 4; g++) {
                        sum[law][g] += mass[g];
                        square[law][g] += mass[g] * mass[g];
                    }
                }
            }
            for (int law = 0; law < 3; law++) {
                assert_ok(f->ctx, gerne_law_fill(f->ctx, f->groups, (gerne_law)law, cs[k], betas[k],
                                                 p[law]));
                for (int g = 0; g < 4; g++) {
                    double mean = sum[law][g] / DRAWS;
                    double error = sqrt((square[law][g] / DRAWS - mean * mean) / DRAWS);
                    assert_near(mean, p[law][g] / 2, 5 * error + 1e-6);
                    if (law == 2 && k < 2)
                        assert_near(p[law][g], 0.5, 1e-12);
                }
            }
            gerne_sampler_close(s);
        }
    gerne_batch_close(batch);
    fixture_close(f);
}

/* The setting of appendix B: two balanced classes, a tiny minority whose loss is known already. The
 * majority's loss varies around its mean. */
enum { MAJOR = 40000, MINOR = 20, DRAWS = 12000, PER_CLASS = 40 };

typedef struct setting {
    fixture *f;
    double *loss;    /* [sample] */
    double variance; /* of the majority's loss */
} setting;

static setting appendix_b(double majority_mean, double minority_loss)
{
    setting s = {.f = fixture_new((const int64_t[]){MAJOR, MINOR, MINOR, MAJOR}, 2, 2)};
    s.loss = calloc(s.f->n, sizeof *s.loss);
    gn_stream stream = gn_stream_at(1, GN_RNG_TEST, 2, 0);
    double mean = 0;
    for (uint32_t i = 0; i < s.f->n; i++)
        if (s.f->y[i] == s.f->a[i])
            mean += (s.loss[i] = gn_random_normal(&stream)) / (2 * MAJOR);
    for (uint32_t i = 0; i < s.f->n; i++) {
        bool majority = s.f->y[i] == s.f->a[i];
        if (majority)
            s.variance += (s.loss[i] - mean) * (s.loss[i] - mean) / (2 * MAJOR);
        s.loss[i] = majority ? s.loss[i] - mean + majority_mean : minority_loss;
    }
    return s;
}

static void close_setting(setting *s)
{
    fixture_close(s->f);
    free(s->loss);
}

typedef struct moments {
    double mean;
    double variance; /* in units of that of a mean over one batch of majority samples */
} moments;

/* Of the loss over DRAWS steps: the batch's own weights, or, where weights of the groups are given,
 * one less biased batch weighted by them ("SW"). */
static moments sample_loss(const setting *s, const gerne_sampler_options *options,
                           const double *group_weights)
{
    gerne_sampler *sampler = fixture_sampler(s->f, options);
    gerne_batch *batch = fixture_batch(s->f);
    gerne_draw draw = group_weights ? GERNE_DRAW_LESS_BIASED : GERNE_DRAW_EXTRAPOLATED;
    double sum = 0, square = 0;
    for (uint64_t step = 0; step < DRAWS; step++) {
        fixture_draw(s->f, sampler, draw, step, batch);
        double value = 0;
        for (size_t i = 0; i < gerne_batch_size(batch); i++) {
            uint32_t sample = gerne_batch_samples(batch)[i];
            double w = group_weights ? group_weights[fixture_group(s->f, sample)] / (2 * PER_CLASS)
                                     : (double)gerne_batch_weights(batch)[i];
            value += w * s->loss[sample];
        }
        sum += value;
        square += value * value;
    }
    gerne_batch_close(batch);
    gerne_sampler_close(sampler);
    double unit = s->variance / (2 * PER_CLASS);
    return (moments){sum / DRAWS, (square - sum * sum / DRAWS) / (DRAWS - 1) / unit};
}

/* A variance measured by DRAWS sums of many samples, which are nearly normal, has the relative
 * deviation sqrt(2 / DRAWS): five of them. */
static double tolerance(void)
{
    return 5 * sqrt(2.0 / DRAWS);
}

static const double variance_cs[] = {0.5, 0.5, 1, 0.25}, variance_betas[] = {1, 2, 0.5, 4};

static gerne_sampler_options variance_options(int k, bool share)
{
    return (gerne_sampler_options){.seed = 6,
                                   .per_class = PER_CLASS,
                                   .c = variance_cs[k],
                                   .beta = variance_betas[k],
                                   .share_majority = share};
}

static void test_variances(void **state)
{
    (void)state;
    setting s = appendix_b(0, 0); /* no mean: only the majority's variance counts */
    for (int k = 0; k < 4; k++)
        for (int share = 0; share < 2; share++) {
            gerne_sampler_options options = variance_options(k, share == 1);
            gn_variances theory = gn_variances_of(options.c, options.beta);
            double measured = sample_loss(&s, &options, NULL).variance;
            assert_near(measured / (share ? theory.shared : theory.independent), 1, tolerance());
            assert_true(measured >= theory.least * (1 - tolerance()));
        }
    close_setting(&s);
}

/* One weighted less biased batch ("SW") has the variance of appendix B, below GERNE's. */
static void test_weighted_variances(void **state)
{
    (void)state;
    setting s = appendix_b(0, 0);
    double weights[4];
    for (int k = 0; k < 4; k++) {
        gerne_sampler_options options = variance_options(k, false);
        gn_variances theory = gn_variances_of(options.c, options.beta);
        assert_ok(s.f->ctx, gn_weights_of(s.f->ctx, s.f->groups, options.c, options.beta, weights));
        double measured = sample_loss(&s, &options, weights).variance;
        assert_near(measured / theory.weighted, 1, tolerance());
        assert_true(measured < theory.shared && measured < theory.independent);
    }
    /* At beta = (2 - c) / c SW's vanishes, up to the minority's share; GERNE's does not. */
    gerne_sampler_options edge = {.seed = 6, .per_class = PER_CLASS, .c = 0.5, .beta = 3};
    assert_near(gn_variances_of(edge.c, edge.beta).weighted, 0, 1e-15);
    assert_ok(s.f->ctx, gn_weights_of(s.f->ctx, s.f->groups, edge.c, edge.beta, weights));
    assert_near(sample_loss(&s, &edge, weights).variance, 0, 1e-5);
    assert_true(sample_loss(&s, &edge, NULL).variance >
                gn_variances_of(edge.c, edge.beta).least * (1 - tolerance()));
    close_setting(&s);
}

/* GERNE's loss and SW's have one mean, that of a batch drawn by p_ext. */
static void test_weighted_mean(void **state)
{
    (void)state;
    setting s = appendix_b(0.3, 2);
    double weights[4], law[4];
    for (int k = 0; k < 4; k++) {
        gerne_sampler_options options = variance_options(k, false);
        double c = options.c, beta = options.beta;
        assert_ok(s.f->ctx, gn_weights_of(s.f->ctx, s.f->groups, c, beta, weights));
        assert_ok(s.f->ctx,
                  gerne_law_fill(s.f->ctx, s.f->groups, GERNE_LAW_EXTRAPOLATED, c, beta, law));
        double expected = (0.3 * (law[0] + law[3]) + 2 * (law[1] + law[2])) / 2;
        for (int sw = 0; sw < 2; sw++) {
            moments m = sample_loss(&s, &options, sw ? weights : NULL);
            double error = sqrt(m.variance * s.variance / (2 * PER_CLASS) / DRAWS);
            assert_near(m.mean, expected, 5 * error);
        }
    }
    close_setting(&s);
}

static size_t mean_size(const fixture *f, bool share)
{
    gerne_sampler_options options = {
        .seed = 6, .per_class = 100, .c = 0.5, .beta = 1, .share_majority = share};
    gerne_sampler *s = fixture_sampler(f, &options);
    gerne_batch *batch = fixture_batch(f);
    size_t total = 0;
    for (uint64_t step = 0; step < 50; step++) {
        fixture_draw(f, s, GERNE_DRAW_EXTRAPOLATED, step, batch);
        total += gerne_batch_size(batch);
    }
    gerne_batch_close(batch);
    gerne_sampler_close(s);
    return total / 50;
}

/* Of 2,000 drawn about 1,800 are distinct, and about 1,260 when shared (the design's estimate). */
static void test_coalescing_saves(void **state)
{
    (void)state;
    fixture *f = fixture_cmnist();
    size_t apart = mean_size(f, false), shared = mean_size(f, true);
    assert_true(apart > 1700 && apart < 1850);
    assert_true(shared > 1150 && shared < 1320);
    fixture_close(f);
}

/* Draws that cancel leave the batch: with beta = 1 a sample drawn twice as often in B_b. */
static void test_zero_weights_are_dropped(void **state)
{
    (void)state;
    /* per class 4 of 2 samples: B_b draws each twice; c = 1 halves the majority group. */
    fixture *f = fixture_new((const int64_t[]){2, 1, 2, 1}, 2, 2);
    gerne_sampler_options options = {.seed = 6, .per_class = 6, .c = 1, .beta = 1};
    gerne_sampler *s = fixture_sampler(f, &options);
    gerne_batch *batch = fixture_batch(f);
    bool dropped = false;
    for (uint64_t step = 0; step < 20; step++) {
        /* B_b: every sample twice. B_lb: 3 of 2, 3 of 1. Weights (2 m_lb - 2) / 12. */
        fixture_draw(f, s, GERNE_DRAW_EXTRAPOLATED, step, batch);
        for (size_t i = 0; i < gerne_batch_size(batch); i++)
            assert_true(gerne_batch_weights(batch)[i] != 0);
        dropped = dropped || gerne_batch_size(batch) < 6;
    }
    assert_true(dropped);
    gerne_batch_close(batch);
    gerne_sampler_close(s);
    fixture_close(f);
}

/* The realised bound, from the groups of the two batches themselves. */
static void test_realised_bound(void **state)
{
    (void)state;
    fixture *f = fixture_waterbirds();
    gerne_sampler_options options = {.seed = 6, .per_class = 64, .c = 0.5, .beta = 1};
    gerne_sampler *s = fixture_sampler(f, &options);
    gerne_batch *batch = fixture_batch(f);
    for (uint64_t step = 0; step < 50; step++) {
        double n[2][4] = {{0}}, bound = INFINITY;
        for (int draw = 0; draw < 2; draw++) {
            fixture_draw(f, s, (gerne_draw)draw, step, batch);
            for (size_t i = 0; i < gerne_batch_size(batch); i++)
                n[draw][fixture_group(f, gerne_batch_samples(batch)[i])]++;
        }
        for (int g = 0; g < 4; g++)
            if (n[0][g] > n[1][g])
                bound = fmin(bound, n[1][g] / (n[0][g] - n[1][g]));
        fixture_draw(f, s, GERNE_DRAW_EXTRAPOLATED, step, batch);
        assert_near(gerne_batch_realised_bound(batch), bound, 1e-12);
    }
    gerne_sampler_close(s);
    options.per_class = 2000; /* large batches come near the law's own bound, 3.222 */
    s = fixture_sampler(f, &options);
    fixture_draw(f, s, GERNE_DRAW_EXTRAPOLATED, 0, batch);
    assert_near(gerne_batch_realised_bound(batch), 3.222, 0.2);
    gerne_sampler_close(s);
    options.beta = -1; /* one batch alone has no bound */
    s = fixture_sampler(f, &options);
    fixture_draw(f, s, GERNE_DRAW_EXTRAPOLATED, 0, batch);
    assert_true(isinf(gerne_batch_realised_bound(batch)));
    gerne_sampler_close(s);
    gerne_batch_close(batch);
    fixture_close(f);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    fixture *f = fixture_waterbirds();
    gerne_sampler_options options = {.seed = 6, .per_class = 64, .c = 0.5, .beta = 1};
    for (long n = 1;; n++) {
        gerne_sampler *s = NULL;
        gerne_batch *batch = NULL;
        gn_fail_allocation(n);
        gerne_status status = gerne_sampler_new(f->ctx, f->groups, &options, &s);
        if (status == GERNE_OK)
            status = gerne_batch_new(f->ctx, &batch);
        if (status == GERNE_OK)
            status = gerne_sampler_draw(f->ctx, s, GERNE_DRAW_EXTRAPOLATED, 0, batch);
        gn_fail_allocation(0);
        gerne_batch_close(batch);
        gerne_sampler_close(s);
        if (status == GERNE_OK) {
            assert_true(n > 12);
            break;
        }
        assert_int_equal(status, GERNE_ENOMEM);
    }
    fixture_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_pass_equals_two), cmocka_unit_test(test_special_cases),
        cmocka_unit_test(test_expected_weights),    cmocka_unit_test(test_variances),
        cmocka_unit_test(test_weighted_variances),  cmocka_unit_test(test_weighted_mean),
        cmocka_unit_test(test_coalescing_saves),    cmocka_unit_test(test_zero_weights_are_dropped),
        cmocka_unit_test(test_realised_bound),      cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
