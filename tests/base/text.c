/* Cells of tables are as wide on a terminal as they say, whatever the alphabet. */
#include "testing.h"

#include <string.h>

#include "base/text.h"

static void widths_count_characters(void **state)
{
    (void)state;
    assert_int_equal(gn_text_width(""), 0);
    assert_int_equal(gn_text_width("landbird"), 8);
    assert_int_equal(gn_text_width("M\xc3\xb6we"), 4);                  /* 5 bytes */
    assert_int_equal(gn_text_width("\xf0\x9f\x90\xa6\xe2\x82\xac"), 2); /* 4 and 3 bytes */
}

static void cells_are_filled_and_cut(void **state)
{
    (void)state;
    const struct {
        const char *words;
        int width;
        const char *cell;
    } cases[] = {
        {"gull", 6, "gull  "},
        {"gull", -6, "  gull"},
        {"gull", 4, "gull"},
        {"M\xc3\xb6we", 6, "M\xc3\xb6we  "},
        {"M\xc3\xb6we", -6, "  M\xc3\xb6we"},
        {"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa9", 4, "\xc3\xa4\xc3\xb6.."},
        {"albatross", -5, "alb.."},
        {"", 3, "   "},
        {"gull", 1, "gull"}, /* no room for the dots */
    };
    gerne_ctx *ctx = test_ctx();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gn_text text = {0};
        assert_ok(ctx, gn_text_add_cell(ctx, &text, cases[i].words, cases[i].width));
        assert_string_equal(text.bytes, cases[i].cell);
        gn_text_free(&text);
    }
    gerne_ctx_close(ctx);
}

static int stop(void *user, const gerne_progress *progress)
{
    (void)user;
    return progress->done >= 2;
}

static void a_stop_is_said_in_a_sentence(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gerne_progress progress = {.what = "features", .done = 1, .total = 9, .detail = ""};
    gerne_set_progress(ctx, stop, NULL);
    assert_ok(ctx, gn_progress(ctx, &progress));
    progress.done = 2;
    assert_fails(ctx, GERNE_EINTERRUPTED, "interrupted: 'features' was stopped after 2 of 9",
                 gn_progress(ctx, &progress));
    progress.total = 0;
    assert_fails(ctx, GERNE_EINTERRUPTED, "interrupted: 'features' was stopped",
                 gn_progress(ctx, &progress));
    gerne_ctx_close(ctx);
}

static void test_visible(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    static const struct {
        const char *text, *message, *output;
    } cases[] = {
        {"plain \xc3\xa9\t.", "plain \xc3\xa9\t.", "plain \xc3\xa9\t."},
        {"a\nb", "a\\x0ab", "a\nb"},
        {"\x1b]0;x\x07", "\\x1b]0;x\\x07", "\\x1b]0;x\\x07"},
        {"\r\x7f", "\\x0d\\x7f", "\\x0d\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\u{009b}31m", "\\u{009b}31m"}, /* CSI as one character */
        {"\x9b"
         "31m",
         "\\x9b31m", "\\x9b31m"}, /* and as one byte */
        {"a\xe2\x80\xae"
         "b",
         "a\\u{202e}b", "a\\u{202e}b"},
        {"", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gn_text text = {0};
        size_t size = strlen(cases[i].text);
        assert_ok(ctx, gn_text_add_visible(ctx, &text, cases[i].text, size, false));
        assert_string_equal(text.bytes, cases[i].message);
        gn_text_clear(&text);
        assert_ok(ctx, gn_text_add_visible(ctx, &text, cases[i].text, size, true));
        assert_string_equal(text.bytes, cases[i].output);
        gn_text_free(&text);
    }
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_count_characters),
        cmocka_unit_test(cells_are_filled_and_cut),
        cmocka_unit_test(test_visible),
        cmocka_unit_test(a_stop_is_said_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
