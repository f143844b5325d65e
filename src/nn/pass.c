#include "nn/pass.h"

#include <string.h>

#include "base/half.h"
#include "base/vector.h"
#include "nn/mixed_texts.h"
#include "nn/split_pass.h"
#include "ranks/ranks.h"

/* ---- loading ---- */

/* [pixel][channel] bytes -> [channel][pixel] floats. */
GN_WIDE static void unpack_planes(const uint8_t *restrict bytes, size_t pixels, size_t channels,
                                  size_t channel, float scale, float shift, float *restrict out)
{
    for (size_t i = 0; i < pixels; i++)
        out[i] = (float)bytes[channels * i + channel] * scale + shift;
}

/* The same of three channels, in one pass: the compiler tells them apart in registers. */
GN_WIDE static void unpack_colours(const uint8_t *restrict bytes, size_t pixels, const float *scale,
                                   const float *shift, float *restrict red, float *restrict green,
                                   float *restrict blue)
{
    float by[3] = {scale[0], scale[1], scale[2]}, plus[3] = {shift[0], shift[1], shift[2]};
    for (size_t i = 0; i < pixels; i++) {
        red[i] = (float)bytes[3 * i] * by[0] + plus[0];
        green[i] = (float)bytes[3 * i + 1] * by[1] + plus[1];
        blue[i] = (float)bytes[3 * i + 2] * by[2] + plus[2];
    }
}

GN_WIDE static void unpack_halves(const uint16_t *restrict halves, size_t count,
                                  float *restrict out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = gn_float_from_half(halves[i]);
}

static void load_row(const gn_samples *samples, const gn_field *field, const void *from, float *row)
{
    if (field->element == GN_ELEMENT_F32) {
        memcpy(row, from, (size_t)gn_field_size(field) * sizeof *row);
        return;
    }
    if (field->element == GN_ELEMENT_F16) {
        unpack_halves(from, (size_t)gn_field_size(field), row);
        return;
    }
    size_t channels = (size_t)field->dims[0], pixels = (size_t)(field->dims[1] * field->dims[2]);
    if (channels == 3) {
        unpack_colours(from, pixels, samples->scale, samples->shift, row, row + pixels,
                       row + 2 * pixels);
        return;
    }
    for (size_t c = 0; c < channels; c++)
        unpack_planes(from, pixels, channels, c, samples->scale[c], samples->shift[c],
                      row + c * pixels);
}

/* Samples of a batch lie anywhere in the data: the next one is on its way while one is unpacked. */
static void expect_row(const gn_field *field, const void *from)
{
    enum { LINE = 64, BYTES_MAX = 1 << 13 }; /* the processor itself finds the rest of a long row */
    static const size_t sizes[] = {
        [GN_ELEMENT_U8] = 1, [GN_ELEMENT_F32] = 4, [GN_ELEMENT_I32] = 4, [GN_ELEMENT_F16] = 2};
    size_t bytes = (size_t)gn_field_size(field) * sizes[field->element];
    for (size_t at = 0; at < bytes && at < BYTES_MAX; at += LINE)
        __builtin_prefetch((const char *)from + at);
}

/* other is loaded beside row, and what the mixture asks for goes into row. */
static void mix_row(const gn_mixture *mixture, size_t i, const gn_field *field, const float *other,
                    float *row)
{
    size_t size = (size_t)gn_field_size(field);
    if (!mixture->boxes) {
        float share = mixture->share[i];
        for (size_t j = 0; j < size; j++)
            row[j] = share * row[j] + (1 - share) * other[j];
        return;
    }
    const gn_box *box = &mixture->boxes[i];
    size_t height = (size_t)field->dims[1], width = (size_t)field->dims[2];
    for (size_t c = 0; c < (size_t)field->dims[0]; c++)
        for (size_t y = box->top; y < box->bottom; y++) {
            size_t at = (c * height + y) * width + box->left;
            memcpy(row + at, other + at, (size_t)(box->right - box->left) * sizeof *row);
        }
}

static void load_field(gn_network *network, const gn_samples *samples, size_t first, size_t n,
                       int which)
{
    const gn_field *field = &gn_network_shape(network)->fields[which];
    const gn_mixture *mixture = samples->mixture;
    float *input = gn_network_input(network, which), *spare = gn_network_spare_input(network);
    size_t size = (size_t)gn_field_size(field), batch = (size_t)gn_network_batch(network);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < batch; i++) {
        float *row = input + i * size;
        if (i >= n) {
            memset(row, 0, size * sizeof *row);
            continue;
        }
        if (i + 1 < n)
            expect_row(field, samples->fields[which][first + i + 1]);
        load_row(samples, field, samples->fields[which][first + i], row);
        if (mixture) {
            float *other = spare + i * size;
            load_row(samples, field, mixture->fields[which][first + i], other);
            mix_row(mixture, first + i, field, other, row);
        }
    }
}

static int64_t length_of(const gn_network *network, const gn_samples *samples, size_t i)
{
    int field = gn_shape_find(gn_network_shape(network), GN_FIELD_LENGTH);
    const int32_t *length = samples->fields[field][i];
    return *length;
}

