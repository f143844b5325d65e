/* descriptions.c - what tensors look like, in oneDNN's terms. */
#include "engine/onednn.h"

#include <string.h>

struct gn_known_description {
    gn_description ours; /* first: pointers to it are pointers to the whole */
    dnnl_memory_desc_t theirs;
};

static const dnnl_data_type_t types[] = {
    [GN_FLOAT32] = dnnl_f32,
    [GN_INT32] = dnnl_s32,
    [GN_BFLOAT16] = dnnl_bf16,
    [GN_BYTES] = dnnl_u8,
};

static gn_type type_of(const dnnl_memory_desc_t *md)
{
    gn_type type = GN_FLOAT32;
    while (type < GN_BYTES && types[type] != md->data_type)
        type++;
    return type;
}

const void *gn_to_dnnl(const gn_description *description)
{
    return description ? &((const gn_known_description *)description)->theirs : NULL;
}

static gerne_status remember(gn_maker *m, const dnnl_memory_desc_t *md, const gn_description **out)
{
    gn_device *device = m->device;
    gn_known_description *known;
    GN_TRY(gn_grow(m->ctx, &device->known, &device->known_capacity, device->known_count + 1,
                   sizeof *device->known, "the engine"));
    GN_TRY(gn_alloc(m->ctx, 1, sizeof *known, "the engine", &known));
    known->theirs = *md;
    known->ours = (gn_description){.type = type_of(md), .ndims = md->ndims};
    for (int i = 0; i < md->ndims && i < GN_DIMS_MAX; i++)
        known->ours.dims[i] = md->dims[i];
    if (md->format_kind != dnnl_format_kind_any)
        known->ours.size = dnnl_memory_desc_get_size(md);
    device->known[device->known_count++] = known;
    *out = &known->ours;
    return GERNE_OK;
}

/* By their bytes: oneDNN's own comparison ignores the strides of sides of length 1, which decide
 * which kernel it takes. */
gerne_status gn_from_dnnl(gn_maker *m, const void *md, const gn_description **out)
{
    *out = NULL;
    if (!md)
        return GERNE_OK;
    for (size_t i = 0; i < m->device->known_count; i++)
        if (memcmp(&m->device->known[i]->theirs, md, sizeof(dnnl_memory_desc_t)) == 0) {
            *out = &m->device->known[i]->ours;
            return GERNE_OK;
        }
    return remember(m, md, out);
}

void gn_forget_descriptions(gn_device *device)
{
    for (size_t i = 0; i < device->known_count; i++)
        gn_free(device->known[i]);
    gn_free(device->known);
}

static dnnl_format_tag_t tag_of(gn_order order, int ndims)
{
    static const dnnl_format_tag_t plain[] = {dnnl_format_tag_undef, dnnl_a, dnnl_ab, dnnl_abc,
                                              dnnl_abcd};
    static const dnnl_format_tag_t others[] = {
        [GN_ANY_ORDER] = dnnl_format_tag_any, [GN_COLUMN_ORDER] = dnnl_ba,
        [GN_BLOCKED_ORDER] = dnnl_ABcd8b8a,   [GN_TAPS_ORDER] = dnnl_hwio,
        [GN_IMAGE_BLOCKS_8] = dnnl_nChw8c,    [GN_IMAGE_BLOCKS_16] = dnnl_nChw16c,
    };
    return order == GN_PLAIN_ORDER ? plain[ndims] : others[order];
}

gerne_status gn_describe(gn_maker *m, gn_type type, int ndims, const int64_t *dims, gn_order order,
                         const gn_description **out)
{
    dnnl_dims_t all = {0};
    dnnl_memory_desc_t md;
    memcpy(all, dims, (size_t)ndims * sizeof *dims);
    GN_DNNL(m->ctx,
            dnnl_memory_desc_init_by_tag(&md, ndims, all, types[type], tag_of(order, ndims)));
    return gn_from_dnnl(m, &md, out);
}

gerne_status gn_describe_part(gn_maker *m, const gn_description *whole, const int64_t *dims,
                              const int64_t *offsets, const gn_description **out)
{
    dnnl_dims_t sides = {0}, start = {0};
    dnnl_memory_desc_t md;
    memcpy(sides, dims, (size_t)whole->ndims * sizeof *dims);
    memcpy(start, offsets, (size_t)whole->ndims * sizeof *offsets);
    GN_DNNL(m->ctx, dnnl_memory_desc_init_submemory(&md, gn_to_dnnl(whole), sides, start));
    return gn_from_dnnl(m, &md, out);
}

int64_t gn_channel_block(const gn_description *description)
{
    static const struct {
        int64_t block;
        dnnl_format_tag_t tag;
    } known[] = {{16, dnnl_nChw16c}, {8, dnnl_nChw8c}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        dnnl_memory_desc_t blocked;
        const dnnl_memory_desc_t *md = gn_to_dnnl(description);
        if (description->ndims == 4 && description->type == GN_FLOAT32 &&
            description->dims[1] % known[i].block == 0 &&
            dnnl_memory_desc_init_by_tag(&blocked, 4, md->dims, dnnl_f32, known[i].tag) ==
                dnnl_success &&
            dnnl_memory_desc_equal(&blocked, md))
            return known[i].block;
    }
    return 0;
}

int64_t gn_output_block(const gn_description *weights)
{
    const dnnl_memory_desc_t *md = gn_to_dnnl(weights);
    const dnnl_blocking_desc_t *b = &md->format_desc.blocking;
    if (weights->type != GN_FLOAT32 || md->format_kind != dnnl_blocked || b->inner_nblks < 1 ||
        b->inner_idxs[b->inner_nblks - 1] != 0)
        return 0;
    int64_t block = b->inner_blks[b->inner_nblks - 1];
    if (weights->dims[0] % block != 0 || md->padded_dims[0] != weights->dims[0])
        return 0;
    for (int i = 0; i < b->inner_nblks - 1; i++) /* no other blocks of outputs */
        if (b->inner_idxs[i] == 0)
            return 0;
    for (int i = 1; i < md->ndims; i++)
        if (b->strides[i] > b->strides[0])
            return 0;
    return block;
}

bool gn_same_description(const gn_description *a, const gn_description *b)
{
    return a == b || dnnl_memory_desc_equal(gn_to_dnnl(a), gn_to_dnnl(b));
}
