/* The figures of a split against an independent computation (tests/golden/metrics.py) and by hand.
 */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "metrics/metrics.h"

static json_t *golden;
static gerne_ctx *ctx;

static int open_golden(void **state)
{
    (void)state;
    ctx = test_ctx();
    gn_text bytes = {0};
    assert_ok(ctx,
              gn_file_read(ctx, GERNE_SOURCE_DIR "/tests/golden/metrics.json", 1 << 22, &bytes));
    assert_ok(ctx, gn_json_parse(ctx, bytes.bytes, bytes.size, "metrics.json", &golden));
    gn_text_free(&bytes);
    return 0;
}

static int close_golden(void **state)
{
    (void)state;
    json_decref(golden);
    gerne_ctx_close(ctx);
    return 0;
}

static double number(const json_t *array, size_t i)
{
    const json_t *item = json_array_get(array, i);
    assert_true(json_is_number(item));
    return json_number_value(item);
}

static void intervals_equal_scipys(void **state)
{
    (void)state;
    const json_t *list = json_object_get(golden, "intervals");
    assert_true(json_array_size(list) > 100);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        gn_interval got =
            gn_clopper_pearson((uint64_t)number(row, 0), (uint64_t)number(row, 1), number(row, 2));
        assert_near(got.lo, number(row, 3), 1e-9);
        assert_near(got.hi, number(row, 4), 1e-9);
    }
}

static void beta_equals_scipys(void **state)
{
    (void)state;
    const json_t *list = json_object_get(golden, "betas");
    assert_true(json_array_size(list) >= 60);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        double x = number(row, 0), a = number(row, 1), b = number(row, 2), p = number(row, 3);
        assert_near(gn_beta_cdf(x, a, b), p, 1e-11);
        assert_near(gn_beta_cdf(gn_beta_quantile(0.3, a, b), a, b), 0.3, 1e-11);
    }
    assert_true(gn_beta_cdf(-1, 2, 3) == 0);
    assert_true(gn_beta_cdf(2, 2, 3) == 1);
    assert_true(gn_beta_quantile(0, 2, 3) == 0);
    assert_true(gn_beta_quantile(1, 2, 3) == 1);
}

static void mcnemar_equals_scipys(void **state)
{
    (void)state;
    const json_t *list = json_object_get(golden, "mcnemar");
    assert_int_equal(json_array_size(list), 8);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        assert_near(gn_mcnemar((uint64_t)number(row, 0), (uint64_t)number(row, 1)), number(row, 2),
                    1e-11);
    }
}

/* Walks both documents: same keys in the same order, same kinds, numbers within 1e-9. */
static void assert_same(const json_t *got, const json_t *wanted, const char *where)
{
    if (json_is_number(wanted) && json_is_number(got)) {
        test_assert_near(json_number_value(got), json_number_value(wanted), 1e-9, where, __FILE__,
                         __LINE__);
        return;
    }
    if (json_typeof(got) != json_typeof(wanted))
        fail_msg("%s has kind %d, expected %d", where, (int)json_typeof(got),
                 (int)json_typeof(wanted));
    if (json_is_array(wanted)) {
        assert_int_equal(json_array_size(got), json_array_size(wanted));
        for (size_t i = 0; i < json_array_size(wanted); i++)
            assert_same(json_array_get(got, i), json_array_get(wanted, i), where);
    } else if (json_is_object(wanted)) {
        void *a = json_object_iter((json_t *)got), *b = json_object_iter((json_t *)wanted);
        for (; b; a = json_object_iter_next((json_t *)got, a),
                  b = json_object_iter_next((json_t *)wanted, b)) {
            assert_non_null(a);
            assert_string_equal(json_object_iter_key(a), json_object_iter_key(b));
            assert_same(json_object_iter_value(a), json_object_iter_value(b),
                        json_object_iter_key(b));
        }
        assert_null(a);
    }
}

