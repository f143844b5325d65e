/* onnx_layers.h - the layers of the engine as nodes of an ONNX graph; shared by the files onnx*.c.
 *
 * A value is called "body.7": graph and place; what is computed on the way to it has a suffix.
 */
#ifndef GN_NN_ONNX_LAYERS_H
#define GN_NN_ONNX_LAYERS_H

#include "engine/operations.h"
#include "nn/onnx_file.h"

typedef struct gn_onnx_name {
    char text[GN_ONNX_NAME_MAX];
} gn_onnx_name;

/* One of the network's graphs on its way. */
typedef struct gn_onnx_graph {
    gn_onnx *onnx;
    const gn_graph *graph;
    const char *prefix; /* "body" or "head" */
    const gn_store *store;
    int first;                  /* of the graph's parameters in the store */
    const char *input;          /* the graph's input, normalised */
    const char *tokens;         /* of texts */
    const char *present, *mask; /* 1 for tokens and 0 behind them; what is added to scores */
    gn_onnx_name *values;       /* what each value is called */
} gn_onnx_graph;

/* Adds the nodes of one value and sets its name. GERNE_EUSAGE for a layer that is not known here.
 */
GERNE_CHECKED gerne_status gn_onnx_add(gn_onnx_graph *g, gn_value value);

/* value.suffix */
gn_onnx_name gn_onnx_part(const char *value, const char *suffix);

/* One node with these inputs. */
#define GN_ONNX_NODE(onnx, type, output, ...)                                                      \
    gn_onnx_node(onnx, type, output, (const char *const[]){__VA_ARGS__},                           \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* A scalar of that name. */
void gn_onnx_number(gn_onnx *onnx, const char *name, double value);

/* The name of an operation's parameter. */
const char *gn_onnx_parameter(const gn_onnx_graph *g, const gn_operation *op, int which);

/* Layers of transformers: out is the value to be made of the inputs x. */
void gn_onnx_embedding(const gn_onnx_graph *g, const gn_operation *op, const char *out);
void gn_onnx_patches(const gn_onnx_graph *g, const gn_operation *op, const char *x,
                     const char *out);
void gn_onnx_attention(const gn_onnx_graph *g, const gn_operation *op, const char *x,
                       const char *out);
void gn_onnx_first_place(const gn_onnx_graph *g, const char *x, const char *out);
void gn_onnx_mean_place(const gn_onnx_graph *g, const gn_operation *op, const char *x,
                        const char *out);
void gn_onnx_activation(const gn_onnx_graph *g, const gn_operation *op, const char *x,
                        const char *out);

#endif
