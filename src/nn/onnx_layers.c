#include "nn/onnx_layers.h"

#include <stdio.h>

gn_onnx_name gn_onnx_part(const char *value, const char *suffix)
{
    gn_onnx_name name;
    snprintf(name.text, sizeof name.text, "%.*s.%s", GN_NAME_MAX, value, suffix);
    return name;
}

void gn_onnx_number(gn_onnx *o, const char *name, double value)
{
    float number = (float)value;
    gn_onnx_floats(o, name, 0, NULL, &number);
}

const char *gn_onnx_parameter(const gn_onnx_graph *g, const gn_operation *op, int which)
{
    return gn_store_parameter(g->store, g->first + op->parameters[which])->name;
}

/* ---- linear layers ---- */

/* The parameters from first on as one: layers that are joined lie one below the other. */
static gn_onnx_name joined(const gn_onnx_graph *g, const gn_operation *op, int first,
                           const char *out, const char *suffix)
{
    const char *names[GN_JOINED_MAX];
    gn_onnx_name all = gn_onnx_part(out, suffix);
    for (int i = 0; i < op->joined; i++)
        names[i] = gn_onnx_parameter(g, op, first + i);
    if (op->joined == 1) {
        snprintf(all.text, sizeof all.text, "%s", names[0]);
        return all;
    }
    gn_onnx_int(g->onnx, "axis", 0);
    gn_onnx_node(g->onnx, "Concat", all.text, names, (size_t)op->joined);
    return all;
}

static void add_linear(const gn_onnx_graph *g, const gn_operation *op, const char *x,
                       const char *out)
{
    gn_onnx *o = g->onnx;
    const gn_operation in = gn_graph_operation(g->graph, op->inputs[0]);
    gn_onnx_name flat = gn_onnx_part(out, "flat"), turned = gn_onnx_part(out, "transposed"),
                 product = gn_onnx_part(out, "product");
    gn_onnx_name weight = joined(g, op, 0, out, "weight"),
                 bias = joined(g, op, op->joined, out, "bias");
    if (in.packed || in.ndims == 3) { /* Gemm takes matrices alone */
        gn_onnx_ints(o, "perm", (int64_t[]){1, 0}, 2);
        GN_ONNX_NODE(o, "Transpose", turned.text, weight.text);
        GN_ONNX_NODE(o, "MatMul", product.text, x, turned.text);
        GN_ONNX_NODE(o, "Add", out, product.text, bias.text);
        return;
    }
    if (in.ndims == 4) {
        GN_ONNX_NODE(o, "Flatten", flat.text, x);
        x = flat.text;
    }
    gn_onnx_int(o, "transB", 1);
    GN_ONNX_NODE(o, "Gemm", out, x, weight.text, bias.text);
}

/* ---- images ---- */

static void set_window(gn_onnx *o, const gn_operation *op)
{
    const int64_t sides[] = {op->kernel, op->kernel}, strides[] = {op->stride, op->stride};
    const int64_t pads[] = {op->padding, op->padding, op->padding, op->padding};
    gn_onnx_ints(o, "kernel_shape", sides, 2);
    gn_onnx_ints(o, "strides", strides, 2);
    gn_onnx_ints(o, "pads", pads, 4);
}

static void add_batch_norm(const gn_onnx_graph *g, const gn_operation *op, const char *x,
                           const char *out)
{
    gn_onnx_float(g->onnx, "epsilon", op->epsilon);
    GN_ONNX_NODE(g->onnx, "BatchNormalization", out, x, gn_onnx_parameter(g, op, 0),
                 gn_onnx_parameter(g, op, 1), gn_onnx_parameter(g, op, 2),
                 gn_onnx_parameter(g, op, 3));
}

static void add_average(const gn_onnx_graph *g, const char *x, const char *out)
{
    gn_onnx_name image = gn_onnx_part(out, "image");
    GN_ONNX_NODE(g->onnx, "GlobalAveragePool", image.text, x);
    GN_ONNX_NODE(g->onnx, "Flatten", out, image.text);
}

