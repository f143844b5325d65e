#include "data/fetch.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "data/augment.h"
#include "data/source.h"

enum { THREADS_MAX = 256 };

/* One sample of a batch. Slots form a ring; a batch has consecutive slots. */
typedef struct ring_slot {
    uint64_t step;
    uint32_t sample;
} ring_slot;

typedef struct ring_batch {
    size_t first, count; /* slots, counted from the start without wrapping */
    size_t done;
} ring_batch;

/* The failure of the lowest slot, so that the report does not depend on timing. */
typedef struct first_failure {
    gerne_status status; /* GERNE_OK: there is none */
    size_t position;
    gn_saved_failure failure;
} first_failure;

struct gn_fetch {
    gerne_ctx *ctx;
    const gn_dataset *dataset;
    gn_fetch_options options;
    bool direct; /* pointers into the cache: nothing to do for the threads */
    size_t slot_count;
    ring_slot *slots;
    int field_count;
    /* By field, of every slot, twice, so that a batch is always consecutive. */
    const void **samples[GN_FIELDS_MAX];
    uint8_t *pixels;
    ring_batch *batches;                 /* a ring of slot_count */
    size_t submitted, started, released; /* slots, counted without wrapping */
    size_t batch_submitted, batch_released;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    pthread_t threads[THREADS_MAX];
    int thread_count;
    bool stop;
    first_failure failure;
    double waited;
};

/* ---- augmentation ---- */

static void augment(const gn_fetch *fetch, const ring_slot *slot, const uint8_t *from, uint8_t *to)
{
    const gn_dataset *dataset = fetch->dataset;
    gn_stream stream = gn_stream_at(fetch->options.seed, GN_RNG_AUGMENT, slot->step, slot->sample);
    gn_augment_picture(fetch->options.augment, &stream, dataset->height, dataset->width, from, to);
}

static bool augments(const gn_fetch *fetch)
{
    return fetch->options.augment != GN_AUGMENT_NONE && fetch->dataset->field == GN_PIXELS;
}

/* Of kept views, which were changed when they were computed, each is as likely as the others. */
static const void *field_of(const gn_fetch *fetch, const ring_slot *slot, int field)
{
    const gn_dataset *dataset = fetch->dataset;
    size_t views = gn_dataset_view_count(dataset, slot->sample);
    if (views == 1 || fetch->options.augment == GN_AUGMENT_NONE)
        return gn_dataset_field(dataset, slot->sample, field);
    gn_stream stream = gn_stream_at(fetch->options.seed, GN_RNG_VIEW, slot->step, slot->sample);
    return gn_dataset_view(dataset, slot->sample, (size_t)gn_random_below(&stream, views));
}

/* ---- threads ---- */

static gerne_status fill(gerne_ctx *ctx, const gn_fetch *fetch, gn_scratch *scratch,
                         const ring_slot *slot, uint8_t *out)
{
    const gn_dataset *dataset = fetch->dataset;
    const uint8_t *from;
    if (gn_dataset_in_memory(dataset)) {
        from = gn_dataset_pixels(dataset, slot->sample);
    } else {
        uint8_t *decoded = out;
        if (augments(fetch))
            GN_TRY(gn_scratch_take(ctx, scratch, GN_SCRATCH_D, dataset->dimension, &decoded));
        GN_TRY(dataset->source->load(ctx, dataset->source, scratch,
                                     gn_dataset_row(dataset, slot->sample), decoded, NULL));
        from = decoded;
    }
    if (augments(fetch))
        augment(fetch, slot, from, out);
    return GERNE_OK;
}

/* The batch of a slot: the batches in flight are few, and in order. */
static ring_batch *batch_of(gn_fetch *fetch, size_t position)
{
    for (size_t b = fetch->batch_released; b < fetch->batch_submitted; b++) {
        ring_batch *batch = &fetch->batches[b % fetch->slot_count];
        if (position >= batch->first && position < batch->first + batch->count)
            return batch;
    }
    assert(false && "a slot without a batch");
    return NULL;
}

static void finish(gn_fetch *fetch, size_t position, gerne_status status, const gerne_ctx *ctx)
{
    first_failure *failure = &fetch->failure;
    if (status != GERNE_OK && (failure->status == GERNE_OK || position < failure->position)) {
        failure->status = status;
        failure->position = position;
        failure->failure = gn_save_failure(ctx);
    }
    ring_batch *batch = batch_of(fetch, position);
    batch->done++;
    if (batch->done == batch->count)
        pthread_cond_signal(&fetch->done);
}

