#include "golden_values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE = 24 };

float golden_value(uint64_t seed, uint64_t i)
{
    uint64_t z = ((seed << 32) + i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (float)((double)(z >> 40) / 8388608.0 - 1.0);
}

uint32_t golden_name_seed(const char *name)
{
    uint32_t h = 0x811C9DC5u;
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 0x01000193u;
    return h;
}

void golden_fill(gerne_ctx *ctx, gn_store *store, const char *last_norm)
{
    for (int i = 0; i < gn_store_count(store); i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        if (p->role == GN_FIXED) /* a shortcut without parameters */
            continue;
        float *values = calloc((size_t)p->size, sizeof *values);
        for (int64_t j = 0; j < p->size; j++) {
            float u = golden_value(golden_name_seed(p->name), (uint64_t)j);
            if (p->role == GN_SCALE || p->role == GN_VARIANCE)
                u = (1.0f + 0.1f * u) * (last_norm && strstr(p->name, last_norm) ? 0.25f : 1.0f);
            else if (p->ndims == 1)
                u = 0.1f * u;
            else
                u = (float)sqrt(3.0 / (double)(p->size / p->dims[0])) * u;
            values[j] = u;
        }
        assert_ok(ctx, gn_store_set(ctx, store, i, values));
        free(values);
    }
}

const float *golden_numbers(gerne_ctx *ctx, const gn_weights *golden, const char *kind,
                            const char *name, size_t *count)
{
    static float values[64];
    char full[256];
    snprintf(full, sizeof full, "%s%s", kind, name);
    const gn_weight *w = gn_weights_find(golden, full);
    if (!w)
        fail_msg("the golden file has no '%s'", full);
    assert_true(w->count <= 64);
    assert_ok(ctx, gn_weight_to_f32(ctx, w, 0, values));
    *count = w->count;
    return values;
}

void golden_compare(gerne_ctx *ctx, const gn_store *store, int index, const gn_weights *golden)
{
    const gn_parameter *p = gn_store_parameter(store, index);
    size_t size = (size_t)p->size, count;
    float *ours = calloc(size, sizeof *ours);
    assert_ok(ctx, gn_store_get(ctx, store, index, ours));
    double norm = 0;
    for (size_t i = 0; i < size; i++)
        norm += (double)ours[i] * (double)ours[i];
    norm = sqrt(norm);
    double theirs_norm = (double)golden_numbers(ctx, golden, "norm:", p->name, &count)[0];
    assert_near(norm / theirs_norm, 1, 1e-3);
    const float *theirs = golden_numbers(ctx, golden, "slice:", p->name, &count);
    size_t stride = size / SLICE > 0 ? size / SLICE : 1;
    double difference = 0, slice = 0;
    for (size_t i = 0; i < count; i++) {
        double d = (double)ours[i * stride] - (double)theirs[i];
        difference += d * d;
        slice += (double)theirs[i] * (double)theirs[i];
    }
    if (sqrt(difference) > 1e-3 * sqrt(slice))
        fail_msg("%s differs by %.3g of its norm", p->name, sqrt(difference / slice));
    free(ours);
}
