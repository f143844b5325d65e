/* kernels.c - one constructor for each kind of kernel, and running them. */
#include "engine/onednn.h"

#include <string.h>

_Static_assert(sizeof(gn_sides) == sizeof(dnnl_dims_t), "a window must be long enough for oneDNN");

/* ---- making ---- */

void gn_maker_close(gn_maker *m)
{
    for (size_t i = 0; i < m->count; i++)
        dnnl_primitive_desc_destroy(m->made[i]);
    gn_free(m->made);
}

gerne_status gn_make_attributes(gerne_ctx *ctx, gn_device *device)
{
    for (int i = 0; i < 4; i++)
        GN_DNNL(ctx, gn_guard_attributes(&device->attributes[i / 2][i % 2], i / 2, i % 2));
    return GERNE_OK;
}

static const dnnl_memory_desc_t *query(const_dnnl_primitive_desc_t pd, dnnl_query_t what)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, what, 0);
    return md && md->ndims > 0 ? md : NULL;
}

/* The gradient where the kernel has one, else the value. */
static gerne_status find_operand(gn_maker *m, const_dnnl_primitive_desc_t pd, dnnl_query_t gradient,
                                 dnnl_query_t value, const gn_description **out)
{
    const dnnl_memory_desc_t *md = query(pd, gradient);
    return gn_from_dnnl(m, md ? md : query(pd, value), out);
}

static gerne_status read_choices(gn_maker *m, const_dnnl_primitive_desc_t pd, gn_kernel *kernel)
{
    gn_operands *o = &kernel->operands;
    GN_TRY(find_operand(m, pd, dnnl_query_diff_src_md, dnnl_query_src_md, &o->source));
    GN_TRY(find_operand(m, pd, dnnl_query_diff_weights_md, dnnl_query_weights_md, &o->weights));
    GN_TRY(find_operand(m, pd, dnnl_query_diff_dst_md, dnnl_query_dst_md, &o->result));
    GN_TRY(gn_from_dnnl(m, query(pd, dnnl_query_workspace_md), &kernel->workspace));
    GN_TRY(gn_from_dnnl(m, query(pd, dnnl_query_scratchpad_md), &kernel->scratchpad));
    const char *name = NULL;
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&name);
    kernel->is_reference = name && strstr(name, "ref") != NULL;
    return GERNE_OK;
}

/* Takes pd over. */
static gerne_status keep(gn_maker *m, dnnl_primitive_desc_t pd, gn_kernel *kernel)
{
    gerne_status status =
        gn_grow(m->ctx, &m->made, &m->capacity, m->count + 1, sizeof *m->made, "kernels");
    if (status != GERNE_OK) {
        dnnl_primitive_desc_destroy(pd);
        return status;
    }
    m->made[m->count++] = pd;
    kernel->primitive = pd;
    return read_choices(m, pd, kernel);
}

static gerne_status make_with(gn_maker *m, const_dnnl_op_desc_t operation,
                              const_dnnl_primitive_attr_t attributes, const gn_kernel *forward,
                              gn_kernel *kernel)
{
    dnnl_primitive_desc_t pd;
    dnnl_status_t s = gn_guard_describe(&pd, operation, attributes, m->device->engine,
                                        forward ? forward->primitive : NULL);
    GN_TRY(gn_dnnl(m->ctx, s, "describing a kernel"));
    return keep(m, pd, kernel);
}

/* oneDNN divides a kernel among the threads of the moment in which it is described, created, run.
 */
static void set_threads(const gn_device *device, bool alone)
{
    gn_restore_threads(alone ? 1 : device->threads);
}

static gerne_status make(gn_maker *m, const_dnnl_op_desc_t operation, bool relu,
                         const gn_kernel *forward, gn_kernel *kernel)
{
    set_threads(m->device, kernel->alone);
    gerne_status status =
        make_with(m, operation, m->device->attributes[false][relu], forward, kernel);
    set_threads(m->device, false);
    return status;
}

