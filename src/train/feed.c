#include "train/feed.h"

#include <string.h>

#include "data/fetch.h"
#include "ranks/ranks.h"

enum { SLOTS = 2 };

/* One step's samples, all batches one after the other. */
typedef struct feed_slot {
    int64_t k; /* the step, or -1 */
    gn_plan plan;
    gerne_batch *draws[GN_BATCHES_MAX];
    gn_minibatch batches[GN_BATCHES_MAX];
    size_t count, capacity;
    uint32_t *indices, *rows;
    uint32_t *own, *own_rows; /* places and rows of the samples that this rank reads */
    size_t own_count;
    int32_t *labels, *predictions[GN_NETWORKS_MAX];
    float *weights, *weighed, *biased, *less_biased, *losses[GN_NETWORKS_MAX];
    const void **sources[GN_FIELDS_MAX]; /* where the samples lie, by field */
} feed_slot;

struct gn_feed {
    gn_run *run;
    const gn_dataset *data;
    const uint32_t *map; /* training sample -> sample of the dataset */
    int threads;
    gn_fetch *fetch;
    feed_slot slots[SLOTS];
    bool held;  /* the fetch object has a batch to give back */
    bool ahead; /* data.memory_limit leaves room for a second batch */
};

static void free_arrays(feed_slot *s)
{
    void *all[] = {s->indices, s->rows,    s->own,    s->own_rows,   s->labels,
                   s->weights, s->weighed, s->biased, s->less_biased};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        gn_free(all[i]);
    for (int i = 0; i < GN_FIELDS_MAX; i++)
        gn_free(s->sources[i]);
    for (int i = 0; i < GN_NETWORKS_MAX; i++) {
        gn_free(s->losses[i]);
        gn_free(s->predictions[i]);
    }
}

static gerne_status reserve(gerne_ctx *ctx, feed_slot *s, size_t need)
{
    if (need <= s->capacity)
        return GERNE_OK;
    free_arrays(s);
    feed_slot fresh = {.k = s->k, .plan = s->plan};
    memcpy(fresh.draws, s->draws, sizeof fresh.draws);
    *s = fresh;
    size_t n = need + need / 4;
    const char *what = "a batch";
    GN_TRY(gn_alloc(ctx, n, sizeof *s->indices, what, &s->indices));
    GN_TRY(gn_alloc(ctx, n, sizeof *s->rows, what, &s->rows));
    GN_TRY(gn_alloc(ctx, n, sizeof *s->labels, what, &s->labels));
    GN_TRY(gn_alloc(ctx, n, sizeof *s->weights, what, &s->weights));
    GN_TRY(gn_alloc(ctx, n, sizeof *s->own, what, &s->own));
    GN_TRY(gn_alloc(ctx, n, sizeof *s->own_rows, what, &s->own_rows));
    GN_TRY(gn_alloc(ctx, n, sizeof *s->weighed, what, &s->weighed));
    GN_TRY(gn_alloc(ctx, n, sizeof *s->biased, what, &s->biased));
    GN_TRY(gn_alloc(ctx, n, sizeof *s->less_biased, what, &s->less_biased));
    for (int i = 0; i < GN_FIELDS_MAX; i++)
        GN_TRY(gn_alloc(ctx, n, sizeof *s->sources[i], what, &s->sources[i]));
    for (int i = 0; i < GN_NETWORKS_MAX; i++) {
        GN_TRY(gn_alloc(ctx, n, sizeof(float), what, &s->losses[i]));
        GN_TRY(gn_alloc(ctx, n, sizeof(int32_t), what, &s->predictions[i]));
    }
    s->capacity = n;
    return GERNE_OK;
}

