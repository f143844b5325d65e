#include "train/inference.h"

#include <stdio.h>
#include <string.h>

#include "data/fetch.h"
#include "nn/pass.h"
#include "ranks/ranks.h"

struct gn_inference {
    gerne_ctx *ctx;
    gn_network *network;
    const gn_dataset *dataset;
    gn_fetch *fetch;
    size_t batch; /* samples of one pass */
    bool body_only;
    uint64_t step;             /* of the augmentation */
    size_t done_before, total; /* of the work that a pass is a part of */
    gn_samples samples;
    int32_t *y, *a;        /* [batch], for predictions */
    bool gathers_features; /* from other ranks */
    char *own, *all;       /* messages of ranks */
};

gerne_status gn_samples_of_split(gerne_ctx *ctx, const gn_dataset *dataset, gn_split split,
                                 gn_sample_list *out)
{
    *out = (gn_sample_list){0};
    size_t count = gn_count_split(dataset, split);
    GN_TRY(gn_alloc(ctx, count ? count : 1, sizeof *out->items, "a list of samples", &out->items));
    for (size_t i = 0; i < dataset->n; i++)
        if (split == GN_SPLITS || dataset->split[i] == split)
            out->items[out->count++] = (uint32_t)i;
    return GERNE_OK;
}

void gn_sample_list_free(gn_sample_list *list)
{
    gn_free(list->items);
    *list = (gn_sample_list){0};
}

/* Every token of a text needs its row in the network. */
static gerne_status check_words(gerne_ctx *ctx, const gn_sample_shape *ours,
                                const gn_sample_shape *theirs)
{
    const gn_field *rows = gn_shape_field(ours, GN_FIELD_TOKENS);
    const gn_field *tokens = gn_shape_field(theirs, GN_FIELD_TOKENS);
    if (!tokens || (tokens->below > 0 && tokens->below <= rows->below))
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "the vocabulary has %lld words, but the network embeds %lld",
            (long long)tokens->below, (long long)rows->below);
    gn_hint(ctx, "use --model.vocab with the vocabulary of these weights");
    return GERNE_EUSAGE;
}

static gerne_status check_shape(gerne_ctx *ctx, const gn_network *network,
                                const gn_dataset *dataset)
{
    const gn_sample_shape *ours = gn_network_shape(network), theirs = gn_dataset_shape(dataset);
    if (gn_shape_fits(ours, &theirs))
        return check_words(ctx, ours, &theirs);
    char words[2][96];
    gn_shape_words(ours, words[0], sizeof words[0]);
    gn_shape_words(&theirs, words[1], sizeof words[1]);
    gn_fail(ctx, GERNE_EUSAGE, "the network expects %s, the data has %s", words[0], words[1]);
    const gn_field *pixels = gn_shape_field(ours, GN_FIELD_PIXELS);
    if (pixels && gn_shape_field(&theirs, GN_FIELD_PIXELS))
        gn_hint(ctx, "--data.resize %lld,%lld", (long long)pixels->dims[1],
                (long long)pixels->dims[2]);
    return GERNE_EUSAGE;
}

/* Ranks with less memory decide. */
static gerne_status agree_on_batch(gerne_ctx *ctx, size_t *batch)
{
    size_t ranks = (size_t)gn_ranks_size(gn_ranks_of(ctx)), *all;
    GN_TRY(gn_alloc(ctx, ranks, sizeof *all, "batches of ranks", &all));
    gerne_status status = gn_ranks_gather(ctx, batch, sizeof *batch, all);
    for (size_t r = 0; r < ranks && status == GERNE_OK; r++)
        *batch = all[r] < *batch ? all[r] : *batch;
    gn_free(all);
    return status;
}

