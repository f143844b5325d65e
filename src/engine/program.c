/* program.c - a graph for one batch size: calls, memory, running them. */
#include "engine/internal.h"

#include <string.h>

#include "engine/routines.h"

/* ---- putting it together ---- */

static gerne_status describe_plain(gn_compiler *c, const gn_node *node, dnnl_memory_desc_t *out)
{
    int64_t dims[GN_DIMS_MAX];
    memcpy(dims, node->dims, sizeof dims);
    dims[0] = c->batch;
    return gn_describe(c->ctx, node->ndims, dims, dnnl_f32, gn_plain_tag(node->ndims), out);
}

static gerne_status emit_input(gn_compiler *c, const gn_node *node)
{
    gn_program *p = c->program;
    dnnl_memory_desc_t md;
    GN_TRY(describe_plain(c, node, &md));
    GN_TRY(gn_new_tensor(c, &md, &p->input));
    c->slots[node->value].tensor = p->input;
    if (!c->device->emulates)
        return GERNE_OK;
    int rounded;
    GN_TRY(gn_new_tensor(c, &md, &rounded));
    c->slots[node->value].tensor = rounded;
    gn_argument arguments[] = {{0, p->input}, {0, rounded}};
    return gn_emit_routine(c, gn_round_copy, arguments, 2, GN_ALWAYS, 0);
}

static gerne_status emit_forward(gn_compiler *c, const gn_graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const gn_node *node = &graph->nodes[i];
        GN_TRY(node->layer ? node->layer->forward(c, node) : emit_input(c, node));
    }
    const gn_node *last = &graph->nodes[graph->output];
    dnnl_memory_desc_t md;
    GN_TRY(describe_plain(c, last, &md));
    GN_TRY(gn_in_layout(c, c->slots[last->value].tensor, &md, &c->program->output));
    c->program->backward_start = c->program->call_count;
    return GERNE_OK;
}

/* A value wants a gradient when something before it trains, or when the input itself is asked for.
 */
static void mark_wanted(gn_compiler *c, const gn_graph *graph, bool input_gradient)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const gn_node *node = &graph->nodes[i];
        bool wanted = node->layer ? false : input_gradient;
        for (int j = 0; j < node->input_count; j++)
            wanted = wanted || c->slots[node->inputs[j]].wants_gradient;
        for (int j = 0; j < node->parameter_count; j++)
            wanted = wanted || gn_parameter_trains(c, node, j);
        c->slots[i].wants_gradient = wanted;
    }
}

static gerne_status emit_backward(gn_compiler *c, const gn_graph *graph, bool input_gradient)
{
    gn_program *p = c->program;
    mark_wanted(c, graph, input_gradient);
    const gn_node *last = &graph->nodes[graph->output];
    dnnl_memory_desc_t md;
    GN_TRY(describe_plain(c, last, &md));
    GN_TRY(gn_new_tensor(c, &md, &p->output_gradient));
    GN_TRY(gn_settle(c, p->output_gradient));
    GN_TRY(gn_give_gradient(c, last->value, p->output_gradient));
    for (size_t i = graph->node_count; i-- > 0;) {
        const gn_node *node = &graph->nodes[i];
        if (node->layer && c->slots[i].part_count > 0)
            GN_TRY(node->layer->backward(c, node));
    }
    if (!input_gradient)
        return GERNE_OK;
    const gn_node *first = &graph->nodes[0];
    int gradient;
    GN_TRY(gn_gradient_of(c, first->value, &gradient));
    GN_TRY(describe_plain(c, first, &md));
    return gn_in_layout(c, gradient, &md, &p->input_gradient);
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

static gerne_status reserve(gerne_ctx *ctx, gn_program *p)
{
    size_t end = p->call_count, planned;
    extend_life(p, p->input, 0, 0);
    extend_life(p, p->output, p->backward_start, p->backward_start);
    extend_life(p, p->output_gradient, p->backward_start, p->backward_start);
    extend_life(p, p->input_gradient, end, end);
    GN_TRY(gn_plan_memory(ctx, p->buffers, p->buffer_count, &planned));
    p->memory_size = planned + p->scratchpad_size;
    size_t available = gn_memory_available();
    gerne_status status = GERNE_OK;
    if (p->memory_size > available)
        status = gn_fail(
            ctx, GERNE_ENOMEM, "a batch of %lld samples needs %.1f GiB, but only %.1f GiB are free",
            (long long)p->batch, (double)p->memory_size / 0x1p30, (double)available / 0x1p30);
    else
        status = gn_alloc_aligned(ctx, p->memory_size, 1, "a batch", &p->memory);
    if (status != GERNE_OK)
        gn_hint(ctx, "use smaller batches");
    return status;
}

static gerne_status resolve(gerne_ctx *ctx, gn_program *p)
{
    for (size_t i = 0; i < p->tensor_count; i++) {
        if (!p->buffers[p->tensors[i].buffer].used)
            continue;
        GN_DNNL(ctx, dnnl_memory_set_data_handle(p->tensors[i].memory, gn_tensor_data(p, (int)i)));
    }
    for (size_t i = 0; i < p->call_count; i++) {
        gn_call *call = &p->calls[i];
        for (int j = 0; j < call->count; j++)
            call->resolved[j] = (dnnl_exec_arg_t){call->arguments[j].kind,
                                                  p->tensors[call->arguments[j].tensor].memory};
        if (!call->scratchpad)
            continue;
        GN_DNNL(ctx, dnnl_memory_set_data_handle(call->scratchpad,
                                                 p->memory + p->memory_size - p->scratchpad_size));
        call->resolved[call->count] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, call->scratchpad};
    }
    return GERNE_OK;
}