gerne_status gn_feed_new(gn_run *run, const gn_dataset *data, const uint32_t *rows, int threads,
                         gn_feed **out)
{
    GN_LOCAL(gn_feed) *f = NULL;
    *out = NULL;
    GN_TRY(gn_alloc(run->ctx, 1, sizeof *f, "the feed", &f));
    f->run = run;
    f->data = data;
    f->map = rows;
    f->threads = threads < 1 ? 1 : threads;
    for (int i = 0; i < SLOTS; i++) {
        f->slots[i].k = -1;
        for (int j = 0; j < GN_BATCHES_MAX; j++)
            GN_TRY(gerne_batch_new(run->ctx, &f->slots[i].draws[j]));
    }
    return gn_give(&f, out);
}

void gn_feed_close(gn_feed *f)
{
    if (!f)
        return;
    gn_fetch_close(f->fetch);
    for (int i = 0; i < SLOTS; i++) {
        for (int j = 0; j < GN_BATCHES_MAX; j++)
            gerne_batch_close(f->slots[i].draws[j]);
        free_arrays(&f->slots[i]);
    }
    gn_free(f);
}

static size_t size_of(const gn_request *request, const gerne_batch *draw)
{
    return request->sampler ? gerne_batch_size(draw) : request->count;
}

static bool draws_both(const gn_request *request)
{
    return request->sampler && request->draw == GERNE_DRAW_EXTRAPOLATED;
}

/* Copies a draw, or a list, to its place in the slot. */
static void place(const gn_feed *f, feed_slot *s, size_t first, const gn_request *request,
                  const gerne_batch *draw)
{
    size_t n = size_of(request, draw);
    const uint32_t *samples = request->sampler ? gerne_batch_samples(draw) : request->samples;
    const float *weights = request->sampler ? gerne_batch_weights(draw) : NULL;
    float scale = request->scale != 0 ? request->scale : 1, equal = 1.0f / (float)n;
    for (size_t i = 0; i < n; i++) {
        uint32_t sample = request->map ? request->map[samples[i]] : samples[i];
        s->indices[first + i] = sample;
        s->rows[first + i] = f->map[sample];
        s->labels[first + i] = f->run->y[sample];
        s->weights[first + i] = (weights ? weights[i] : equal) * scale;
    }
    if (draws_both(request)) {
        memcpy(s->biased + first, gerne_batch_biased_weights(draw), n * sizeof(float));
        memcpy(s->less_biased + first, gerne_batch_less_biased_weights(draw), n * sizeof(float));
    }
}

static void view(const gn_feed *f, feed_slot *s, int64_t k, size_t first, size_t count,
                 bool extrapolated, gn_minibatch *out)
{
    *out = (gn_minibatch){
        .indices = s->indices + first,
        .samples = {.count = count,
                    .labels = s->labels + first,
                    .weights = s->weights + first,
                    .step = (uint64_t)k,
                    .place = first},
        .biased = extrapolated ? s->biased + first : NULL,
        .less_biased = extrapolated ? s->less_biased + first : NULL,
        .weights = s->weighed + first,
    };
    for (int i = 0; i < GN_FIELDS_MAX; i++)
        out->samples.fields[i] = s->sources[i] + first;
    memcpy(out->samples.scale, f->data->scale, sizeof f->data->scale);
    memcpy(out->samples.shift, f->data->shift, sizeof f->data->shift);
    for (int i = 0; i < GN_NETWORKS_MAX; i++) {
        out->losses[i] = s->losses[i] + first;
        out->predictions[i] = s->predictions[i] + first;
    }
}

/* The share of one batch, first..first+count-1 of the slot; all of it in a process alone. */
static void take_share(const gn_feed *f, feed_slot *s, size_t first, size_t count)
{
    const gn_ranks *ranks = s->plan.everywhere ? NULL : gn_ranks_of(f->run->ctx);
    gn_share share = gn_ranks_share(ranks, gn_ranks_rank(ranks), count, 1);
    for (size_t i = first + share.first; i < first + share.end; i++) {
        s->own[s->own_count] = (uint32_t)i;
        s->own_rows[s->own_count++] = s->rows[i];
    }
}

