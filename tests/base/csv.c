#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/csv.h"
#include "base/file.h"

static gerne_status open_text(gerne_ctx *ctx, const char *text, const gn_csv_options *options,
                              gn_csv **out)
{
    return gn_csv_open_bytes(ctx, "FILE.csv", text, strlen(text), options, out);
}

/* Reads all rows into "cell|cell/cell|cell". */
static gerne_status flatten(gerne_ctx *ctx, const char *bytes, size_t size,
                            const gn_csv_options *options, char *out, size_t room)
{
    gn_csv *csv;
    GN_TRY(gn_csv_open_bytes(ctx, "FILE.csv", bytes, size, options, &csv));
    size_t used = 0;
    out[0] = '\0';
    gerne_status status = GERNE_OK;
    for (bool more = true, first = true; status == GERNE_OK; first = false) {
        status = gn_csv_next(csv, &more);
        if (status != GERNE_OK || !more)
            break;
        for (size_t i = 0; i < gn_csv_columns(csv); i++)
            used += (size_t)snprintf(out + used, room - used, "%s%s", i ? "|" : (first ? "" : "/"),
                                     gn_csv_cell(csv, i));
    }
    gn_csv_close(csv);
    return status;
}

static void test_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text, *rows;
        gn_csv_options options;
    } cases[] = {
        {"y,a\n1,2\n3,4\n", "1|2/3|4", {0}},
        {"y,a\r\n1,2\r\n3,4", "1|2/3|4", {0}},
        {"y,a\r1,2\r3,4\r", "1|2/3|4", {0}},
        {"\xef\xbb\xbfy,a\n1,2\n", "1|2", {0}},
        {"y,a\n\"1\",\"a,b\"\n", "1|a,b", {0}},
        {"y,a\n\"say \"\"hi\"\"\",\"\"\n", "say \"hi\"|", {0}},
        {"y,a\n\"two\nlines\",x\n1,2\n", "two\nlines|x/1|2", {0}},
        {"y,a\n5\" pipe,x\n", "5\" pipe|x", {0}},
        {"y,a\n,\n", "|", {0}},
        {"\n\ny,a\n\n1,2\n\n\n", "1|2", {0}},
        {"y\n1\n\n2\n\n", "1//2", {0}},
        {"y\n\"\"\n", "", {0}},
        {"y,a\n", "", {0}},
        {"y;a\n1;2,5\n", "1|2,5", {0}},
        {"y\ta\n1;1\t2,5\n", "1;1|2,5", {0}},
        {"name;price, net;vat\n1;2,5;3\n", "1|2,5|3", {0}},
        {"y,\"a;b;c\"\n1,2\n", "1|2", {0}},
        {"y,\"a;\"\";;b\"\n1,2\n", "1|2", {0}},
        {"y,5\" pipe\n1;;;,2\n", "1;;;|2", {0}},
        {"\n\xc3\xa4;a\n1;2\n", "1|2", {0}},
        {"1;2\n3;4\n", "1|2/3|4", {.no_header = true, .separator = ';'}},
    };
    gerne_ctx *ctx = test_ctx();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char rows[200];
        assert_ok(ctx, flatten(ctx, cases[i].text, strlen(cases[i].text), &cases[i].options, rows,
                               sizeof rows));
        assert_string_equal(rows, cases[i].rows);
    }
    gerne_ctx_close(ctx);
}

static void test_names(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_csv *csv;
    assert_ok(ctx, open_text(ctx, "\xef\xbb\xbfid,\"the y\",a,\n1,2,3,4\n", NULL, &csv));
    assert_int_equal(gn_csv_columns(csv), 4);
    assert_string_equal(gn_csv_name(csv, 0), "id");
    assert_int_equal(gn_csv_column(csv, "the y"), 1);
    assert_int_equal(gn_csv_column(csv, "y"), -1);
    size_t column;
    assert_ok(ctx, gn_csv_require(csv, "a", &column));
    assert_int_equal(column, 2);
    assert_fails(ctx, GERNE_EDATA, "FILE.csv has no column 'y'", gn_csv_require(csv, "y", &column));
    assert_string_equal(gerne_hint(ctx), "its columns are 'id', 'the y', 'a', ''");
    gn_csv_close(csv);
    gn_csv_options options = {.no_header = true};
    assert_ok(ctx, open_text(ctx, "8,9\n", &options, &csv));
    assert_int_equal(gn_csv_column(csv, "2"), 1);
    gn_csv_close(csv);
    gerne_ctx_close(ctx);
}

