/* The rules of methods that train two networks against each other, by numbers worked out by hand.
 */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "methods/denetdm.h"
#include "methods/dfa.h"
#include "methods/lc.h"
#include "methods/list.h"

/* ---- LC ---- */

enum { CLASSES = 2, CELLS = CLASSES * CLASSES };

typedef struct fixture {
    float values[CELLS], seen[CELLS], sums[CELLS], counts[CELLS];
    gn_lc_table table;
} fixture;

static void open_table(fixture *f)
{
    memset(f, 0, sizeof *f);
    f->table = (gn_lc_table){CLASSES, f->values, f->seen, f->sums, f->counts};
}

/* Three samples: class 0 seen as 0 with 0.8 and 0.4, class 1 seen as 0 with 0.1. */
static int32_t views_y[] = {0, 0, 1}, views_a[] = {0, 0, 0};
static float confidence[] = {0.8f, 0.4f, 0.1f};
static const gn_lc_view view = {3, views_y, views_a, confidence};

static void lc_table_runs_over_samples(void **state)
{
    (void)state;
    fixture f;
    open_table(&f);
    /* [0][0]: 0.8, then 0.75 * 0.8 + 0.25 * 0.4 = 0.7; [1][0]: 0.1. */
    gn_lc_update(&f.table, GN_LC_MV, 0.75, &view);
    assert_near(f.values[0], 0.7, 1e-6);
    assert_near(f.values[2], 0.1, 1e-6);
    /* Again: 0.75 (0.75 * 0.7 + 0.25 * 0.8) + 0.25 * 0.4 = 0.64375; 0.1 stays. */
    gn_lc_update(&f.table, GN_LC_MV, 0.75, &view);
    assert_near(f.values[0], 0.64375, 1e-6);
    assert_near(f.values[2], 0.1, 1e-6);
    assert_near(f.values[1] + f.values[3], 0, 0);
}

static void lc_table_of_a_batch_forgets(void **state)
{
    (void)state;
    fixture f;
    open_table(&f);
    /* (0.8 + 0.4) / 2.0001 and 0.1 / 1.0001. */
    gn_lc_update(&f.table, GN_LC_BATCH, 0.75, &view);
    assert_near(f.values[0], 1.2 / 2.0001, 1e-6);
    assert_near(f.values[2], 0.1 / 1.0001, 1e-6);
    int32_t y[] = {1}, a[] = {1};
    float half[] = {0.5f};
    gn_lc_update(&f.table, GN_LC_BATCH, 0.75, &(gn_lc_view){1, y, a, half});
    assert_near(f.values[0], 0, 0);
    assert_near(f.values[3], 0.5 / 1.0001, 1e-6);
}

static void lc_table_runs_over_batches(void **state)
{
    (void)state;
    fixture f;
    open_table(&f);
    gn_lc_update(&f.table, GN_LC_MV_BATCH, 0.75, &view);
    assert_near(f.values[0], 1.2 / 2.0001, 1e-6);
    /* Cells that a batch does not meet stay; others move a quarter of the way. */
    int32_t y[] = {1}, a[] = {0};
    float half[] = {0.5f};
    gn_lc_update(&f.table, GN_LC_MV_BATCH, 0.75, &(gn_lc_view){1, y, a, half});
    assert_near(f.values[0], 1.2 / 2.0001, 1e-6);
    assert_near(f.values[2], 0.75 * 0.1 / 1.0001 + 0.25 * 0.5 / 1.0001, 1e-6);
    assert_near(f.values[1] + f.values[3], 0, 0);
}

static void lc_columns(void **state)
{
    (void)state;
    fixture f;
    float column[CLASSES];
    open_table(&f);
    f.values[0] = 0.6f;
    f.values[2] = 0.2f;
    gn_lc_column(&f.table, GN_LC_NORMALIZED, 0, column);
    assert_near(column[0], 0.75, 1e-6);
    assert_near(column[1], 0.25, 1e-6);
    gn_lc_column(&f.table, GN_LC_RAW, 0, column);
    assert_near(column[1], 0.2, 1e-7);
    gn_lc_column(&f.table, GN_LC_SMOOTH, 0, column);
    assert_near(column[0], 0.6 / 0.8001, 1e-6);
    /* A column that nobody has met has nothing to divide by. */
    gn_lc_column(&f.table, GN_LC_NORMALIZED, 1, column);
    assert_near(column[0] + column[1], 0, 0);
}

