#include "engine/routines.h"

#include <string.h>

#include "ranks/ranks.h"

/* The nearest bfloat16, ties to even, as the hardware does it; NaN stays NaN. */
static float round_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return x;
    bits += 0x7fffu + (bits >> 16 & 1);
    bits &= 0xffff0000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float *floats(gn_program *program, const gn_call *call, int argument)
{
    return gn_tensor_data(program, call->tensors[argument]);
}

static int64_t count(gn_program *program, const gn_call *call, int argument)
{
    return (int64_t)(program->tensors[call->tensors[argument]].description->size / sizeof(float));
}

void gn_round_to(gn_program *program, const gn_call *call)
{
    const float *from = floats(program, call, 0);
    float *to = floats(program, call, 1);
    int64_t n = count(program, call, 0);
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++)
        to[i] = round_bf16(from[i]);
}

void gn_clear(gn_program *program, const gn_call *call)
{
    memset(floats(program, call, 0), 0, (size_t)count(program, call, 0) * sizeof(float));
}

void gn_copy_to(gn_program *program, const gn_call *call)
{
    memcpy(floats(program, call, 1), floats(program, call, 0),
           (size_t)count(program, call, 0) * sizeof(float));
}

void gn_add_to(gn_program *program, const gn_call *call)
{
    const float *from = floats(program, call, 0);
    float *sum = floats(program, call, 1);
    int64_t n = count(program, call, 0);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        sum[i] += from[i];
}

void gn_update_statistics(gn_program *program, const gn_call *call)
{
    const float momentum = 0.1f;
    const float *mean = floats(program, call, 0), *variance = floats(program, call, 1);
    float *running_mean = floats(program, call, 2), *running_variance = floats(program, call, 3);
    /* The batch normalises by the biased variance; the running one estimates without bias. */
    double values = (double)(program->batch * call->node->dims[2] * call->node->dims[3]);
    values *= gn_ranks_size(gn_ranks_of(program->ctx)); /* whose batches are of one size */
    float unbiased = (float)(values / (values > 1 ? values - 1 : 1));
    int64_t n = count(program, call, 0);
    for (int64_t i = 0; i < n; i++) {
        running_mean[i] += momentum * (mean[i] - running_mean[i]);
        running_variance[i] += momentum * (variance[i] * unbiased - running_variance[i]);
    }
}
