#include "nn/weight_set.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { NAMED = 4 }; /* tensors of each kind of trouble that a message names */

typedef struct trouble {
    const char *what; /* "missing" */
    gn_text names;
    size_t count;
} trouble;

typedef struct matcher {
    gerne_ctx *ctx;
    const gn_weights *weights;
    const gn_wanted *wanted;
    size_t count;
    const gn_weight **found;
    gn_unused_fn *unused; /* or NULL */
    char prefix[GN_WEIGHT_NAME_MAX + 1];
    bool *used; /* of the file's tensors */
    size_t taken;
    gn_match match;
    trouble missing, unexpected, misshapen, not_float;
} matcher;

static gerne_status note(matcher *m, trouble *t, const char *name, const char *detail)
{
    char safe[GN_SAFE_TEXT];
    if (t->count++ >= NAMED)
        return GERNE_OK;
    return gn_text_add(m->ctx, &t->names, "%s'%s'%s", t->names.size ? ", " : "",
                       gn_safe_text(name, strlen(name), safe), detail);
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool all_carry(const matcher *m, const char *prefix, const char *next)
{
    size_t skip = strlen(prefix);
    for (size_t i = 0; i < m->weights->count; i++) {
        if (!starts_with(m->weights->list[i].name + skip, next))
            return false;
    }
    for (size_t i = 0; i < m->count; i++) {
        if (starts_with(m->wanted[i].name, next))
            return false; /* it is part of our own names */
    }
    return m->weights->count > 0;
}

/* Wrappers such as DataParallel and torch.compile put a word before every name. */
static void find_prefix(matcher *m)
{
    static const char *const words[] = {"module.",  "model.", "_orig_mod.",
                                        "network.", "net.",   "backbone."};
    size_t size = 0;
    for (size_t w = 0; w < sizeof words / sizeof words[0];) {
        if (!all_carry(m, m->prefix, words[w])) {
            w++;
            continue;
        }
        size += (size_t)snprintf(m->prefix + size, sizeof m->prefix - size, "%s", words[w]);
        w = 0;
    }
}

static const gn_weight *find(const matcher *m, const char *name)
{
    char full[GN_WEIGHT_NAME_MAX + 1];
    int size = snprintf(full, sizeof full, "%s%s", m->prefix, name);
    return size > GN_WEIGHT_NAME_MAX ? NULL : gn_weights_find(m->weights, full);
}

static bool same_shape(const gn_wanted *wanted, const gn_weight *weight)
{
    return wanted->ndims == weight->ndims &&
           memcmp(wanted->dims, weight->dims, wanted->ndims * sizeof wanted->dims[0]) == 0;
}

/* A head of another shape is skipped as a whole: half of it would fit nothing. */
static void check_head(matcher *m)
{
    bool any = false, optional = false;
    for (size_t i = 0; i < m->count; i++) {
        any = any || (m->wanted[i].is_head && find(m, m->wanted[i].name));
        optional = optional || (m->wanted[i].is_head && m->wanted[i].optional);
    }
    if (optional && !any) {
        m->match = (gn_match){.head_replaced = true};
        gn_log(m->ctx, GERNE_LOG_INFO, "'%s' has no head: it is initialised at random",
               m->weights->source);
        return;
    }
    for (size_t i = 0; i < m->count && !m->match.head_replaced; i++) {
        const gn_weight *weight = m->wanted[i].is_head ? find(m, m->wanted[i].name) : NULL;
        if (weight && !same_shape(&m->wanted[i], weight))
            m->match = (gn_match){.head_replaced = true, .head = &m->wanted[i], .theirs = weight};
    }
    if (!m->match.head_replaced)
        return;
    char theirs[GN_SHAPE_TEXT], ours[GN_SHAPE_TEXT];
    const gn_wanted *head = m->match.head;
    gn_log(m->ctx, GERNE_LOG_INFO,
           "'%s': the head '%s' is %s in the file and %s in the network: it is "
           "initialised at random",
           m->weights->source, head->name,
           gn_shape_text(m->match.theirs->dims, m->match.theirs->ndims, theirs),
           gn_shape_text(head->dims, head->ndims, ours));
}

static gerne_status match_one(matcher *m, size_t i)
{
    const gn_wanted *wanted = &m->wanted[i];
    const gn_weight *weight = find(m, wanted->name);
    m->found[i] = NULL;
    if (weight)
        m->used[weight - m->weights->list] = true;
    if (wanted->is_head && m->match.head_replaced)
        return GERNE_OK;
    if (!weight)
        return note(m, &m->missing, wanted->name, "");
    m->taken++;
    char detail[2 * GN_SHAPE_TEXT + 16];
    if (!same_shape(wanted, weight)) {
        char theirs[GN_SHAPE_TEXT], ours[GN_SHAPE_TEXT];
        snprintf(detail, sizeof detail, " is %s, not %s",
                 gn_shape_text(weight->dims, weight->ndims, theirs),
                 gn_shape_text(wanted->dims, wanted->ndims, ours));
        return note(m, &m->misshapen, wanted->name, detail);
    }
    if (weight->type > GN_WEIGHT_F64) {
        snprintf(detail, sizeof detail, " is %s", gn_weight_type_name(weight->type));
        return note(m, &m->not_float, wanted->name, detail);
    }
    m->found[i] = weight;
    return GERNE_OK;
}

static bool is_counter(const char *name)
{
    static const char suffix[] = "num_batches_tracked";
    size_t size = strlen(name), tail = sizeof suffix - 1;
    return size >= tail && strcmp(name + size - tail, suffix) == 0;
}

static gerne_status add_trouble(matcher *m, gn_text *text, const trouble *t)
{
    if (t->count == 0)
        return GERNE_OK;
    GN_TRY(gn_text_add(m->ctx, text, "%s%zu %s (%s", text->size ? "; " : "", t->count, t->what,
                       t->names.bytes));
    if (t->count > NAMED)
        GN_TRY(gn_text_add(m->ctx, text, " and %zu more", t->count - NAMED));
    return gn_text_add(m->ctx, text, ")");
}

static gerne_status report(matcher *m)
{
    const trouble *all[] = {&m->missing, &m->misshapen, &m->not_float, &m->unexpected};
    GN_LOCAL(gn_text) text = {0};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        GN_TRY(add_trouble(m, &text, all[i]));
    if (text.size == 0)
        return GERNE_OK;
    gn_fail(m->ctx, GERNE_EDATA, "'%s' does not fit the network: tensors %s", m->weights->source,
            text.bytes);
    if (m->taken == 0)
        gn_hint(m->ctx, "no tensor name matches: the file seems to be of another architecture");
    return GERNE_EDATA;
}

static gerne_status match_all(matcher *m)
{
    GN_TRY(gn_alloc(m->ctx, m->weights->count, sizeof *m->used, "a list of tensors", &m->used));
    find_prefix(m);
    check_head(m);
    for (size_t i = 0; i < m->count; i++)
        GN_TRY(match_one(m, i));
    for (size_t i = 0; i < m->weights->count; i++) {
        const char *name = m->weights->list[i].name;
        if (!m->used[i] && !is_counter(name) && !(m->unused && m->unused(name)))
            GN_TRY(note(m, &m->unexpected, name, ""));
    }
    return report(m);
}

gerne_status gn_weights_match(gerne_ctx *ctx, const gn_weights *weights, const gn_wanted *wanted,
                              size_t count, gn_unused_fn *unused, const gn_weight **found,
                              gn_match *match)
{
    matcher m = {.ctx = ctx,
                 .weights = weights,
                 .wanted = wanted,
                 .count = count,
                 .found = found,
                 .unused = unused,
                 .missing = {.what = "missing"},
                 .unexpected = {.what = "unexpected"},
                 .misshapen = {.what = "of another shape"},
                 .not_float = {.what = "not floating-point"}};
    gerne_status status = match_all(&m);
    gn_free(m.used);
    gn_text_free(&m.missing.names);
    gn_text_free(&m.unexpected.names);
    gn_text_free(&m.misshapen.names);
    gn_text_free(&m.not_float.names);
    if (match)
        *match = m.match;
    return status;
}