static gerne_status make_buffers(gn_inference *inference, const gn_inference_options *options)
{
    gerne_ctx *ctx = inference->ctx;
    enum { BATCHES_AHEAD = 3 };
    const gn_fetch_options fetch = {.threads = options->threads > 0 ? options->threads : 1,
                                    .ahead = BATCHES_AHEAD * inference->batch,
                                    .seed = options->seed,
                                    .augment = options->augment};
    GN_TRY(gn_fetch_new(ctx, inference->dataset, &fetch, &inference->fetch));
    size_t slots = gn_fetch_slots(inference->fetch); /* memory_limit may allow fewer */
    if (slots < inference->batch)
        inference->batch = slots;
    GN_TRY(agree_on_batch(ctx, &inference->batch));
    size_t batch = inference->batch;
    GN_TRY(gn_alloc(ctx, batch, sizeof *inference->y, "a batch", &inference->y));
    return gn_alloc(ctx, batch, sizeof *inference->a, "a batch", &inference->a);
}

gerne_status gn_inference_new(gerne_ctx *ctx, gn_network *network, const gn_dataset *dataset,
                              const gn_inference_options *options, gn_inference **out)
{
    *out = NULL;
    GN_TRY(check_shape(ctx, network, dataset));
    gn_inference *inference;
    GN_TRY(gn_alloc(ctx, 1, sizeof *inference, "inference", &inference));
    inference->ctx = ctx;
    inference->network = network;
    inference->dataset = dataset;
    inference->body_only = options->body_only;
    inference->step = options->step;
    inference->done_before = options->done_before;
    inference->total = options->total;
    inference->batch = (size_t)gn_network_batch(network);
    const float *scale = options->scale ? options->scale : dataset->scale;
    const float *shift = options->shift ? options->shift : dataset->shift;
    memcpy(inference->samples.scale, scale, GN_CHANNELS * sizeof *scale);
    memcpy(inference->samples.shift, shift, GN_CHANNELS * sizeof *shift);
    gerne_status status = make_buffers(inference, options);
    if (status != GERNE_OK) {
        gn_inference_close(inference);
        return status;
    }
    *out = inference;
    return GERNE_OK;
}

void gn_inference_close(gn_inference *inference)
{
    if (!inference)
        return;
    gn_fetch_close(inference->fetch);
    gn_free(inference->y);
    gn_free(inference->a);
    gn_free(inference->own);
    gn_free(inference->all);
    gn_free(inference);
}

/* ---- a pass over a list ---- */

typedef struct pass {
    const uint32_t *samples;
    size_t count, submitted, released;
} pass;

static size_t batch_from(const gn_inference *inference, const pass *p, size_t first)
{
    return p->count - first < inference->batch ? p->count - first : inference->batch;
}

/* Keeps the decoding threads busy as far as there is room. */
static gerne_status submit(gn_inference *inference, pass *p)
{
    while (p->submitted < p->count) {
        size_t n = batch_from(inference, p, p->submitted);
        if (gn_fetch_room(inference->fetch) < n)
            return GERNE_OK;
        GN_TRY(gn_fetch_submit(inference->fetch, inference->step, p->samples + p->submitted, n));
        p->submitted += n;
    }
    return GERNE_OK;
}

static gerne_status run_batch(gn_inference *inference, pass *p, size_t first, gn_inferred *out)
{
    gn_network *network = inference->network;
    gn_samples *samples = &inference->samples;
    size_t n = batch_from(inference, p, first);
    GN_TRY(submit(inference, p));
    GN_TRY(gn_fetch_wait(inference->fetch, samples->fields));
    samples->count = n;
    gerne_status status =
        gn_pass_part(inference->ctx, network, samples, 0, n, inference->body_only);
    gn_fetch_release(inference->fetch);
    p->released += n;
    GN_TRY(status);
    *out = (gn_inferred){
        .samples = p->samples + first,
        .count = n,
        .logits = inference->body_only ? NULL : gn_logits(network),
        .features = gn_features(network),
        .feature_count = (size_t)gn_network_feature_count(network),
    };
    return GERNE_OK;
}

/* After a failure batches may be under way: their slots have to come back. */
static void drain(gn_inference *inference, pass *p)
{
    for (; p->released < p->submitted; p->released += batch_from(inference, p, p->released))
        gn_fetch_release(inference->fetch);
}