/* ---- all of them ---- */

/* With one input it does nothing, and its name is that of the input. */
static void add_dropout(gn_onnx_graph *g, const gn_operation *op, gn_value value, const char *x,
                        const char *out)
{
    if (op->input_count == 2)
        GN_ONNX_NODE(g->onnx, "Add", out, x, g->values[op->inputs[1]].text);
    else
        g->values[value] = g->values[op->inputs[0]];
}

static gerne_status add_layer(gn_onnx_graph *g, const gn_operation *op, gn_value value,
                              const char *x, const char *out)
{
    gn_onnx *o = g->onnx;
    const char *y = op->input_count == 2 ? g->values[op->inputs[1]].text : NULL;
    switch (op->kind) {
    case GN_OP_CONVOLUTION:
        set_window(o, op);
        GN_ONNX_NODE(o, "Conv", out, x, gn_onnx_parameter(g, op, 0));
        break;
    case GN_OP_BATCH_NORM:
        add_batch_norm(g, op, x, out);
        break;
    case GN_OP_LINEAR:
        add_linear(g, op, x, out);
        break;
    case GN_OP_MAX_POOL:
        set_window(o, op);
        GN_ONNX_NODE(o, "MaxPool", out, x);
        break;
    case GN_OP_AVERAGE:
        add_average(g, x, out);
        break;
    case GN_OP_ADDITION:
        GN_ONNX_NODE(o, "Add", out, x, y);
        break;
    case GN_OP_CONCATENATION:
        gn_onnx_int(o, "axis", 1);
        GN_ONNX_NODE(o, "Concat", out, x, y);
        break;
    case GN_OP_EMBEDDING:
        gn_onnx_embedding(g, op, out);
        break;
    case GN_OP_PATCHES:
        gn_onnx_patches(g, op, x, out);
        break;
    case GN_OP_LAYER_NORM:
        gn_onnx_int(o, "axis", -1);
        gn_onnx_float(o, "epsilon", op->epsilon);
        GN_ONNX_NODE(o, "LayerNormalization", out, x, gn_onnx_parameter(g, op, 0),
                     gn_onnx_parameter(g, op, 1));
        break;
    case GN_OP_ACTIVATION:
        gn_onnx_activation(g, op, x, out);
        break;
    case GN_OP_DROPOUT:
        add_dropout(g, op, value, x, out);
        break;
    case GN_OP_ATTENTION:
        gn_onnx_attention(g, op, x, out);
        break;
    case GN_OP_FIRST_PLACE:
        gn_onnx_first_place(g, x, out);
        break;
    case GN_OP_MEAN_PLACE:
        gn_onnx_mean_place(g, op, x, out);
        break;
    default:
        return gn_fail(o->ctx, GERNE_EUSAGE, "a layer of kind '%s' cannot be written as ONNX",
                       op->name);
    }
    return GERNE_OK;
}

gerne_status gn_onnx_add(gn_onnx_graph *g, gn_value value)
{
    const gn_operation op = gn_graph_operation(g->graph, value);
    gn_onnx_name *name = &g->values[value];
    if (op.kind == GN_OP_INPUT) { /* spans and keys of texts are read by no node */
        snprintf(name->text, sizeof name->text, "%s", g->input);
        return GERNE_OK;
    }
    snprintf(name->text, sizeof name->text, "%s.%d", g->prefix, value);
    gn_onnx_name out = *name, before = gn_onnx_part(name->text, "sum");
    const char *x = g->values[op.inputs[0]].text;
    GN_TRY(add_layer(g, &op, value, x, op.relu ? before.text : out.text));
    if (op.relu)
        GN_ONNX_NODE(g->onnx, "Relu", out.text, before.text);
    return GERNE_OK;
}
