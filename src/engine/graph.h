/* graph.h - networks as the engine sees them.
 *
 *   graph    what is computed: layers and the parameters they own; no memory
 *   store    the parameters of one or more graphs: one block of values, one of gradients, one of
 *            statistics; weights lie in the layout that the kernels like best
 *   program  a graph compiled for one batch size: a flat list of kernel calls and one block of
 *            memory, planned once; running it allocates nothing
 *
 * A value is an input or the output of a layer; the builder calls below return it. It has 2 to 4
 * dimensions, the first of which is the batch: features [batch][width], sequences
 * [batch][length][width], images [batch][channels][height][width]. Sequences of several lengths are
 * packed, [tokens][width]: the tokens of all samples one after the other, without padding between
 * them, and spans say where each sample's lie. The first failure sticks to the graph, so that
 * networks read without a test after every line: gn_graph_finish reports it.
 */
#ifndef GN_ENGINE_GRAPH_H
#define GN_ENGINE_GRAPH_H

#include "engine/device.h"

enum { GN_DIMS_MAX = 4, GN_NAME_MAX = 64 };

typedef enum gn_type {
    GN_FLOAT32,
    GN_INT32,    /* token ids and the like: inputs only, without gradients */
    GN_BFLOAT16, /* the engine's own: activations of GN_BF16 */
    GN_BYTES,    /* the engine's own: workspaces of kernels */
} gn_type;

typedef int gn_value;
typedef struct gn_graph gn_graph;

/* ---- building ---- */

GERNE_CHECKED gerne_status gn_graph_new(gerne_ctx *ctx, gn_device *device, gn_graph **out);
void gn_graph_close(gn_graph *graph);

/* What the caller fills before each pass, GN_FLOAT32 or GN_INT32. ndims and dims are those of one
 * sample: {width}, {length, width} or {channels, height, width}. Names differ within a graph:
 * "pixels", "features", "tokens", "mask". */
gn_value gn_input(gn_graph *graph, const char *name, gn_type type, int ndims, const int64_t *dims);

/* Packed sequences (asked for again, spans and keys are the same): one integer a token, and for
 * each sample of the batch where its tokens start and how many there are, int32_t [batch][2] (0
 * tokens for a sample that is not there). longest is the most tokens of one sample. */
gn_value gn_token_input(gn_graph *graph, const char *name, int64_t longest);
gn_value gn_span_input(gn_graph *graph, const char *name);

/* What the masks of dropout layers are drawn from: for each sample of the batch a key,
 * int32_t [batch][4]. */
gn_value gn_key_input(gn_graph *graph, const char *name);

typedef struct gn_convolution {
    int64_t outputs, kernel, stride, padding;
    const float *fixed; /* [outputs][inputs][kernel][kernel]: constant weights, lent; else NULL */
} gn_convolution;

gn_value gn_convolve(gn_graph *graph, gn_value input, const char *name,
                     const gn_convolution *convolution);

/* Normalises over batch and space, scales, shifts, and applies ReLU when asked. */
gn_value gn_batch_norm(gn_graph *graph, gn_value input, const char *name, bool relu);

/* [outputs][inputs] weights and a bias, then ReLU when asked. A sequence is mapped place by place,
 * an image is flattened. */
gn_value gn_linear(gn_graph *graph, gn_value input, const char *name, int64_t outputs, bool relu);

/* Several linear layers of the same size on one sequence in one product: their outputs side by
 * side, their parameters under names of their own. */
enum { GN_JOINED_MAX = 3 };
gn_value gn_linear_joined(gn_graph *graph, gn_value input, const char *const *names, int count,
                          int64_t outputs);

gn_value gn_max_pool(gn_graph *graph, gn_value input, int64_t kernel, int64_t stride,
                     int64_t padding);
gn_value gn_average_all(gn_graph *graph, gn_value input);      /* over space: image -> features */
gn_value gn_add_relu(gn_graph *graph, gn_value a, gn_value b); /* values of the same dimensions */
gn_value gn_add(gn_graph *graph, gn_value a, gn_value b);
gn_value gn_concatenate(gn_graph *graph, gn_value a,
                        gn_value b); /* features, one after the other */

/* ---- transformers ---- */

/* How a layer sees the samples of a sequence: packed ones need spans; even ones
 * [batch][length][width] have none (-1). Masks of dropout need keys (else -1); a rate of 0 costs
 * nothing, and neither does any rate in inference. A mask is a function of the sample's key, the
 * layer and the number's place in the sample alone. */
