#include "methods/lisa_pairs.h"

#include <string.h>

/* The batch by cells: samples of one class and one attribute, in the batch's order. What a pair
 * shares comes first. */
static uint32_t cell_of(const gn_lisa_batch *batch, size_t i)
{
    uint32_t y = (uint32_t)batch->y[i], a = (uint32_t)batch->a[i];
    return batch->same_label ? y * batch->attributes + a : a * batch->classes + y;
}

static void sort_by_cell(const gn_lisa_batch *batch)
{
    uint32_t cells = batch->classes * batch->attributes, *starts = batch->starts;
    memset(starts, 0, (cells + 1) * sizeof *starts);
    for (size_t i = 0; i < batch->count; i++)
        starts[cell_of(batch, i) + 1]++;
    for (uint32_t c = 0; c < cells; c++)
        starts[c + 1] += starts[c];
    for (size_t i = 0; i < batch->count; i++)
        batch->order[starts[cell_of(batch, i)]++] = (uint32_t)i;
    memmove(starts + 1, starts, cells * sizeof *starts);
    starts[0] = 0;
}

static uint32_t size_of(const gn_lisa_batch *batch, uint32_t cell)
{
    return batch->starts[cell + 1] - batch->starts[cell];
}

/* The place-th of count cells from first on that is not empty. */
static uint32_t present_cell(const gn_lisa_batch *batch, uint32_t first, uint64_t place)
{
    uint32_t cell = first;
    for (;; cell++)
        if (size_of(batch, cell) > 0 && place-- == 0)
            return cell;
}

/* Each sample of either list with its partner in the other one, and a coefficient for each pair. */
static size_t mix_whole(const gn_lisa_batch *batch, gn_stream *stream, const uint32_t *one,
                        const uint32_t *two, size_t length, gn_pair *pairs)
{
    for (size_t i = 0; i < length; i++)
        pairs[i] = (gn_pair){.own = one[i],
                             .other = two[i],
                             .share = (float)gn_random_beta(stream, batch->alpha, batch->alpha)};
    return length;
}

/* Both ways, with one box for all. */
static size_t mix_boxes(const gn_lisa_batch *batch, gn_stream *stream, const uint32_t *one,
                        const uint32_t *two, size_t length, gn_pair *pairs)
{
    double lambda = gn_random_beta(stream, batch->alpha, batch->alpha);
    uint32_t row = (uint32_t)gn_random_below(stream, batch->height);
    uint32_t column = (uint32_t)gn_random_below(stream, batch->width);
    float share;
    gn_box box = gn_cutmix_box(lambda, batch->height, batch->width, row, column, &share);
    for (size_t i = 0; i < length; i++) {
        pairs[i] = (gn_pair){one[i], two[i], share, box};
        pairs[length + i] = (gn_pair){two[i], one[i], share, box};
    }
    return 2 * length;
}

/* The cells first..first+count-1 share a class (or an attribute): two of them, at random. */
static size_t pair_cells(const gn_lisa_batch *batch, gn_stream *stream, uint32_t first,
                         uint32_t count, gn_pair *pairs)
{
    uint32_t present = 0;
    for (uint32_t c = first; c < first + count; c++)
        present += size_of(batch, c) > 0;
    if (present < 2)
        return 0;
    uint64_t one = gn_random_below(stream, present), two = gn_random_below(stream, present - 1);
    uint32_t a = present_cell(batch, first, one);
    uint32_t b = present_cell(batch, first, two + (two >= one));
    size_t length = size_of(batch, a) < size_of(batch, b) ? size_of(batch, a) : size_of(batch, b);
    const uint32_t *list_a = batch->order + batch->starts[a];
    const uint32_t *list_b = batch->order + batch->starts[b];
    return batch->how == GN_MIX_BOXES ? mix_boxes(batch, stream, list_a, list_b, length, pairs)
                                      : mix_whole(batch, stream, list_a, list_b, length, pairs);
}

static size_t sweep(const gn_lisa_batch *batch, gn_stream *stream, gn_pair *pairs)
{
    uint32_t keys = batch->same_label ? batch->classes : batch->attributes;
    uint32_t cells = batch->same_label ? batch->attributes : batch->classes;
    size_t made = 0;
    for (uint32_t key = 0; key < keys; key++)
        made += pair_cells(batch, stream, key * cells, cells, pairs + made);
    return made;
}

static void shuffle(gn_stream *stream, gn_pair *pairs, size_t count, size_t wanted)
{
    for (size_t i = 0; i < wanted; i++) {
        size_t j = i + gn_random_below(stream, count - i);
        gn_pair kept = pairs[j];
        pairs[j] = pairs[i];
        pairs[i] = kept;
    }
}

bool gn_lisa_pairs(const gn_lisa_batch *batch, gn_stream *stream, size_t wanted, gn_pair *pairs)
{
    size_t made = 0, more = 1;
    sort_by_cell(batch);
    while (made < wanted && more > 0) {
        more = sweep(batch, stream, pairs + made);
        made += more;
    }
    bool mixed = made > 0;
    for (; !mixed && made < batch->count; made++)
        pairs[made] = (gn_pair){.own = (uint32_t)made, .other = (uint32_t)made, .share = 1};
    shuffle(stream, pairs, made, wanted);
    return mixed;
}