/* ---- products ---- */

static const int product_arguments[][4] = {
    [GN_FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS},
    [GN_WEIGHT_GRADIENT] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS,
                            DNNL_ARG_DIFF_BIAS},
    [GN_SOURCE_GRADIENT] = {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
};

static gerne_status make_convolution(gn_maker *m, dnnl_alg_kind_t kind, gn_pass pass,
                                     const gn_kernel *forward, const gn_operands *o,
                                     const gn_window *w, gn_kernel *out)
{
    const dnnl_memory_desc_t *source = gn_to_dnnl(o->source), *weights = gn_to_dnnl(o->weights),
                             *result = gn_to_dnnl(o->result);
    dnnl_convolution_desc_t op;
    dnnl_status_t s;
    if (pass == GN_FORWARD)
        s = dnnl_convolution_forward_desc_init(&op, dnnl_forward_training, kind, source, weights,
                                               NULL, result, w->strides, w->before, w->after);
    else if (pass == GN_WEIGHT_GRADIENT)
        s = dnnl_convolution_backward_weights_desc_init(&op, kind, source, weights, NULL, result,
                                                        w->strides, w->before, w->after);
    else
        s = dnnl_convolution_backward_data_desc_init(&op, kind, source, weights, result, w->strides,
                                                     w->before, w->after);
    GN_TRY(gn_dnnl(m->ctx, s, "describing a convolution"));
    *out = (gn_kernel){.arguments = product_arguments[pass], .is_product = true};
    return make(m, &op, false, forward, out);
}

/* Winograd's algorithm computes tiles of 4 x 4 results of a 3x3 kernel with a quarter of the
 * multiplications. It pays where the results fill most of their tiles, and where there is so much
 * to compute that its threads hardly notice that they wait for each other, three times in a loop
 * that never sleeps. */
static bool suits_winograd(const gn_operands *o, const gn_window *w)
{
    enum { TILE = 4, OPERATIONS = 1 << 25 };
    const int64_t *kernel = o->weights->dims, *result = o->result->dims;
    if (o->source->type != GN_FLOAT32 || o->weights->type != GN_FLOAT32)
        return false;
    if (kernel[2] != 3 || kernel[3] != 3 || w->strides[0] != 1 || w->strides[1] != 1)
        return false;
    int64_t rows = (result[2] + TILE - 1) / TILE * TILE;
    int64_t columns = (result[3] + TILE - 1) / TILE * TILE;
    double places = (double)(result[2] * result[3]);
    double operations = 2 * 9 * places * (double)(result[0] * result[1] * kernel[1]);
    return operations >= OPERATIONS && places >= 0.6 * (double)(rows * columns);
}

gerne_status gn_make_convolution(gn_maker *m, gn_pass pass, const gn_kernel *forward,
                                 const gn_operands *o, const gn_window *w, gn_kernel *out)
{
    /* oneDNN has it for AVX-512 alone. */
    if (suits_winograd(o, w) &&
        make_convolution(m, dnnl_convolution_winograd, pass, forward, o, w, out) == GERNE_OK)
        return GERNE_OK;
    return make_convolution(m, dnnl_convolution_direct, pass, forward, o, w, out);
}

static gerne_status make_complete(gn_maker *m, dnnl_alg_kind_t kind, const gn_operands *o,
                                  const gn_window *w, bool adds, bool relu, gn_kernel *out)
{
    dnnl_convolution_desc_t op;
    dnnl_status_t s = dnnl_convolution_forward_desc_init(
        &op, dnnl_forward_training, kind, gn_to_dnnl(o->source), gn_to_dnnl(o->weights),
        gn_to_dnnl(o->bias), gn_to_dnnl(o->result), w->strides, w->before, w->after);
    GN_TRY(gn_dnnl(m->ctx, s, "describing a convolution"));
    *out = (gn_kernel){.arguments = product_arguments[GN_FORWARD], .is_product = true};
    return make_with(m, &op, m->device->attributes[adds][relu], NULL, out);
}