typedef struct gn_sequence {
    gn_value spans, keys;
    double dropout;
} gn_sequence;

/* word[token] + position[place in the sample] + segment[0]; packed. */
typedef struct gn_embedding {
    const char *word, *position, *segment; /* names of tables; segment may be NULL */
    int64_t words, positions, segments;    /* their rows */
    int64_t width;
} gn_embedding;
gn_value gn_embed(gn_graph *graph, gn_value tokens, gn_value spans, const gn_embedding *embedding);

/* The pixels of a convolution's result as a sequence behind a class token:
 * (token, pixel + bias, ...) + position. */
typedef struct gn_patches {
    const char *bias, *token, *position; /* whole names of parameters */
} gn_patches;
gn_value gn_patch_sequence(gn_graph *graph, gn_value image, const gn_patches *names);

gn_value gn_layer_norm(gn_graph *graph, gn_value input, const char *name, double epsilon);

typedef enum gn_activation {
    GN_GELU,      /* x Phi(x) by the error function */
    GN_GELU_TANH, /* its approximation by tanh */
    GN_RELU,
    GN_TANH,
} gn_activation;
gn_value gn_activate(gn_graph *graph, gn_value input, gn_activation activation);

gn_value gn_dropout(gn_graph *graph, gn_value input, const gn_sequence *sequence);
/* a + dropout(b) */
gn_value gn_add_dropped(gn_graph *graph, gn_value a, gn_value b, const gn_sequence *sequence);

/* softmax(q k^T / sqrt(width of a head)) v of each head, of queries, keys and values side by side
 * (3 x width -> width). Dropout acts on the softmax. */
gn_value gn_attention(gn_graph *graph, gn_value joined, int64_t heads, const gn_sequence *sequence);

/* The first place of every sample, or the mean of its places: sequence -> features. */
gn_value gn_first_place(gn_graph *graph, gn_value input, gn_value spans);
gn_value gn_mean_place(gn_graph *graph, gn_value input, gn_value spans);

/* Stands before the names of all parameters that follow; copied, "" for none. */
void gn_graph_set_prefix(gn_graph *graph, const char *prefix);

/* Declares the output and reports the first failure of the builder calls. */
GERNE_CHECKED gerne_status gn_graph_finish(gerne_ctx *ctx, gn_graph *graph, gn_value output);

/* Freezes all layers up to the last whose parameters are called NAME.something: they are not
 * trained, their normalisation keeps its statistics, and nothing in them is dropped. Before stores
 * and programs are made; false when there is no such layer. */
bool gn_graph_freeze(gn_graph *graph, const char *name);

/* Leaves of a finished graph what is frozen, or what computes from that; the rest's input is called
 * input. What lies between them is the front's output and the rest's input: one value, of any
 * dimensions. Before stores and programs are made, and where gn_graph_can_cut says so. */
bool gn_graph_can_cut(const gn_graph *graph);
void gn_graph_keep_front(gn_graph *graph);
GERNE_CHECKED gerne_status gn_graph_keep_rest(gerne_ctx *ctx, gn_graph *graph, const char *input);

/* Numbers a sample; 0 when there is no such input. */
int64_t gn_graph_input_size(const gn_graph *graph, const char *name);
int64_t gn_graph_output_size(const gn_graph *graph);
bool gn_graph_couples_samples(const gn_graph *graph); /* has normalisation layers that train */

/* Numbers in its parameters, without constants: what a file of its weights holds. */
int64_t gn_graph_numbers(const gn_graph *graph);

/* The multiply-add pairs of one sample's forward pass, times two. */
double gn_graph_flops(const gn_graph *graph);

/* ---- parameters ---- */

typedef enum gn_role {
    GN_WEIGHT, /* of a convolution [o][i][h][w] or a linear layer [o][i]; a table of embeddings */
    GN_BIAS,
    GN_SCALE, /* of a normalisation */
    GN_SHIFT,
    GN_MEAN, /* running statistics: not trained */
    GN_VARIANCE,
    GN_FIXED, /* constants: not trained, not saved */
} gn_role;

typedef struct gn_parameter {
    char name[GN_NAME_MAX]; /* "layer1.0.conv1.weight" */
    gn_role role;
    int ndims;
    int64_t dims[GN_DIMS_MAX];
    int64_t size; /* the product of dims */
    int graph;    /* which of the store's graphs it belongs to */
    bool joined;  /* lies in memory right behind the one before */
} gn_parameter;

typedef struct gn_store gn_store;

