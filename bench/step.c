/* step.c - one optimiser step of a network on random samples: time, rate, memory.
 *
 * usage: bench_step NETWORK SAMPLES MICRO_BATCH PRECISION REPEATS [LENGTHS]
 * LENGTHS is a file of numbers: the tokens of texts, one after the other and from the start again.
 * BENCH_THREADS in the environment replaces the two threads.
 * Prints one line of JSON for each repeat, so that a driver can alternate with another program.
 * Reads a line before each repeat when standard input is not a terminal ("go"), and stops at its
 * end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/text.h"
#include "nn/decay.h"
#include "nn/pass.h"

/* Images of a side, or texts of so many tokens. Transformers take a step of AdamW, the others one
 * of SGD with the weights of GERNE's two batches. */
typedef struct workload {
    const char *name, *arch;
    int64_t side, tokens, classes;
    int64_t depth, width, heads;
} workload;

static const workload workloads[] = {
    {"mlp", "mlp", .side = 28, .classes = 10},
    {"resnet18", "resnet18", .side = 32, .classes = 10},
    {"resnet50", "resnet50", .side = 224, .classes = 2},
    {"bert-base@128", "bert", .tokens = 128, .classes = 2, .depth = 12, .width = 768, .heads = 12},
    {"bert-base@220", "bert", .tokens = 220, .classes = 2, .depth = 12, .width = 768, .heads = 12},
    {"minilm@220", "bert", .tokens = 220, .classes = 2, .depth = 6, .width = 384, .heads = 12},
    {"minilm@128", "bert", .tokens = 128, .classes = 2, .depth = 6, .width = 384, .heads = 12},
    {"vit-s16", "vit", .side = 224, .classes = 2, .depth = 12, .width = 384, .heads = 6},
};

enum { WORDS = 30522 }; /* of bert-base-uncased */

static gerne_ctx *ctx;

static void must(gerne_status status)
{
    if (status == GERNE_OK)
        return;
    fprintf(stderr, "bench: %s\n", gerne_message(ctx));
    exit(1);
}

static double read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static int threads(void)
{
    int64_t count = 2;
    const char *asked = getenv("BENCH_THREADS");
    return asked && gn_parse_int(asked, &count) && count > 0 && count < 1024 ? (int)count : 2;
}

/* Without a file all texts have full length: nothing is gained by not padding them. */
static void read_lengths(const char *path, size_t count, size_t tokens, int32_t *lengths)
{
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[64];
    if (path && !file) {
        fprintf(stderr, "bench: cannot open '%s'\n", path);
        exit(1);
    }
    for (size_t i = 0; i < count; i++) {
        int64_t length = (int64_t)tokens;
        if (file && !fgets(line, sizeof line, file)) {
            rewind(file);
            if (!fgets(line, sizeof line, file))
                exit(1);
        }
        if (file) {
            line[strcspn(line, "\n")] = '\0';
            if (!gn_parse_int(line, &length) || length < 1 || length > (int64_t)tokens) {
                fprintf(stderr, "bench: '%s' is not a length of 1 to %zu\n", line, tokens);
                exit(1);
            }
        }
        lengths[i] = (int32_t)length;
    }
    if (file)
        fclose(file);
}

static void random_texts(gn_samples *s, size_t count, const workload *w, const char *path)
{
    size_t tokens = (size_t)w->tokens;
    int32_t *ids = malloc(count * tokens * sizeof *ids), *lengths = malloc(count * sizeof *lengths);
    const void **pointers = malloc(2 * count * sizeof *pointers);
    int32_t *labels = malloc(count * sizeof *labels);
    if (!ids || !lengths || !pointers || !labels)
        exit(1);
    gn_stream stream = gn_stream_at(1, GN_RNG_TEST, 0, 0);
    for (size_t i = 0; i < count * tokens; i++)
        ids[i] = (int32_t)gn_random_below(&stream, WORDS);
    read_lengths(path, count, tokens, lengths);
    for (size_t i = 0; i < count; i++) {
        pointers[i] = ids + i * tokens;
        pointers[count + i] = &lengths[i];
        labels[i] = (int32_t)(i % (size_t)w->classes);
    }
    *s = (gn_samples){.count = count, .fields = {pointers, pointers + count}, .labels = labels};
}

static void random_samples(gn_samples *s, size_t count, size_t bytes, int64_t classes)
{
    uint8_t *pixels = malloc(count * bytes);
    const void **pointers = malloc(count * sizeof *pointers);
    int32_t *labels = malloc(count * sizeof *labels);
    float *weights = malloc(count * sizeof *weights);
    if (!pixels || !pointers || !labels || !weights)
        exit(1);
    gn_stream stream = gn_stream_at(1, GN_RNG_TEST, 0, 0);
    for (size_t i = 0; i < count * bytes; i++)
        pixels[i] = (uint8_t)gn_random_u64(&stream);
    for (size_t i = 0; i < count; i++) {
        pointers[i] = pixels + i * bytes;
        labels[i] = (int32_t)(i % (size_t)classes);
        weights[i] = (i < count / 2 ? -1.0f : 2.0f) * 2.0f / (float)count; /* beta = 1 */
    }
    *s = (gn_samples){.count = count, .fields = {pointers}, .labels = labels, .weights = weights};
    for (int c = 0; c < 3; c++)
        s->scale[c] = 1.0f / 255;
}