static void load_case(const json_t *one, gn_predictions *p)
{
    const json_t *probabilities = json_object_get(one, "probabilities");
    int32_t classes = (int32_t)json_integer_value(json_object_get(one, "classes"));
    gn_predictions_init(p, classes, (int32_t)json_integer_value(json_object_get(one, "attributes")),
                        json_is_array(probabilities));
    const json_t *y = json_object_get(one, "y");
    for (size_t i = 0; i < json_array_size(y); i++) {
        double row[16];
        assert_true(classes <= 16);
        for (int32_t k = 0; k < classes && p->with_probabilities; k++)
            row[k] = number(json_array_get(probabilities, i), (size_t)k);
        if (p->with_probabilities)
            assert_int_equal(gn_argmax(row, (size_t)classes),
                             (int32_t)number(json_object_get(one, "pred"), i));
        assert_ok(ctx, gn_predictions_add(ctx, p, (int32_t)number(y, i),
                                          (int32_t)number(json_object_get(one, "a"), i),
                                          (int32_t)number(json_object_get(one, "pred"), i), row));
    }
}

static void figures_equal_numpys(void **state)
{
    (void)state;
    const json_t *cases = json_object_get(golden, "cases");
    assert_int_equal(json_array_size(cases), 16);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i);
        print_message("  %s\n", json_string_value(json_object_get(one, "name")));
        gn_predictions p;
        load_case(one, &p);
        uint64_t counts[128] = {0};
        const json_t *train = json_object_get(one, "train_counts");
        for (size_t g = 0; g < json_array_size(train); g++)
            counts[g] = (uint64_t)number(train, g);
        gn_metrics m;
        assert_ok(ctx, gn_metrics_compute(ctx, &p, json_is_array(train) ? counts : NULL, &m));
        json_t *got = gn_metrics_json(&m);
        assert_same(got, json_object_get(one, "expected"), "S");
        json_decref(got);
        gn_metrics_free(&m);
        gn_predictions_free(&p);
    }
}

/* Six samples, two classes, two attributes; every figure worked out on paper. */
static void toy_by_hand(void **state)
{
    (void)state;
    static const int32_t y[] = {0, 0, 0, 1, 1, 1}, a[] = {0, 0, 1, 0, 1, 1},
                         pred[] = {0, 0, 1, 1, 1, 0};
    static const double p1[] = {0.1, 0.4, 0.7, 0.8, 0.9, 0.4};
    gn_predictions p;
    gn_predictions_init(&p, 2, 2, true);
    for (int i = 0; i < 6; i++)
        assert_ok(ctx, gn_predictions_add(ctx, &p, y[i], a[i], pred[i],
                                          (const double[]){1 - p1[i], p1[i]}));
    const uint64_t train[] = {70, 10, 5, 15};
    gn_metrics m;
    assert_ok(ctx, gn_metrics_compute(ctx, &p, train, &m));
    assert_int_equal(m.n, 6);
    assert_near(m.acc_avg, 4 / 6.0, 1e-15);
    assert_near(m.gba, (1 + 0 + 1 + 0.5) / 4, 1e-15); /* groups: 2/2, 0/1, 1/1, 1/2 */
    assert_near(m.wga, 0, 0);
    assert_int_equal(m.worst_group, 1);
    assert_near(m.worst_class, 2 / 3.0, 1e-15);
    assert_near(m.balanced_acc, 2 / 3.0, 1e-15);
    assert_near(m.minority_acc, 0.5, 1e-15); /* samples 2 (wrong) and 3 (right) */
    assert_near(m.adj_acc_avg, (70 + 0 + 5 + 7.5) / 100, 1e-15);
    /* Pairs in order: 0.8 and 0.9 beat all three, 0.4 beats 0.1, ties 0.4, loses to 0.7. */
    assert_near(m.auroc, (3 + 3 + 1.5) / 9, 1e-15);
    /* Bins: 0.1 -> 0 of 1; two 0.4 -> 1 of 2; 0.7 -> 0 of 1; 0.8 -> 1; 0.9 -> 1. */
    assert_near(m.ece, (0.1 + 0.2 + 0.7 + 0.2 + 0.1) / 6, 1e-15);
    /* One sample, none right: the upper end is 1 - 0.025; simultaneous: 1 - 0.05 / 4 / 2. */
    assert_near(m.groups[1].ci95.hi, 0.975, 1e-12);
    assert_near(m.wga_ci95.lo, 0, 0);
    assert_near(m.wga_ci95.hi, 1 - 0.00625, 1e-12);
    assert_near(gn_metrics_value(&m, GN_METRIC_MINORITY_ACC), 0.5, 1e-15);
    assert_near(gn_metrics_value(&m, GN_METRIC_GBA), 0.625, 1e-15);
    /* Cells of the validation split are given later, and replace the attributes. */
    assert_true(isnan(gn_metrics_value(&m, GN_METRIC_INFERRED_WGA)));
    assert_ok(ctx, gn_metrics_judge_cells(ctx, &p, a, 2, &m.inferred));
    assert_near(gn_metrics_value(&m, GN_METRIC_INFERRED_GBA), 0.625, 1e-15);
    const int32_t all[6] = {0};
    assert_ok(ctx, gn_metrics_judge_cells(ctx, &p, all, 1, &m.bias)); /* classes alone */
    assert_near(gn_metrics_value(&m, GN_METRIC_BIAS_WGA), 2 / 3.0, 1e-15);
    gn_metrics_free(&m);
    gn_predictions_free(&p);
}

