#include "nn/onnx_file.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "nn/weight_set.h"

/* Numbers of the fields in onnx.proto, which never change. */
enum { MODEL_IR = 1, MODEL_PRODUCER, MODEL_PRODUCER_VERSION };
enum { MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_PROPERTY = 14 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT, NODE_NAME, NODE_TYPE, NODE_ATTRIBUTE };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_FLOAT, ATTRIBUTE_INT, ATTRIBUTE_INTS = 8 };
enum { ATTRIBUTE_TYPE = 20, TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_INTS = 7 };
enum { TENSOR_DIM = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { VALUE_NAME = 1, VALUE_TYPE, VALUE_MEANING };
enum { TYPE_TENSOR = 1, TENSOR_TYPE_ELEMENT = 1, TENSOR_TYPE_SHAPE = 2, SHAPE_DIM = 1 };
enum { DIM_VALUE = 1, DIM_NAME = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, OPSET_VERSION = 2 };

/* The operators of ONNX 1.12: the first with LayerNormalization. */
enum { IR_VERSION = 8, OPSET = 17 };

void gn_onnx_free(gn_onnx *o)
{
    gn_text_free(&o->attributes);
    gn_text_free(&o->nodes);
    gn_text_free(&o->constants);
    gn_text_free(&o->inputs);
    gn_text_free(&o->outputs);
    gn_text_free(&o->properties);
}

static void keep(gn_onnx *o, gerne_status status)
{
    if (o->failed == GERNE_OK)
        o->failed = status;
}

/* Appends what a function has put together as a field. */
static void close_message(gn_onnx *o, gn_text *to, int field, gn_text *message, gerne_status status)
{
    if (status == GERNE_OK)
        status = gn_pb_bytes(o->ctx, to, field, message->bytes, message->size);
    gn_text_free(message);
    keep(o, status);
}

/* ---- nodes ---- */

/* value holds the fields of the value; it is freed. */
static void add_attribute(gn_onnx *o, const char *name, int type, gn_text *value,
                          gerne_status status)
{
    if (status == GERNE_OK)
        status = gn_pb_string(o->ctx, value, ATTRIBUTE_NAME, name);
    if (status == GERNE_OK)
        status = gn_pb_integer(o->ctx, value, ATTRIBUTE_TYPE, type);
    close_message(o, &o->attributes, NODE_ATTRIBUTE, value, status);
}

void gn_onnx_ints(gn_onnx *o, const char *name, const int64_t *values, size_t count)
{
    gn_text a = {0};
    gerne_status status = GERNE_OK;
    for (size_t i = 0; i < count && status == GERNE_OK; i++)
        status = gn_pb_integer(o->ctx, &a, ATTRIBUTE_INTS, values[i]);
    add_attribute(o, name, TYPE_INTS, &a, status);
}

void gn_onnx_int(gn_onnx *o, const char *name, int64_t value)
{
    gn_text a = {0};
    add_attribute(o, name, TYPE_INT, &a, gn_pb_integer(o->ctx, &a, ATTRIBUTE_INT, value));
}

void gn_onnx_float(gn_onnx *o, const char *name, double value)
{
    gn_text a = {0};
    add_attribute(o, name, TYPE_FLOAT, &a, gn_pb_float(o->ctx, &a, ATTRIBUTE_FLOAT, (float)value));
}

static gerne_status fill_node(gn_onnx *o, gn_text *n, const char *type, const char *const *outputs,
                              size_t output_count, const char *const *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        GN_TRY(gn_pb_string(o->ctx, n, NODE_INPUT, inputs[i]));
    for (size_t i = 0; i < output_count; i++)
        GN_TRY(gn_pb_string(o->ctx, n, NODE_OUTPUT, outputs[i]));
    GN_TRY(gn_pb_string(o->ctx, n, NODE_NAME, outputs[0]));
    GN_TRY(gn_pb_string(o->ctx, n, NODE_TYPE, type));
    if (o->attributes.size == 0)
        return GERNE_OK;
    return gn_text_add_bytes(o->ctx, n, o->attributes.bytes, o->attributes.size);
}

void gn_onnx_node_many(gn_onnx *o, const char *type, const char *const *outputs,
                       size_t output_count, const char *const *inputs, size_t count)
{
    gn_text n = {0};
    gerne_status status = fill_node(o, &n, type, outputs, output_count, inputs, count);
    gn_text_clear(&o->attributes);
    close_message(o, &o->nodes, GRAPH_NODE, &n, status);
}

void gn_onnx_node(gn_onnx *o, const char *type, const char *output, const char *const *inputs,
                  size_t count)
{
    gn_onnx_node_many(o, type, &output, 1, inputs, count);
}

/* ---- tensors ---- */

static gerne_status start_tensor(gerne_ctx *ctx, gn_text *t, const char *name, gn_onnx_type type,
                                 size_t ndims, const int64_t *dims)
{
    for (size_t i = 0; i < ndims; i++)
        GN_TRY(gn_pb_integer(ctx, t, TENSOR_DIM, dims[i]));
    GN_TRY(gn_pb_integer(ctx, t, TENSOR_TYPE, type));
    return gn_pb_string(ctx, t, TENSOR_NAME, name);
}

static gerne_status add_raw(gerne_ctx *ctx, gn_text *t, const void *values, size_t count,
                            size_t size)
{
    GN_TRY(gn_pb_start(ctx, t, TENSOR_RAW, count * size));
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        unsigned char bytes[sizeof bits];
        memcpy(&bits, (const char *)values + i * size, size);
        gn_weight_store(bytes, bits, size);
        GN_TRY(gn_text_add_bytes(ctx, t, bytes, size));
    }
    return GERNE_OK;
}

