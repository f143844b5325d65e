#include "engine/fused_norm.h"

#include <math.h>
#include <string.h>

#include "engine/folded_norm.h"
#include "engine/routines.h"
#include "ranks/ranks.h"

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

/* ---- on several ranks ----
 *
 * A batch that ranks share has one mean and one variance. Each rank computes those of its part, and
 * all combine them; then, and in backward, the kernels of frozen statistics do the work. What these
 * leave out of the gradient, that the statistics depend on the batch, is
 *     -scale / deviation * (mean(dy) + x^ mean(dy x^)),   x^ = (x - mean) / deviation
 * which is a normalization of x with another scale and shift. */

static bool is_shared(const gn_compiler *c, const gn_node *node)
{
    return mode_of(c, node) == GN_MODE_TRAIN && gn_ranks_of(c->maker.ctx);
}

static float *floats(const gn_program *program, const gn_call *call, int argument)
{
    return gn_tensor_data(program, call->tensors[argument]);
}

/* Two rows of n numbers of every rank: rows[rank][2][n]. NULL after a failure. */
static float *gather_rows(gn_program *program, const float *a, const float *b, size_t n)
{
    size_t ranks = (size_t)gn_ranks_size(gn_ranks_of(program->ctx));
    float *own, *rows = NULL;
    program->unreached =
        gn_alloc(program->ctx, (ranks + 1) * 2 * n, sizeof *own, "statistics of ranks", &own);
    if (program->unreached != GERNE_OK)
        return NULL;
    rows = own + 2 * n;
    memcpy(own, a, n * sizeof *own);
    memcpy(own + n, b, n * sizeof *own);
    program->unreached = gn_ranks_gather(program->ctx, own, 2 * n * sizeof *own, rows);
    if (program->unreached == GERNE_OK)
        return own;
    gn_free(own);
    return NULL;
}

/* Mean and variance of a batch from those of its parts, which are of one size. */
static void combine_statistics(gn_program *program, const gn_call *call)
{
    float *mean = floats(program, call, 0), *variance = floats(program, call, 1);
    size_t n = (size_t)call->node->dims[1];
    int ranks = gn_ranks_size(gn_ranks_of(program->ctx));
    float *own = gather_rows(program, mean, variance, n);
    if (!own)
        return;
    const float *rows = own + 2 * n;
    for (size_t i = 0; i < n; i++) {
        double sum = 0, spread = 0;
        for (int r = 0; r < ranks; r++)
            sum += (double)rows[(size_t)r * 2 * n + i];
        double common = sum / ranks;
        for (int r = 0; r < ranks; r++) {
            double apart = (double)rows[(size_t)r * 2 * n + i] - common;
            spread += (double)rows[((size_t)r * 2 + 1) * n + i] + apart * apart;
        }
        mean[i] = (float)common;
        variance[i] = (float)(spread / ranks);
    }
    gn_free(own);
}

/* Arguments: gradients of scale and shift of this rank, scale, variance; the scale and
 * shift of the correction. */
static void find_correction(gn_program *program, const gn_call *call)
{
    const gn_normalization *options = call->node->options;
    const float *scale = floats(program, call, 2), *variance = floats(program, call, 3);
    float *slope = floats(program, call, 4), *constant = floats(program, call, 5);
    size_t n = (size_t)call->node->dims[1];
    int ranks = gn_ranks_size(gn_ranks_of(program->ctx));
    double count =
        (double)(program->batch * call->node->dims[2] * call->node->dims[3]) * (double)ranks;
    float *own = gather_rows(program, floats(program, call, 0), floats(program, call, 1), n);
    if (!own)
        return;
    const float *rows = own + 2 * n;
    for (size_t i = 0; i < n; i++) {
        double by_scale = 0, by_shift = 0;
        for (int r = 0; r < ranks; r++) {
            by_scale += (double)rows[(size_t)r * 2 * n + i];
            by_shift += (double)rows[((size_t)r * 2 + 1) * n + i];
        }
        double factor =
            -(double)scale[i] / sqrt((double)variance[i] + (double)options->epsilon) / count;
        slope[i] = (float)(factor * by_scale);
        constant[i] = (float)(factor * by_shift);
    }
    gn_free(own);
}

