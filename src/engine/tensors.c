/* tensors.c - the tensors of a program while it is put together. */
#include "engine/internal.h"

#include <string.h>

int64_t gn_rows_of(const gn_maker *m, const gn_node *node)
{
    return node->packed ? m->tokens : m->batch;
}

gerne_status gn_describe_value(gn_compiler *c, const gn_node *node, gn_type type,
                               const gn_description **out)
{
    int64_t dims[GN_DIMS_MAX];
    memcpy(dims, node->dims, sizeof dims);
    dims[0] = gn_rows_of(&c->maker, node);
    return gn_describe(&c->maker, type, node->ndims, dims, GN_PLAIN_ORDER, out);
}

const gn_description *gn_description_of(const gn_compiler *c, int tensor)
{
    return c->program->tensors[tensor].description;
}

static gerne_status add_buffer(gn_compiler *c, size_t size, void *fixed, int *out)
{
    gn_program *p = c->program;
    GN_TRY(gn_grow(c->maker.ctx, &p->buffers, &p->buffer_capacity, p->buffer_count + 1,
                   sizeof *p->buffers, "a program"));
    *out = (int)p->buffer_count;
    p->buffers[p->buffer_count++] = (gn_buffer){.size = size, .fixed = fixed};
    return GERNE_OK;
}

static gerne_status add_tensor(gn_compiler *c, const gn_description *description, int buffer,
                               int *out)
{
    gn_program *p = c->program;
    GN_TRY(gn_grow(c->maker.ctx, &p->tensors, &p->tensor_capacity, p->tensor_count + 1,
                   sizeof *p->tensors, "a program"));
    *out = (int)p->tensor_count;
    p->tensors[p->tensor_count++] = (gn_tensor){description, buffer};
    return GERNE_OK;
}

gerne_status gn_new_image(gn_compiler *c, const gn_node *node, int64_t block, int *out)
{
    const gn_description *description;
    int64_t dims[4] = {c->maker.batch, node->dims[1], node->dims[2], node->dims[3]};
    GN_TRY(gn_describe(&c->maker, GN_FLOAT32, 4, dims,
                       block == 16 ? GN_IMAGE_BLOCKS_16 : GN_IMAGE_BLOCKS_8, &description));
    return gn_new_tensor(c, description, out);
}

gerne_status gn_fixed_tensor(gn_compiler *c, const gn_description *description, void *memory,
                             int *out)
{
    int buffer;
    GN_TRY(add_buffer(c, description->size, memory, &buffer));
    return add_tensor(c, description, buffer, out);
}

gerne_status gn_new_tensor(gn_compiler *c, const gn_description *description, int *out)
{
    return gn_fixed_tensor(c, description, NULL, out);
}

gerne_status gn_alias_tensor(gn_compiler *c, int tensor, const gn_description *description,
                             int *out)
{
    return add_tensor(c, description, c->program->tensors[tensor].buffer, out);
}

gerne_status gn_workspace_tensor(gn_compiler *c, const gn_kernel *kernel, int *out)
{
    *out = -1;
    return kernel->workspace ? gn_new_tensor(c, kernel->workspace, out) : GERNE_OK;
}

gerne_status gn_reorder(gn_compiler *c, int from, int to)
{
    gn_kernel kernel;
    GN_TRY(
        gn_make_reorder(&c->maker, gn_description_of(c, from), gn_description_of(c, to), &kernel));
    return gn_emit(c, &kernel, (int[]){from, to}, 2);
}

gerne_status gn_in_layout(gn_compiler *c, int tensor, const gn_description *wanted, int *out)
{
    *out = tensor;
    if (gn_same_description(gn_description_of(c, tensor), wanted))
        return GERNE_OK;
    GN_TRY(gn_new_tensor(c, wanted, out));
    return gn_reorder(c, tensor, *out);
}

gerne_status gn_reshape(gn_compiler *c, int tensor, const gn_description *wanted, int *out)
{
    const gn_description *from = gn_description_of(c, tensor), *plain;
    GN_TRY(gn_describe(&c->maker, wanted->type, from->ndims, from->dims, GN_PLAIN_ORDER, &plain));
    GN_TRY(gn_in_layout(c, tensor, plain, out));
    return plain == wanted ? GERNE_OK : gn_alias_tensor(c, *out, wanted, out);
}

gerne_status gn_as_floats(gn_compiler *c, const gn_node *node, int tensor, int *out)
{
    const gn_description *plain;
    GN_TRY(gn_describe_value(c, node, GN_FLOAT32, &plain));
    return gn_in_layout(c, tensor, plain, out);
}

gerne_status gn_new_floats(gn_compiler *c, const gn_node *node, int *out)
{
    const gn_description *plain;
    GN_TRY(gn_describe_value(c, node, GN_FLOAT32, &plain));
    return gn_new_tensor(c, plain, out);
}

gerne_status gn_from_floats(gn_compiler *c, const gn_node *node, int floats, int *out)
{
    const gn_description *wanted;
    GN_TRY(gn_describe_value(c, node, c->type, &wanted));
    GN_TRY(gn_settle(c, floats));
    return gn_in_layout(c, floats, wanted, out);
}

void *gn_tensor_data(const gn_program *program, int tensor)
{
    const gn_buffer *buffer = &program->buffers[program->tensors[tensor].buffer];
    return buffer->fixed ? buffer->fixed : program->memory->bytes + buffer->offset;
}