/* A perfect score is no proof: both intervals keep their width. */
static void intervals_keep_their_width(void **state)
{
    (void)state;
    for (int right = 0; right <= 1; right++) {
        gn_predictions p;
        gn_predictions_init(&p, 2, 2, false);
        for (int i = 0; i < 20; i++)
            assert_ok(ctx, gn_predictions_add(ctx, &p, i & 1, i >> 1 & 1,
                                              right ? i & 1 : 1 - (i & 1), NULL));
        gn_metrics m;
        assert_ok(ctx, gn_metrics_compute(ctx, &p, NULL, &m));
        assert_true(m.gba_ci95.hi - m.gba_ci95.lo > 0.1);
        assert_true(m.wga_ci95.hi - m.wga_ci95.lo > 0.4);
        assert_true(m.gba_ci95.lo <= m.gba && m.gba <= m.gba_ci95.hi);
        gn_metrics_free(&m);
        gn_predictions_free(&p);
    }
}

enum { COVERED_N = 12 };

/* The figures when k0 and k1 of the samples of two groups are right. */
static void judge_pair(int k0, int k1, gn_metrics *out)
{
    gn_predictions p;
    gn_predictions_init(&p, 2, 2, false);
    for (int i = 0; i < 2 * COVERED_N; i++)
        assert_ok(ctx,
                  gn_predictions_add(ctx, &p, 0, i & 1, i / 2 < (i & 1 ? k1 : k0) ? 0 : 1, NULL));
    assert_ok(ctx, gn_metrics_compute(ctx, &p, NULL, out));
    gn_metrics_free(out);
    gn_predictions_free(&p);
}

static double binomial(int k, double p)
{
    return exp(lgamma(COVERED_N + 1) - lgamma(k + 1) - lgamma(COVERED_N - k + 1)) * pow(p, k) *
           pow(1 - p, COVERED_N - k);
}

static bool covers(gn_interval interval, double truth)
{
    return interval.lo <= truth + 1e-12 && truth - 1e-12 <= interval.hi;
}

/* Over every outcome of two groups of twelve and a grid of true accuracies: how often the intervals
 * hold them. The worst group's is exact by construction, the mean's nearly. */
static void intervals_cover(void **state)
{
    (void)state;
    static gn_metrics outcomes[COVERED_N + 1][COVERED_N + 1];
    for (int k0 = 0; k0 <= COVERED_N; k0++)
        for (int k1 = 0; k1 <= COVERED_N; k1++)
            judge_pair(k0, k1, &outcomes[k0][k1]);
    double sum = 0, least = 1, least_worst = 1;
    for (int i = 0; i < 441; i++) {
        int column = i % 21, row = i / 21;
        double p0 = column / 20.0, p1 = row / 20.0, mean = 0, worst = 0;
        for (int k0 = 0; k0 <= COVERED_N; k0++)
            for (int k1 = 0; k1 <= COVERED_N; k1++) {
                double weight = binomial(k0, p0) * binomial(k1, p1);
                mean += weight * covers(outcomes[k0][k1].gba_ci95, (p0 + p1) / 2);
                worst += weight * covers(outcomes[k0][k1].wga_ci95, fmin(p0, p1));
            }
        sum += mean;
        least = fmin(least, mean);
        least_worst = fmin(least_worst, worst);
    }
    print_message("  mean of groups: %.4f, least %.4f; worst group: least %.4f\n", sum / 441, least,
                  least_worst);
    assert_true(least_worst >= 0.95);
    assert_true(sum / 441 >= 0.95);
    assert_true(least >= 0.93);
}

