/* interrupt.c - a run that is stopped and resumed, with log, progress and samples that the program
 * keeps elsewhere. Ctrl-C stops it, too; started again, it resumes the run.
 *
 *     cc interrupt.c $(pkg-config --cflags --libs gerne)
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gerne.h>

enum { N = 1200, SIDE = 8 };

static gerne_ctx *ctx;
static int32_t y[N], a[N];
static uint8_t split[N];

static void stop(int number)
{
    (void)number;
    gerne_stop(ctx); /* made for this: NOLINT(bugprone-signal-handler,cert-sig30-c) */
}

static void print_log(void *user, gerne_log_level level, const char *line)
{
    (void)user;
    if (level >= GERNE_LOG_INFO)
        fprintf(stderr, "%s\n", line);
}

static int show_progress(void *user, const gerne_progress *progress)
{
    int *stops = user;
    bool middle = strcmp(progress->what, "train") == 0 && 2 * progress->done >= progress->total;
    if (middle && *stops == 0) {
        *stops = 1;
        return 1; /* as gerne_stop does */
    }
    return 0;
}

/* A sample on demand: from a database, a camera, a decoder. Called by several threads. */
static int draw(void *user, size_t index, void *sample)
{
    (void)user;
    uint8_t *pixels = sample;
    for (int i = 0; i < SIDE * SIDE; i++) {
        pixels[3 * i] = (uint8_t)(a[index] ? 200 : 50);
        pixels[3 * i + 1] = (uint8_t)(y[index] && i % 3 ? 150 : 100);
        pixels[3 * i + 2] = (uint8_t)((size_t)i * 7 + index * 13);
    }
    return 0;
}

int main(void)
{
    int stops = 0;
    char *results = NULL;
    gerne_config *config = NULL;
    gerne_dataset *data = NULL;
    for (int i = 0; i < N; i++) {
        split[i] = (uint8_t)(i % 4 == 3 ? GERNE_TEST : i % 4 == 2 ? GERNE_VAL : GERNE_TRAIN);
        y[i] = i / 4 % 2;
        a[i] = split[i] == GERNE_TRAIN && i / 8 % 10 ? y[i] : i / 8 % 2;
    }
    const gerne_arrays arrays = {.size = sizeof arrays,
                                 .n = N,
                                 .fetch = draw,
                                 .height = SIDE,
                                 .width = SIDE,
                                 .y = y,
                                 .a = a,
                                 .split = split};
    if (gerne_ctx_new(&ctx) != GERNE_OK)
        return EXIT_FAILURE;
    gerne_set_log(ctx, print_log, NULL);
    gerne_set_progress(ctx, show_progress, &stops);
    signal(SIGINT, stop);

    gerne_status status = gerne_dataset_from_arrays(ctx, &arrays, &data);
    if (status == GERNE_OK)
        status = gerne_config_new(ctx, &config);
    if (status == GERNE_OK)
        status = gerne_config_parse(ctx, config,
                                    "model: {arch: mlp, hidden: [20]}\n"
                                    "method: {name: groupdro}\n"
                                    "train: {steps: 100, eval_every: 50, lr: 0.01}\n"
                                    "threads: 1\n" /* enough for so small a network */
                                    "out: runs/interrupt\n");
    gerne_unstop(ctx); /* a Ctrl-C before this point does not count */
    if (status == GERNE_OK)
        status = gerne_train(ctx, config, data, GERNE_JSON, &results);
    while (status == GERNE_EINTERRUPTED) {
        fprintf(stderr, "%s; resuming\n", gerne_message(ctx));
        status = gerne_resume(ctx, "runs/interrupt", data, GERNE_JSON, &results);
    }
    if (status != GERNE_OK)
        fprintf(stderr, "%s\n%s\n", gerne_message(ctx), gerne_hint(ctx));
    else
        puts(results);
    gerne_free(results);
    gerne_config_close(config);
    gerne_dataset_close(data);
    gerne_ctx_close(ctx);
    return status == GERNE_OK && stops == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
