/* onnx_sequences.c - the layers of transformers, on sequences [batch, length, width]. */
#include <math.h>

#include "nn/onnx_layers.h"

void gn_onnx_embedding(const gn_onnx_graph *g, const gn_operation *op, const char *out)
{
    gn_onnx *o = g->onnx;
    gn_onnx_name words = gn_onnx_part(out, "words"), length = gn_onnx_part(out, "length"),
                 zero = gn_onnx_part(out, "zero"), axis = gn_onnx_part(out, "axis"),
                 places = gn_onnx_part(out, "places"), segment = gn_onnx_part(out, "segment"),
                 sum = gn_onnx_part(out, "sum"), first = gn_onnx_part(out, "first");
    const char *before = words.text;
    GN_ONNX_NODE(o, "Gather", words.text, gn_onnx_parameter(g, op, 0), g->tokens);
    gn_onnx_int(o, "start", 1);
    gn_onnx_int(o, "end", 2);
    GN_ONNX_NODE(o, "Shape", length.text, g->tokens);
    gn_onnx_integers(o, zero.text, 1, 1, (int64_t[]){0});
    gn_onnx_integers(o, axis.text, 1, 1, (int64_t[]){0});
    GN_ONNX_NODE(o, "Slice", places.text, gn_onnx_parameter(g, op, 1), zero.text, length.text,
                 axis.text);
    if (op->parameter_count > 2) { /* every token is of the first segment */
        gn_onnx_integers(o, first.text, 0, 1, (int64_t[]){0});
        GN_ONNX_NODE(o, "Gather", segment.text, gn_onnx_parameter(g, op, 2), first.text);
        GN_ONNX_NODE(o, "Add", sum.text, words.text, segment.text);
        before = sum.text;
    }
    GN_ONNX_NODE(o, "Add", out, before, places.text);
}

void gn_onnx_patches(const gn_onnx_graph *g, const gn_operation *op, const char *x, const char *out)
{
    gn_onnx *o = g->onnx;
    int64_t width = op->dims[2];
    gn_onnx_name rows_shape = gn_onnx_part(out, "rows_shape"), rows = gn_onnx_part(out, "rows"),
                 turned = gn_onnx_part(out, "places"), pixels = gn_onnx_part(out, "pixels"),
                 batch = gn_onnx_part(out, "batch"), rest = gn_onnx_part(out, "rest"),
                 token_shape = gn_onnx_part(out, "token_shape"), token = gn_onnx_part(out, "token"),
                 sequence = gn_onnx_part(out, "sequence");
    gn_onnx_integers(o, rows_shape.text, 1, 3, (int64_t[]){0, width, -1});
    GN_ONNX_NODE(o, "Reshape", rows.text, x, rows_shape.text);
    gn_onnx_ints(o, "perm", (int64_t[]){0, 2, 1}, 3);
    GN_ONNX_NODE(o, "Transpose", turned.text, rows.text);
    GN_ONNX_NODE(o, "Add", pixels.text, turned.text, gn_onnx_parameter(g, op, 2));
    gn_onnx_int(o, "start", 0);
    gn_onnx_int(o, "end", 1);
    GN_ONNX_NODE(o, "Shape", batch.text, x);
    gn_onnx_integers(o, rest.text, 1, 2, (int64_t[]){1, width});
    gn_onnx_int(o, "axis", 0);
    GN_ONNX_NODE(o, "Concat", token_shape.text, batch.text, rest.text);
    GN_ONNX_NODE(o, "Expand", token.text, gn_onnx_parameter(g, op, 0), token_shape.text);
    gn_onnx_int(o, "axis", 1);
    GN_ONNX_NODE(o, "Concat", sequence.text, token.text, pixels.text);
    GN_ONNX_NODE(o, "Add", out, sequence.text, gn_onnx_parameter(g, op, 1));
}

