/* program.c - a graph for one batch size: calls, memory, running them. */
#include "engine/internal.h"

#include "engine/routines.h"

/* ---- putting it together ---- */

static gerne_status emit_input(gn_compiler *c, const gn_node *node)
{
    gn_program *p = c->program;
    const gn_description *description;
    int tensor;
    GN_TRY(gn_describe_value(c, node, node->type, &description));
    GN_TRY(gn_new_tensor(c, description, &tensor));
    p->inputs[node->port] = (gn_port){node, tensor, -1};
    c->values[node->value].tensor = tensor;
    if (!gn_device_emulates(p->device) || node->type != GN_FLOAT32)
        return GERNE_OK;
    int rounded;
    GN_TRY(gn_new_tensor(c, description, &rounded));
    c->values[node->value].tensor = rounded;
    return gn_emit(c, &(gn_kernel){.routine = gn_round_to}, (int[]){tensor, rounded}, 2);
}

static gerne_status emit_forward(gn_compiler *c, const gn_graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const gn_node *node = &graph->nodes[i];
        GN_TRY(node->layer ? node->layer->forward(c, node) : emit_input(c, node));
    }
    const gn_node *last = &graph->nodes[graph->output];
    const gn_description *plain;
    GN_TRY(gn_describe_value(c, last, GN_FLOAT32, &plain));
    GN_TRY(gn_in_layout(c, c->values[last->value].tensor, plain, &c->program->output));
    c->program->backward_start = c->program->call_count;
    return GERNE_OK;
}

/* A value wants a gradient when something before it trains, or when it is an input whose gradient
 * is asked for. */
static void mark_wanted(gn_compiler *c, const gn_graph *graph, bool input_gradients)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const gn_node *node = &graph->nodes[i];
        bool wanted = !node->layer && input_gradients && node->type == GN_FLOAT32;
        for (int j = 0; j < node->input_count; j++)
            wanted = wanted || c->values[node->inputs[j]].wants_gradient;
        for (int j = 0; j < node->parameter_count; j++)
            wanted = wanted || gn_parameter_trains(c, node, j);
        c->values[i].wants_gradient = wanted;
    }
}

/* Of the inputs that layers gave gradients to. */
static gerne_status collect_input_gradients(gn_compiler *c)
{
    for (size_t i = 0; i < c->program->graph->input_count; i++) {
        gn_port *port = &c->program->inputs[i];
        const gn_description *plain;
        int gradient;
        if (c->values[port->node->value].part_count == 0)
            continue;
        GN_TRY(gn_gradient_of(c, port->node->value, &gradient));
        GN_TRY(gn_describe_value(c, port->node, GN_FLOAT32, &plain));
        GN_TRY(gn_in_layout(c, gradient, plain, &port->gradient));
    }
    return GERNE_OK;
}

/* What the node's layer has just appended makes the gradients of its parameters. */
static void note_final(gn_compiler *c, const gn_node *node)
{
    gn_program *p = c->program;
    for (int j = 0; j < node->parameter_count; j++)
        if (gn_parameter_trains(c, node, j)) {
            p->calls[p->call_count - 1].final =
                gn_store_gradients_of(p->store, c->parameter_base + node->parameters[j]);
            return;
        }
}

static gerne_status emit_backward(gn_compiler *c, const gn_graph *graph, bool input_gradients)
{
    gn_program *p = c->program;
    mark_wanted(c, graph, input_gradients);
    const gn_node *last = &graph->nodes[graph->output];
    const gn_description *plain;
    GN_TRY(gn_describe_value(c, last, GN_FLOAT32, &plain));
    GN_TRY(gn_new_tensor(c, plain, &p->output_gradient));
    GN_TRY(gn_settle(c, p->output_gradient));
    GN_TRY(gn_give_gradient(c, last->value, p->output_gradient));
    for (size_t i = graph->node_count; i-- > 0;) {
        const gn_node *node = &graph->nodes[i];
        if (!node->layer || c->values[i].part_count == 0)
            continue;
        GN_TRY(node->layer->backward(c, node));
        note_final(c, node);
    }
    return collect_input_gradients(c);
}

/* What callers fill or read between the calls must live at that time. */
static void extend_life(gn_program *p, int tensor, size_t first, size_t last)
{
    if (tensor < 0)
        return;
    gn_buffer *buffer = &p->buffers[p->tensors[tensor].buffer];
    if (!buffer->used || first < buffer->first)
        buffer->first = first;
    if (!buffer->used || last > buffer->last)
        buffer->last = last;
    buffer->used = true;
}

gerne_status gn_memory_new(gerne_ctx *ctx, gn_memory **out)
{
    return gn_alloc(ctx, 1, sizeof **out, "a program", out);
}

void gn_memory_close(gn_memory *memory)
{
    if (!memory)
        return;
    gn_free(memory->bytes);
    gn_free(memory);
}

