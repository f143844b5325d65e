/* fixture.h - small biased data in memory, for tests of the library. */
#ifndef GN_TESTS_API_FIXTURE_H
#define GN_TESTS_API_FIXTURE_H

#include "testing.h"

enum { N = 400, D = 6, SIDE = 8, PIXELS = SIDE * SIDE * 3 };

typedef struct fixture {
    gerne_ctx *ctx;
    char *folder;
    float x[N][D];
    uint8_t pixels[N][PIXELS];
    int32_t y[N], a[N];
    uint8_t split[N];
} fixture;

/* For cmocka: *state is a fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* The features with their labels. */
gerne_arrays features_of(const fixture *f);

gerne_dataset *dataset_of(fixture *f, const gerne_arrays *arrays);

/* Pairs of key and value, ended by a NULL. */
void set_keys(fixture *f, gerne_config *config, const char *const *pairs);

/* A short run into a directory of that name in the fixture's folder. */
gerne_config *configure(fixture *f, const char *out);

/* Opened from such a run. */
gerne_model *train_model(fixture *f, const gerne_dataset *dataset);

/* In a static buffer. */
char *path_in(const fixture *f, const char *name);

#endif
