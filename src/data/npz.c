/* npz.c - arrays out of a zip archive, through libarchive. Nothing is ever written to disk. */
#include <archive.h>
#include <archive_entry.h>
#include <string.h>

#include "base/file.h"
#include "data/npy.h"

enum { BLOCK = 1 << 20, HEADER_ROOM = (1 << 16) + 64 };

static gerne_status archive_failed(gerne_ctx *ctx, struct archive *archive, const char *name)
{
    const char *words = archive_error_string(archive);
    return gn_fail(ctx, GERNE_EDATA, "'%s' cannot be read: %s", name,
                   words ? words : "it is not a zip archive");
}

/* Fills to from the entry until size bytes are there or the entry ends. */
static gerne_status read_entry(gerne_ctx *ctx, struct archive *archive, const char *name, void *to,
                               size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        size_t want = size - *got < BLOCK ? size - *got : BLOCK;
        la_ssize_t part = archive_read_data(archive, (char *)to + *got, want);
        if (part < 0)
            return archive_failed(ctx, archive, name);
        if (part == 0)
            return GERNE_OK;
        *got += (size_t)part;
    }
    return GERNE_OK;
}

/* The header's first bytes arrive with items behind them; both end up in member. */
static gerne_status read_member(gerne_ctx *ctx, struct archive *archive, const char *name,
                                size_t limit, unsigned char *head, gn_npz_member *member)
{
    gn_npy *array = &member->array;
    size_t got, more;
    GN_TRY(read_entry(ctx, archive, name, head, HEADER_ROOM, &got));
    GN_TRY(gn_npy_parse(ctx, name, head, got, array));
    if (array->size > limit) {
        gn_fail(ctx, GERNE_EUSAGE, "'%s' needs %zu bytes, more than data.memory_limit (%zu)", name,
                array->size, limit);
        gn_hint(ctx,
                "raise --data.memory_limit, or save float32 features as .npy, which is mapped");
        return GERNE_EUSAGE;
    }
    GN_TRY(gn_alloc(ctx, array->size ? array->size : 1, 1, "features", &member->items));
    member->found = true;
    size_t held = got - array->offset;
    if (held > array->size)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has more items than its shape says", name);
    if (held)
        memcpy(member->items, head + array->offset, held);
    GN_TRY(read_entry(ctx, archive, name, member->items + held, array->size - held, &more));
    if (held + more < array->size)
        return gn_fail(ctx, GERNE_EDATA, "'%s' is truncated: it has %zu of %zu bytes", name,
                       held + more, array->size);
    char extra;
    GN_TRY(read_entry(ctx, archive, name, &extra, 1, &more));
    if (more)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has more items than its shape says", name);
    return GERNE_OK;
}

static gn_npz_member *wanted(const char *path, gn_npz_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = members[i].name ? strlen(members[i].name) : 0;
        if (length && strncmp(path, members[i].name, length) == 0 &&
            strcmp(path + length, ".npy") == 0)
            return &members[i];
    }
    return NULL;
}

/* Appends "x.npy" as "x, ". */
static gerne_status list_array(gerne_ctx *ctx, const char *path, gn_text *arrays)
{
    size_t length = strlen(path);
    if (length <= 4 || strcmp(path + length - 4, ".npy") != 0 || arrays->size > 256)
        return GERNE_OK;
    return gn_text_add(ctx, arrays, "%s'%.*s'", arrays->size ? ", " : "", (int)(length - 4), path);
}

static gerne_status check_required(gerne_ctx *ctx, const char *name, const gn_text *arrays,
                                   const gn_npz_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (members[i].key && !members[i].found) {
            gn_fail(ctx, GERNE_EDATA, "%s has no array '%s'", name, members[i].name);
            gn_hint(ctx, "--%s NAME names another; its arrays are %s", members[i].key,
                    arrays->size ? arrays->bytes : "none");
            return GERNE_EDATA;
        }
    return GERNE_OK;
}

static gerne_status read_members(gerne_ctx *ctx, struct archive *archive, const char *name,
                                 size_t limit, gn_npz_member *members, size_t count)
{
    GN_FREED unsigned char *head = NULL;
    GN_LOCAL(gn_text) place = {0}, arrays = {0};
    GN_TRY(gn_alloc(ctx, HEADER_ROOM, 1, "a header", &head));
    for (;;) {
        struct archive_entry *entry;
        int step = archive_read_next_header(archive, &entry);
        if (step == ARCHIVE_EOF)
            return check_required(ctx, name, &arrays, members, count);
        if (step != ARCHIVE_OK)
            return archive_failed(ctx, archive, name);
        const char *path = archive_entry_pathname(entry);
        gn_npz_member *member = path ? wanted(path, members, count) : NULL;
        if (path)
            GN_TRY(list_array(ctx, path, &arrays));
        if (!member)
            continue;
        gn_text_clear(&place);
        GN_TRY(gn_text_add(ctx, &place, "%s[%s]", name, member->name));
        if (member->found)
            return gn_fail(ctx, GERNE_EDATA, "'%s' appears twice", place.bytes);
        GN_TRY(read_member(ctx, archive, place.bytes, limit, head, member));
        limit -= member->array.size;
    }
}

gerne_status gn_npz_parse(gerne_ctx *ctx, const char *name, const void *bytes, size_t size,
                          size_t limit, gn_npz_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        members[i] = (gn_npz_member){.name = members[i].name, .key = members[i].key};
    struct archive *archive = archive_read_new();
    if (!archive)
        return gn_fail(ctx, GERNE_ENOMEM, "no memory to read '%s'", name);
    archive_read_support_format_zip(archive);
    gerne_status status;
    if (size == 0)
        status = gn_fail(ctx, GERNE_EDATA, "'%s' is empty", name);
    else if (archive_read_open_memory(archive, bytes, size) != ARCHIVE_OK)
        status = archive_failed(ctx, archive, name);
    else
        status = read_members(ctx, archive, name, limit, members, count);
    archive_read_free(archive);
    if (status != GERNE_OK)
        gn_npz_free(members, count);
    return status;
}

gerne_status gn_npz_read(gerne_ctx *ctx, const char *path, size_t limit, gn_npz_member *members,
                         size_t count)
{
    GN_LOCAL(gn_map) map = {0};
    GN_TRY(gn_map_open(ctx, path, &map));
    return gn_npz_parse(ctx, path, map.bytes, map.size, limit, members, count);
}

void gn_npz_free(gn_npz_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gn_free(members[i].items);
        members[i].items = NULL;
        members[i].found = false;
    }
}
