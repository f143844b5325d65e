/* prepare.c - reads every sample of a dataset once: checks, caches, digests. */
#include <math.h>
#include <string.h>

#include "base/vector.h"
#include "data/arrays.h"
#include "data/checksum.h"
#include "data/corpus.h"

typedef struct preparation {
    gn_dataset *dataset;
    unsigned char *digests; /* one per sample, or NULL */
} preparation;

static void digest_contents(gn_dataset *dataset)
{
    dataset->source->contents(dataset->source, dataset->content_digest);
}

static gerne_status prepare_sample(gerne_ctx *ctx, void *user, gn_scratch *scratch, size_t index)
{
    preparation *job = user;
    gn_dataset *dataset = job->dataset;
    const gn_source *source = dataset->source;
    size_t row = gn_dataset_row(dataset, index);
    unsigned char *digest = job->digests ? job->digests + index * GN_SHA256_SIZE : NULL;
    if (dataset->cache)
        return source->load(ctx, source, scratch, row, dataset->cache + index * dataset->dimension,
                            digest);
    if (!dataset->skip_bad)
        return source->digest(ctx, source, scratch, row, digest);
    uint8_t *pixels;
    GN_TRY(gn_scratch_take(ctx, scratch, GN_SCRATCH_D, dataset->dimension, &pixels));
    return source->load(ctx, source, scratch, row, pixels, digest);
}

/* The digest of the contents takes one thread as long as the samples take the others: it is the
 * first item, and the samples follow. */
static gerne_status prepare_made(gerne_ctx *ctx, void *user, gn_scratch *scratch, size_t index)
{
    preparation *job = user;
    if (index > 0)
        return prepare_sample(ctx, user, scratch, index - 1);
    digest_contents(job->dataset);
    return GERNE_OK;
}

/* Leaves the bad samples out, digests included. */
static gerne_status drop_bad(gerne_ctx *ctx, gn_dataset *dataset, uint8_t *failed,
                             unsigned char *digests)
{
    size_t kept = 0, total = dataset->n;
    for (size_t i = 0; i < total; i++) {
        failed[i] = !failed[i];
        if (failed[i] && digests)
            memmove(digests + GN_SHA256_SIZE * kept, digests + GN_SHA256_SIZE * i, GN_SHA256_SIZE);
        kept += failed[i];
    }
    if (kept == total)
        return GERNE_OK;
    if (kept == 0)
        return gn_fail(ctx, GERNE_EDATA, "none of the %zu samples can be read", total);
    GN_TRY(gn_dataset_keep(ctx, dataset, failed));
    dataset->skipped += total - kept;
    gn_warn(ctx, "skipped %zu of %zu samples, which cannot be read", total - kept, total);
    return GERNE_OK;
}

static gerne_status prepare_pixels(gerne_ctx *ctx, gn_dataset *dataset, int threads)
{
    size_t bytes = 0;
    if (!gn_multiply(dataset->n, dataset->dimension, &bytes))
        bytes = SIZE_MAX;
    bool fits = bytes <= dataset->memory_limit;
    bool lent = dataset->lent_pixels != NULL;
    bool cached = fits && !lent && !(dataset->read_once && dataset->source->digest);
    if (!fits && !lent)
        gn_log(ctx, GERNE_LOG_INFO,
               "%s: %.1f MB of pixels are more than data.memory_limit, so they are streamed",
               dataset->format, (double)bytes / 1e6);
    bool beside = cached && dataset->source->contents; /* the digest is an item of the loop */
    if (!beside && dataset->source->contents)
        digest_contents(dataset);
    if (!cached && (!dataset->source->digest || (lent && dataset->no_fingerprint)))
        return GERNE_OK; /* generated, or the caller's: nothing to check */
    preparation job = {.dataset = dataset};
    uint8_t *failed = NULL;
    gerne_status status = GERNE_OK;
    if (cached)
        status = gn_alloc_to_fill(ctx, bytes, 1, "the samples", &dataset->cache);
    if (status == GERNE_OK && dataset->source->digest)
        status = gn_alloc(ctx, dataset->n, GN_SHA256_SIZE, "digests", &job.digests);
    if (status == GERNE_OK && dataset->skip_bad && !beside)
        status = gn_alloc(ctx, dataset->n, 1, "samples", &failed);
    if (status == GERNE_OK)
        status = gn_parallel(ctx, threads, dataset->n + beside,
                             cached ? "read samples" : "check samples",
                             beside ? prepare_made : prepare_sample, &job, failed);
    if (status == GERNE_OK && failed)
        status = drop_bad(ctx, dataset, failed, job.digests);
    if (status == GERNE_OK && job.digests)
        gn_sha256_of(job.digests, dataset->n * GN_SHA256_SIZE, dataset->content_digest);
    if (status != GERNE_OK) {
        gn_free(dataset->cache);
        dataset->cache = NULL;
    }
    gn_free(job.digests);
    gn_free(failed);
    return status;
}