static void lc_strength_grows(void **state)
{
    (void)state;
    assert_near(gn_lc_strength(0, 0), 0.5, 0);
    assert_near(gn_lc_strength(0, 10), 0.5 * exp(-5), 1e-12);
    assert_near(gn_lc_strength(5, 10), 0.5 * exp(-1.25), 1e-12);
    assert_near(gn_lc_strength(20, 10), 0.5, 0);
}

static void lc_partners_conflict_where_they_can(void **state)
{
    (void)state;
    /* Class 0: samples 0, 2, 4, of which 4 is taken for class 1. Class 1: 1 and 3, both easy. */
    int32_t y[] = {0, 1, 0, 1, 0}, a[] = {0, 1, 0, 1, 1};
    uint32_t partners[5], room[5];
    int swapped = 0;
    for (uint64_t k = 0; k < 20; k++) {
        gn_stream stream = gn_stream_at(1, GN_RNG_TEST, k, 0);
        assert_false(
            gn_lc_partners(&(gn_lc_view){5, y, a, NULL}, CLASSES, &stream, partners, room));
        assert_int_equal(partners[0], 4);
        assert_int_equal(partners[2], 4);
        assert_int_equal(partners[4], 4);
        assert_int_equal(partners[1] + partners[3], 4); /* a permutation of 1 and 3 */
        assert_true(partners[1] == 1 || partners[1] == 3);
        swapped += partners[1] == 3;
    }
    assert_true(swapped > 0 && swapped < 20);
    a[1] = 0; /* now class 1 has one too */
    gn_stream stream = gn_stream_at(1, GN_RNG_TEST, 0, 0);
    assert_true(gn_lc_partners(&(gn_lc_view){5, y, a, NULL}, CLASSES, &stream, partners, room));
    assert_int_equal(partners[3], 1);
}

static void lc_loss_is_that_of_corrected_logits(void **state)
{
    (void)state;
    /* Logits 0, priors 0.7499 and 0.2499: odds 3 to 1. Loss of class 1: log 4; gradient 3/4, -3/4.
     */
    const int32_t labels[] = {1};
    const float shift[] = {gn_lc_shift(0.7499f), gn_lc_shift(0.2499f)}, logits[] = {0, 0};
    float room[2], losses[1], gradient[2];
    const gn_shifted_cross_entropy terms = {{.labels = labels, .count = 1}, shift, room, false};
    const gn_loss_part part = {
        .count = 1, .classes = 2, .logits = logits, .losses = losses, .logit_gradient = gradient};
    const gn_loss loss = gn_shifted_cross_entropy_loss(&terms);
    assert_near(loss.evaluate(loss.terms, &part), log(4), 1e-5);
    assert_near(gradient[0], 0.75, 1e-5);
    assert_near(gradient[1], -0.75, 1e-5);
}

/* ---- DeNetDM ---- */

static void distillation_by_hand(void **state)
{
    (void)state;
    /* T = 2. Teacher 2 ln 3 and 0: softened 3/4, 1/4. Student 0 and 0: softened 1/2, 1/2.
     * Loss: 4 ln 2. Gradient of the mean of two samples, weight 3: 3/2 * 2 * (1/2 - 3/4) = -3/4.
     * The second student agrees with the teacher: gradient 0, loss 4 times the entropy. */
    const float log3 = (float)(2 * log(3));
    const float teacher[] = {log3, 0, log3, 0}, logits[] = {0, 0, log3 + 1, 1};
    float losses[2], gradient[4];
    const gn_distillation terms = {teacher, 2, 2, 3};
    const gn_loss_part part = {
        .count = 2, .classes = 2, .logits = logits, .losses = losses, .logit_gradient = gradient};
    const gn_loss loss = gn_distillation_loss(&terms);
    double entropy = -0.75 * log(0.75) - 0.25 * log(0.25);
    assert_near(loss.evaluate(loss.terms, &part), 1.5 * (4 * log(2) + 4 * entropy), 1e-5);
    assert_near(losses[0], 4 * log(2), 1e-5);
    assert_near(losses[1], 4 * entropy, 1e-5);
    assert_near(gradient[0], -0.75, 1e-5);
    assert_near(gradient[1], 0.75, 1e-5);
    assert_near(gradient[2], 0, 1e-5);
    assert_near(gradient[3], 0, 1e-5);
}

