#include "nn/decay.h"

#include "base/memory.h"

static bool is_matrix(const gn_parameter *p)
{
    return p->role == GN_WEIGHT && (p->ndims == 2 || p->ndims == 4);
}

/* Parameters in the order of the block, neighbours that decay alike as one; padding goes with what
 * stands before it. */
static size_t stretch(const gn_network *network, bool matrices, gn_stretch *out)
{
    const gn_store *store = gn_network_store(network);
    gn_block all = gn_network_trained(network);
    size_t count = 0;
    for (int i = 0; i < gn_store_count(store); i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        if (p->role > GN_SHIFT)
            continue;
        gn_block block = gn_store_parameter_block(store, i);
        if (block.values < all.values || block.values >= all.values + all.size)
            continue; /* frozen */
        bool decays = is_matrix(p) == matrices;
        if (count > 0 && out[count - 1].decays == decays)
            continue;
        size_t first = count ? (size_t)(block.values - all.values) : 0;
        out[count++] = (gn_stretch){.first = first, .decays = decays};
    }
    for (size_t i = 0; i < count; i++)
        out[i].count = (i + 1 < count ? out[i + 1].first : all.size) - out[i].first;
    return count;
}

static gerne_status set_decay(gerne_ctx *ctx, const gn_network *network, bool matrices,
                              gn_optimizer *optimizer)
{
    GN_FREED gn_stretch *stretches = NULL;
    GN_TRY(gn_alloc(ctx, (size_t)gn_store_count(gn_network_store(network)), sizeof *stretches,
                    "the optimiser", &stretches));
    size_t count = stretch(network, matrices, stretches);
    return gn_optimizer_set_decay(ctx, optimizer, stretches, count);
}

gerne_status gn_network_optimizer(gerne_ctx *ctx, const gn_optimizer_options *options,
                                  const gn_network *network, gn_optimizer **out)
{
    GN_TRY(gn_optimizer_new(ctx, options, gn_network_trained(network), out));
    if (options->optimizer != GN_ADAMW || !gn_network_architecture(network)->decays_matrices)
        return GERNE_OK;
    gerne_status status = set_decay(ctx, network, !options->compat_bert_decay, *out);
    if (status != GERNE_OK) {
        gn_optimizer_close(*out);
        *out = NULL;
    }
    return status;
}
