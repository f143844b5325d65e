#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixtures.h"

/* Cells with an expectation of at least 25 are within 5 standard errors of it; every class has
 * exactly its number of samples; weights are plain means. */
static void check_law(const fixture *f, const gerne_sampler *s, gerne_draw draw, const double *p,
                      uint32_t per_class)
{
    size_t cells = (size_t)f->classes * f->attributes, total = 0;
    uint64_t *seen = calloc(cells, sizeof *seen);
    gerne_batch *batch = fixture_batch(f);
    uint64_t step = 0;
    for (; total < 200000; step++) {
        fixture_draw(f, s, draw, step, batch);
        size_t size = gerne_batch_size(batch);
        assert_int_equal(size, (size_t)f->classes * per_class);
        for (size_t i = 0; i < size; i++)
            seen[fixture_group(f, gerne_batch_samples(batch)[i])]++;
        assert_near(gerne_batch_weights(batch)[size - 1] * (double)size, 1, 1e-6);
        total += size;
    }
    for (uint32_t y = 0; y < f->classes; y++) {
        uint64_t in_class = 0;
        for (uint32_t a = 0; a < f->attributes; a++) {
            size_t g = (size_t)y * f->attributes + a;
            double expected = p[g] * (double)(step * per_class);
            if (expected >= 25)
                assert_near((double)seen[g], expected, 5 * sqrt(expected * (1 - p[g])) + 1e-6);
            else
                assert_near((double)seen[g], expected, 5 * sqrt(expected) + 5);
            in_class += seen[g];
        }
        assert_int_equal(in_class, step * per_class);
    }
    gerne_batch_close(batch);
    free(seen);
}

static void check_laws(fixture *f)
{
    static const uint32_t sizes[] = {1, 7, 100, 10000};
    size_t cells = (size_t)f->classes * f->attributes;
    double *p = calloc(cells, sizeof *p);
    for (size_t i = 0; i < 4; i++) {
        gerne_sampler_options options = {.seed = 3, .per_class = sizes[i], .c = 0.5, .beta = 1};
        gerne_sampler *s = fixture_sampler(f, &options);
        assert_ok(f->ctx, gerne_law_fill(f->ctx, f->groups, GERNE_LAW_BIASED, 0.5, 0, p));
        check_law(f, s, GERNE_DRAW_BIASED, p, sizes[i]);
        assert_ok(f->ctx, gerne_law_fill(f->ctx, f->groups, GERNE_LAW_LESS_BIASED, 0.5, 0, p));
        check_law(f, s, GERNE_DRAW_LESS_BIASED, p, sizes[i]);
        gerne_sampler_close(s);
    }
    free(p);
    fixture_close(f);
}

static void test_laws_waterbirds(void **state)
{
    (void)state;
    check_laws(fixture_waterbirds());
}

static void test_laws_cmnist(void **state)
{
    (void)state;
    check_laws(fixture_cmnist());
}

static void test_laws_thousand_classes(void **state)
{
    (void)state;
    check_laws(fixture_thousand_classes());
}

/* Empty groups: the class is balanced over those that it has; or, kept in the formulas, the others
 * keep their proportions. */
static void test_laws_with_empty_groups(void **state)
{
    (void)state;
    const int64_t counts[] = {900, 90, 10, 0, 0, 500, 0, 0, 300, 300, 300, 300};
    fixture *f = fixture_new(counts, 3, 4);
    gerne_sampler_options options = {.seed = 5, .per_class = 7, .c = 0.5, .beta = 1};
    gerne_sampler *s = fixture_sampler(f, &options);
    const double expected[] = {(0.9 + 1.0 / 3) / 2,
                               (0.09 + 1.0 / 3) / 2,
                               (0.01 + 1.0 / 3) / 2,
                               0,
                               0,
                               1,
                               0,
                               0,
                               0.25,
                               0.25,
                               0.25,
                               0.25};
    check_law(f, s, GERNE_DRAW_LESS_BIASED, expected, 7);
    gerne_sampler_close(s);
    gerne_groups_keep_empty(f->groups, true);
    s = fixture_sampler(f, &options);
    double sum = 0.5 * 1 + 0.5 * 0.75;
    const double kept[] = {(0.45 + 0.125) / sum,
                           (0.045 + 0.125) / sum,
                           (0.005 + 0.125) / sum,
                           0,
                           0,
                           1,
                           0,
                           0,
                           0.25,
                           0.25,
                           0.25,
                           0.25};
    check_law(f, s, GERNE_DRAW_LESS_BIASED, kept, 7);
    gerne_sampler_close(s);
    fixture_close(f);
}

