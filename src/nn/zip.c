#include "nn/zip.h"

#include <stdlib.h>
#include <string.h>

#include "nn/weight_set.h"

enum {
    LOCAL_SIZE = 30,
    CENTRAL_SIZE = 46,
    END_SIZE = 22,
    END64_SIZE = 56,
    LOCATOR_SIZE = 20,
    COMMENT_MAX = 0xffff,
    ENTRIES_MAX = 1 << 17,
    FLAG_ENCRYPTED = 1,
    EXTRA_ZIP64 = 1,
};

static const uint32_t local_mark = 0x04034b50, central_mark = 0x02014b50, end_mark = 0x06054b50,
                      locator_mark = 0x07064b50, end64_mark = 0x06064b50;
static const uint32_t saturated = 0xffffffff; /* the true figure is in a zip64 record */

typedef struct archive {
    gerne_ctx *ctx;
    const unsigned char *bytes;
    size_t size;
} archive;

typedef struct directory {
    uint64_t entries, offset, size;
} directory;

static uint64_t number(const unsigned char *at, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static bool fits(const archive *a, uint64_t offset, uint64_t size)
{
    return offset <= a->size && size <= a->size - offset;
}

/* The end record is at the very end but for a comment. */
static gerne_status find_end(const archive *a, const unsigned char **out)
{
    *out = NULL;
    for (size_t comment = 0; comment <= COMMENT_MAX && END_SIZE + comment <= a->size; comment++) {
        const unsigned char *at = a->bytes + a->size - END_SIZE - comment;
        if (number(at, 4) == end_mark && number(at + 20, 2) == comment) {
            *out = at;
            return GERNE_OK;
        }
    }
    gerne_status status = gn_fail(a->ctx, GERNE_EDATA,
                                  "the zip archive has no end record: it is truncated or damaged");
    gn_hint(a->ctx, "copy or download the file again");
    return status;
}

static gerne_status find_directory(const archive *a, directory *out)
{
    const unsigned char *end;
    GN_TRY(find_end(a, &end));
    *out = (directory){
        .entries = number(end + 10, 2), .size = number(end + 12, 4), .offset = number(end + 16, 4)};
    if (out->entries == 0xffff || out->size == saturated || out->offset == saturated) {
        size_t before = (size_t)(end - a->bytes);
        const unsigned char *locator = end - LOCATOR_SIZE;
        if (before < LOCATOR_SIZE || number(locator, 4) != locator_mark)
            return gn_fail(a->ctx, GERNE_EDATA, "the zip archive lacks its zip64 locator");
        uint64_t offset = number(locator + 8, 8);
        if (!fits(a, offset, END64_SIZE) || number(a->bytes + offset, 4) != end64_mark)
            return gn_fail(a->ctx, GERNE_EDATA, "the zip archive's zip64 locator is invalid");
        const unsigned char *end64 = a->bytes + offset;
        *out = (directory){.entries = number(end64 + 32, 8),
                           .size = number(end64 + 40, 8),
                           .offset = number(end64 + 48, 8)};
    }
    if (!fits(a, out->offset, out->size))
        return gn_fail(a->ctx, GERNE_EDATA, "the zip archive's directory lies outside the file");
    if (out->entries > ENTRIES_MAX)
        return gn_fail(a->ctx, GERNE_EDATA, "the zip archive claims %llu entries, more than %d",
                       (unsigned long long)out->entries, ENTRIES_MAX);
    return GERNE_OK;
}

/* What a central record says, after the zip64 extra field has had its word. */
typedef struct central {
    uint64_t packed, size, offset;
} central;

static void apply_zip64(const unsigned char *extra, size_t extra_size, central *c)
{
    while (extra_size >= 4) {
        size_t field = (size_t)number(extra + 2, 2);
        if (field > extra_size - 4)
            return;
        if (number(extra, 2) == EXTRA_ZIP64) {
            uint64_t *wide[] = {&c->size, &c->packed, &c->offset};
            const unsigned char *at = extra + 4;
            for (size_t i = 0; i < 3; i++) {
                if (*wide[i] != saturated || field < 8)
                    continue;
                *wide[i] = number(at, 8);
                at += 8;
                field -= 8;
            }
            return;
        }
        extra += 4 + field;
        extra_size -= 4 + field;
    }
}

/* Finds the data behind the local header, which must tell the same story. */
static gerne_status locate(const archive *a, const central *c, gn_zip_entry *entry)
{
    char safe[GN_SAFE_TEXT];
    const char *name = gn_safe_text(entry->name, entry->name_size, safe);
    if (!fits(a, c->offset, LOCAL_SIZE) || number(a->bytes + c->offset, 4) != local_mark)
        return gn_fail(a->ctx, GERNE_EDATA, "zip entry '%s' has no local header", name);
    const unsigned char *local = a->bytes + c->offset;
    uint64_t name_size = number(local + 26, 2), extra_size = number(local + 28, 2);
    if (!fits(a, c->offset + LOCAL_SIZE, name_size + extra_size) || name_size != entry->name_size ||
        memcmp(local + LOCAL_SIZE, entry->name, entry->name_size) != 0)
        return gn_fail(a->ctx, GERNE_EDATA, "zip entry '%s' has two different names", name);
    uint64_t data = c->offset + LOCAL_SIZE + name_size + extra_size;
    if (!fits(a, data, c->size))
        return gn_fail(a->ctx, GERNE_EDATA, "zip entry '%s' is truncated", name);
    entry->bytes = a->bytes + data;
    entry->size = (size_t)c->size;
    return GERNE_OK;
}

/* Reads one central record from left bytes and tells how many it took. */
static gerne_status read_entry(const archive *a, const unsigned char *at, size_t left,
                               gn_zip_entry *entry, size_t *taken)
{
    *taken = 0;
    if (left < CENTRAL_SIZE || number(at, 4) != central_mark)
        return gn_fail(a->ctx, GERNE_EDATA, "the zip archive's directory is damaged");
    size_t name_size = (size_t)number(at + 28, 2), extra_size = (size_t)number(at + 30, 2);
    *taken = CENTRAL_SIZE + name_size + extra_size + (size_t)number(at + 32, 2);
    if (*taken > left)
        return gn_fail(a->ctx, GERNE_EDATA, "the zip archive's directory is truncated");
    *entry = (gn_zip_entry){.name = (const char *)at + CENTRAL_SIZE, .name_size = name_size};
    central c = {
        .packed = number(at + 20, 4), .size = number(at + 24, 4), .offset = number(at + 42, 4)};
    apply_zip64(at + CENTRAL_SIZE + name_size, extra_size, &c);
    entry->stored =
        !(number(at + 8, 2) & FLAG_ENCRYPTED) && number(at + 10, 2) == 0 && c.packed == c.size;
    return entry->stored ? locate(a, &c, entry) : GERNE_OK;
}

static int compare(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t common = a_size < b_size ? a_size : b_size;
    int order = common ? memcmp(a, b, common) : 0;
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

static int compare_entries(const void *a, const void *b)
{
    const gn_zip_entry *x = a, *y = b;
    return compare(x->name, x->name_size, y->name, y->name_size);
}

static gerne_status read_directory(const archive *a, const directory *d, gn_zip *out)
{
    const unsigned char *at = a->bytes + d->offset;
    size_t left = (size_t)d->size;
    for (uint64_t i = 0; i < d->entries; i++) {
        gn_zip_entry entry;
        size_t taken;
        GN_TRY(read_entry(a, at, left, &entry, &taken));
        GN_TRY(gn_grow(a->ctx, &out->entries, &out->capacity, out->count + 1, sizeof entry,
                       "zip entries"));
        out->entries[out->count++] = entry;
        at += taken;
        left -= taken;
    }
    if (left > 0)
        return gn_fail(a->ctx, GERNE_EDATA,
                       "the zip archive's directory has more entries than it declares");
    return GERNE_OK;
}

gerne_status gn_zip_open(gerne_ctx *ctx, const unsigned char *bytes, size_t size, gn_zip *out)
{
    *out = (gn_zip){0};
    archive a = {.ctx = ctx, .bytes = bytes, .size = size};
    directory d;
    GN_TRY(find_directory(&a, &d));
    GN_TRY(read_directory(&a, &d, out));
    if (out->count == 0)
        return gn_fail(ctx, GERNE_EDATA, "the zip archive is empty");
    qsort(out->entries, out->count, sizeof *out->entries, compare_entries);
    for (size_t i = 1; i < out->count; i++) {
        const gn_zip_entry *entry = &out->entries[i];
        if (compare_entries(entry - 1, entry) == 0) {
            char safe[GN_SAFE_TEXT];
            return gn_fail(ctx, GERNE_EDATA, "zip entry '%s' appears twice",
                           gn_safe_text(entry->name, entry->name_size, safe));
        }
    }
    return GERNE_OK;
}

void gn_zip_close(gn_zip *zip)
{
    gn_free(zip->entries);
    *zip = (gn_zip){0};
}

const gn_zip_entry *gn_zip_find(const gn_zip *zip, const char *folder, size_t folder_size,
                                const char *name, size_t name_size)
{
    size_t low = 0, high = zip->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const gn_zip_entry *entry = &zip->entries[middle];
        size_t head = entry->name_size < folder_size ? entry->name_size : folder_size;
        int order = compare(folder, folder_size, entry->name, head);
        if (order == 0)
            order = compare(name, name_size, entry->name + head, entry->name_size - head);
        if (order == 0)
            return entry;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

gerne_status gn_zip_check_stored(gerne_ctx *ctx, const gn_zip_entry *entry)
{
    char safe[GN_SAFE_TEXT];
    if (entry->stored)
        return GERNE_OK;
    gerne_status status = gn_fail(ctx, GERNE_EDATA, "zip entry '%s' is compressed or encrypted",
                                  gn_safe_text(entry->name, entry->name_size, safe));
    gn_hint(ctx, "torch.save does neither; use the file as it was written");
    return status;
}
