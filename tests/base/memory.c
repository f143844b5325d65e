#include "testing.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

static void test_sizes_that_overflow(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    void *block = ctx;
    assert_fails(ctx, GERNE_ENOMEM, "no memory for a batch",
                 gn_alloc(ctx, SIZE_MAX / 2, 4, "a batch", &block));
    assert_null(block);
    assert_fails(ctx, GERNE_ENOMEM, "no memory",
                 gn_alloc_aligned(ctx, SIZE_MAX / 2, 4, "a batch", &block));
    block = ctx;
    assert_fails(ctx, GERNE_ENOMEM, "no memory for samples",
                 gn_alloc_to_fill(ctx, SIZE_MAX / 2, 4, "samples", &block));
    assert_null(block);
    gn_arena *arena;
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    assert_fails(ctx, GERNE_ENOMEM, "no memory",
                 gn_arena_alloc(ctx, arena, SIZE_MAX / 2, 4, &block));
    gn_arena_close(arena);
    gerne_ctx_close(ctx);
}

static void test_arena(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_arena *arena;
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 1; i < 300; i++) {
            unsigned char *bytes;
            assert_ok(ctx, gn_arena_alloc(ctx, arena, i, 7, &bytes));
            assert_int_equal((uintptr_t)bytes % 16, 0);
            for (size_t j = 0; j < i * 7; j++)
                assert_int_equal(bytes[j], 0);
            memset(bytes, 0xff, i * 7);
        }
        gn_arena_reset(arena);
    }
    gn_arena_close(arena);
    gerne_ctx_close(ctx);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_text text = {0};
    gn_fail_allocation(1);
    assert_fails(ctx, GERNE_ENOMEM, "no memory for text", gn_text_add(ctx, &text, "hello"));
    assert_ok(ctx, gn_text_add(ctx, &text, "hello %d", 5));
    assert_string_equal(text.bytes, "hello 5");
    gn_text_free(&text);
    gerne_ctx_close(ctx);
}

static void test_numbers(void **state)
{
    (void)state;
    int64_t i;
    double d;
    assert_true(gn_parse_int("-12", &i) && i == -12);
    assert_false(gn_parse_int("", &i) || gn_parse_int("1 ", &i) || gn_parse_int(" 1", &i) ||
                 gn_parse_int("9223372036854775808", &i) || gn_parse_int("1e3", &i));
    assert_true(gn_parse_double("1e-3", &d) && d == 1e-3);
    assert_false(gn_parse_double("nan", &d) || gn_parse_double("", &d) ||
                 gn_parse_double("1x", &d) || gn_parse_double("1e999", &d) ||
                 gn_parse_double("0x10", &d));
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const names[] = {"train", "audit", "bounds"};
    assert_string_equal(gn_nearest("tarin", names, 3), "train");
    assert_string_equal(gn_nearest("bound", names, 3), "bounds");
    assert_null(gn_nearest("xyzzy", names, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_that_overflow),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
