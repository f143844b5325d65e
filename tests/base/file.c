#include "testing.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <dirent.h>

#include "base/file.h"

static void in(char *out, const char *directory, const char *name)
{
    snprintf(out, 4200, "%s/%s", directory, name);
}

static int entries(const char *directory)
{
    DIR *d = opendir(directory);
    assert_non_null(d);
    int count = 0;
    while (readdir(d))
        count++;
    closedir(d);
    return count - 2;
}

static void test_round_trip(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[4200];
    in(path, dir, "file");
    static char big[200000];
    memset(big, 'x', sizeof big);
    assert_ok(ctx, gn_file_write(ctx, path, big, sizeof big));
    gn_text text = {0};
    assert_ok(ctx, gn_file_read(ctx, path, 1 << 20, &text));
    assert_int_equal(text.size, sizeof big);
    assert_memory_equal(text.bytes, big, sizeof big);
    assert_fails(ctx, GERNE_EDATA, "more than the limit of 10", gn_file_read(ctx, path, 10, &text));
    assert_int_equal(entries(dir), 1);
    gn_text_free(&text);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_wrong_kinds(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[4200];
    gn_text text = {0};
    gn_map map;
    assert_fails(ctx, GERNE_EIO, "is a directory", gn_file_read(ctx, dir, 10, &text));
    in(path, dir, "none");
    assert_fails(ctx, GERNE_EIO, "No such file", gn_map_open(ctx, path, &map));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(ctx, GERNE_EIO, "special file", gn_map_open(ctx, path, &map));
    in(path, dir, "none/below");
    assert_fails(ctx, GERNE_EIO, "cannot write", gn_file_write(ctx, path, "x", 1));
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

/* A write that fails leaves the old file and no temporary one. */
static void test_failed_write_keeps_the_old_file(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[4200];
    in(path, dir, "file");
    assert_ok(ctx, gn_file_write(ctx, path, "old", 3));
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit, small;
    getrlimit(RLIMIT_FSIZE, &limit);
    small = limit;
    small.rlim_cur = 1000;
    setrlimit(RLIMIT_FSIZE, &small);
    static char big[200000];
    gerne_status status = gn_file_write(ctx, path, big, sizeof big);
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_fails(ctx, GERNE_EIO, "cannot write", status);
    gn_text text = {0};
    assert_ok(ctx, gn_file_read(ctx, path, 100, &text));
    assert_string_equal(text.bytes, "old");
    assert_int_equal(entries(dir), 1);
    gn_text_free(&text);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_directories(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[4200];
    in(path, dir, "a/b//c/");
    assert_ok(ctx, gn_make_directory(ctx, path));
    assert_ok(ctx, gn_make_directory(ctx, path));
    assert_true(gn_is_directory(path));
    in(path, dir, "file");
    assert_ok(ctx, gn_file_write(ctx, path, "", 0));
    in(path, dir, "file/x");
    assert_fails(ctx, GERNE_EIO, "cannot make the directory", gn_make_directory(ctx, path));
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_wrong_kinds),
        cmocka_unit_test(test_failed_write_keeps_the_old_file),
        cmocka_unit_test(test_directories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
