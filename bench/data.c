/* data.c - what reading data costs.
 *
 * usage: bench_data decode DIR [COUNT]        JPEG/PNG files of DIR to normalised floats, one core
 *        bench_data open METADATA.csv         seconds and peak memory to open a metadata file
 *        bench_data wait DIR [BATCH]          share of time that training ResNet-18 waits for
 *                                             streamed data
 *        bench_data limit DIR LIMIT           peak memory of two epochs within data.memory_limit
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "data/fetch.h"
#include "data/images.h"
#include "nn/optimizer.h"
#include "nn/pass.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double peak_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

/* uint8 H x W x 3 to float 3 x H x W. */
static void normalise(const gn_dataset *dataset, const uint8_t *pixels, float *out)
{
    size_t area = dataset->height * dataset->width;
    for (size_t c = 0; c < GN_CHANNELS; c++)
        for (size_t i = 0; i < area; i++)
            out[c * area + i] =
                (float)pixels[GN_CHANNELS * i + c] * dataset->scale[c] + dataset->shift[c];
}

static gerne_status open_images(gerne_ctx *ctx, const char *dir, const char *limit,
                                gn_dataset **out)
{
    gn_data_options options = {0};
    GN_TRY(gn_data_options_default(ctx, &options));
    options.format = GN_DATA_IMAGES;
    options.dir = dir;
    options.memory_limit = limit;
    return gn_dataset_open(ctx, &options, out);
}

static gerne_status bench_decode(gerne_ctx *ctx, const char *dir, size_t count)
{
    gn_dataset *dataset;
    GN_TRY(open_images(ctx, dir, "2G", &dataset));
    gn_scratch scratch = {0};
    uint8_t *pixels;
    float *floats;
    GN_TRY(gn_alloc(ctx, dataset->dimension, 1, "pixels", &pixels));
    GN_TRY(gn_alloc(ctx, dataset->dimension, sizeof *floats, "floats", &floats));
    count = count < dataset->n ? count : dataset->n;
    double best = 1e9;
    for (int round = 0; round < 3; round++) { /* the first warms the page cache */
        double start = cpu_seconds();
        for (size_t i = 0; i < count; i++) {
            GN_TRY(dataset->source->load(ctx, dataset->source, &scratch, i, pixels, NULL));
            normalise(dataset, pixels, floats);
        }
        double seconds = cpu_seconds() - start;
        best = seconds < best ? seconds : best;
    }
    printf("decode: %zu files of %zux%zu, %.0f images/s on one core (read, decode, normalise)\n",
           count, dataset->height, dataset->width, (double)count / best);
    gn_scratch_free(&scratch);
    gn_free(pixels);
    gn_free(floats);
    gn_dataset_close(dataset);
    return GERNE_OK;
}

static gerne_status bench_open(gerne_ctx *ctx, const char *file)
{
    gn_data_options options = {0};
    GN_TRY(gn_data_options_default(ctx, &options));
    options.format = GN_DATA_IMAGES;
    options.file = file;
    gn_dataset *dataset;
    double start = now();
    GN_TRY(gn_dataset_open(ctx, &options, &dataset));
    printf("open: %zu rows in %.2f s, peak memory %.0f MB\n", dataset->n, now() - start, peak_mb());
    gn_dataset_close(dataset);
    return GERNE_OK;
}

/* ResNet-18 in training, on batches of what the prefetcher brings. */
typedef struct trainer {
    gn_device *device;
    gn_network *network;
    gn_optimizer *optimizer;
    int32_t *labels;
    gn_samples samples;
} trainer;

static gerne_status open_trainer(gerne_ctx *ctx, const gn_dataset *dataset, size_t batch,
                                 trainer *t)
{
    gn_model_options model = {.arch = "resnet18"};
    gn_optimizer_options sgd = {.momentum = 0.9, .weight_decay = 0.01};
    gn_sample_shape shape = gn_dataset_shape(dataset);
    GN_TRY(gn_device_new(ctx, 2, GN_FP32, &t->device));
    GN_TRY(gn_network_new(ctx, t->device, &model, shape, 2, (int64_t)batch, &t->network));
    GN_TRY(gn_network_initialize(ctx, t->network, 1));
    GN_TRY(gn_optimizer_new(ctx, &sgd, gn_network_trained(t->network), &t->optimizer));
    GN_TRY(gn_alloc(ctx, batch, sizeof *t->labels, "labels", &t->labels));
    t->samples = (gn_samples){.count = batch, .labels = t->labels};
    for (int c = 0; c < 3; c++)
        t->samples.scale[c] = 1.0f / 255;
    return GERNE_OK;
}

static void close_trainer(trainer *t)
{
    gn_free(t->labels);
    gn_optimizer_close(t->optimizer);
    gn_network_close(t->network);
    gn_device_close(t->device);
}

