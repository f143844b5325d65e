/* Weight files of either format: what opens can be read to its last byte. */
#include "target.h"

#include <string.h>

#include "nn/weights.h"

static void read_all(gerne_ctx *ctx, const gn_weights *weights, size_t file_size)
{
    for (size_t i = 0; i < gn_weights_count(weights); i++) {
        const gn_weight *weight = gn_weights_at(weights, i);
        fuzz_check(gn_weights_find(weights, weight->name) == weight);
        fuzz_check(weight->count * gn_weight_type_size(weight->type) <= file_size);
        float *values;
        if (gn_alloc(ctx, weight->count, sizeof *values, "values", &values) != GERNE_OK)
            return;
        fuzz_accepted(ctx, gn_weight_to_f32(ctx, weight, GN_WEIGHT_FINITE, values), GERNE_EDATA);
        gn_free(values);
    }
}

static void match(gerne_ctx *ctx, const gn_weights *weights)
{
    static const gn_wanted wanted[] = {
        {.name = "w", .ndims = 1, .dims = {2}},
        {.name = "fc.weight", .ndims = 2, .dims = {2, 3}, .is_head = true},
    };
    const gn_weight *found[2];
    gn_match match;
    if (fuzz_accepted(ctx, gn_weights_match(ctx, weights, wanted, 2, NULL, found, &match),
                      GERNE_EDATA))
        fuzz_check(found[0] && found[0]->count == 2 && !found[1] == match.head_replaced);
}

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    gn_weights *weights;
    if (fuzz_accepted(ctx, gn_weights_parse(ctx, data, size, "fuzz", &weights), GERNE_EDATA)) {
        read_all(ctx, weights, size);
        match(ctx, weights);
    } else {
        fuzz_check(!weights);
    }
    gn_weights_close(weights);
}
