#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static _Thread_local long fail_countdown;

void gn_fail_allocation(long n)
{
    fail_countdown = n;
}

bool gn_allocation_fails(void)
{
    return fail_countdown > 0 && --fail_countdown == 0;
}

bool gn_multiply(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

static gerne_status out_of_memory(gerne_ctx *ctx, size_t count, size_t size, const char *what)
{
    gerne_status status = gn_fail(ctx, GERNE_ENOMEM, "no memory for %s (%.1f MiB)", what,
                                  (double)count * (double)size / (1024.0 * 1024.0));
    return status;
}

/* Blocks that are filled whole are faster to fill and to read in large pages. Only an advice: what
 * the system makes of it changes nothing else. */
static void advise_large_pages(void *block, size_t count, size_t size)
{
    const uintptr_t page = (uintptr_t)2 << 20;
    size_t bytes;
    if (!block || !gn_multiply(count, size, &bytes) || bytes < 8 * page)
        return;
    uintptr_t start = ((uintptr_t)block + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)block + bytes) / page * page;
    (void)madvise((char *)block + (start - (uintptr_t)block), end - start, MADV_HUGEPAGE);
}

gerne_status gn_alloc(gerne_ctx *ctx, size_t count, size_t size, const char *what, void *out)
{
    void *block = NULL;
    if (!gn_allocation_fails())
        block = calloc(count ? count : 1, size ? size : 1);
    advise_large_pages(block, count, size);
    memcpy(out, &block, sizeof block);
    return block ? GERNE_OK : out_of_memory(ctx, count, size, what);
}

gerne_status gn_grow(gerne_ctx *ctx, void *array, size_t *capacity, size_t need, size_t size,
                     const char *what)
{
    if (need <= *capacity)
        return GERNE_OK;
    size_t wanted = *capacity ? *capacity : 16;
    while (wanted < need) {
        if (wanted > SIZE_MAX / 2)
            return out_of_memory(ctx, need, size, what);
        wanted *= 2;
    }
    size_t bytes;
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = NULL;
    if (gn_multiply(wanted, size, &bytes) && !gn_allocation_fails())
        grown = realloc(old, bytes);
    if (!grown)
        return out_of_memory(ctx, wanted, size, what);
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return GERNE_OK;
}

/* bytes: what was asked for, in whole cache lines. */
static void *aligned_block(size_t count, size_t size, size_t *bytes)
{
    if (!gn_multiply(count ? count : 1, size, bytes) || *bytes > SIZE_MAX - GN_ALIGNMENT ||
        gn_allocation_fails())
        return NULL;
    *bytes = (*bytes + GN_ALIGNMENT - 1) / GN_ALIGNMENT * GN_ALIGNMENT;
    return aligned_alloc(GN_ALIGNMENT, *bytes);
}

gerne_status gn_alloc_aligned(gerne_ctx *ctx, size_t count, size_t size, const char *what,
                              void *out)
{
    size_t bytes;
    void *block = aligned_block(count, size, &bytes);
    advise_large_pages(block, count, size);
    if (block)
        memset(block, 0, bytes);
    memcpy(out, &block, sizeof block);
    return block ? GERNE_OK : out_of_memory(ctx, count, size, what);
}

/* Not in large pages: with two threads filling a block side by side, the time in the kernel was
 * twice as long. */
gerne_status gn_alloc_to_fill(gerne_ctx *ctx, size_t count, size_t size, const char *what,
                              void *out)
{
    size_t bytes;
    void *block = aligned_block(count, size, &bytes);
    advise_large_pages(block, count, size);
    memcpy(out, &block, sizeof block);
    return block ? GERNE_OK : out_of_memory(ctx, count, size, what);
}

void gn_free(void *pointer)
{
    free(pointer);
}

void gn_free_local(void *pointer)
{
    void *block;
    memcpy(&block, pointer, sizeof block);
    gn_free(block);
}

gerne_status gn_give(void *local, void *out)
{
    void *const none = NULL;
    memcpy(out, local, sizeof none);
    memcpy(local, &none, sizeof none);
    return GERNE_OK;
}

size_t gn_memory_available(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    if (!file)
        return SIZE_MAX;
    char line[128];
    unsigned long long kib;
    size_t bytes = SIZE_MAX;
    while (fgets(line, sizeof line, file))
        /* NOLINTNEXTLINE(cert-err34-c): the kernel writes a number that fits */
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            bytes = (size_t)kib * 1024;
    fclose(file);
    return bytes;
}

/* An arena is a list of chunks, the newest first; each new one is at least as large as the last. */
enum { FIRST_CHUNK = 4096, ARENA_ALIGNMENT = 16 };

typedef struct chunk {
    struct chunk *next;
    size_t size, used;
    _Alignas(ARENA_ALIGNMENT) unsigned char bytes[];
} chunk;

struct gn_arena {
    chunk *chunks;
};

gerne_status gn_arena_new(gerne_ctx *ctx, gn_arena **out)
{
    return gn_alloc(ctx, 1, sizeof **out, "an arena", out);
}

void gn_arena_close(gn_arena *arena)
{
    if (!arena)
        return;
    for (chunk *c = arena->chunks; c;) {
        chunk *next = c->next;
        gn_free(c);
        c = next;
    }
    gn_free(arena);
}

void gn_arena_reset(gn_arena *arena)
{
    chunk *largest = arena->chunks;
    if (!largest)
        return;
    for (chunk *c = largest->next; c;) {
        chunk *next = c->next;
        gn_free(c);
        c = next;
    }
    largest->next = NULL;
    memset(largest->bytes, 0, largest->used);
    largest->used = 0;
}

static gerne_status add_chunk(gerne_ctx *ctx, gn_arena *arena, size_t need)
{
    size_t size = arena->chunks ? arena->chunks->size * 2 : FIRST_CHUNK;
    if (size < need)
        size = need;
    chunk *c;
    GN_TRY(gn_alloc(ctx, 1, sizeof *c + size, "an arena", &c));
    c->size = size;
    c->next = arena->chunks;
    arena->chunks = c;
    return GERNE_OK;
}

gerne_status gn_arena_alloc(gerne_ctx *ctx, gn_arena *arena, size_t count, size_t size, void *out)
{
    void *none = NULL;
    memcpy(out, &none, sizeof none);
    size_t bytes;
    if (!gn_multiply(count, size, &bytes) || bytes > SIZE_MAX / 4)
        return out_of_memory(ctx, count, size, "an arena");
    bytes = (bytes + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    chunk *c = arena->chunks;
    if (!c || c->size - c->used < bytes) {
        GN_TRY(add_chunk(ctx, arena, bytes));
        c = arena->chunks;
    }
    void *block = c->bytes + c->used;
    c->used += bytes;
    memcpy(out, &block, sizeof block);
    return GERNE_OK;
}

gerne_status gn_arena_copy_text(gerne_ctx *ctx, gn_arena *arena, const char *text, const char **out)
{
    char *copy;
    size_t size = strlen(text) + 1;
    *out = NULL;
    GN_TRY(gn_arena_alloc(ctx, arena, size, 1, &copy));
    memcpy(copy, text, size);
    *out = copy;
    return GERNE_OK;
}
