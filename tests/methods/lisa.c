/* LISA's pairs: who is mixed with whom, how often, and what share of the label each keeps. */
#include "testing.h"

#include "methods/lisa_pairs.h"

enum { COUNT = 7, ROOM = 2 * COUNT };

/* Cells (y, a): 0 1 4 are (0, 0), 2 is (0, 1), 3 is (1, 1), 5 6 are (1, 0). */
static const int32_t y[COUNT] = {0, 0, 0, 1, 0, 1, 1}, a[COUNT] = {0, 0, 1, 1, 0, 0, 0};

static uint32_t starts[8], order[COUNT];

static gn_lisa_batch batch_of(bool same_label, gn_mix_operator how)
{
    return (gn_lisa_batch){.count = COUNT,
                           .y = y,
                           .a = a,
                           .classes = 2,
                           .attributes = 2,
                           .same_label = same_label,
                           .alpha = 2,
                           .how = how,
                           .height = 8,
                           .width = 8,
                           .starts = starts,
                           .order = order};
}

static bool has(const gn_pair *pairs, size_t count, uint32_t one, uint32_t two)
{
    for (size_t i = 0; i < count; i++)
        if ((pairs[i].own == one && pairs[i].other == two) ||
            (pairs[i].own == two && pairs[i].other == one))
            return true;
    return false;
}

static void same_label_and_two_attributes(void **state)
{
    (void)state;
    gn_pair pairs[ROOM];
    gn_lisa_batch batch = batch_of(true, GN_MIX_WHOLE);
    bool both_ways[2] = {false, false};
    for (uint64_t k = 0; k < 50; k++) {
        gn_stream stream = gn_stream_at(1, GN_RNG_TEST, k, 0);
        /* A sweep pairs 0 of (0, 0) with 2 of (0, 1), and 5 of (1, 0) with 3 of (1, 1). */
        assert_true(gn_lisa_pairs(&batch, &stream, 2, pairs));
        assert_true(has(pairs, 2, 0, 2));
        assert_true(has(pairs, 2, 5, 3));
        assert_true(pairs[0].share != pairs[1].share); /* a coefficient for each */
        both_ways[pairs[0].own == 0 || pairs[1].own == 0] = true;
    }
    assert_true(both_ways[0] && both_ways[1]);
}

static void same_attribute_and_two_labels(void **state)
{
    (void)state;
    gn_pair pairs[ROOM];
    gn_lisa_batch batch = batch_of(false, GN_MIX_WHOLE);
    gn_stream stream = gn_stream_at(1, GN_RNG_TEST, 0, 0);
    /* a = 0: 0 1 4 and 5 6, cut to two; a = 1: 2 and 3. */
    assert_true(gn_lisa_pairs(&batch, &stream, 3, pairs));
    assert_true(has(pairs, 3, 0, 5));
    assert_true(has(pairs, 3, 1, 6));
    assert_true(has(pairs, 3, 2, 3));
}

static void sweeps_are_repeated(void **state)
{
    (void)state;
    gn_pair pairs[ROOM];
    gn_lisa_batch batch = batch_of(true, GN_MIX_WHOLE);
    gn_stream stream = gn_stream_at(1, GN_RNG_TEST, 0, 0);
    assert_true(gn_lisa_pairs(&batch, &stream, COUNT, pairs));
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(y[pairs[i].own], y[pairs[i].other]);
        assert_int_not_equal(a[pairs[i].own], a[pairs[i].other]);
    }
    assert_true(has(pairs, COUNT, 0, 2) && has(pairs, COUNT, 5, 3));
}

static void boxes_go_both_ways(void **state)
{
    (void)state;
    gn_pair pairs[ROOM];
    gn_lisa_batch batch = batch_of(true, GN_MIX_BOXES);
    gn_stream stream = gn_stream_at(1, GN_RNG_TEST, 0, 0);
    assert_true(gn_lisa_pairs(&batch, &stream, 4, pairs));
    int owners[COUNT] = {0};
    for (int i = 0; i < 4; i++) {
        const gn_box *box = &pairs[i].box;
        int covered = (box->bottom - box->top) * (box->right - box->left);
        owners[pairs[i].own]++;
        assert_near(pairs[i].share, 1 - covered / 64.0, 1e-6);
        for (int j = 0; j < i; j++) /* one box for either class */
            if (y[pairs[i].own] == y[pairs[j].own])
                assert_memory_equal(box, &pairs[j].box, sizeof *box);
    }
    assert_true(owners[0] == 1 && owners[2] == 1 && owners[3] == 1 && owners[5] == 1);
}

static void without_partners_nothing_is_mixed(void **state)
{
    (void)state;
    gn_pair pairs[ROOM];
    static const int32_t unknown[COUNT] = {0};
    gn_lisa_batch batch = batch_of(true, GN_MIX_BOXES);
    batch.a = unknown;
    batch.attributes = 1;
    gn_stream stream = gn_stream_at(1, GN_RNG_TEST, 0, 0);
    assert_false(gn_lisa_pairs(&batch, &stream, COUNT, pairs));
    int seen[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(pairs[i].own, pairs[i].other);
        assert_near(pairs[i].share, 1, 0);
        assert_int_equal(pairs[i].box.bottom, 0);
        assert_int_equal(seen[pairs[i].own]++, 0);
    }
    batch.same_label = false; /* classes still mix */
    batch.how = GN_MIX_WHOLE;
    assert_true(gn_lisa_pairs(&batch, &stream, COUNT, pairs));
    for (int i = 0; i < COUNT; i++)
        assert_int_not_equal(y[pairs[i].own], y[pairs[i].other]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_label_and_two_attributes),
        cmocka_unit_test(same_attribute_and_two_labels),
        cmocka_unit_test(sweeps_are_repeated),
        cmocka_unit_test(boxes_go_both_ways),
        cmocka_unit_test(without_partners_nothing_is_mixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
