#include "engine/sequence.h"

#include "base/vector.h"

gn_layout gn_layout_of(const gn_program *program, int spans, const gn_node *node)
{
    if (spans >= 0)
        return (gn_layout){.spans = gn_tensor_data(program, spans),
                           .samples = program->batch,
                           .rows = program->tokens};
    int64_t length = node->ndims == 3 ? node->dims[1] : 1; /* features: a place each */
    return (gn_layout){
        .samples = program->batch, .length = length, .rows = program->batch * length};
}

gn_span gn_span_of(const gn_layout *layout, int64_t sample)
{
    if (!layout->spans)
        return (gn_span){sample * layout->length, layout->length};
    return (gn_span){layout->spans[2 * sample], layout->spans[2 * sample + 1]};
}

int64_t gn_rows_used(const gn_layout *layout)
{
    int64_t used = 0;
    for (int64_t i = 0; i < layout->samples; i++) {
        gn_span span = gn_span_of(layout, i);
        if (span.count > 0 && span.start + span.count > used)
            used = span.start + span.count;
    }
    return used;
}

int gn_span_tensor(const gn_compiler *c, const gn_node *node, const gn_sequence *sequence)
{
    return node->packed ? c->values[sequence->spans].tensor : -1;
}

int gn_key_tensor(const gn_compiler *c, const gn_node *node, const gn_sequence *sequence)
{
    return gn_drops(c, node, sequence) ? c->values[sequence->keys].tensor : -1;
}

bool gn_drops(const gn_compiler *c, const gn_node *node, const gn_sequence *sequence)
{
    return sequence->dropout > 0 && c->program->mode != GN_MODE_INFER &&
           !gn_is_frozen(c->program->graph, node);
}

gn_masks gn_masks_of(const gn_program *program, int keys, uint64_t layer, double rate)
{
    uint32_t threshold = (uint32_t)(rate * 65536 + 0.5);
    return (gn_masks){.keys = keys < 0 ? NULL : gn_tensor_data(program, keys),
                      .layer = layer,
                      .threshold = threshold,
                      .kept = (float)(65536.0 / (65536.0 - (double)threshold))};
}

static uint64_t joined(const int32_t *words)
{
    return (uint64_t)(uint32_t)words[1] << 32 | (uint32_t)words[0];
}

GN_WIDE static void threshold(const gn_masks *masks, const uint32_t *restrict words, int64_t count,
                              float *restrict mask)
{
    const uint32_t limit = masks->threshold;
    const float kept = masks->kept;
    for (int64_t i = 0; i < count; i++)
        mask[i] = (words[i] & 0xffff) < limit ? 0 : kept;
}

gn_stream gn_mask_start(const gn_masks *masks, int64_t sample, uint64_t row)
{
    const int32_t *key = masks->keys + 4 * sample;
    return gn_stream_at(joined(key), GN_RNG_INSIDE, joined(key + 2), masks->layer << 48 | row);
}

/* Words give first their lower halves, then their upper ones. */
void gn_mask_next(const gn_masks *masks, gn_stream *stream, int64_t count, float *mask)
{
    uint32_t words[GN_MASK_PIECE / 2];
    int64_t half = (count + 1) / 2;
    gn_random_words(gn_random_u64(stream), words, (size_t)half);
    threshold(masks, words, half, mask);
    for (int64_t i = 0; i < half; i++)
        words[i] >>= 16;
    threshold(masks, words, count - half, mask + half);
}
