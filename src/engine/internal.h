/* internal.h - shared by the files of this folder only: everything that knows oneDNN. */
#ifndef GN_ENGINE_INTERNAL_H
#define GN_ENGINE_INTERNAL_H

#include <oneapi/dnnl/dnnl.h>

#include "base/memory.h"
#include "engine/graph.h"

struct gn_device {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    int threads;
    gn_precision precision;
    bool emulates;
};

/* Turns a oneDNN status into ours; what says which step failed. */
gerne_status gn_dnnl(gerne_ctx *ctx, dnnl_status_t status, const char *what);
#define GN_DNNL(ctx, expression) GN_TRY(gn_dnnl(ctx, expression, #expression))

/* ---- graph ---- */

typedef struct gn_compiler gn_compiler;
typedef struct gn_node gn_node;
typedef struct gn_layout gn_layout;

/* A kind of layer. choose_layouts names the layouts of its weights; forward and backward append
 * calls to the program. Adding a kind: one file with one of these, and a builder call. */
typedef struct gn_layer {
    const char *name;
    gerne_status (*choose_layouts)(gn_layout *layout, const gn_node *node); /* may be NULL */
    gerne_status (*forward)(gn_compiler *c, const gn_node *node);
    gerne_status (*backward)(gn_compiler *c, const gn_node *node);
} gn_layer;

enum { GN_INPUTS_MAX = 2, GN_OWNED_MAX = 4 };

struct gn_node {
    const gn_layer *layer; /* NULL for the input */
    gn_value value;        /* the index of this node */
    gn_value inputs[GN_INPUTS_MAX];
    int input_count;
    int ndims;                    /* with the batch: 2 or 4 */
    int64_t dims[GN_DIMS_MAX];    /* dims[0] is 1 here; programs put their batch size there */
    int parameters[GN_OWNED_MAX]; /* indices within the graph */
    int parameter_count;
    double flops;
    const void *options; /* the layer's own struct, in the graph's arena */
};

struct gn_graph {
    gn_device *device;
    gn_arena *arena;
    gn_node *nodes;
    size_t node_count, node_capacity;
    gn_parameter *parameters;
    const float **fixed; /* the constants, by parameter */
    size_t parameter_count, parameter_capacity, fixed_capacity;
    gn_value output;
    gerne_ctx *ctx;
    gerne_status failed; /* of the builder calls, with its sentence in ctx */
};

/* For builder calls: a new node after inputs, with options copied; -1 after a failure. */
gn_value gn_add_node(gn_graph *graph, const gn_layer *layer, const gn_value *inputs, int count,
                     int ndims, const int64_t *dims, const void *options, size_t options_size);

/* A parameter of the newest node. */
void gn_add_parameter(gn_graph *graph, const char *name, const char *suffix, gn_role role,
                      int ndims, const int64_t *dims, const float *fixed);

const gn_node *gn_node_at(const gn_graph *graph, gn_value value); /* NULL for -1 */

/* ---- layouts and store ---- */

struct gn_layout {
    gerne_ctx *ctx;
    gn_device *device;
    const gn_graph *graph;
    int64_t batch;
    dnnl_memory_desc_t *descriptions; /* one for each parameter of the graph */
};

struct gn_store {
    gn_device *device;
    gn_parameter *parameters;
    dnnl_memory_desc_t *descriptions;
    size_t *offsets; /* in floats; trained ones in the block, others in the statistics */
    int count;
    int graph_count;
    const gn_graph **graphs; /* lent */
    int *first_parameter;    /* by graph */
    size_t *part_start;      /* by graph, one more at the end */
    float *values, *gradients, *statistics;
    size_t size, statistics_size;
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
    dnnl_memory_desc_t description;
    int buffer;
    dnnl_memory_t memory;
} gn_tensor;

typedef enum gn_when {
    GN_ALWAYS,
    GN_REPLACING,    /* only when gradients are replaced */
    GN_ACCUMULATING, /* only when gradients are added to */
} gn_when;

enum { GN_ARGUMENTS_MAX = 12 };

typedef struct gn_argument {
    int kind;   /* DNNL_ARG_... */
    int tensor; /* index */
} gn_argument;

typedef struct gn_call gn_call;
typedef void gn_routine(gn_program *program, const gn_call *call);

/* One step of a program: a oneDNN primitive, or a small routine of ours. */
struct gn_call {
    dnnl_primitive_t primitive;
    gn_routine *routine;
    double number; /* for routines */
    gn_when when;
    bool is_product;
    int count;
    gn_argument arguments[GN_ARGUMENTS_MAX];
    dnnl_exec_arg_t resolved[GN_ARGUMENTS_MAX + 1];
    dnnl_memory_t scratchpad;
};

