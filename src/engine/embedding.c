/* embedding.c - rows of tables, added: word + position + segment 0. */
#include <string.h>

#include "engine/sequence.h"

enum { WORD, POSITION, SEGMENT }; /* a node's parameters */

typedef struct embedding_options {
    gn_value tokens, spans;
    bool segments;
} embedding_options;

/* tokens, spans, result, word, position, segment (or -1). Rows that belong to no sample are zero.
 */
static void embed(gn_program *program, const gn_call *call)
{
    const int *t = call->tensors;
    const int32_t *tokens = gn_tensor_data(program, t[0]);
    const gn_layout layout = gn_layout_of(program, t[1], call->node);
    float *result = gn_tensor_data(program, t[2]);
    const float *word = gn_tensor_data(program, t[3]), *position = gn_tensor_data(program, t[4]);
    const float *segment = t[5] < 0 ? NULL : gn_tensor_data(program, t[5]);
    int64_t width = call->node->dims[1], used = gn_rows_used(&layout);
#pragma omp parallel for schedule(static)
    for (int64_t s = 0; s < layout.samples; s++) {
        gn_span span = gn_span_of(&layout, s);
        for (int64_t j = 0; j < span.count; j++) {
            int64_t row = span.start + j;
            const float *w = word + (int64_t)tokens[row] * width, *p = position + j * width;
            float *out = result + row * width;
            for (int64_t k = 0; k < width; k++)
                out[k] = w[k] + (segment ? segment[k] : 0) + p[k];
        }
    }
    memset(result + used * width, 0, (size_t)((layout.rows - used) * width) * sizeof *result);
}

/* What a thread adds to: some columns of all tables, so that every sum has one order whatever the
 * number of threads. */
typedef struct columns {
    int64_t first, count, width;
} columns;

static void add_columns(float *to, const float *from, int64_t to_row, int64_t from_row,
                        const columns *c)
{
    to += to_row * c->width + c->first;
    from += from_row * c->width + c->first;
    for (int64_t k = 0; k < c->count; k++)
        to[k] += from[k];
}

/* tokens, spans, d result, d word, d position, d segment (or -1) */
static void add_gradients(gn_program *program, const gn_call *call)
{
    const int *t = call->tensors;
    const embedding_options *options = call->node->options;
    const int32_t *tokens = gn_tensor_data(program, t[0]);
    const gn_layout layout = gn_layout_of(program, t[1], call->node);
    const float *gradient = gn_tensor_data(program, t[2]);
    float *word = gn_tensor_data(program, t[3]), *position = gn_tensor_data(program, t[4]);
    float *segment = options->segments ? gn_tensor_data(program, t[5]) : NULL;
    enum { COLUMNS = 64 };
    int64_t width = call->node->dims[1];
#pragma omp parallel for schedule(static)
    for (int64_t first = 0; first < width; first += COLUMNS) {
        columns c = {first, width - first < COLUMNS ? width - first : COLUMNS, width};
        for (int64_t s = 0; s < layout.samples; s++) {
            gn_span span = gn_span_of(&layout, s);
            for (int64_t j = 0; j < span.count; j++) {
                int64_t row = span.start + j;
                add_columns(word, gradient, tokens[row], row, &c);
                add_columns(position, gradient, j, row, &c);
                if (segment)
                    add_columns(segment, gradient, 0, row, &c);
            }
        }
    }
}

static void replace_gradients(gn_program *program, const gn_call *call)
{
    for (int i = 3; i < call->count; i++)
        memset(gn_tensor_data(program, call->tensors[i]), 0,
               program->tensors[call->tensors[i]].description->size);
    add_gradients(program, call);
}

static gerne_status forward(gn_compiler *c, const gn_node *node)
{
    const embedding_options *options = node->options;
    int tensors[6] = {
        c->values[options->tokens].tensor, c->values[options->spans].tensor, -1, -1, -1, -1};
    GN_TRY(gn_new_floats(c, node, &tensors[2]));
    for (int i = WORD; i < node->parameter_count; i++)
        GN_TRY(gn_parameter_tensor(c, node, i, &tensors[3 + i]));
    GN_TRY(gn_emit(c, &(gn_kernel){.routine = embed, .node = node}, tensors, 6));
    return gn_from_floats(c, node, tensors[2], &c->values[node->value].tensor);
}

static gerne_status backward(gn_compiler *c, const gn_node *node)
{
    const embedding_options *options = node->options;
    int dy;
    if (!gn_parameter_trains(c, node, WORD))
        return GERNE_OK;
    GN_TRY(gn_gradient_of(c, node->value, &dy));
    GN_TRY(gn_as_floats(c, node, dy, &dy));
    const int tensors[] = {c->values[options->tokens].tensor, c->values[options->spans].tensor, dy};
    return gn_emit_sparse_gradients(c, replace_gradients, add_gradients, node, tensors, 3,
                                    node->parameter_count);
}

static void describe_operation(const gn_node *node, gn_operation *out)
{
    (void)node;
    out->kind = GN_OP_EMBEDDING;
}

static const gn_layer embedding_layer = {
    .name = "embedding",
    .forward = forward,
    .backward = backward,
    .describe = describe_operation,
};

gn_value gn_embed(gn_graph *graph, gn_value tokens, gn_value spans, const gn_embedding *e)
{
    if (!gn_operand_at(graph, tokens, GN_INT32, 2, "an embedding") ||
        !gn_operand_at(graph, spans, GN_INT32, 2, "an embedding"))
        return -1;
    const embedding_options options = {tokens, spans, e->segment != NULL};
    gn_value value = gn_add_node(graph, &embedding_layer, &tokens, 1, 2, (int64_t[]){1, e->width},
                                 &options, sizeof options);
    gn_add_parameter(graph, e->word, "weight", GN_WEIGHT, 2, (int64_t[]){e->words, e->width}, NULL);
    gn_add_parameter(graph, e->position, "weight", GN_WEIGHT, 2,
                     (int64_t[]){e->positions, e->width}, NULL);
    if (e->segment)
        gn_add_parameter(graph, e->segment, "weight", GN_WEIGHT, 2,
                         (int64_t[]){e->segments, e->width}, NULL);
    return value;
}
