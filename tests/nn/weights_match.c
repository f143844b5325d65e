#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "nn/weights.h"

enum { MAX = 32 };

static float zeros[1 << 12];

typedef struct fixture {
    gerne_ctx *ctx;
    char *directory;
    gn_weights *weights;
    char log[512];
    const gn_weight *found[MAX];
    gn_match match;
} fixture;

static void keep_log(void *user, gerne_log_level level, const char *line)
{
    fixture *f = user;
    assert_int_equal(level, GERNE_LOG_INFO);
    snprintf(f->log, sizeof f->log, "%s", line);
}

/* A file with these tensors; every name gets the prefix. */
static void open_fixture(fixture *f, const gn_weight_out *tensors, size_t count, const char *prefix)
{
    *f = (fixture){.ctx = test_ctx(), .directory = test_directory()};
    gerne_set_log(f->ctx, keep_log, f);
    char path[4096], names[MAX][64];
    snprintf(path, sizeof path, "%s/a.safetensors", f->directory);
    gn_weight_out copy[MAX];
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%s%s", prefix, tensors[i].name);
        copy[i] = tensors[i];
        copy[i].name = names[i];
        copy[i].data = zeros;
    }
    assert_ok(f->ctx, gn_safetensors_write(f->ctx, path, GN_WEIGHT_F32, copy, count, NULL, 0));
    assert_ok(f->ctx, gn_weights_open(f->ctx, path, &f->weights));
}

static void close_fixture(fixture *f)
{
    gn_weights_close(f->weights);
    test_remove_directory(f->directory);
    gerne_ctx_close(f->ctx);
}

static const gn_wanted wanted[] = {
    {.name = "conv.weight", .ndims = 4, .dims = {4, 3, 3, 3}},
    {.name = "bn.weight", .ndims = 1, .dims = {4}},
    {.name = "fc.weight", .ndims = 2, .dims = {2, 4}, .is_head = true},
    {.name = "fc.bias", .ndims = 1, .dims = {2}, .is_head = true},
};
enum { WANTED = sizeof wanted / sizeof wanted[0] };

#define CONV                                                                                       \
    {                                                                                              \
        .name = "conv.weight", .ndims = 4, .dims = { 4, 3, 3, 3 }                                  \
    }
#define BN                                                                                         \
    {                                                                                              \
        .name = "bn.weight", .ndims = 1, .dims = { 4 }                                             \
    }
#define COUNTER                                                                                    \
    {                                                                                              \
        .name = "bn.num_batches_tracked", .ndims = 0                                               \
    }
#define HEAD(classes, features)                                                                    \
    {.name = "fc.weight", .ndims = 2, .dims = {classes, features}},                                \
    {                                                                                              \
        .name = "fc.bias", .ndims = 1, .dims = { classes }                                         \
    }

static gerne_status match(fixture *f)
{
    return gn_weights_match(f->ctx, f->weights, wanted, WANTED, NULL, f->found, &f->match);
}

static void test_all_fit(void **state)
{
    (void)state;
    static const gn_weight_out file[] = {HEAD(2, 4), COUNTER, BN, CONV};
    static const char *const prefixes[] = {"", "module.", "model.", "module.model.", "_orig_mod."};
    for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++) {
        fixture f;
        open_fixture(&f, file, 5, prefixes[p]);
        assert_ok(f.ctx, match(&f));
        for (size_t i = 0; i < WANTED; i++) {
            assert_non_null(f.found[i]);
            assert_non_null(strstr(f.found[i]->name, wanted[i].name));
        }
        assert_false(f.match.head_replaced);
        assert_string_equal(f.log, "");
        close_fixture(&f);
    }
}

static void test_prefix_of_some_names_stays(void **state)
{
    (void)state;
    static const gn_weight_out file[] = {
        {.name = "module.conv.weight", .ndims = 4, .dims = {4, 3, 3, 3}}, BN, HEAD(2, 4)};
    fixture f;
    open_fixture(&f, file, 4, "");
    assert_fails(f.ctx, GERNE_EDATA, "1 missing ('conv.weight'); 1 unexpected", match(&f));
    close_fixture(&f);
}

static void test_prefix_of_our_own_stays(void **state)
{
    (void)state;
    static const gn_wanted ours[] = {{.name = "model.w", .ndims = 1, .dims = {2}}};
    static const gn_weight_out file[] = {{.name = "w", .ndims = 1, .dims = {2}}};
    fixture f;
    open_fixture(&f, file, 1, "model.");
    assert_ok(f.ctx, gn_weights_match(f.ctx, f.weights, ours, 1, NULL, f.found, NULL));
    assert_non_null(f.found[0]);
    close_fixture(&f);
}

