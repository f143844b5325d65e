/* fused_norm.c - batch normalisation in our own kernel (block_norm.h), together with the addition
 * that follows it, if there is one. */
#include "engine/fused_norm.h"

#include "engine/block_norm.h"
#include "engine/routines.h"
#include "ranks/ranks.h"

enum { SCALE, SHIFT, MEAN, VARIANCE };       /* a node's parameters */
enum { SOURCE, BATCH_MEAN, BATCH_VARIANCE }; /* a value's extra tensors */

bool gn_fuses_norm(const gn_compiler *c, int source, bool trains)
{
    bool shared = trains && gn_ranks_of(c->maker.ctx); /* statistics of several ranks */
    return !shared && !gn_device_emulates(c->program->device) &&
           gn_channel_block(gn_description_of(c, source)) > 0;
}

const gn_node *gn_addition_after(const gn_compiler *c, const gn_node *norm)
{
    const gn_graph *graph = c->program->graph;
    const gn_normalization *options = norm->options;
    const gn_node *only = NULL;
    if (options->relu || graph->output == norm->value)
        return NULL;
    for (size_t i = (size_t)norm->value + 1; i < graph->node_count; i++)
        for (int j = 0; j < graph->nodes[i].input_count; j++)
            if (graph->nodes[i].inputs[j] == norm->value) {
                if (only || j > 0 || !gn_is_addition(&graph->nodes[i]))
                    return NULL;
                only = &graph->nodes[i];
            }
    return only;
}

/* ---- running ---- */

static float *floats(const gn_program *program, const gn_call *call, int argument)
{
    int tensor = call->tensors[argument];
    return tensor < 0 ? NULL : gn_tensor_data(program, tensor);
}

/* Tensors of both passes: */
enum { X, BY_SCALE_FACTOR, BY_SHIFT_TERM, AVERAGE, SPREAD, SUMS, SHARED_TENSORS };
/* and of each: */
enum { BESIDE = SHARED_TENSORS, Y, FORWARD_TENSORS };
enum {
    PART = SHARED_TENSORS,
    OTHER_PART,
    RESULT,
    BY_BESIDE,
    BY_X,
    BACKWARD_TENSORS,
    BY_SCALE = BACKWARD_TENSORS,
    BY_SHIFT
};

static gn_block_norm shared_arguments(const gn_program *program, const gn_call *call)
{
    const gn_normalization *options = call->node->options;
    const gn_description *x = program->tensors[call->tensors[X]].description;
    return (gn_block_norm){
        .samples = x->dims[0],
        .channels = x->dims[1],
        .pixels = x->dims[2] * x->dims[3],
        .block = gn_channel_block(x),
        .epsilon = options->epsilon,
        .x = floats(program, call, X),
        .scale = floats(program, call, BY_SCALE_FACTOR),
        .shift = floats(program, call, BY_SHIFT_TERM),
        .mean = floats(program, call, AVERAGE),
        .variance = floats(program, call, SPREAD),
        .sums = (double *)(void *)floats(program, call, SUMS),
    };
}

static void run_forward(const gn_program *program, const gn_call *call, bool relu)
{
    gn_block_norm n = shared_arguments(program, call);
    n.trains = n.sums != NULL;
    n.relu = relu;
    n.beside = floats(program, call, BESIDE);
    n.y = floats(program, call, Y);
    gn_block_norm_forward(&n);
}

static void normalize(gn_program *program, const gn_call *call)
{
    run_forward(program, call, false);
}

static void normalize_relu(gn_program *program, const gn_call *call)
{
    run_forward(program, call, true);
}

static void run_backward(const gn_program *program, const gn_call *call, bool trains)
{
    const gn_normalization *options = call->node->options;
    gn_block_norm n = shared_arguments(program, call);
    n.trains = trains;
    n.parts[0] = floats(program, call, PART);
    n.parts[1] = floats(program, call, OTHER_PART);
    n.result = floats(program, call, RESULT);
    n.relu = options->relu || n.result;
    n.by_beside = floats(program, call, BY_BESIDE);
    n.by_x = floats(program, call, BY_X);
    n.by_scale = floats(program, call, BY_SCALE);
    n.by_shift = floats(program, call, BY_SHIFT);
    gn_block_norm_backward(&n);
}

static void train_gradient(gn_program *program, const gn_call *call)
{
    run_backward(program, call, true);
}

static void frozen_gradient(gn_program *program, const gn_call *call)
{
    run_backward(program, call, false);
}

/* ---- putting it together ---- */

static gerne_status sums_tensor(gn_compiler *c, const gn_node *norm, int *out)
{
    const gn_description *description;
    const int64_t halves = 2; /* of a double */
    int64_t blocks = norm->dims[1] /
                     gn_channel_block(gn_description_of(c, c->values[norm->value].extra[SOURCE]));
    int64_t count = halves * 2 * GN_LANES * blocks * c->program->batch;
    GN_TRY(gn_describe(&c->maker, GN_FLOAT32, 1, &count, GN_PLAIN_ORDER, &description));
    return gn_new_tensor(c, description, out);
}

