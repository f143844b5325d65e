#include "nn/pickle.h"

#include <string.h>

#include "nn/pickle_torch.h"
#include "nn/weight_set.h"

/* Limits that no honest state dict comes near. */
enum { STACK_MAX = 1 << 16, MARKS_MAX = 1 << 10, VALUES_MAX = 1 << 20, PROTOCOL = 2 };

typedef struct machine {
    gerne_ctx *ctx;
    gn_arena *arena;
    const unsigned char *start, *at, *end;
    gn_pickle_value **stack, **memo;
    size_t depth, stack_capacity;
    size_t memo_count, memo_capacity; /* unset places in the memo are NULL */
    size_t *marks;                    /* stack depths */
    size_t mark_count, mark_capacity;
    size_t values;
    bool stopped;
} machine;

static gerne_status damaged(machine *m, const char *what)
{
    return gn_fail(m->ctx, GERNE_EDATA, "the pickle is damaged at byte %zu: %s",
                   (size_t)(m->at - m->start), what);
}

/* Bytes, little-endian numbers, lines. */

static gerne_status take(machine *m, size_t size, const unsigned char **out)
{
    *out = NULL;
    if ((size_t)(m->end - m->at) < size)
        return damaged(m, "it is truncated");
    *out = m->at;
    m->at += size;
    return GERNE_OK;
}

static gerne_status take_number(machine *m, size_t size, uint64_t *out)
{
    const unsigned char *bytes;
    *out = 0;
    GN_TRY(take(m, size, &bytes));
    for (size_t i = size; i-- > 0;)
        *out = *out << 8 | bytes[i];
    return GERNE_OK;
}

static gerne_status take_line(machine *m, gn_pickle_text *out)
{
    *out = (gn_pickle_text){0};
    const unsigned char *newline = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (!newline)
        return damaged(m, "a line does not end");
    *out = (gn_pickle_text){(const char *)m->at, (size_t)(newline - m->at)};
    m->at = newline + 1;
    return GERNE_OK;
}

/* The stack. What lies below the last mark cannot be popped. */

static gerne_status push(machine *m, gn_pickle_value *value)
{
    if (m->depth == STACK_MAX)
        return gn_fail(m->ctx, GERNE_EDATA, "the pickle needs a stack of more than %d", STACK_MAX);
    GN_TRY(gn_grow(m->ctx, &m->stack, &m->stack_capacity, m->depth + 1, sizeof(void *),
                   "a pickle's stack"));
    m->stack[m->depth++] = value;
    return GERNE_OK;
}

static gerne_status push_new(machine *m, gn_pickle_value content)
{
    if (m->values == VALUES_MAX)
        return gn_fail(m->ctx, GERNE_EDATA, "the pickle has more than %d values", VALUES_MAX);
    m->values++;
    gn_pickle_value *value;
    GN_TRY(gn_arena_alloc(m->ctx, m->arena, 1, sizeof *value, &value));
    *value = content;
    return push(m, value);
}

static gerne_status pop(machine *m, gn_pickle_value **out)
{
    *out = NULL;
    size_t floor = m->mark_count ? m->marks[m->mark_count - 1] : 0;
    if (m->depth == floor)
        return damaged(m, "the stack is empty");
    *out = m->stack[--m->depth];
    return GERNE_OK;
}

/* Looks at the top without taking it. */
static gerne_status top(machine *m, gn_pickle_value **out)
{
    GN_TRY(pop(m, out));
    m->depth++;
    return GERNE_OK;
}

/* Takes all above the last mark; *items stays valid until the next push. */
static gerne_status pop_mark(machine *m, gn_pickle_value ***items, size_t *count)
{
    *items = NULL;
    *count = 0;
    if (m->mark_count == 0)
        return damaged(m, "there is no mark");
    size_t floor = m->marks[--m->mark_count];
    *count = m->depth - floor;
    if (*count > 0) /* the stack may not have been made yet */
        *items = m->stack + floor;
    m->depth = floor;
    return GERNE_OK;
}

