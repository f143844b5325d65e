/* internal.h - shared by the files of this folder only. */
#ifndef GN_ENGINE_INTERNAL_H
#define GN_ENGINE_INTERNAL_H

#include "engine/kernels.h"
#include "engine/operations.h"

/* ---- graph ---- */

typedef struct gn_compiler gn_compiler;

/* A kind of layer. choose_weights replaces the plain description of its first parameter by one that
 * the kernels like; forward and backward append calls to the program; describe says to readers of
 * the graph what is computed. Adding a kind: one file with one of these, and a builder call. */
typedef struct gn_layer {
    const char *name;
    gerne_status (*choose_weights)(gn_maker *maker, const gn_node *node,
                                   const gn_description **weights); /* may be NULL */
    gerne_status (*forward)(gn_compiler *c, const gn_node *node);
    gerne_status (*backward)(gn_compiler *c, const gn_node *node);
    void (*describe)(const gn_node *node, gn_operation *out); /* its kind, and what belongs to it */
} gn_layer;

enum { GN_INPUTS_MAX = 2, GN_OWNED_MAX = 6 };

struct gn_node {
    const gn_layer *layer; /* NULL for an input */
    const char *name;      /* of an input */
    int port;              /* of an input: which one */
    gn_type type;
    gn_value value; /* the index of this node */
    gn_value inputs[GN_INPUTS_MAX];
    int input_count;
    int ndims;                    /* with the batch: 2 to 4 */
    int64_t dims[GN_DIMS_MAX];    /* dims[0] is 1 here; programs put their batch size there */
    bool packed;                  /* or their number of tokens */
    int parameters[GN_OWNED_MAX]; /* indices within the graph */
    int parameter_count;
    double flops;
    const void *options; /* the layer's own struct, in the graph's arena */
};

struct gn_graph {
    gn_device *device;
    gn_arena *arena;
    gn_node *nodes;
    size_t node_count, node_capacity, input_count;
    gn_parameter *parameters;
    const float **fixed; /* the constants, by parameter */
    size_t parameter_count, parameter_capacity, fixed_capacity;
    char prefix[GN_NAME_MAX];               /* of the names of parameters */
    int64_t longest;                        /* tokens of a sample in packed sequences */
    uint64_t masked_layers;                 /* that draw masks of dropout */
    size_t frozen_nodes, frozen_parameters; /* the first ones, which are not trained */
    gn_value output;
    gerne_ctx *ctx;
    gerne_status failed; /* of the builder calls, with its sentence in ctx */
};

/* For builder calls: a new node after inputs, with options copied; -1 after a failure. */
gn_value gn_add_node(gn_graph *graph, const gn_layer *layer, const gn_value *inputs, int count,
                     int ndims, const int64_t *dims, const void *options, size_t options_size);

/* A parameter of the newest node; without a suffix the name is whole. A node whose first input is
 * packed is packed, too, if it has two dimensions. */
void gn_add_parameter(gn_graph *graph, const char *name, const char *suffix, gn_role role,
                      int ndims, const int64_t *dims, const float *fixed);
/* Another one, right behind it in memory. */
void gn_join_parameter(gn_graph *graph, const char *name, const char *suffix, gn_role role,
                       int ndims, const int64_t *dims);

/* What a layer computes from: a value of a type with ndims dimensions (0: any). NULL after a
 * failure, which another value is. Do not keep it: adding nodes moves it. */
const gn_node *gn_operand_at(gn_graph *graph, gn_value value, gn_type type, int ndims,
                             const char *layer);

/* Spans of packed sequences, keys where masks are drawn: false after a failure. */
bool gn_check_sequence(gn_graph *graph, const gn_node *input, const gn_sequence *sequence,
                       const char *layer);

const gn_node *gn_find_input(const gn_graph *graph, const char *name); /* or NULL */

/* As if the program had no training mode: of layers that are frozen. */
bool gn_is_frozen(const gn_graph *graph, const gn_node *node);

/* ---- store ---- */

typedef struct gn_stored {
    gn_parameter parameter;
    const gn_description *description; /* as the kernels like it */
    const gn_description *plain;       /* as callers see it */
    size_t offset; /* in floats; trained ones in the block, others in the statistics */
} gn_stored;

typedef struct gn_part {
    const gn_graph *graph; /* lent */
    int first;             /* of its parameters */
    size_t start, size;    /* of its trained ones in the block */
} gn_part;

