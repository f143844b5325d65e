/* operations.h - what a finished graph computes, for readers outside the engine such as exporters.
 *
 *     for (gn_value v = 0; v < gn_graph_value_count(graph); v++) {
 *         gn_operation o = gn_graph_operation(graph, v);
 *         ...
 *     }
 *
 * Values are in an order in which they can be computed.
 */
#ifndef GN_ENGINE_OPERATIONS_H
#define GN_ENGINE_OPERATIONS_H

#include "engine/graph.h"

typedef enum gn_operation_kind {
    GN_OP_UNKNOWN, /* a kind of layer that does not describe itself: name says which */
    GN_OP_INPUT,
    GN_OP_CONVOLUTION,   /* weight */
    GN_OP_BATCH_NORM,    /* scale, shift, mean, variance */
    GN_OP_LINEAR,        /* joined weights, then joined biases */
    GN_OP_MAX_POOL,      /* */
    GN_OP_AVERAGE,       /* over all of an image */
    GN_OP_ADDITION,      /* */
    GN_OP_CONCATENATION, /* */
    GN_OP_EMBEDDING,     /* tables of words, positions and perhaps segments */
    GN_OP_PATCHES,       /* class token, positions, bias */
    GN_OP_LAYER_NORM,    /* scale, shift */
    GN_OP_ACTIVATION,
    GN_OP_DROPOUT, /* does nothing in inference; with two inputs an addition */
    GN_OP_ATTENTION,
    GN_OP_FIRST_PLACE,
    GN_OP_MEAN_PLACE,
} gn_operation_kind;

enum { GN_OPERANDS_MAX = 2, GN_OPERATION_PARAMETERS_MAX = 6 };

typedef struct gn_operation {
    gn_operation_kind kind;
    const char *name; /* of the input, or of the kind of layer; lent */
    gn_value inputs[GN_OPERANDS_MAX];
    int input_count;
    int ndims;                                   /* with the batch */
    int64_t dims[GN_DIMS_MAX];                   /* dims[0] is 1, for the batch */
    bool packed;                                 /* dims[0] stands for all tokens of the batch */
    int parameters[GN_OPERATION_PARAMETERS_MAX]; /* places among those of the graph, in the order
                                                    that the kind gives above */
    int parameter_count;
    int64_t kernel, stride, padding; /* of convolutions and poolings */
    int64_t heads;                   /* of attention */
    int joined;                      /* linear layers side by side */
    bool relu;                       /* follows */
    double epsilon;                  /* of normalisations */
    gn_activation activation;
} gn_operation;

gn_value gn_graph_value_count(const gn_graph *graph);
gn_value gn_graph_output(const gn_graph *graph);
gn_operation gn_graph_operation(const gn_graph *graph, gn_value value);

#endif