gerne_status gn_fused_norm_forward(gn_compiler *c, const gn_node *norm, const gn_node *addition,
                                   bool trains)
{
    const gn_normalization *options = norm->options;
    const int *extra = c->values[norm->value].extra;
    const gn_description *description = gn_description_of(c, extra[SOURCE]);
    gn_compiled_value *v = &c->values[addition ? addition->value : norm->value];
    int tensors[FORWARD_TENSORS] = {[X] = extra[SOURCE],
                                    [AVERAGE] = extra[BATCH_MEAN],
                                    [SPREAD] = extra[BATCH_VARIANCE],
                                    [SUMS] = -1,
                                    [BESIDE] = -1};
    GN_TRY(gn_parameter_tensor(c, norm, SCALE, &tensors[BY_SCALE_FACTOR]));
    GN_TRY(gn_parameter_tensor(c, norm, SHIFT, &tensors[BY_SHIFT_TERM]));
    if (trains)
        GN_TRY(sums_tensor(c, norm, &tensors[SUMS]));
    if (addition)
        GN_TRY(
            gn_in_layout(c, c->values[addition->inputs[1]].tensor, description, &tensors[BESIDE]));
    GN_TRY(gn_new_tensor(c, description, &v->tensor));
    tensors[Y] = v->tensor;
    bool relu = addition ? gn_addition_has_relu(addition) : options->relu;
    const gn_kernel kernel = {.routine = relu ? normalize_relu : normalize, .node = norm};
    return gn_emit(c, &kernel, tensors, FORWARD_TENSORS);
}

/* The parts of the gradient: at most two, in the layout of the value. */
static gerne_status take_parts(gn_compiler *c, gn_value value, const gn_description *description,
                               int parts[2])
{
    const gn_compiled_value *v = &c->values[value];
    parts[0] = v->parts[0];
    parts[1] = v->part_count == 2 ? v->parts[1] : -1;
    if (v->part_count > 2)
        GN_TRY(gn_gradient_of(c, value, &parts[0]));
    for (int i = 0; i < 2; i++)
        if (parts[i] >= 0)
            GN_TRY(gn_in_layout(c, parts[i], description, &parts[i]));
    return GERNE_OK;
}

/* One of the parts, if nobody else reads it and it is not taken yet, or a new tensor. */
static gerne_status overwrite(gn_compiler *c, const int parts[2], int taken,
                              const gn_description *description, int *out)
{
    for (int i = 0; i < 2; i++)
        if (parts[i] >= 0 && parts[i] != taken && gn_may_overwrite(c, parts[i])) {
            *out = parts[i];
            return GERNE_OK;
        }
    return gn_new_tensor(c, description, out);
}

gerne_status gn_fused_norm_backward(gn_compiler *c, const gn_node *norm, const gn_node *addition,
                                    bool trains)
{
    const int *extra = c->values[norm->value].extra;
    const gn_description *description = gn_description_of(c, extra[SOURCE]);
    gn_value value = addition ? addition->value : norm->value;
    bool beside = addition && gn_wants_gradient(c, addition->inputs[1]);
    int tensors[BACKWARD_TENSORS] = {[X] = extra[SOURCE],
                                     [AVERAGE] = extra[BATCH_MEAN],
                                     [SPREAD] = extra[BATCH_VARIANCE],
                                     [RESULT] = -1,
                                     [BY_BESIDE] = -1};
    GN_TRY(gn_parameter_tensor(c, norm, SCALE, &tensors[BY_SCALE_FACTOR]));
    GN_TRY(gn_parameter_tensor(c, norm, SHIFT, &tensors[BY_SHIFT_TERM]));
    GN_TRY(sums_tensor(c, norm, &tensors[SUMS]));
    GN_TRY(take_parts(c, value, description, &tensors[PART]));
    if (addition && gn_addition_has_relu(addition))
        tensors[RESULT] = c->values[value].tensor;
    if (beside)
        GN_TRY(overwrite(c, &tensors[PART], -1, description, &tensors[BY_BESIDE]));
    GN_TRY(overwrite(c, &tensors[PART], tensors[BY_BESIDE], description, &tensors[BY_X]));
    gn_gradient_output outputs[] = {
        {.which = SCALE, .description = gn_parameter_description(c, norm, SCALE)},
        {.which = SHIFT, .description = gn_parameter_description(c, norm, SHIFT)}};
    const gn_kernel kernel = {.routine = trains ? train_gradient : frozen_gradient, .node = norm};
    GN_TRY(gn_emit_gradients(c, &kernel, norm, tensors, BACKWARD_TENSORS, outputs, 2));
    GN_TRY(gn_give_gradient(c, norm->inputs[0], tensors[BY_X]));
    return beside ? gn_give_gradient(c, addition->inputs[1], tensors[BY_BESIDE]) : GERNE_OK;
}
