/* Our kernel of batch normalisation, addition and ReLU: the same bits for any number of threads,
 * and the numbers of its definition. engine/gradients.c compares its gradients with differences. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/rng.h"
#include "engine/block_norm.h"

enum { SAMPLES = 5, CHANNELS = 32, PIXELS = 49, COUNT = SAMPLES * CHANNELS * PIXELS };

typedef struct numbers {
    float x[COUNT], beside[COUNT], y[COUNT], part[COUNT], by_beside[COUNT], by_x[COUNT];
    float scale[CHANNELS], shift[CHANNELS], mean[CHANNELS], variance[CHANNELS];
    float by_scale[CHANNELS], by_shift[CHANNELS];
    double sums[2 * GN_LANES * SAMPLES * CHANNELS / 8];
} numbers;

static void fill(float *values, size_t count, uint64_t index)
{
    gn_stream s = gn_stream_at(7, GN_RNG_TEST, 0, index);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(3 + gn_random_normal(&s));
}

static numbers *run(int threads, int64_t block)
{
    numbers *m = calloc(1, sizeof *m);
    assert_non_null(m);
    fill(m->x, COUNT, 1);
    fill(m->beside, COUNT, 2);
    fill(m->part, COUNT, 3);
    fill(m->scale, CHANNELS, 4);
    for (int i = 0; i < CHANNELS; i++)
        m->shift[i] = -3; /* so that ReLU cuts some */
    gn_block_norm n = {.samples = SAMPLES,
                       .channels = CHANNELS,
                       .pixels = PIXELS,
                       .block = block,
                       .epsilon = 1e-5f,
                       .trains = true,
                       .relu = true,
                       .x = m->x,
                       .scale = m->scale,
                       .shift = m->shift,
                       .mean = m->mean,
                       .variance = m->variance,
                       .sums = m->sums,
                       .beside = m->beside,
                       .y = m->y,
                       .parts = {m->part},
                       .result = m->y,
                       .by_beside = m->by_beside,
                       .by_x = m->by_x,
                       .by_scale = m->by_scale,
                       .by_shift = m->by_shift};
#ifdef _OPENMP
    omp_set_num_threads(threads);
#endif
    gn_block_norm_forward(&n);
    gn_block_norm_backward(&n);
    return m;
}

/* Five threads are more than blocks of sixteen channels: they share samples. */
static void test_threads_do_not_change_bits(void **state)
{
    (void)state;
    for (int64_t block = 8; block <= 16; block += 8) {
        numbers *one = run(1, block), *many = run(5, block);
        assert_memory_equal(one, many, sizeof *one);
        free(one);
        free(many);
    }
}

static void test_values_follow_the_definition(void **state)
{
    (void)state;
    for (int64_t block = 8; block <= 16; block += 8) {
        numbers *m = run(2, block);
        int cut = 0;
        for (int64_t c = 0; c < CHANNELS; c++) {
            double sum = 0, squares = 0;
            for (int pass = 0; pass < 3; pass++)
                for (int64_t i = 0; i < SAMPLES * PIXELS; i++) {
                    int64_t at =
                        ((i / PIXELS * (CHANNELS / block) + c / block) * PIXELS + i % PIXELS) *
                            block +
                        c % block;
                    double mean = sum / (SAMPLES * PIXELS), apart = (double)m->x[at] - mean;
                    if (pass == 0)
                        sum += (double)m->x[at];
                    else if (pass == 1)
                        squares += apart * apart;
                    else {
                        double deviation = sqrt(squares / (SAMPLES * PIXELS) + 1e-5);
                        double y = apart / deviation * (double)m->scale[c] + (double)m->shift[c] +
                                   (double)m->beside[at];
                        cut += y < 0;
                        assert_true(fabs((double)m->y[at] - (y < 0 ? 0 : y)) < 1e-5);
                    }
                }
            assert_true(fabs((double)m->mean[c] - sum / (SAMPLES * PIXELS)) < 1e-6);
        }
        assert_true(cut > 0);
        free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_do_not_change_bits),
        cmocka_unit_test(test_values_follow_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