/* Beside a pretrained network, whose running statistics stay, both bodies of the first stage start
 * from scratch and have to find theirs. */
static void denetdm_bodies_start_from_scratch(void **state)
{
    (void)state;
    static const struct {
        const char *network, *shallow;
    } cases[] = {{"mlp", "mlp"}, {"resnet20", "convnet3"}, {"resnet18", "convnet4"}};
    gerne_ctx *ctx = test_ctx();
    gn_arena *arena;
    const gn_method *method;
    void *options;
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    assert_ok(ctx, gn_method_find(ctx, "denetdm", &method));
    assert_ok(ctx, gn_arena_alloc(ctx, arena, 1, method->options_size, &options));
    assert_ok(ctx, gn_options_default(ctx, arena, method->options, method->option_count, options));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const gn_model_options model = {
            .arch = cases[i].network, .weights = "file", .bn = GN_BN_FROZEN};
        const gn_run run = {.ctx = ctx, .model = &model, .options = options};
        gn_stage stages[GN_STAGES_MAX];
        assert_int_equal(method->stages(&run, stages), 2);
        const gn_model_options *shallow = &stages[0].models[0], *deep = &stages[0].models[1];
        assert_string_equal(shallow->arch, cases[i].shallow);
        assert_string_equal(deep->arch, cases[i].network);
        assert_null(shallow->weights);
        assert_null(deep->weights);
        assert_int_equal(shallow->bn, GN_BN_CONCAT);
        assert_int_equal(deep->bn, GN_BN_CONCAT);
    }
    gn_arena_close(arena);
    gerne_ctx_close(ctx);
}

/* ---- DFA ---- */

static void dfa_swaps_bias_features(void **state)
{
    (void)state;
    /* Rows [z_i; z_b] of width 1 + 1; 0 gets the bias of 2, 1 that of 0, 2 that of 1. */
    const float features[] = {1, 10, 2, 20, 3, 30};
    const uint32_t partner[] = {2, 0, 1};
    float swapped[6];
    gn_dfa_swap(features, 3, 1, partner, swapped);
    assert_close(swapped, ((const float[]){1, 30, 2, 10, 3, 20}), 6, 0);
}

static void dfa_stops_gradients(void **state)
{
    (void)state;
    const float gradient[] = {1, 10, 2, 20, 3, 30};
    const uint32_t partner[] = {2, 0, 1};
    float sum[6] = {100};
    /* The intrinsic half to its own sample, the bias half to the sample it was taken from. */
    gn_dfa_collect(gradient, 3, 1, GN_DFA_INTRINSIC, NULL, sum);
    assert_close(sum, ((const float[]){101, 0, 2, 0, 3, 0}), 6, 0);
    gn_dfa_collect(gradient, 3, 1, GN_DFA_BIAS, partner, sum);
    assert_close(sum, ((const float[]){101, 20, 2, 30, 3, 10}), 6, 0);
    gn_dfa_collect(gradient, 3, 1, GN_DFA_BIAS, NULL, sum);
    assert_close(sum, ((const float[]){101, 30, 2, 50, 3, 40}), 6, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lc_table_runs_over_samples),
        cmocka_unit_test(lc_table_of_a_batch_forgets),
        cmocka_unit_test(lc_table_runs_over_batches),
        cmocka_unit_test(lc_columns),
        cmocka_unit_test(lc_strength_grows),
        cmocka_unit_test(lc_partners_conflict_where_they_can),
        cmocka_unit_test(lc_loss_is_that_of_corrected_logits),
        cmocka_unit_test(distillation_by_hand),
        cmocka_unit_test(denetdm_bodies_start_from_scratch),
        cmocka_unit_test(dfa_swaps_bias_features),
        cmocka_unit_test(dfa_stops_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
