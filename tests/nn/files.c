#include "files.h"

#include "testing.h"

#include <string.h>

static void add(gn_text *out, const void *bytes, size_t size)
{
    assert_int_equal(gn_text_add_bytes(NULL, out, size ? bytes : "", size), GERNE_OK);
}

static void add_number(gn_text *out, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)(value >> 8 * i);
        add(out, &byte, 1);
    }
}

static void add_zeros(gn_text *out, size_t size)
{
    for (size_t i = 0; i < size; i++)
        add(out, "", 1);
}

void safetensors_bytes(const char *header, size_t data_size, gn_text *out)
{
    *out = (gn_text){0};
    add_number(out, strlen(header), 8);
    add(out, header, strlen(header));
    add_zeros(out, data_size);
}

static void add_header(gn_text *out, bool central, const zip_part *part, size_t offset)
{
    add_number(out, central ? 0x02014b50 : 0x04034b50, 4);
    if (central)
        add_number(out, 20, 2);        /* made by */
    add_zeros(out, 2 + 2 + 2 + 4 + 4); /* version, flags, method, time, checksum */
    add_number(out, part->size, 4);
    add_number(out, part->size, 4);
    add_number(out, strlen(part->name), 2);
    add_zeros(out, 2); /* extra field */
    if (central) {
        add_zeros(out, 2 + 2 + 2 + 4); /* comment, disk, attributes */
        add_number(out, offset, 4);
    }
    add(out, part->name, strlen(part->name));
}

void zip_bytes(const zip_part *parts, size_t count, gn_text *out)
{
    enum { PARTS_MAX = 8 };
    size_t offsets[PARTS_MAX];
    assert_true(count <= PARTS_MAX);
    *out = (gn_text){0};
    for (size_t i = 0; i < count; i++) {
        offsets[i] = out->size;
        add_header(out, false, &parts[i], 0);
        add(out, parts[i].bytes, parts[i].size);
    }
    size_t directory = out->size;
    for (size_t i = 0; i < count; i++)
        add_header(out, true, &parts[i], offsets[i]);
    size_t size = out->size - directory;
    add_number(out, 0x06054b50, 4);
    add_zeros(out, 4); /* disks */
    add_number(out, count, 2);
    add_number(out, count, 2);
    add_number(out, size, 4);
    add_number(out, directory, 4);
    add_zeros(out, 2); /* comment */
}

void pth_bytes(const void *pickle, size_t size, gn_text *out)
{
    static const unsigned char storage[24];
    const zip_part parts[] = {{"a/data.pkl", pickle, size}, {"a/data/0", storage, sizeof storage}};
    zip_bytes(parts, 2, out);
}

float golden_value(size_t k, size_t i)
{
    return (float)((double)((37 * i + 11 * k) % 101) - 50) / 16;
}

gerne_status parse_text(gerne_ctx *ctx, const gn_text *bytes, gn_weights **out)
{
    return gn_weights_parse(ctx, bytes->bytes, bytes->size, "test", out);
}