/* [batch, length, width] as [batch, heads, length, size], or with the last two exchanged. */
static void split_heads(gn_onnx *o, const char *x, const char *shape, bool exchanged,
                        const char *out)
{
    gn_onnx_name apart = gn_onnx_part(out, "apart");
    const int64_t plain[] = {0, 2, 1, 3}, other[] = {0, 2, 3, 1};
    GN_ONNX_NODE(o, "Reshape", apart.text, x, shape);
    gn_onnx_ints(o, "perm", exchanged ? other : plain, 4);
    GN_ONNX_NODE(o, "Transpose", out, apart.text);
}

void gn_onnx_attention(const gn_onnx_graph *g, const gn_operation *op, const char *x,
                       const char *out)
{
    gn_onnx *o = g->onnx;
    int64_t width = op->dims[op->ndims - 1], size = width / op->heads;
    gn_onnx_name sizes = gn_onnx_part(out, "sizes"), shape = gn_onnx_part(out, "heads"),
                 whole = gn_onnx_part(out, "whole"), scale = gn_onnx_part(out, "scale"),
                 q = gn_onnx_part(out, "q"), k = gn_onnx_part(out, "k"), v = gn_onnx_part(out, "v"),
                 qs = gn_onnx_part(out, "queries"), ks = gn_onnx_part(out, "keys"),
                 vs = gn_onnx_part(out, "values"), products = gn_onnx_part(out, "products"),
                 scores = gn_onnx_part(out, "scores"), masked = gn_onnx_part(out, "masked"),
                 weights = gn_onnx_part(out, "weights"), sums = gn_onnx_part(out, "sums"),
                 together = gn_onnx_part(out, "together");
    gn_onnx_integers(o, sizes.text, 1, 3, (int64_t[]){width, width, width});
    gn_onnx_integers(o, shape.text, 1, 4, (int64_t[]){0, 0, op->heads, size});
    gn_onnx_integers(o, whole.text, 1, 3, (int64_t[]){0, 0, width});
    gn_onnx_number(o, scale.text, 1 / sqrt((double)size));
    gn_onnx_int(o, "axis", -1);
    gn_onnx_node_many(o, "Split", (const char *const[]){q.text, k.text, v.text}, 3,
                      (const char *const[]){x, sizes.text}, 2);
    split_heads(o, q.text, shape.text, false, qs.text);
    split_heads(o, k.text, shape.text, true, ks.text);
    split_heads(o, v.text, shape.text, false, vs.text);
    GN_ONNX_NODE(o, "MatMul", products.text, qs.text, ks.text);
    GN_ONNX_NODE(o, "Mul", scores.text, products.text, scale.text);
    if (op->packed)
        GN_ONNX_NODE(o, "Add", masked.text, scores.text, g->mask);
    gn_onnx_int(o, "axis", -1);
    GN_ONNX_NODE(o, "Softmax", weights.text, op->packed ? masked.text : scores.text);
    GN_ONNX_NODE(o, "MatMul", sums.text, weights.text, vs.text);
    gn_onnx_ints(o, "perm", (int64_t[]){0, 2, 1, 3}, 4);
    GN_ONNX_NODE(o, "Transpose", together.text, sums.text);
    GN_ONNX_NODE(o, "Reshape", out, together.text, whole.text);
}

void gn_onnx_first_place(const gn_onnx_graph *g, const char *x, const char *out)
{
    gn_onnx_name place = gn_onnx_part(out, "place");
    gn_onnx_integers(g->onnx, place.text, 0, 1, (int64_t[]){0});
    gn_onnx_int(g->onnx, "axis", 1);
    GN_ONNX_NODE(g->onnx, "Gather", out, x, place.text);
}