/* batch is the size that layouts are chosen for; any other works too. */
GERNE_CHECKED gerne_status gn_store_new(gerne_ctx *ctx, gn_device *device, gn_graph *const *graphs,
                                        int count, int64_t batch, gn_store **out);
void gn_store_close(gn_store *store);

#pragma GCC visibility push(default) /* what plug-ins may call */

int gn_store_count(const gn_store *store);
const gn_parameter *gn_store_parameter(const gn_store *store, int index);

/* One parameter in plain order (that of gn_parameter.dims). */
GERNE_CHECKED gerne_status gn_store_get(gerne_ctx *ctx, const gn_store *store, int index,
                                        float *plain);
GERNE_CHECKED gerne_status gn_store_set(gerne_ctx *ctx, gn_store *store, int index,
                                        const float *plain);
GERNE_CHECKED gerne_status gn_store_get_gradient(gerne_ctx *ctx, const gn_store *store, int index,
                                                 float *plain);

/* The trained parameters as one flat block, whatever their layout, and their gradients; the part of
 * one graph is contiguous. Padding inside is zero and stays zero under any elementwise update. */
typedef struct gn_block {
    float *values, *gradients;
    size_t size;
} gn_block;

gn_block gn_store_block(const gn_store *store);
gn_block gn_store_part(const gn_store *store, int graph);
gn_block gn_store_unfrozen(const gn_store *store); /* without what gn_graph_freeze froze */
gn_block gn_store_parameter_block(const gn_store *store, int index); /* a trained one, padded */
float *gn_store_statistics(const gn_store *store, size_t *size);

#pragma GCC visibility pop

/* Backward computes gradients from the end of a graph to its start, and parameters lie in the order
 * of the graph. The watcher is told after each layer from where on the gradients of the graph's
 * part are final, if this was the last pass that adds to them. */
typedef void gn_final_fn(void *user, const float *first);
void gn_store_watch(gn_store *store, gn_final_fn *watcher, void *user); /* NULL: nobody */

/* ---- programs ---- */

typedef enum gn_mode {
    GN_MODE_TRAIN,  /* normalisation by the batch's statistics; running ones are updated */
    GN_MODE_FROZEN, /* by the running statistics, which stay; scale and shift train */
    GN_MODE_INFER,  /* forward only */
} gn_mode;

typedef struct gn_program gn_program;

/* Memory for programs of which one runs at a time, backward right after forward: as much as the
 * largest needs. */
typedef struct gn_memory gn_memory;
GERNE_CHECKED gerne_status gn_memory_new(gerne_ctx *ctx, gn_memory **out);
void gn_memory_close(gn_memory *memory); /* after its programs */

/* input_gradients: backward also computes the gradients of the inputs. The memory is lent; NULL:
 * the program has its own. */
GERNE_CHECKED gerne_status gn_program_new(gerne_ctx *ctx, gn_graph *graph, gn_store *store,
                                          int64_t batch, gn_mode mode, bool input_gradients,
                                          gn_memory *memory, gn_program **out);
void gn_program_close(gn_program *program);

/* A graph with packed sequences, for up to batch samples of up to tokens tokens together. */
GERNE_CHECKED gerne_status gn_program_new_packed(gerne_ctx *ctx, gn_graph *graph, gn_store *store,
                                                 int64_t batch, int64_t tokens, gn_mode mode,
                                                 gn_memory *memory, gn_program **out);

/* Where the numbers lie, in plain order. The addresses stay the same as long as the program (in
 * shared memory, until the next program is made in it): look inputs up once. NULL for a name that
 * the graph does not have, and for gradients that the program does not compute (those of integers
 * never). */
void *gn_program_input(gn_program *program, const char *name); /* floats or int32_t, to be filled */
float *gn_program_input_gradient(gn_program *program, const char *name);
const float *gn_program_output(const gn_program *program);
float *gn_program_output_gradient(gn_program *program); /* to be filled before backward */

GERNE_CHECKED gerne_status gn_program_forward(gerne_ctx *ctx, gn_program *program);

/* Adds to the gradients in the store, or replaces them when accumulate is false. */
GERNE_CHECKED gerne_status gn_program_backward(gerne_ctx *ctx, gn_program *program,
                                               bool accumulate);

/* The convolution and linear kernels of the program alone, once each on whatever is in memory: the
 * bound that a step cannot beat (for benchmarks). */
GERNE_CHECKED gerne_status gn_program_run_products(gerne_ctx *ctx, gn_program *program);

#endif
