#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

static void test_pure(void **state)
{
    (void)state;
    gn_stream a = gn_stream_at(7, GN_RNG_TEST, 3, 11), b = gn_stream_at(7, GN_RNG_TEST, 3, 11);
    gn_stream other[] = {gn_stream_at(8, GN_RNG_TEST, 3, 11), gn_stream_at(7, GN_RNG_INIT, 3, 11),
                         gn_stream_at(7, GN_RNG_TEST, 4, 11), gn_stream_at(7, GN_RNG_TEST, 3, 12)};
    for (int i = 0; i < 100; i++) {
        uint64_t value = gn_random_u64(&a);
        assert_true(value == gn_random_u64(&b));
        for (int j = 0; j < 4; j++)
            assert_true(value != gn_random_u64(&other[j]));
    }
}

static void test_uniform_and_normal(void **state)
{
    (void)state;
    enum { N = 200000 };
    double sum = 0, normal = 0, square = 0;
    gn_stream s = gn_stream_at(1, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < N; i++) {
        double u = gn_random_uniform(&s);
        assert_true(u >= 0 && u < 1);
        sum += u;
        double z = gn_random_normal(&s);
        normal += z;
        square += z * z;
    }
    assert_near(sum / N, 0.5, 5 * sqrt(1.0 / 12 / N));
    assert_near(normal / N, 0, 5 / sqrt(N));
    assert_near(square / N, 1, 5 * sqrt(2.0 / N));
}

static void test_below(void **state)
{
    (void)state;
    enum { N = 70000, K = 7 };
    int counts[K] = {0};
    gn_stream s = gn_stream_at(2, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < N; i++)
        counts[gn_random_below(&s, K)]++;
    for (int k = 0; k < K; k++)
        assert_near(counts[k], (double)N / K, 5 * sqrt((double)N / K));
}

/* Mean a / (a + b), variance a b / ((a + b)^2 (a + b + 1)); shapes far below 1 stay in [0, 1]. */
static void test_beta(void **state)
{
    (void)state;
    enum { N = 100000 };
    static const double shapes[][2] = {{2, 2}, {0.2, 0.2}, {2, 5}, {10, 10}, {1e-3, 1e-3}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        double a = shapes[i][0], b = shapes[i][1], mean = 0, square = 0;
        gn_stream s = gn_stream_at(4, GN_RNG_TEST, i, 0);
        for (int j = 0; j < N; j++) {
            double x = gn_random_beta(&s, a, b);
            assert_true(x >= 0 && x <= 1);
            mean += x / N;
            square += x * x / N;
        }
        double expected = a / (a + b), variance = a * b / ((a + b) * (a + b) * (a + b + 1));
        assert_near(mean, expected, 5 * sqrt(variance / N));
        assert_near(square - mean * mean, variance, 5 * variance * sqrt(2.0 / N) + 1e-3);
    }
}

static void test_permutation_is_one(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 2, 3, 31, 32, 33, 64, 65, 1000, 4097};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned char seen[4097] = {0};
        gn_permutation p = gn_permutation_at(sizes[i], 5, GN_RNG_TEST, i, 0);
        for (uint64_t j = 0; j < sizes[i]; j++) {
            uint64_t value = gn_permute(&p, j);
            assert_true(value < sizes[i] && !seen[value]);
            seen[value] = 1;
        }
    }
}

/* Ordered pairs at positions 0 and 1 over many keys: a chi-square with n(n-1)-1 degrees. */
static void check_pairs(uint64_t n)
{
    enum { MAX = 40, DRAWS = 400000 };
    static int counts[MAX][MAX];
    memset(counts, 0, sizeof counts);
    for (uint64_t step = 0; step < DRAWS; step++) {
        gn_permutation p = gn_permutation_at(n, 9, GN_RNG_TEST, step, n);
        counts[gn_permute(&p, 0)][gn_permute(&p, 1)]++;
    }
    double expected = (double)DRAWS / (double)(n * (n - 1)), chi = 0;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < n; j++)
            if (i != j)
                chi += pow(counts[i][j] - expected, 2) / expected;
    double degrees = (double)(n * (n - 1) - 1);
    assert_near(chi, degrees, 5 * sqrt(2 * degrees));
}

static void test_permutation_pairs_are_uniform(void **state)
{
    (void)state;
    check_pairs(3);
    check_pairs(8);
    check_pairs(35);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pure),
        cmocka_unit_test(test_uniform_and_normal),
        cmocka_unit_test(test_below),
        cmocka_unit_test(test_beta),
        cmocka_unit_test(test_permutation_is_one),
        cmocka_unit_test(test_permutation_pairs_are_uniform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
