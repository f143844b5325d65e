#include "engine/convolution.h"

#include "engine/dense_convolution.h"
#include "engine/folded_norm.h"
#include "engine/winograd.h"

/* On small images some taps of a kernel only ever see padding (the outer eight of a 3x3 on a single
 * pixel): they are cut off, which saves their work and finds faster kernels. Along one side: */
typedef struct taps {
    int64_t first, count;  /* those that see the image */
    int64_t before, after; /* padding that is left for them */
} taps;

/* Everything a convolution's kernels share. */
typedef struct shapes {
    gn_operands operands; /* in any order; of the weights the live taps */
    gn_window window;
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

static gerne_status describe(gn_maker *m, const gn_node *node, gn_type type, shapes *s)
{
    const gn_convolution *options = node->options;
    const gn_node *input = &m->graph->nodes[node->inputs[0]];
    int64_t in[4] = {m->batch, input->dims[1], input->dims[2], input->dims[3]};
    int64_t out[4] = {m->batch, node->dims[1], node->dims[2], node->dims[3]};
    taps rows = live_taps(in[2], out[2], options), columns = live_taps(in[3], out[3], options);
    int64_t w[4] = {out[1], in[1], rows.count, columns.count};
    *s = (shapes){.window = {.strides = {options->stride, options->stride},
                             .before = {rows.before, columns.before},
                             .after = {rows.after, columns.after}},
                  .rows = rows,
                  .columns = columns,
                  .cropped = rows.count < options->kernel || columns.count < options->kernel};
    GN_TRY(gn_describe(m, type, 4, in, GN_ANY_ORDER, &s->operands.source));
    GN_TRY(gn_describe(m, type, 4, w, GN_ANY_ORDER, &s->operands.weights));
    return gn_describe(m, type, 4, out, GN_ANY_ORDER, &s->operands.result);
}

gerne_status gn_describe_convolution(gn_maker *m, const gn_node *node, gn_operands *operands,
                                     gn_window *window, bool *whole)
{
    shapes s;
    GN_TRY(describe(m, node, GN_FLOAT32, &s));
    *operands = s.operands;
    *window = s.window;
    *whole = !s.cropped;
    return GERNE_OK;
}

static gerne_status choose_weights(gn_maker *m, const gn_node *node, const gn_description **weights)
{
    shapes s;
    gn_kernel kernel;
    if (gn_convolves_densely(m, node) || gn_suits_winograd(m, node))
        return gn_describe(m, GN_FLOAT32, 4, (*weights)->dims, GN_TAPS_ORDER, weights);
    GN_TRY(describe(m, node, GN_FLOAT32, &s));
    if (s.cropped) { /* whole kernels in blocks of channels: the live taps are easily cut out */
        const int64_t *dims = (*weights)->dims;
        bool blocks = dims[0] % 8 == 0 && dims[1] % 8 == 0;
        return blocks ? gn_describe(m, GN_FLOAT32, 4, dims, GN_BLOCKED_ORDER, weights) : GERNE_OK;
    }
    GN_TRY(gn_make_convolution(m, GN_FORWARD, NULL, &s.operands, &s.window, &kernel));
    *weights = kernel.operands.weights;
    return GERNE_OK;
}

/* With the weights (or their gradient) where they lie in the store, if a fast kernel takes them so;
 * otherwise in the order that it likes. */
static gerne_status make(gn_compiler *c, const gn_node *node, const shapes *s, gn_pass pass,
                         gn_kernel *out)
{
    const gn_kernel *forward = pass == GN_FORWARD ? NULL : &c->values[node->value].forward;
    gn_type type = pass == GN_FORWARD ? c->type : GN_FLOAT32; /* of gradients in any precision */
    gn_operands operands = s->operands;
    if (type == GN_FLOAT32 && !s->cropped) {
        operands.weights = gn_parameter_description(c, node, 0);
        if (gn_make_convolution(&c->maker, pass, forward, &operands, &s->window, out) == GERNE_OK &&
            !out->is_reference)
            return GERNE_OK;
    }
    GN_TRY(gn_describe(&c->maker, type, 4, s->operands.weights->dims, GN_ANY_ORDER,
                       &operands.weights));
    return gn_make_convolution(&c->maker, pass, forward, &operands, &s->window, out);
}

/* The live taps as they lie among the others. */
static gerne_status live_view(gn_compiler *c, const shapes *s, const gn_description *whole,
                              const gn_description **out)
{
    int64_t dims[4] = {whole->dims[0], whole->dims[1], s->rows.count, s->columns.count};
    int64_t offsets[4] = {0, 0, s->rows.first, s->columns.first};
    return gn_describe_part(&c->maker, whole, dims, offsets, out);
}

static gerne_status weights(gn_compiler *c, const gn_node *node, const shapes *s,
                            const gn_description *wanted, int *out)
{
    if (!s->cropped)
        return gn_weight_tensor(c, node, 0, gn_parameter_description(c, node, 0), wanted, out);
    int whole, live;
    const gn_description *view;
    GN_TRY(gn_parameter_tensor(c, node, 0, &whole));
    GN_TRY(live_view(c, s, gn_description_of(c, whole), &view));
    GN_TRY(gn_alias_tensor(c, whole, view, &live));
    GN_TRY(gn_in_layout(c, live, wanted, out));
    return *out == live ? GERNE_OK : gn_settle(c, *out);
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    shapes s;
    int x, w;
    gn_compiled_value *v = &c->values[node->value];
    const gn_operands *chosen = &v->forward.operands;
    if (gn_runs_densely(c, node))
        return gn_dense_forward(c, node);
    v->waits = gn_folds_norm(c, node);
    if (v->waits)
        return GERNE_OK;
    if (gn_runs_by_winograd(c, node))
        return gn_winograd_forward(c, node);
    GN_TRY(describe(&c->maker, node, c->type, &s));
    GN_TRY(make(c, node, &s, GN_FORWARD, &v->forward));
    GN_TRY(gn_in_layout(c, c->values[node->inputs[0]].tensor, chosen->source, &x));
    GN_TRY(weights(c, node, &s, chosen->weights, &w));
    GN_TRY(gn_new_tensor(c, chosen->result, &v->tensor));
    v->extra[0] = x;
    GN_TRY(gn_emit(c, &v->forward, (int[]){x, w, v->tensor}, 3));
    return gn_settle(c, v->tensor);
}

static gerne_status weight_gradient(gn_compiler *c, const gn_node *node, const shapes *s, int dy)
{
    gn_kernel kernel;
    int x = c->values[node->value].extra[0];
    GN_TRY(make(c, node, s, GN_WEIGHT_GRADIENT, &kernel));
    GN_TRY(gn_in_layout(c, x, kernel.operands.source, &x));
    GN_TRY(gn_in_layout(c, dy, kernel.operands.result, &dy));
    gn_gradient_output output = {.which = 0, .description = kernel.operands.weights};
    if (s->cropped)
        GN_TRY(live_view(c, s, gn_parameter_description(c, node, 0), &output.view));
    return gn_emit_gradients(c, &kernel, node, (int[]){x, dy}, 2, &output, 1);
}

static gerne_status input_gradient(gn_compiler *c, const gn_node *node, const shapes *s, int dy)
{
    gn_kernel kernel;
    int w, dx;
    GN_TRY(gn_make_convolution(&c->maker, GN_SOURCE_GRADIENT, &c->values[node->value].forward,
                               &s->operands, &s->window, &kernel));
    GN_TRY(gn_in_layout(c, dy, kernel.operands.result, &dy));
    GN_TRY(weights(c, node, s, kernel.operands.weights, &w));
    GN_TRY(gn_new_tensor(c, kernel.operands.source, &dx));
    GN_TRY(gn_emit(c, &kernel, (int[]){dy, w, dx}, 3));
    GN_TRY(gn_settle(c, dx));
    return gn_give_gradient(c, node->inputs[0], dx);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    shapes s;
    int dy;
    if (gn_runs_densely(c, node))
        return gn_dense_backward(c, node);
    if (gn_runs_by_winograd(c, node))
        return gn_winograd_backward(c, node);
    GN_TRY(describe(&c->maker, node, c->type, &s));
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    if (gn_parameter_trains(c, node, 0))
        GN_TRY(weight_gradient(c, node, &s, dy));
    return gn_wants_gradient(c, node->inputs[0]) ? input_gradient(c, node, &s, dy) : GERNE_OK;
}

static void describe_operation(const gn_node *node, gn_operation *out)
{
    const gn_convolution *options = node->options;
    out->kind = GN_OP_CONVOLUTION;
    out->kernel = options->kernel;
    out->stride = options->stride;
    out->padding = options->padding;
}

static const gn_layer convolution_layer = {
    .name = "convolution",
    .choose_weights = choose_weights,
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

gn_value gn_convolve(gn_graph *graph, gn_value input, const char *name,
                     const gn_convolution *convolution)
{
    const gn_node *in = gn_operand_at(graph, input, GN_FLOAT32, 4, "a convolution");
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
