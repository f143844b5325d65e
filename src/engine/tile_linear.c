#include "engine/tile_linear.h"

#include "engine/tile_product.h"

bool gn_runs_on_tiles(const gn_compiler *c)
{
    return c->type == GN_FLOAT32 && gn_device_has_tiles(c->program->device);
}

static gn_matrix matrix_of(const gn_program *program, int tensor)
{
    return (gn_matrix){.numbers = gn_tensor_data(program, tensor),
                       .stride = program->tensors[tensor].description->dims[1]};
}

static gn_matrix transposed(gn_matrix m)
{
    m.transposed = true;
    return m;
}

static void multiply(const gn_program *program, gn_tile_product p, int scratch)
{
    p.scratch = gn_tensor_data(program, scratch);
    gn_multiply_on_tiles(&p, gn_device_threads(program->device));
}

static const int64_t *dims_of(const gn_program *program, int tensor)
{
    return program->tensors[tensor].description->dims;
}

/* scratch, x, w, y, bias */
static void forward(gn_program *program, const gn_call *call)
{
    const int *t = call->tensors;
    multiply(program,
             (gn_tile_product){.rows = dims_of(program, t[1])[0],
                               .columns = dims_of(program, t[2])[0],
                               .inner = dims_of(program, t[1])[1],
                               .a = matrix_of(program, t[1]),
                               .b = transposed(matrix_of(program, t[2])),
                               .result = matrix_of(program, t[3]),
                               .bias = gn_tensor_data(program, t[4])},
             t[0]);
}

/* scratch, dy, w, dx */
static void source_gradient(gn_program *program, const gn_call *call)
{
    const int *t = call->tensors;
    multiply(program,
             (gn_tile_product){.rows = dims_of(program, t[1])[0],
                               .columns = dims_of(program, t[2])[1],
                               .inner = dims_of(program, t[2])[0],
                               .a = matrix_of(program, t[1]),
                               .b = matrix_of(program, t[2]),
                               .result = matrix_of(program, t[3])},
             t[0]);
}

/* The sums of columns, some columns a thread: the order of a sum does not depend on their number.
 */
static void add_rows(const gn_program *program, int tensor, bool add, float *sums)
{
    enum { COLUMNS = 64 };
    const float *numbers = gn_tensor_data(program, tensor);
    const int64_t *dims = dims_of(program, tensor);
    int64_t rows = dims[0], width = dims[1];
#pragma omp parallel for schedule(static) num_threads(gn_device_threads(program->device))
    for (int64_t first = 0; first < width; first += COLUMNS) {
        int64_t count = width - first < COLUMNS ? width - first : COLUMNS;
        float sum[COLUMNS] = {0};
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < count; j++)
                sum[j] += numbers[i * width + first + j];
        for (int64_t j = 0; j < count; j++)
            sums[first + j] = add ? sums[first + j] + sum[j] : sum[j];
    }
}

/* scratch, x, dy, then the parameters' gradients: those of joined layers lie in a row. */
static void weight_gradient(gn_program *program, const gn_call *call, bool add)
{
    enum { FIRST = 3 };
    const int *t = call->tensors;
    int64_t outputs = dims_of(program, t[2])[1], inputs = dims_of(program, t[1])[1];
    int bias = t[FIRST + (call->count - FIRST) / 2];
    multiply(program,
             (gn_tile_product){.rows = outputs,
                               .columns = inputs,
                               .inner = dims_of(program, t[1])[0],
                               .a = transposed(matrix_of(program, t[2])),
                               .b = matrix_of(program, t[1]),
                               .result = matrix_of(program, t[FIRST]),
                               .adds = add},
             t[0]);
    add_rows(program, t[2], add, gn_tensor_data(program, bias));
}

static void replace_gradients(gn_program *program, const gn_call *call)
{
    weight_gradient(program, call, false);
}

static void add_gradients(gn_program *program, const gn_call *call)
{
    weight_gradient(program, call, true);
}

static gerne_status new_scratch(gn_compiler *c, const int64_t sizes[3], int *out)
{
    int64_t size = (int64_t)gn_tile_scratch(sizes[0], sizes[1], sizes[2]);
    const gn_description *bytes;
    GN_TRY(gn_describe(&c->maker, GN_BYTES, 1, &size, GN_PLAIN_ORDER, &bytes));
    return gn_new_tensor(c, bytes, out);
}

gerne_status gn_emit_tile_forward(gn_compiler *c, const gn_node *node, int x, int w, int y,
                                  int bias)
{
    const int64_t *in = gn_description_of(c, x)->dims, *weights = gn_description_of(c, w)->dims;
    int scratch;
    GN_TRY(new_scratch(c, (int64_t[]){in[0], weights[0], in[1]}, &scratch));
    return gn_emit(c, &(gn_kernel){.routine = forward, .node = node, .is_product = true},
                   (int[]){scratch, x, w, y, bias}, 5);
}

gerne_status gn_emit_tile_weight_gradient(gn_compiler *c, const gn_node *node, int x, int dy)
{
    const int64_t *in = gn_description_of(c, x)->dims, *out = gn_description_of(c, dy)->dims;
    int scratch;
    GN_TRY(new_scratch(c, (int64_t[]){out[1], in[1], in[0]}, &scratch));
    const gn_kernel replace = {.routine = replace_gradients, .node = node, .is_product = true};
    const gn_kernel add = {.routine = add_gradients, .node = node, .is_product = true};
    return gn_emit_own_gradients(c, &replace, &add, (int[]){scratch, x, dy}, 3,
                                 node->parameter_count);
}

gerne_status gn_emit_tile_source_gradient(gn_compiler *c, const gn_node *node, int dy, int w,
                                          int dx)
{
    const int64_t *out = gn_description_of(c, dy)->dims, *in = gn_description_of(c, dx)->dims;
    int scratch;
    GN_TRY(new_scratch(c, (int64_t[]){out[0], in[1], out[1]}, &scratch));
    return gn_emit(c, &(gn_kernel){.routine = source_gradient, .node = node, .is_product = true},
                   (int[]){scratch, dy, w, dx}, 4);
}