/* Opcodes, one function each. */

static gerne_status op_proto(machine *m)
{
    uint64_t version;
    GN_TRY(take_number(m, 1, &version));
    if (version == PROTOCOL)
        return GERNE_OK;
    gerne_status status =
        gn_fail(m->ctx, GERNE_EDATA, "the pickle has protocol %d, not %d", (int)version, PROTOCOL);
    gn_hint(m->ctx, "save it with torch.save(..., pickle_protocol=2), which is the default");
    return status;
}

static gerne_status op_stop(machine *m)
{
    m->stopped = true;
    if (m->depth != 1 || m->mark_count != 0)
        return damaged(m, "it ends with more or less than one value");
    return m->at == m->end ? GERNE_OK : damaged(m, "there are bytes after its end");
}

static gerne_status op_mark(machine *m)
{
    if (m->mark_count == MARKS_MAX)
        return gn_fail(m->ctx, GERNE_EDATA, "the pickle nests deeper than %d", MARKS_MAX);
    GN_TRY(gn_grow(m->ctx, &m->marks, &m->mark_capacity, m->mark_count + 1, sizeof *m->marks,
                   "a pickle's marks"));
    m->marks[m->mark_count++] = m->depth;
    return GERNE_OK;
}

static gerne_status op_plain(machine *m)
{
    return push_new(m, (gn_pickle_value){.kind = GN_PICKLE_PLAIN});
}

static gerne_status op_float(machine *m)
{
    const unsigned char *bytes;
    GN_TRY(take(m, 8, &bytes));
    return op_plain(m);
}

static gerne_status push_bool(machine *m, int64_t value)
{
    return push_new(m, (gn_pickle_value){.kind = GN_PICKLE_BOOL, .as.integer = value});
}

static gerne_status op_true(machine *m)
{
    return push_bool(m, 1);
}

static gerne_status op_false(machine *m)
{
    return push_bool(m, 0);
}

/* Sign-extends from size bytes. */
static gerne_status push_integer(machine *m, size_t size, bool is_signed)
{
    uint64_t bits;
    GN_TRY(take_number(m, size, &bits));
    if (is_signed && size > 0 && size < 8 && bits >> (8 * size - 1))
        bits |= UINT64_MAX << 8 * size;
    return push_new(m, (gn_pickle_value){.kind = GN_PICKLE_INT, .as.integer = (int64_t)bits});
}

static gerne_status op_int1(machine *m)
{
    return push_integer(m, 1, false);
}

static gerne_status op_int2(machine *m)
{
    return push_integer(m, 2, false);
}

static gerne_status op_int4(machine *m)
{
    return push_integer(m, 4, true);
}

static gerne_status op_long1(machine *m)
{
    uint64_t size;
    GN_TRY(take_number(m, 1, &size));
    if (size <= 8)
        return push_integer(m, (size_t)size, true);
    const unsigned char *bytes; /* a seed, say: too wide for any shape */
    GN_TRY(take(m, (size_t)size, &bytes));
    return op_plain(m);
}

static gerne_status op_text(machine *m)
{
    uint64_t size;
    const unsigned char *bytes;
    GN_TRY(take_number(m, 4, &size));
    GN_TRY(take(m, (size_t)size, &bytes));
    return push_new(m, (gn_pickle_value){.kind = GN_PICKLE_TEXT,
                                         .as.text = {(const char *)bytes, (size_t)size}});
}

static gerne_status op_empty_tuple(machine *m)
{
    return push_new(m, (gn_pickle_value){.kind = GN_PICKLE_TUPLE});
}

static gerne_status op_empty_list(machine *m)
{
    return push_new(m, (gn_pickle_value){.kind = GN_PICKLE_LIST});
}

static gerne_status op_empty_dict(machine *m)
{
    return push_new(m, (gn_pickle_value){.kind = GN_PICKLE_DICT});
}

