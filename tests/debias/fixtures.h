/* fixtures.h - groups with samples behind them, for the tests of drawing. */
#ifndef GN_TESTS_DEBIAS_FIXTURES_H
#define GN_TESTS_DEBIAS_FIXTURES_H

#include "testing.h"

typedef struct fixture {
    gerne_ctx *ctx;
    uint32_t classes, attributes;
    size_t n;
    int32_t *y, *a; /* samples are not sorted by group */
    gerne_groups *groups;
} fixture;

fixture *fixture_new(const int64_t *counts, uint32_t classes, uint32_t attributes);
fixture *fixture_waterbirds(void);
fixture *fixture_cmnist(void);           /* 55,000 samples, ten by ten, 0.5 % off the diagonal */
fixture *fixture_thousand_classes(void); /* 45 to 55 samples each, two attributes */
void fixture_close(fixture *f);

gerne_sampler *fixture_sampler(const fixture *f, const gerne_sampler_options *options);
gerne_batch *fixture_batch(const fixture *f);
void fixture_draw(const fixture *f, const gerne_sampler *s, gerne_draw draw, uint64_t step,
                  gerne_batch *batch);

static inline size_t fixture_group(const fixture *f, uint32_t sample)
{
    return (size_t)f->y[sample] * f->attributes + (size_t)f->a[sample];
}

#endif
