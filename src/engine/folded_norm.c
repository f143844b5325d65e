#include "engine/folded_norm.h"

#include <math.h>

#include "engine/convolution.h"
#include "engine/dense_convolution.h"
#include "engine/fused_norm.h"

enum { SCALE, SHIFT, MEAN, VARIANCE, PARAMETERS }; /* of a normalisation */

static const gn_node *only_consumer(const gn_graph *graph, gn_value value)
{
    const gn_node *only = NULL;
    for (size_t i = (size_t)value + 1; i < graph->node_count; i++)
        for (int j = 0; j < graph->nodes[i].input_count; j++)
            if (graph->nodes[i].inputs[j] == value) {
                if (only)
                    return NULL;
                only = &graph->nodes[i];
            }
    return graph->output == value ? NULL : only;
}

static gerne_status make(gn_compiler *c, const gn_node *convolution, bool adds, bool relu,
                         gn_kernel *out)
{
    gn_operands operands;
    gn_window window;
    bool whole;
    GN_TRY(gn_describe_convolution(&c->maker, convolution, &operands, &window, &whole));
    if (!whole)
        return gn_fail(c->maker.ctx, GERNE_EUNSUPPORTED, "taps of a folded convolution are cut");
    GN_TRY(gn_describe(&c->maker, GN_FLOAT32, 1, &convolution->dims[1], GN_PLAIN_ORDER,
                       &operands.bias));
    return gn_make_complete_convolution(&c->maker, &operands, &window, adds, relu, out);
}

bool gn_folds_norm(gn_compiler *c, const gn_node *convolution)
{
    const gn_node *norm = only_consumer(c->program->graph, convolution->value);
    gn_kernel kernel;
    if (c->program->mode != GN_MODE_INFER || !norm || !gn_is_norm(norm) ||
        gn_device_precision(c->program->device) != GN_FP32 || gn_runs_densely(c, convolution) ||
        make(c, convolution, false, true, &kernel) != GERNE_OK || kernel.is_reference)
        return false;
    /* The copy of the weights is made in every run: it has to be cheaper than another pass. */
    return gn_output_block(kernel.operands.weights) > 0 &&
           kernel.operands.weights->size <= kernel.operands.result->size;
}

/* ---- folding ---- */

/* weights, scale, shift, mean, variance; folded weights, bias */
static void fold(gn_program *program, const gn_call *call)
{
    const gn_normalization *options = call->node->options;
    const gn_description *description = program->tensors[call->tensors[0]].description;
    float *all[PARAMETERS + 3];
    for (int i = 0; i < PARAMETERS + 3; i++)
        all[i] = gn_tensor_data(program, call->tensors[i]);
    const float *weights = all[0], *const *parameters = (const float *const *)all + 1;
    float *folded = all[1 + PARAMETERS], *bias = all[2 + PARAMETERS];
    int64_t outputs = description->dims[0], block = gn_output_block(description);
    int64_t size = (int64_t)(description->size / sizeof(float)) / outputs * block;
#pragma omp parallel for schedule(static)
    for (int64_t first = 0; first < outputs; first += block) {
        float factors[64];
        for (int64_t o = 0; o < block; o++) {
            double deviation =
                sqrt((double)parameters[VARIANCE][first + o] + (double)options->epsilon);
            double factor = (double)parameters[SCALE][first + o] / deviation;
            factors[o] = (float)factor;
            bias[first + o] = (float)((double)parameters[SHIFT][first + o] -
                                      (double)parameters[MEAN][first + o] * factor);
        }
        for (int64_t i = first / block * size; i < (first / block + 1) * size; i += block)
            for (int64_t o = 0; o < block; o++)
                folded[i + o] = weights[i + o] * factors[o];
    }
}

static gerne_status fold_weights(gn_compiler *c, const gn_node *convolution, const gn_node *norm,
                                 const gn_description *wanted, int *folded, int *bias)
{
    int tensors[PARAMETERS + 3];
    GN_TRY(gn_weight_tensor(c, convolution, 0, gn_parameter_description(c, convolution, 0), wanted,
                            &tensors[0]));
    for (int i = 0; i < PARAMETERS; i++)
        GN_TRY(gn_parameter_tensor(c, norm, i, &tensors[1 + i]));
    GN_TRY(gn_new_tensor(c, wanted, folded));
    GN_TRY(gn_new_tensor(c, gn_parameter_description(c, norm, SHIFT), bias));
    tensors[1 + PARAMETERS] = *folded;
    tensors[2 + PARAMETERS] = *bias;
    return gn_emit(c, &(gn_kernel){.routine = fold, .node = norm}, tensors, PARAMETERS + 3);
}

/* Nobody reads the value behind the addition, nor a convolution that still waits for its norm. */
static bool is_last_use(const gn_compiler *c, gn_value value, const gn_node *addition)
{
    const gn_graph *graph = c->program->graph;
    if (graph->output == value || !graph->nodes[value].layer)
        return false;
    for (size_t i = 0; i < graph->node_count; i++)
        for (int j = 0; j < graph->nodes[i].input_count; j++)
            if (graph->nodes[i].inputs[j] == value && &graph->nodes[i] != addition &&
                ((gn_value)i > addition->value || c->values[i].waits))
                return false;
    return true;
}

/* The tensor that the result is added to: the shortcut itself, or a copy of it. */
static gerne_status take_shortcut(gn_compiler *c, const gn_node *addition,
                                  const gn_description *description, int *out)
{
    gn_value value = addition->inputs[1];
    int tensor = c->values[value].tensor;
    GN_TRY(gn_in_layout(c, tensor, description, out));
    if (*out != tensor || is_last_use(c, value, addition))
        return GERNE_OK;
    GN_TRY(gn_new_tensor(c, description, out));
    return gn_reorder(c, tensor, *out);
}

gerne_status gn_folded_forward(gn_compiler *c, const gn_node *norm, const gn_node *addition)
{
    const gn_node *convolution = &c->program->graph->nodes[norm->inputs[0]];
    const gn_normalization *options = norm->options;
    gn_compiled_value *v = &c->values[addition ? addition->value : norm->value];
    bool relu = addition ? gn_addition_has_relu(addition) : options->relu;
    gn_kernel kernel;
    int x, weights, bias;
    GN_TRY(make(c, convolution, addition != NULL, relu, &kernel));
    GN_TRY(gn_in_layout(c, c->values[convolution->inputs[0]].tensor, kernel.operands.source, &x));
    GN_TRY(fold_weights(c, convolution, norm, kernel.operands.weights, &weights, &bias));
    if (addition)
        GN_TRY(take_shortcut(c, addition, kernel.operands.result, &v->tensor));
    else
        GN_TRY(gn_new_tensor(c, kernel.operands.result, &v->tensor));
    c->values[convolution->value].waits = false;
    return gn_emit(c, &kernel, (int[]){x, weights, v->tensor, bias}, 4);
}
