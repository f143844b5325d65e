#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "data/checksum.h"

enum { LONG = (1 << 20) * 2 + 12345 }; /* three slices */

/* The check value of CRC-32 (of "123456789") is cbf43926; the sum is the SHA-256 of its bytes. */
static void test_published_value(void **state)
{
    (void)state;
    unsigned char sum[GN_CHECKSUM_SIZE], wanted[GN_SHA256_SIZE];
    gn_checksum_of("123456789", 9, sum);
    gn_sha256_of("\x26\x39\xf4\xcb", 4, wanted);
    assert_memory_equal(sum, wanted, sizeof sum);
}

static unsigned char *some_bytes(void)
{
    unsigned char *bytes = malloc(LONG);
    uint32_t x = 1;
    assert_non_null(bytes);
    for (size_t i = 0; i < LONG; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(x >> 24);
    }
    return bytes;
}

static void test_pieces_make_no_difference(void **state)
{
    (void)state;
    unsigned char *bytes = some_bytes(), whole[GN_CHECKSUM_SIZE], parts[GN_CHECKSUM_SIZE];
    gn_checksum_of(bytes, LONG, whole);
    for (size_t step = 1000; step < LONG; step = step * 7 + 1) {
        gn_checksum sum;
        gn_checksum_start(&sum);
        for (size_t at = 0; at < LONG; at += step)
            gn_checksum_add(&sum, bytes + at, LONG - at < step ? LONG - at : step);
        gn_checksum_end(&sum, parts);
        assert_memory_equal(whole, parts, sizeof whole);
    }
    free(bytes);
}

static void test_damage_shows(void **state)
{
    (void)state;
    unsigned char *bytes = some_bytes(), whole[GN_CHECKSUM_SIZE], damaged[GN_CHECKSUM_SIZE];
    gn_checksum_of(bytes, LONG, whole);
    for (size_t at = 0; at < LONG; at += LONG / 50) {
        bytes[at] ^= (unsigned char)(1 << at % 8);
        gn_checksum_of(bytes, LONG, damaged);
        assert_memory_not_equal(whole, damaged, sizeof whole);
        bytes[at] ^= (unsigned char)(1 << at % 8);
    }
    gn_checksum_of(bytes, LONG - 1, damaged);
    assert_memory_not_equal(whole, damaged, sizeof whole);
    memset(bytes, 0, LONG);
    gn_checksum_of(bytes, LONG, whole);
    gn_checksum_of(bytes, LONG - 1, damaged); /* zeros count, too */
    assert_memory_not_equal(whole, damaged, sizeof whole);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_value),
        cmocka_unit_test(test_pieces_make_no_difference),
        cmocka_unit_test(test_damage_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