gerne_status gn_make_complete_convolution(gn_maker *m, const gn_operands *o, const gn_window *w,
                                          bool adds, bool relu, gn_kernel *out)
{
    if (suits_winograd(o, w) &&
        make_complete(m, dnnl_convolution_winograd, o, w, adds, relu, out) == GERNE_OK)
        return GERNE_OK;
    return make_complete(m, dnnl_convolution_direct, o, w, adds, relu, out);
}

/* Threads gain nothing from a gradient of less than a tenth of a millisecond, whose parts they have
 * to add. But in oneDNN they wait for each other in a loop that never sleeps: beside other programs
 * that takes milliseconds. */
static bool stays_on_a_thread(gn_pass pass, const gn_operands *o)
{
    enum { OPERATIONS = 1 << 23 };
    return pass == GN_WEIGHT_GRADIENT &&
           2 * o->source->dims[0] * o->source->dims[1] * o->result->dims[1] < OPERATIONS;
}

gerne_status gn_make_inner_product(gn_maker *m, gn_pass pass, const gn_kernel *forward,
                                   const gn_operands *o, bool relu, gn_kernel *out)
{
    const dnnl_memory_desc_t *source = gn_to_dnnl(o->source), *weights = gn_to_dnnl(o->weights),
                             *bias = gn_to_dnnl(o->bias), *result = gn_to_dnnl(o->result);
    dnnl_inner_product_desc_t op;
    dnnl_status_t s;
    if (pass == GN_FORWARD)
        s = dnnl_inner_product_forward_desc_init(&op, dnnl_forward_training, source, weights, bias,
                                                 result);
    else if (pass == GN_WEIGHT_GRADIENT)
        s = dnnl_inner_product_backward_weights_desc_init(&op, source, weights, bias, result);
    else
        s = dnnl_inner_product_backward_data_desc_init(&op, source, weights, result);
    GN_TRY(gn_dnnl(m->ctx, s, "describing a matrix product"));
    *out = (gn_kernel){.arguments = product_arguments[pass],
                       .is_product = true,
                       .alone = stays_on_a_thread(pass, o)};
    return make(m, &op, relu, forward, out);
}

/* ---- normalisation and pooling ---- */

static dnnl_prop_kind_t direction(gn_mode mode)
{
    return mode == GN_MODE_INFER ? dnnl_forward_inference : dnnl_forward_training;
}

gerne_status gn_make_batch_norm(gn_maker *m, const gn_kernel *forward, const gn_description *source,
                                const gn_normalization *options, gn_mode mode, gn_kernel *out)
{
    static const int arguments[] = {DNNL_ARG_SRC,      DNNL_ARG_SCALE,    DNNL_ARG_SHIFT,
                                    DNNL_ARG_MEAN,     DNNL_ARG_VARIANCE, DNNL_ARG_DST,
                                    DNNL_ARG_WORKSPACE};
    static const int backward[] = {DNNL_ARG_SRC,       DNNL_ARG_SCALE,    DNNL_ARG_SHIFT,
                                   DNNL_ARG_MEAN,      DNNL_ARG_VARIANCE, DNNL_ARG_DIFF_DST,
                                   DNNL_ARG_WORKSPACE, DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_SCALE,
                                   DNNL_ARG_DIFF_SHIFT};
    const dnnl_memory_desc_t *md = gn_to_dnnl(source);
    unsigned flags = dnnl_use_scale | dnnl_use_shift;
    if (mode != GN_MODE_TRAIN)
        flags |= dnnl_use_global_stats;
    if (options->relu)
        flags |= dnnl_fuse_norm_relu;
    dnnl_batch_normalization_desc_t op;
    dnnl_status_t s = forward ? dnnl_batch_normalization_backward_desc_init(
                                    &op, dnnl_backward, md, md, options->epsilon, flags)
                              : dnnl_batch_normalization_forward_desc_init(&op, direction(mode), md,
                                                                           options->epsilon, flags);
    GN_TRY(gn_dnnl(m->ctx, s, "describing a normalization"));
    *out = (gn_kernel){.arguments = forward ? backward : arguments};
    return make(m, &op, false, forward, out);
}

