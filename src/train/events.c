#include "train/events.h"

#include <string.h>

#include "base/append.h"
#include "base/clock.h"
#include "base/text.h"

struct gn_events {
    gerne_ctx *ctx;
    gn_append *file;
    gn_text event, summary, value; /* the messages being built; their memory is kept */
};

/* CRC-32C bit by bit: records have some sixty bytes, a table would not pay. */
static uint32_t crc32c(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

/* Checksums of data that may hold checksums are rotated and shifted (the TFRecord format). */
static uint32_t masked_crc(const void *bytes, size_t size)
{
    uint32_t crc = crc32c(bytes, size);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void put_little_endian(unsigned char *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        out[i] = (unsigned char)(value >> 8 * i);
}

/* One record: length, its checksum, the message, its checksum. */
static gerne_status write_record(gn_events *events, const gn_text *message)
{
    unsigned char head[12], tail[4];
    put_little_endian(head, message->size, 8);
    put_little_endian(head + 8, masked_crc(head, 8), 4);
    put_little_endian(tail, masked_crc(message->bytes, message->size), 4);
    GN_TRY(gn_append_write(events->file, head, sizeof head));
    GN_TRY(gn_append_write(events->file, message->bytes, message->size));
    return gn_append_write(events->file, tail, sizeof tail);
}

/* Protocol buffers: a field is its number and wire type, then a varint, fixed bytes, or a length
 * and as many bytes. */
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2 };

static gerne_status add_varint(gn_events *events, gn_text *to, uint64_t value)
{
    unsigned char bytes[10];
    size_t size = 0;
    do {
        bytes[size] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        size++;
        value >>= 7;
    } while (value);
    return gn_text_add_bytes(events->ctx, to, bytes, size);
}

static gerne_status add_key(gn_events *events, gn_text *to, unsigned field, unsigned type)
{
    return add_varint(events, to, field << 3 | type);
}

static gerne_status add_bytes(gn_events *events, gn_text *to, unsigned field, const void *bytes,
                              size_t size)
{
    GN_TRY(add_key(events, to, field, BYTES));
    GN_TRY(add_varint(events, to, size));
    return gn_text_add_bytes(events->ctx, to, bytes, size);
}

/* Starts an event with the time of now. */
static gerne_status start_event(gn_events *events)
{
    double seconds = gn_wall_clock();
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    unsigned char bytes[8];
    put_little_endian(bytes, bits, 8);
    gn_text_clear(&events->event);
    GN_TRY(add_key(events, &events->event, EVENT_WALL_TIME, FIXED64));
    return gn_text_add_bytes(events->ctx, &events->event, bytes, sizeof bytes);
}

static gerne_status write_version(gn_events *events)
{
    static const char version[] = "brain.Event:2";
    GN_TRY(start_event(events));
    GN_TRY(add_bytes(events, &events->event, EVENT_FILE_VERSION, version, sizeof version - 1));
    return write_record(events, &events->event);
}

gerne_status gn_events_open(gerne_ctx *ctx, const char *path, uint64_t keep, gn_events **out)
{
    *out = NULL;
    GN_LOCAL(gn_events) *events = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *events, path, &events));
    events->ctx = ctx;
    GN_TRY(gn_append_open(ctx, path, keep, &events->file));
    if (keep == 0)
        GN_TRY(write_version(events));
    return gn_give(&events, out);
}

gerne_status gn_events_scalar(gn_events *events, const char *tag, uint64_t step, double value)
{
    float single = (float)value;
    uint32_t bits;
    if (!events)
        return GERNE_OK;
    memcpy(&bits, &single, sizeof bits);
    unsigned char bytes[4];
    put_little_endian(bytes, bits, 4);
    gn_text_clear(&events->value);
    GN_TRY(add_bytes(events, &events->value, VALUE_TAG, tag, strlen(tag)));
    GN_TRY(add_key(events, &events->value, VALUE_SIMPLE, FIXED32));
    GN_TRY(gn_text_add_bytes(events->ctx, &events->value, bytes, sizeof bytes));
    GN_TRY(start_event(events));
    GN_TRY(add_key(events, &events->event, EVENT_STEP, VARINT));
    GN_TRY(add_varint(events, &events->event, step));
    gn_text_clear(&events->summary);
    GN_TRY(add_bytes(events, &events->summary, SUMMARY_VALUE, events->value.bytes,
                     events->value.size));
    GN_TRY(add_bytes(events, &events->event, EVENT_SUMMARY, events->summary.bytes,
                     events->summary.size));
    return write_record(events, &events->event);
}

gerne_status gn_events_flush(gn_events *events)
{
    return events ? gn_append_flush(events->file) : GERNE_OK;
}

gerne_status gn_events_sync(gn_events *events, uint64_t *length)
{
    return gn_append_sync(events->file, length);
}

void gn_events_close(gn_events *events)
{
    if (!events)
        return;
    gn_append_close(events->file);
    gn_text_free(&events->event);
    gn_text_free(&events->summary);
    gn_text_free(&events->value);
    gn_free(events);
}
