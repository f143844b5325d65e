// guard.cc - the only C++ here: catches what oneDNN throws.
#include "guard.h"

#include <cstdlib>
#include <new>

namespace
{

// Calls, and turns what is thrown into a status.
template <typename Function, typename... Arguments>
dnnl_status_t guarded(Function function, Arguments... arguments) noexcept
{
    try {
        return function(arguments...);
    } catch (const std::bad_alloc &) {
        return dnnl_out_of_memory;
    } catch (...) {
        return dnnl_runtime_error;
    }
}

// Some objects oneDNN makes without looking whether there was memory for them: there has to be
// room for much more than what is about to be made.
constexpr std::size_t KERNEL_ROOM = 16 << 20; // generated code, and what generates it
constexpr std::size_t HANDLE_ROOM = 64 << 10; // a few hundred bytes; made by the thousand

bool has_room(std::size_t size) noexcept
{
    void *room = std::malloc(size);
    std::free(room);
    return room != nullptr;
}

template <typename Function, typename... Arguments>
dnnl_status_t made(Function function, Arguments... arguments) noexcept
{
    return has_room(KERNEL_ROOM) ? guarded(function, arguments...) : dnnl_out_of_memory;
}

dnnl_status_t make_attributes(dnnl_primitive_attr_t *out, bool adds, bool relu)
{
    dnnl_post_ops_t after = nullptr;
    dnnl_status_t s = dnnl_primitive_attr_create(out);
    if (s == dnnl_success)
        s = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
    if (s != dnnl_success || !(adds || relu))
        return s;
    s = guarded(dnnl_post_ops_create, &after);
    if (s == dnnl_success && adds)
        s = guarded(dnnl_post_ops_append_sum, after, 1.0f);
    if (s == dnnl_success && relu)
        s = guarded(dnnl_post_ops_append_eltwise, after, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f);
    if (s == dnnl_success)
        s = guarded(dnnl_primitive_attr_set_post_ops, *out, after);
    if (after)
        dnnl_post_ops_destroy(after);
    return s;
}

} // namespace

dnnl_status_t gn_guard_engine(dnnl_engine_t *engine)
{
    return made(dnnl_engine_create, engine, dnnl_cpu, 0);
}

dnnl_status_t gn_guard_stream(dnnl_stream_t *stream, dnnl_engine_t engine)
{
    return made(dnnl_stream_create, stream, engine, dnnl_stream_in_order);
}

dnnl_status_t gn_guard_attributes(dnnl_primitive_attr_t *attributes, bool adds, bool relu)
{
    return made(make_attributes, attributes, adds, relu);
}

dnnl_status_t gn_guard_describe(dnnl_primitive_desc_t *pd, const_dnnl_op_desc_t operation,
                                const_dnnl_primitive_attr_t attributes, dnnl_engine_t engine,
                                const_dnnl_primitive_desc_t forward)
{
    return made(dnnl_primitive_desc_create, pd, operation, attributes, engine, forward);
}

dnnl_status_t gn_guard_describe_reorder(dnnl_primitive_desc_t *pd, const dnnl_memory_desc_t *from,
                                        const dnnl_memory_desc_t *to, dnnl_engine_t engine,
                                        const_dnnl_primitive_attr_t attributes)
{
    return made(dnnl_reorder_primitive_desc_create, pd, from, engine, to, engine, attributes);
}

dnnl_status_t gn_guard_create(dnnl_primitive_t *primitive, const_dnnl_primitive_desc_t pd)
{
    return made(dnnl_primitive_create, primitive, pd);
}

dnnl_status_t gn_guard_memory(dnnl_memory_t *memory, const dnnl_memory_desc_t *md,
                              dnnl_engine_t engine, void *bytes)
{
    return has_room(HANDLE_ROOM) ? guarded(dnnl_memory_create, memory, md, engine, bytes)
                                 : dnnl_out_of_memory;
}

dnnl_status_t gn_guard_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                               const dnnl_exec_arg_t *arguments)
{
    return guarded(dnnl_primitive_execute, primitive, stream, count, arguments);
}

dnnl_status_t gn_guard_wait(dnnl_stream_t stream)
{
    return guarded(dnnl_stream_wait, stream);
}

dnnl_status_t gn_guard_sgemm(char a_transposed, char b_transposed, dnnl_dim_t rows,
                             dnnl_dim_t columns, dnnl_dim_t inner, float scale, const float *a,
                             dnnl_dim_t a_stride, const float *b, dnnl_dim_t b_stride, float keep,
                             float *result, dnnl_dim_t stride)
{
    return guarded(dnnl_sgemm, a_transposed, b_transposed, rows, columns, inner, scale, a, a_stride,
                   b, b_stride, keep, result, stride);
}