static gerne_status load_tokens(gerne_ctx *ctx, gn_network *network, const gn_samples *samples,
                                size_t first, size_t n)
{
    int field = gn_shape_find(gn_network_shape(network), GN_FIELD_TOKENS);
    int64_t longest = gn_network_shape(network)->fields[field].dims[0], total = 0;
    if (samples->mixture)
        return gn_fail(ctx, GERNE_EUNSUPPORTED, "texts are mixed in training steps alone");
    for (size_t i = 0; i < n; i++) {
        int64_t length = length_of(network, samples, first + i);
        if (length < 1 || length > longest)
            return gn_fail(ctx, GERNE_EINTERNAL, "a text of %lld tokens, not of 1 to %lld",
                           (long long)length, (long long)longest);
        total += length;
    }
    gn_network_set_masks(network, samples->step, samples->place + first);
    gn_text_input input;
    GN_TRY(gn_network_expect_tokens(ctx, network, total, &input));
    memset(input.spans, 0, (size_t)gn_network_batch(network) * 2 * sizeof *input.spans);
    int64_t start = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t length = length_of(network, samples, first + i);
        memcpy(input.ids + start, samples->fields[field][first + i],
               (size_t)length * sizeof *input.ids);
        input.spans[2 * i] = (int32_t)start;
        input.spans[2 * i + 1] = (int32_t)length;
        start += length;
    }
    return GERNE_OK;
}

static gerne_status load(gerne_ctx *ctx, gn_network *network, const gn_samples *samples,
                         size_t first, size_t n)
{
    gn_network_set_masks(network, samples->step, samples->place + first);
    if (samples->mixture)
        GN_TRY(gn_network_make_spare_input(ctx, network));
    for (int i = 0; i < gn_network_shape(network)->count; i++)
        load_field(network, samples, first, n, i);
    return GERNE_OK;
}

/* ---- forward ---- */

gn_cross_entropy gn_samples_terms(const gn_samples *samples)
{
    const gn_mixture *mixture = samples->mixture;
    return (gn_cross_entropy){.labels = samples->labels,
                              .weights = samples->weights,
                              .count = samples->count,
                              .others = mixture ? mixture->labels : NULL,
                              .share = mixture ? mixture->share : NULL};
}

/* As many as the network was built for, and of texts as many as have no more tokens than its limit.
 */
size_t gn_pass_next(const gn_network *network, const gn_samples *samples, size_t first, size_t rest)
{
    size_t batch = (size_t)gn_network_batch(network), most = rest < batch ? rest : batch;
    size_t least = samples->in_pairs ? 2 : 1;
    if (!gn_network_takes_tokens(network))
        return most;
    int64_t limit = gn_network_token_limit(network), tokens = 0;
    for (size_t i = 0; i < most; i++) {
        tokens += length_of(network, samples, first + i);
        if (tokens > limit && i >= least)
            return i - i % least;
    }
    return most - most % least;
}

/* A training pass is one run of the body, which backward needs; inference takes several. */
static gerne_status run_texts(gerne_ctx *ctx, gn_network *network, const gn_samples *samples,
                              size_t first, size_t n)
{
    size_t piece;
    for (size_t i = 0; i < n; i += piece) {
        piece =
            gn_network_trains_body(network) ? n : gn_pass_next(network, samples, first + i, n - i);
        GN_TRY(load_tokens(ctx, network, samples, first + i, piece));
        GN_TRY(gn_body_forward_rows(ctx, network, i, piece));
    }
    gn_network_set_masks(network, samples->step, samples->place + first); /* of the head */
    return GERNE_OK;
}

gerne_status gn_pass_part(gerne_ctx *ctx, gn_network *network, const gn_samples *samples,
                          size_t first, size_t n, bool body_only)
{
    if (gn_network_takes_tokens(network)) {
        GN_TRY(run_texts(ctx, network, samples, first, n));
        return body_only ? GERNE_OK : gn_head_forward_rows(ctx, network, NULL, n);
    }
    GN_TRY(load(ctx, network, samples, first, n));
    GN_TRY(gn_body_forward(ctx, network));
    return body_only ? GERNE_OK : gn_head_forward(ctx, network, NULL);
}

static void take_outcome(gn_network *network, size_t first, size_t n, const gn_outcome *outcome)
{
    size_t classes = (size_t)gn_network_classes(network);
    size_t features = (size_t)gn_network_feature_count(network);
    if (outcome->logits)
        memcpy(outcome->logits + first * classes, gn_logits(network), n * classes * sizeof(float));
    if (outcome->predictions)
        gn_predict(gn_logits(network), n, classes, outcome->predictions + first);
    if (outcome->features)
        memcpy(outcome->features + first * features, gn_features(network),
               n * features * sizeof(float));
}

