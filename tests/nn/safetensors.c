#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "files.h"

static const float sample[] = {1, -2, 0.5F, 3e-5F, 1e30F, -0.0F};

static const gn_weight_out tensors[] = {
    {.name = "z.weight", .ndims = 2, .dims = {2, 3}, .data = sample},
    {.name = "a.bias", .ndims = 1, .dims = {2}, .data = sample + 1},
    {.name = "scalar", .ndims = 0, .data = sample + 4},
    {.name = "none", .ndims = 2, .dims = {0, 7}, .data = sample},
};
enum { TENSORS = sizeof tensors / sizeof tensors[0] };

static const gn_metadata metadata[] = {{"names", "[\"\xc3\xa4\", \"b\"]"}, {"arch", "mlp"}};

static void write_sample(gerne_ctx *ctx, const char *path, gn_weight_type type)
{
    assert_ok(ctx, gn_safetensors_write(ctx, path, type, tensors, TENSORS, metadata, 2));
}

static void join(char *path, size_t size, const char *directory, const char *name)
{
    assert_true(snprintf(path, size, "%s/%s", directory, name) < (int)size);
}

static void test_written_file_reads_back(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *directory = test_directory(), path[4096];
    join(path, sizeof path, directory, "a");
    write_sample(ctx, path, GN_WEIGHT_F32);
    gn_weights *weights;
    assert_ok(ctx, gn_weights_open(ctx, path, &weights));
    assert_int_equal(gn_weights_count(weights), TENSORS);
    for (size_t i = 0; i < TENSORS; i++) {
        const gn_weight *weight = gn_weights_at(weights, i);
        assert_string_equal(weight->name, tensors[i].name); /* the order is kept */
        assert_ptr_equal(gn_weights_find(weights, tensors[i].name), weight);
        assert_int_equal(weight->type, GN_WEIGHT_F32);
        assert_int_equal(weight->ndims, tensors[i].ndims);
        assert_memory_equal(weight->dims, tensors[i].dims, weight->ndims * sizeof(int64_t));
        float values[6];
        assert_ok(ctx, gn_weight_to_f32(ctx, weight, GN_WEIGHT_FINITE, values));
        assert_memory_equal(values, tensors[i].data, weight->count * sizeof(float));
    }
    assert_int_equal(gn_weights_find(weights, "z.weight")->count, 6);
    assert_int_equal(gn_weights_find(weights, "scalar")->count, 1);
    assert_int_equal(gn_weights_find(weights, "none")->count, 0);
    assert_null(gn_weights_find(weights, "z.weigh"));
    assert_string_equal(gn_weights_metadata(weights, "arch"), "mlp");
    assert_string_equal(gn_weights_metadata(weights, "names"), metadata[0].value);
    assert_null(gn_weights_metadata(weights, "other"));
    assert_int_equal(gn_weights_metadata_count(weights), 2);
    assert_string_equal(gn_weights_metadata_key(weights, 0), "arch"); /* sorted */
    gn_weights_close(weights);
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
}

static void test_bytes_are_what_the_format_says(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *directory = test_directory(), path[4096];
    join(path, sizeof path, directory, "a");
    const float data[] = {1, -2};
    const gn_weight_out one = {.name = "w", .ndims = 1, .dims = {2}, .data = data};
    assert_ok(ctx, gn_safetensors_write(ctx, path, GN_WEIGHT_F32, &one, 1, metadata + 1, 1));
    gn_text bytes = {0};
    assert_ok(ctx, gn_file_read(ctx, path, 4096, &bytes));
    static const char expected[] = "\x58\0\0\0\0\0\0\0"
                                   "{\"__metadata__\":{\"arch\":\"mlp\"},\"w\":{\"dtype\":\"F32\","
                                   "\"shape\":[2],\"data_offsets\":[0,8]}}    "
                                   "\0\0\x80\x3f\0\0\0\xc0";
    assert_int_equal(bytes.size, sizeof expected - 1);
    assert_memory_equal(bytes.bytes, expected, sizeof expected - 1);
    gn_text_free(&bytes);
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
}