/* Logits in batches give what the softmax says, the lowest index on ties. */
static void logits_become_predictions(void **state)
{
    (void)state;
    static const float logits[] = {1, 1, 0, -3, 2, 2, 1000, -1000, 0};
    static const int32_t y[] = {0, 2, 0}, a[] = {1, 0, 1};
    gn_predictions p;
    gn_predictions_init(&p, 3, 2, true);
    assert_ok(ctx, gn_predictions_add_logits(ctx, &p, logits, y, a, 1));
    assert_ok(ctx, gn_predictions_add_logits(ctx, &p, logits + 3, y + 1, a + 1, 2));
    assert_int_equal(p.count, 3);
    assert_int_equal(p.pred[0], 0);
    assert_int_equal(p.pred[1], 1);
    assert_int_equal(p.pred[2], 0);
    assert_near(p.probabilities[0], 1 / (2 + exp(-1)), 1e-15);
    assert_near(p.probabilities[6], 1, 0);
    assert_near(p.probabilities[7], 0, 0);
    const float bad[] = {0, NAN, 0};
    assert_fails(ctx, GERNE_EDIVERGED, "sample 3",
                 gn_predictions_add_logits(ctx, &p, bad, y, a, 1));
    assert_int_equal(p.count, 3);
    gn_predictions_clear(&p);
    assert_int_equal(p.count, 0);
    gn_predictions_free(&p);
}

static void wrong_indices_are_refused(void **state)
{
    (void)state;
    gn_predictions p;
    gn_predictions_init(&p, 2, 3, false);
    assert_fails(ctx, GERNE_EUSAGE, "class 2", gn_predictions_add(ctx, &p, 2, 0, 0, NULL));
    assert_fails(ctx, GERNE_EUSAGE, "class -1", gn_predictions_add(ctx, &p, -1, 0, 0, NULL));
    assert_fails(ctx, GERNE_EUSAGE, "attribute 3", gn_predictions_add(ctx, &p, 1, 3, 0, NULL));
    assert_fails(ctx, GERNE_EUSAGE, "predicted class 5",
                 gn_predictions_add(ctx, &p, 1, 2, 5, NULL));
    assert_int_equal(p.count, 0);
    gn_predictions_free(&p);
    gn_metrics m;
    gn_predictions_init(&p, 2000, 2000, false);
    assert_fails(ctx, GERNE_EDATA, "2000 classes", gn_metrics_compute(ctx, &p, NULL, &m));
}

static void tables_name_the_worst_group(void **state)
{
    (void)state;
    static const char *const classes[] = {"landbird", "a very long name of a class, really"};
    static const char *const attributes[] = {"wälder", "water"};
    gn_predictions p;
    gn_predictions_init(&p, 2, 2, false);
    for (int i = 0; i < 6; i++)
        assert_ok(ctx, gn_predictions_add(ctx, &p, i & 1, i == 5 ? 1 : 0, i < 5 ? i & 1 : 0, NULL));
    gn_metrics m;
    assert_ok(ctx, gn_metrics_compute(ctx, &p, NULL, &m));
    gn_text out = {0};
    assert_ok(ctx, gn_metrics_print(ctx, &m, &(gn_group_names){classes, attributes}, &out));
    assert_non_null(strstr(out.bytes, "a very long name of a ..  water             1"));
    assert_non_null(strstr(out.bytes, "  wälder            3         3  100.00%"));
    assert_non_null(strstr(out.bytes, "0.00%    0.00 to  97.50  worst\n"));
    assert_non_null(strstr(out.bytes, "empty\n"));
    gn_text_free(&out);
    gn_metrics_free(&m);
    gn_predictions_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_equal_scipys),
        cmocka_unit_test(beta_equals_scipys),
        cmocka_unit_test(mcnemar_equals_scipys),
        cmocka_unit_test(figures_equal_numpys),
        cmocka_unit_test(toy_by_hand),
        cmocka_unit_test(intervals_keep_their_width),
        cmocka_unit_test(intervals_cover),
        cmocka_unit_test(logits_become_predictions),
        cmocka_unit_test(wrong_indices_are_refused),
        cmocka_unit_test(tables_name_the_worst_group),
    };
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}
