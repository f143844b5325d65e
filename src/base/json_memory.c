/* What jansson does without memory is not good enough. Its setters leave the value out, which would
 * pass for the truth. Its reader forgets the end of a text and then runs past it. So its allocator
 * is wrapped, whatever it was before: failures are noticed, and end a reader at once. A program
 * that brings another allocator later only loses this. */
#include "base/json_memory.h"

#include <setjmp.h>
#include <stdint.h>

#include "base/memory.h"

/* The blocks that a reader holds: what has to be freed when it is left in its midst. */
typedef struct block_set {
    uintptr_t *slots; /* 0: free */
    size_t capacity, count;
} block_set;

typedef struct reader {
    jmp_buf out;
    block_set blocks;
} reader;

static _Thread_local bool failed;
static _Thread_local reader *reading;
static json_malloc_t allocate_before;
static json_free_t release_before;

static size_t home(const block_set *set, uintptr_t block)
{
    return (size_t)((uint64_t)block * 0x9e3779b97f4a7c15u >> 20) & (set->capacity - 1);
}

static void put(block_set *set, uintptr_t block)
{
    size_t at = home(set, block);
    while (set->slots[at])
        at = (at + 1) & (set->capacity - 1);
    set->slots[at] = block;
    set->count++;
}

/* At most half full, so that a search is short. */
static bool make_room(block_set *set)
{
    block_set larger = {.capacity = set->capacity ? 2 * set->capacity : 64};
    if (2 * set->count < set->capacity)
        return true;
    if (gn_alloc(NULL, larger.capacity, sizeof *larger.slots, "JSON", &larger.slots) != GERNE_OK)
        return false;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i])
            put(&larger, set->slots[i]);
    gn_free(set->slots);
    *set = larger;
    return true;
}

/* Those behind it move up, so that no search ends at the gap too early. */
static void take_out(block_set *set, uintptr_t block)
{
    if (!set->capacity)
        return;
    size_t mask = set->capacity - 1, gap = home(set, block);
    while (set->slots[gap] && set->slots[gap] != block)
        gap = (gap + 1) & mask;
    if (!set->slots[gap])
        return;
    set->count--;
    for (size_t at = (gap + 1) & mask; set->slots[at]; at = (at + 1) & mask)
        if (((at - home(set, set->slots[at])) & mask) >= ((at - gap) & mask)) {
            set->slots[gap] = set->slots[at];
            gap = at;
        }
    set->slots[gap] = 0;
}

static void *allocate(size_t size)
{
    void *block = gn_allocation_fails() ? NULL : allocate_before(size);
    if (!reading || size == 0) {
        failed = failed || (!block && size > 0);
        return block;
    }
    if (block && make_room(&reading->blocks)) {
        put(&reading->blocks, (uintptr_t)block);
        return block;
    }
    if (block)
        release_before(block);
    longjmp(reading->out, 1);
}

static void release(void *block)
{
    if (reading && block)
        take_out(&reading->blocks, (uintptr_t)block);
    release_before(block);
}

/* When the library is loaded: before anyone can have begun a document with it. */
__attribute__((constructor)) static void wrap(void)
{
    json_get_alloc_funcs(&allocate_before, &release_before);
    json_set_alloc_funcs(allocate, release);
}

/* And undone when it is unloaded, unless somebody else has taken the place. */
__attribute__((destructor)) static void unwrap(void)
{
    json_malloc_t present;
    json_free_t unused;
    json_get_alloc_funcs(&present, &unused);
    if (present == allocate)
        json_set_alloc_funcs(allocate_before, release_before);
}

static void drop(const block_set *set)
{
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i])
            release_before((void *)set->slots[i]); /* NOLINT(performance-no-int-to-ptr) */
}

/* false: it was left by a failed allocation. What changes is the caller's: locals of a function
 * that longjmp comes back to would be lost. */
static bool read_with(reader *r, const char *bytes, size_t size, json_error_t *error, json_t **json)
{
    reading = r;
    bool whole = setjmp(r->out) == 0;
    if (whole)
        *json = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, error);
    reading = NULL;
    return whole;
}

json_t *gn_json_load(const char *bytes, size_t size, json_error_t *error, bool *no_memory)
{
    reader r = {.blocks = {0}};
    json_t *json = NULL;
    *no_memory = !read_with(&r, bytes, size, error, &json);
    if (*no_memory)
        drop(&r.blocks);
    gn_free(r.blocks.slots);
    return json;
}

bool gn_json_memory_failed(void)
{
    bool was = failed;
    failed = false;
    return was;
}