gerne_status gn_make_pooling(gn_maker *m, const gn_kernel *forward, const gn_operands *o,
                             const gn_pooling *options, gn_mode mode, gn_kernel *out)
{
    static const int arguments[] = {DNNL_ARG_SRC, DNNL_ARG_DST, DNNL_ARG_WORKSPACE};
    static const int backward[] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_WORKSPACE};
    const dnnl_alg_kind_t kind =
        options->mean ? dnnl_pooling_avg_exclude_padding : dnnl_pooling_max;
    const dnnl_memory_desc_t *source = gn_to_dnnl(o->source), *result = gn_to_dnnl(o->result);
    const gn_window *w = &options->window;
    dnnl_pooling_desc_t op;
    dnnl_status_t s =
        forward ? dnnl_pooling_backward_desc_init(&op, kind, source, result, w->strides, w->kernel,
                                                  w->before, w->after)
                : dnnl_pooling_forward_desc_init(&op, direction(mode), kind, source, result,
                                                 w->strides, w->kernel, w->before, w->after);
    GN_TRY(gn_dnnl(m->ctx, s, "describing a pooling"));
    *out = (gn_kernel){.arguments = forward ? backward : arguments};
    return make(m, &op, false, forward, out);
}

gerne_status gn_make_layer_norm(gn_maker *m, const gn_kernel *forward, const gn_description *source,
                                double epsilon, gn_mode mode, gn_kernel *out)
{
    static const int arguments[] = {DNNL_ARG_SRC,  DNNL_ARG_SCALE,    DNNL_ARG_SHIFT,
                                    DNNL_ARG_MEAN, DNNL_ARG_VARIANCE, DNNL_ARG_DST};
    static const int backward[] = {DNNL_ARG_SRC,      DNNL_ARG_SCALE,      DNNL_ARG_SHIFT,
                                   DNNL_ARG_MEAN,     DNNL_ARG_VARIANCE,   DNNL_ARG_DIFF_DST,
                                   DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_SCALE, DNNL_ARG_DIFF_SHIFT};
    const dnnl_memory_desc_t *md = gn_to_dnnl(source);
    const gn_description *statistics;
    GN_TRY(
        gn_describe(m, GN_FLOAT32, source->ndims - 1, source->dims, GN_PLAIN_ORDER, &statistics));
    const dnnl_memory_desc_t *rows = gn_to_dnnl(statistics);
    const unsigned flags = dnnl_use_scale | dnnl_use_shift;
    dnnl_layer_normalization_desc_t op;
    dnnl_status_t s = forward
                          ? dnnl_layer_normalization_backward_desc_init(&op, dnnl_backward, md, md,
                                                                        rows, (float)epsilon, flags)
                          : dnnl_layer_normalization_forward_desc_init(&op, direction(mode), md,
                                                                       rows, (float)epsilon, flags);
    GN_TRY(gn_dnnl(m->ctx, s, "describing a layer normalization"));
    *out = (gn_kernel){.arguments = forward ? backward : arguments};
    GN_TRY(make(m, &op, false, forward, out));
    out->operands.bias = statistics;
    return GERNE_OK;
}

/* ---- number by number ---- */

static gerne_status make_eltwise(gn_maker *m, dnnl_alg_kind_t kind, const gn_description *d,
                                 gn_kernel *out)
{
    dnnl_eltwise_desc_t op;
    GN_DNNL(m->ctx,
            dnnl_eltwise_forward_desc_init(&op, dnnl_forward_training, kind, gn_to_dnnl(d), 0, 0));
    return make(m, &op, false, NULL, out);
}