static gerne_status draw_all(gn_feed *f, feed_slot *s, int64_t k)
{
    gn_run *run = f->run;
    s->plan = (gn_plan){0};
    s->k = -1;
    GN_TRY(run->stage->owner->plan(run, k, &s->plan));
    size_t total = 0, first = 0;
    for (size_t r = 0; r < s->plan.count; r++) {
        const gn_request *request = &s->plan.batches[r];
        if (request->sampler)
            GN_TRY(gerne_sampler_draw(run->ctx, request->sampler, request->draw, (uint64_t)k,
                                      s->draws[r]));
        total += size_of(request, s->draws[r]);
    }
    GN_TRY(reserve(run->ctx, s, total));
    s->own_count = 0;
    for (size_t r = 0; r < s->plan.count; r++) {
        const gn_request *request = &s->plan.batches[r];
        size_t n = size_of(request, s->draws[r]);
        place(f, s, first, request, s->draws[r]);
        view(f, s, k, first, n, draws_both(request), &s->batches[r]);
        if (!s->plan.joined)
            take_share(f, s, first, n);
        first += n;
    }
    if (s->plan.joined) {
        view(f, s, k, 0, total, false, &s->batches[0]);
        take_share(f, s, 0, total);
    }
    s->count = total;
    s->k = k;
    return GERNE_OK;
}

/* Made at the first batch, when its size is known; later ones may be somewhat larger. */
static gerne_status open_fetch(gn_feed *f, size_t first_size)
{
    if (f->fetch)
        return GERNE_OK;
    size_t law = 2 * (size_t)f->run->classes * f->run->per_class;
    size_t largest = first_size > law ? first_size : law;
    gn_fetch_options options = {.threads = f->threads,
                                .ahead = 2 * largest,
                                .seed = f->run->seed,
                                .augment = f->run->stage->augment};
    GN_TRY(gn_fetch_new(f->run->ctx, f->data, &options, &f->fetch));
    f->ahead = gn_fetch_slots(f->fetch) >= 2 * largest;
    if (gn_fetch_slots(f->fetch) >= largest)
        return GERNE_OK;
    gn_fail(f->run->ctx, GERNE_EUSAGE,
            "data.memory_limit leaves room for %zu samples, a batch has "
            "%zu",
            gn_fetch_slots(f->fetch), largest);
    gn_hint(f->run->ctx, "raise --data.memory_limit, or use a smaller batch");
    return GERNE_EUSAGE;
}

static gerne_status prepare(gn_feed *f, int64_t k)
{
    feed_slot *s = &f->slots[k % SLOTS];
    GN_TRY(draw_all(f, s, k));
    if (s->own_count == 0)
        return GERNE_OK; /* a step that works on features */
    GN_TRY(open_fetch(f, s->count));
    return gn_fetch_submit(f->fetch, (uint64_t)k, s->own_rows, s->own_count);
}

gerne_status gn_feed_next(gn_feed *f, int64_t k, gn_minibatch **batches)
{
    feed_slot *s = &f->slots[k % SLOTS];
    if (f->held)
        gn_fetch_release(f->fetch);
    f->held = false;
    if (s->k != k)
        GN_TRY(prepare(f, k));
    for (int i = 0; i < GN_FIELDS_MAX && s->count > s->own_count; i++)
        memset(s->sources[i], 0, s->count * sizeof *s->sources[i]); /* what other ranks read */
    if (s->own_count) {
        const void *const *fields[GN_FIELDS_MAX];
        GN_TRY(gn_fetch_wait(f->fetch, fields));
        for (int i = 0; i < GN_FIELDS_MAX && fields[i]; i++)
            for (size_t j = 0; j < s->own_count; j++)
                s->sources[i][s->own[j]] = fields[i][j];
        f->held = true;
    }
    if (f->ahead && k + 1 < f->run->steps)
        GN_TRY(prepare(f, k + 1));
    *batches = s->batches;
    return GERNE_OK;
}