/* ---- features ---- */

static size_t row_bytes(const gn_dataset *dataset)
{
    return dataset->dimension * (dataset->halves ? sizeof *dataset->halves : sizeof *dataset->rows);
}

static size_t feature_bytes(const gn_dataset *dataset)
{
    return gn_feature_rows(dataset) * row_bytes(dataset);
}

/* What tells a block from others: by its SHA-256, or by the faster sum of what gerne made. */
typedef struct block_digest {
    bool computed;
    gn_sha256 hash;
    gn_checksum sum;
} block_digest;

static void add_to_block(block_digest *block, const void *bytes, size_t size)
{
    if (block->computed)
        gn_checksum_add(&block->sum, bytes, size);
    else
        gn_sha256_add(&block->hash, bytes, size);
}

static gerne_status digest_block(gerne_ctx *ctx, void *user, gn_scratch *scratch, size_t index)
{
    (void)ctx;
    (void)scratch;
    preparation *job = user;
    const gn_dataset *dataset = job->dataset;
    size_t start = index * GN_FEATURE_BLOCK, total = feature_bytes(dataset),
           row = row_bytes(dataset);
    size_t end = start + GN_FEATURE_BLOCK < total ? start + GN_FEATURE_BLOCK : total;
    unsigned char *digest = job->digests + index * GN_SHA256_SIZE;
    block_digest block = {.computed = dataset->computed};
    gn_sha256_start(&block.hash);
    gn_checksum_start(&block.sum);
    while (start < end) { /* row by row: rows may have been skipped */
        size_t within = start % row, take = row - within < end - start ? row - within : end - start;
        const unsigned char *values = gn_feature_row(dataset, start / row);
        add_to_block(&block, values + within, take);
        start += take;
    }
    if (block.computed)
        gn_checksum_end(&block.sum, digest);
    else
        gn_sha256_end(&block.hash, digest);
    return GERNE_OK;
}

static gerne_status digest_features(gerne_ctx *ctx, gn_dataset *dataset, int threads)
{
    size_t blocks = (feature_bytes(dataset) + GN_FEATURE_BLOCK - 1) / GN_FEATURE_BLOCK;
    GN_FREED unsigned char *digests = NULL;
    GN_TRY(gn_alloc(ctx, blocks, GN_SHA256_SIZE, "digests", &digests));
    preparation job = {.dataset = dataset, .digests = digests};
    GN_TRY(gn_parallel(ctx, threads, blocks, "read features", digest_block, &job, NULL));
    gn_sha256_of(digests, blocks * GN_SHA256_SIZE, dataset->content_digest);
    return GERNE_OK;
}

/* Rows that one thread takes at once: enough to pay for fetching the next ones. */
static size_t rows_at_once(const gn_dataset *dataset)
{
    enum { VALUES = 1 << 16 };
    return dataset->dimension < VALUES ? VALUES / dataset->dimension : 1;
}

static size_t block_count(size_t count, size_t size)
{
    return count / size + (count % size != 0);
}

static size_t block_end(size_t count, size_t size, size_t index)
{
    return count - index * size < size ? count : (index + 1) * size;
}

static gerne_status check_row(gerne_ctx *ctx, void *user, gn_scratch *scratch, size_t index)
{
    (void)scratch;
    const gn_dataset *dataset = ((preparation *)user)->dataset;
    const float *row = gn_feature_row(dataset, index);
    bool bad = false;
    for (size_t c = 0; c < dataset->dimension; c++)
        bad |= !isfinite(row[c]); /* to the end: the compiler takes several at once */
    if (!bad)
        return GERNE_OK;
    size_t c = 0;
    while (isfinite(row[c]))
        c++;
    return gn_fail(ctx, GERNE_EDATA, "'%s', row %zu: feature %zu is not a finite float",
                   dataset->features_file ? dataset->features_file : "features",
                   index < dataset->n ? gn_dataset_row(dataset, index) : index, c);
}