/* Inside one batch a sample is drawn k or k + 1 times, as often as its group must repeat. */
static void test_repeats(void **state)
{
    (void)state;
    const int64_t counts[] = {400, 3, 1, 40};
    fixture *f = fixture_new(counts, 2, 2);
    gerne_sampler_options options = {.seed = 1, .per_class = 100, .c = 1, .beta = 1};
    gerne_sampler *s = fixture_sampler(f, &options);
    gerne_batch *batch = fixture_batch(f);
    for (int draw = GERNE_DRAW_BIASED; draw <= GERNE_DRAW_LESS_BIASED; draw++)
        for (uint64_t step = 0; step < 50; step++) {
            fixture_draw(f, s, (gerne_draw)draw, step, batch);
            unsigned times[444] = {0}, in_group[4] = {0};
            for (size_t i = 0; i < gerne_batch_size(batch); i++) {
                uint32_t sample = gerne_batch_samples(batch)[i];
                times[sample]++;
                in_group[fixture_group(f, sample)]++;
            }
            for (uint32_t i = 0; i < f->n; i++) {
                size_t g = fixture_group(f, i);
                unsigned least = in_group[g] / (unsigned)counts[g];
                assert_true(times[i] == least || times[i] == least + 1);
            }
            if (draw == GERNE_DRAW_LESS_BIASED) /* c = 1 is exact, not only on average */
                for (int g = 0; g < 4; g++)
                    assert_int_equal(in_group[g], 50);
        }
    gerne_batch_close(batch);
    gerne_sampler_close(s);
    fixture_close(f);
}

/* Pooled over the groups: draws without replacement scatter less than independent ones, so only a
 * chi-square that is too large speaks against uniformity. */
static void test_uniform_inside_groups(void **state)
{
    (void)state;
    fixture *f = fixture_waterbirds();
    gerne_sampler_options options = {.seed = 2, .per_class = 64, .c = 0.5, .beta = 1};
    gerne_sampler *s = fixture_sampler(f, &options);
    gerne_batch *batch = fixture_batch(f);
    for (int draw = GERNE_DRAW_BIASED; draw <= GERNE_DRAW_LESS_BIASED; draw++) {
        unsigned *times = calloc(f->n, sizeof *times), in_group[4] = {0};
        for (uint64_t step = 0; step < 4000; step++) {
            fixture_draw(f, s, (gerne_draw)draw, step, batch);
            for (size_t i = 0; i < gerne_batch_size(batch); i++) {
                times[gerne_batch_samples(batch)[i]]++;
                in_group[fixture_group(f, gerne_batch_samples(batch)[i])]++;
            }
        }
        double chi = 0;
        for (uint32_t i = 0; i < f->n; i++) {
            size_t g = fixture_group(f, i);
            double size =
                (double)gerne_groups_count(f->groups, (uint32_t)(g / 2), (uint32_t)(g % 2));
            double expected = in_group[g] / size;
            chi += (times[i] - expected) * (times[i] - expected) / expected;
        }
        double degrees = (double)f->n - 4;
        assert_true(chi < degrees + 5 * sqrt(2 * degrees));
        assert_true(chi > degrees / 2); /* not a fixed rotation either */
        free(times);
    }
    gerne_batch_close(batch);
    gerne_sampler_close(s);
    fixture_close(f);
}