void gn_onnx_floats(gn_onnx *o, const char *name, size_t ndims, const int64_t *dims,
                    const float *values)
{
    gn_text t = {0};
    size_t count = 1;
    for (size_t i = 0; i < ndims; i++)
        count *= (size_t)dims[i];
    gerne_status status = start_tensor(o->ctx, &t, name, GN_ONNX_FLOAT, ndims, dims);
    if (status == GERNE_OK)
        status = add_raw(o->ctx, &t, values, count, sizeof *values);
    close_message(o, &o->constants, GRAPH_INITIALIZER, &t, status);
}

void gn_onnx_integers(gn_onnx *o, const char *name, size_t ndims, int64_t count,
                      const int64_t *values)
{
    gn_text t = {0};
    gerne_status status = start_tensor(o->ctx, &t, name, GN_ONNX_INT64, ndims, &count);
    if (status == GERNE_OK)
        status = add_raw(o->ctx, &t, values, (size_t)count, sizeof *values);
    close_message(o, &o->constants, GRAPH_INITIALIZER, &t, status);
}

/* ---- inputs and outputs ---- */

static gerne_status add_dimension(gerne_ctx *ctx, gn_text *shape, int64_t size)
{
    GN_LOCAL(gn_text) d = {0};
    GN_TRY(size >= 0 ? gn_pb_integer(ctx, &d, DIM_VALUE, size)
                     : gn_pb_string(ctx, &d, DIM_NAME, size == GN_ONNX_BATCH ? "batch" : "length"));
    return gn_pb_bytes(ctx, shape, SHAPE_DIM, d.bytes, d.size);
}

static gerne_status fill_type(gerne_ctx *ctx, gn_onnx_type type, size_t ndims, const int64_t *dims,
                              gn_text *out)
{
    GN_LOCAL(gn_text) tensor = {0}, shape = {0};
    for (size_t i = 0; i < ndims; i++)
        GN_TRY(add_dimension(ctx, &shape, dims[i]));
    GN_TRY(gn_pb_integer(ctx, &tensor, TENSOR_TYPE_ELEMENT, type));
    GN_TRY(gn_pb_bytes(ctx, &tensor, TENSOR_TYPE_SHAPE, shape.bytes, shape.size));
    return gn_pb_bytes(ctx, out, TYPE_TENSOR, tensor.bytes, tensor.size);
}

