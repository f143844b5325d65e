#include "engine/internal.h"

/* On small images some taps of a kernel only ever see padding (the outer eight of a 3x3 on a single
 * pixel): they are cut off, which saves their work and finds faster kernels. Along one side: */
typedef struct taps {
    int64_t first, count;  /* those that see the image */
    int64_t before, after; /* padding that is left for them */
} taps;

/* Everything a convolution's descriptions share. */
typedef struct shapes {
    dnnl_memory_desc_t source, weights, result;
    dnnl_dims_t strides, before, after;
    taps rows, columns;
    bool cropped;
} shapes;

static taps live_taps(int64_t in, int64_t out, const gn_convolution *o)
{
    int64_t first = o->padding - (out - 1) * o->stride; /* the last output looks furthest back */
    int64_t last = in - 1 + o->padding;                 /* the first one looks furthest ahead */
    taps t = {.first = first > 0 ? first : 0};
    t.count = (last < o->kernel - 1 ? last : o->kernel - 1) - t.first + 1;
    t.before = o->padding - t.first;
    t.after = (out - 1) * o->stride + t.count - in - t.before;
    if (t.count == o->kernel || t.after < 0)
        t.after = t.count == o->kernel ? o->padding : 0;
    return t;
}

static gerne_status any_shapes(gerne_ctx *ctx, const gn_graph *graph, const gn_node *node,
                               int64_t batch, dnnl_data_type_t type, shapes *s)
{
    const gn_convolution *options = node->options;
    const gn_node *input = &graph->nodes[node->inputs[0]];
    int64_t in[4] = {batch, input->dims[1], input->dims[2], input->dims[3]};
    int64_t out[4] = {batch, node->dims[1], node->dims[2], node->dims[3]};
    s->rows = live_taps(in[2], out[2], options);
    s->columns = live_taps(in[3], out[3], options);
    s->cropped = s->rows.count < options->kernel || s->columns.count < options->kernel;
    int64_t w[4] = {out[1], in[1], s->rows.count, s->columns.count};
    GN_TRY(gn_describe(ctx, 4, in, type, dnnl_format_tag_any, &s->source));
    GN_TRY(gn_describe(ctx, 4, w, type, dnnl_format_tag_any, &s->weights));
    GN_TRY(gn_describe(ctx, 4, out, type, dnnl_format_tag_any, &s->result));
    s->strides[0] = s->strides[1] = options->stride;
    s->before[0] = s->rows.before;
    s->before[1] = s->columns.before;
    s->after[0] = s->rows.after;
    s->after[1] = s->columns.after;
    return GERNE_OK;
}

static gerne_status describe_forward(gerne_ctx *ctx, gn_device *device, const shapes *s,
                                     dnnl_primitive_desc_t *out)
{
    *out = NULL;
    dnnl_convolution_desc_t op;
    GN_DNNL(ctx, dnnl_convolution_forward_desc_init(
                     &op, dnnl_forward_training, dnnl_convolution_direct, &s->source, &s->weights,
                     NULL, &s->result, s->strides, s->before, s->after));
    return gn_primitive_description(ctx, device, &op, false, NULL, out);
}

static gerne_status choose_layouts(gn_layout *layout, const gn_node *node)
{
    shapes s;
    dnnl_primitive_desc_t pd;
    GN_TRY(any_shapes(layout->ctx, layout->graph, node, layout->batch, dnnl_f32, &s));
    if (s.cropped) { /* whole kernels in blocks of channels: the live taps are easily cut out */
        dnnl_memory_desc_t *md = &layout->descriptions[node->parameters[0]];
        bool blocks = md->dims[0] % 8 == 0 && md->dims[1] % 8 == 0;
        dnnl_dims_t dims = {md->dims[0], md->dims[1], md->dims[2], md->dims[3]};
        return gn_describe(layout->ctx, 4, dims, dnnl_f32, blocks ? dnnl_ABcd8b8a : dnnl_abcd, md);
    }
    GN_TRY(describe_forward(layout->ctx, layout->device, &s, &pd));
    layout->descriptions[node->parameters[0]] = *gn_query(pd, dnnl_query_weights_md);
    dnnl_primitive_desc_destroy(pd);
    return GERNE_OK;
}

