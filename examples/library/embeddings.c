/* embeddings.c - embeddings in; audit, training, the table of groups and an ONNX file out.
 *
 *     cc embeddings.c $(pkg-config --cflags --libs gerne)
 */
#include <stdio.h>
#include <stdlib.h>

#include <gerne.h>

enum { N = 3000, D = 16 };
static float x[N][D]; /* stands for what CLIP or DINO gives */
static int32_t y[N], a[N];
static uint8_t split[N];

/* Class in column 0, weak; attribute in column 1, strong, and in training almost the class. */
static void make(void)
{
    srand(1);
    for (int i = 0; i < N; i++) {
        split[i] = (uint8_t)(i % 4 == 3 ? GERNE_TEST : i % 4 == 2 ? GERNE_VAL : GERNE_TRAIN);
        y[i] = rand() % 2;
        a[i] = split[i] == GERNE_TRAIN && rand() % 100 < 95 ? y[i] : rand() % 2;
        for (int c = 0; c < D; c++)
            x[i][c] = (float)(rand() % 2001 - 1000) / 700;
        x[i][0] += y[i] ? 1.0f : -1.0f;
        x[i][1] += a[i] ? 3.0f : -3.0f;
    }
}

static void check(gerne_ctx *ctx, gerne_status status)
{
    if (status == GERNE_OK)
        return;
    fprintf(stderr, "%s: %s\n%s\n", gerne_status_name(status), gerne_message(ctx), gerne_hint(ctx));
    exit(EXIT_FAILURE);
}

static void show(char *text)
{
    puts(text);
    gerne_free(text);
}

int main(void)
{
    gerne_ctx *ctx = NULL;
    gerne_dataset *data;
    gerne_config *config;
    gerne_model *model;
    gerne_metrics metrics = {.size = sizeof metrics};
    char *text;
    make();
    const gerne_arrays arrays = {.size = sizeof arrays,
                                 .n = N,
                                 .features = x[0],
                                 .dimension = D,
                                 .y = y,
                                 .a = a,
                                 .split = split};
    check(ctx, gerne_ctx_new(&ctx));
    check(ctx, gerne_dataset_from_arrays(ctx, &arrays, &data));
    check(ctx, gerne_dataset_set_name(ctx, data, "embeddings"));
    check(ctx, gerne_dataset_audit(ctx, data, GERNE_TRAIN, GERNE_TEXT, &text));
    show(text);

    check(ctx, gerne_config_new(ctx, &config));
    check(ctx, gerne_config_parse(ctx, config,
                                  "method: {name: gerne, c: 0.5, beta: 1}\n"
                                  "model: {arch: linear}\n"
                                  "train: {lr: 0.01, epochs: 10}\n"
                                  "threads: 1\n" /* enough for so small a network */
                                  "out: runs/embeddings\n"));
    check(ctx, gerne_train(ctx, config, data, GERNE_TEXT, &text)); /* saved in runs/embeddings */
    show(text);

    check(ctx, gerne_model_open(ctx, "runs/embeddings", NULL, &model));
    check(ctx, gerne_model_evaluate(ctx, model, data, GERNE_TEST, &metrics, GERNE_TEXT, &text));
    show(text);
    printf("worst group: y=%u, a=%u, %.1f %%\n", metrics.worst_y, metrics.worst_a,
           100 * metrics.wga);
    const gerne_export_options files = {.size = sizeof files, .onnx = "birds.onnx"};
    check(ctx, gerne_model_export(ctx, model, &files));
    gerne_model_close(model);
    gerne_config_close(config);
    gerne_dataset_close(data);
    gerne_ctx_close(ctx);
    return metrics.wga > 0.5 ? EXIT_SUCCESS : EXIT_FAILURE;
}
