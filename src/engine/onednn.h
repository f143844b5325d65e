/* onednn.h - the one door to oneDNN: for device.c, descriptions.c and kernels.c alone. */
#ifndef GN_ENGINE_ONEDNN_H
#define GN_ENGINE_ONEDNN_H

#include <oneapi/dnnl/dnnl.h>

#include "engine/guard.h"
#include "engine/kernels.h"

typedef struct gn_known_description gn_known_description;

struct gn_device {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    /* Of kernels: what follows them. [1][..]: the result is added to what is there; [..][1]: ReLU.
     */
    dnnl_primitive_attr_t attributes[2][2];
    int threads;
    gn_precision precision;
    bool emulates;
    bool tiles;                   /* of AMX, for our own products */
    gn_known_description **known; /* one of each description that was asked for */
    size_t known_count, known_capacity;
};

/* Turns a oneDNN status into ours; what says which step failed. */
gerne_status gn_dnnl(gerne_ctx *ctx, dnnl_status_t status, const char *what);
#define GN_DNNL(ctx, expression) GN_TRY(gn_dnnl(ctx, expression, #expression))

/* kernels.c: sets the device's attributes. */
gerne_status gn_make_attributes(gerne_ctx *ctx, gn_device *device);

/* descriptions.c: between oneDNN's descriptions and ours. They are untyped here because only the .c
 * files should depend on how a version of oneDNN keeps its own. NULL goes to NULL. */
const void *gn_to_dnnl(const gn_description *description);
gerne_status gn_from_dnnl(gn_maker *maker, const void *md, const gn_description **out);
void gn_forget_descriptions(gn_device *device);

#endif
