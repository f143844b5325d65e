/* calls.c - appending calls to a program, with the gradients they make. */
#include "engine/internal.h"

#include "engine/routines.h"

static void touch(gn_program *p, int tensor, size_t call)
{
    gn_buffer *buffer = &p->buffers[p->tensors[tensor].buffer];
    if (!buffer->used || call < buffer->first)
        buffer->first = call;
    if (!buffer->used || call > buffer->last)
        buffer->last = call;
    buffer->used = true;
}

static gerne_status append(gn_compiler *c, const gn_call *call)
{
    gn_program *p = c->program;
    GN_TRY(gn_grow(c->ctx, &p->calls, &p->call_capacity, p->call_count + 1, sizeof *p->calls,
                   "a program"));
    for (int i = 0; i < call->count; i++)
        touch(p, call->arguments[i].tensor, p->call_count);
    p->calls[p->call_count++] = *call;
    return GERNE_OK;
}

static gn_call new_call(const gn_argument *arguments, int count, gn_when when)
{
    gn_call call = {.when = when, .count = count};
    for (int i = 0; i < count; i++)
        call.arguments[i] = arguments[i];
    return call;
}

gerne_status gn_emit_routine(gn_compiler *c, gn_routine *routine, const gn_argument *arguments,
                             int count, gn_when when, double number)
{
    gn_call call = new_call(arguments, count, when);
    call.routine = routine;
    call.number = number;
    return append(c, &call);
}

/* The scratchpad is one region for all calls; they run one after the other. */
static gerne_status add_scratchpad(gn_compiler *c, const_dnnl_primitive_desc_t pd, gn_call *call)
{
    const dnnl_memory_desc_t *md = gn_query(pd, dnnl_query_scratchpad_md);
    size_t size = md ? dnnl_memory_desc_get_size(md) : 0;
    if (size == 0)
        return GERNE_OK;
    if (size > c->program->scratchpad_size)
        c->program->scratchpad_size = size;
    GN_DNNL(c->ctx, dnnl_memory_create(&call->scratchpad, md, c->device->engine, DNNL_MEMORY_NONE));
    return GERNE_OK;
}

static void drop(gn_call *call)
{
    if (call->scratchpad)
        dnnl_memory_destroy(call->scratchpad);
    if (call->primitive)
        dnnl_primitive_destroy(call->primitive);
}

static gerne_status emit(gn_compiler *c, const_dnnl_primitive_desc_t pd,
                         const gn_argument *arguments, int count, gn_when when, bool is_product)
{
    gn_call call = new_call(arguments, count, when);
    call.is_product = is_product;
    gerne_status status =
        gn_dnnl(c->ctx, dnnl_primitive_create(&call.primitive, pd), "creating a kernel");
    if (status == GERNE_OK)
        status = add_scratchpad(c, pd, &call);
    if (status == GERNE_OK)
        status = append(c, &call);
    if (status != GERNE_OK)
        drop(&call);
    return status;
}