static void *run(void *argument)
{
    gn_fetch *fetch = argument;
    gerne_ctx *ctx = NULL;
    gn_scratch scratch = {0};
    gerne_status start = gerne_ctx_new(&ctx);
    pthread_mutex_lock(&fetch->lock);
    for (;;) {
        while (!fetch->stop && fetch->started == fetch->submitted)
            pthread_cond_wait(&fetch->work, &fetch->lock);
        if (fetch->stop)
            break;
        size_t position = fetch->started++;
        size_t at = position % fetch->slot_count;
        ring_slot slot = fetch->slots[at];
        pthread_mutex_unlock(&fetch->lock);
        gerne_status status = start;
        if (status == GERNE_OK)
            status =
                fill(ctx, fetch, &scratch, &slot, fetch->pixels + at * fetch->dataset->dimension);
        pthread_mutex_lock(&fetch->lock);
        finish(fetch, position, status, ctx);
    }
    pthread_mutex_unlock(&fetch->lock);
    gn_scratch_free(&scratch);
    gerne_ctx_close(ctx);
    return NULL;
}

/* ---- making and closing ---- */

static gerne_status allocate(gerne_ctx *ctx, gn_fetch *fetch)
{
    size_t slots = fetch->slot_count, dimension = fetch->dataset->dimension;
    GN_TRY(gn_alloc(ctx, slots, sizeof *fetch->slots, "slots", &fetch->slots));
    GN_TRY(gn_alloc(ctx, slots, sizeof *fetch->batches, "slots", &fetch->batches));
    fetch->field_count = gn_dataset_shape(fetch->dataset).count;
    for (int f = 0; f < fetch->field_count; f++)
        GN_TRY(gn_alloc(ctx, slots, 2 * sizeof *fetch->samples[f], "slots", &fetch->samples[f]));
    if (fetch->direct)
        return GERNE_OK;
    GN_TRY(gn_alloc_aligned(ctx, slots, dimension, "slots", &fetch->pixels));
    for (size_t i = 0; i < 2 * slots; i++)
        fetch->samples[0][i] = fetch->pixels + i % slots * dimension;
    return GERNE_OK;
}

static gerne_status start_threads(gerne_ctx *ctx, gn_fetch *fetch)
{
    int wanted = fetch->options.threads < 1 ? 1 : fetch->options.threads;
    if (wanted > THREADS_MAX)
        wanted = THREADS_MAX;
    while (fetch->thread_count < wanted &&
           pthread_create(&fetch->threads[fetch->thread_count], NULL, run, fetch) == 0)
        fetch->thread_count++;
    if (fetch->thread_count == 0)
        return gn_fail(ctx, GERNE_EIO, "cannot start a thread");
    return GERNE_OK;
}

gerne_status gn_fetch_new(gerne_ctx *ctx, const gn_dataset *dataset,
                          const gn_fetch_options *options, gn_fetch **out)
{
    *out = NULL;
    if (!dataset->prepared)
        return gn_fail(ctx, GERNE_EINTERNAL, "only samples of a prepared dataset are fetched");
    GN_LOCAL(gn_fetch) *fetch = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *fetch, "a prefetcher", &fetch));
    fetch->ctx = ctx;
    fetch->dataset = dataset;
    fetch->options = *options;
    fetch->direct = gn_dataset_in_memory(dataset) && !augments(fetch);
    pthread_mutex_init(&fetch->lock, NULL);
    pthread_cond_init(&fetch->work, NULL);
    pthread_cond_init(&fetch->done, NULL);
    fetch->slot_count = options->ahead ? options->ahead : 1;
    size_t allowed = dataset->memory_limit / (dataset->dimension ? dataset->dimension : 1);
    if (!gn_dataset_in_memory(dataset) && fetch->slot_count > allowed)
        fetch->slot_count = allowed ? allowed : 1;
    GN_TRY(allocate(ctx, fetch));
    if (!fetch->direct)
        GN_TRY(start_threads(ctx, fetch));
    return gn_give(&fetch, out);
}

