/* trie.h - numbers for byte strings, found by walking from a node to the next by one byte.
 *
 *     GN_TRY(gn_trie_add(ctx, trie, "word", 4, 7, &number));
 *     int32_t node = GN_TRIE_ROOT;
 *     for each byte: node = gn_trie_step(trie, node, byte), until GN_TRIE_NONE
 *     gn_trie_number(trie, node)       // the number of the string that ends here, or -1
 */
#ifndef GN_DATA_TRIE_H
#define GN_DATA_TRIE_H

#include "base/memory.h"

enum { GN_TRIE_ROOT = 0, GN_TRIE_NONE = -1 };

/* The edges are one hash table: a step is one look into it, mostly. */
typedef struct gn_trie_edge {
    uint32_t key;  /* the node it leaves * 256 + the byte */
    int32_t child; /* 0, the root, which is nobody's child: the place is free */
} gn_trie_edge;

typedef struct gn_trie {
    gn_trie_edge *edges; /* 2^bits of them, at most half in use */
    int bits;
    int32_t *numbers; /* by node */
    size_t nodes, capacity;
} gn_trie;

GERNE_CHECKED gerne_status gn_trie_new(gerne_ctx *ctx, gn_trie **out);
void gn_trie_close(gn_trie *trie); /* takes NULL */
GN_LOCAL_HANDLE(gn_trie, gn_trie_close)

/* Gives the string a number (0 or above), unless it has one: *held is the one that it has now. */
GERNE_CHECKED gerne_status gn_trie_add(gerne_ctx *ctx, gn_trie *trie, const char *bytes,
                                       size_t size, int32_t number, int32_t *held);

/* The number of the string, or -1. */
int32_t gn_trie_find(const gn_trie *trie, const char *bytes, size_t size);

/* The node that the string leads to, or GN_TRIE_NONE. */
int32_t gn_trie_walk(const gn_trie *trie, int32_t node, const char *bytes, size_t size);

static inline size_t gn_trie_place(const gn_trie *trie, uint32_t key)
{
    return (size_t)(key * 2654435769u >> (32 - trie->bits));
}

static inline int32_t gn_trie_step(const gn_trie *trie, int32_t node, unsigned char byte)
{
    uint32_t key = (uint32_t)node << 8 | byte;
    size_t mask = ((size_t)1 << trie->bits) - 1;
    for (size_t at = gn_trie_place(trie, key); trie->edges[at].child; at = (at + 1) & mask)
        if (trie->edges[at].key == key)
            return trie->edges[at].child;
    return GN_TRIE_NONE;
}

static inline int32_t gn_trie_number(const gn_trie *trie, int32_t node)
{
    return trie->numbers[node];
}

#endif
