#include "engine/winograd.h"

#include "engine/threads.h"
#include "engine/winograd_kernels.h"

enum { SOURCE }; /* a value's extra tensor */

/* Images in such blocks, on this processor. */
static bool has_kernels(int64_t lanes)
{
#ifdef __x86_64__
    if (lanes == gn_winograd_16.lanes)
        return __builtin_cpu_supports("avx512f");
    if (lanes == gn_winograd_8.lanes)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    (void)lanes;
#endif
    return false;
}

/* ---- what is computed ---- */

/* Tiles are done in blocks: what is spread of a block, beside the weights, stays in the cache. */
typedef struct plan {
    const gn_winograd *kernels;
    int64_t inputs, outputs; /* channels of the convolution */
    gn_tiling tiling;
    int64_t tiles, block, blocks;
} plan;

static int64_t up(int64_t count, int64_t size)
{
    return (count + size - 1) / size;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* batch: 0 where nothing depends on it. */
static plan plan_of(const gn_graph *graph, int64_t batch, const gn_node *node, int64_t lanes)
{
    plan p = {.kernels = lanes == gn_winograd_16.lanes ? &gn_winograd_16 : &gn_winograd_8,
              .inputs = graph->nodes[node->inputs[0]].dims[1],
              .outputs = node->dims[1],
              .tiling = {.height = node->dims[2],
                         .width = node->dims[3],
                         .rows = up(node->dims[2], GN_TILE),
                         .columns = up(node->dims[3], GN_TILE)}};
    p.tiles = batch * p.tiling.rows * p.tiling.columns;
    return p;
}

/* As many tiles as make their numbers outweigh the weights, which every block reads again. */
static void divide(plan *p, int64_t least, int64_t parts)
{
    int64_t row = GN_POINTS * (p->inputs + p->outputs);
    int64_t weights = GN_POINTS * p->inputs * p->outputs;
    int64_t most = (weights > least ? weights : least) / row;
    p->blocks = up(up(p->tiles, most), parts) * parts;
    p->block = up(p->tiles, p->blocks);
    p->blocks = up(p->tiles, p->block);
}

/* Between points: not a multiple of a page, as tiles of all points are read together. */
static int64_t stride_of(const plan *p, int64_t channels)
{
    return p->block * channels + p->kernels->lanes;
}

static int64_t room_of(const plan *p)
{
    return GN_POINTS * (stride_of(p, p->inputs) + stride_of(p, p->outputs));
}

bool gn_suits_winograd(const gn_maker *m, const gn_node *node)
{
    enum { PANEL = 32, CHANNELS_MAX = 256, PIXELS_MIN = 16 };
    const gn_convolution *o = node->options;
    const plan p = plan_of(m->graph, 0, node, 0);
    if (o->kernel != 3 || o->stride != 1 || o->padding != 1 ||
        gn_device_precision(m->device) != GN_FP32 ||
        !(has_kernels(gn_winograd_16.lanes) || has_kernels(gn_winograd_8.lanes)))
        return false;
    double pixels = (double)(p.tiling.height * p.tiling.width);
    double covered = (double)(p.tiling.rows * p.tiling.columns * GN_TILE * GN_TILE);
    return p.inputs % PANEL == 0 && p.outputs % PANEL == 0 && p.inputs <= CHANNELS_MAX &&
           p.outputs <= CHANNELS_MAX && pixels >= PIXELS_MIN && pixels >= 0.6 * covered;
}

bool gn_runs_by_winograd(const gn_compiler *c, const gn_node *node)
{
    int source = c->values[node->inputs[0]].tensor;
    return gn_suits_winograd(&c->maker, node) &&
           has_kernels(gn_channel_block(gn_description_of(c, source)));
}

static int64_t block_of_tensor(const gn_program *program, const gn_call *call)
{
    return gn_channel_block(program->tensors[call->tensors[0]].description);
}

/* ---- forward, and the gradient of the source ---- */

enum { LEAST = 110 * 1024 }; /* numbers of a block: half of a second cache */

static void convolve_block(const plan *p, const float *images, const float *weights, int64_t b,
                           float *room, float *result)
{
    const gn_winograd *k = p->kernels;
    int64_t first = b * p->block, count = smaller(p->block, p->tiles - first);
    int64_t in = stride_of(p, p->inputs), out = stride_of(p, p->outputs);
    float *products = room + GN_POINTS * in;
    for (int64_t t = 0; t < count; t++)
        k->spread_source(images, &p->tiling, p->inputs, first + t, room + t * p->inputs, in);
    for (int64_t point = 0; point < GN_POINTS; point++)
        k->multiply(room + point * in, weights + point * p->inputs * p->outputs, p->inputs,
                    p->outputs, count, products + point * out);
    for (int64_t t = 0; t < count; t++)
        k->gather_result(products + t * p->outputs, out, &p->tiling, p->outputs, first + t, result);
}

/* images, weights, room for spread weights, room for the tiles of each thread, result. turned: the
 * convolution that makes the gradient of this one's source. */
static void convolve(const gn_program *program, const gn_call *call, bool turned)
{
    plan p = plan_of(program->graph, program->batch, call->node, block_of_tensor(program, call));
    const float *images = gn_tensor_data(program, call->tensors[0]);
    const float *taps = gn_tensor_data(program, call->tensors[1]);
    float *weights = gn_tensor_data(program, call->tensors[2]);
    float *room = gn_tensor_data(program, call->tensors[3]);
    float *result = gn_tensor_data(program, call->tensors[4]);
    const int64_t inputs = p.inputs, outputs = p.outputs;
    if (turned) {
        p.inputs = outputs;
        p.outputs = inputs;
    }
    const int threads = gn_device_threads(program->device); /* there is room for these */
    divide(&p, LEAST, threads);
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < p.inputs; i++) {
            if (turned)
                p.kernels->spread_turned(taps, inputs, outputs, i, weights);
            else
                p.kernels->spread_weights(taps, inputs, outputs, i, weights);
        }
#pragma omp for schedule(static)
        for (int64_t b = 0; b < p.blocks; b++)
            convolve_block(&p, images, weights, b, room + omp_get_thread_num() * room_of(&p),
                           result);
    }
}

