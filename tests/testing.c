#include "testing.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

gerne_ctx *test_ctx(void)
{
    gerne_ctx *ctx;
    assert_int_equal(gerne_ctx_new(&ctx), GERNE_OK);
    return ctx;
}

void test_assert_ok(gerne_ctx *ctx, gerne_status status, const char *what, const char *file,
                    int line)
{
    if (status == GERNE_OK)
        return;
    print_error("%s\n  %s: %s\n", what, gerne_status_name(status), gerne_message(ctx));
    _fail(file, line);
}

void test_assert_fails(gerne_ctx *ctx, gerne_status wanted, const char *words, gerne_status status,
                       const char *what, const char *file, int line)
{
    if (status == wanted && strstr(gerne_message(ctx), words))
        return;
    print_error("%s\n  gave '%s' with '%s'\n  wanted '%s' with '%s'\n", what,
                gerne_status_name(status), gerne_message(ctx), gerne_status_name(wanted), words);
    _fail(file, line);
}

void test_assert_close(const float *a, const float *b, size_t count, double tolerance,
                       const char *what, const char *file, int line)
{
    size_t worst = 0;
    double worst_error = -1;
    for (size_t i = 0; i < count; i++) {
        double error = fabs((double)a[i] - (double)b[i]) / fmax(1.0, fabs((double)b[i]));
        if (!(error <= worst_error)) { /* NaN is the worst */
            worst_error = error;
            worst = i;
        }
    }
    if (worst_error <= tolerance)
        return;
    print_error("%s[%zu] = %.9g, expected %.9g, error %.3g above %.3g\n", what, worst,
                (double)a[worst], (double)b[worst], worst_error, tolerance);
    _fail(file, line);
}

void test_assert_near(double a, double b, double tolerance, const char *what, const char *file,
                      int line)
{
    if (fabs(a - b) <= tolerance)
        return;
    print_error("%s = %.12g, expected %.12g within %.3g\n", what, a, b, tolerance);
    _fail(file, line);
}

char *test_directory(void)
{
    const char *base = getenv("TMPDIR");
    char *path = malloc(4096);
    assert_non_null(path);
    snprintf(path, 4096, "%s/gerne-test-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

static int remove_entry(const char *path, const struct stat *info, int flag, struct FTW *ftw)
{
    (void)info;
    (void)flag;
    (void)ftw;
    return remove(path);
}

void test_remove_directory(char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(path);
}

void test_skip_all(const char *reason)
{
    printf("skipped: %s\n", reason);
    exit(77);
}

double test_patience(void)
{
    const char *given = getenv("GERNE_PATIENCE");
    return given ? strtod(given, NULL) : 1;
}

const char *test_real_data(void)
{
    static char path[4096];
    const char *given = getenv("GERNE_REAL_DATA");
    snprintf(path, sizeof path, "%s", given ? given : GERNE_SOURCE_DIR "/../shared/data");
    return access(path, R_OK) == 0 ? path : NULL;
}