/* Of the places that hold tokens, where there are others. */
void gn_onnx_mean_place(const gn_onnx_graph *g, const gn_operation *op, const char *x,
                        const char *out)
{
    gn_onnx *o = g->onnx;
    gn_onnx_name last = gn_onnx_part(out, "last"), places = gn_onnx_part(out, "places"),
                 column = gn_onnx_part(out, "column"), kept = gn_onnx_part(out, "kept"),
                 sum = gn_onnx_part(out, "sum"), count = gn_onnx_part(out, "count");
    if (!gn_graph_operation(g->graph, op->inputs[0]).packed) {
        gn_onnx_ints(o, "axes", (int64_t[]){1}, 1);
        gn_onnx_int(o, "keepdims", 0);
        GN_ONNX_NODE(o, "ReduceMean", out, x);
        return;
    }
    gn_onnx_integers(o, last.text, 1, 1, (int64_t[]){2});
    gn_onnx_integers(o, places.text, 1, 1, (int64_t[]){1});
    GN_ONNX_NODE(o, "Unsqueeze", column.text, g->present, last.text);
    GN_ONNX_NODE(o, "Mul", kept.text, x, column.text);
    gn_onnx_int(o, "keepdims", 0);
    GN_ONNX_NODE(o, "ReduceSum", sum.text, kept.text, places.text);
    gn_onnx_int(o, "keepdims", 0);
    GN_ONNX_NODE(o, "ReduceSum", count.text, column.text, places.text);
    GN_ONNX_NODE(o, "Div", out, sum.text, count.text);
}

/* x (1 + f(inner)) / 2 */
static void add_gelu(gn_onnx *o, const char *function, const char *inner, const char *x,
                     const char *out)
{
    gn_onnx_name bent = gn_onnx_part(out, "bent"), one = gn_onnx_part(out, "one"),
                 raised = gn_onnx_part(out, "raised"), twice = gn_onnx_part(out, "twice"),
                 half = gn_onnx_part(out, "half");
    gn_onnx_number(o, one.text, 1);
    gn_onnx_number(o, half.text, 0.5);
    GN_ONNX_NODE(o, function, bent.text, inner);
    GN_ONNX_NODE(o, "Add", raised.text, bent.text, one.text);
    GN_ONNX_NODE(o, "Mul", twice.text, x, raised.text);
    GN_ONNX_NODE(o, "Mul", out, twice.text, half.text);
}

/* sqrt(2 / pi) (x + 0.044715 x^3) */
static void add_cubic(gn_onnx *o, const char *x, const char *out)
{
    gn_onnx_name square = gn_onnx_part(out, "square"), cube = gn_onnx_part(out, "cube"),
                 part = gn_onnx_part(out, "part"), small = gn_onnx_part(out, "small"),
                 sum = gn_onnx_part(out, "sum"), factor = gn_onnx_part(out, "factor");
    gn_onnx_number(o, part.text, 0.044715);
    gn_onnx_number(o, factor.text, sqrt(2 / M_PI));
    GN_ONNX_NODE(o, "Mul", square.text, x, x);
    GN_ONNX_NODE(o, "Mul", cube.text, square.text, x);
    GN_ONNX_NODE(o, "Mul", small.text, cube.text, part.text);
    GN_ONNX_NODE(o, "Add", sum.text, x, small.text);
    GN_ONNX_NODE(o, "Mul", out, sum.text, factor.text);
}

void gn_onnx_activation(const gn_onnx_graph *g, const gn_operation *op, const char *x,
                        const char *out)
{
    gn_onnx *o = g->onnx;
    gn_onnx_name inner = gn_onnx_part(out, "inner"), root = gn_onnx_part(out, "root");
    switch (op->activation) {
    case GN_RELU:
        GN_ONNX_NODE(o, "Relu", out, x);
        return;
    case GN_TANH:
        GN_ONNX_NODE(o, "Tanh", out, x);
        return;
    case GN_GELU:
        gn_onnx_number(o, root.text, M_SQRT1_2);
        GN_ONNX_NODE(o, "Mul", inner.text, x, root.text);
        add_gelu(o, "Erf", inner.text, x, out);
        return;
    case GN_GELU_TANH:
        add_cubic(o, x, inner.text);
        add_gelu(o, "Tanh", inner.text, x, out);
        return;
    }
}
