#include "engine/sparse_linear.h"

#include "engine/sparse.h"

enum { COLUMNS_MIN = 128 }; /* of an input whose zeros are worth looking for */
enum { WEIGHT, BIAS };      /* the node's parameters */

bool gn_may_be_sparse(const gn_maker *m, const gn_node *node)
{
    const gn_node *in = &m->graph->nodes[node->inputs[0]];
    int64_t columns = 1;
    for (int i = 1; i < in->ndims; i++)
        columns *= in->dims[i];
    return !in->layer && !in->packed && node->ndims == 2 && columns >= COLUMNS_MIN &&
           node->dims[1] >= GN_SPARSE_WIDTH_MIN && gn_device_precision(m->device) == GN_FP32;
}

bool gn_has_sparse_form(const gn_compiler *c, const gn_node *node)
{
    return gn_may_be_sparse(&c->maker, node) &&
           (c->program->mode == GN_MODE_INFER || gn_parameter_trains(c, node, WEIGHT));
}

static gn_sparse matrix_of(const gn_program *program, int numbers, int found)
{
    const int64_t *dims = program->tensors[numbers].description->dims;
    return (gn_sparse){.numbers = gn_tensor_data(program, numbers),
                       .rows = dims[0],
                       .columns = dims[1],
                       .found = gn_tensor_data(program, found)};
}

/* x, found */
static void look(gn_program *program, const gn_call *call)
{
    gn_sparse x = matrix_of(program, call->tensors[0], call->tensors[1]);
    program->input = gn_sparse_find(&x) ? GN_SPARSE_INPUT : GN_DENSE_INPUT;
}

static void look_at_rows(gn_program *program, const gn_call *call)
{
    gn_sparse x = matrix_of(program, call->tensors[0], call->tensors[1]);
    program->input = gn_sparse_find_rows(&x) ? GN_SPARSE_INPUT : GN_DENSE_INPUT;
}

/* x, weights, result, bias, found */
static void multiply(gn_program *program, const gn_call *call, bool relu)
{
    const int *t = call->tensors;
    gn_sparse x = matrix_of(program, t[0], t[4]);
    gn_sparse_forward(&x, gn_tensor_data(program, t[1]), gn_tensor_data(program, t[3]),
                      call->node->dims[1], relu, gn_tensor_data(program, t[2]));
}

static void forward(gn_program *program, const gn_call *call)
{
    multiply(program, call, false);
}

static void forward_relu(gn_program *program, const gn_call *call)
{
    multiply(program, call, true);
}

static void add_rows(const float *rows, int64_t count, int64_t width, float *sum)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < width; j++)
            sum[j] += rows[i * width + j];
}

/* x, found, d result, d weights, d bias */
static void gradients(gn_program *program, const gn_call *call, bool add)
{
    const int *t = call->tensors;
    gn_sparse x = matrix_of(program, t[0], t[1]);
    int64_t width = call->node->dims[1];
    const float *dy = gn_tensor_data(program, t[2]);
    float *bias = gn_tensor_data(program, t[4]);
    gn_sparse_backward(&x, dy, width, add, gn_tensor_data(program, t[3]));
    for (int64_t i = 0; i < width && !add; i++)
        bias[i] = 0;
    add_rows(dy, x.rows, width, bias);
}

static void replace_gradients(gn_program *program, const gn_call *call)
{
    gradients(program, call, false);
}

static void add_gradients(gn_program *program, const gn_call *call)
{
    gradients(program, call, true);
}

static gerne_status emit_look(gn_compiler *c, gn_routine *routine, int x, int *found)
{
    const int64_t *dims = gn_description_of(c, x)->dims;
    int64_t size = (int64_t)gn_sparse_size(dims[0], dims[1]);
    const gn_description *bits;
    GN_TRY(gn_describe(&c->maker, GN_BYTES, 1, &size, GN_PLAIN_ORDER, &bits));
    GN_TRY(gn_new_tensor(c, bits, found));
    return gn_emit(c, &(gn_kernel){.routine = routine}, (int[]){x, *found}, 2);
}

static gerne_status emit_product(gn_compiler *c, const gn_node *node, bool relu,
                                 const int tensors[4], int found)
{
    const gn_kernel product = {
        .routine = relu ? forward_relu : forward, .node = node, .is_product = true};
    return gn_emit(c, &product, (int[]){tensors[0], tensors[1], tensors[2], tensors[3], found}, 5);
}

/* Rows for which that is faster are computed over. */
static gerne_status emit_by_rows(gn_compiler *c, const gn_node *node, bool relu,
                                 const gn_kernel *dense, const int tensors[4])
{
    int found;
    GN_TRY(emit_look(c, look_at_rows, tensors[0], &found));
    c->suits = GN_DENSE_INPUT;
    GN_TRY(gn_emit(c, dense, tensors, 4));
    c->suits = GN_ANY_INPUT;
    return emit_product(c, node, relu, tensors, found);
}

gerne_status gn_emit_sparse_forward(gn_compiler *c, const gn_node *node, bool relu,
                                    const gn_kernel *dense, const int tensors[4], int *found)
{
    if (c->program->mode == GN_MODE_INFER)
        return emit_by_rows(c, node, relu, dense, tensors);
    GN_TRY(emit_look(c, look, tensors[0], found));
    c->suits = GN_SPARSE_INPUT;
    GN_TRY(emit_product(c, node, relu, tensors, *found));
    c->suits = GN_DENSE_INPUT;
    GN_TRY(gn_emit(c, dense, tensors, 4));
    c->suits = GN_ANY_INPUT;
    return GERNE_OK;
}

gerne_status gn_emit_sparse_backward(gn_compiler *c, const gn_node *node, int x, int found, int dy)
{
    c->suits = GN_SPARSE_INPUT;
    GN_TRY(gn_emit_sparse_gradients(c, replace_gradients, add_gradients, node,
                                    (int[]){x, found, dy}, 3, BIAS + 1));
    c->suits = GN_DENSE_INPUT;
    return GERNE_OK;
}
