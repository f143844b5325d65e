#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "files.h"

#define GOLDEN GERNE_SOURCE_DIR "/tests/golden/weights/"

static void check_values(gerne_ctx *ctx, const gn_weights *weights, const char *name, size_t k,
                         gn_weight_type type)
{
    const gn_weight *weight = gn_weights_find(weights, name);
    assert_non_null(weight);
    assert_int_equal(weight->type, type);
    float values[128];
    assert_true(weight->count <= 128);
    assert_ok(ctx, gn_weight_to_f32(ctx, weight, GN_WEIGHT_FINITE, values));
    for (size_t i = 0; i < weight->count; i++)
        assert_true(values[i] == golden_value(k, i));
}

static void check_network(gerne_ctx *ctx, const char *path)
{
    static const char *const names[] = {"conv.weight", "conv.bias",       "bn.weight",
                                        "bn.bias",     "bn.running_mean", "bn.running_var",
                                        NULL,          "fc.weight",       "fc.bias"};
    gn_weights *weights;
    assert_ok(ctx, gn_weights_open(ctx, path, &weights));
    assert_int_equal(gn_weights_count(weights), 9);
    for (size_t k = 0; k < 9; k++) {
        if (!names[k])
            continue;
        check_values(ctx, weights, names[k], k, GN_WEIGHT_F32);
        assert_string_equal(gn_weights_at(weights, k)->name, names[k]);
    }
    const gn_weight *conv = gn_weights_find(weights, "conv.weight");
    static const int64_t dims[] = {3, 2, 3, 3};
    assert_int_equal(conv->ndims, 4);
    assert_memory_equal(conv->dims, dims, sizeof dims);
    assert_true(conv->contiguous);
    const gn_weight *counter = gn_weights_find(weights, "bn.num_batches_tracked");
    assert_int_equal(counter->type, GN_WEIGHT_I64);
    float one;
    assert_fails(ctx, GERNE_EDATA, "'bn.num_batches_tracked' holds I64",
                 gn_weight_to_f32(ctx, counter, 0, &one));
    gn_weights_close(weights);
}

static void test_state_dicts(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    check_network(ctx, GOLDEN "state.pth");
    check_network(ctx, GOLDEN "other-key.pth");
    check_network(ctx, GOLDEN "zip64.pth");
    gerne_ctx_close(ctx);
}

/* Strided tensors come out in row-major order of their own shape. */
static void check_strided(gerne_ctx *ctx, const gn_weights *weights)
{
    float values[64];
    const gn_weight *t = gn_weights_find(weights, "transposed");
    assert_false(t->contiguous);
    assert_ok(ctx, gn_weight_to_f32(ctx, t, 0, values));
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 3; j++)
            assert_true(values[i * 3 + j] == golden_value(6, j * 4 + i));
    t = gn_weights_find(weights, "permuted"); /* [4, 2, 3] of [2, 3, 4] */
    assert_ok(ctx, gn_weight_to_f32(ctx, t, 0, values));
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 2; j++)
            for (size_t k = 0; k < 3; k++)
                assert_true(values[(i * 2 + j) * 3 + k] == golden_value(7, (j * 3 + k) * 4 + i));
    t = gn_weights_find(weights, "slice"); /* [2:4, 1:3] of [6, 4] */
    assert_ok(ctx, gn_weight_to_f32(ctx, t, 0, values));
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++)
            assert_true(values[i * 2 + j] == golden_value(8, (i + 2) * 4 + j + 1));
    check_values(ctx, weights, "channels_last", 9, GN_WEIGHT_F32);
    assert_false(gn_weights_find(weights, "channels_last")->contiguous);
}

static void test_checkpoint_with_other_things(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_weights *weights;
    assert_ok(ctx, gn_weights_open(ctx, GOLDEN "checkpoint.pth", &weights));
    assert_int_equal(gn_weights_count(weights), 14);
    check_values(ctx, weights, "f32", 1, GN_WEIGHT_F32);
    check_values(ctx, weights, "parameter", 2, GN_WEIGHT_F32);
    check_values(ctx, weights, "f16", 3, GN_WEIGHT_F16);
    check_values(ctx, weights, "bf16", 4, GN_WEIGHT_BF16);
    check_values(ctx, weights, "f64", 5, GN_WEIGHT_F64);
    const gn_weight *scalar = gn_weights_find(weights, "scalar");
    assert_int_equal(scalar->ndims, 0);
    float value;
    assert_ok(ctx, gn_weight_to_f32(ctx, scalar, 0, &value));
    assert_true(value == 1.5F);
    assert_int_equal(gn_weights_find(weights, "empty")->count, 0);
    check_strided(ctx, weights);
    float ours[512], theirs[512];
    const gn_weight *halves = gn_weights_find(weights, "halves");
    assert_in_range(halves->count, 200, 512);
    assert_ok(ctx, gn_weight_to_f32(ctx, halves, 0, ours));
    assert_ok(ctx, gn_weight_to_f32(ctx, gn_weights_find(weights, "halves_as_f32"), 0, theirs));
    assert_memory_equal(ours, theirs, halves->count * sizeof(float));
    gn_weights_close(weights);
    gerne_ctx_close(ctx);
}

