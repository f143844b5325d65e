#include "fixtures.h"

#include <stdlib.h>

#include "base/rng.h"

fixture *fixture_new(const int64_t *counts, uint32_t classes, uint32_t attributes)
{
    fixture *f = calloc(1, sizeof *f);
    f->ctx = test_ctx();
    f->classes = classes;
    f->attributes = attributes;
    for (uint32_t g = 0; g < classes * attributes; g++)
        f->n += (size_t)counts[g];
    f->y = calloc(f->n, sizeof *f->y);
    f->a = calloc(f->n, sizeof *f->a);
    gn_permutation place = gn_permutation_at(f->n, 0, GN_RNG_TEST, 0, 0);
    uint64_t at = 0;
    for (uint32_t y = 0; y < classes; y++)
        for (uint32_t a = 0; a < attributes; a++)
            for (int64_t i = 0; i < counts[y * attributes + a]; i++) {
                uint64_t sample = gn_permute(&place, at++);
                f->y[sample] = (int32_t)y;
                f->a[sample] = (int32_t)a;
            }
    assert_ok(f->ctx,
              gerne_groups_from_labels(f->ctx, f->y, f->a, f->n, classes, attributes, &f->groups));
    return f;
}

fixture *fixture_waterbirds(void)
{
    const int64_t counts[] = {3498, 184, 56, 1057};
    return fixture_new(counts, 2, 2);
}

fixture *fixture_cmnist(void)
{
    int64_t counts[100];
    for (int g = 0; g < 100; g++)
        counts[g] = g / 10 == g % 10 ? 5475 : 1 + (g * 7) % 5; /* about 27 in nine groups */
    return fixture_new(counts, 10, 10);
}

fixture *fixture_thousand_classes(void)
{
    static int64_t counts[2000];
    for (int y = 0; y < 1000; y++) {
        counts[2 * y] = 40 + y % 11;
        counts[2 * y + 1] = 5;
    }
    return fixture_new(counts, 1000, 2);
}

void fixture_close(fixture *f)
{
    gerne_groups_close(f->groups);
    gerne_ctx_close(f->ctx);
    free(f->y);
    free(f->a);
    free(f);
}

gerne_sampler *fixture_sampler(const fixture *f, const gerne_sampler_options *options)
{
    gerne_sampler *sampler;
    assert_ok(f->ctx, gerne_sampler_new(f->ctx, f->groups, options, &sampler));
    return sampler;
}

gerne_batch *fixture_batch(const fixture *f)
{
    gerne_batch *batch;
    assert_ok(f->ctx, gerne_batch_new(f->ctx, &batch));
    return batch;
}

void fixture_draw(const fixture *f, const gerne_sampler *s, gerne_draw draw, uint64_t step,
                  gerne_batch *batch)
{
    assert_ok(f->ctx, gerne_sampler_draw(f->ctx, s, draw, step, batch));
}