static gerne_status check_rows(gerne_ctx *ctx, void *user, gn_scratch *scratch, size_t index)
{
    const gn_dataset *dataset = ((preparation *)user)->dataset;
    size_t size = rows_at_once(dataset), end = block_end(gn_feature_rows(dataset), size, index);
    for (size_t i = index * size; i < end; i++)
        GN_TRY(check_row(ctx, user, scratch, i));
    return GERNE_OK;
}

/* A bad row fails the data, or is skipped. */
static gerne_status check_features(gerne_ctx *ctx, gn_dataset *dataset, int threads)
{
    static const char what[] = "check features";
    preparation job = {.dataset = dataset};
    GN_FREED uint8_t *failed = NULL;
    if (!dataset->skip_bad)
        return gn_parallel(ctx, threads,
                           block_count(gn_feature_rows(dataset), rows_at_once(dataset)), what,
                           check_rows, &job, NULL);
    GN_TRY(gn_alloc(ctx, dataset->n, 1, "samples", &failed));
    GN_TRY(gn_parallel(ctx, threads, dataset->n, what, check_row, &job, failed));
    return drop_bad(ctx, dataset, failed, NULL);
}

/* ---- standardised features ---- */

typedef struct scaling {
    const gn_dataset *dataset;
    const float *mean, *deviation;
    float *values;
} scaling;

static gerne_status scale_rows(gerne_ctx *ctx, void *user, gn_scratch *scratch, size_t index)
{
    (void)ctx;
    (void)scratch;
    const scaling *job = user;
    size_t columns = job->dataset->dimension, size = rows_at_once(job->dataset);
    size_t end = block_end(job->dataset->n, size, index);
    for (size_t i = index * size; i < end; i++) {
        const float *from = gn_dataset_features(job->dataset, i);
        float *to = job->values + i * columns;
        for (size_t c = 0; c < columns; c++)
            to[c] = (from[c] - job->mean[c]) / job->deviation[c];
    }
    return GERNE_OK;
}

gerne_status gn_dataset_standardize(gerne_ctx *ctx, gn_dataset *dataset, const float *mean,
                                    const float *deviation, int threads)
{
    size_t columns = dataset->dimension, size = rows_at_once(dataset);
    float *means, *deviations;
    GN_FREED float *values = NULL;
    GN_TRY(gn_arena_alloc(ctx, dataset->arena, columns, sizeof *means, &means));
    GN_TRY(gn_arena_alloc(ctx, dataset->arena, columns, sizeof *deviations, &deviations));
    memcpy(means, mean, columns * sizeof *means);
    memcpy(deviations, deviation, columns * sizeof *deviations);
    GN_TRY(gn_features_fit(ctx, dataset, dataset->n, columns));
    GN_TRY(gn_alloc(ctx, dataset->n * columns, sizeof *values, "features", &values));
    scaling job = {dataset, means, deviations, values};
    GN_TRY(gn_parallel(ctx, threads, block_count(dataset->n, size), "standardize features",
                       scale_rows, &job, NULL));
    gn_free(dataset->rows_owned);
    dataset->rows = dataset->rows_owned = values;
    values = NULL;
    dataset->row_of_sample = true;
    dataset->mean = means;
    dataset->deviation = deviations;
    return GERNE_OK;
}

/* Columns are what threads share, so that the order of every sum, and with it the last bit, does
 * not depend on their number. */
enum { COLUMNS_AT_ONCE = 128 };

typedef struct column_sums {
    const gn_dataset *dataset;
    const double *mean; /* NULL: sums of the values, else of squared distances from it */
    double *sums;
} column_sums;

GN_WIDE static void add_values(const float *restrict row, size_t count, double *restrict sums)
{
    for (size_t c = 0; c < count; c++)
        sums[c] += (double)row[c];
}

GN_WIDE static void add_squares(const float *restrict row, const double *restrict mean,
                                size_t count, double *restrict sums)
{
    for (size_t c = 0; c < count; c++)
        sums[c] += ((double)row[c] - mean[c]) * ((double)row[c] - mean[c]);
}