/* The weights where they lie, if a fast kernel takes them so; otherwise whatever it likes. */
static gerne_status describe_with_stored_weights(gn_compiler *c, const gn_node *node, shapes *s,
                                                 dnnl_primitive_desc_t *out)
{
    if (c->type == dnnl_f32 && !s->cropped) {
        shapes fixed = *s;
        fixed.weights = *gn_parameter_description(c, node, 0);
        if (describe_forward(c->ctx, c->device, &fixed, out) == GERNE_OK && !gn_is_reference(*out))
            return GERNE_OK;
        if (*out)
            dnnl_primitive_desc_destroy(*out);
    }
    return describe_forward(c->ctx, c->device, s, out);
}

/* The live taps as they lie among the others. */
static gerne_status live_view(gn_compiler *c, const shapes *s, const dnnl_memory_desc_t *whole,
                              dnnl_memory_desc_t *out)
{
    dnnl_dims_t dims = {whole->dims[0], whole->dims[1], s->rows.count, s->columns.count};
    dnnl_dims_t offsets = {0, 0, s->rows.first, s->columns.first};
    GN_DNNL(c->ctx, dnnl_memory_desc_init_submemory(out, whole, dims, offsets));
    return GERNE_OK;
}

static gerne_status weights(gn_compiler *c, const gn_node *node, const shapes *s,
                            const dnnl_memory_desc_t *wanted, int *out)
{
    if (!s->cropped)
        return gn_weight_tensor(c, node, 0, wanted, out);
    int whole, live;
    dnnl_memory_desc_t view;
    GN_TRY(gn_parameter_tensor(c, node, 0, &whole));
    GN_TRY(live_view(c, s, gn_description(c, whole), &view));
    GN_TRY(gn_alias_tensor(c, whole, &view, &live));
    GN_TRY(gn_in_layout(c, live, wanted, out));
    return *out == live ? GERNE_OK : gn_settle(c, *out);
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    shapes s;
    dnnl_primitive_desc_t pd;
    gn_slot *slot = &c->slots[node->value];
    GN_TRY(any_shapes(c->ctx, c->program->graph, node, c->batch, c->type, &s));
    GN_TRY(describe_with_stored_weights(c, node, &s, &pd));
    slot->forward_description = pd; /* kept as the hint of backward; released with the slots */
    int x, w;
    GN_TRY(gn_in_layout(c, c->slots[node->inputs[0]].tensor, gn_query(pd, dnnl_query_src_md), &x));
    GN_TRY(weights(c, node, &s, gn_query(pd, dnnl_query_weights_md), &w));
    GN_TRY(gn_new_tensor(c, gn_query(pd, dnnl_query_dst_md), &slot->tensor));
    slot->extra[0] = x;
    gn_argument arguments[] = {
        {DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, slot->tensor}};
    dnnl_primitive_desc_t copy;
    GN_DNNL(c->ctx, dnnl_primitive_desc_clone(&copy, pd));
    GN_TRY(gn_emit(c, copy, arguments, 3, GN_ALWAYS, true));
    return gn_settle(c, slot->tensor);
}