static gerne_status make_eltwise_gradient(gn_maker *m, const gn_kernel *forward,
                                          dnnl_alg_kind_t kind, const gn_description *d,
                                          gn_kernel *out)
{
    const dnnl_memory_desc_t *md = gn_to_dnnl(d);
    dnnl_eltwise_desc_t op;
    GN_DNNL(m->ctx, dnnl_eltwise_backward_desc_init(&op, kind, md, md, 0, 0));
    return make(m, &op, false, forward, out);
}

gerne_status gn_make_activation(gn_maker *m, const gn_kernel *forward,
                                const gn_description *description, gn_activation activation,
                                gn_kernel *out)
{
    static const int arguments[] = {DNNL_ARG_SRC, DNNL_ARG_DST};
    static const int by_source[] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC};
    static const int by_result[] = {DNNL_ARG_DST, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC};
    static const dnnl_alg_kind_t kinds[] = {
        [GN_GELU] = dnnl_eltwise_gelu_erf,
        [GN_GELU_TANH] = dnnl_eltwise_gelu_tanh,
        [GN_RELU] = dnnl_eltwise_relu,
        [GN_TANH] = dnnl_eltwise_tanh_use_dst_for_bwd,
    };
    *out = (gn_kernel){.arguments = arguments};
    if (!forward)
        return make_eltwise(m, kinds[activation], description, out);
    out->arguments = activation == GN_TANH ? by_result : by_source;
    return make_eltwise_gradient(m, forward, kinds[activation], description, out);
}

gerne_status gn_make_sum(gn_maker *m, const gn_description *description, bool relu, gn_kernel *out)
{
    static const int arguments[] = {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1, DNNL_ARG_DST};
    *out = (gn_kernel){.arguments = arguments};
    const dnnl_memory_desc_t *md = gn_to_dnnl(description);
    dnnl_binary_desc_t op;
    GN_DNNL(m->ctx, dnnl_binary_desc_init(&op, dnnl_binary_add, md, md, md));
    return make(m, &op, relu, NULL, out);
}

gerne_status gn_make_relu_gradient(gn_maker *m, const gn_description *description, gn_kernel *out)
{
    static const int arguments[] = {DNNL_ARG_DST, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC};
    const dnnl_alg_kind_t kind = dnnl_eltwise_relu_use_dst_for_bwd;
    gn_kernel forward = {.arguments = NULL}; /* never run: oneDNN asks for it */
    GN_TRY(make_eltwise(m, kind, description, &forward));
    *out = (gn_kernel){.arguments = arguments};
    return make_eltwise_gradient(m, &forward, kind, description, out);
}

gerne_status gn_make_reorder(gn_maker *m, const gn_description *from, const gn_description *to,
                             gn_kernel *out)
{
    static const int arguments[] = {DNNL_ARG_FROM, DNNL_ARG_TO};
    *out = (gn_kernel){.arguments = arguments};
    dnnl_primitive_desc_t pd;
    dnnl_status_t s =
        gn_guard_describe_reorder(&pd, gn_to_dnnl(from), gn_to_dnnl(to), m->device->engine,
                                  m->device->attributes[false][false]);
    GN_TRY(gn_dnnl(m->ctx, s, "describing a reorder"));
    return keep(m, pd, out);
}

/* ---- running ---- */

struct gn_primitive {
    gn_device *device;
    bool alone;
    dnnl_primitive_t handle;
    const int *kinds;
    int count;
    dnnl_exec_arg_t arguments[GN_ARGUMENTS_MAX + 1];
};