static gerne_status report(gn_inference *inference, const char *what, size_t done, size_t total)
{
    const gerne_progress progress = {.what = what,
                                     .done = inference->done_before + done,
                                     .total = inference->total ? inference->total : total,
                                     .detail = ""};
    return what ? gn_progress(inference->ctx, &progress) : GERNE_OK;
}

static gerne_status run_alone(gn_inference *inference, const char *what, const uint32_t *samples,
                              size_t count, gn_inferred_fn *take, void *user)
{
    pass p = {.samples = samples, .count = count};
    gn_inferred inferred = {0};
    gerne_status status = GERNE_OK;
    for (size_t first = 0; status == GERNE_OK && first < count; first += inferred.count) {
        status = run_batch(inference, &p, first, &inferred);
        if (status == GERNE_OK)
            status = take(user, &inferred);
        if (status == GERNE_OK)
            status = report(inference, what, first + inferred.count, count);
    }
    if (status != GERNE_OK)
        drain(inference, &p);
    return status;
}

/* ---- on several ranks ----
 *
 * Batches go round the ranks, and come together in the order of the list: the same batches as in
 * one process. */

static size_t row_of(const gn_inference *inference)
{
    size_t classes = (size_t)gn_network_classes(inference->network);
    size_t width = (size_t)gn_network_feature_count(inference->network);
    return (inference->body_only ? 0 : classes) +
           (inference->body_only || inference->gathers_features ? width : 0);
}

static size_t message_size(const gn_inference *inference)
{
    return inference->batch * row_of(inference) * sizeof(float);
}

/* Logits, then features. */
static void pack(const gn_inference *inference, const gn_inferred *inferred)
{
    size_t classes = (size_t)gn_network_classes(inference->network);
    float *at = (float *)(void *)inference->own;
    if (inferred->logits) {
        memcpy(at, inferred->logits, inferred->count * classes * sizeof *at);
        at += inferred->count * classes;
    }
    if (inference->body_only || inference->gathers_features)
        memcpy(at, inferred->features, inferred->count * inferred->feature_count * sizeof *at);
}

static gn_inferred unpack(const gn_inference *inference, int rank, const uint32_t *samples,
                          size_t count)
{
    size_t classes = (size_t)gn_network_classes(inference->network);
    const float *at =
        (const float *)(void *)(inference->all + (size_t)rank * message_size(inference));
    return (gn_inferred){
        .samples = samples,
        .count = count,
        .logits = inference->body_only ? NULL : at,
        .features = inference->body_only          ? at
                    : inference->gathers_features ? at + count * classes
                                                  : NULL,
        .feature_count = (size_t)gn_network_feature_count(inference->network),
    };
}

static gerne_status make_room(gn_inference *inference)
{
    size_t ranks = (size_t)gn_ranks_size(gn_ranks_of(inference->ctx));
    gn_free(inference->own);
    gn_free(inference->all);
    inference->own = inference->all = NULL;
    GN_TRY(gn_alloc_aligned(inference->ctx, 1, message_size(inference), "a message to other ranks",
                            &inference->own));
    return gn_alloc_aligned(inference->ctx, ranks, message_size(inference), "messages of all ranks",
                            &inference->all);
}

/* The samples of this rank's batches, one after the other. */
static gerne_status list_own(const gn_inference *inference, const uint32_t *samples, size_t count,
                             uint32_t **own, size_t *own_count)
{
    const gn_ranks *ranks = gn_ranks_of(inference->ctx);
    size_t batch = inference->batch, each = batch * (size_t)gn_ranks_size(ranks);
    *own_count = 0;
    GN_TRY(gn_alloc(inference->ctx, count / each * batch + batch, sizeof **own, "a list of samples",
                    own));
    for (size_t first = (size_t)gn_ranks_rank(ranks) * batch; first < count; first += each) {
        size_t n = count - first < batch ? count - first : batch;
        memcpy(*own + *own_count, samples + first, n * sizeof **own);
        *own_count += n;
    }
    return GERNE_OK;
}

