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

static gerne_status emit(gn_compiler *c, const gn_kernel *kernel, const int *tensors, int count,
                         gn_when when)
{
    gn_program *p = c->program;
    gerne_ctx *ctx = c->maker.ctx;
    GN_TRY(gn_grow(ctx, &p->calls, &p->call_capacity, p->call_count + 1, sizeof *p->calls,
                   "a program"));
    gn_call call = {.routine = kernel->routine,
                    .node = kernel->node,
                    .scratchpad = kernel->scratchpad,
                    .when = when,
                    .suits = c->suits,
                    .is_product = kernel->is_product,
                    .count = count};
    if (!kernel->routine)
        GN_TRY(gn_primitive_new(ctx, p->device, kernel, &call.primitive));
    /* The scratchpad is one region for all calls; they run one after the other. */
    if (kernel->scratchpad && kernel->scratchpad->size > p->scratchpad_size)
        p->scratchpad_size = kernel->scratchpad->size;
    for (int i = 0; i < count; i++) {
        call.tensors[i] = tensors[i];
        if (tensors[i] >= 0)
            touch(p, tensors[i], p->call_count);
    }
    p->calls[p->call_count++] = call;
    return GERNE_OK;
}

gerne_status gn_emit(gn_compiler *c, const gn_kernel *kernel, const int *tensors, int count)
{
    return emit(c, kernel, tensors, count, GN_ALWAYS);
}

static bool emulates(const gn_compiler *c)
{
    return gn_device_emulates(c->program->device);
}

gerne_status gn_settle(gn_compiler *c, int tensor)
{
    if (!emulates(c))
        return GERNE_OK;
    return gn_emit(c, &(gn_kernel){.routine = gn_round_to}, (int[]){tensor, tensor}, 2);
}

/* ---- parameters ---- */

static int in_store(const gn_compiler *c, const gn_node *node, int which)
{
    return c->parameter_base + node->parameters[which];
}

const gn_description *gn_parameter_description(const gn_compiler *c, const gn_node *node, int which)
{
    return c->program->store->parameters[in_store(c, node, which)].description;
}

bool gn_parameter_trains(const gn_compiler *c, const gn_node *node, int which)
{
    return !gn_is_frozen(c->program->graph, node) &&
           gn_is_trained(c->program->store->parameters[in_store(c, node, which)].parameter.role);
}

gerne_status gn_parameter_tensor(gn_compiler *c, const gn_node *node, int which, int *out)
{
    return gn_fixed_tensor(c, gn_parameter_description(c, node, which),
                           gn_store_values_of(c->program->store, in_store(c, node, which)), out);
}

gerne_status gn_weight_tensor(gn_compiler *c, const gn_node *node, int which,
                              const gn_description *stored, const gn_description *wanted, int *out)
{
    int values, laid_out;
    GN_TRY(gn_fixed_tensor(
        c, stored, gn_store_values_of(c->program->store, in_store(c, node, which)), &values));
    GN_TRY(gn_in_layout(c, values, wanted, &laid_out));
    *out = laid_out;
    if (!emulates(c))
        return GERNE_OK;
    GN_TRY(gn_new_tensor(c, wanted, out));
    return gn_emit(c, &(gn_kernel){.routine = gn_round_to}, (int[]){laid_out, *out}, 2);
}

/* Where a gradient goes first: straight into the store when it is replaced and the layouts agree,
 * otherwise into a tensor of its own. */
static gerne_status gradient_targets(gn_compiler *c, const gn_node *node,
                                     const gn_gradient_output *output, bool accumulating,
                                     int *stored, int *target)
{
    const gn_description *description =
        output->joined ? output->joined : gn_parameter_description(c, node, output->which);
    gn_store *store = c->program->store;
    float *gradients = gn_store_gradients_of(store, in_store(c, node, output->which));
    GN_TRY(gn_fixed_tensor(c, description, gradients + output->at, stored));
    *target = *stored;
    if (!accumulating && gn_same_description(output->description, description))
        return GERNE_OK;
    return gn_new_tensor(c, output->description, target);
}

/* A gradient of a part of a parameter, as one of the whole: zeros around it. */
static gerne_status spread(gn_compiler *c, int part, int stored, const gn_description *view,
                           int *out)
{
    int inside;
    GN_TRY(gn_new_tensor(c, gn_description_of(c, stored), out));
    GN_TRY(gn_emit(c, &(gn_kernel){.routine = gn_clear}, out, 1));
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
        GN_TRY(gn_in_layout(c, target, gn_description_of(c, stored), &from));
    const gn_kernel kernel = {.routine = when == GN_ACCUMULATING ? gn_add_to : gn_copy_to};
    return emit(c, &kernel, (int[]){from, stored}, 2, when);
}