static void test_other_pytorch_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *path, *words, *hint;
    } cases[] = {
        {GOLDEN "module.pth", "'torch.nn.modules.container.Sequential', which is refused",
         "state_dict"},
        {GOLDEN "legacy.pth", "a bare pickle", "PyTorch 1.6"},
        {GOLDEN "protocol4.pth", "protocol 4", "pickle_protocol=2"},
        {GOLDEN "tensor.pth", "a single tensor", ""},
        {GOLDEN "script.pt", "TorchScript", "torch.jit.load"},
        {GOLDEN "compressed.pth", "is compressed", "as it was written"},
        {GOLDEN "two-keys.pth", "more than one dictionary", "state_dict"},
        {GOLDEN "expanded.pth", "'w' of shape [4, 2] repeats items", "contiguous"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gerne_ctx *ctx = test_ctx();
        gn_weights *weights;
        assert_fails(ctx, GERNE_EDATA, cases[i].words,
                     gn_weights_open(ctx, cases[i].path, &weights));
        assert_non_null(strstr(gerne_hint(ctx), cases[i].hint));
        assert_non_null(strstr(gerne_message(ctx), cases[i].path));
        assert_null(weights);
        gerne_ctx_close(ctx);
    }
}

/* Pieces of pickles; "\1" and the like are written apart from digits that follow. */
#define STORAGE(type, key, count)                                                                  \
    "(X\7\0\0\0storagectorch\n" type "\nX\1\0\0\0" key "X\3\0\0\0cpuK" count "tQ"
#define NO_HOOKS                                                                                   \
    "\x89"                                                                                         \
    "ccollections\nOrderedDict\n)R"
#define TENSOR(storage, offset, dims, strides)                                                     \
    "ctorch._utils\n_rebuild_tensor_v2\n(" storage offset dims strides NO_HOOKS "tR"
#define DICT(value) "\x80\2}X\1\0\0\0w" value "s."
#define F6          STORAGE("FloatStorage", "0", "\6") /* what pth_bytes provides */

#define C(pickle, words)                                                                           \
    {                                                                                              \
        pickle, sizeof(pickle) - 1, words                                                          \
    }

