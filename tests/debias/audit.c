#include "testing.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/rng.h"
#include "debias/audit.h"
#include "debias/groups.h"
#include "debias/tally.h"

static gn_association association(gerne_ctx *ctx, const int64_t *counts, uint32_t classes,
                                  uint32_t attributes)
{
    uint64_t table[12];
    gn_association out;
    assert_in_range(classes * attributes, 1, 12);
    for (uint32_t g = 0; g < classes * attributes; g++)
        table[g] = (uint64_t)counts[g];
    assert_ok(ctx, gn_association_of(ctx, table, classes, attributes, &out));
    return out;
}

/* Textbook forms: V from chi-square as sum (O - E)^2 / E, information from entropies. */
static void textbook(const double *p, uint32_t classes, uint32_t attributes, double *v, double *mi)
{
    double row[8] = {0}, column[8] = {0}, chi = 0, h_row = 0, h_column = 0, h = 0;
    for (uint32_t g = 0; g < classes * attributes; g++) {
        row[g / attributes] += p[g];
        column[g % attributes] += p[g];
        h -= p[g] > 0 ? p[g] * log(p[g]) : 0;
    }
    for (uint32_t g = 0; g < classes * attributes; g++) {
        double e = row[g / attributes] * column[g % attributes];
        chi += (p[g] - e) * (p[g] - e) / e;
    }
    for (uint32_t y = 0; y < classes; y++)
        h_row -= row[y] * log(row[y]);
    for (uint32_t a = 0; a < attributes; a++)
        h_column -= column[a] * log(column[a]);
    *v = sqrt(chi / ((classes < attributes ? classes : attributes) - 1));
    *mi = h_row + h_column - h;
}

static void test_estimates(void **state)
{
    (void)state;
    static const struct {
        int64_t counts[12];
        uint32_t classes, attributes;
    } cases[] = {
        {{3498, 184, 56, 1057}, 2, 2},
        {{10, 20, 30, 5, 6, 70, 1, 1, 1, 4, 0, 9}, 3, 4},
        {{5, 5, 5, 5}, 2, 2},
    };
    gerne_ctx *ctx = test_ctx();
    for (int i = 0; i < 3; i++) {
        double n = 0, p[12], v, mi;
        uint32_t cells = cases[i].classes * cases[i].attributes;
        for (uint32_t g = 0; g < cells; g++)
            n += (double)cases[i].counts[g];
        for (uint32_t g = 0; g < cells; g++)
            p[g] = (double)cases[i].counts[g] / n;
        textbook(p, cases[i].classes, cases[i].attributes, &v, &mi);
        gn_association s = association(ctx, cases[i].counts, cases[i].classes, cases[i].attributes);
        assert_near(s.cramers_v, v, 1e-12);
        assert_near(s.mutual_information, mi, 1e-12);
        assert_true(s.cramers_v_ci95.lo <= v && v <= s.cramers_v_ci95.hi);
    }
    /* Columns of the second table: largest of (10, 6, 1), (20, 70, 4), (30, 1, 0), (5, 1, 9). */
    gn_association s = association(ctx, cases[1].counts, 3, 4);
    assert_near(s.attribute_only, (10 + 70 + 30 + 9) / 157.0, 1e-12);
    assert_near(s.largest_class, 78 / 157.0, 1e-12);
    assert_near(association(ctx, cases[0].counts, 2, 2).attribute_only, 4555 / 4795.0, 1e-12);
    gerne_ctx_close(ctx);
}

/* Perfect, constant and empty-column tables: defined, and not falsely certain. */
static void test_extremes(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_association s = association(ctx, (const int64_t[]){10, 0, 0, 10}, 2, 2);
    assert_near(s.cramers_v, 1, 1e-15);
    assert_true(s.cramers_v_ci95.lo < 0.95 && s.cramers_v_ci95.hi == 1);
    assert_near(s.mutual_information, log(2), 1e-12);
    assert_near(s.most_information, log(2), 1e-12);
    s = association(ctx, (const int64_t[]){10, 20}, 2, 1);
    assert_true(s.cramers_v == 0 && s.mutual_information == 0 && s.cramers_v_ci95.hi == 0);
    assert_near(s.attribute_only, 20.0 / 30, 1e-15);
    s = association(ctx, (const int64_t[]){10, 0, 20, 30, 0, 5}, 2, 3);
    gn_association narrow = association(ctx, (const int64_t[]){10, 20, 30, 5}, 2, 2);
    assert_near(s.cramers_v, narrow.cramers_v, 1e-15);
    assert_near(s.cramers_v_ci95.lo, narrow.cramers_v_ci95.lo, 1e-15);
    assert_near(s.mutual_information_ci95.hi, narrow.mutual_information_ci95.hi, 1e-15);
    s = association(ctx, (const int64_t[]){10, 20, 0, 0, 30, 5}, 3, 2); /* an empty class */
    assert_near(s.cramers_v, narrow.cramers_v, 1e-15);
    assert_near(s.cramers_v_unbiased, narrow.cramers_v_unbiased, 1e-15);
    s = association(ctx, (const int64_t[]){0, 0, 0, 0}, 2, 2);
    assert_true(s.n == 0 && s.degrees == 0 && s.cramers_v == 0);
    s = association(ctx, (const int64_t[]){50, 50, 50, 50}, 2, 2);
    assert_true(s.cramers_v_ci95.lo == 0 && s.cramers_v_ci95.hi > 0.1);
    gerne_ctx_close(ctx);
}