static void test_metadata_order_does_not_matter(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *directory = test_directory(), path[4096];
    join(path, sizeof path, directory, "a");
    const gn_metadata reversed[] = {metadata[1], metadata[0]};
    gn_text first = {0}, second = {0};
    write_sample(ctx, path, GN_WEIGHT_BF16);
    assert_ok(ctx, gn_file_read(ctx, path, 4096, &first));
    assert_ok(ctx, gn_safetensors_write(ctx, path, GN_WEIGHT_BF16, tensors, TENSORS, reversed, 2));
    assert_ok(ctx, gn_file_read(ctx, path, 4096, &second));
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.bytes, second.bytes, first.size);
    gn_text_free(&first);
    gn_text_free(&second);
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
}

/* The nearest of the two bfloat16 neighbours by distance, the even one on a tie: by arithmetic, not
 * by the bit trick under test. */
static float nearest_bf16(float value)
{
    int exponent;
    frexp((double)value, &exponent);
    double unit = ldexp(1, (exponent < -125 ? -125 : exponent) - 8);
    return (float)(nearbyint((double)value / unit) * unit);
}

static void test_bf16_rounds_to_nearest_even(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    gerne_ctx *ctx = test_ctx();
    char *directory = test_directory(), path[4096];
    join(path, sizeof path, directory, "a");
    static float values[COUNT], read[COUNT], expected[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        uint32_t bits = (uint32_t)i * 858993u; /* all exponents and both signs */
        if (i % 3 == 0)
            bits = (bits & 0xffff0000) | 0x8000; /* ties */
        if ((bits & 0x7f800000) >= 0x7f000000)
            bits &= 0xbfffffff; /* infinity and overflow have their own test */
        memcpy(&values[i], &bits, sizeof bits);
        expected[i] = nearest_bf16(values[i]);
    }
    const gn_weight_out out = {.name = "w", .ndims = 1, .dims = {COUNT}, .data = values};
    assert_ok(ctx, gn_safetensors_write(ctx, path, GN_WEIGHT_BF16, &out, 1, NULL, 0));
    gn_weights *weights;
    assert_ok(ctx, gn_weights_open(ctx, path, &weights));
    assert_int_equal(gn_weights_at(weights, 0)->type, GN_WEIGHT_BF16);
    assert_ok(ctx, gn_weight_to_f32(ctx, gn_weights_at(weights, 0), 0, read));
    for (size_t i = 0; i < COUNT; i++) {
        if (read[i] != expected[i] || !signbit(read[i]) != !signbit(expected[i]))
            fail_msg("%a became %a, not %a", (double)values[i], (double)read[i],
                     (double)expected[i]);
    }
    gn_weights_close(weights);
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
}

/* Between any two neighbours: what is below the middle, in it and above it. */
static void test_f16_rounds_to_nearest_even(void **state)
{
    (void)state;
    enum { HALVES = 0x7bff, COUNT = 3 * HALVES }; /* up to the largest, 65504 */
    gerne_ctx *ctx = test_ctx();
    char *directory = test_directory(), path[4096];
    join(path, sizeof path, directory, "a");
    static float values[COUNT];
    for (int i = 0; i < HALVES; i++) {
        int exponent = i >> 10 ? i >> 10 : 1;
        float step = ldexpf(1, exponent - 25), sign = i % 2 ? -1 : 1;
        float here = step * (float)((i >> 10 ? 0x400 : 0) + (i & 0x3ff)), middle = here + step / 2;
        values[3 * i] = sign * nextafterf(middle, 0);
        values[3 * i + 1] = sign * middle;
        values[3 * i + 2] = sign * nextafterf(middle, INFINITY);
    }
    gn_weight_out out = {.name = "w", .ndims = 1, .dims = {COUNT}, .data = values};
    assert_ok(ctx, gn_safetensors_write(ctx, path, GN_WEIGHT_F16, &out, 1, NULL, 0));
    gn_weights *weights;
    assert_ok(ctx, gn_weights_open(ctx, path, &weights));
    const unsigned char *bytes = gn_weights_at(weights, 0)->bytes;
    for (int i = 0; i < HALVES; i++) {
        const int wanted[] = {i, i + i % 2, i + 1};
        for (int j = 0; j < 3; j++) {
            int found = bytes[2 * (3 * i + j)] | bytes[2 * (3 * i + j) + 1] << 8;
            if (found != (wanted[j] | (i % 2 ? 0x8000 : 0)))
                fail_msg("%a became %#x", (double)values[3 * i + j], (unsigned)found);
        }
    }
    gn_weights_close(weights);
    values[5] = 65505;
    assert_fails(ctx, GERNE_EUSAGE, "'w' has the value 65505, and fp16 ends at 65504",
                 gn_safetensors_write(ctx, path, GN_WEIGHT_F16, &out, 1, NULL, 0));
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
}

