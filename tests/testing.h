/* testing.h - what every test includes: cmocka, a context, comparisons that say where they differ.
 */
#ifndef GN_TESTING_H
#define GN_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#ifdef __clang_analyzer__
/* cmocka leaves a failed test by longjmp, which its header does not say. */
void _fail(const char *const file, const int line) __attribute__((analyzer_noreturn));
#endif

#include "base/status.h"

/* A fresh context; the test closes it. */
gerne_ctx *test_ctx(void);

/* Fails the test with the context's sentence unless the call is GERNE_OK. */
#define assert_ok(ctx, expression) test_assert_ok(ctx, expression, #expression, __FILE__, __LINE__)
void test_assert_ok(gerne_ctx *ctx, gerne_status status, const char *what, const char *file,
                    int line);

/* Fails unless the call has this status and its sentence contains words. */
#define assert_fails(ctx, wanted, words, expression)                                               \
    test_assert_fails(ctx, wanted, words, expression, #expression, __FILE__, __LINE__)
void test_assert_fails(gerne_ctx *ctx, gerne_status wanted, const char *words, gerne_status status,
                       const char *what, const char *file, int line);

/* |a - b| <= tolerance * max(1, |b|), item by item; prints the worst item. */
#define assert_close(a, b, count, tolerance)                                                       \
    test_assert_close(a, b, count, tolerance, #a, __FILE__, __LINE__)
void test_assert_close(const float *a, const float *b, size_t count, double tolerance,
                       const char *what, const char *file, int line);

#define assert_near(a, b, tolerance) test_assert_near(a, b, tolerance, #a, __FILE__, __LINE__)
void test_assert_near(double a, double b, double tolerance, const char *what, const char *file,
                      int line);

/* A fresh directory under the system's place for temporary files; removed by the second call. */
char *test_directory(void);
void test_remove_directory(char *path);

/* Ends the whole program as skipped, with the reason. */
void test_skip_all(const char *reason) __attribute__((noreturn));

/* What a limit in seconds is multiplied by: 1, and more under a sanitizer or valgrind. */
double test_patience(void);

/* The folder with real data (GERNE_REAL_DATA, or shared/data beside the checkout), or NULL. */
const char *test_real_data(void);

#endif
