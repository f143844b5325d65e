/* plan.c - where each buffer of a program lies: buffers whose lives overlap must not share bytes.
 *
 * Greedy by size: the largest buffers are placed first, each at the lowest offset that is free
 * during its whole life. Within a few percent of the best for networks, and simple to trust. */
#include "engine/internal.h"

#include <stdlib.h>

static size_t aligned(size_t size)
{
    return (size + GN_ALIGNMENT - 1) / GN_ALIGNMENT * GN_ALIGNMENT;
}

static int larger_first(const void *a, const void *b)
{
    const gn_buffer *x = *(gn_buffer *const *)a, *y = *(gn_buffer *const *)b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x < y ? -1 : x > y; /* a fixed order among equals */
}

static int lower_first(const void *a, const void *b)
{
    const gn_buffer *x = *(gn_buffer *const *)a, *y = *(gn_buffer *const *)b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool live_together(const gn_buffer *a, const gn_buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest gap between the buffers in the way (sorted by offset) that holds size bytes. */
static size_t lowest_gap(gn_buffer **in_the_way, size_t count, size_t size)
{
    size_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        if (in_the_way[i]->offset >= offset + size)
            break;
        size_t end = in_the_way[i]->offset + aligned(in_the_way[i]->size);
        if (end > offset)
            offset = end;
    }
    return offset;
}

gerne_status gn_plan_memory(gerne_ctx *ctx, gn_buffer *buffers, size_t count, size_t *size)
{
    gn_buffer **order, **in_the_way;
    GN_TRY(gn_alloc(ctx, 2 * count, sizeof *order, "a memory plan", &order));
    in_the_way = order + count;
    size_t planned = 0;
    for (size_t i = 0; i < count; i++)
        if (buffers[i].used && !buffers[i].fixed)
            order[planned++] = &buffers[i];
    qsort(order, planned, sizeof *order, larger_first);
    *size = 0;
    for (size_t i = 0; i < planned; i++) {
        size_t blocking = 0;
        for (size_t j = 0; j < i; j++)
            if (live_together(order[j], order[i]))
                in_the_way[blocking++] = order[j];
        qsort(in_the_way, blocking, sizeof *in_the_way, lower_first);
        order[i]->offset = lowest_gap(in_the_way, blocking, aligned(order[i]->size));
        size_t end = order[i]->offset + aligned(order[i]->size);
        if (end > *size)
            *size = end;
    }
    gn_free(order);
    return GERNE_OK;
}