static void test_special_values_survive_bf16(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *directory = test_directory(), path[4096];
    join(path, sizeof path, directory, "a");
    float values[] = {INFINITY, -INFINITY, NAN, 0, 3.4e38F};
    uint32_t payload = 0x7f800001; /* a NaN whose upper half alone would be infinity */
    memcpy(&values[3], &payload, sizeof payload);
    const gn_weight_out out = {.name = "w", .ndims = 1, .dims = {5}, .data = values};
    assert_ok(ctx, gn_safetensors_write(ctx, path, GN_WEIGHT_BF16, &out, 1, NULL, 0));
    gn_weights *weights;
    assert_ok(ctx, gn_weights_open(ctx, path, &weights));
    float read[5];
    assert_ok(ctx, gn_weight_to_f32(ctx, gn_weights_at(weights, 0), 0, read));
    assert_true(read[0] == INFINITY && read[1] == -INFINITY);
    assert_true(isnan(read[2]) && isnan(read[3]));
    assert_true(read[4] == INFINITY); /* beyond the largest bfloat16, as IEEE rounds */
    gn_weights_close(weights);
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
}

static void test_every_half_is_exact(void **state)
{
    (void)state;
    enum { HALVES = 1 << 16 };
    gerne_ctx *ctx = test_ctx();
    gn_text file;
    safetensors_bytes("{\"h\":{\"dtype\":\"F16\",\"shape\":[256,256],\"data_offsets\":[0,131072]}}",
                      2 * HALVES, &file);
    unsigned char *data = (unsigned char *)file.bytes + file.size - (size_t)2 * HALVES;
    for (size_t i = 0; i < HALVES; i++) {
        data[2 * i] = (unsigned char)i;
        data[2 * i + 1] = (unsigned char)(i >> 8);
    }
    gn_weights *weights;
    assert_ok(ctx, parse_text(ctx, &file, &weights));
    static float values[HALVES];
    assert_ok(ctx, gn_weight_to_f32(ctx, gn_weights_at(weights, 0), 0, values));
    for (int i = 0; i < HALVES; i++) {
        int exponent = i >> 10 & 31, fraction = i & 1023;
        double expected = exponent == 31  ? (fraction ? NAN : INFINITY)
                          : exponent == 0 ? ldexp(fraction, -24)
                                          : ldexp(1024 + fraction, exponent - 25);
        if (isnan(expected))
            assert_true(isnan(values[i]));
        else
            assert_true((double)fabsf(values[i]) == expected);
        assert_int_equal(!!signbit(values[i]), i >> 15);
    }
    gn_weights_close(weights);
    gn_text_free(&file);
    gerne_ctx_close(ctx);
}

