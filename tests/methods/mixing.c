/* Batches of mixed samples, and the boxes of cutmix. */
#include "testing.h"

#include <math.h>

#include "methods/mixing.h"
#include "train/trainer.h"

static void a_mixed_batch_is_made_of_pairs(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    const gn_stage stage = {.networks = 2};
    gn_trainer t = {.run = {.ctx = ctx, .stage = &stage}};
    gn_mixing mixing;
    assert_ok(ctx, gn_arena_new(ctx, &t.stage_arena));
    assert_ok(ctx, gn_mixing_start(&t.run, 2, &mixing));
    const uint32_t indices[] = {70, 71, 72};
    const int32_t labels[] = {4, 5, 6};
    const float rows[3] = {1, 2, 3};
    const void *const sources[] = {&rows[0], &rows[1], &rows[2]};
    const gn_minibatch batch = {
        .indices = indices,
        .samples = {.count = 3, .fields = {sources}, .labels = labels, .step = 9, .place = 5}};
    mixing.pairs[0] = (gn_pair){.own = 2, .other = 0, .share = 0.75f};
    mixing.pairs[1] = (gn_pair){.own = 1, .other = 1, .share = 1, .box = {1, 2, 3, 4}};
    const gn_minibatch *mixed = gn_mix(&mixing, &batch, 2, GN_MIX_WHOLE);
    const gn_mixture *mixture = mixed->samples.mixture;
    assert_int_equal(mixed->samples.count, 2);
    assert_int_equal(mixed->indices[0], 72);
    assert_int_equal(mixed->samples.labels[0], 6);
    assert_int_equal(mixture->labels[0], 4);
    assert_int_equal(mixture->labels[1], 5);
    assert_ptr_equal(mixed->samples.fields[0][0], &rows[2]);
    assert_ptr_equal(mixture->fields[0][0], &rows[0]);
    assert_near(mixture->share[0], 0.75, 0);
    assert_near(mixed->samples.weights[1], 0.5, 0);
    assert_null(mixture->boxes);
    assert_int_equal(mixed->samples.step, 9);
    assert_int_equal(mixed->samples.place, 5);
    mixed = gn_mix(&mixing, &batch, 2, GN_MIX_BOXES);
    assert_int_equal(mixed->samples.mixture->boxes[1].right, 4);
    assert_non_null(mixed->losses[1]);
    gn_arena_close(t.stage_arena);
    gerne_ctx_close(ctx);
}

static void check_box(const gn_box *box, int top, int left, int bottom, int right)
{
    assert_int_equal(box->top, top);
    assert_int_equal(box->left, left);
    assert_int_equal(box->bottom, bottom);
    assert_int_equal(box->right, right);
}

static void boxes_are_cut_off_at_the_edges(void **state)
{
    (void)state;
    float share;
    /* lambda 3/4: sides of a half, 4 rows and 8 columns around (4, 8). 32 of 128 pixels. */
    gn_box box = gn_cutmix_box(0.75, 8, 16, 4, 8, &share);
    check_box(&box, 2, 4, 6, 12);
    assert_near(share, 0.75, 1e-7);
    /* Around the last pixel a quarter of it remains: rows 5..7, columns 11..15, 15 pixels. */
    box = gn_cutmix_box(0.75, 8, 16, 7, 15, &share);
    check_box(&box, 5, 11, 8, 16);
    assert_near(share, 1 - 15.0 / 128, 1e-7);
    /* An odd side loses half a pixel on either end: 9 * 0.6 = 5.4 -> 5 -> 2 on each side. */
    box = gn_cutmix_box(1 - 0.36, 9, 9, 4, 4, &share);
    check_box(&box, 2, 2, 6, 6);
    assert_near(share, 1 - 16.0 / 81, 1e-6);
    gn_cutmix_box(1, 8, 8, 3, 3, &share);
    assert_near(share, 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mixed_batch_is_made_of_pairs),
        cmocka_unit_test(boxes_are_cut_off_at_the_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