static void check_replaced(const gn_weight_out *file, size_t count, const char *log)
{
    fixture f;
    open_fixture(&f, file, count, "");
    assert_ok(f.ctx, match(&f));
    assert_true(f.match.head_replaced);
    assert_non_null(f.found[0]);
    assert_non_null(f.found[1]);
    assert_null(f.found[2]);
    assert_null(f.found[3]);
    assert_true(f.match.head->is_head);
    assert_string_equal(f.match.theirs->name, f.match.head->name);
    assert_non_null(strstr(f.log, log));
    close_fixture(&f);
}

static void test_head_of_another_size_is_replaced(void **state)
{
    (void)state;
    static const gn_weight_out classes[] = {CONV, BN, HEAD(10, 4)};
    static const gn_weight_out features[] = {CONV, BN, HEAD(2, 5)}; /* its bias alone would fit */
    check_replaced(classes, 4,
                   "the head 'fc.weight' is [10, 4] in the file and [2, 4] in the network");
    check_replaced(features, 4,
                   "the head 'fc.weight' is [2, 5] in the file and [2, 4] in the network");
}

static void check_refused(const gn_weight_out *file, size_t count, const char *words)
{
    fixture f;
    open_fixture(&f, file, count, "");
    assert_fails(f.ctx, GERNE_EDATA, words, match(&f));
    assert_non_null(strstr(gerne_message(f.ctx), "a.safetensors' does not fit the network"));
    close_fixture(&f);
}

static void test_what_does_not_fit_is_named(void **state)
{
    (void)state;
    static const gn_weight_out no_bn[] = {CONV, HEAD(2, 4)};
    static const gn_weight_out no_head[] = {CONV, BN};
    static const gn_weight_out extra[] = {
        CONV, BN, HEAD(2, 4), {.name = "layer9.weight", .ndims = 1, .dims = {1}}};
    static const gn_weight_out shape[] = {
        {.name = "conv.weight", .ndims = 4, .dims = {4, 3, 7, 7}}, BN, HEAD(2, 4)};
    static const gn_weight_out all[] = {
        {.name = "conv.weight", .ndims = 1, .dims = {4}}, {.name = "x"}, HEAD(2, 4)};
    check_refused(no_bn, 3, "tensors 1 missing ('bn.weight')");
    check_refused(no_head, 2, "2 missing ('fc.weight', 'fc.bias')");
    check_refused(extra, 5, "1 unexpected ('layer9.weight')");
    check_refused(shape, 4, "1 of another shape ('conv.weight' is [4, 3, 7, 7], not [4, 3, 3, 3])");
    check_refused(all, 4,
                  "1 missing ('bn.weight'); 1 of another shape ('conv.weight' is [4], not "
                  "[4, 3, 3, 3]); 1 unexpected ('x')");
}

static void test_many_are_counted(void **state)
{
    (void)state;
    gn_weight_out file[20];
    char names[20][16];
    for (size_t i = 0; i < 20; i++) {
        snprintf(names[i], sizeof names[i], "t%zu", i);
        file[i] = (gn_weight_out){.name = names[i], .ndims = 0};
    }
    fixture f;
    open_fixture(&f, file, 20, "");
    assert_fails(f.ctx, GERNE_EDATA,
                 "4 missing ('conv.weight', 'bn.weight', 'fc.weight', 'fc.bias')", match(&f));
    assert_non_null(
        strstr(gerne_message(f.ctx), "20 unexpected ('t0', 't1', 't2', 't3' and 16 more)"));
    assert_non_null(strstr(gerne_hint(f.ctx), "another architecture"));
    close_fixture(&f);
}

static void test_integers_are_refused(void **state)
{
    (void)state;
    static const gn_wanted ours[] = {{.name = "bn.num_batches_tracked", .ndims = 0}};
    gerne_ctx *ctx = test_ctx();
    static const char path[] = GERNE_SOURCE_DIR "/tests/golden/weights/state.pth";
    gn_weights *weights;
    const gn_weight *found[1];
    assert_ok(ctx, gn_weights_open(ctx, path, &weights));
    assert_fails(ctx, GERNE_EDATA, "1 not floating-point ('bn.num_batches_tracked' is I64)",
                 gn_weights_match(ctx, weights, ours, 1, NULL, found, NULL));
    gn_weights_close(weights);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_fit),
        cmocka_unit_test(test_prefix_of_some_names_stays),
        cmocka_unit_test(test_prefix_of_our_own_stays),
        cmocka_unit_test(test_head_of_another_size_is_replaced),
        cmocka_unit_test(test_what_does_not_fit_is_named),
        cmocka_unit_test(test_many_are_counted),
        cmocka_unit_test(test_integers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
