/* guard.h - the calls of oneDNN that allocate.
 *
 * oneDNN is written in C++, and some failed allocations leave its C functions as an exception,
 * which no C caller can catch: the program would abort. guard.cc catches it; the status is then
 * dnnl_out_of_memory (or dnnl_runtime_error for any other exception).
 */
#ifndef GN_ENGINE_GUARD_H
#define GN_ENGINE_GUARD_H

#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

dnnl_status_t gn_guard_engine(dnnl_engine_t *engine);
dnnl_status_t gn_guard_stream(dnnl_stream_t *stream, dnnl_engine_t engine);
/* With our own scratchpad, and with ReLU behind the operation or not. */
dnnl_status_t gn_guard_attributes(dnnl_primitive_attr_t *attributes, bool adds, bool relu);
dnnl_status_t gn_guard_describe(dnnl_primitive_desc_t *pd, const_dnnl_op_desc_t operation,
                                const_dnnl_primitive_attr_t attributes, dnnl_engine_t engine,
                                const_dnnl_primitive_desc_t forward);
dnnl_status_t gn_guard_describe_reorder(dnnl_primitive_desc_t *pd, const dnnl_memory_desc_t *from,
                                        const dnnl_memory_desc_t *to, dnnl_engine_t engine,
                                        const_dnnl_primitive_attr_t attributes);
dnnl_status_t gn_guard_create(dnnl_primitive_t *primitive, const_dnnl_primitive_desc_t pd);
dnnl_status_t gn_guard_memory(dnnl_memory_t *memory, const dnnl_memory_desc_t *md,
                              dnnl_engine_t engine, void *bytes);
dnnl_status_t gn_guard_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                               const dnnl_exec_arg_t *arguments);
dnnl_status_t gn_guard_wait(dnnl_stream_t stream);
dnnl_status_t gn_guard_sgemm(char a_transposed, char b_transposed, dnnl_dim_t rows,
                             dnnl_dim_t columns, dnnl_dim_t inner, float scale, const float *a,
                             dnnl_dim_t a_stride, const float *b, dnnl_dim_t b_stride, float keep,
                             float *result, dnnl_dim_t stride);

#ifdef __cplusplus
}
#endif

#endif