/* Until the program has room. What other programs have in it is lost: they run from the start. */
static gerne_status grow(gerne_ctx *ctx, gn_memory *memory, const gn_program *p)
{
    if (p->memory_size <= memory->size && memory->bytes)
        return GERNE_OK;
    gn_free(memory->bytes);
    *memory = (gn_memory){0};
    size_t available = gn_memory_available();
    gerne_status status = GERNE_OK;
    if (p->memory_size > available)
        status = gn_fail(
            ctx, GERNE_ENOMEM, "a batch of %lld samples needs %.1f GiB, but only %.1f GiB are free",
            (long long)p->batch, (double)p->memory_size / 0x1p30, (double)available / 0x1p30);
    else
        status = gn_alloc_aligned(ctx, p->memory_size, 1, "a batch", &memory->bytes);
    if (status == GERNE_OK)
        memory->size = p->memory_size;
    else
        gn_hint(ctx, "use smaller batches");
    return status;
}

static gerne_status reserve(gerne_ctx *ctx, gn_program *p)
{
    size_t end = p->call_count, planned;
    for (size_t i = 0; i < p->graph->input_count; i++) {
        extend_life(p, p->inputs[i].tensor, 0, 0);
        extend_life(p, p->inputs[i].gradient, end, end);
    }
    extend_life(p, p->output, p->backward_start, p->backward_start);
    extend_life(p, p->output_gradient, p->backward_start, p->backward_start);
    GN_TRY(gn_plan_memory(ctx, p->buffers, p->buffer_count, &planned));
    p->memory_size = planned + p->scratchpad_size;
    return grow(ctx, p->memory, p);
}

static gerne_status bind(gerne_ctx *ctx, gn_program *p, const gn_call *call)
{
    for (int i = 0; i < call->count; i++) {
        int tensor = call->tensors[i];
        if (tensor >= 0)
            GN_TRY(gn_primitive_bind(ctx, call->primitive, i, p->tensors[tensor].description,
                                     gn_tensor_data(p, tensor)));
    }
    if (!call->scratchpad)
        return GERNE_OK;
    return gn_primitive_bind(ctx, call->primitive, GN_SCRATCHPAD, call->scratchpad,
                             p->memory->bytes + p->memory_size - p->scratchpad_size);
}

/* To where the memory is now. */
static gerne_status bind_all(gerne_ctx *ctx, gn_program *p)
{
    for (size_t i = 0; i < p->call_count; i++)
        if (p->calls[i].primitive)
            GN_TRY(bind(ctx, p, &p->calls[i]));
    p->bound = p->memory->bytes;
    return GERNE_OK;
}

static gerne_status compile(gn_compiler *c, bool input_gradients)
{
    gn_program *p = c->program;
    gerne_ctx *ctx = c->maker.ctx;
    GN_TRY(gn_alloc(ctx, p->graph->node_count, sizeof *c->values, "a program", &c->values));
    GN_TRY(gn_alloc(ctx, p->graph->input_count, sizeof *p->inputs, "a program", &p->inputs));
    GN_TRY(emit_forward(c, p->graph));
    if (p->mode != GN_MODE_INFER)
        GN_TRY(emit_backward(c, p->graph, input_gradients));
    GN_TRY(reserve(ctx, p));
    return bind_all(ctx, p);
}

static const gn_part *part_of(const gn_store *store, const gn_graph *graph)
{
    for (int i = 0; i < store->part_count; i++)
        if (store->parts[i].graph == graph)
            return &store->parts[i];
    return NULL;
}

/* Takes over what is in p, also after a failure. */
static gerne_status make(gerne_ctx *ctx, gn_program *p, const gn_part *part, bool input_gradients,
                         gn_program **out)
{
    gn_device *device = p->device;
    bool native_bf16 = gn_device_precision(device) == GN_BF16 && !gn_device_emulates(device);
    gn_compiler c = {
        .maker = {.ctx = ctx,
                  .device = device,
                  .graph = p->graph,
                  .batch = p->batch,
                  .tokens = p->tokens},
        .program = p,
        .type = native_bf16 ? GN_BFLOAT16 : GN_FLOAT32,
        .parameter_base = part->first,
    };
    gerne_status status = p->memory ? GERNE_OK : gn_memory_new(ctx, &p->memory);
    if (status == GERNE_OK)
        status = compile(&c, input_gradients);
    gn_maker_close(&c.maker);
    gn_free(c.values);
    if (status != GERNE_OK) {
        gn_program_close(p);
        return status;
    }
    *out = p;
    return GERNE_OK;
}

