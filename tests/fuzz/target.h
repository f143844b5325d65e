/* target.h - what a fuzz target is made of.
 *
 * A target gives bytes to a parser and checks what must hold whatever they are; crashes, leaks and
 * undefined behaviour are found by the sanitizers it is built with. */
#ifndef GN_TESTS_FUZZ_TARGET_H
#define GN_TESTS_FUZZ_TARGET_H

#include "base/status.h"

/* One file per parser defines this; ctx is fresh. */
void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size);

/* Runs the target with a context of its own. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stops the program with the failed condition. */
#define fuzz_check(condition) ((condition) ? (void)0 : fuzz_fail(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_fail(const char *condition, const char *file, int line);

/* A parser may succeed, or refuse with the wanted status and a sentence; true when it succeeded.
 * Memory is never short in earnest: limits come first. */
bool fuzz_accepted(const gerne_ctx *ctx, gerne_status status, gerne_status refusal);

/* For parsers that want a file: puts the bytes under that name into a directory of the process,
 * which is removed at the end. Returns the path, which stays valid until the next call. */
const char *fuzz_put(const char *name, const void *bytes, size_t size);
const char *fuzz_directory(void);

#endif