/* The line of a row is where it starts, also after quoted line ends. */
static void test_lines(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_csv *csv;
    assert_ok(ctx, open_text(ctx, "y,a\r\n\"a\r\nb\nc\",1\r\n\r\n2,3\n", NULL, &csv));
    bool more;
    assert_ok(ctx, gn_csv_next(csv, &more));
    assert_int_equal(gn_csv_line(csv), 2);
    assert_ok(ctx, gn_csv_next(csv, &more));
    assert_int_equal(gn_csv_line(csv), 6);
    gn_csv_fail(csv, GERNE_EDATA, 1, "'%s' is odd", gn_csv_cell(csv, 1));
    assert_string_equal(gerne_message(ctx), "FILE.csv, line 6, column 'a': '3' is odd");
    assert_ok(ctx, gn_csv_next(csv, &more));
    assert_false(more);
    gn_csv_close(csv);
    gerne_ctx_close(ctx);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size; /* 0: up to the NUL */
        const char *words;
    } cases[] = {
        {"", 0, "FILE.csv is empty"},
        {"\n\r\n", 0, "FILE.csv is empty"},
        {"\xef\xbb\xbf", 0, "FILE.csv is empty"},
        {"y,a\n1,2\n1\n", 0, "FILE.csv, line 3: 1 cell, but 2 columns"},
        {"y,a\n1,2,3\n", 0, "FILE.csv, line 2: 3 cells, but 2 columns"},
        {"y,a\n1,\"2\n3,4\n", 0, "FILE.csv, line 2: the quote that opens on line 2 never closes"},
        {"y,a\n1,\"2\"x\n", 0, "FILE.csv, line 2: text follows the closing quote of cell 2"},
        {"y,a,y\n1,2,3\n", 0, "FILE.csv, line 1: two columns are named 'y'"},
        {"y,a\n1,2\n3,\0\n", 12, "FILE.csv, line 3: a NUL byte"},
        {"y,a\n1,2\n\"3\0\",4\n", 16, "FILE.csv, line 3: a NUL byte"},
        {"\xff\xfey\0,\0", 6, "UTF-16"},
    };
    gerne_ctx *ctx = test_ctx();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char rows[200];
        size_t size = cases[i].size ? cases[i].size : strlen(cases[i].text);
        assert_fails(ctx, GERNE_EDATA, cases[i].words,
                     flatten(ctx, cases[i].text, size, NULL, rows, sizeof rows));
    }
    gn_csv *csv;
    assert_fails(ctx, GERNE_EIO, "No such file", gn_csv_open(ctx, "/none.csv", NULL, &csv));
    assert_null(csv);
    gerne_ctx_close(ctx);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    static const char text[] = "y,a\n1,2\n";
    char rows[200];
    for (long n = 1;; n++) {
        gn_fail_allocation(n);
        gerne_status status = flatten(ctx, text, strlen(text), NULL, rows, sizeof rows);
        gn_fail_allocation(0);
        if (status == GERNE_OK) {
            assert_true(n > 4);
            break;
        }
        assert_int_equal(status, GERNE_ENOMEM);
    }
    gerne_ctx_close(ctx);
}

/* A million rows of some 60 bytes; the limit is ten times what a slow machine needs. */
static void test_a_million_rows(void **state)
{
    (void)state;
    enum { ROWS = 1000000 };
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[4200];
    snprintf(path, sizeof path, "%s/large.csv", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("filename,y,a,split\n", file);
    for (int i = 0; i < ROWS; i++)
        fprintf(file, "\"photographs/%08d/portrait-of-somebody.jpg\",%d,%d,train\n", i, i % 10,
                i % 3);
    fclose(file);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    gn_csv *csv;
    assert_ok(ctx, gn_csv_open(ctx, path, NULL, &csv));
    size_t y, rows = 0, nines = 0;
    assert_ok(ctx, gn_csv_require(csv, "y", &y));
    for (bool more = true;; rows++) {
        assert_ok(ctx, gn_csv_next(csv, &more));
        if (!more)
            break;
        nines += gn_csv_cell(csv, y)[0] == '9';
    }
    gn_csv_close(csv);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    print_message("a million rows in %.3f s\n", seconds);
    assert_int_equal(rows, ROWS);
    assert_int_equal(nines, ROWS / 10);
    assert_true(seconds < 5 * test_patience());
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_utf8(void **state)
{
    (void)state;
    assert_true(gn_is_utf8("Gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xa6"));
    assert_false(gn_is_utf8("Gr\xfc\xdf"));       /* Latin-1 */
    assert_false(gn_is_utf8("\xc0\xaf"));         /* overlong */
    assert_false(gn_is_utf8("\xed\xa0\x80"));     /* a surrogate */
    assert_false(gn_is_utf8("\xf4\x90\x80\x80")); /* above the last code point */
    assert_false(gn_is_utf8("cut off \xe2\x82"));
    char cut[][8] = {"ab\xe2\x82", "ab\xe2", "ab\xe2\x82\xac", "ab", "", "\xc3", "\xc3\xbc"};
    static const char *const mended[] = {"ab", "ab", "ab\xe2\x82\xac", "ab", "", "", "\xc3\xbc"};
    for (int i = 0; i < 7; i++) {
        gn_mend_end(cut[i]);
        assert_string_equal(cut[i], mended[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),         cmocka_unit_test(test_names),
        cmocka_unit_test(test_lines),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_a_million_rows),
        cmocka_unit_test(test_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