/* By hand: phi^2 = (10*5 - 20*30)^2 / (30*35*40*25), n = 65, so that 1/64 comes off both. A table
 * of many columns without association has a large V by chance alone. */
static void test_bias_correction(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_association s = association(ctx, (const int64_t[]){10, 20, 30, 5}, 2, 2);
    double phi2 = 550.0 * 550 / (30.0 * 35 * 40 * 25);
    assert_near(s.cramers_v_unbiased, sqrt((phi2 - 1.0 / 64) / (1 - 1.0 / 64)), 1e-12);
    s = association(ctx, (const int64_t[]){3, 1, 2, 1, 2, 1, 1, 2, 1, 2, 1, 3}, 2, 6);
    assert_true(s.cramers_v > 0.3);
    assert_true(s.cramers_v_unbiased == 0);
    assert_near(association(ctx, (const int64_t[]){9, 0, 0, 9}, 2, 2).cramers_v_unbiased, 1, 1e-12);
    gerne_ctx_close(ctx);
}

/* The intervals contain the truth in at least 93 % of 3,000 samples; 95 % are meant. */
static void test_coverage(void **state)
{
    (void)state;
    static const struct {
        double p[12];
        uint32_t classes, attributes, n;
    } cases[] = {
        {{0.4, 0.1, 0.1, 0.4}, 2, 2, 200},
        {{0.25, 0.25, 0.25, 0.25}, 2, 2, 200},
        {{0.49, 0.01, 0.02, 0.48}, 2, 2, 400},
        {{0.2, 0.05, 0.05, 0.03, 0.1, 0.2, 0.05, 0.02, 0.05, 0.05, 0.1, 0.1}, 3, 4, 500},
    };
    enum { ROUNDS = 3000 };
    gerne_ctx *ctx = test_ctx();
    for (int i = 0; i < 4; i++) {
        double v, mi;
        textbook(cases[i].p, cases[i].classes, cases[i].attributes, &v, &mi);
        int v_in = 0, mi_in = 0;
        for (uint64_t round = 0; round < ROUNDS; round++) {
            int64_t counts[12] = {0};
            gn_stream stream = gn_stream_at(3, GN_RNG_TEST, round, (uint64_t)i);
            for (uint32_t k = 0; k < cases[i].n; k++) {
                double u = gn_random_uniform(&stream);
                uint32_t g = 0, last = cases[i].classes * cases[i].attributes - 1;
                while (g < last && u >= cases[i].p[g])
                    u -= cases[i].p[g++];
                counts[g]++;
            }
            gn_association s = association(ctx, counts, cases[i].classes, cases[i].attributes);
            v_in += s.cramers_v_ci95.lo <= v && v <= s.cramers_v_ci95.hi;
            mi_in += s.mutual_information_ci95.lo <= mi && mi <= s.mutual_information_ci95.hi;
        }
        print_message("case %d: V %.3f, information %.3f\n", i, (double)v_in / ROUNDS,
                      (double)mi_in / ROUNDS);
        assert_true(v_in >= 0.93 * ROUNDS);
        assert_true(mi_in >= 0.93 * ROUNDS);
    }
    gerne_ctx_close(ctx);
}

/* Quantiles of chi-square: 3.841 and 5.024 (1), 9.488 and 11.143 (4), 124.342 and 129.561 (100). */
static void test_chi_square_quantile(void **state)
{
    (void)state;
    assert_near(gn_chi_square_quantile(1, 0.95), 3.841, 5e-4);
    assert_near(gn_chi_square_quantile(1, 0.975), 5.024, 5e-4);
    assert_near(gn_chi_square_quantile(4, 0.95), 9.488, 0.05);
    assert_near(gn_chi_square_quantile(4, 0.975), 11.143, 0.06);
    assert_near(gn_chi_square_quantile(100, 0.95), 124.342, 0.03);
    assert_near(gn_chi_square_quantile(100, 0.975), 129.561, 0.03);
}