static gerne_status fill_value(gerne_ctx *ctx, const char *name, const gn_text *kind,
                               const char *meaning, gn_text *out)
{
    GN_TRY(gn_pb_string(ctx, out, VALUE_NAME, name));
    GN_TRY(gn_pb_bytes(ctx, out, VALUE_TYPE, kind->bytes, kind->size));
    return gn_pb_string(ctx, out, VALUE_MEANING, meaning);
}

static void add_value(gn_onnx *o, gn_text *to, int field, const char *name, gn_onnx_type type,
                      size_t ndims, const int64_t *dims, const char *meaning)
{
    gn_text value = {0};
    GN_LOCAL(gn_text) kind = {0};
    gerne_status status = fill_type(o->ctx, type, ndims, dims, &kind);
    if (status == GERNE_OK)
        status = fill_value(o->ctx, name, &kind, meaning, &value);
    close_message(o, to, field, &value, status);
}

void gn_onnx_input(gn_onnx *o, const char *name, gn_onnx_type type, size_t ndims,
                   const int64_t *dims, const char *meaning)
{
    add_value(o, &o->inputs, GRAPH_INPUT, name, type, ndims, dims, meaning);
}

void gn_onnx_output(gn_onnx *o, const char *name, size_t ndims, const int64_t *dims,
                    const char *meaning)
{
    add_value(o, &o->outputs, GRAPH_OUTPUT, name, GN_ONNX_FLOAT, ndims, dims, meaning);
}

void gn_onnx_property(gn_onnx *o, const char *key, const char *value)
{
    gn_text entry = {0};
    gerne_status status = gn_pb_string(o->ctx, &entry, ENTRY_KEY, key);
    if (status == GERNE_OK)
        status = gn_pb_string(o->ctx, &entry, ENTRY_VALUE, value);
    close_message(o, &o->properties, MODEL_PROPERTY, &entry, status);
}

/* ---- the file ---- */

/* The model in the order in which it is written: bytes, and between them the weights. */
typedef struct parts {
    gn_text start;  /* up to and with the first weight's head */
    gn_text *heads; /* of the weights: all but the numbers */
    gn_text end;    /* what follows the graph */
    size_t *items;  /* numbers of each weight */
    size_t largest; /* of them */
    uint64_t weight_bytes;
} parts;

static void free_parts(parts *p, size_t count)
{
    gn_text_free(&p->start);
    gn_text_free(&p->end);
    for (size_t i = 0; p->heads && i < count; i++)
        gn_text_free(&p->heads[i]);
    gn_free(p->heads);
    gn_free(p->items);
}

static gerne_status head_of_weight(gerne_ctx *ctx, const gn_onnx_weight *weight, size_t items,
                                   gn_text *out)
{
    GN_LOCAL(gn_text) inner = {0};
    gn_onnx_type type = weight->type == GN_WEIGHT_F16 ? GN_ONNX_HALF : GN_ONNX_FLOAT;
    uint64_t bytes = items * gn_weight_type_size(weight->type);
    GN_TRY(start_tensor(ctx, &inner, weight->name, type, weight->ndims, weight->dims));
    GN_TRY(gn_pb_start(ctx, &inner, TENSOR_RAW, bytes));
    GN_TRY(gn_pb_start(ctx, out, GRAPH_INITIALIZER, inner.size + bytes));
    return gn_text_add_bytes(ctx, out, inner.bytes, inner.size);
}

static gerne_status head_weights(gerne_ctx *ctx, const gn_onnx_weights *weights, parts *p)
{
    GN_TRY(gn_alloc(ctx, weights->count, sizeof *p->heads, "weights", &p->heads));
    GN_TRY(gn_alloc(ctx, weights->count, sizeof *p->items, "weights", &p->items));
    for (size_t i = 0; i < weights->count; i++) {
        const gn_onnx_weight *w = &weights->list[i];
        if (!gn_weight_items(w->dims, w->ndims, sizeof(float), &p->items[i]))
            return gn_fail(ctx, GERNE_EUSAGE, "tensor '%s' has an impossible shape", w->name);
        GN_TRY(head_of_weight(ctx, w, p->items[i], &p->heads[i]));
        p->weight_bytes += p->heads[i].size + p->items[i] * gn_weight_type_size(w->type);
        if (p->items[i] > p->largest)
            p->largest = p->items[i];
    }
    return GERNE_OK;
}