static void copy_gradients(gn_program *program, const gn_call *call)
{
    size_t size = (size_t)call->node->dims[1] * sizeof(float);
    memcpy(floats(program, call, 2), floats(program, call, 0), size);
    memcpy(floats(program, call, 3), floats(program, call, 1), size);
}

/* The statistics of this rank's part, then those of the batch. */
static gerne_status emit_statistics(gn_compiler *c, const gn_node *node, int scale, int shift)
{
    gn_compiled_value *v = &c->values[node->value];
    const int *extra = v->extra;
    gn_normalization plain = *(const gn_normalization *)node->options;
    plain.relu = false;
    gn_kernel part;
    GN_TRY(gn_make_batch_norm(&c->maker, NULL, gn_description_of(c, extra[SOURCE]), &plain,
                              GN_MODE_TRAIN, &part));
    GN_TRY(gn_emit(c, &part,
                   (int[]){extra[SOURCE], scale, shift, extra[BATCH_MEAN], extra[BATCH_VARIANCE],
                           v->tensor, -1},
                   7));
    return gn_emit(c, &(gn_kernel){.routine = combine_statistics, .node = node},
                   (int[]){extra[BATCH_MEAN], extra[BATCH_VARIANCE]}, 2);
}

/* What the statistics contribute is added to dx. */
static gerne_status emit_correction(gn_compiler *c, const gn_node *node, const int *by_parameters,
                                    int scale, int *dx)
{
    const int *extra = c->values[node->value].extra;
    const gn_description *description = gn_description_of(c, extra[SOURCE]);
    const gn_description *channels = gn_parameter_description(c, node, SCALE);
    gn_normalization plain = *(const gn_normalization *)node->options;
    plain.relu = false;
    int slope, constant, correction, sum;
    gn_kernel normalize, add;
    GN_TRY(gn_new_tensor(c, channels, &slope));
    GN_TRY(gn_new_tensor(c, channels, &constant));
    GN_TRY(gn_new_tensor(c, description, &correction));
    GN_TRY(gn_new_tensor(c, description, &sum));
    GN_TRY(gn_emit(
        c, &(gn_kernel){.routine = find_correction, .node = node},
        (int[]){by_parameters[0], by_parameters[1], scale, extra[BATCH_VARIANCE], slope, constant},
        6));
    GN_TRY(gn_make_batch_norm(&c->maker, NULL, description, &plain, GN_MODE_INFER, &normalize));
    GN_TRY(gn_emit(c, &normalize,
                   (int[]){extra[SOURCE], slope, constant, extra[BATCH_MEAN], extra[BATCH_VARIANCE],
                           correction, -1},
                   7));
    GN_TRY(gn_make_sum(&c->maker, description, false, &add));
    GN_TRY(gn_emit(c, &add, (int[]){*dx, correction, sum}, 3));
    *dx = sum;
    return GERNE_OK;
}

/* tensors: what the kernel of backward takes before the gradients of scale and shift. */
static gerne_status emit_shared_backward(gn_compiler *c, const gn_node *node,
                                         const gn_kernel *kernel, const int *tensors,
                                         const gn_gradient_output *outputs, int scale, int *dx)
{
    enum { BEFORE = 8 };
    int all[BEFORE + 2], *by_parameters = all + BEFORE;
    memcpy(all, tensors, BEFORE * sizeof *tensors);
    GN_TRY(gn_new_tensor(c, outputs[0].description, &by_parameters[0]));
    GN_TRY(gn_new_tensor(c, outputs[1].description, &by_parameters[1]));
    GN_TRY(gn_emit(c, kernel, all, BEFORE + 2));
    GN_TRY(gn_emit_gradients(c, &(gn_kernel){.routine = copy_gradients, .node = node}, node,
                             by_parameters, 2, outputs, 2));
    return emit_correction(c, node, by_parameters, scale, dx);
}

/* ---- in our own kernel ---- */

