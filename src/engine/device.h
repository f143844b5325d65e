/* device.h - where networks run: the CPU through oneDNN, a number of threads, a precision. */
#ifndef GN_ENGINE_DEVICE_H
#define GN_ENGINE_DEVICE_H

#include "base/status.h"

typedef enum gn_precision {
    GN_FP32,
    GN_BF16, /* convolutions and matrix products in bfloat16; weights, sums and losses in fp32 */
} gn_precision;

/* A device, and all that is built on it, is used by one thread at a time. */
typedef struct gn_device gn_device;

/* threads 0: as many as OpenMP would take. Where the CPU has no bfloat16 arithmetic, GN_BF16 rounds
 * at the same places and computes in fp32: the same numbers to within its sums, not the speed. */
GERNE_CHECKED gerne_status gn_device_new(gerne_ctx *ctx, int threads, gn_precision precision,
                                         gn_device **out);
void gn_device_close(gn_device *device);

int gn_device_threads(const gn_device *device);

/* OpenMP's number of threads belongs to the thread that calls. gn_device_new sets it; enter does so
 * for a device that another thread has made. A caller outside gets back what it had: */
void gn_device_enter(const gn_device *device);
int gn_threads_of_caller(void);
void gn_restore_threads(int threads); /* that gn_threads_of_caller gave */

gn_precision gn_device_precision(const gn_device *device);
/* The instruction set that kernels are chosen for, such as "avx2". Layouts of weights and the last
 * bits of sums depend on it. */
const char *gn_device_cpu(void);
bool gn_device_emulates(const gn_device *device);  /* bf16 by rounding */
bool gn_device_has_tiles(const gn_device *device); /* of AMX, for products of fp32 */

#endif
