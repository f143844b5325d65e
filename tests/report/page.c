/* Escaping, base64, numbers for people, shell quoting. */
#include "report/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "testing.h"

typedef void writer(gn_page *page, const char *text);

static void check(writer *write, const char *text, const char *wanted)
{
    gerne_ctx *ctx = test_ctx();
    gn_page page = {.ctx = ctx};
    write(&page, text);
    assert_ok(ctx, gn_page_status(&page));
    assert_string_equal(page.text.bytes ? page.text.bytes : "", wanted);
    gn_page_free(&page);
    gerne_ctx_close(ctx);
}

static void test_text_is_escaped(void **state)
{
    (void)state;
    check(gn_page_text, "<b a='1' c=\"2\">&amp;",
          "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;");
    check(gn_page_text, "", "");
    check(gn_page_text, NULL, "");
    check(gn_page_text, "a\nb\tc", "a\nb\tc");
    check(gn_page_text,
          "a\x01"
          "b\x7F",
          "a\xEF\xBF\xBD"
          "b\xEF\xBF\xBD");
    check(gn_page_text, "\xE6\x97\xA5\xE6\x9C\xAC", "\xE6\x97\xA5\xE6\x9C\xAC");
    /* One byte that is not UTF-8: none of the high bytes can be trusted. */
    check(gn_page_text, "a\xFFz", "a\xEF\xBF\xBDz");
    check(gn_page_text, "<\xC3", "&lt;\xEF\xBF\xBD");
}

static void cut_to_four(gn_page *page, const char *text)
{
    gn_page_text_cut(page, text, 4);
}

static void test_text_is_cut_between_characters(void **state)
{
    (void)state;
    check(cut_to_four, "abcd", "abcd");
    check(cut_to_four, "abcde", "abc\xE2\x80\xA6");
    check(cut_to_four, "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4");
    check(cut_to_four, "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4z", "\xC3\xA4\xC3\xA4\xC3\xA4\xE2\x80\xA6");
    check(cut_to_four, "<<<<<", "&lt;&lt;&lt;\xE2\x80\xA6");
    check(cut_to_four, "", "");
}

static void base64_of_text(gn_page *page, const char *text)
{
    gn_page_base64(page, text, strlen(text));
}

/* The vectors of RFC 4648, section 10. */
static void test_base64(void **state)
{
    (void)state;
    check(base64_of_text, "", "");
    check(base64_of_text, "f", "Zg==");
    check(base64_of_text, "fo", "Zm8=");
    check(base64_of_text, "foo", "Zm9v");
    check(base64_of_text, "foob", "Zm9vYg==");
    check(base64_of_text, "fooba", "Zm9vYmE=");
    check(base64_of_text, "foobar", "Zm9vYmFy");
    check(base64_of_text, "\xFB\xEF\xBE\xFF", "++++/w==");
}

static void test_shell_arguments(void **state)
{
    (void)state;
    char longer[700], wanted[800];
    check(gn_page_shell, "runs/a-1_b.c", "runs/a-1_b.c");
    check(gn_page_shell, "my run", "&#39;my run&#39;");
    check(gn_page_shell, "", "&#39;&#39;");
    check(gn_page_shell, "a'b", "&#39;a&#39;\\&#39;&#39;b&#39;");
    check(gn_page_shell, "$(rm)", "&#39;$(rm)&#39;");
    /* Longer than one piece, with characters of two bytes at every boundary. */
    for (size_t i = 0; i + 2 < sizeof longer; i += 2)
        memcpy(longer + i, "\xC3\xA4", 3);
    snprintf(wanted, sizeof wanted, "&#39;%s&#39;", longer);
    check(gn_page_shell, longer, wanted);
}

static void test_long_markup(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_page page = {.ctx = ctx};
    char many[5000];
    memset(many, 'x', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    gn_page_add(&page, "<%s>", many);
    assert_ok(ctx, gn_page_status(&page));
    assert_int_equal(page.text.size, sizeof many + 1);
    gn_page_free(&page);
    gerne_ctx_close(ctx);
}

static void test_first_failure_stays(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_page page = {.ctx = ctx};
    gn_fail_allocation(1);
    gn_page_add(&page, "a");
    gn_page_text(&page, "b");
    gn_fail_allocation(0);
    assert_int_equal(gn_page_status(&page), GERNE_ENOMEM);
    assert_null(page.text.bytes);
    gn_page_free(&page);
    gerne_ctx_close(ctx);
}

#define THIN GN_NARROW_SPACE

static void test_numbers(void **state)
{
    (void)state;
    assert_string_equal(gn_show_percent(0.86021, 2).text, "86.02" THIN "%");
    assert_string_equal(gn_show_percent(1, 1).text, "100.0" THIN "%");
    assert_string_equal(gn_show_percent(-0.00001, 1).text, "0.0" THIN "%");
    assert_string_equal(gn_show_percent(-0.01, 1).text, GN_MINUS "1.0" THIN "%");
    assert_string_equal(gn_show_percent(NAN, 1).text, "n/a");
    assert_string_equal(gn_show_percent(INFINITY, 1).text, "n/a");
    assert_string_equal(gn_show_percent(1e300, 1).text, "n/a");
    assert_string_equal(gn_show_points(0.0102, 2).text, "+1.02");
    assert_string_equal(gn_show_points(-0.0102, 2).text, GN_MINUS "1.02");
    assert_string_equal(gn_show_points(0.000001, 2).text, "0.00");
    assert_string_equal(gn_show_number(0.99941).text, "0.9994");
    assert_string_equal(gn_show_number(-2.5).text, GN_MINUS "2.5");
    assert_string_equal(gn_show_number(30600).text, "30600");
    assert_string_equal(gn_show_number(1e-7).text, "1e-07");
    assert_string_equal(gn_show_number(NAN).text, "n/a");
    assert_string_equal(gn_show_whole(12345).text, "12" THIN "345");
    assert_string_equal(gn_show_whole(1e300).text, "n/a");
    assert_string_equal(gn_show_whole(-1).text, "n/a");
    assert_string_equal(gn_show_whole(NAN).text, "n/a");
    assert_string_equal(gn_show_count(0).text, "0");
    assert_string_equal(gn_show_count(9999).text, "9999");
    assert_string_equal(gn_show_count(1234567).text, "1" THIN "234" THIN "567");
    assert_string_equal(gn_show_count(UINT64_MAX).text,
                        "18" THIN "446" THIN "744" THIN "073" THIN "709" THIN "551" THIN "615");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_is_escaped),
        cmocka_unit_test(test_text_is_cut_between_characters),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_shell_arguments),
        cmocka_unit_test(test_long_markup),
        cmocka_unit_test(test_first_failure_stays),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