gerne_status gn_primitive_new(gerne_ctx *ctx, gn_device *device, const gn_kernel *kernel,
                              gn_primitive **out)
{
    gn_primitive *p;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *p, "a kernel", &p));
    p->device = device;
    p->alone = kernel->alone;
    p->kinds = kernel->arguments;
    set_threads(device, p->alone);
    gerne_status status =
        gn_dnnl(ctx, gn_guard_create(&p->handle, kernel->primitive), "creating a kernel");
    set_threads(device, false);
    if (status == GERNE_OK)
        *out = p;
    else
        gn_free(p);
    return status;
}

void gn_primitive_close(gn_primitive *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->count; i++)
        dnnl_memory_destroy(p->arguments[i].memory);
    dnnl_primitive_destroy(p->handle);
    gn_free(p);
}

gerne_status gn_primitive_bind(gerne_ctx *ctx, gn_primitive *p, int index,
                               const gn_description *description, void *memory)
{
    int kind = index == GN_SCRATCHPAD ? DNNL_ARG_SCRATCHPAD : p->kinds[index];
    for (int i = 0; i < p->count; i++)
        if (p->arguments[i].arg == kind) {
            GN_DNNL(ctx, dnnl_memory_set_data_handle(p->arguments[i].memory, memory));
            return GERNE_OK;
        }
    dnnl_exec_arg_t *argument = &p->arguments[p->count];
    GN_DNNL(ctx,
            gn_guard_memory(&argument->memory, gn_to_dnnl(description), p->device->engine, memory));
    argument->arg = kind;
    p->count++;
    return GERNE_OK;
}

gerne_status gn_primitive_start(gerne_ctx *ctx, gn_primitive *p)
{
    if (p->alone)
        set_threads(p->device, true);
    dnnl_status_t s = gn_guard_execute(p->handle, p->device->stream, p->count, p->arguments);
    if (p->alone)
        set_threads(p->device, false);
    return gn_dnnl(ctx, s, "running a kernel");
}

gerne_status gn_primitives_wait(gerne_ctx *ctx, gn_device *device)
{
    return gn_dnnl(ctx, gn_guard_wait(device->stream), "waiting for kernels");
}

bool gn_multiply_small(int64_t rows, int64_t columns, int64_t inner, double scale, gn_matrix a,
                       gn_matrix b, gn_matrix result)
{
    return gn_guard_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', rows, columns, inner,
                          (float)scale, a.numbers, a.stride, b.numbers, b.stride, 0, result.numbers,
                          result.stride) == dnnl_success;
}

static gerne_status convert(gn_maker *m, const gn_description *from, void *source,
                            const gn_description *to, void *target, gn_primitive **p,
                            void **scratchpad)
{
    gn_kernel kernel;
    GN_TRY(gn_make_reorder(m, from, to, &kernel));
    GN_TRY(gn_primitive_new(m->ctx, m->device, &kernel, p));
    GN_TRY(gn_primitive_bind(m->ctx, *p, 0, from, source));
    GN_TRY(gn_primitive_bind(m->ctx, *p, 1, to, target));
    if (kernel.scratchpad) {
        GN_TRY(gn_alloc_aligned(m->ctx, kernel.scratchpad->size, 1, "a kernel", scratchpad));
        GN_TRY(gn_primitive_bind(m->ctx, *p, GN_SCRATCHPAD, kernel.scratchpad, *scratchpad));
    }
    GN_TRY(gn_primitive_start(m->ctx, *p));
    return gn_primitives_wait(m->ctx, m->device);
}

gerne_status gn_convert(gerne_ctx *ctx, gn_device *device, const gn_description *from,
                        const void *source, const gn_description *to, void *target)
{
    gn_maker m = {.ctx = ctx, .device = device};
    gn_primitive *p = NULL;
    void *scratchpad = NULL;
    gerne_status status = convert(&m, from, (void *)(uintptr_t)source, to, target, &p, &scratchpad);
    gn_primitive_close(p);
    gn_free(scratchpad);
    gn_maker_close(&m);
    return status;
}