void gn_fetch_close(gn_fetch *fetch)
{
    if (!fetch)
        return;
    pthread_mutex_lock(&fetch->lock);
    fetch->stop = true;
    pthread_cond_broadcast(&fetch->work);
    pthread_mutex_unlock(&fetch->lock);
    for (int i = 0; i < fetch->thread_count; i++)
        pthread_join(fetch->threads[i], NULL);
    pthread_mutex_destroy(&fetch->lock);
    pthread_cond_destroy(&fetch->work);
    pthread_cond_destroy(&fetch->done);
    gn_free(fetch->slots);
    gn_free(fetch->batches);
    for (int f = 0; f < GN_FIELDS_MAX; f++)
        gn_free(fetch->samples[f]);
    gn_free(fetch->pixels);
    gn_free(fetch);
}

/* ---- use ---- */

size_t gn_fetch_slots(const gn_fetch *fetch)
{
    return fetch->slot_count;
}

size_t gn_fetch_room(const gn_fetch *fetch)
{
    return fetch->slot_count - (fetch->submitted - fetch->released);
}

gerne_status gn_fetch_submit(gn_fetch *fetch, uint64_t step, const uint32_t *indices, size_t count)
{
    if (count == 0 || count > gn_fetch_room(fetch)) {
        gn_fail(fetch->ctx, GERNE_EUSAGE,
                "a batch of %zu samples does not fit the %zu that may be "
                "held at once",
                count, gn_fetch_room(fetch));
        gn_hint(fetch->ctx, "raise --data.memory_limit");
        return GERNE_EUSAGE;
    }
    for (size_t i = 0; i < count; i++)
        if (indices[i] >= fetch->dataset->n)
            return gn_fail(fetch->ctx, GERNE_EUSAGE, "sample %u is outside [0, %zu)", indices[i],
                           fetch->dataset->n);
    pthread_mutex_lock(&fetch->lock);
    ring_batch *batch = &fetch->batches[fetch->batch_submitted++ % fetch->slot_count];
    batch->first = fetch->submitted;
    batch->count = count;
    batch->done = fetch->direct ? count : 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = (fetch->submitted + i) % fetch->slot_count;
        fetch->slots[at] = (ring_slot){step, indices[i]};
        for (int f = 0; fetch->direct && f < fetch->field_count; f++)
            fetch->samples[f][at] = fetch->samples[f][at + fetch->slot_count] =
                field_of(fetch, &fetch->slots[at], f);
    }
    fetch->submitted += count;
    pthread_cond_broadcast(&fetch->work);
    pthread_mutex_unlock(&fetch->lock);
    return GERNE_OK;
}

gerne_status gn_fetch_wait(gn_fetch *fetch, const void *const *fields[GN_FIELDS_MAX])
{
    for (int f = 0; f < GN_FIELDS_MAX; f++)
        fields[f] = NULL;
    if (fetch->batch_submitted == fetch->batch_released)
        return gn_fail(fetch->ctx, GERNE_EUSAGE, "no batch was submitted");
    double start = gn_seconds();
    ring_batch *batch = &fetch->batches[fetch->batch_released % fetch->slot_count];
    pthread_mutex_lock(&fetch->lock);
    while (batch->done < batch->count)
        pthread_cond_wait(&fetch->done, &fetch->lock);
    const first_failure *failure = &fetch->failure;
    gerne_status status = GERNE_OK;
    if (failure->status != GERNE_OK && failure->position < batch->first + batch->count) {
        status = failure->status;
        gn_restore_failure(fetch->ctx, &failure->failure);
    }
    pthread_mutex_unlock(&fetch->lock);
    fetch->waited += gn_seconds() - start;
    GN_TRY(status);
    for (int f = 0; f < fetch->field_count; f++)
        fields[f] = fetch->samples[f] + batch->first % fetch->slot_count;
    return GERNE_OK;
}

void gn_fetch_release(gn_fetch *fetch)
{
    if (fetch->batch_submitted == fetch->batch_released)
        return;
    pthread_mutex_lock(&fetch->lock);
    ring_batch *batch = &fetch->batches[fetch->batch_released % fetch->slot_count];
    /* Slots are given back only when no thread writes them any more. */
    while (batch->done < batch->count)
        pthread_cond_wait(&fetch->done, &fetch->lock);
    fetch->released += batch->count;
    fetch->batch_released++;
    pthread_mutex_unlock(&fetch->lock);
}

double gn_fetch_waited(const gn_fetch *fetch)
{
    return fetch->waited;
}