static const struct {
    const char *bytes;
    size_t size;
    const char *words;
} hostile[] = {
    C("\x80\2cos\nsystem\nX\6\0\0\0reboot\x85R.", "asks for 'os.system', which is refused"),
    C("\x80\2cbuiltins\neval\nX\1\0\0\0"
      "1\x85R.",
      "'builtins.eval'"),
    C("\x80\2c__builtin__\nexec\n.", "'__builtin__.exec'"),
    C("\x80\2ctorch\nload\n.", "'torch.load'"),
    C("\x80\2ctorch._utils\n_rebuild_tensor_v2.__globals__\n.", "which is refused"),
    C("\x80\2cnumpy.core.multiarray\nscalar\n.", "'numpy.core.multiarray.scalar'"),
    C("\x80\2c\x1b[2J\nx\n.", "'?[2J.x'"),
    C("\x80\2(X\2\0\0\0idios\nsystem\n.", "opcode INST"),
    C("\x80\2(cos\n", "a line does not end"),
    C("\x80\2c", "a line does not end"),
    C("\x80\2(o.", "opcode OBJ"),
    C("\x80\2)\x81.", "opcode NEWOBJ"),
    C("\x80\2\x82\1.", "opcode EXT1"),
    C("\x80\2X\2\0\0\0osX\6\0\0\0system\x93.", "opcode STACK_GLOBAL"),
    C("\x80\2P0\n.", "opcode PERSID"),
    C("\x80\2}2.", "opcode DUP"),
    C("\x80\2\xff.", "unknown opcode 0xff at byte 2"),
    C("\x80\5}.", "protocol 5"),
    C("\x80\2ctorch\nFloatStorage\n)R.", "calls 'torch.FloatStorage', which is refused"),
    C("\x80\2K\1)R.", "calls something that is not a function"),
    C("\x80\2ccollections\nOrderedDict\n)R)R.", "calls something that is not a function"),
    C("\x80\2ccollections\nOrderedDict\n]\x85R.", "calls OrderedDict in a way"),
    C("\x80\2ccollections\nOrderedDict\nK\1R.", "calls OrderedDict in a way"),
    C("\x80\2ctorch._utils\n_rebuild_tensor_v2\n)R.", "calls _rebuild_tensor_v2 in a way"),
    C("\x80\2ctorch._utils\n_rebuild_parameter\nK\1\x88}\x87R.", "calls _rebuild_parameter"),
    C("\x80\2ccollections\nOrderedDict\n}b.", "attributes of something that is not a dictionary"),
    C("\x80\2}K\1b.", "attributes of something that is not a dictionary"),
    C("\x80\2K\1Q.", "not a storage"),
    C("\x80\2(X\6\0\0\0moduleK\1K\1K\1K\1tQ.", "not a storage"),
    C("\x80\2(X\7\0\0\0storageK\1K\1K\1K\1tQ.", "describes a storage wrongly"),
    C("\x80\2(X\7\0\0\0storageccollections\nOrderedDict\nX\1\0\0\0"
      "0NK\1tQ.",
      "describes a storage wrongly"),
    C("\x80\2h\0.", "memo entry that was never stored"),
    C("\x80\2}q\7h\3.", "memo entry that was never stored"),
    C("\x80\2}r\xff\xff\xff\xff.", "memo of the pickle has more than"),
    C("\x80\2q\0.", "the stack is empty"),
    C("\x80\2.", "more or less than one value"),
    C("\x80\2}}.", "more or less than one value"),
    C("\x80\2(}.", "more or less than one value"),
    C("\x80\2}.}", "bytes after its end"),
    C("\x80\2", "truncated"),
    C("", "truncated"),
    C("\x80\2X\xff\xff\xff\x7fx.", "truncated"),
    C("\x80\2J\1\0", "truncated"),
    C("\x80\2\x8a\xff"
      "1.",
      "truncated"),
    C("\x80\2t.", "there is no mark"),
    C("\x80\2K\1(\x85.", "the stack is empty"), /* a mark protects what is below it */
    C("\x80\2K\1K\1s.", "the stack is empty"),
    C("\x80\2]K\1K\1s.", "not a dictionary"),
    C("\x80\2}(K\1u.", "a key has no value"),
    C("\x80\2}(K\1e.", "not a list"),
    C("\x80\2}K\1a.", "not a list"),
    C("\x80\2K\1.", "the pickle is not a dictionary"),
    C("\x80\2(t.", "the pickle is not a dictionary"),
    C("\x80\2}.", "it has no tensors"),
    C("\x80\2}q\0X\1\0\0\0ah\0s.", "it has no tensors"), /* it contains itself */
    C(DICT(TENSOR(STORAGE("FloatStorage", "1", "\6"), "K\0", "K\6\x85", "K\1\x85")),
      "needs the storage '1', which is missing"),
    C(DICT(TENSOR(STORAGE("FloatStorage", "0", "\7"), "K\0", "K\6\x85", "K\1\x85")),
      "has 24 bytes, not 7 items of F32"),
    C(DICT(TENSOR(STORAGE("DoubleStorage", "0", "\6"), "K\0", "K\6\x85", "K\1\x85")),
      "has 24 bytes, not 6 items of F64"),
    C(DICT(TENSOR(F6, "K\0", "K\7\x85", "K\1\x85")), "'w' of shape [7] reaches beyond"),
    C(DICT(TENSOR(F6, "K\1", "K\6\x85", "K\1\x85")), "reaches beyond its storage of 6 items"),
    C(DICT(TENSOR(F6, "K\0", "K\2K\3\x86", "K\4K\1\x86")), "reaches beyond"),
    C(DICT(TENSOR(F6, "K\0", "K\7\x85", "K\0\x85")), "repeats items"),
    C(DICT(TENSOR(F6, "J\xff\xff\xff\xff", "K\2\x85", "K\1\x85")), "impossible shape [2]"),
    C(DICT(TENSOR(F6, "K\0", "J\xff\xff\xff\xff\x85", "K\1\x85")), "impossible shape [-1]"),
    C(DICT(TENSOR(F6, "K\0", "K\2\x85", "J\xff\xff\xff\xff\x85")), "impossible strides"),
    C(DICT(TENSOR(F6, "K\0", "K\3\x85", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85")),
      "impossible strides"),
    C(DICT(TENSOR(F6, "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", "K\3\x85", "K\1\x85")),
      "impossible strides"),
    C(DICT(TENSOR(F6, "K\0", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7fK\3\x86", "K\1K\1\x86")),
      "impossible shape"),
    C(DICT(TENSOR(F6, "K\0", "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t", "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t")),
      "9 dimensions"),
    C(DICT(TENSOR(F6, "K\0", "K\6\x85", "K\1K\1\x86")), "in a way that torch.save does not"),
    C(DICT(TENSOR(F6, "K\0", "N\x85", "K\1\x85")), "in a way that torch.save does not"),
    C(DICT(TENSOR(F6, "N", "K\6\x85", "K\1\x85")), "in a way that torch.save does not"),
    C("\x80\2}K\1" TENSOR(F6, "K\0", "K\6\x85", "K\1\x85") "s.",
      "name of a tensor is not a string"),
    C("\x80\2}X\0\0\0\0" TENSOR(F6, "K\0", "K\6\x85", "K\1\x85") "s.", "empty name"),
    C("\x80\2}X\2\0\0\0a\0" TENSOR(F6, "K\0", "K\6\x85", "K\1\x85") "s.", "control character"),
    C("\x80\2}(X\1\0\0\0a" TENSOR(F6, "K\0", "K\6\x85", "K\1\x85") "q\1X\1\0\0\0ah\1u.",
      "'a' appears twice"),
};

static void test_hostile_pickles_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        gerne_ctx *ctx = test_ctx();
        gn_text file;
        gn_weights *weights;
        pth_bytes(hostile[i].bytes, hostile[i].size, &file);
        assert_fails(ctx, GERNE_EDATA, hostile[i].words, parse_text(ctx, &file, &weights));
        gn_text_free(&file);
        gerne_ctx_close(ctx);
    }
}

static void test_the_honest_twin_is_read(void **state)
{
    (void)state;
    static const char pickle[] = DICT(TENSOR(F6, "K\1", "K\2K\2\x86", "K\2K\1\x86"));
    gerne_ctx *ctx = test_ctx();
    gn_text file;
    gn_weights *weights;
    pth_bytes(pickle, sizeof pickle - 1, &file);
    assert_ok(ctx, parse_text(ctx, &file, &weights));
    assert_int_equal(gn_weights_find(weights, "w")->count, 4);
    gn_weights_close(weights);
    gn_text_free(&file);
    gerne_ctx_close(ctx);
}

/* A pickle of one piece again and again. */
static gerne_status parse_repeated(gerne_ctx *ctx, const char *piece, size_t count)
{
    gn_text pickle = {0}, file;
    assert_ok(ctx, gn_text_add_bytes(ctx, &pickle, "\x80\2", 2));
    for (size_t i = 0; i < count; i++)
        assert_ok(ctx, gn_text_add_bytes(ctx, &pickle, piece, strlen(piece)));
    pth_bytes(pickle.bytes, pickle.size, &file);
    gn_weights *weights;
    gerne_status status = parse_text(ctx, &file, &weights);
    assert_null(weights);
    gn_text_free(&file);
    gn_text_free(&pickle);
    return status;
}

static void test_bombs_meet_limits(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    assert_fails(ctx, GERNE_EDATA, "a stack of more than", parse_repeated(ctx, "}", 70000));
    assert_fails(ctx, GERNE_EDATA, "nests deeper", parse_repeated(ctx, "(", 2000));
    assert_fails(ctx, GERNE_EDATA, "more than 1048576 values",
                 parse_repeated(ctx, "](NNNNNNNNNNNNNNNNNNNNe", 60000));
    assert_fails(ctx, GERNE_EDATA, "more than the limit", parse_repeated(ctx, "((((", 5 << 20));
    gerne_ctx_close(ctx);
}

static void patch(gn_text *file, size_t from_end, unsigned value)
{
    file->bytes[file->size - from_end] = (char)value;
}

/* Offsets from the end of an archive of pth_bytes: the end record (22 bytes), before it the two
 * central records (46 bytes and a name of 10 and of 8). */
enum { END = 22, SECOND = END + 46 + 8, FIRST = SECOND + 46 + 10 };

static void test_lying_archives_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t from_end;
        unsigned value;
        const char *words;
    } cases[] = {
        {END, 'p', "has no end"},
        {END - 20, 1, "has no end"},
        {END - 10, 3, "directory is damaged"},
        {END - 10, 1, "more entries than it declares"},
        {END - 11, 1, "directory is damaged"},
        {END - 15, 0x7f, "outside the file"},
        {END - 19, 0x7f, "outside the file"},
        {END - 12, 255, "outside the file"},
        {FIRST, 'p', "directory is damaged"},
        {FIRST - 8, 1, "'a/data.pkl' is compressed or encrypted"},
        {FIRST - 10, 8, "'a/data.pkl' is compressed"},
        {FIRST - 20, 200, "'a/data.pkl' is compressed"},
        {FIRST - 42, 1, "no local header"},
        {FIRST - 45, 0x7f, "no local header"},
        {FIRST - 46, 'b', "two different names"},
        {FIRST - 33, 0xff, "truncated"},
        {SECOND - 46 - 5, '1', "two different names"},
    };
    static const char pickle[] = DICT(TENSOR(F6, "K\1", "K\2\x85", "K\1\x85"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gerne_ctx *ctx = test_ctx();
        gn_text file;
        gn_weights *weights;
        pth_bytes(pickle, sizeof pickle - 1, &file);
        patch(&file, cases[i].from_end, cases[i].value);
        assert_fails(ctx, GERNE_EDATA, cases[i].words, parse_text(ctx, &file, &weights));
        gn_text_free(&file);
        gerne_ctx_close(ctx);
    }
}

static void check_parts(const zip_part *parts, size_t count, const char *words)
{
    gerne_ctx *ctx = test_ctx();
    gn_text file;
    gn_weights *weights;
    zip_bytes(parts, count, &file);
    assert_fails(ctx, GERNE_EDATA, words, parse_text(ctx, &file, &weights));
    gn_text_free(&file);
    gerne_ctx_close(ctx);
}

static void test_other_archives_are_refused(void **state)
{
    (void)state;
    const zip_part twice[] = {{"a/data.pkl", "x", 1}, {"a/data.pkl", "y", 1}};
    const zip_part npz[] = {{"x.npy", "x", 1}, {"deep/er/data.pkl", "x", 1}};
    const zip_part big[] = {{"a/data.pkl", "\x80\2}.", 4}, {"a/byteorder", "big", 3}};
    check_parts(twice, 2, "'a/data.pkl' appears twice");
    check_parts(npz, 2, "has no data.pkl");
    check_parts(big, 2, "not little endian");
}

/* The figures of a large archive stand in its zip64 records alone. */
static void test_zip64_end_record(void **state)
{
    (void)state;
    enum { LOCATOR = END + 20 };
    gerne_ctx *ctx = test_ctx();
    gn_text file = {0};
    gn_weights *weights;
    assert_ok(ctx, gn_file_read(ctx, GOLDEN "zip64.pth", 1 << 20, &file));
    memset(file.bytes + file.size - END + 8, 0xff, 12);
    assert_ok(ctx, parse_text(ctx, &file, &weights));
    assert_int_equal(gn_weights_count(weights), 9);
    gn_weights_close(weights);
    patch(&file, LOCATOR - 15, 0xff);
    assert_fails(ctx, GERNE_EDATA, "locator is invalid", parse_text(ctx, &file, &weights));
    patch(&file, LOCATOR, 0);
    assert_fails(ctx, GERNE_EDATA, "lacks its zip64 locator", parse_text(ctx, &file, &weights));
    gn_text_free(&file);
    gerne_ctx_close(ctx);
}

static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_text bytes = {0};
    assert_ok(ctx, gn_file_read(ctx, GOLDEN "state.pth", 1 << 20, &bytes));
    for (size_t size = 0; size < bytes.size; size++) {
        gn_weights *weights;
        gerne_status status = gn_weights_parse(ctx, bytes.bytes, size, "cut", &weights);
        assert_int_equal(status, GERNE_EDATA);
    }
    gn_text_free(&bytes);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state_dicts),
        cmocka_unit_test(test_checkpoint_with_other_things),
        cmocka_unit_test(test_other_pytorch_files_are_refused),
        cmocka_unit_test(test_hostile_pickles_are_refused),
        cmocka_unit_test(test_the_honest_twin_is_read),
        cmocka_unit_test(test_bombs_meet_limits),
        cmocka_unit_test(test_lying_archives_are_refused),
        cmocka_unit_test(test_other_archives_are_refused),
        cmocka_unit_test(test_zip64_end_record),
        cmocka_unit_test(test_every_truncation_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
