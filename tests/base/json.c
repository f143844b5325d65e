/* Documents are whole or an error: whichever allocation of jansson's fails, nothing is left out. */
#include "base/json.h"

#include <string.h>

#include "base/memory.h"
#include "testing.h"

enum { MOST = 2000 };

/* Some values, set without a look at what the setters return, as most of our documents are. */
static json_t *document(void)
{
    static const char *const names[] = {"land", "water"};
    json_t *all = json_object(), *list = json_array();
    for (int i = 0; i < 20; i++)
        json_array_append_new(list, json_pack("{s:i}", "y", i));
    json_object_set_new(all, "names", gn_json_names(names, 2));
    json_object_set_new(all, "groups", list);
    json_object_set_new(all, "wga", gn_json_number(0.25));
    json_object_set_new(all, "text",
                        json_sprintf("%0500d", 0)); /* the reader's buffer has to grow */
    json_object_set_new(all, "copy", json_deep_copy(json_object_get(all, "groups")));
    return all;
}

static gerne_status print_job(gerne_ctx *ctx, gn_text *out)
{
    json_t *json = document();
    gerne_status status = gn_json_print(ctx, json, out);
    json_decref(json);
    return status;
}

static gerne_status parse_job(gerne_ctx *ctx, const char *text)
{
    json_t *json;
    GN_TRY(gn_json_parse(ctx, text, strlen(text), "x.json", &json));
    json_decref(json);
    return GERNE_OK;
}

static void test_every_allocation_of_a_document(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_text whole = {0}, text = {0};
    assert_ok(ctx, print_job(ctx, &whole));
    long n = 0;
    for (gerne_status status = GERNE_ENOMEM; status != GERNE_OK && n < MOST;) {
        gn_text_clear(&text);
        gn_fail_allocation(++n);
        status = print_job(ctx, &text);
        gn_fail_allocation(0);
        if (status != GERNE_OK)
            assert_fails(ctx, GERNE_ENOMEM, "no memory", status);
    }
    assert_in_range(n, 40, MOST - 1); /* every value is at least one allocation */
    assert_string_equal(text.bytes, whole.bytes);
    gn_text_free(&text);
    gn_text_free(&whole);
    gerne_ctx_close(ctx);
}

static void test_every_allocation_of_the_parser(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_text whole = {0};
    assert_ok(ctx, print_job(ctx, &whole));
    long n = 0;
    for (gerne_status status = GERNE_ENOMEM; status != GERNE_OK && n < MOST;) {
        gn_fail_allocation(++n);
        status = parse_job(ctx, whole.bytes);
        gn_fail_allocation(0);
        if (status != GERNE_OK)
            assert_fails(ctx, GERNE_ENOMEM, "no memory", status);
    }
    assert_in_range(n, 40, MOST - 1);
    assert_fails(ctx, GERNE_EDATA, "x.json is not valid JSON", parse_job(ctx, "{\"a\":"));
    gn_text_free(&whole);
    gerne_ctx_close(ctx);
}

/* What is read while a document is made does not hide that the document lacks something. */
static void test_reading_in_between(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_text text = {0};
    json_t *all = json_object();
    gn_fail_allocation(1);
    json_object_set_new(all, "wga", gn_json_number(0.25));
    gn_fail_allocation(0);
    assert_ok(ctx, parse_job(ctx, "{\"a\": 1}"));
    assert_fails(ctx, GERNE_ENOMEM, "no memory", gn_json_print(ctx, all, &text));
    assert_ok(ctx,
              gn_json_print(ctx, all, &text)); /* the next document has nothing to do with it */
    json_decref(all);
    gn_text_free(&text);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_of_a_document),
        cmocka_unit_test(test_every_allocation_of_the_parser),
        cmocka_unit_test(test_reading_in_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