static void test_pure_function_of_seed_and_step(void **state)
{
    (void)state;
    fixture *f = fixture_waterbirds();
    gerne_sampler_options options = {
        .seed = 9, .per_class = 50, .batch = 60, .c = 0.5, .beta = 1.5};
    gerne_sampler *s = fixture_sampler(f, &options), *other = fixture_sampler(f, &options);
    options.seed = 10;
    gerne_sampler *unlike = fixture_sampler(f, &options);
    gerne_batch *x = fixture_batch(f), *y = fixture_batch(f);
    for (int draw = GERNE_DRAW_BIASED; draw <= GERNE_DRAW_GROUPS; draw++)
        for (uint64_t step = 40; step-- > 0;) { /* backwards, after other kinds of draws */
            fixture_draw(f, s, (gerne_draw)draw, step, x);
            fixture_draw(f, other, (gerne_draw)((draw + 1) % 6), step + 7, y);
            fixture_draw(f, other, (gerne_draw)draw, step, y);
            size_t size = gerne_batch_size(x);
            assert_int_equal(size, gerne_batch_size(y));
            assert_memory_equal(gerne_batch_samples(x), gerne_batch_samples(y), size * 4);
            assert_memory_equal(gerne_batch_weights(x), gerne_batch_weights(y), size * 4);
            fixture_draw(f, unlike, (gerne_draw)draw, step, y);
            assert_true(size != gerne_batch_size(y) ||
                        memcmp(gerne_batch_samples(x), gerne_batch_samples(y), size * 4) != 0);
        }
    gerne_batch_close(x);
    gerne_batch_close(y);
    gerne_sampler_close(s);
    gerne_sampler_close(other);
    gerne_sampler_close(unlike);
    fixture_close(f);
}

static void test_rounded(void **state)
{
    (void)state;
    fixture *f = fixture_waterbirds();
    gerne_sampler_options options = {
        .seed = 1, .per_class = 64, .c = 0.5, .beta = 1, .rounded = true};
    gerne_sampler *s = fixture_sampler(f, &options);
    gerne_batch *batch = fixture_batch(f);
    /* round(64 alpha) and round(64 p_lb), see the laws of `gerne bounds` */
    const unsigned expected[2][4] = {{61, 3, 3, 61}, {46, 18, 18, 46}};
    for (int draw = 0; draw < 2; draw++) {
        fixture_draw(f, s, (gerne_draw)draw, 3, batch);
        unsigned in_group[4] = {0};
        for (size_t i = 0; i < gerne_batch_size(batch); i++)
            in_group[fixture_group(f, gerne_batch_samples(batch)[i])]++;
        for (int g = 0; g < 4; g++)
            assert_int_equal(in_group[g], expected[draw][g]);
    }
    gerne_sampler_close(s);
    gerne_batch_close(batch);
    fixture_close(f);
    f = fixture_new((const int64_t[]){10, 10, 10, 10, 10, 10}, 2, 3);
    options.per_class = 1; /* a third of a sample each */
    assert_fails(f->ctx, GERNE_EUSAGE, "rounding leaves no sample of class y=0",
                 gerne_sampler_new(f->ctx, f->groups, &options, &s));
    fixture_close(f);
}

/* Every pass over the data is a permutation, whatever the size of a batch. */
static void test_shuffled(void **state)
{
    (void)state;
    fixture *f = fixture_new((const int64_t[]){50, 3, 20, 28}, 2, 2);
    gerne_batch *batch = fixture_batch(f);
    for (int drop = 0; drop < 2; drop++) {
        gerne_sampler_options options = {.seed = 4, .batch = 7, .drop_last = drop == 1};
        gerne_sampler *s = fixture_sampler(f, &options);
        unsigned times[101] = {0};
        size_t per_epoch = drop ? 98 : 101, drawn = 0;
        for (uint64_t step = 0; drawn < 3 * per_epoch; step++) {
            fixture_draw(f, s, GERNE_DRAW_SHUFFLED, step, batch);
            for (size_t i = 0; i < gerne_batch_size(batch); i++) {
                if (drawn >= 3 * per_epoch)
                    break;
                times[gerne_batch_samples(batch)[i]]++;
                drawn++;
                if (drop && drawn % per_epoch == 0)
                    for (int j = 0; j < 101; j++)
                        assert_true(times[j] <= drawn / per_epoch);
            }
            if (!drop && drawn / 101 != (drawn - 1) / 101)
                for (int j = 0; j < 101; j++)
                    assert_true(times[j] == drawn / 101 || drawn % 101);
        }
        for (int j = 0; j < 101 && !drop; j++)
            assert_int_equal(times[j], 3);
        gerne_sampler_close(s);
    }
    gerne_batch_close(batch);
    fixture_close(f);
}