static gerne_status lay_out(gn_onnx *o, const char *graph, const gn_onnx_weights *weights, parts *p)
{
    gerne_ctx *ctx = o->ctx;
    GN_LOCAL(gn_text) name = {0}, opset = {0};
    const gn_text *const members[] = {&o->nodes, &name, &o->constants, &o->inputs, &o->outputs};
    enum { MEMBERS = sizeof members / sizeof members[0] };
    GN_TRY(head_weights(ctx, weights, p));
    GN_TRY(gn_pb_string(ctx, &name, GRAPH_NAME, graph));
    uint64_t size = p->weight_bytes;
    for (size_t i = 0; i < MEMBERS; i++)
        size += members[i]->size;
    GN_TRY(gn_pb_integer(ctx, &p->start, MODEL_IR, IR_VERSION));
    GN_TRY(gn_pb_string(ctx, &p->start, MODEL_PRODUCER, "gerne"));
    GN_TRY(gn_pb_string(ctx, &p->start, MODEL_PRODUCER_VERSION, gerne_version()));
    GN_TRY(gn_pb_start(ctx, &p->start, MODEL_GRAPH, size));
    for (size_t i = 0; i < MEMBERS; i++)
        if (members[i]->size)
            GN_TRY(gn_text_add_bytes(ctx, &p->start, members[i]->bytes, members[i]->size));
    GN_TRY(gn_pb_integer(ctx, &opset, OPSET_VERSION, OPSET));
    GN_TRY(gn_pb_bytes(ctx, &p->end, MODEL_OPSET, opset.bytes, opset.size));
    if (o->properties.size)
        GN_TRY(gn_text_add_bytes(ctx, &p->end, o->properties.bytes, o->properties.size));
    return GERNE_OK;
}

static gerne_status write_weights(gerne_ctx *ctx, gn_writer *writer, const gn_onnx_weights *weights,
                                  const parts *p, float *values)
{
    for (size_t i = 0; i < weights->count; i++) {
        const gn_onnx_weight *w = &weights->list[i];
        GN_TRY(weights->read(ctx, weights->user, i, values));
        GN_TRY(gn_weight_check_range(ctx, w->name, w->type, values, p->items[i]));
        GN_TRY(gn_write(writer, p->heads[i].bytes, p->heads[i].size));
        GN_TRY(gn_weight_write(writer, w->type, values, p->items[i]));
    }
    return GERNE_OK;
}

static gerne_status write_parts(gerne_ctx *ctx, const char *path, const gn_onnx_weights *weights,
                                const parts *p)
{
    GN_LOCAL(gn_writer) *writer = NULL;
    GN_FREED float *values = NULL;
    GN_TRY(gn_alloc(ctx, p->largest ? p->largest : 1, sizeof *values, "weights", &values));
    GN_TRY(gn_write_open(ctx, path, &writer));
    GN_TRY(gn_write(writer, p->start.bytes, p->start.size));
    GN_TRY(write_weights(ctx, writer, weights, p, values));
    GN_TRY(gn_write(writer, p->end.bytes, p->end.size));
    return gn_write_commit(&writer);
}

gerne_status gn_onnx_write(gn_onnx *o, const char *path, const char *graph,
                           const gn_onnx_weights *weights, int64_t limit, int64_t *size)
{
    parts p = {0};
    if (o->failed != GERNE_OK)
        return o->failed;
    gerne_status status = lay_out(o, graph, weights, &p);
    uint64_t all = p.start.size + p.weight_bytes + p.end.size;
    if (status == GERNE_OK && all > (uint64_t)limit) {
        status =
            gn_fail(o->ctx, GERNE_EUSAGE,
                    "'%s' would take %" PRIu64 " bytes, and an ONNX file holds at most %" PRId64,
                    path, all, limit);
        gn_hint(o->ctx, "--precision fp16 halves it; --safetensors has no such limit");
    }
    if (status == GERNE_OK)
        status = write_parts(o->ctx, path, weights, &p);
    if (size)
        *size = (int64_t)all;
    free_parts(&p, weights->count);
    return status;
}
