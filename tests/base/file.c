#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <dirent.h>
#include <sys/file.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/append.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/lock.h"

static void in(char *out, const char *directory, const char *name)
{
    int size = snprintf(out, 4200, "%s/%s", directory, name);
    assert_in_range(size, 1, 4199);
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

static void assert_holds(const char *path, const char *wanted)
{
    char bytes[64] = "";
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t got = fread(bytes, 1, sizeof bytes - 1, file);
    bytes[got] = '\0';
    fclose(file);
    assert_string_equal(bytes, wanted);
}

static void test_several_files_in_a_folder(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), first[4200], second[4200], link[4200];
    int folder;
    in(first, dir, "first");
    in(second, dir, "second");
    in(link, dir, "link");
    assert_ok(ctx, gn_folder_own(ctx, dir, &folder));
    assert_ok(ctx, gn_file_write_one_of(ctx, folder, first, "old", 3));
    assert_ok(ctx, gn_file_write_one_of(ctx, folder, first, "one", 3));
    assert_ok(ctx, gn_file_write_one_of(ctx, folder, second, "two", 3));
    assert_ok(ctx, gn_folder_sync(ctx, folder, dir));
    assert_int_equal(symlink(first, link), 0);
    assert_fails(ctx, GERNE_EIO, "is a symbolic link",
                 gn_file_write_one_of(ctx, folder, link, "x", 1));
    assert_holds(first, "one");
    assert_holds(second, "two");
    assert_int_equal(entries(dir), 3);
    close(folder);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

/* Neither what a link points to nor the link itself is touched; nor are devices and FIFOs. */
static void test_only_regular_files_are_replaced(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[4200], other[4200];
    gn_append *append;
    int lock;
    in(other, dir, "other");
    assert_ok(ctx, gn_file_write(ctx, other, "precious", 8));
    in(path, dir, "link");
    assert_int_equal(symlink(other, path), 0);
    assert_fails(ctx, GERNE_EIO, "is a symbolic link", gn_file_write(ctx, path, "x", 1));
    assert_fails(ctx, GERNE_EIO, "is a symbolic link", gn_append_open(ctx, path, 0, &append));
    assert_fails(ctx, GERNE_EIO, "is a symbolic link", gn_lock_try(ctx, path, &lock));
    assert_holds(other, "precious");
    in(path, dir, "fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(ctx, GERNE_EIO, "is a special file", gn_file_write(ctx, path, "x", 1));
    assert_fails(ctx, GERNE_EIO, "is a special file", gn_append_open(ctx, path, 0, &append));
    in(path, dir, "folder");
    assert_ok(ctx, gn_make_directory(ctx, path));
    assert_fails(ctx, GERNE_EIO, "is a directory", gn_file_write(ctx, path, "x", 1));
    assert_int_equal(entries(dir), 4);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

/* A link that appears while the file is written. */
static void test_a_link_put_in_the_way(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[4200], other[4200];
    gn_writer *writer;
    in(other, dir, "other");
    in(path, dir, "file");
    assert_ok(ctx, gn_file_write(ctx, other, "precious", 8));
    assert_ok(ctx, gn_write_open(ctx, path, &writer));
    assert_ok(ctx, gn_write(writer, "x", 1));
    assert_int_equal(symlink(other, path), 0);
    assert_fails(ctx, GERNE_EIO, "is a symbolic link", gn_write_commit(&writer));
    gn_write_abort(writer);
    assert_holds(other, "precious");
    assert_int_equal(entries(dir), 2);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_temporary_names(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char first[GN_TEMPORARY_NAME], second[GN_TEMPORARY_NAME], longest[300];
    assert_ok(ctx, gn_temporary_name(ctx, "a.json", first));
    assert_ok(ctx, gn_temporary_name(ctx, "a.json", second));
    assert_string_not_equal(first, second);
    assert_true(gn_is_temporary(first));
    assert_false(gn_is_temporary("a.json"));
    assert_false(gn_is_temporary("notes.tmp-mine"));
    assert_false(gn_is_temporary(".tmp-0123456789abcdef"));
    memset(longest, 'n', sizeof longest);
    longest[255] = '\0';
    assert_ok(ctx, gn_temporary_name(ctx, longest, first));
    assert_true(strlen(first) < 255);
    assert_true(gn_is_temporary(first));
    gerne_ctx_close(ctx);
}

/* A commit removes what killed writers of the same file left: not a living one's, nor another's. */
static void test_leftovers_are_swept(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), path[4200], dead[4200], mine[4200];
    gn_writer *living;
    in(path, dir, "file");
    in(dead, dir, "file.tmp-0123456789abcdef");
    in(mine, dir, "file.tmp-notes");
    assert_int_equal(close(open(dead, O_WRONLY | O_CREAT, 0600)), 0);
    assert_int_equal(close(open(mine, O_WRONLY | O_CREAT, 0600)), 0);
    assert_ok(ctx, gn_write_open(ctx, path, &living));
    assert_int_equal(entries(dir), 3);
    assert_ok(ctx, gn_file_write(ctx, path, "x", 1));
    assert_false(gn_path_exists(dead));
    assert_int_equal(entries(dir), 3);
    assert_ok(ctx, gn_write(living, "later", 5));
    assert_ok(ctx, gn_write_commit(&living));
    assert_holds(path, "later");
    in(dead, dir, "gone.tmp-0123456789abcdef");
    assert_int_equal(close(open(dead, O_WRONLY | O_CREAT, 0600)), 0);
    gn_path_sweep(dir);
    assert_int_equal(entries(dir), 2);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_removing_does_not_follow_links(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), outside[4200], path[4200], name[4300];
    int folder;
    in(outside, dir, "outside");
    assert_ok(ctx, gn_make_directory(ctx, outside));
    in(name, outside, "precious");
    assert_ok(ctx, gn_file_write(ctx, name, "x", 1));
    in(path, dir, "run/errors");
    assert_ok(ctx, gn_make_directory(ctx, path));
    in(path, dir, "run/errors/link");
    assert_int_equal(symlink(outside, path), 0);
    in(path, dir, "run/");
    gn_folder_remove(path, 2);
    assert_false(gn_path_exists(path));
    in(path, dir, "run");
    assert_int_equal(symlink(outside, path), 0);
    assert_fails(ctx, GERNE_EIO, "is a symbolic link, not a directory",
                 gn_folder_own(ctx, path, &folder));
    gn_folder_remove(path, 2); /* the link */
    assert_int_equal(entries(dir), 1);
    assert_holds(name, "x");
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_merging(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), from[4200], to[4200], path[4300], other[4300];
    in(from, dir, "from");
    in(to, dir, "to");
    in(path, from, "a/b");
    assert_ok(ctx, gn_make_directory(ctx, path));
    in(path, to, "a");
    assert_ok(ctx, gn_make_directory(ctx, path));
    in(path, from, "a/b/new");
    assert_ok(ctx, gn_file_write(ctx, path, "new", 3));
    in(path, from, "a/same");
    assert_ok(ctx, gn_file_write(ctx, path, "newer", 5));
    in(path, to, "a/same");
    assert_ok(ctx, gn_file_write(ctx, path, "older", 5));
    assert_ok(ctx, gn_folder_merge(ctx, from, to));
    assert_holds(path, "newer");
    in(path, to, "a/b/new");
    assert_holds(path, "new");
    assert_int_equal(entries(from), 0);
    in(path, from, "a");
    assert_ok(ctx, gn_make_directory(ctx, path));
    in(other, to, "a/b");
    in(path, from, "a/b");
    assert_int_equal(symlink(dir, path), 0);
    assert_fails(ctx, GERNE_EIO, "where it should go", gn_folder_merge(ctx, from, to));
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

/* The program's guard: what is gone reads as zero, and nothing is written from then on. In a child
 * process, because it lasts. */
static void test_a_mapped_file_that_shrinks(void **state)
{
    (void)state;
    char *dir = test_directory(), path[4200], result[4200];
    in(path, dir, "file");
    in(result, dir, "result");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static char big[1 << 16];
        gerne_ctx *ctx = test_ctx();
        gn_map map;
        memset(big, 'x', sizeof big);
        gn_map_guard();
        bool fine = gn_file_write(ctx, path, big, sizeof big) == GERNE_OK &&
                    gn_map_open(ctx, path, &map) == GERNE_OK && map.bytes[50000] == 'x' &&
                    gn_map_check(ctx) == GERNE_OK && truncate(path, 5000) == 0 &&
                    map.bytes[4999] == 'x' && map.bytes[50000] == 0 &&
                    map.bytes[sizeof big - 1] == 0 && gn_map_check(ctx) == GERNE_EIO &&
                    strstr(gerne_message(ctx), "truncated") != NULL &&
                    gn_file_write(ctx, result, "x", 1) == GERNE_EIO && !gn_path_exists(result);
        gn_map_close(&map);
        fine = fine && gn_map_check(ctx) == GERNE_EIO && strstr(gerne_message(ctx), path);
        gerne_ctx_close(ctx);
        free(dir);
        _exit(fine ? 0 : 1);
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 0);
    test_remove_directory(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_several_files_in_a_folder),
        cmocka_unit_test(test_wrong_kinds),
        cmocka_unit_test(test_failed_write_keeps_the_old_file),
        cmocka_unit_test(test_directories),
        cmocka_unit_test(test_only_regular_files_are_replaced),
        cmocka_unit_test(test_a_link_put_in_the_way),
        cmocka_unit_test(test_temporary_names),
        cmocka_unit_test(test_leftovers_are_swept),
        cmocka_unit_test(test_removing_does_not_follow_links),
        cmocka_unit_test(test_merging),
        cmocka_unit_test(test_a_mapped_file_that_shrinks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
