/* Numbers of 16 bits: every one of them survives, and others go to the nearest. */
#include "testing.h"

#include <math.h>

#include "base/half.h"

static void test_all_halves_survive(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++)
        if ((h & GN_HALF_INFINITY) != GN_HALF_INFINITY)
            assert_int_equal(gn_half_from_float(gn_float_from_half((uint16_t)h)), h);
}

/* Between neighbours: below the middle down, above it up, in the middle to the even one. */
static void test_rounding(void **state)
{
    (void)state;
    for (int h = 0; h < GN_HALF_INFINITY - 1; h++) {
        float low = gn_float_from_half((uint16_t)h), high = gn_float_from_half((uint16_t)(h + 1));
        float middle = (low + high) / 2; /* exact: a float has 13 more bits */
        assert_true(low < high);
        assert_int_equal(gn_half_from_float(nextafterf(middle, low)), h);
        assert_int_equal(gn_half_from_float(nextafterf(middle, high)), h + 1);
        assert_int_equal(gn_half_from_float(middle), h % 2 ? h + 1 : h);
        assert_int_equal(gn_half_from_float(-middle), GN_HALF_SIGN | (h % 2 ? h + 1 : h));
    }
}

static void test_known_values(void **state)
{
    (void)state;
    assert_int_equal(gn_half_from_float(1), 0x3c00);
    assert_int_equal(gn_half_from_float(-2), 0xc000);
    assert_int_equal(gn_half_from_float(65504), 0x7bff);
    assert_int_equal(gn_half_from_float(0x1p-24f), 1);
    assert_int_equal(gn_half_from_float(65520), GN_HALF_INFINITY);
    assert_int_equal(gn_half_from_float(-INFINITY), GN_HALF_SIGN | GN_HALF_INFINITY);
    assert_true((gn_half_from_float(NAN) & 0x7fff) > GN_HALF_INFINITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_halves_survive),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_known_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