struct gn_store {
    gn_device *device;
    gn_stored *parameters;
    int count;
    gn_part *parts;
    int part_count;
    float *values, *gradients, *statistics;
    size_t size, statistics_size;
    gn_final_fn *watcher;
    void *watcher_user;
};

bool gn_is_trained(gn_role role);
float *gn_store_values_of(const gn_store *store, int index);
float *gn_store_gradients_of(const gn_store *store, int index); /* NULL unless trained */

/* ---- programs ---- */

typedef struct gn_buffer {
    size_t size;
    void *fixed;        /* memory that is not the program's own, or NULL */
    size_t first, last; /* the calls between which its contents matter */
    size_t offset;
    bool used;
    int readers; /* of a gradient: with more than one nobody may write in place */
} gn_buffer;

typedef struct gn_tensor {
    const gn_description *description;
    int buffer;
} gn_tensor;

typedef enum gn_when {
    GN_ALWAYS,
    GN_REPLACING,    /* only when gradients are replaced */
    GN_ACCUMULATING, /* only when gradients are added to */
} gn_when;

/* Depends on the numbers that a program is run on. */
typedef enum gn_suits {
    GN_ANY_INPUT,
    GN_DENSE_INPUT,
    GN_SPARSE_INPUT, /* most numbers are zero */
} gn_suits;

/* One step of a program: a oneDNN primitive, or a small routine of ours. */
struct gn_call {
    gn_primitive *primitive;
    const gn_description *scratchpad;
    gn_routine *routine;
    const gn_node *node; /* for a layer's own routine */
    gn_when when;
    gn_suits suits;
    const float *final; /* gradients from here on are final after this call; NULL: no news */
    bool is_product;
    int count;
    int tensors[GN_ARGUMENTS_MAX]; /* -1 for one that the kernel does without */
};

/* An input of a program. */
typedef struct gn_port {
    const gn_node *node;
    int tensor, gradient; /* the gradient may be -1 */
} gn_port;

struct gn_memory {
    unsigned char *bytes;
    size_t size;
    const gn_program *last; /* to run forward in it */
};

struct gn_program {
    gn_device *device;
    const gn_graph *graph;
    gn_store *store;
    int64_t batch, tokens;
    gn_mode mode;
    gn_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    gn_buffer *buffers;
    size_t buffer_count, buffer_capacity;
    gn_call *calls;
    size_t call_count, call_capacity;
    size_t backward_start;
    gn_memory *memory;
    bool owns_memory;
    const unsigned char *bound; /* what the primitives are bound to; memory may have grown since */
    size_t memory_size, scratchpad_size;
    bool failed;                 /* set by a routine: no memory */
    gn_suits input;              /* set by a routine: what it has found the input to be */
    gerne_ctx *ctx;              /* of the present run, for routines that reach other ranks */
    gerne_status unreached;      /* set by them, with its sentence in ctx */
    gn_port *inputs;             /* as many as the graph has */
    int output, output_gradient; /* tensors, or -1 */
};

enum { GN_PARTS_MAX = 4 };

/* What is known about a value while the program is put together. */
typedef struct gn_compiled_value {
    int tensor;              /* the forward result */
    int parts[GN_PARTS_MAX]; /* gradients from its consumers, to be added */
    int part_count;
    bool wants_gradient;
    bool fused;        /* a normalisation in our own kernel */
    bool waits;        /* a convolution that is run by a layer behind it */
    gn_kernel forward; /* which the kernels of backward belong to */
    int extra[4];      /* tensors that backward needs again (workspace, statistics) */
} gn_compiled_value;

struct gn_compiler {
    gn_maker maker;
    gn_program *program;
    gn_type type;   /* of activations: GN_FLOAT32 or GN_BFLOAT16 */
    gn_suits suits; /* of the calls that are appended now */
    gn_compiled_value *values;
    int parameter_base; /* of the graph in the store */
};

/* Samples, or tokens of a packed sequence. */
int64_t gn_rows_of(const gn_maker *maker, const gn_node *node);
/* The node's value for this program's batch, in plain order. */
gerne_status gn_describe_value(gn_compiler *c, const gn_node *node, gn_type type,
                               const gn_description **out);
const gn_description *gn_description_of(const gn_compiler *c, int tensor);

