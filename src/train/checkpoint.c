#include "train/checkpoint.h"

#include <stdio.h>
#include <string.h>

#include "data/checksum.h"
#include "base/file.h"

/* magic, size of the head (8 bytes, little endian), head, blocks in order, checksum of all before
 */
static const char magic[8] = "GERNECK2";
enum { FAMILY = 7, PREFIX = 16, HEAD_MAX = 1 << 26 }; /* the last of the magic counts formats */

struct gn_checkpoint {
    gerne_ctx *ctx;
    gn_map map;
    json_t *head;
    size_t first; /* where the blocks start */
};

gerne_status gn_checkpoint_add(gerne_ctx *ctx, gn_checkpoint_blocks *blocks, const char *name,
                               const void *bytes, size_t size)
{
    if (!bytes)
        return GERNE_OK;
    if (blocks->count == GN_BLOCKS_MAX || strlen(name) >= GN_BLOCK_NAME)
        return gn_fail(ctx, GERNE_EINTERNAL, "too many blocks in a checkpoint");
    gn_block_out *b = &blocks->items[blocks->count++];
    snprintf(b->name, sizeof b->name, "%s", name);
    b->bytes = bytes;
    b->size = size;
    return GERNE_OK;
}

static gerne_status put(gn_writer *writer, gn_checksum *sum, const void *bytes, size_t size)
{
    gn_checksum_add(sum, bytes, size);
    return gn_write(writer, bytes, size);
}

static gerne_status put_all(gn_writer *writer, const gn_text *head,
                            const gn_checkpoint_blocks *blocks)
{
    gn_checksum sum;
    gn_checksum_start(&sum);
    unsigned char size[8], digest[GN_CHECKSUM_SIZE];
    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)((uint64_t)head->size >> (8 * i));
    GN_TRY(put(writer, &sum, magic, sizeof magic));
    GN_TRY(put(writer, &sum, size, sizeof size));
    GN_TRY(put(writer, &sum, head->bytes, head->size));
    for (size_t i = 0; i < blocks->count; i++)
        GN_TRY(put(writer, &sum, blocks->items[i].bytes, blocks->items[i].size));
    gn_checksum_end(&sum, digest);
    return gn_write(writer, digest, sizeof digest);
}

gerne_status gn_checkpoint_write(gerne_ctx *ctx, const char *path,
                                 const gn_checkpoint_blocks *blocks, json_t *given)
{
    GN_LOCAL(json_t) *head = given;
    json_t *list = json_array();
    for (size_t i = 0; i < blocks->count; i++)
        json_array_append_new(
            list, json_pack("[s,I]", blocks->items[i].name, (json_int_t)blocks->items[i].size));
    json_object_set_new(head, "blocks", list);
    GN_LOCAL(gn_text) text = {0};
    GN_LOCAL(gn_writer) *writer = NULL;
    GN_TRY(gn_json_print_line(ctx, head, &text));
    GN_TRY(gn_write_open(ctx, path, &writer));
    GN_TRY(put_all(writer, &text, blocks));
    return gn_write_commit(&writer);
}

static gerne_status parse(gn_checkpoint *c, const char *path)
{
    const unsigned char *b = c->map.bytes;
    if (c->map.size < PREFIX + GN_CHECKSUM_SIZE || memcmp(b, magic, FAMILY) != 0)
        return gn_fail(c->ctx, GERNE_EDATA, "%s: not a checkpoint of gerne", path);
    if (memcmp(b, magic, sizeof magic) != 0)
        return gn_fail(c->ctx, GERNE_EDATA, "%s: a checkpoint of another version of gerne", path);
    uint64_t head = 0;
    for (int i = 0; i < 8; i++)
        head |= (uint64_t)b[8 + i] << (8 * i);
    size_t end = c->map.size - GN_CHECKSUM_SIZE;
    if (head > HEAD_MAX || head > end - PREFIX)
        return gn_fail(c->ctx, GERNE_EDATA, "%s: the checkpoint is damaged", path);
    unsigned char digest[GN_CHECKSUM_SIZE];
    gn_checksum_of(b, end, digest);
    if (memcmp(digest, b + end, sizeof digest) != 0)
        return gn_fail(c->ctx, GERNE_EDATA, "%s: the checkpoint is damaged (its checksum differs)",
                       path);
    GN_TRY(gn_json_parse(c->ctx, (const char *)b + PREFIX, (size_t)head, path, &c->head));
    c->first = PREFIX + (size_t)head;
    size_t at = c->first, i;
    json_t *item;
    json_array_foreach(json_object_get(c->head, "blocks"), i, item)
    {
        json_int_t size = json_integer_value(json_array_get(item, 1));
        if (size < 0 || (uint64_t)size > end - at || !json_string_value(json_array_get(item, 0)))
            return gn_fail(c->ctx, GERNE_EDATA, "%s: the checkpoint is damaged", path);
        at += (size_t)size;
    }
    return GERNE_OK;
}

gerne_status gn_checkpoint_open(gerne_ctx *ctx, const char *path, gn_checkpoint **out)
{
    GN_LOCAL(gn_checkpoint) *c = NULL;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *c, "a checkpoint", &c));
    c->ctx = ctx;
    GN_TRY(gn_map_open(ctx, path, &c->map));
    GN_TRY(parse(c, path));
    return gn_give(&c, out);
}

void gn_checkpoint_close(gn_checkpoint *c)
{
    if (!c)
        return;
    json_decref(c->head);
    gn_map_close(&c->map);
    gn_free(c);
}

const json_t *gn_checkpoint_head(const gn_checkpoint *c)
{
    return c->head;
}

gerne_status gn_checkpoint_take(const gn_checkpoint *c, const char *name, void *bytes, size_t size,
                                bool *found)
{
    if (found)
        *found = false;
    if (!c)
        return GERNE_OK;
    size_t at = c->first, i;
    json_t *item;
    json_array_foreach(json_object_get(c->head, "blocks"), i, item)
    {
        size_t have = (size_t)json_integer_value(json_array_get(item, 1));
        if (strcmp(json_string_value(json_array_get(item, 0)), name) != 0) {
            at += have;
            continue;
        }
        if (have != size)
            return gn_fail(c->ctx, GERNE_EDATA,
                           "the checkpoint's block '%s' has %zu bytes instead of %zu: it was "
                           "written by another version of gerne or on another type of CPU",
                           name, have, size);
        memcpy(bytes, c->map.bytes + at, size);
        if (found)
            *found = true;
        return GERNE_OK;
    }
    return GERNE_OK;
}
