/* memory.h - all heap allocations: checked sizes, aligned blocks, arenas by lifetime. */
#ifndef GN_BASE_MEMORY_H
#define GN_BASE_MEMORY_H

#include "base/status.h"

#pragma GCC visibility push(default) /* what plug-ins may call */

enum { GN_ALIGNMENT = 64 }; /* a cache line, and the widest vector */

/* count * size bytes, zeroed; *out is NULL on failure. what names the thing in the message. */
GERNE_CHECKED gerne_status gn_alloc(gerne_ctx *ctx, size_t count, size_t size, const char *what,
                                    void *out);

/* Grows *array (count * size bytes, may be NULL) to at least need items; new items are not zeroed.
 * Doubles, so that appending is linear over all. */
GERNE_CHECKED gerne_status gn_grow(gerne_ctx *ctx, void *array, size_t *capacity, size_t need,
                                   size_t size, const char *what);

/* A zeroed block on a cache line; free with gn_free. */
GERNE_CHECKED gerne_status gn_alloc_aligned(gerne_ctx *ctx, size_t count, size_t size,
                                            const char *what, void *out);

void gn_free(void *pointer); /* takes NULL */

/* Before a pointer that is a local: what it points to is freed when its scope ends. */
#define GN_FREED __attribute__((cleanup(gn_free_local)))
void gn_free_local(void *pointer); /* of the address of the pointer */

/* Moves the pointer at the address local to *out: it outlives its scope. Returns GERNE_OK. */
gerne_status gn_give(void *local, void *out);

/* false when the product overflows. */
bool gn_multiply(size_t a, size_t b, size_t *product);

/* Bytes that could be had now without swapping; SIZE_MAX when the system does not tell. */
size_t gn_memory_available(void);

/* An arena: many small things that are freed together. */
typedef struct gn_arena gn_arena;

GERNE_CHECKED gerne_status gn_arena_new(gerne_ctx *ctx, gn_arena **out);
void gn_arena_close(gn_arena *arena);
GN_LOCAL_HANDLE(gn_arena, gn_arena_close)
void gn_arena_reset(gn_arena *arena); /* everything in it is gone; its memory is kept */

/* Zeroed, on 16 bytes; belongs to the arena. */
GERNE_CHECKED gerne_status gn_arena_alloc(gerne_ctx *ctx, gn_arena *arena, size_t count,
                                          size_t size, void *out);
GERNE_CHECKED gerne_status gn_arena_copy_text(gerne_ctx *ctx, gn_arena *arena, const char *text,
                                              const char **out);

#pragma GCC visibility pop

/* As gn_alloc_aligned, not zeroed: for a large block that several threads fill, each its part. */
GERNE_CHECKED gerne_status gn_alloc_to_fill(gerne_ctx *ctx, size_t count, size_t size,
                                            const char *what, void *out);

/* For tests: the n-th allocation from now fails (1 = the next), jansson's too; 0 switches it off.
 */
void gn_fail_allocation(long n);
bool gn_allocation_fails(void); /* whether this one does; asked once for each */

#endif