static void convolve_forward(gn_program *program, const gn_call *call)
{
    convolve(program, call, false);
}

static void convolve_backward(gn_program *program, const gn_call *call)
{
    convolve(program, call, true);
}

static gerne_status new_room(gn_compiler *c, int64_t count, int *out)
{
    const gn_description *description;
    GN_TRY(gn_describe(&c->maker, GN_FLOAT32, 1, &count, GN_PLAIN_ORDER, &description));
    return gn_new_tensor(c, description, out);
}

static gerne_status emit_convolution(gn_compiler *c, const gn_node *node, gn_routine *routine,
                                     const plan *shape, int source, int result)
{
    const gn_kernel kernel = {.routine = routine, .node = node, .is_product = true};
    int threads = gn_device_threads(c->program->device);
    int weights, spread, room;
    plan p = *shape;
    divide(&p, LEAST, threads);
    GN_TRY(gn_parameter_tensor(c, node, 0, &weights));
    GN_TRY(new_room(c, GN_POINTS * p.inputs * p.outputs, &spread));
    GN_TRY(new_room(c, threads * room_of(&p), &room));
    return gn_emit(c, &kernel, (int[]){source, weights, spread, room, result}, 5);
}

gerne_status gn_winograd_forward(gn_compiler *c, const gn_node *node)
{
    gn_compiled_value *v = &c->values[node->value];
    int x = c->values[node->inputs[0]].tensor;
    const plan p =
        plan_of(c->program->graph, c->maker.batch, node, gn_channel_block(gn_description_of(c, x)));
    v->extra[SOURCE] = x;
    GN_TRY(gn_new_image(c, node, p.kernels->lanes, &v->tensor));
    return emit_convolution(c, node, convolve_forward, &p, x, v->tensor);
}