/* Tensors. */
gerne_status gn_new_tensor(gn_compiler *c, const gn_description *description, int *out);
/* For the node's value, an image in blocks of 8 or 16 channels. */
gerne_status gn_new_image(gn_compiler *c, const gn_node *node, int64_t block, int *out);
gerne_status gn_fixed_tensor(gn_compiler *c, const gn_description *description, void *memory,
                             int *out);
/* Another view of the same memory. */
gerne_status gn_alias_tensor(gn_compiler *c, int tensor, const gn_description *description,
                             int *out);
/* A tensor for what a kernel keeps for its backward pass; -1 when it keeps nothing. */
gerne_status gn_workspace_tensor(gn_compiler *c, const gn_kernel *kernel, int *out);
gerne_status gn_reorder(gn_compiler *c, int from, int to);
/* The tensor itself, or a copy in the wanted order and type. */
gerne_status gn_in_layout(gn_compiler *c, int tensor, const gn_description *wanted, int *out);
/* Its numbers in plain order under other dimensions: an image as features, a sequence as rows. */
gerne_status gn_reshape(gn_compiler *c, int tensor, const gn_description *wanted, int *out);

/* For routines of ours, which compute in fp32: a node's value in plain order to read; a new tensor
 * of its dimensions to write; and what was written, as other layers take it. */
gerne_status gn_as_floats(gn_compiler *c, const gn_node *node, int tensor, int *out);
gerne_status gn_new_floats(gn_compiler *c, const gn_node *node, int *out);
gerne_status gn_from_floats(gn_compiler *c, const gn_node *node, int floats, int *out);

/* The values of a node's parameter as kernels want them: type and order as wanted. stored describes
 * it, or all of several that lie in a row from it on. */
gerne_status gn_weight_tensor(gn_compiler *c, const gn_node *node, int which,
                              const gn_description *stored, const gn_description *wanted, int *out);
/* The parameter as it lies in the store. */
gerne_status gn_parameter_tensor(gn_compiler *c, const gn_node *node, int which, int *out);
const gn_description *gn_parameter_description(const gn_compiler *c, const gn_node *node,
                                               int which);
bool gn_parameter_trains(const gn_compiler *c, const gn_node *node, int which);

/* Calls. The tensors are those that the kernel's constructor or the routine names, in its order. */
gerne_status gn_emit(gn_compiler *c, const gn_kernel *kernel, const int *tensors, int count);
/* A backward call whose last tensors are gradients of the node's parameters; it must replace what
 * they hold. */
typedef struct gn_gradient_output {
    int which; /* parameter of the node */
    const gn_description *description;
    const gn_description *view;   /* the part of the parameter it belongs to; the rest is zero */
    const gn_description *joined; /* of all parameters that lie in a row from this one on */
    int64_t at;                   /* with joined: where it starts behind the parameter's start */
} gn_gradient_output;
gerne_status gn_emit_gradients(gn_compiler *c, const gn_kernel *kernel, const gn_node *node,
                               const int *tensors, int count, const gn_gradient_output *outputs,
                               int output_count);
/* Backward routines of one node, which write to its gradients in the store, the last tensors:
 * replace runs when they are replaced, add when they are added to. */
gerne_status gn_emit_own_gradients(gn_compiler *c, const gn_kernel *replace, const gn_kernel *add,
                                   const int *tensors, int count, int gradient_count);
/* The same of routines that change only a few numbers of their gradients. */
gerne_status gn_emit_sparse_gradients(gn_compiler *c, gn_routine *replace, gn_routine *add,
                                      const gn_node *node, const int *tensors, int count,
                                      int gradient_count);
/* In emulated bfloat16: rounds what a kernel has just written. */
gerne_status gn_settle(gn_compiler *c, int tensor);
/* dy *= (y > 0), in place when nobody else reads dy. */
gerne_status gn_emit_relu_gradient(gn_compiler *c, int y, int dy, int *out);

/* Gradients of values. */
gerne_status gn_gradient_of(gn_compiler *c, gn_value value, int *out); /* the sum of its parts */
gerne_status gn_give_gradient(gn_compiler *c, gn_value value, int tensor);
bool gn_wants_gradient(const gn_compiler *c, gn_value value);
bool gn_may_overwrite(const gn_compiler *c, int tensor);

void *gn_tensor_data(const gn_program *program, int tensor);

/* plan.c: sets offsets so that buffers that live at one time do not overlap; returns the size. */
gerne_status gn_plan_memory(gerne_ctx *ctx, gn_buffer *buffers, size_t count, size_t *size);

#endif