static void test_uniform_and_group_draws(void **state)
{
    (void)state;
    fixture *f = fixture_new((const int64_t[]){900, 90, 10, 0, 700, 300}, 2, 3);
    gerne_sampler_options options = {.seed = 4, .batch = 500};
    gerne_sampler *s = fixture_sampler(f, &options);
    gerne_batch *batch = fixture_batch(f);
    for (int draw = GERNE_DRAW_UNIFORM; draw <= GERNE_DRAW_GROUPS; draw++) {
        unsigned in_group[6] = {0};
        for (uint64_t step = 0; step < 400; step++) {
            fixture_draw(f, s, (gerne_draw)draw, step, batch);
            for (size_t i = 0; i < 500; i++)
                in_group[fixture_group(f, gerne_batch_samples(batch)[i])]++;
        }
        for (uint32_t g = 0; g < 6; g++) {
            uint64_t count = gerne_groups_count(f->groups, g / 3, g % 3);
            double p = draw == GERNE_DRAW_UNIFORM ? (double)count / 2000 : (count ? 0.2 : 0);
            assert_near(in_group[g], 200000 * p, 5 * sqrt(200000 * p));
        }
    }
    gerne_sampler_close(s);
    gerne_batch_close(batch);
    fixture_close(f);
}

static void test_refused(void **state)
{
    (void)state;
    fixture *f = fixture_waterbirds();
    static const struct {
        gerne_sampler_options options;
        const char *words;
    } cases[] = {
        {{0}, "batch size is zero"},
        {{.per_class = 5, .c = 0, .beta = 1}, "c 0 is outside (0, 1]"},
        {{.per_class = 5, .c = NAN, .beta = 1}, "outside (0, 1]"},
        {{.per_class = 5, .c = 1, .beta = INFINITY}, "beta is not finite"},
        {{.per_class = 1u << 30, .c = 1}, "are more than"},
        {{.batch = 5000, .drop_last = true}, "there are only 4795"},
        {{.batch = UINT32_MAX}, "a batch of more than"},
    };
    gerne_sampler *s;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_fails(f->ctx, GERNE_EUSAGE, cases[i].words,
                     gerne_sampler_new(f->ctx, f->groups, &cases[i].options, &s));
        assert_null(s);
    }
    gerne_batch *batch = fixture_batch(f);
    gerne_sampler_options options = {.batch = 5};
    s = fixture_sampler(f, &options);
    assert_fails(f->ctx, GERNE_EUSAGE, "has no size per class",
                 gerne_sampler_draw(f->ctx, s, GERNE_DRAW_BIASED, 0, batch));
    assert_fails(f->ctx, GERNE_EUSAGE, "not a kind of draw",
                 gerne_sampler_draw(f->ctx, s, (gerne_draw)77, 0, batch));
    gerne_sampler_close(s);
    gerne_groups *counts;
    assert_ok(f->ctx, gerne_groups_from_counts(f->ctx, (const int64_t[]){1, 2}, 1, 2, &counts));
    assert_fails(f->ctx, GERNE_EUSAGE, "created from counts",
                 gerne_sampler_new(f->ctx, counts, &options, &s));
    gerne_groups_close(counts);
    gerne_batch_close(batch);
    fixture_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_laws_waterbirds),
        cmocka_unit_test(test_laws_cmnist),
        cmocka_unit_test(test_laws_thousand_classes),
        cmocka_unit_test(test_laws_with_empty_groups),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_uniform_inside_groups),
        cmocka_unit_test(test_pure_function_of_seed_and_step),
        cmocka_unit_test(test_rounded),
        cmocka_unit_test(test_shuffled),
        cmocka_unit_test(test_uniform_and_group_draws),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