static gerne_status sum_columns(gerne_ctx *ctx, void *user, gn_scratch *scratch, size_t index)
{
    (void)ctx;
    (void)scratch;
    const column_sums *job = user;
    const gn_dataset *dataset = job->dataset;
    size_t start = index * COLUMNS_AT_ONCE;
    size_t count = block_end(dataset->dimension, COLUMNS_AT_ONCE, index) - start;
    double *sums = job->sums + start;
    for (size_t i = 0; i < dataset->n; i++) {
        if (dataset->split[i] != GN_TRAIN)
            continue;
        const float *row = gn_dataset_features(dataset, i) + start;
        if (job->mean)
            add_squares(row, job->mean + start, count, sums);
        else
            add_values(row, count, sums);
    }
    return GERNE_OK;
}

/* Mean and deviation of the training split, in two passes; a constant column keeps deviation 1. */
static gerne_status standardize(gerne_ctx *ctx, gn_dataset *dataset, int threads)
{
    static const char what[] = "mean and deviation";
    size_t columns = dataset->dimension, blocks = block_count(columns, COLUMNS_AT_ONCE);
    size_t count = gn_count_split(dataset, GN_TRAIN);
    double *sums;
    float *mean;
    GN_TRY(gn_arena_alloc(ctx, dataset->arena, columns, 2 * sizeof *sums, &sums));
    GN_TRY(gn_arena_alloc(ctx, dataset->arena, columns, 2 * sizeof *mean, &mean));
    double *squares = sums + columns;
    float *deviation = mean + columns;
    if (!count)
        return gn_fail(ctx, GERNE_EUSAGE,
                       "data.standardize needs training samples, and there are none");
    column_sums first = {dataset, NULL, sums}, second = {dataset, sums, squares};
    GN_TRY(gn_parallel(ctx, threads, blocks, what, sum_columns, &first, NULL));
    for (size_t c = 0; c < columns; c++) {
        sums[c] /= (double)count;
        mean[c] = (float)sums[c];
    }
    GN_TRY(gn_parallel(ctx, threads, blocks, what, sum_columns, &second, NULL));
    for (size_t c = 0; c < columns; c++) {
        double spread = sqrt(squares[c] / (double)count);
        deviation[c] = spread > 0 ? (float)spread : 1.0f;
    }
    return gn_dataset_standardize(ctx, dataset, mean, deviation, threads);
}

static gerne_status prepare_features(gerne_ctx *ctx, gn_dataset *dataset, int threads)
{
    if (dataset->halves) /* which gerne wrote, of finite numbers */
        return digest_features(ctx, dataset, threads);
    if (dataset->fetched)
        GN_TRY(gn_arrays_fetch(ctx, dataset, threads));
    GN_TRY(check_features(ctx, dataset, threads));
    if (dataset->standardize)
        GN_TRY(standardize(ctx, dataset, threads));
    return dataset->no_fingerprint ? GERNE_OK : digest_features(ctx, dataset, threads);
}

/* ---- tokens ---- */

/* The contents are the texts, the vocabulary and its rules, and which texts the samples are. */
static gerne_status prepare_tokens(gerne_ctx *ctx, gn_dataset *dataset, int threads)
{
    GN_TRY(gn_corpus_prepare(ctx, dataset->corpus, threads));
    gn_sha256 hash;
    gn_sha256_start(&hash);
    gn_sha256_add(&hash, gn_corpus_key(dataset->corpus), GN_SHA256_SIZE);
    gn_sha256_add(&hash, dataset->origin, dataset->n * sizeof *dataset->origin);
    gn_sha256_end(&hash, dataset->content_digest);
    return GERNE_OK;
}

gerne_status gn_dataset_prepare(gerne_ctx *ctx, gn_dataset *dataset, int threads)
{
    if (dataset->prepared)
        return GERNE_OK;
    if (dataset->field == GN_FEATURES)
        GN_TRY(prepare_features(ctx, dataset, threads));
    else if (dataset->field == GN_TOKENS)
        GN_TRY(prepare_tokens(ctx, dataset, threads));
    else
        GN_TRY(prepare_pixels(ctx, dataset, threads));
    dataset->prepared = true;
    return GERNE_OK;
}