static void test_nan_and_infinity_are_named(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *directory = test_directory(), path[4096];
    join(path, sizeof path, directory, "a");
    static float values[24];
    const gn_weight_out out = {
        .name = "conv.weight", .ndims = 3, .dims = {2, 3, 4}, .data = values};
    static const struct {
        size_t at;
        float value;
        const char *words;
    } cases[] = {{0, NAN, "tensor 'conv.weight' is NaN at [0, 0, 0]"},
                 {23, INFINITY, "tensor 'conv.weight' is infinite at [1, 2, 3]"},
                 {17, -INFINITY, "tensor 'conv.weight' is infinite at [1, 1, 1]"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        values[cases[i].at] = cases[i].value;
        assert_ok(ctx, gn_safetensors_write(ctx, path, GN_WEIGHT_F32, &out, 1, NULL, 0));
        values[cases[i].at] = 0;
        gn_weights *weights;
        assert_ok(ctx, gn_weights_open(ctx, path, &weights));
        float read[24];
        assert_fails(ctx, GERNE_EDATA, cases[i].words,
                     gn_weight_to_f32(ctx, gn_weights_at(weights, 0), GN_WEIGHT_FINITE, read));
        assert_non_null(strstr(gerne_message(ctx), path));
        assert_ok(ctx, gn_weight_to_f32(ctx, gn_weights_at(weights, 0), 0, read));
        gn_weights_close(weights);
    }
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
}

#define T(begin, end) "{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" #begin "," #end "]}"

static void test_lying_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data_size;
        const char *words;
    } cases[] = {
        {"{\"a\":" T(0, 8) ",\"b\":" T(4, 12) "}", 12, "tensors 'a' and 'b' overlap"},
        {"{\"a\":" T(0, 8) ",\"b\":" T(0, 8) "}", 8, "overlap"},
        {"{\"a\":" T(0, 8) "}", 7, "'a' ends at byte 8 of 7 bytes"},
        {"{\"a\":" T(9223372036854775799, 9223372036854775807) "}", 8, "'a' ends at byte"},
        {"{\"a\":" T(0, 12) "}", 12, "has 12 bytes, F32 [2] needs 8"},
        {"{\"a\":" T(0, 8) "}", 9, "1 bytes after the last tensor"},
        {"{}", 4, "4 bytes after the last tensor"},
        {"{\"a\":" T(4, 12) "}", 12, "4 bytes before tensor 'a'"},
        {"{\"a\":" T(8, 0) "}", 8, "not a range"},
        {"{\"a\":" T(-8, 0) "}", 8, "not a range"},
        {"{\"a\":" T(0, 8) ",\"a\":" T(8, 16) "}", 16, "duplicate"},
        {"{\"a\":" T(0, 8) "", 8, "not valid JSON"},
        {"{\"a\":" T(0, 8) "}x", 8, "not valid JSON"},
        {"{\"a\":3}", 0, "not dtype, shape and data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "not dtype, shape and data_offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"x\":1}}", 8, "data_offsets is not a pair"},
        {"{\"a\":{\"dtype\":\"Q4\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "dtype 'Q4'"},
        {"{\"a\":{\"dtype\":7,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "no dtype"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", 8, "not a list"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8,
         "other than sizes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}", 8,
         "other than sizes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
         "larger than any memory"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9223372036854775807],\"data_offsets\":[0,8]}}", 8,
         "larger than any memory"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[99999999999999999999],\"data_offsets\":[0,8]}}", 8,
         "not valid JSON"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}", 8,
         "more than 8 dimensions"},
        {"{\"\":" T(0, 8) "}", 8, "empty name"},
        {"{\"a\\u001b[2J\":" T(0, 8) "}", 8, "'a?[2J' has a control character"},
        {"{\"__metadata__\":[],\"a\":" T(0, 8) "}", 8, "__metadata__ is not an object"},
        {"{\"__metadata__\":{\"n\":1},\"a\":" T(0, 8) "}", 8, "metadata 'n' is not a string"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gerne_ctx *ctx = test_ctx();
        gn_text file;
        gn_weights *weights;
        safetensors_bytes(cases[i].header, cases[i].data_size, &file);
        assert_fails(ctx, GERNE_EDATA, cases[i].words, parse_text(ctx, &file, &weights));
        assert_null(weights);
        gn_text_free(&file);
        gerne_ctx_close(ctx);
    }
}

static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *directory = test_directory(), path[4096];
    join(path, sizeof path, directory, "a");
    write_sample(ctx, path, GN_WEIGHT_F32);
    gn_text bytes = {0};
    assert_ok(ctx, gn_file_read(ctx, path, 4096, &bytes));
    for (size_t size = 0; size < bytes.size; size++) {
        gn_weights *weights;
        gerne_status status = gn_weights_parse(ctx, bytes.bytes, size, "cut", &weights);
        assert_int_equal(status, GERNE_EDATA);
    }
    gn_text_free(&bytes);
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
}

