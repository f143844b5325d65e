#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"

static void check_way(bool portable, const char *bytes, size_t size, size_t step,
                      const char *wanted)
{
    gn_sha256 hash;
    gn_sha256_start(&hash);
    hash.portable = portable;
    for (size_t at = 0; at < size; at += step)
        gn_sha256_add(&hash, bytes + at, size - at < step ? size - at : step);
    unsigned char digest[GN_SHA256_SIZE];
    char hex[GN_SHA256_HEX];
    gn_sha256_end(&hash, digest);
    gn_sha256_hex(digest, hex);
    assert_string_equal(hex, wanted);
}

/* With the processor's instructions, where it has them, and without. */
static void check(const char *bytes, size_t size, size_t step, const char *wanted)
{
    check_way(false, bytes, size, step, wanted);
    check_way(true, bytes, size, step, wanted);
}

/* The examples of FIPS 180-4 (NIST, "SHA256 examples") and the empty message. */
static void test_published_examples(void **state)
{
    (void)state;
    check("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("abc", 3, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    for (size_t step = 1; step <= 56; step += 11)
        check(two, 56, step, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = malloc(1000000);
    assert_non_null(million);
    memset(million, 'a', 1000000);
    check(million, 1000000, 997,
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_published_examples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
