#include "data/trie.h"

enum { FIRST_BITS = 8, LAST_BITS = 24, NODES_MAX = 1 << 23 };

static gerne_status add_node(gerne_ctx *ctx, gn_trie *trie, int32_t *out)
{
    if (trie->nodes == NODES_MAX)
        return gn_fail(ctx, GERNE_EDATA, "the strings have more than %d distinct prefixes",
                       NODES_MAX);
    GN_TRY(gn_grow(ctx, &trie->numbers, &trie->capacity, trie->nodes + 1, sizeof *trie->numbers,
                   "a trie"));
    *out = (int32_t)trie->nodes;
    trie->numbers[trie->nodes++] = -1;
    return GERNE_OK;
}

gerne_status gn_trie_new(gerne_ctx *ctx, gn_trie **out)
{
    GN_LOCAL(gn_trie) *trie = NULL;
    int32_t root;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *trie, "a trie", &trie));
    trie->bits = FIRST_BITS;
    GN_TRY(gn_alloc(ctx, (size_t)1 << trie->bits, sizeof *trie->edges, "a trie", &trie->edges));
    GN_TRY(add_node(ctx, trie, &root));
    return gn_give(&trie, out);
}

void gn_trie_close(gn_trie *trie)
{
    if (!trie)
        return;
    gn_free(trie->edges);
    gn_free(trie->numbers);
    gn_free(trie);
}

static void put(gn_trie *trie, gn_trie_edge edge)
{
    size_t mask = ((size_t)1 << trie->bits) - 1, at = gn_trie_place(trie, edge.key);
    while (trie->edges[at].child)
        at = (at + 1) & mask;
    trie->edges[at] = edge;
}

/* Nodes and edges are as many, but for the root. */
static gerne_status make_room(gerne_ctx *ctx, gn_trie *trie)
{
    size_t size = (size_t)1 << trie->bits;
    if (2 * trie->nodes <= size || trie->bits == LAST_BITS)
        return GERNE_OK;
    gn_trie_edge *old = trie->edges, *wider;
    GN_TRY(gn_alloc(ctx, 2 * size, sizeof *wider, "a trie", &wider));
    trie->edges = wider;
    trie->bits++;
    for (size_t i = 0; i < size; i++)
        if (old[i].child)
            put(trie, old[i]);
    gn_free(old);
    return GERNE_OK;
}

gerne_status gn_trie_add(gerne_ctx *ctx, gn_trie *trie, const char *bytes, size_t size,
                         int32_t number, int32_t *held)
{
    int32_t node = GN_TRIE_ROOT;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        int32_t next = gn_trie_step(trie, node, byte);
        if (next == GN_TRIE_NONE) {
            GN_TRY(make_room(ctx, trie));
            GN_TRY(add_node(ctx, trie, &next));
            put(trie, (gn_trie_edge){(uint32_t)node << 8 | byte, next});
        }
        node = next;
    }
    if (trie->numbers[node] < 0)
        trie->numbers[node] = number;
    *held = trie->numbers[node];
    return GERNE_OK;
}

int32_t gn_trie_walk(const gn_trie *trie, int32_t node, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size && node != GN_TRIE_NONE; i++)
        node = gn_trie_step(trie, node, (unsigned char)bytes[i]);
    return node;
}

int32_t gn_trie_find(const gn_trie *trie, const char *bytes, size_t size)
{
    int32_t node = gn_trie_walk(trie, GN_TRIE_ROOT, bytes, size);
    return node == GN_TRIE_NONE ? -1 : gn_trie_number(trie, node);
}