static void test_header_length_is_not_believed(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_weights *weights;
    gn_text file;
    safetensors_bytes("{}", 0, &file);
    memset(file.bytes, 0xff, 8);
    assert_fails(ctx, GERNE_EDATA, "claims 18446744073709551615 bytes",
                 parse_text(ctx, &file, &weights));
    memset(file.bytes, 0, 8);
    assert_fails(ctx, GERNE_EDATA, "not valid JSON", parse_text(ctx, &file, &weights));
    gn_text_free(&file);
    assert_fails(ctx, GERNE_EDATA, "is empty", gn_weights_parse(ctx, "", 0, "e", &weights));
    assert_fails(ctx, GERNE_EDATA, "neither a safetensors file",
                 gn_weights_parse(ctx, "GIF89a and more", 15, "e", &weights));
    gerne_ctx_close(ctx);
}

static void test_file_troubles_are_told(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *directory = test_directory(), path[4096];
    gn_weights *weights;
    join(path, sizeof path, directory, "none");
    assert_fails(ctx, GERNE_EIO, "none", gn_weights_open(ctx, path, &weights));
    assert_fails(ctx, GERNE_EIO, "a directory", gn_weights_open(ctx, directory, &weights));
    join(path, sizeof path, directory, "no/such/place");
    assert_fails(ctx, GERNE_EIO, "cannot write",
                 gn_safetensors_write(ctx, path, GN_WEIGHT_F32, tensors, TENSORS, NULL, 0));
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
}

static void test_what_cannot_be_written_leaves_the_old_file(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *directory = test_directory(), path[4096];
    join(path, sizeof path, directory, "a");
    assert_ok(ctx, gn_file_write(ctx, path, "old", 3));
    const gn_weight_out twice[] = {tensors[0], tensors[0]};
    const gn_weight_out taken = {.name = "__metadata__", .ndims = 1, .dims = {1}, .data = sample};
    const gn_weight_out latin = {.name = "\xe4", .ndims = 1, .dims = {1}, .data = sample};
    const gn_weight_out huge = {
        .name = "h", .ndims = 2, .dims = {INT64_MAX, INT64_MAX}, .data = sample};
    const gn_metadata same[] = {{"k", "1"}, {"k", "2"}}, bad = {"k", "\xff"};
    const gerne_status wrong = GERNE_EUSAGE;
    const gn_weight_type f32 = GN_WEIGHT_F32;
    assert_fails(ctx, wrong, "is used twice",
                 gn_safetensors_write(ctx, path, f32, twice, 2, NULL, 0));
    assert_fails(ctx, wrong, "is used twice",
                 gn_safetensors_write(ctx, path, f32, &taken, 1, NULL, 0));
    assert_fails(ctx, wrong, "not UTF-8", gn_safetensors_write(ctx, path, f32, &latin, 1, NULL, 0));
    assert_fails(ctx, wrong, "impossible", gn_safetensors_write(ctx, path, f32, &huge, 1, NULL, 0));
    assert_fails(ctx, wrong, "given twice", gn_safetensors_write(ctx, path, f32, NULL, 0, same, 2));
    assert_fails(ctx, wrong, "not UTF-8", gn_safetensors_write(ctx, path, f32, NULL, 0, &bad, 1));
    assert_fails(ctx, wrong, "not as F64",
                 gn_safetensors_write(ctx, path, GN_WEIGHT_F64, tensors, 1, NULL, 0));
    gn_text bytes = {0};
    assert_ok(ctx, gn_file_read(ctx, path, 100, &bytes));
    assert_string_equal(bytes.bytes, "old");
    gn_text_free(&bytes);
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_file_reads_back),
        cmocka_unit_test(test_bytes_are_what_the_format_says),
        cmocka_unit_test(test_metadata_order_does_not_matter),
        cmocka_unit_test(test_bf16_rounds_to_nearest_even),
        cmocka_unit_test(test_f16_rounds_to_nearest_even),
        cmocka_unit_test(test_special_values_survive_bf16),
        cmocka_unit_test(test_every_half_is_exact),
        cmocka_unit_test(test_nan_and_infinity_are_named),
        cmocka_unit_test(test_lying_headers_are_refused),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_header_length_is_not_believed),
        cmocka_unit_test(test_file_troubles_are_told),
        cmocka_unit_test(test_what_cannot_be_written_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
