/* sampler.c - what drawing costs: time per batch and memory per sample for 10^4 to 10^8 samples.
 *
 * usage: bench_sampler [LARGEST]     (10^8 takes 1.2 GB, 0.8 of it for the labels)
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/rng.h"
#include "gerne.h"

enum { CLASSES = 10, ATTRIBUTES = 10, PER_CLASS = 100, DRAWS = 200, REPEATS = 5 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double heap(void)
{
    struct mallinfo2 info = mallinfo2();
    return (double)info.uordblks + (double)info.hblkhd;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds per batch: the median of a few rounds. */
static gerne_status time_draws(gerne_ctx *ctx, const gerne_sampler *sampler, gerne_draw draw,
                               gerne_batch *batch, double *seconds)
{
    double rounds[REPEATS];
    for (int r = 0; r < REPEATS; r++) {
        double start = now();
        for (uint64_t step = 0; step < DRAWS; step++) {
            gerne_status status =
                gerne_sampler_draw(ctx, sampler, draw, step + (uint64_t)r * DRAWS, batch);
            if (status != GERNE_OK)
                return status;
        }
        rounds[r] = (now() - start) / DRAWS;
    }
    qsort(rounds, REPEATS, sizeof rounds[0], compare);
    *seconds = rounds[REPEATS / 2];
    return GERNE_OK;
}

static gerne_status measure(gerne_ctx *ctx, const int32_t *y, const int32_t *a, size_t n)
{
    gerne_groups *groups = NULL;
    gerne_sampler *sampler = NULL;
    gerne_batch *batch = NULL;
    const gerne_sampler_options options = {
        .per_class = PER_CLASS, .batch = CLASSES * PER_CLASS, .c = 0.5, .beta = 1};
    double before = heap(), start = now(), law = 0, shuffled = 0;
    gerne_status status = gerne_groups_from_labels(ctx, y, a, n, CLASSES, ATTRIBUTES, &groups);
    if (status == GERNE_OK)
        status = gerne_sampler_new(ctx, groups, &options, &sampler);
    double built = now() - start, bytes = heap() - before;
    if (status == GERNE_OK)
        status = gerne_batch_new(ctx, &batch);
    if (status == GERNE_OK)
        status = time_draws(ctx, sampler, GERNE_DRAW_EXTRAPOLATED, batch, &law);
    if (status == GERNE_OK)
        status = time_draws(ctx, sampler, GERNE_DRAW_SHUFFLED, batch, &shuffled);
    if (status == GERNE_OK)
        printf("%11zu %12.3f %14.2f %16.1f %16.1f\n", n, built, bytes / (double)n, 1e6 * law,
               1e6 * shuffled);
    gerne_batch_close(batch);
    gerne_sampler_close(sampler);
    gerne_groups_close(groups);
    return status;
}

int main(int argc, char **argv)
{
    size_t largest = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000000;
    gerne_ctx *ctx;
    if (gerne_ctx_new(&ctx) != GERNE_OK)
        return EXIT_FAILURE;
    int32_t *y = malloc(largest * sizeof *y), *a = malloc(largest * sizeof *a);
    gerne_status status = y && a ? GERNE_OK : GERNE_ENOMEM;
    printf("%d classes, %d attributes, 0.5 %% off the diagonal; batches of 2 x %d\n", CLASSES,
           ATTRIBUTES, CLASSES * PER_CLASS);
    printf("%11s %12s %14s %16s %16s\n", "samples", "index s", "bytes/sample", "GERNE us/batch",
           "shuffled us/batch");
    for (size_t n = 10000; n <= largest && status == GERNE_OK; n *= 10) {
        gn_stream stream = gn_stream_at(1, GN_RNG_TEST, 0, n);
        for (size_t i = 0; i < n; i++) {
            uint64_t u = gn_random_u64(&stream);
            y[i] = (int32_t)(u % CLASSES);
            a[i] = u >> 32 < (uint64_t)21474836 ? (int32_t)(u >> 8 & 0xffff) % ATTRIBUTES : y[i];
        }
        status = measure(ctx, y, a, n);
    }
    if (status != GERNE_OK)
        fprintf(stderr, "%s: %s\n", gerne_status_name(status), gerne_message(ctx));
    free(y);
    free(a);
    gerne_ctx_close(ctx);
    return status == GERNE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
