/* tensors.c - descriptions, and the tensors of a program while it is put together. */
#include "engine/internal.h"

#include <string.h>

dnnl_format_tag_t gn_plain_tag(int ndims)
{
    static const dnnl_format_tag_t tags[] = {dnnl_format_tag_undef, dnnl_a, dnnl_ab, dnnl_abc,
                                             dnnl_abcd};
    return tags[ndims];
}

gerne_status gn_describe(gerne_ctx *ctx, int ndims, const int64_t *dims, dnnl_data_type_t type,
                         dnnl_format_tag_t tag, dnnl_memory_desc_t *out)
{
    dnnl_dims_t all = {0};
    memcpy(all, dims, (size_t)ndims * sizeof *dims);
    GN_DNNL(ctx, dnnl_memory_desc_init_by_tag(out, ndims, all, type, tag));
    return GERNE_OK;
}

gerne_status gn_describe_any(gn_compiler *c, const gn_node *node, dnnl_memory_desc_t *out)
{
    int64_t dims[GN_DIMS_MAX];
    memcpy(dims, node->dims, sizeof dims);
    dims[0] = c->batch;
    return gn_describe(c->ctx, node->ndims, dims, c->type, dnnl_format_tag_any, out);
}

const dnnl_memory_desc_t *gn_description(const gn_compiler *c, int tensor)
{
    return &c->program->tensors[tensor].description;
}

const dnnl_memory_desc_t *gn_query(const_dnnl_primitive_desc_t pd, dnnl_query_t what)
{
    return dnnl_primitive_desc_query_md(pd, what, 0);
}

bool gn_is_reference(const_dnnl_primitive_desc_t pd)
{
    const char *name = NULL;
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&name);
    return name && strstr(name, "ref") != NULL;
}

static dnnl_status_t make_attributes(bool relu, dnnl_primitive_attr_t *out)
{
    dnnl_post_ops_t after = NULL;
    dnnl_status_t s = dnnl_primitive_attr_create(out);
    if (s == dnnl_success)
        s = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
    if (s == dnnl_success && relu) {
        s = dnnl_post_ops_create(&after);
        if (s == dnnl_success)
            s = dnnl_post_ops_append_eltwise(after, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
        if (s == dnnl_success)
            s = dnnl_primitive_attr_set_post_ops(*out, after);
        if (after)
            dnnl_post_ops_destroy(after);
    }
    return s;
}

gerne_status gn_primitive_description(gerne_ctx *ctx, gn_device *device, const_dnnl_op_desc_t op,
                                      bool relu, const_dnnl_primitive_desc_t hint,
                                      dnnl_primitive_desc_t *out)
{
    *out = NULL;
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_status_t s = make_attributes(relu, &attributes);
    if (s == dnnl_success)
        s = dnnl_primitive_desc_create(out, op, attributes, device->engine, hint);
    if (attributes)
        dnnl_primitive_attr_destroy(attributes);
    return gn_dnnl(ctx, s, "describing a kernel");
}

static gerne_status add_buffer(gn_compiler *c, size_t size, void *fixed, int *out)
{
    gn_program *p = c->program;
    GN_TRY(gn_grow(c->ctx, &p->buffers, &p->buffer_capacity, p->buffer_count + 1,
                   sizeof *p->buffers, "a program"));
    *out = (int)p->buffer_count;
    p->buffers[p->buffer_count++] = (gn_buffer){.size = size, .fixed = fixed};
    return GERNE_OK;
}

static gerne_status add_tensor(gn_compiler *c, const dnnl_memory_desc_t *description, int buffer,
                               int *out)
{
    gn_program *p = c->program;
    gn_tensor tensor = {.description = *description, .buffer = buffer}; /* before the list moves */
    GN_TRY(gn_grow(c->ctx, &p->tensors, &p->tensor_capacity, p->tensor_count + 1,
                   sizeof *p->tensors, "a program"));
    GN_DNNL(c->ctx, dnnl_memory_create(&tensor.memory, &tensor.description, c->device->engine,
                                       DNNL_MEMORY_NONE));
    *out = (int)p->tensor_count;
    p->tensors[p->tensor_count++] = tensor;
    return GERNE_OK;
}

gerne_status gn_new_tensor(gn_compiler *c, const dnnl_memory_desc_t *description, int *out)
{
    int buffer;
    GN_TRY(add_buffer(c, dnnl_memory_desc_get_size(description), NULL, &buffer));
    return add_tensor(c, description, buffer, out);
}

gerne_status gn_fixed_tensor(gn_compiler *c, const dnnl_memory_desc_t *description, void *memory,
                             int *out)
{
    int buffer;
    GN_TRY(add_buffer(c, dnnl_memory_desc_get_size(description), memory, &buffer));
    return add_tensor(c, description, buffer, out);
}

gerne_status gn_alias_tensor(gn_compiler *c, int tensor, const dnnl_memory_desc_t *description,
                             int *out)
{
    return add_tensor(c, description, c->program->tensors[tensor].buffer, out);
}

gerne_status gn_reorder(gn_compiler *c, int from, int to)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_status_t s = make_attributes(false, &attributes);
    if (s == dnnl_success)
        s = dnnl_reorder_primitive_desc_create(&pd, gn_description(c, from), c->device->engine,
                                               gn_description(c, to), c->device->engine,
                                               attributes);
    if (attributes)
        dnnl_primitive_attr_destroy(attributes);
    GN_TRY(gn_dnnl(c->ctx, s, "describing a reorder"));
    gn_argument arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return gn_emit(c, pd, arguments, 2, GN_ALWAYS, false);
}

gerne_status gn_in_layout(gn_compiler *c, int tensor, const dnnl_memory_desc_t *wanted, int *out)
{
    *out = tensor;
    if (dnnl_memory_desc_equal(gn_description(c, tensor), wanted))
        return GERNE_OK;
    GN_TRY(gn_new_tensor(c, wanted, out));
    return gn_reorder(c, tensor, *out);
}

void *gn_tensor_data(const gn_program *program, int tensor)
{
    const gn_buffer *buffer = &program->buffers[program->tensors[tensor].buffer];
    return buffer->fixed ? buffer->fixed : program->memory + buffer->offset;
}

size_t gn_tensor_bytes(const gn_program *program, int tensor)
{
    return dnnl_memory_desc_get_size(&program->tensors[tensor].description);
}