static gn_verdict verdict(gerne_ctx *ctx, const int64_t *counts)
{
    gerne_groups *groups;
    gn_audit audit;
    assert_ok(ctx, gerne_groups_from_counts(ctx, counts, 2, 2, &groups));
    assert_ok(ctx, gn_audit_of(ctx, groups, &audit));
    gerne_groups_close(groups);
    return audit.verdict;
}

/* With margins of one half, V is the difference of the diagonals' shares. */
static void test_verdict(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    assert_int_equal(verdict(ctx, (const int64_t[]){549, 451, 451, 549}), GN_UNBIASED);
    assert_int_equal(verdict(ctx, (const int64_t[]){551, 449, 449, 551}), GN_BIASED);
    assert_int_equal(verdict(ctx, (const int64_t[]){749, 251, 251, 749}), GN_BIASED);
    assert_int_equal(verdict(ctx, (const int64_t[]){751, 249, 249, 751}), GN_STRONGLY_BIASED);
    /* Uneven groups alone are no association. */
    assert_int_equal(verdict(ctx, (const int64_t[]){900, 100, 9, 1}), GN_UNBIASED);
    gerne_ctx_close(ctx);
}

static void test_smallest(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gerne_groups *groups;
    gn_audit audit;
    const int64_t counts[] = {9, 0, 3, 7, 3, 8, 100, 1};
    assert_ok(ctx, gerne_groups_from_counts(ctx, counts, 4, 2, &groups));
    assert_ok(ctx, gn_audit_of(ctx, groups, &audit));
    static const size_t expected[] = {7, 2, 4, 3, 5};
    assert_int_equal(audit.smallest_count, 5);
    assert_memory_equal(audit.smallest, expected, sizeof expected);
    assert_int_equal(audit.empty, 1);
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

/* Labels in any order, many of them: the table grows in both directions. */
static void test_tally(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_tally tally;
    assert_ok(ctx, gn_tally_start(ctx, 0, &tally));
    for (int round = 0; round < 3; round++)
        for (int i = 40; i-- > 0;) {
            char y[8], a[8];
            uint32_t y_number, a_number;
            snprintf(y, sizeof y, "%d", i);
            snprintf(a, sizeof a, "%c", 'a' + i % 7);
            assert_ok(ctx, gn_labels_add(ctx, tally.y, y, &y_number));
            assert_ok(ctx, gn_labels_add(ctx, tally.a, a, &a_number));
            assert_ok(ctx, gn_tally_count(ctx, &tally, y_number, a_number));
        }
    gerne_groups *groups;
    assert_ok(ctx, gn_tally_finish(ctx, &tally, &groups));
    gn_tally_free(&tally);
    assert_int_equal(gerne_groups_classes(groups), 40);
    assert_int_equal(gerne_groups_attributes(groups), 7);
    for (uint32_t y = 0; y < 40; y++)
        for (uint32_t a = 0; a < 7; a++)
            assert_int_equal(gerne_groups_count(groups, y, a), y % 7 == a ? 3 : 0);
    char text[GN_GROUP_TEXT];
    assert_string_equal(gn_group_text(groups, 39, 4, text), "y=39, a=e");
    gerne_groups_close(groups);
    gerne_ctx_close(ctx);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    for (long n = 1;; n++) {
        gn_tally tally;
        gerne_groups *groups = NULL;
        gn_audit audit;
        json_t *json = NULL;
        gn_text text = {0};
        uint32_t y, a;
        gn_fail_allocation(n);
        gerne_status status = gn_tally_start(ctx, 0, &tally);
        for (int i = 0; i < 20 && status == GERNE_OK; i++) {
            const char label[2] = {(char)('a' + i), 0};
            status = gn_labels_add(ctx, tally.y, label, &y);
            if (status == GERNE_OK)
                status = gn_labels_add(ctx, tally.a, label, &a);
            if (status == GERNE_OK)
                status = gn_tally_count(ctx, &tally, y, a);
        }
        if (status == GERNE_OK)
            status = gn_tally_finish(ctx, &tally, &groups);
        if (status == GERNE_OK)
            status = gn_audit_of(ctx, groups, &audit);
        if (status == GERNE_OK)
            status = gn_audit_json(ctx, &audit, &json);
        if (status == GERNE_OK)
            status = gn_audit_print(ctx, &audit, "data", "class", "place", &text);
        gn_fail_allocation(0);
        gn_text_free(&text);
        json_decref(json);
        gerne_groups_close(groups);
        gn_tally_free(&tally);
        if (status == GERNE_OK) {
            assert_true(n > 20);
            break;
        }
        assert_int_equal(status, GERNE_ENOMEM);
    }
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_estimates),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_bias_correction),
        cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_chi_square_quantile),
        cmocka_unit_test(test_verdict),
        cmocka_unit_test(test_smallest),
        cmocka_unit_test(test_tally),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