static gerne_status weight_gradient(gn_compiler *c, const gn_node *node, int dy)
{
    const gn_slot *slot = &c->slots[node->value];
    shapes s;
    GN_TRY(any_shapes(c->ctx, c->program->graph, node, c->batch, c->type, &s));
    dnnl_convolution_desc_t op;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_memory_desc_t wanted = *gn_parameter_description(c, node, 0), any = s.weights;
    any.data_type = dnnl_f32; /* gradients are fp32 in any precision */
    for (int attempt = s.cropped; attempt < 2; attempt++) {
        GN_DNNL(c->ctx, dnnl_convolution_backward_weights_desc_init(
                            &op, dnnl_convolution_direct, &s.source, attempt ? &any : &wanted, NULL,
                            &s.result, s.strides, s.before, s.after));
        gerne_status status =
            gn_primitive_description(c->ctx, c->device, &op, false, slot->forward_description, &pd);
        if (status == GERNE_OK && (attempt || !gn_is_reference(pd)))
            break;
        if (attempt)
            return status;
        if (pd)
            dnnl_primitive_desc_destroy(pd);
    }
    int x = slot->extra[0];
    gerne_status status = gn_in_layout(c, x, gn_query(pd, dnnl_query_src_md), &x);
    if (status == GERNE_OK)
        status = gn_in_layout(c, dy, gn_query(pd, dnnl_query_diff_dst_md), &dy);
    if (status != GERNE_OK) {
        dnnl_primitive_desc_destroy(pd);
        return status;
    }
    const dnnl_memory_desc_t made = *gn_query(pd, dnnl_query_diff_weights_md);
    gn_argument arguments[] = {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}};
    gn_gradient_output output = {DNNL_ARG_DIFF_WEIGHTS, 0, &made, NULL};
    dnnl_memory_desc_t view;
    if (s.cropped) {
        status = live_view(c, &s, &wanted, &view);
        if (status != GERNE_OK) {
            dnnl_primitive_desc_destroy(pd);
            return status;
        }
        output.view = &view;
    }
    return gn_emit_gradients(c, pd, node, arguments, 2, &output, 1, true);
}

static gerne_status input_gradient(gn_compiler *c, const gn_node *node, int dy)
{
    shapes s;
    GN_TRY(any_shapes(c->ctx, c->program->graph, node, c->batch, c->type, &s));
    dnnl_convolution_desc_t op;
    dnnl_primitive_desc_t pd;
    GN_DNNL(c->ctx, dnnl_convolution_backward_data_desc_init(&op, dnnl_convolution_direct,
                                                             &s.source, &s.weights, &s.result,
                                                             s.strides, s.before, s.after));
    GN_TRY(gn_primitive_description(c->ctx, c->device, &op, false,
                                    c->slots[node->value].forward_description, &pd));
    int w, dx;
    gerne_status status = gn_in_layout(c, dy, gn_query(pd, dnnl_query_diff_dst_md), &dy);
    if (status == GERNE_OK)
        status = weights(c, node, &s, gn_query(pd, dnnl_query_weights_md), &w);
    if (status == GERNE_OK)
        status = gn_new_tensor(c, gn_query(pd, dnnl_query_diff_src_md), &dx);
    if (status != GERNE_OK) {
        dnnl_primitive_desc_destroy(pd);
        return status;
    }
    gn_argument arguments[] = {
        {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_SRC, dx}};
    GN_TRY(gn_emit(c, pd, arguments, 3, GN_ALWAYS, true));
    GN_TRY(gn_settle(c, dx));
    return gn_give_gradient(c, node->inputs[0], dx);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    int dy;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    if (gn_parameter_trains(c, node, 0))
        GN_TRY(weight_gradient(c, node, dy));
    if (gn_wants_gradient(c, node->inputs[0]))
        GN_TRY(input_gradient(c, node, dy));
    return GERNE_OK;
}

static const gn_layer convolution_layer = {
    .name = "convolution",
    .choose_layouts = choose_layouts,
    .forward = forward,
    .backward = backward,
};

gn_value gn_convolve(gn_graph *graph, gn_value input, const char *name,
                     const gn_convolution *convolution)
{
    const gn_node *in = gn_node_at(graph, input);
    if (!in)
        return -1;
    const gn_convolution *o = convolution;
    int64_t height = (in->dims[2] + 2 * o->padding - o->kernel) / o->stride + 1;
    int64_t width = (in->dims[3] + 2 * o->padding - o->kernel) / o->stride + 1;
    int64_t inputs = in->dims[1];
    gn_value value =
        gn_add_node(graph, &convolution_layer, &input, 1, 4,
                    (int64_t[]){1, o->outputs, height, width}, convolution, sizeof *convolution);
    gn_add_parameter(graph, name, "weight", o->fixed ? GN_FIXED : GN_WEIGHT, 4,
                     (int64_t[]){o->outputs, inputs, o->kernel, o->kernel}, o->fixed);
    if (value >= 0)
        graph->nodes[value].flops =
            2.0 * (double)(o->outputs * inputs * o->kernel * o->kernel) * (double)(height * width);
    return value;
}