struct gn_program {
    gn_device *device;
    const gn_graph *graph;
    gn_store *store;
    int64_t batch;
    gn_mode mode;
    gn_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    gn_buffer *buffers;
    size_t buffer_count, buffer_capacity;
    gn_call *calls;
    size_t call_count, call_capacity;
    size_t backward_start;
    unsigned char *memory;
    size_t memory_size, scratchpad_size;
    int input, output, output_gradient, input_gradient; /* tensors, or -1 */
};

enum { GN_PARTS_MAX = 4 };

/* What is known about a value while the program is put together. */
typedef struct gn_slot {
    int tensor;              /* the forward result */
    int parts[GN_PARTS_MAX]; /* gradients from its consumers, to be added */
    int part_count;
    bool wants_gradient;
    void *forward_description; /* dnnl_primitive_desc_t, a hint for backward */
    int extra[4];              /* tensors that backward needs again (workspace, statistics) */
} gn_slot;

struct gn_compiler {
    gerne_ctx *ctx;
    gn_device *device;
    gn_program *program;
    int64_t batch;
    gn_mode mode;
    dnnl_data_type_t type; /* of activations: f32 or bf16 */
    gn_slot *slots;
    int parameter_base; /* of the graph in the store */
};

/* Descriptions. */
gerne_status gn_describe(gerne_ctx *ctx, int ndims, const int64_t *dims, dnnl_data_type_t type,
                         dnnl_format_tag_t tag, dnnl_memory_desc_t *out);
dnnl_format_tag_t gn_plain_tag(int ndims);
/* The node's value for this program's batch, in any layout. */
gerne_status gn_describe_any(gn_compiler *c, const gn_node *node, dnnl_memory_desc_t *out);
const dnnl_memory_desc_t *gn_description(const gn_compiler *c, int tensor);
const dnnl_memory_desc_t *gn_query(const_dnnl_primitive_desc_t pd, dnnl_query_t what);

/* A primitive description that works in our scratchpad; relu adds it as a post-op. */
gerne_status gn_primitive_description(gerne_ctx *ctx, gn_device *device, const_dnnl_op_desc_t op,
                                      bool relu, const_dnnl_primitive_desc_t hint,
                                      dnnl_primitive_desc_t *out);
bool gn_is_reference(const_dnnl_primitive_desc_t pd); /* a slow implementation */

/* Tensors. */
gerne_status gn_new_tensor(gn_compiler *c, const dnnl_memory_desc_t *description, int *out);
gerne_status gn_fixed_tensor(gn_compiler *c, const dnnl_memory_desc_t *description, void *memory,
                             int *out);
/* Another view of the same memory. */
gerne_status gn_alias_tensor(gn_compiler *c, int tensor, const dnnl_memory_desc_t *description,
                             int *out);
gerne_status gn_reorder(gn_compiler *c, int from, int to);
/* The tensor itself, or a copy in the wanted layout and type. */
gerne_status gn_in_layout(gn_compiler *c, int tensor, const dnnl_memory_desc_t *wanted, int *out);

/* The values of a node's parameter as kernels want them: type and layout as wanted. */
gerne_status gn_weight_tensor(gn_compiler *c, const gn_node *node, int which,
                              const dnnl_memory_desc_t *wanted, int *out);
/* The parameter as it lies in the store. */
gerne_status gn_parameter_tensor(gn_compiler *c, const gn_node *node, int which, int *out);
const dnnl_memory_desc_t *gn_parameter_description(const gn_compiler *c, const gn_node *node,
                                                   int which);
bool gn_parameter_trains(const gn_compiler *c, const gn_node *node, int which);

/* Calls. pd is consumed, also on failure. */
gerne_status gn_emit(gn_compiler *c, dnnl_primitive_desc_t pd, const gn_argument *arguments,
                     int count, gn_when when, bool is_product);
gerne_status gn_emit_routine(gn_compiler *c, gn_routine *routine, const gn_argument *arguments,
                             int count, gn_when when, double number);
/* A backward call some of whose outputs are gradients of the node's parameters. */
typedef struct gn_gradient_output {
    int kind;  /* DNNL_ARG_DIFF_... */
    int which; /* parameter of the node */
    const dnnl_memory_desc_t *description;
    const dnnl_memory_desc_t *view; /* the part of the parameter it belongs to; the rest is zero */
} gn_gradient_output;
gerne_status gn_emit_gradients(gn_compiler *c, dnnl_primitive_desc_t pd, const gn_node *node,
                               const gn_argument *arguments, int count,
                               const gn_gradient_output *outputs, int output_count,
                               bool is_product);
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
size_t gn_tensor_bytes(const gn_program *program, int tensor);

/* plan.c: sets offsets so that buffers that live at one time do not overlap; returns the size. */
gerne_status gn_plan_memory(gerne_ctx *ctx, gn_buffer *buffers, size_t count, size_t *size);

#endif