static gerne_status compile(gn_compiler *c, bool input_gradient)
{
    const gn_graph *graph = c->program->graph;
    GN_TRY(emit_forward(c, graph));
    if (c->mode != GN_MODE_INFER)
        GN_TRY(emit_backward(c, graph, input_gradient));
    GN_TRY(reserve(c->ctx, c->program));
    return resolve(c->ctx, c->program);
}

static int graph_in_store(const gn_store *store, const gn_graph *graph)
{
    for (int g = 0; g < store->graph_count; g++)
        if (store->graphs[g] == graph)
            return g;
    return -1;
}

gerne_status gn_program_new(gerne_ctx *ctx, gn_graph *graph, gn_store *store, int64_t batch,
                            gn_mode mode, bool input_gradient, gn_program **out)
{
    *out = NULL;
    int index = graph_in_store(store, graph);
    if (index < 0 || batch < 1 || batch > INT32_MAX)
        return gn_fail(ctx, GERNE_EUSAGE, "a batch of %lld samples cannot be run",
                       (long long)batch);
    gn_program *p;
    GN_TRY(gn_alloc(ctx, 1, sizeof *p, "a program", &p));
    *p = (gn_program){.device = graph->device,
                      .graph = graph,
                      .store = store,
                      .batch = batch,
                      .mode = mode,
                      .input = -1,
                      .output = -1,
                      .output_gradient = -1,
                      .input_gradient = -1};
    gn_device *device = graph->device;
    bool native_bf16 = device->precision == GN_BF16 && !device->emulates;
    gn_compiler c = {.ctx = ctx,
                     .device = device,
                     .program = p,
                     .batch = batch,
                     .mode = mode,
                     .type = native_bf16 ? dnnl_bf16 : dnnl_f32,
                     .parameter_base = store->first_parameter[index]};
    gerne_status status = gn_alloc(ctx, graph->node_count, sizeof *c.slots, "a program", &c.slots);
    if (status == GERNE_OK)
        status = compile(&c, input_gradient);
    for (size_t i = 0; c.slots && i < graph->node_count; i++)
        if (c.slots[i].forward_description)
            dnnl_primitive_desc_destroy(c.slots[i].forward_description);
    gn_free(c.slots);
    if (status != GERNE_OK) {
        gn_program_close(p);
        return status;
    }
    *out = p;
    return GERNE_OK;
}

void gn_program_close(gn_program *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->call_count; i++) {
        if (p->calls[i].primitive)
            dnnl_primitive_destroy(p->calls[i].primitive);
        if (p->calls[i].scratchpad)
            dnnl_memory_destroy(p->calls[i].scratchpad);
    }
    for (size_t i = 0; i < p->tensor_count; i++)
        dnnl_memory_destroy(p->tensors[i].memory);
    gn_free(p->calls);
    gn_free(p->tensors);
    gn_free(p->buffers);
    gn_free(p->memory);
    gn_free(p);
}

/* ---- running ---- */

static gerne_status run(gerne_ctx *ctx, gn_program *p, size_t from, size_t to, gn_when skip,
                        bool products_only)
{
    for (size_t i = from; i < to; i++) {
        const gn_call *call = &p->calls[i];
        if (call->when == skip || (products_only && !call->is_product))
            continue;
        if (call->routine) {
            call->routine(p, call);
            continue;
        }
        dnnl_status_t s =
            dnnl_primitive_execute(call->primitive, p->device->stream,
                                   call->count + (call->scratchpad != NULL), call->resolved);
        if (s != dnnl_success)
            return gn_dnnl(ctx, s, "running a kernel");
    }
    return gn_dnnl(ctx, dnnl_stream_wait(p->device->stream), "waiting for kernels");
}

gerne_status gn_program_forward(gerne_ctx *ctx, gn_program *p)
{
    return run(ctx, p, 0, p->backward_start, GN_ACCUMULATING, false);
}

gerne_status gn_program_backward(gerne_ctx *ctx, gn_program *p, bool accumulate)
{
    return run(ctx, p, p->backward_start, p->call_count,
               accumulate ? GN_REPLACING : GN_ACCUMULATING, false);
}

gerne_status gn_program_run_products(gerne_ctx *ctx, gn_program *p)
{
    return run(ctx, p, 0, p->call_count, GN_ACCUMULATING, true);
}

float *gn_program_input(gn_program *p)
{
    return gn_tensor_data(p, p->input);
}

const float *gn_program_output(const gn_program *p)
{
    return gn_tensor_data(p, p->output);
}

float *gn_program_output_gradient(gn_program *p)
{
    return p->output_gradient < 0 ? NULL : gn_tensor_data(p, p->output_gradient);
}

float *gn_program_input_gradient(gn_program *p)
{
    return p->input_gradient < 0 ? NULL : gn_tensor_data(p, p->input_gradient);
}

size_t gn_program_memory(const gn_program *p)
{
    return p->memory_size;
}
