#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "debias/labels.h"

enum { NAME_MAX_SIZE = 20 };

/* Adds the texts, finishes, and joins the names in final order. */
static gn_labels *labels_of(gerne_ctx *ctx, const char *const *texts, size_t count, char *joined)
{
    gn_labels *labels;
    assert_ok(ctx, gn_labels_new(ctx, 0, &labels));
    uint32_t numbers[16];
    for (size_t i = 0; i < count; i++)
        assert_ok(ctx, gn_labels_add(ctx, labels, texts[i], &numbers[i]));
    assert_ok(ctx, gn_labels_finish(ctx, labels));
    joined[0] = '\0';
    for (uint32_t i = 0; i < gn_labels_count(labels); i++)
        joined += snprintf(joined, NAME_MAX_SIZE, "%s ", gn_labels_names(labels)[i]);
    for (size_t i = 0; i < count; i++) {
        int64_t index = gn_labels_find(labels, texts[i]);
        assert_int_equal(index, gn_labels_ranks(labels)[numbers[i]]);
        assert_string_equal(gn_labels_names(labels)[index], texts[i]);
    }
    return labels;
}

static void test_order(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char joined[200];
    const char *integers[] = {"10", "9", "-3", "10", "0"};
    gn_labels *labels = labels_of(ctx, integers, 5, joined);
    assert_string_equal(joined, "-3 0 9 10 ");
    assert_int_equal(gn_labels_find(labels, "11"), -1);
    gn_labels_close(labels);
    const char *mixed[] = {"10", "9", "water", "Land", "9"};
    labels = labels_of(ctx, mixed, 5, joined);
    assert_string_equal(joined, "10 9 Land water ");
    gn_labels_close(labels);
    gerne_ctx_close(ctx);
}

static void test_refused(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_labels *labels;
    uint32_t number;
    assert_ok(ctx, gn_labels_new(ctx, 2, &labels));
    assert_fails(ctx, GERNE_EDATA, "empty", gn_labels_add(ctx, labels, "", &number));
    assert_fails(ctx, GERNE_EDATA, "UTF-8", gn_labels_add(ctx, labels, "\xff", &number));
    assert_ok(ctx, gn_labels_add(ctx, labels, "a", &number));
    assert_ok(ctx, gn_labels_add(ctx, labels, "b", &number));
    assert_fails(ctx, GERNE_EDATA, "more than 2 different labels",
                 gn_labels_add(ctx, labels, "c", &number));
    assert_ok(ctx, gn_labels_add(ctx, labels, "a", &number));
    assert_int_equal(number, 0);
    gn_labels_close(labels);
    gerne_ctx_close(ctx);
}

static void test_many(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    gerne_ctx *ctx = test_ctx();
    gn_labels *labels;
    assert_ok(ctx, gn_labels_new(ctx, 0, &labels));
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < COUNT; i++) {
            char text[20];
            uint32_t number;
            snprintf(text, sizeof text, "%u", COUNT - 1 - i);
            assert_ok(ctx, gn_labels_add(ctx, labels, text, &number));
            assert_int_equal(number, i);
        }
    assert_ok(ctx, gn_labels_finish(ctx, labels));
    assert_int_equal(gn_labels_count(labels), COUNT);
    assert_int_equal(gn_labels_find(labels, "54321"), 54321);
    assert_int_equal(gn_labels_ranks(labels)[0], COUNT - 1);
    gn_labels_close(labels);
    gerne_ctx_close(ctx);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    for (long n = 1;; n++) {
        gn_labels *labels;
        uint32_t number;
        gn_fail_allocation(n);
        gerne_status status = gn_labels_new(ctx, 0, &labels);
        for (int i = 0; i < 100 && status == GERNE_OK; i++) {
            char text[20];
            snprintf(text, sizeof text, "label %d", i);
            status = gn_labels_add(ctx, labels, text, &number);
        }
        if (status == GERNE_OK)
            status = gn_labels_finish(ctx, labels);
        gn_fail_allocation(0);
        gn_labels_close(labels);
        if (status == GERNE_OK) {
            assert_true(n > 8);
            break;
        }
        assert_int_equal(status, GERNE_ENOMEM);
    }
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
