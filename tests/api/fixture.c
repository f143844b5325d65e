#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 33) / 2147483648.0;
}

/* Column 0 follows the class a little, column 1 the attribute strongly. */
static void make(fixture *f)
{
    uint64_t state = 1;
    for (int i = 0; i < N; i++) {
        f->split[i] = (uint8_t)(i % 4 == 3 ? GERNE_TEST : i % 4 == 2 ? GERNE_VAL : GERNE_TRAIN);
        f->y[i] = i / 4 % 2;
        bool biased = f->split[i] == GERNE_TRAIN && uniform(&state) < 0.9;
        f->a[i] = biased ? f->y[i] : i / 8 % 2;
        for (int c = 0; c < D; c++)
            f->x[i][c] = (float)(2 * uniform(&state) - 1);
        f->x[i][0] += f->y[i] ? 1.0f : -1.0f;
        f->x[i][1] += f->a[i] ? 2.0f : -2.0f;
        for (int p = 0; p < PIXELS; p++)
            f->pixels[i][p] = (uint8_t)(40 * f->y[i] + 90 * f->a[i] + 60 * uniform(&state));
    }
}

gerne_arrays features_of(const fixture *f)
{
    return (gerne_arrays){.size = sizeof(gerne_arrays),
                          .n = N,
                          .features = f->x[0],
                          .dimension = D,
                          .y = f->y,
                          .a = f->a,
                          .split = f->split};
}

int fixture_setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->ctx = test_ctx();
    f->folder = test_directory();
    make(f);
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    fixture *f = *state;
    test_remove_directory(f->folder);
    gerne_ctx_close(f->ctx);
    free(f);
    return 0;
}

void set_keys(fixture *f, gerne_config *config, const char *const *pairs)
{
    for (; *pairs; pairs += 2)
        assert_ok(f->ctx, gerne_config_set(f->ctx, config, pairs[0], pairs[1]));
}

gerne_config *configure(fixture *f, const char *out)
{
    static const char *const usual[] = {"train.steps",
                                        "60",
                                        "train.eval_every",
                                        "20",
                                        "train.batch",
                                        "32",
                                        "method.c",
                                        "0.5",
                                        "method.beta",
                                        "1",
                                        "train.lr",
                                        "0.05",
                                        "train.optimizer",
                                        "sgd",
                                        "threads",
                                        "1",
                                        "model.arch",
                                        "linear",
                                        NULL};
    char path[512];
    gerne_config *config;
    assert_ok(f->ctx, gerne_config_new(f->ctx, &config));
    set_keys(f, config, usual);
    snprintf(path, sizeof path, "%s/%s", f->folder, out);
    assert_ok(f->ctx, gerne_config_set(f->ctx, config, "out", path));
    return config;
}

gerne_dataset *dataset_of(fixture *f, const gerne_arrays *arrays)
{
    gerne_dataset *dataset;
    assert_ok(f->ctx, gerne_dataset_from_arrays(f->ctx, arrays, &dataset));
    return dataset;
}

char *path_in(const fixture *f, const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    return path;
}

gerne_model *train_model(fixture *f, const gerne_dataset *dataset)
{
    gerne_config *config = configure(f, "model");
    gerne_model *model;
    char *results;
    assert_ok(f->ctx, gerne_train(f->ctx, config, dataset, GERNE_JSON, &results));
    gerne_free(results);
    assert_ok(f->ctx, gerne_model_open(f->ctx, path_in(f, "model"), NULL, &model));
    gerne_config_close(config);
    return model;
}