static gerne_status emit_gradients(gn_compiler *c, const gn_kernel *kernel, const gn_node *node,
                                   const int *tensors, int count, const gn_gradient_output *outputs,
                                   int output_count, gn_when when)
{
    int all[GN_ARGUMENTS_MAX], stored[GN_OWNED_MAX];
    int *targets = all + count;
    for (int i = 0; i < count; i++)
        all[i] = tensors[i];
    for (int i = 0; i < output_count; i++)
        GN_TRY(gradient_targets(c, node, &outputs[i], when == GN_ACCUMULATING, &stored[i],
                                &targets[i]));
    GN_TRY(emit(c, kernel, all, count + output_count, when));
    for (int i = 0; i < output_count; i++)
        GN_TRY(deliver(c, &outputs[i], stored[i], targets[i], when));
    return GERNE_OK;
}

gerne_status gn_emit_gradients(gn_compiler *c, const gn_kernel *kernel, const gn_node *node,
                               const int *tensors, int count, const gn_gradient_output *outputs,
                               int output_count)
{
    GN_TRY(emit_gradients(c, kernel, node, tensors, count, outputs, output_count, GN_REPLACING));
    return emit_gradients(c, kernel, node, tensors, count, outputs, output_count, GN_ACCUMULATING);
}

gerne_status gn_emit_own_gradients(gn_compiler *c, const gn_kernel *replace, const gn_kernel *add,
                                   const int *tensors, int count, int gradient_count)
{
    const gn_node *node = replace->node;
    int all[GN_ARGUMENTS_MAX];
    for (int i = 0; i < count; i++)
        all[i] = tensors[i];
    for (int i = 0; i < gradient_count; i++)
        GN_TRY(gn_fixed_tensor(c, gn_parameter_description(c, node, i),
                               gn_store_gradients_of(c->program->store, in_store(c, node, i)),
                               &all[count + i]));
    GN_TRY(emit(c, replace, all, count + gradient_count, GN_REPLACING));
    return emit(c, add, all, count + gradient_count, GN_ACCUMULATING);
}

gerne_status gn_emit_sparse_gradients(gn_compiler *c, gn_routine *replace, gn_routine *add,
                                      const gn_node *node, const int *tensors, int count,
                                      int gradient_count)
{
    return gn_emit_own_gradients(c, &(gn_kernel){.routine = replace, .node = node},
                                 &(gn_kernel){.routine = add, .node = node}, tensors, count,
                                 gradient_count);
}

/* ---- gradients of values ---- */

bool gn_wants_gradient(const gn_compiler *c, gn_value value)
{
    return c->values[value].wants_gradient;
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
    gn_compiled_value *v = &c->values[value];
    if (!v->wants_gradient)
        return GERNE_OK;
    if (v->part_count == GN_PARTS_MAX)
        return gn_fail(c->maker.ctx, GERNE_EINTERNAL, "a value has too many consumers");
    v->parts[v->part_count++] = tensor;
    buffer_of(c, tensor)->readers++;
    return GERNE_OK;
}

/* a + b into a, b or a new tensor: whichever may be written. */
static gerne_status add(gn_compiler *c, int a, int b, int *out)
{
    const gn_description *description = gn_description_of(c, a);
    GN_TRY(gn_in_layout(c, b, description, &b));
    if (!gn_may_overwrite(c, a)) {
        int swap = a;
        a = b;
        b = swap;
    }
    if (gn_may_overwrite(c, a))
        *out = a;
    else
        GN_TRY(gn_new_tensor(c, description, out));
    gn_kernel kernel;
    GN_TRY(gn_make_sum(&c->maker, description, false, &kernel));
    GN_TRY(gn_emit(c, &kernel, (int[]){a, b, *out}, 3));
    return gn_settle(c, *out);
}

gerne_status gn_gradient_of(gn_compiler *c, gn_value value, int *out)
{
    gn_compiled_value *v = &c->values[value];
    *out = v->parts[0];
    for (int i = 1; i < v->part_count; i++)
        GN_TRY(add(c, *out, v->parts[i], out));
    return GERNE_OK;
}

gerne_status gn_emit_relu_gradient(gn_compiler *c, int y, int dy, int *out)
{
    const gn_description *description = gn_description_of(c, y);
    gn_kernel kernel;
    GN_TRY(gn_in_layout(c, dy, description, &dy));
    GN_TRY(gn_make_relu_gradient(&c->maker, description, &kernel));
    *out = dy;
    if (!gn_may_overwrite(c, dy))
        GN_TRY(gn_new_tensor(c, description, out));
    return gn_emit(c, &kernel, (int[]){y, dy, *out}, 3);
}