gerne_status gn_emit(gn_compiler *c, dnnl_primitive_desc_t pd, const gn_argument *arguments,
                     int count, gn_when when, bool is_product)
{
    gerne_status status = emit(c, pd, arguments, count, when, is_product);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

gerne_status gn_settle(gn_compiler *c, int tensor)
{
    if (!c->device->emulates)
        return GERNE_OK;
    return gn_emit_routine(c, gn_round_in_place, &(gn_argument){0, tensor}, 1, GN_ALWAYS, 0);
}

/* ---- parameters ---- */

static int in_store(const gn_compiler *c, const gn_node *node, int which)
{
    return c->parameter_base + node->parameters[which];
}

const dnnl_memory_desc_t *gn_parameter_description(const gn_compiler *c, const gn_node *node,
                                                   int which)
{
    return &c->program->store->descriptions[in_store(c, node, which)];
}

bool gn_parameter_trains(const gn_compiler *c, const gn_node *node, int which)
{
    return gn_is_trained(c->program->store->parameters[in_store(c, node, which)].role);
}

gerne_status gn_parameter_tensor(gn_compiler *c, const gn_node *node, int which, int *out)
{
    int index = in_store(c, node, which);
    return gn_fixed_tensor(c, &c->program->store->descriptions[index],
                           gn_store_values_of(c->program->store, index), out);
}

gerne_status gn_weight_tensor(gn_compiler *c, const gn_node *node, int which,
                              const dnnl_memory_desc_t *wanted, int *out)
{
    int stored, laid_out;
    GN_TRY(gn_parameter_tensor(c, node, which, &stored));
    GN_TRY(gn_in_layout(c, stored, wanted, &laid_out));
    *out = laid_out;
    if (!c->device->emulates)
        return GERNE_OK;
    GN_TRY(gn_new_tensor(c, wanted, out));
    gn_argument arguments[] = {{0, laid_out}, {0, *out}};
    return gn_emit_routine(c, gn_round_copy, arguments, 2, GN_ALWAYS, 0);
}

/* Where a gradient goes first: straight into the store when it is replaced and the layouts agree,
 * otherwise into a tensor of its own. */
static gerne_status gradient_targets(gn_compiler *c, const gn_node *node,
                                     const gn_gradient_output *output, bool accumulating,
                                     int *stored, int *target)
{
    int index = in_store(c, node, output->which);
    gn_store *store = c->program->store;
    GN_TRY(gn_fixed_tensor(c, &store->descriptions[index], gn_store_gradients_of(store, index),
                           stored));
    *target = *stored;
    if (!accumulating && dnnl_memory_desc_equal(output->description, &store->descriptions[index]))
        return GERNE_OK;
    return gn_new_tensor(c, output->description, target);
}

/* A gradient of a part of a parameter, as one of the whole: zeros around it. */
static gerne_status spread(gn_compiler *c, int part, int stored, const dnnl_memory_desc_t *view,
                           int *out)
{
    int inside;
    GN_TRY(gn_new_tensor(c, gn_description(c, stored), out));
    GN_TRY(gn_emit_routine(c, gn_clear, &(gn_argument){0, *out}, 1, GN_ALWAYS, 0));
    GN_TRY(gn_alias_tensor(c, *out, view, &inside));
    return gn_reorder(c, part, inside);
}

static gerne_status deliver(gn_compiler *c, const gn_gradient_output *output, int stored,
                            int target, gn_when when)
{
    if (stored == target)
        return GERNE_OK;
    int from;
    if (output->view)
        GN_TRY(spread(c, target, stored, output->view, &from));
    else
        GN_TRY(gn_in_layout(c, target, gn_description(c, stored), &from));
    gn_argument arguments[] = {{0, from}, {0, stored}};
    return gn_emit_routine(c, when == GN_ACCUMULATING ? gn_add_to : gn_copy_to, arguments, 2, when,
                           0);
}

static gerne_status emit_gradients(gn_compiler *c, const_dnnl_primitive_desc_t pd,
                                   const gn_node *node, const gn_argument *arguments, int count,
                                   const gn_gradient_output *outputs, int output_count,
                                   gn_when when, bool is_product)
{
    gn_argument all[GN_ARGUMENTS_MAX];
    int stored[GN_OWNED_MAX], targets[GN_OWNED_MAX];
    for (int i = 0; i < count; i++)
        all[i] = arguments[i];
    for (int i = 0; i < output_count; i++) {
        GN_TRY(gradient_targets(c, node, &outputs[i], when == GN_ACCUMULATING, &stored[i],
                                &targets[i]));
        all[count + i] = (gn_argument){outputs[i].kind, targets[i]};
    }
    GN_TRY(emit(c, pd, all, count + output_count, when, is_product));
    for (int i = 0; i < output_count; i++)
        GN_TRY(deliver(c, &outputs[i], stored[i], targets[i], when));
    return GERNE_OK;
}

gerne_status gn_emit_gradients(gn_compiler *c, dnnl_primitive_desc_t pd, const gn_node *node,
                               const gn_argument *arguments, int count,
                               const gn_gradient_output *outputs, int output_count, bool is_product)
{
    gerne_status status = emit_gradients(c, pd, node, arguments, count, outputs, output_count,
                                         GN_REPLACING, is_product);
    if (status == GERNE_OK)
        status = emit_gradients(c, pd, node, arguments, count, outputs, output_count,
                                GN_ACCUMULATING, is_product);
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* ---- gradients of values ---- */

bool gn_wants_gradient(const gn_compiler *c, gn_value value)
{
    return c->slots[value].wants_gradient;
}

static gn_buffer *buffer_of(const gn_compiler *c, int tensor)
{
    return &c->program->buffers[c->program->tensors[tensor].buffer];
}

bool gn_may_overwrite(const gn_compiler *c, int tensor)
{
    return buffer_of(c, tensor)->readers <= 1;
}

gerne_status gn_give_gradient(gn_compiler *c, gn_value value, int tensor)
{
    gn_slot *slot = &c->slots[value];
    if (!slot->wants_gradient)
        return GERNE_OK;
    if (slot->part_count == GN_PARTS_MAX)
        return gn_fail(c->ctx, GERNE_EINTERNAL, "a value has too many consumers");
    slot->parts[slot->part_count++] = tensor;
    buffer_of(c, tensor)->readers++;
    return GERNE_OK;
}

/* a + b into a, b or a new tensor: whichever may be written. */
static gerne_status add(gn_compiler *c, int a, int b, int *out)
{
    const dnnl_memory_desc_t md = *gn_description(c, a);
    GN_TRY(gn_in_layout(c, b, &md, &b));
    if (!gn_may_overwrite(c, a)) {
        int swap = a;
        a = b;
        b = swap;
    }
    if (gn_may_overwrite(c, a))
        *out = a;
    else
        GN_TRY(gn_new_tensor(c, &md, out));
    dnnl_binary_desc_t op;
    GN_DNNL(c->ctx, dnnl_binary_desc_init(&op, dnnl_binary_add, &md, &md, &md));
    dnnl_primitive_desc_t pd;
    GN_TRY(gn_primitive_description(c->ctx, c->device, &op, false, NULL, &pd));
    gn_argument arguments[] = {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, *out}};
    GN_TRY(gn_emit(c, pd, arguments, 3, GN_ALWAYS, false));
    return gn_settle(c, *out);
}

gerne_status gn_gradient_of(gn_compiler *c, gn_value value, int *out)
{
    gn_slot *slot = &c->slots[value];
    *out = slot->parts[0];
    for (int i = 1; i < slot->part_count; i++)
        GN_TRY(add(c, *out, slot->parts[i], out));
    return GERNE_OK;
}

gerne_status gn_emit_relu_gradient(gn_compiler *c, int y, int dy, int *out)
{
    const dnnl_memory_desc_t md = *gn_description(c, y);
    GN_TRY(gn_in_layout(c, dy, &md, &dy));
    dnnl_eltwise_desc_t op;
    GN_DNNL(c->ctx, dnnl_eltwise_forward_desc_init(&op, dnnl_forward_training,
                                                   dnnl_eltwise_relu_use_dst_for_bwd, &md, 0, 0));
    dnnl_primitive_desc_t hint, pd;
    GN_TRY(gn_primitive_description(c->ctx, c->device, &op, false, NULL, &hint));
    dnnl_status_t s =
        dnnl_eltwise_backward_desc_init(&op, dnnl_eltwise_relu_use_dst_for_bwd, &md, &md, 0, 0);
    gerne_status status = gn_dnnl(c->ctx, s, "describing a ReLU");
    if (status == GERNE_OK)
        status = gn_primitive_description(c->ctx, c->device, &op, false, hint, &pd);
    dnnl_primitive_desc_destroy(hint);
    GN_TRY(status);
    *out = dy;
    if (!gn_may_overwrite(c, dy)) {
        status = gn_new_tensor(c, &md, out);
        if (status != GERNE_OK) {
            dnnl_primitive_desc_destroy(pd);
            return status;
        }
    }
    gn_argument arguments[] = {
        {DNNL_ARG_DST, y}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, *out}};
    return gn_emit(c, pd, arguments, 3, GN_ALWAYS, false);
}