/* The loss of the micro-batch that the network has just run forward. */
static void evaluate(gn_network *network, const gn_loss *loss, size_t first, size_t n,
                     const gn_outcome *outcome, bool backward)
{
    gn_loss_part part = {.first = first,
                         .count = n,
                         .classes = (size_t)gn_network_classes(network),
                         .width = (size_t)gn_network_feature_count(network),
                         .logits = gn_logits(network),
                         .features = gn_features(network),
                         .losses = outcome->losses ? outcome->losses + first : NULL};
    size_t batch = (size_t)gn_network_batch(network);
    if (backward) {
        part.logit_gradient = gn_logit_gradient(network);
        memset(part.logit_gradient + n * part.classes, 0,
               (batch - n) * part.classes * sizeof(float)); /* padding counts nothing */
        part.feature_gradient = loss->wants_features ? gn_own_feature_gradient(network) : NULL;
    }
    double value = loss->evaluate(loss->terms, &part);
    if (outcome->value)
        *outcome->value = value + (first ? *outcome->value : 0);
}

static gerne_status check(gerne_ctx *ctx, const gn_network *network, const gn_samples *samples)
{
    size_t batch = (size_t)gn_network_batch(network);
    if (gn_network_couples_samples(network) && samples->count != batch)
        return gn_fail(ctx, GERNE_EINTERNAL,
                       "a batch of %zu samples on a network that was built for %zu", samples->count,
                       batch);
    return GERNE_OK;
}

bool gn_pass_fits(const gn_network *network, const gn_samples *samples)
{
    return samples->count == 0 ||
           gn_pass_next(network, samples, 0, samples->count) == samples->count;
}

gerne_status gn_pass_forward(gerne_ctx *ctx, gn_network *network, gn_mode mode,
                             const gn_samples *samples, const gn_loss *loss,
                             const gn_outcome *outcome)
{
    const gn_cross_entropy own = gn_samples_terms(samples);
    const gn_loss usual = gn_cross_entropy_loss(&own);
    if (!loss && samples->labels)
        loss = &usual;
    GN_TRY(gn_network_set_mode(ctx, network, mode));
    if (gn_ranks_of(ctx))
        return gn_split_pass(ctx, network, samples, loss, (gn_split_work){.forward = true},
                             outcome);
    if (mode == GN_MODE_TRAIN)
        GN_TRY(check(ctx, network, samples));
    size_t n;
    for (size_t first = 0; first < samples->count; first += n) {
        n = gn_pass_next(network, samples, first, samples->count - first);
        GN_TRY(gn_pass_part(ctx, network, samples, first, n, false));
        take_outcome(network, first, n, outcome);
        if (loss)
            evaluate(network, loss, first, n, outcome, false);
    }
    return GERNE_OK;
}

/* ---- backward ---- */

static gerne_status backward_part(gerne_ctx *ctx, gn_network *network, const gn_loss *loss,
                                  size_t first, size_t n, bool add, const gn_outcome *outcome)
{
    if (loss->wants_features)
        GN_TRY(gn_network_expect_feature_loss(ctx, network));
    evaluate(network, loss, first, n, outcome, true);
    GN_TRY(gn_head_backward(ctx, network, add));
    return gn_body_backward(ctx, network, NULL, add);
}

gerne_status gn_pass_step(gerne_ctx *ctx, gn_network *network, const gn_samples *samples,
                          const gn_loss *loss, bool accumulate, const gn_outcome *outcome)
{
    if (samples->mixture && gn_network_takes_tokens(network))
        return gn_mixed_texts_step(ctx, network, samples, loss, accumulate, outcome);
    const gn_cross_entropy own = gn_samples_terms(samples);
    const gn_loss usual = gn_cross_entropy_loss(&own);
    loss = loss ? loss : &usual;
    GN_TRY(gn_network_set_mode(ctx, network, GN_MODE_TRAIN));
    if (gn_ranks_of(ctx))
        return gn_split_pass(
            ctx, network, samples, loss,
            (gn_split_work){.forward = true, .backward = true, .accumulate = accumulate}, outcome);
    GN_TRY(check(ctx, network, samples));
    size_t n;
    for (size_t first = 0; first < samples->count; first += n) {
        n = gn_pass_next(network, samples, first, samples->count - first);
        GN_TRY(gn_pass_part(ctx, network, samples, first, n, false));
        take_outcome(network, first, n, outcome);
        GN_TRY(backward_part(ctx, network, loss, first, n, accumulate || first > 0, outcome));
    }
    return GERNE_OK;
}

gerne_status gn_pass_backward(gerne_ctx *ctx, gn_network *network, const gn_samples *samples,
                              const gn_loss *loss, bool accumulate, const gn_outcome *outcome)
{
    gn_samples own = gn_split_own(ctx, samples);
    bool again;
    GN_TRY(gn_ranks_any(ctx, !loss || !gn_pass_fits(network, &own), &again));
    if (again)
        return gn_pass_step(ctx, network, samples, loss, accumulate, outcome);
    if (gn_ranks_of(ctx))
        return gn_split_pass(ctx, network, samples, loss,
                             (gn_split_work){.backward = true, .accumulate = accumulate}, outcome);
    return backward_part(ctx, network, loss, 0, samples->count, accumulate, outcome);
}
