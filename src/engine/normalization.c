#include "engine/internal.h"

#include "engine/routines.h"

enum { SCALE, SHIFT, MEAN, VARIANCE };                  /* a node's parameters */
enum { SOURCE, BATCH_MEAN, BATCH_VARIANCE, WORKSPACE }; /* a value's extra tensors */

/* Frozen layers keep their statistics. */
static gn_mode mode_of(const gn_compiler *c, const gn_node *node)
{
    bool still = c->program->mode == GN_MODE_TRAIN && gn_is_frozen(c->program->graph, node);
    return still ? GN_MODE_FROZEN : c->program->mode;
}

/* The batch's own mean and variance, or the running ones. */
static gerne_status statistics(gn_compiler *c, const gn_node *node, int *mean, int *variance)
{
    if (mode_of(c, node) != GN_MODE_TRAIN) {
        GN_TRY(gn_parameter_tensor(c, node, MEAN, mean));
        return gn_parameter_tensor(c, node, VARIANCE, variance);
    }
    GN_TRY(gn_new_tensor(c, gn_parameter_description(c, node, MEAN), mean));
    return gn_new_tensor(c, gn_parameter_description(c, node, VARIANCE), variance);
}

static gerne_status update_running_statistics(gn_compiler *c, const gn_node *node, const int *extra)
{
    int mean, variance;
    GN_TRY(gn_parameter_tensor(c, node, MEAN, &mean));
    GN_TRY(gn_parameter_tensor(c, node, VARIANCE, &variance));
    const gn_kernel update = {.routine = gn_update_statistics, .node = node};
    return gn_emit(c, &update, (int[]){extra[BATCH_MEAN], extra[BATCH_VARIANCE], mean, variance},
                   4);
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    gn_compiled_value *v = &c->values[node->value];
    int x = c->values[node->inputs[0]].tensor, scale, shift, *extra = v->extra;
    extra[SOURCE] = x;
    GN_TRY(gn_make_batch_norm(&c->maker, NULL, gn_description_of(c, x), node->options,
                              mode_of(c, node), &v->forward));
    GN_TRY(gn_parameter_tensor(c, node, SCALE, &scale));
    GN_TRY(gn_parameter_tensor(c, node, SHIFT, &shift));
    GN_TRY(statistics(c, node, &extra[BATCH_MEAN], &extra[BATCH_VARIANCE]));
    GN_TRY(gn_new_tensor(c, gn_description_of(c, x), &v->tensor));
    GN_TRY(gn_workspace_tensor(c, &v->forward, &extra[WORKSPACE]));
    GN_TRY(gn_emit(c, &v->forward,
                   (int[]){x, scale, shift, extra[BATCH_MEAN], extra[BATCH_VARIANCE], v->tensor,
                           extra[WORKSPACE]},
                   7));
    if (mode_of(c, node) == GN_MODE_TRAIN)
        GN_TRY(update_running_statistics(c, node, extra));
    return gn_settle(c, v->tensor);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const gn_compiled_value *v = &c->values[node->value];
    const int *extra = v->extra;
    const gn_description *description = gn_description_of(c, extra[SOURCE]);
    int dy, dx, scale, shift;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_in_layout(c, dy, description, &dy));
    GN_TRY(gn_parameter_tensor(c, node, SCALE, &scale));
    GN_TRY(gn_parameter_tensor(c, node, SHIFT, &shift));
    dx = dy;
    if (!gn_may_overwrite(c, dy))
        GN_TRY(gn_new_tensor(c, description, &dx));
    gn_kernel kernel;
    GN_TRY(gn_make_batch_norm(&c->maker, &v->forward, description, node->options, mode_of(c, node),
                              &kernel));
    const int tensors[] = {
        extra[SOURCE],    scale, shift, extra[BATCH_MEAN], extra[BATCH_VARIANCE], dy,
        extra[WORKSPACE], dx};
    gn_gradient_output outputs[] = {
        {.which = SCALE, .description = gn_parameter_description(c, node, SCALE)},
        {.which = SHIFT, .description = gn_parameter_description(c, node, SHIFT)}};
    GN_TRY(gn_emit_gradients(c, &kernel, node, tensors, 8, outputs, 2));
    GN_TRY(gn_settle(c, dx));
    return gn_give_gradient(c, node->inputs[0], dx);
}

static void describe_operation(const gn_node *node, gn_operation *out)
{
    const gn_normalization *options = node->options;
    out->kind = GN_OP_BATCH_NORM;
    out->epsilon = (double)options->epsilon;
    out->relu = options->relu;
}

static const gn_layer normalization_layer = {
    .name = "normalization",
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

gn_value gn_batch_norm(gn_graph *graph, gn_value input, const char *name, bool relu)
{
    const gn_node *in = gn_operand_at(graph, input, GN_FLOAT32, 4, "batch normalization");
    if (!in)
        return -1;
    int64_t dims[4] = {1, in->dims[1], in->dims[2], in->dims[3]};
    const gn_normalization options = {.epsilon = 1e-5f, .relu = relu};
    gn_value value =
        gn_add_node(graph, &normalization_layer, &input, 1, 4, dims, &options, sizeof options);
    gn_add_parameter(graph, name, "weight", GN_SCALE, 1, &dims[1], NULL);
    gn_add_parameter(graph, name, "bias", GN_SHIFT, 1, &dims[1], NULL);
    gn_add_parameter(graph, name, "running_mean", GN_MEAN, 1, &dims[1], NULL);
    gn_add_parameter(graph, name, "running_var", GN_VARIANCE, 1, &dims[1], NULL);
    return value;
}