/* Two batches with statistics of their own: one after the other. */
static void run_step(gn_network *net, gn_optimizer *optimizer, const gn_samples *all)
{
    gn_outcome outcome = {0};
    size_t batch = (size_t)gn_network_batch(net);
    if (gn_network_couples_samples(net)) {
        for (size_t first = 0; first < all->count; first += batch) {
            gn_samples part = *all;
            part.count = batch;
            part.fields[0] += first;
            part.labels += first;
            part.weights += first;
            must(gn_pass_step(ctx, net, &part, NULL, first > 0, &outcome));
        }
    } else {
        must(gn_pass_step(ctx, net, all, NULL, false, &outcome));
    }
    gn_optimizer_step(optimizer, 1e-5);
}

static double time_products(gn_network *net, size_t count)
{
    size_t batch = (size_t)gn_network_batch(net);
    if (gn_network_takes_tokens(net)) { /* as a pass cuts them */
        size_t fit = (size_t)(gn_network_token_limit(net) / gn_network_input_size(net));
        batch = fit < 1 ? 1 : fit < batch ? fit : batch;
    }
    size_t passes = (count + batch - 1) / batch;
    must(gn_network_set_mode(ctx, net, GN_MODE_TRAIN));
    double best = 1e30;
    for (int i = 0; i < 3; i++) {
        double start = now();
        for (size_t p = 0; p < passes; p++)
            must(gn_network_run_products(ctx, net));
        double seconds = now() - start;
        best = seconds < best ? seconds : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    if (argc < 6 || argc > 7) {
        fprintf(stderr,
                "usage: bench_step NETWORK SAMPLES MICRO_BATCH fp32|bf16 REPEATS [LENGTHS]\n");
        return 2;
    }
    const workload *w = NULL;
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++)
        if (strcmp(workloads[i].name, argv[1]) == 0)
            w = &workloads[i];
    int64_t samples_asked, batch, repeats;
    gn_precision precision = strcmp(argv[4], "bf16") == 0 ? GN_BF16 : GN_FP32;
    if (!w || !gn_parse_int(argv[2], &samples_asked) || !gn_parse_int(argv[3], &batch) ||
        !gn_parse_int(argv[5], &repeats) || samples_asked < 1 || batch < 1 || repeats < 1 ||
        gerne_ctx_new(&ctx) != GERNE_OK)
        return 2;
    size_t count = (size_t)samples_asked;
    static const int64_t hidden[] = {100, 100};
    gn_model_options options = {.arch = w->arch,
                                .hidden = {hidden, 2},
                                .depth = w->depth,
                                .width = w->width,
                                .heads = w->heads,
                                .inner_dropout = 0.1};
    gn_device *device;
    gn_network *net;
    gn_optimizer *optimizer;
    gn_optimizer_options rule = {
        .optimizer = w->depth ? GN_ADAMW : GN_SGD, .momentum = 0.9, .weight_decay = 0.01};
    gn_sample_shape shape =
        w->tokens ? gn_tokens_shape(w->tokens) : gn_pixels_shape(3, w->side, w->side);
    shape.fields[0].below = WORDS;
    must(gn_device_new(ctx, threads(), precision, &device));
    must(gn_network_new(ctx, device, &options, shape, w->classes, batch, &net));
    must(gn_network_initialize(ctx, net, 1));
    must(gn_network_optimizer(ctx, &rule, net, &optimizer));
    gn_samples samples;
    if (w->tokens)
        random_texts(&samples, count, w, argv[6]);
    else
        random_samples(&samples, count, (size_t)gn_network_input_size(net), w->classes);
    run_step(net, optimizer, &samples); /* compiles, warms up */
    double bound = time_products(net, count);
    char line[64];
    for (int i = 0; i < repeats && (i == 0 || fgets(line, sizeof line, stdin)); i++) {
        double start = now(), worked = read_clock(CLOCK_PROCESS_CPUTIME_ID);
        run_step(net, optimizer, &samples);
        double seconds = now() - start;
        worked = read_clock(CLOCK_PROCESS_CPUTIME_ID) - worked;
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        double flops = 3 * gn_network_flops(net) * (double)count;
        printf("{\"seconds\": %.6f, \"samples_per_s\": %.2f, \"gflops\": %.2f, "
               "\"peak_mib\": %.1f, \"bound_seconds\": %.6f, \"cpu_seconds\": %.6f, "
               "\"emulated\": %s}\n",
               seconds, (double)count / seconds, flops / seconds * 1e-9,
               (double)usage.ru_maxrss / 1024, bound, worked,
               gn_device_emulates(device) ? "true" : "false");
        fflush(stdout);
    }
    return 0;
}