/* ---- the gradient of the weights ---- */

enum { LEAST_OF_GRADIENT = 8 * LEAST }; /* threads wait for each other twice in each block */

/* source, gradient of the result, room for sums, room for the tiles of a block, gradient */
static void correlate(const gn_program *program, const gn_call *call, bool add)
{
    plan p = plan_of(program->graph, program->batch, call->node, block_of_tensor(program, call));
    const gn_winograd *k = p.kernels;
    const float *images = gn_tensor_data(program, call->tensors[0]);
    const float *gradient = gn_tensor_data(program, call->tensors[1]);
    float *sums = gn_tensor_data(program, call->tensors[2]);
    float *room = gn_tensor_data(program, call->tensors[3]);
    float *taps = gn_tensor_data(program, call->tensors[4]);
    divide(&p, LEAST_OF_GRADIENT, 1);
    const int64_t in = stride_of(&p, p.inputs), out = stride_of(&p, p.outputs);
    float *beside = room + GN_POINTS * in;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < GN_POINTS * p.inputs * p.outputs; i++)
            sums[i] = 0;
        for (int64_t first = 0; first < p.tiles; first += p.block) {
            int64_t count = smaller(p.block, p.tiles - first);
#pragma omp for schedule(static)
            for (int64_t t = 0; t < count; t++) {
                k->spread_source(images, &p.tiling, p.inputs, first + t, room + t * p.inputs, in);
                k->spread_result(gradient, &p.tiling, p.outputs, first + t, beside + t * p.outputs,
                                 out);
            }
#pragma omp for schedule(static)
            for (int64_t point = 0; point < GN_POINTS; point++)
                k->correlate(room + point * in, beside + point * out, p.inputs, p.outputs, count,
                             sums + point * p.inputs * p.outputs);
        }
#pragma omp for schedule(static)
        for (int64_t i = 0; i < p.inputs; i++)
            k->gather_weights(sums, p.inputs, p.outputs, i, add, taps);
    }
}

static void correlate_replacing(gn_program *program, const gn_call *call)
{
    correlate(program, call, false);
}

static void correlate_adding(gn_program *program, const gn_call *call)
{
    correlate(program, call, true);
}

static gerne_status weight_gradient(gn_compiler *c, const gn_node *node, const plan *shape, int dy)
{
    const gn_kernel replace = {.routine = correlate_replacing, .node = node, .is_product = true};
    const gn_kernel add = {.routine = correlate_adding, .node = node, .is_product = true};
    int sums, room;
    plan p = *shape;
    divide(&p, LEAST_OF_GRADIENT, 1);
    GN_TRY(new_room(c, GN_POINTS * p.inputs * p.outputs, &sums));
    GN_TRY(new_room(c, room_of(&p), &room));
    const int tensors[] = {c->values[node->value].extra[SOURCE], dy, sums, room};
    return gn_emit_own_gradients(c, &replace, &add, tensors, 4, 1);
}

gerne_status gn_winograd_backward(gn_compiler *c, const gn_node *node)
{
    const gn_compiled_value *v = &c->values[node->value];
    const gn_node *input = &c->program->graph->nodes[node->inputs[0]];
    int64_t lanes = gn_channel_block(gn_description_of(c, v->extra[SOURCE]));
    plan p = plan_of(c->program->graph, c->maker.batch, node, lanes);
    int dy, dx;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_in_layout(c, dy, gn_description_of(c, v->tensor), &dy));
    if (gn_parameter_trains(c, node, 0))
        GN_TRY(weight_gradient(c, node, &p, dy));
    if (!gn_wants_gradient(c, node->inputs[0]))
        return GERNE_OK;
    p.inputs = node->dims[1];
    p.outputs = input->dims[1];
    GN_TRY(gn_new_image(c, input, lanes, &dx));
    GN_TRY(emit_convolution(c, node, convolve_backward, &p, dy, dx));
    return gn_give_gradient(c, node->inputs[0], dx);
}