gerne_status gn_program_new(gerne_ctx *ctx, gn_graph *graph, gn_store *store, int64_t batch,
                            gn_mode mode, bool input_gradients, gn_memory *memory, gn_program **out)
{
    *out = NULL;
    const gn_part *part = part_of(store, graph);
    if (!part || batch < 1 || batch > INT32_MAX)
        return gn_fail(ctx, GERNE_EUSAGE, "a batch of %lld samples cannot be run",
                       (long long)batch);
    gn_program *p;
    GN_TRY(gn_alloc(ctx, 1, sizeof *p, "a program", &p));
    *p = (gn_program){.device = graph->device,
                      .graph = graph,
                      .store = store,
                      .batch = batch,
                      .tokens = 1,
                      .mode = mode,
                      .memory = memory,
                      .owns_memory = !memory,
                      .output = -1,
                      .output_gradient = -1};
    return make(ctx, p, part, input_gradients, out);
}

gerne_status gn_program_new_packed(gerne_ctx *ctx, gn_graph *graph, gn_store *store, int64_t batch,
                                   int64_t tokens, gn_mode mode, gn_memory *memory,
                                   gn_program **out)
{
    *out = NULL;
    const gn_part *part = part_of(store, graph);
    if (!part || batch < 1 || tokens < 1 || batch > INT32_MAX || tokens > INT32_MAX)
        return gn_fail(ctx, GERNE_EUSAGE, "a batch of %lld samples of %lld tokens cannot be run",
                       (long long)batch, (long long)tokens);
    gn_program *p;
    GN_TRY(gn_alloc(ctx, 1, sizeof *p, "a program", &p));
    *p = (gn_program){.device = graph->device,
                      .graph = graph,
                      .store = store,
                      .batch = batch,
                      .tokens = tokens,
                      .mode = mode,
                      .memory = memory,
                      .output = -1,
                      .output_gradient = -1};
    return make(ctx, p, part, false, out);
}

void gn_program_close(gn_program *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->call_count; i++)
        gn_primitive_close(p->calls[i].primitive);
    gn_free(p->calls);
    gn_free(p->tensors);
    gn_free(p->buffers);
    gn_free(p->inputs);
    if (p->owns_memory)
        gn_memory_close(p->memory);
    gn_free(p);
}

/* ---- running ---- */

static gerne_status run_call(gerne_ctx *ctx, gn_program *p, const gn_call *call)
{
    if (!call->routine)
        return gn_primitive_start(ctx, call->primitive);
    call->routine(p, call);
    return p->unreached;
}

static gerne_status run(gerne_ctx *ctx, gn_program *p, size_t from, size_t to, gn_when skip,
                        bool products_only)
{
    const gn_store *store = p->store;
    if (p->bound != p->memory->bytes)
        GN_TRY(bind_all(ctx, p));
    p->failed = false;
    p->ctx = ctx;
    p->unreached = GERNE_OK;
    for (size_t i = from; i < to; i++) {
        const gn_call *call = &p->calls[i];
        bool suits = call->suits == GN_ANY_INPUT || call->suits == p->input;
        if (suits && call->when != skip && (!products_only || call->is_product))
            GN_TRY(run_call(ctx, p, call));
        if (call->final && store->watcher) {
            GN_TRY(gn_primitives_wait(ctx, p->device));
            store->watcher(store->watcher_user, call->final);
        }
    }
    if (p->failed)
        return gn_fail(ctx, GERNE_ENOMEM, "no memory for a kernel");
    return gn_primitives_wait(ctx, p->device);
}

gerne_status gn_program_forward(gerne_ctx *ctx, gn_program *p)
{
    p->memory->last = p;
    return run(ctx, p, 0, p->backward_start, GN_ACCUMULATING, false);
}

gerne_status gn_program_backward(gerne_ctx *ctx, gn_program *p, bool accumulate)
{
    if (p->memory->last != p)
        return gn_fail(ctx, GERNE_EINTERNAL, "backward after another program has run forward");
    return run(ctx, p, p->backward_start, p->call_count,
               accumulate ? GN_REPLACING : GN_ACCUMULATING, false);
}

gerne_status gn_program_run_products(gerne_ctx *ctx, gn_program *p)
{
    return run(ctx, p, 0, p->call_count, GN_ACCUMULATING, true);
}

static void *data_or_null(const gn_program *p, int tensor)
{
    return tensor < 0 ? NULL : gn_tensor_data(p, tensor);
}

void *gn_program_input(gn_program *p, const char *name)
{
    const gn_node *node = gn_find_input(p->graph, name);
    return node ? gn_tensor_data(p, p->inputs[node->port].tensor) : NULL;
}

float *gn_program_input_gradient(gn_program *p, const char *name)
{
    const gn_node *node = gn_find_input(p->graph, name);
    return node ? data_or_null(p, p->inputs[node->port].gradient) : NULL;
}

const float *gn_program_output(const gn_program *p)
{
    return gn_tensor_data(p, p->output);
}

float *gn_program_output_gradient(gn_program *p)
{
    return data_or_null(p, p->output_gradient);
}