static gerne_status fused_forward(gn_compiler *c, const gn_node *node, const gn_node *addition)
{
    bool trains = mode_of(c, node) == GN_MODE_TRAIN;
    int *extra = c->values[node->value].extra;
    GN_TRY(statistics(c, node, &extra[BATCH_MEAN], &extra[BATCH_VARIANCE]));
    GN_TRY(gn_fused_norm_forward(c, node, addition, trains));
    return trains ? update_running_statistics(c, node, extra) : GERNE_OK;
}

static const gn_node *norm_before(const gn_compiler *c, const gn_node *addition)
{
    return &c->program->graph->nodes[addition->inputs[0]];
}

static bool is_folded(const gn_compiler *c, const gn_node *norm)
{
    return norm->input_count > 0 && c->values[norm->inputs[0]].waits;
}

bool gn_runs_with_norm(const gn_compiler *c, const gn_node *addition)
{
    const gn_node *norm = norm_before(c, addition);
    return (c->values[norm->value].fused || is_folded(c, norm)) &&
           gn_addition_after(c, norm) == addition;
}

gerne_status gn_norm_and_addition(gn_compiler *c, const gn_node *addition, bool backward)
{
    const gn_node *norm = norm_before(c, addition);
    if (is_folded(c, norm))
        return gn_folded_forward(c, norm, addition);
    if (!backward)
        return fused_forward(c, norm, addition);
    return gn_fused_norm_backward(c, norm, addition, mode_of(c, norm) == GN_MODE_TRAIN);
}

/* ---- the layer ---- */

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    gn_compiled_value *v = &c->values[node->value];
    int x = c->values[node->inputs[0]].tensor, scale, shift, *extra = v->extra;
    bool shared = is_shared(c, node);
    if (c->values[node->inputs[0]].waits)
        return gn_addition_after(c, node) ? GERNE_OK : gn_folded_forward(c, node, NULL);
    extra[SOURCE] = x;
    v->fused = gn_fuses_norm(c, x, mode_of(c, node) == GN_MODE_TRAIN);
    if (v->fused)
        return gn_addition_after(c, node) ? GERNE_OK : fused_forward(c, node, NULL);
    GN_TRY(gn_make_batch_norm(&c->maker, NULL, gn_description_of(c, x), node->options,
                              shared ? GN_MODE_FROZEN : mode_of(c, node), &v->forward));
    GN_TRY(gn_parameter_tensor(c, node, SCALE, &scale));
    GN_TRY(gn_parameter_tensor(c, node, SHIFT, &shift));
    GN_TRY(statistics(c, node, &extra[BATCH_MEAN], &extra[BATCH_VARIANCE]));
    GN_TRY(gn_new_tensor(c, gn_description_of(c, x), &v->tensor));
    if (shared)
        GN_TRY(emit_statistics(c, node, scale, shift));
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
    bool shared = is_shared(c, node);
    int dy, dx, scale, shift;
    if (v->fused)
        return gn_fused_norm_backward(c, node, NULL, mode_of(c, node) == GN_MODE_TRAIN);
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_in_layout(c, dy, description, &dy));
    GN_TRY(gn_parameter_tensor(c, node, SCALE, &scale));
    GN_TRY(gn_parameter_tensor(c, node, SHIFT, &shift));
    dx = dy;
    if (!gn_may_overwrite(c, dy))
        GN_TRY(gn_new_tensor(c, description, &dx));
    gn_kernel kernel;
    GN_TRY(gn_make_batch_norm(&c->maker, &v->forward, description, node->options,
                              shared ? GN_MODE_FROZEN : mode_of(c, node), &kernel));
    const int tensors[] = {
        extra[SOURCE],    scale, shift, extra[BATCH_MEAN], extra[BATCH_VARIANCE], dy,
        extra[WORKSPACE], dx};
    gn_gradient_output outputs[] = {
        {.which = SCALE, .description = gn_parameter_description(c, node, SCALE)},
        {.which = SHIFT, .description = gn_parameter_description(c, node, SHIFT)}};
    if (shared)
        GN_TRY(emit_shared_backward(c, node, &kernel, tensors, outputs, scale, &dx));
    else
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

bool gn_is_norm(const gn_node *node)
{
    return node->layer == &normalization_layer;
}

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
