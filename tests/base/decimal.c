/* Numbers as text: the same as printf's, where another way writes them and where not. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/rng.h"

static void assert_as_printed(double value)
{
    char expected[64], written[GN_DECIMAL_SIZE];
    snprintf(expected, sizeof expected, "%.9g", value);
    size_t size = gn_decimal(value, written);
    assert_string_equal(written, expected);
    assert_int_equal(size, strlen(expected));
}

/* Every power of ten and of two, and their neighbours; ties between two decimals. */
static void test_edges(void **state)
{
    (void)state;
    static const double others[] = {0,
                                    -0.0,
                                    -0.25,
                                    1.5,
                                    9.9999999995,
                                    9.9999999994,
                                    0.99999999949,
                                    0.99999999951,
                                    INFINITY,
                                    NAN,
                                    123456789012.0,
                                    5e-324,
                                    1e300};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_as_printed(others[i]);
    for (int i = -20; i <= 3; i++) {
        double power = pow(10, i);
        assert_as_printed(power);
        assert_as_printed(nextafter(power, 0));
        assert_as_printed(nextafter(power, INFINITY));
        for (int digit = 1; digit < 100; digit++)
            assert_as_printed(digit * power);
    }
    for (int i = -70; i <= 5; i++)
        assert_as_printed(ldexp(1, i));
    for (int i = 1; i < 5000; i++) { /* 2^-10 has ten decimals: the tenth is a 5 */
        assert_as_printed(i * 0x1p-10);
        assert_as_printed(i * 0x1p-13);
    }
}

/* Of all sizes, as doubles and as probabilities in single precision. */
static void test_random_numbers(void **state)
{
    (void)state;
    gn_stream stream = gn_stream_at(1, GN_RNG_TEST, 0, 0);
    for (int i = 0; i < 200000; i++) {
        double value = exp(-40 * gn_random_uniform(&stream)) * 10;
        assert_as_printed(value);
        assert_as_printed((double)(float)value);
        assert_as_printed(gn_random_uniform(&stream));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_random_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