/* One batch of every rank, as far as there are any. */
static gerne_status run_round(gn_inference *inference, pass *p, const uint32_t *samples,
                              size_t count, gn_inferred_fn *take, void *user)
{
    const gn_ranks *ranks = gn_ranks_of(inference->ctx);
    size_t batch = inference->batch;
    if (p->released < p->count) {
        gn_inferred own;
        GN_TRY(run_batch(inference, p, p->released, &own));
        pack(inference, &own);
    }
    GN_TRY(
        gn_ranks_gather(inference->ctx, inference->own, message_size(inference), inference->all));
    gerne_status status = GERNE_OK;
    for (int r = 0; r < gn_ranks_size(ranks) && (size_t)r * batch < count; r++) {
        size_t first = (size_t)r * batch, n = count - first < batch ? count - first : batch;
        gn_inferred part = unpack(inference, r, samples + first, n);
        if (status == GERNE_OK)
            status = take(user, &part);
    }
    return status;
}

/* All ranks stop, or none. */
static gerne_status report_all(gn_inference *inference, const char *what, size_t done, size_t total)
{
    gerne_status status = report(inference, what, done, total);
    bool interrupted;
    GN_TRY(gn_ranks_any(inference->ctx, status == GERNE_EINTERRUPTED, &interrupted));
    return interrupted ? GERNE_EINTERRUPTED : status;
}

static gerne_status run_split(gn_inference *inference, const char *what, const uint32_t *samples,
                              size_t count, gn_inferred_fn *take, void *user)
{
    size_t each = inference->batch * (size_t)gn_ranks_size(gn_ranks_of(inference->ctx));
    uint32_t *own = NULL;
    pass p = {0};
    GN_TRY(make_room(inference));
    gerne_status status = list_own(inference, samples, count, &own, &p.count);
    p.samples = own;
    for (size_t first = 0; status == GERNE_OK && first < count; first += each) {
        status = run_round(inference, &p, samples + first, count - first, take, user);
        size_t done = first + each < count ? first + each : count;
        if (status == GERNE_OK && what)
            status = report_all(inference, what, done, count);
    }
    if (status != GERNE_OK)
        drain(inference, &p);
    gn_free(own);
    return status;
}

void gn_inference_gather_features(gn_inference *inference, bool on)
{
    inference->gathers_features = on;
}

gerne_status gn_inference_run(gn_inference *inference, const char *what, const uint32_t *samples,
                              size_t count, gn_inferred_fn *take, void *user)
{
    GN_TRY(gn_network_set_mode(inference->ctx, inference->network, GN_MODE_INFER));
    if (gn_ranks_of(inference->ctx))
        return run_split(inference, what, samples, count, take, user);
    return run_alone(inference, what, samples, count, take, user);
}

/* ---- predictions ---- */

typedef struct prediction_sink {
    gn_inference *inference;
    gn_predictions *predictions;
} prediction_sink;

static gerne_status add_predictions(void *user, const gn_inferred *inferred)
{
    const prediction_sink *sink = user;
    gn_inference *inference = sink->inference;
    const gn_dataset *dataset = inference->dataset;
    for (size_t i = 0; i < inferred->count; i++) {
        inference->y[i] = dataset->y[inferred->samples[i]];
        inference->a[i] = dataset->a ? dataset->a[inferred->samples[i]] : 0;
    }
    return gn_predictions_add_logits(inference->ctx, sink->predictions, inferred->logits,
                                     inference->y, inference->a, inferred->count);
}

gerne_status gn_inference_predict(gn_inference *inference, const char *what,
                                  const uint32_t *samples, size_t count,
                                  gn_predictions *predictions)
{
    prediction_sink sink = {inference, predictions};
    if (!inference->dataset->y)
        return gn_fail(inference->ctx, GERNE_EUSAGE, "the data has no labels to compare with");
    if (gn_network_classes(inference->network) != predictions->classes ||
        predictions->classes < (int32_t)inference->dataset->classes)
        return gn_fail(
            inference->ctx, GERNE_EUSAGE, "the network has %lld classes, the data has %u",
            (long long)gn_network_classes(inference->network), inference->dataset->classes);
    return gn_inference_run(inference, what, samples, count, add_predictions, &sink);
}
