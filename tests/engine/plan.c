/* The memory planner on random lives: nothing that lives at one time overlaps, and memory is
 * shared. */
#include "testing.h"

#include "base/rng.h"
#include "engine/internal.h"

enum { COUNT = 200 };

static bool live_together(const gn_buffer *a, const gn_buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static size_t largest_sum_alive(const gn_buffer *buffers)
{
    size_t most = 0;
    for (size_t t = 0; t < 100; t++) {
        size_t sum = 0;
        for (int i = 0; i < COUNT; i++)
            if (buffers[i].first <= t && t <= buffers[i].last)
                sum += (buffers[i].size + 63) / 64 * 64;
        most = sum > most ? sum : most;
    }
    return most;
}

static void test_random_lives(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    for (uint64_t round = 0; round < 20; round++) {
        gn_buffer buffers[COUNT] = {0};
        gn_stream s = gn_stream_at(1, GN_RNG_TEST, round, 0);
        size_t total = 0;
        for (int i = 0; i < COUNT; i++) {
            buffers[i].size = 1 + (size_t)gn_random_below(&s, 5000);
            buffers[i].first = (size_t)gn_random_below(&s, 90);
            buffers[i].last = buffers[i].first + (size_t)gn_random_below(&s, 10);
            buffers[i].used = true;
            total += (buffers[i].size + 63) / 64 * 64;
        }
        size_t size, least = largest_sum_alive(buffers);
        assert_ok(ctx, gn_plan_memory(ctx, buffers, COUNT, &size));
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(buffers[i].offset % 64, 0);
            assert_true(buffers[i].offset + buffers[i].size <= size);
            for (int j = 0; j < i; j++)
                if (live_together(&buffers[i], &buffers[j]))
                    assert_true(buffers[i].offset >= buffers[j].offset + buffers[j].size ||
                                buffers[j].offset >= buffers[i].offset + buffers[i].size);
        }
        assert_true(size >= least);
        assert_true(size <= least + least / 4);
        assert_true(size < total / 3);
    }
    gerne_ctx_close(ctx);
}

static void test_unused_and_fixed_take_no_room(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    float outside[4];
    gn_buffer buffers[2] = {{.size = 100}, {.size = 100, .fixed = outside, .used = true}};
    size_t size;
    assert_ok(ctx, gn_plan_memory(ctx, buffers, 2, &size));
    assert_int_equal(size, 0);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_lives),
        cmocka_unit_test(test_unused_and_fixed_take_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