static gerne_status push_tuple(machine *m, gn_pickle_value **items, size_t count)
{
    const gn_pickle_value **copy;
    GN_TRY(gn_arena_alloc(m->ctx, m->arena, count, sizeof(void *), &copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = items[i];
    return push_new(m, (gn_pickle_value){.kind = GN_PICKLE_TUPLE, .as.tuple = {copy, count}});
}

static gerne_status op_tuple(machine *m)
{
    gn_pickle_value **items;
    size_t count;
    GN_TRY(pop_mark(m, &items, &count));
    return push_tuple(m, items, count);
}

static gerne_status small_tuple(machine *m, size_t count)
{
    gn_pickle_value *items[3] = {NULL};
    for (size_t i = count; i-- > 0;)
        GN_TRY(pop(m, &items[i]));
    return push_tuple(m, items, count);
}

static gerne_status op_tuple1(machine *m)
{
    return small_tuple(m, 1);
}

static gerne_status op_tuple2(machine *m)
{
    return small_tuple(m, 2);
}

static gerne_status op_tuple3(machine *m)
{
    return small_tuple(m, 3);
}

/* The items of lists are of no use to us and are dropped. */
static gerne_status check_list(machine *m)
{
    gn_pickle_value *list;
    GN_TRY(top(m, &list));
    return list->kind == GN_PICKLE_LIST ? GERNE_OK
                                        : damaged(m, "it appends to something that is not a list");
}

static gerne_status op_append(machine *m)
{
    gn_pickle_value *item;
    GN_TRY(pop(m, &item));
    return check_list(m);
}

static gerne_status op_appends(machine *m)
{
    gn_pickle_value **items;
    size_t count;
    GN_TRY(pop_mark(m, &items, &count));
    return check_list(m);
}

static gerne_status set_item(machine *m, const gn_pickle_value *key, const gn_pickle_value *value)
{
    gn_pickle_value *dict;
    GN_TRY(top(m, &dict));
    if (dict->kind != GN_PICKLE_DICT)
        return damaged(m, "it sets items of something that is not a dictionary");
    gn_pickle_pair *pair;
    GN_TRY(gn_arena_alloc(m->ctx, m->arena, 1, sizeof *pair, &pair));
    *pair = (gn_pickle_pair){.key = key, .value = value};
    if (dict->as.dict.last)
        dict->as.dict.last->next = pair;
    else
        dict->as.dict.first = pair;
    dict->as.dict.last = pair;
    dict->as.dict.holds_tensors |= value->kind == GN_PICKLE_TENSOR;
    return GERNE_OK;
}

static gerne_status op_set_item(machine *m)
{
    gn_pickle_value *key, *value;
    GN_TRY(pop(m, &value));
    GN_TRY(pop(m, &key));
    return set_item(m, key, value);
}

static gerne_status op_set_items(machine *m)
{
    gn_pickle_value **items;
    size_t count;
    GN_TRY(pop_mark(m, &items, &count));
    if (count % 2 != 0)
        return damaged(m, "a key has no value");
    for (size_t i = 0; i < count; i += 2)
        GN_TRY(set_item(m, items[i], items[i + 1]));
    return GERNE_OK;
}

static gerne_status memo_put(machine *m, size_t index_size)
{
    uint64_t index;
    gn_pickle_value *value;
    GN_TRY(take_number(m, index_size, &index));
    GN_TRY(top(m, &value));
    if (index >= VALUES_MAX)
        return gn_fail(m->ctx, GERNE_EDATA, "the memo of the pickle has more than %d values",
                       VALUES_MAX);
    GN_TRY(gn_grow(m->ctx, &m->memo, &m->memo_capacity, (size_t)index + 1, sizeof(void *),
                   "a pickle's memo"));
    while (m->memo_count <= index)
        m->memo[m->memo_count++] = NULL;
    m->memo[index] = value;
    return GERNE_OK;
}

static gerne_status op_put1(machine *m)
{
    return memo_put(m, 1);
}

static gerne_status op_put4(machine *m)
{
    return memo_put(m, 4);
}

static gerne_status memo_get(machine *m, size_t index_size)
{
    uint64_t index;
    GN_TRY(take_number(m, index_size, &index));
    if (index >= m->memo_count || !m->memo[index])
        return damaged(m, "it reads a memo entry that was never stored");
    return push(m, m->memo[index]);
}

static gerne_status op_get1(machine *m)
{
    return memo_get(m, 1);
}

static gerne_status op_get4(machine *m)
{
    return memo_get(m, 4);
}

static gerne_status op_global(machine *m)
{
    gn_pickle_text module, name;
    const gn_pickle_global *global;
    GN_TRY(take_line(m, &module));
    GN_TRY(take_line(m, &name));
    GN_TRY(gn_pickle_find_global(m->ctx, module, name, &global));
    return push_new(m, (gn_pickle_value){.kind = GN_PICKLE_GLOBAL, .as.global = global});
}

static gerne_status op_reduce(machine *m)
{
    gn_pickle_value *callee, *arguments, result;
    GN_TRY(pop(m, &arguments));
    GN_TRY(pop(m, &callee));
    GN_TRY(gn_pickle_call(m->ctx, m->arena, callee, arguments, &result));
    return push_new(m, result);
}

static gerne_status op_persistent(machine *m)
{
    gn_pickle_value *id, result;
    GN_TRY(pop(m, &id));
    GN_TRY(gn_pickle_load_storage(m->ctx, m->arena, id, &result));
    return push_new(m, result);
}

/* state_dict() hangs its module versions on the dictionary this way; nobody here asks for them. */
static gerne_status op_build(machine *m)
{
    gn_pickle_value *object, *attributes;
    GN_TRY(pop(m, &attributes));
    GN_TRY(top(m, &object));
    if (object->kind == GN_PICKLE_DICT && attributes->kind == GN_PICKLE_DICT)
        return GERNE_OK;
    return gn_fail(m->ctx, GERNE_EDATA,
                   "the pickle sets attributes of something that is not a dictionary");
}

/* All opcodes have a name, so that a refusal can tell it; those without a function are refused. */
static const struct {
    const char *name;
    gerne_status (*run)(machine *m);
} opcodes[256] = {
    [0x80] = {"PROTO", op_proto},
    ['.'] = {"STOP", op_stop},
    ['('] = {"MARK", op_mark},
    ['N'] = {"NONE", op_plain},
    [0x88] = {"NEWTRUE", op_true},
    [0x89] = {"NEWFALSE", op_false},
    ['K'] = {"BININT1", op_int1},
    ['M'] = {"BININT2", op_int2},
    ['J'] = {"BININT", op_int4},
    [0x8a] = {"LONG1", op_long1},
    ['G'] = {"BINFLOAT", op_float},
    ['X'] = {"BINUNICODE", op_text},
    [')'] = {"EMPTY_TUPLE", op_empty_tuple},
    [']'] = {"EMPTY_LIST", op_empty_list},
    ['}'] = {"EMPTY_DICT", op_empty_dict},
    ['t'] = {"TUPLE", op_tuple},
    [0x85] = {"TUPLE1", op_tuple1},
    [0x86] = {"TUPLE2", op_tuple2},
    [0x87] = {"TUPLE3", op_tuple3},
    ['a'] = {"APPEND", op_append},
    ['e'] = {"APPENDS", op_appends},
    ['s'] = {"SETITEM", op_set_item},
    ['u'] = {"SETITEMS", op_set_items},
    ['q'] = {"BINPUT", op_put1},
    ['r'] = {"LONG_BINPUT", op_put4},
    ['h'] = {"BINGET", op_get1},
    ['j'] = {"LONG_BINGET", op_get4},
    ['c'] = {"GLOBAL", op_global},
    ['R'] = {"REDUCE", op_reduce},
    ['Q'] = {"BINPERSID", op_persistent},
    ['b'] = {"BUILD", op_build},
    ['0'] = {"POP", NULL},
    ['1'] = {"POP_MARK", NULL},
    ['2'] = {"DUP", NULL},
    ['B'] = {"BINBYTES", NULL},
    ['C'] = {"SHORT_BINBYTES", NULL},
    ['F'] = {"FLOAT", NULL},
    ['I'] = {"INT", NULL},
    ['L'] = {"LONG", NULL},
    ['P'] = {"PERSID", NULL},
    ['S'] = {"STRING", NULL},
    ['T'] = {"BINSTRING", NULL},
    ['U'] = {"SHORT_BINSTRING", NULL},
    ['V'] = {"UNICODE", NULL},
    ['d'] = {"DICT", NULL},
    ['g'] = {"GET", NULL},
    ['i'] = {"INST", NULL},
    ['l'] = {"LIST", NULL},
    ['o'] = {"OBJ", NULL},
    ['p'] = {"PUT", NULL},
    [0x81] = {"NEWOBJ", NULL},
    [0x82] = {"EXT1", NULL},
    [0x83] = {"EXT2", NULL},
    [0x84] = {"EXT4", NULL},
    [0x8b] = {"LONG4", NULL},
    [0x8c] = {"SHORT_BINUNICODE", NULL},
    [0x8d] = {"BINUNICODE8", NULL},
    [0x8e] = {"BINBYTES8", NULL},
    [0x8f] = {"EMPTY_SET", NULL},
    [0x90] = {"ADDITEMS", NULL},
    [0x91] = {"FROZENSET", NULL},
    [0x92] = {"NEWOBJ_EX", NULL},
    [0x93] = {"STACK_GLOBAL", NULL},
    [0x94] = {"MEMOIZE", NULL},
    [0x95] = {"FRAME", NULL},
    [0x96] = {"BYTEARRAY8", NULL},
    [0x97] = {"NEXT_BUFFER", NULL},
    [0x98] = {"READONLY_BUFFER", NULL},
};

static gerne_status refuse_opcode(machine *m, unsigned char code)
{
    const char *name = opcodes[code].name;
    if (!name)
        return gn_fail(m->ctx, GERNE_EDATA, "the pickle has an unknown opcode 0x%02x at byte %zu",
                       code, (size_t)(m->at - m->start) - 1);
    gerne_status status =
        gn_fail(m->ctx, GERNE_EDATA, "the pickle uses the opcode %s at byte %zu, which is refused",
                name, (size_t)(m->at - m->start) - 1);
    gn_hint(m->ctx, "only dictionaries of tensors are read: torch.save(model.state_dict(), FILE)");
    return status;
}

static gerne_status run(machine *m)
{
    while (!m->stopped) {
        const unsigned char *code;
        GN_TRY(take(m, 1, &code));
        if (!opcodes[*code].run)
            return refuse_opcode(m, *code);
        GN_TRY(opcodes[*code].run(m));
    }
    return GERNE_OK;
}

gerne_status gn_pickle_parse(gerne_ctx *ctx, gn_arena *arena, const unsigned char *bytes,
                             size_t size, const gn_pickle_value **out)
{
    *out = NULL;
    if (size > GN_WEIGHTS_HEADER_MAX)
        return gn_fail(ctx, GERNE_EDATA, "the pickle has %zu bytes, more than the limit of %d",
                       size, GN_WEIGHTS_HEADER_MAX);
    machine m = {.ctx = ctx, .arena = arena, .start = bytes, .at = bytes, .end = bytes + size};
    gerne_status status = run(&m);
    if (status == GERNE_OK)
        *out = m.stack[0];
    gn_free(m.stack);
    gn_free(m.marks);
    gn_free(m.memo);
    return status;
}
