#include "debias/labels.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct gn_labels {
    gn_arena *arena;
    const char **texts; /* in order of appearance; the slots refer to these */
    uint64_t *hashes;
    size_t text_capacity, hash_capacity;
    uint32_t count, limit;
    uint32_t *slots; /* open addressing: number + 1, 0 is free */
    size_t slot_count;
    const char **names; /* sorted */
    uint32_t *ranks;
};

gerne_status gn_labels_new(gerne_ctx *ctx, uint32_t limit, gn_labels **out)
{
    *out = NULL;
    GN_LOCAL(gn_labels) *labels = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *labels, "labels", &labels));
    labels->limit = limit && limit < UINT32_MAX ? limit : UINT32_MAX - 1;
    GN_TRY(gn_arena_new(ctx, &labels->arena));
    return gn_give(&labels, out);
}

void gn_labels_close(gn_labels *labels)
{
    if (!labels)
        return;
    gn_free(labels->texts);
    gn_free(labels->hashes);
    gn_free(labels->slots);
    gn_free(labels->names);
    gn_free(labels->ranks);
    gn_arena_close(labels->arena);
    gn_free(labels);
}

/* The slot that holds the text, or the free one where it belongs. */
static size_t slot_of(const gn_labels *labels, const char *text, uint64_t hash)
{
    size_t mask = labels->slot_count - 1, slot = (size_t)hash & mask;
    for (;; slot = (slot + 1) & mask) {
        uint32_t held = labels->slots[slot];
        if (held == 0)
            return slot;
        if (labels->hashes[held - 1] == hash && strcmp(labels->texts[held - 1], text) == 0)
            return slot;
    }
}

/* At most half of the slots are taken. */
static gerne_status make_room(gerne_ctx *ctx, gn_labels *labels)
{
    if ((size_t)labels->count + 1 <= labels->slot_count / 2)
        return GERNE_OK;
    size_t slot_count = labels->slot_count ? 2 * labels->slot_count : 64;
    uint32_t *slots;
    GN_TRY(gn_alloc(ctx, slot_count, sizeof *slots, "labels", &slots));
    for (uint32_t i = 0; i < labels->count; i++) {
        size_t slot = (size_t)labels->hashes[i] & (slot_count - 1);
        while (slots[slot])
            slot = (slot + 1) & (slot_count - 1);
        slots[slot] = i + 1;
    }
    gn_free(labels->slots);
    labels->slots = slots;
    labels->slot_count = slot_count;
    return GERNE_OK;
}

gerne_status gn_labels_add(gerne_ctx *ctx, gn_labels *labels, const char *text, uint32_t *number)
{
    assert(!labels->ranks);
    *number = 0;
    if (!text[0])
        return gn_fail(ctx, GERNE_EDATA, "the label is empty");
    GN_TRY(make_room(ctx, labels));
    uint64_t hash = gn_text_hash(text);
    size_t slot = slot_of(labels, text, hash);
    if (labels->slots[slot]) {
        *number = labels->slots[slot] - 1;
        return GERNE_OK;
    }
    if (!gn_is_utf8(text))
        return gn_fail(ctx, GERNE_EDATA, "the label is not valid UTF-8");
    if (labels->count >= labels->limit)
        return gn_fail(ctx, GERNE_EDATA, "more than %u different labels", labels->limit);
    size_t need = (size_t)labels->count + 1;
    GN_TRY(gn_grow(ctx, &labels->texts, &labels->text_capacity, need, sizeof *labels->texts,
                   "labels"));
    GN_TRY(gn_grow(ctx, &labels->hashes, &labels->hash_capacity, need, sizeof *labels->hashes,
                   "labels"));
    GN_TRY(gn_arena_copy_text(ctx, labels->arena, text, &labels->texts[labels->count]));
    labels->hashes[labels->count] = hash;
    *number = labels->count++;
    labels->slots[slot] = labels->count;
    return GERNE_OK;
}

typedef struct entry {
    const char *text;
    int64_t value;
    uint32_t number;
} entry;

static int compare_texts(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->text, ((const entry *)b)->text);
}

static int compare_values(const void *a, const void *b)
{
    int64_t x = ((const entry *)a)->value, y = ((const entry *)b)->value;
    return x != y ? (x < y ? -1 : 1) : compare_texts(a, b); /* "1" and "01" are two labels */
}

static gerne_status finish(gerne_ctx *ctx, gn_labels *labels, bool sort)
{
    GN_FREED entry *entries = NULL;
    GN_TRY(gn_alloc(ctx, labels->count, sizeof *entries, "labels", &entries));
    bool integers = true;
    for (uint32_t i = 0; i < labels->count; i++) {
        entries[i] = (entry){.text = labels->texts[i], .number = i};
        integers = integers && gn_parse_int(labels->texts[i], &entries[i].value);
    }
    if (sort && labels->count)
        qsort(entries, labels->count, sizeof *entries, integers ? compare_values : compare_texts);
    GN_TRY(gn_alloc(ctx, labels->count, sizeof *labels->names, "labels", &labels->names));
    GN_TRY(gn_alloc(ctx, labels->count, sizeof *labels->ranks, "labels", &labels->ranks));
    for (uint32_t i = 0; i < labels->count; i++) {
        labels->names[i] = entries[i].text;
        labels->ranks[entries[i].number] = i;
    }
    return GERNE_OK;
}

gerne_status gn_labels_finish(gerne_ctx *ctx, gn_labels *labels)
{
    return finish(ctx, labels, true);
}

gerne_status gn_labels_finish_in_order(gerne_ctx *ctx, gn_labels *labels)
{
    return finish(ctx, labels, false);
}

uint32_t gn_labels_count(const gn_labels *labels)
{
    return labels->count;
}

const char *const *gn_labels_names(const gn_labels *labels)
{
    return labels->names;
}

const uint32_t *gn_labels_ranks(const gn_labels *labels)
{
    return labels->ranks;
}

int64_t gn_labels_find(const gn_labels *labels, const char *text)
{
    if (!labels->slot_count || !labels->ranks)
        return -1;
    uint32_t held = labels->slots[slot_of(labels, text, gn_text_hash(text))];
    return held ? (int64_t)labels->ranks[held - 1] : -1;
}
