/* patches.c - an image as a sequence: its pixels behind a class token, each with its position. */
#include "engine/internal.h"

enum { TOKEN, POSITION, BIAS }; /* a node's parameters */

typedef struct sizes {
    int64_t batch, width, pixels; /* width: channels */
} sizes;

static sizes sizes_of(const gn_program *program, const gn_node *node)
{
    return (sizes){program->batch, node->dims[2], node->dims[1] - 1};
}

/* image, result, token, position, bias */
static void arrange(gn_program *program, const gn_call *call)
{
    const sizes s = sizes_of(program, call->node);
    const float *image = gn_tensor_data(program, call->tensors[0]);
    float *result = gn_tensor_data(program, call->tensors[1]);
    const float *token = gn_tensor_data(program, call->tensors[2]),
                *position = gn_tensor_data(program, call->tensors[3]),
                *bias = gn_tensor_data(program, call->tensors[4]);
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < s.batch; b++) {
        const float *x = image + b * s.width * s.pixels;
        float *y = result + b * (1 + s.pixels) * s.width;
        for (int64_t k = 0; k < s.width; k++)
            y[k] = token[k] + position[k];
        for (int64_t i = 0; i < s.pixels; i++)
            for (int64_t k = 0; k < s.width; k++) {
                int64_t at = (1 + i) * s.width + k;
                y[at] = x[k * s.pixels + i] + bias[k] + position[at];
            }
    }
}

/* d result, d image */
static void arrange_back(gn_program *program, const gn_call *call)
{
    const sizes s = sizes_of(program, call->node);
    const float *result = gn_tensor_data(program, call->tensors[0]);
    float *image = gn_tensor_data(program, call->tensors[1]);
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < s.batch; b++) {
        float *x = image + b * s.width * s.pixels;
        const float *y = result + (b * (1 + s.pixels) + 1) * s.width;
        for (int64_t k = 0; k < s.width; k++)
            for (int64_t i = 0; i < s.pixels; i++)
                x[k * s.pixels + i] = y[i * s.width + k];
    }
}

/* d result, d token, d position, d bias: sums over samples in their order */
static void add_up(gn_program *program, const gn_call *call)
{
    const sizes s = sizes_of(program, call->node);
    const float *result = gn_tensor_data(program, call->tensors[0]);
    float *token = gn_tensor_data(program, call->tensors[1]),
          *position = gn_tensor_data(program, call->tensors[2]),
          *bias = gn_tensor_data(program, call->tensors[3]);
    int64_t size = (1 + s.pixels) * s.width;
#pragma omp parallel for schedule(static)
    for (int64_t at = 0; at < size; at++) {
        float sum = 0;
        for (int64_t b = 0; b < s.batch; b++)
            sum += result[b * size + at];
        position[at] = sum;
    }
    for (int64_t k = 0; k < s.width; k++) {
        float sum = 0;
        for (int64_t i = 1; i <= s.pixels; i++)
            sum += position[i * s.width + k];
        bias[k] = sum;
        token[k] = position[k];
    }
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    const gn_node *image = &c->program->graph->nodes[node->inputs[0]];
    int tensors[5];
    GN_TRY(gn_as_floats(c, image, c->values[node->inputs[0]].tensor, &tensors[0]));
    GN_TRY(gn_new_floats(c, node, &tensors[1]));
    for (int i = TOKEN; i <= BIAS; i++)
        GN_TRY(gn_parameter_tensor(c, node, i, &tensors[2 + i]));
    GN_TRY(gn_emit(c, &(gn_kernel){.routine = arrange, .node = node}, tensors, 5));
    return gn_from_floats(c, node, tensors[1], &c->values[node->value].tensor);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const gn_node *image = &c->program->graph->nodes[node->inputs[0]];
    int dy, dx;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_as_floats(c, node, dy, &dy));
    if (gn_parameter_trains(c, node, TOKEN)) {
        gn_gradient_output outputs[3];
        for (int i = TOKEN; i <= BIAS; i++)
            outputs[i] = (gn_gradient_output){.which = i,
                                              .description = gn_parameter_description(c, node, i)};
        GN_TRY(gn_emit_gradients(c, &(gn_kernel){.routine = add_up, .node = node}, node, &dy, 1,
                                 outputs, 3));
    }
    if (!gn_wants_gradient(c, node->inputs[0]))
        return GERNE_OK;
    GN_TRY(gn_new_floats(c, image, &dx));
    GN_TRY(gn_emit(c, &(gn_kernel){.routine = arrange_back, .node = node}, (int[]){dy, dx}, 2));
    GN_TRY(gn_from_floats(c, image, dx, &dx));
    return gn_give_gradient(c, node->inputs[0], dx);
}

static void describe_operation(const gn_node *node, gn_operation *out)
{
    (void)node;
    out->kind = GN_OP_PATCHES;
}

static const gn_layer patch_layer = {
    .name = "patches",
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

gn_value gn_patch_sequence(gn_graph *graph, gn_value image, const gn_patches *names)
{
    const gn_node *in = gn_operand_at(graph, image, GN_FLOAT32, 4, "a sequence of patches");
    if (!in)
        return -1;
    int64_t width = in->dims[1], places = 1 + in->dims[2] * in->dims[3];
    gn_value value =
        gn_add_node(graph, &patch_layer, &image, 1, 3, (int64_t[]){1, places, width}, NULL, 0);
    gn_add_parameter(graph, names->token, NULL, GN_WEIGHT, 3, (int64_t[]){1, 1, width}, NULL);
    gn_add_parameter(graph, names->position, NULL, GN_WEIGHT, 3, (int64_t[]){1, places, width},
                     NULL);
    gn_add_parameter(graph, names->bias, NULL, GN_BIAS, 1, &width, NULL);
    return value;
}
