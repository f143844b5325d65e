#include "engine/onednn.h"

#include <stdlib.h>

#include "engine/signal_stack.h"
#include "engine/tile_product.h"

#ifdef _OPENMP
#include <omp.h>
#endif

gerne_status gn_dnnl(gerne_ctx *ctx, dnnl_status_t status, const char *what)
{
    switch (status) {
    case dnnl_success:
        return GERNE_OK;
    case dnnl_out_of_memory:
        return gn_fail(ctx, GERNE_ENOMEM, "no memory for a kernel");
    case dnnl_unimplemented:
        return gn_fail(ctx, GERNE_EUNSUPPORTED, "oneDNN has no kernel for this layer (%s)", what);
    default:
        return gn_fail(ctx, GERNE_EINTERNAL, "oneDNN refused (%d): %s", (int)status, what);
    }
}

/* oneDNN 2.6 crashes in its kernels for AMX: it does not ask Linux for leave to use the tiles, and
 * with leave it writes out of bounds. The limit has to be set before oneDNN first looks at the
 * CPU and is refused afterwards; a limit of the user's comes first. */
static bool user_limits(void)
{
    return getenv("ONEDNN_MAX_CPU_ISA") || getenv("DNNL_MAX_CPU_ISA");
}

static dnnl_cpu_isa_t instructions(void)
{
    if (!user_limits())
        dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16);
    return dnnl_get_effective_cpu_isa();
}

/* For our own products, which a limit of oneDNN's switches off, too. */
static bool uses_tiles(void)
{
    return !user_limits() && gn_cpu_has_tiles();
}

const char *gn_device_cpu(void)
{
    static const struct {
        dnnl_cpu_isa_t isa;
        const char *name;
    } known[] = {
        {dnnl_cpu_isa_sse41, "sse4.1"},
        {dnnl_cpu_isa_avx, "avx"},
        {dnnl_cpu_isa_avx2, "avx2"},
        {dnnl_cpu_isa_avx2_vnni, "avx2_vnni"},
        {dnnl_cpu_isa_avx512_core, "avx512_core"},
        {dnnl_cpu_isa_avx512_core_vnni, "avx512_core_vnni"},
        {dnnl_cpu_isa_avx512_core_bf16, "avx512_core_bf16"},
    };
    dnnl_cpu_isa_t isa = instructions();
    if (uses_tiles())
        return "avx512_core_bf16+amx";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].isa == isa)
            return known[i].name;
    return "another";
}

/* oneDNN 2.6 computes in bfloat16 only with 512-bit vectors. */
static bool cpu_has_bf16(void)
{
    dnnl_cpu_isa_t isa = instructions();
    return ((unsigned)isa & (unsigned)dnnl_cpu_isa_avx512_core) ==
           (unsigned)dnnl_cpu_isa_avx512_core;
}

static gerne_status create(gerne_ctx *ctx, gn_device *device)
{
    GN_DNNL(ctx, gn_guard_engine(&device->engine));
    GN_DNNL(ctx, gn_guard_stream(&device->stream, device->engine));
    return gn_make_attributes(ctx, device);
}

gerne_status gn_device_new(gerne_ctx *ctx, int threads, gn_precision precision, gn_device **out)
{
    gn_device *device;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *device, "the engine", &device));
#ifdef _OPENMP
    if (threads > 0)
        omp_set_num_threads(threads);
    device->threads = omp_get_max_threads();
#else
    device->threads = threads > 0 ? threads : 1;
#endif
    gn_make_signal_stacks();
    device->precision = precision;
    device->tiles = precision == GN_FP32 && uses_tiles();
    device->emulates = !cpu_has_bf16() && precision == GN_BF16;
    gerne_status status = create(ctx, device);
    if (status != GERNE_OK) {
        gn_device_close(device);
        return status;
    }
    *out = device;
    return GERNE_OK;
}

void gn_device_close(gn_device *device)
{
    if (!device)
        return;
    gn_forget_descriptions(device);
    for (int i = 0; i < 4; i++)
        if (device->attributes[i / 2][i % 2])
            dnnl_primitive_attr_destroy(device->attributes[i / 2][i % 2]);
    if (device->stream)
        dnnl_stream_destroy(device->stream);
    if (device->engine)
        dnnl_engine_destroy(device->engine);
    gn_free(device);
}

void gn_device_enter(const gn_device *device)
{
    gn_restore_threads(device->threads);
    gn_make_signal_stacks(); /* the caller may be another thread than the one that made it */
}

int gn_threads_of_caller(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

void gn_restore_threads(int threads)
{
#ifdef _OPENMP
    omp_set_num_threads(threads);
#else
    (void)threads;
#endif
}

int gn_device_threads(const gn_device *device)
{
    return device->threads;
}

gn_precision gn_device_precision(const gn_device *device)
{
    return device->precision;
}

bool gn_device_has_tiles(const gn_device *device)
{
    return device->tiles;
}

bool gn_device_emulates(const gn_device *device)
{
    return device->emulates;
}