/* Reads, and trains unless t is NULL. */
static gerne_status run_steps(gerne_ctx *ctx, gn_fetch *fetch, trainer *t, size_t n, size_t batch,
                              size_t steps, double *seconds)
{
    uint32_t *indices;
    size_t submitted = 0;
    const void *const *fields[GN_FIELDS_MAX];
    gn_outcome outcome = {0};
    double start = now();
    GN_TRY(gn_alloc(ctx, batch, sizeof *indices, "indices", &indices));
    for (size_t k = 0; k < steps; k++) {
        while (submitted < steps && gn_fetch_room(fetch) >= batch) {
            for (size_t i = 0; i < batch; i++)
                indices[i] = (uint32_t)((submitted * batch + i) * 7919 % n);
            GN_TRY(gn_fetch_submit(fetch, submitted++, indices, batch));
        }
        GN_TRY(gn_fetch_wait(fetch, fields));
        if (t) {
            t->samples.fields[0] = fields[0];
            GN_TRY(gn_pass_step(ctx, t->network, &t->samples, NULL, false, &outcome));
            gn_optimizer_step(t->optimizer, 0.01);
        }
        gn_fetch_release(fetch);
    }
    *seconds = now() - start;
    gn_free(indices);
    return GERNE_OK;
}

static gerne_status bench_wait(gerne_ctx *ctx, const char *dir, size_t batch)
{
    gn_dataset *dataset;
    gn_fetch *fetch;
    trainer t = {0};
    double seconds, warm;
    GN_TRY(open_images(ctx, dir, "8M", &dataset));
    GN_TRY(gn_dataset_prepare(ctx, dataset, 2));
    gn_fetch_options options = {.threads = 1, .ahead = 4 * batch};
    GN_TRY(gn_fetch_new(ctx, dataset, &options, &fetch));
    GN_TRY(open_trainer(ctx, dataset, batch, &t));
    GN_TRY(run_steps(ctx, fetch, &t, dataset->n, batch, 4, &seconds));
    warm = gn_fetch_waited(fetch);
    GN_TRY(run_steps(ctx, fetch, &t, dataset->n, batch, 50, &seconds));
    printf("wait: ResNet-18 on %zux%zu files, batches of %zu: %.0f ms a step, waiting %.2f %% of "
           "the time\n",
           dataset->height, dataset->width, batch, 1000 * seconds / 50,
           100 * (gn_fetch_waited(fetch) - warm) / seconds);
    close_trainer(&t);
    gn_fetch_close(fetch);
    gn_dataset_close(dataset);
    return GERNE_OK;
}

static gerne_status bench_limit(gerne_ctx *ctx, const char *dir, const char *limit)
{
    gn_dataset *dataset;
    gn_fetch *fetch;
    double seconds, before;
    GN_TRY(open_images(ctx, dir, limit, &dataset));
    before = peak_mb();
    GN_TRY(gn_dataset_prepare(ctx, dataset, 2));
    if (!gn_dataset_in_memory(dataset)) {
        gn_fetch_options options = {.threads = 2, .ahead = dataset->n};
        GN_TRY(gn_fetch_new(ctx, dataset, &options, &fetch));
        size_t batch = gn_fetch_slots(fetch) < 64 ? gn_fetch_slots(fetch) : 64;
        GN_TRY(run_steps(ctx, fetch, NULL, dataset->n, batch, 2 * dataset->n / batch, &seconds));
        printf("limit: %zu samples of %zu bytes streamed at %.0f images/s; ", dataset->n,
               dataset->dimension, 2 * (double)dataset->n / seconds);
        gn_fetch_close(fetch);
    }
    printf("limit %s: peak memory %.0f MB, %.0f MB before the samples\n", limit, peak_mb(), before);
    gn_dataset_close(dataset);
    return GERNE_OK;
}

int main(int argc, char **argv)
{
    gerne_ctx *ctx;
    if (gerne_ctx_new(&ctx) != GERNE_OK)
        return 1;
    gerne_status status = GERNE_EUSAGE;
    const char *what = argc > 2 ? argv[1] : "";
    if (strcmp(what, "decode") == 0)
        status = bench_decode(ctx, argv[2], argc > 3 ? strtoul(argv[3], NULL, 10) : 2000);
    else if (strcmp(what, "open") == 0)
        status = bench_open(ctx, argv[2]);
    else if (strcmp(what, "wait") == 0)
        status = bench_wait(ctx, argv[2], argc > 3 ? strtoul(argv[3], NULL, 10) : 100);
    else if (strcmp(what, "limit") == 0 && argc > 3)
        status = bench_limit(ctx, argv[2], argv[3]);
    if (status != GERNE_OK)
        fprintf(stderr, "%s\n", argc > 2 ? gerne_message(ctx) : "usage: see the head of data.c");
    gerne_ctx_close(ctx);
    return status != GERNE_OK;
}
