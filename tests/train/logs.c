/* The event file parsed back by an independent reader, log.jsonl line by line, and both cut back to
 * a known length when a run goes on. */
#include "testing.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/append.h"
#include "base/file.h"
#include "train/events.h"
#include "train/runlog.h"

static gerne_ctx *ctx;
static char *directory;
static char path[4200];

static int open_all(void **state)
{
    (void)state;
    ctx = test_ctx();
    directory = test_directory();
    snprintf(path, sizeof path, "%s/%s", directory, GN_EVENTS_FILE);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
    return 0;
}

/* A reader of its own: table-driven checksum, and a walk over the fields. */
static uint32_t crc_by_table(const unsigned char *bytes, size_t size)
{
    static uint32_t table[256];
    for (uint32_t i = 0; i < 256 && !table[255]; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ 0x82f63b78u : value >> 1;
        table[i] = value;
    }
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++)
        crc = table[(crc ^ bytes[i]) & 255] ^ crc >> 8;
    return crc ^ UINT32_MAX;
}

static uint32_t masked(const unsigned char *bytes, size_t size)
{
    uint32_t crc = crc_by_table(bytes, size);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static uint64_t little_endian(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static uint64_t varint(const unsigned char **at)
{
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        unsigned char byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

typedef struct event {
    double wall_time;
    uint64_t step;
    char version[32], tag[32];
    float value;
} event;

static void take_text(const unsigned char **at, char *out, size_t size)
{
    uint64_t length = varint(at);
    assert_true(length < size);
    memcpy(out, *at, length);
    out[length] = '\0';
    *at += length;
}

/* Event > Summary > Value: the three messages have different fields, so one walk reads them. */
static event parse_event(const unsigned char *at, const unsigned char *end)
{
    event e = {0};
    int depth = 0;
    while (at < end) {
        uint64_t key = varint(&at);
        if (depth == 0 && key == 0x09) { /* field 1, 8 bytes */
            uint64_t bits = little_endian(at, 8);
            memcpy(&e.wall_time, &bits, 8);
            at += 8;
        } else if (depth == 0 && key == 0x10) { /* field 2, varint */
            e.step = varint(&at);
        } else if (depth == 0 && key == 0x1a) { /* field 3, bytes */
            take_text(&at, e.version, sizeof e.version);
        } else if ((depth == 0 && key == 0x2a) || (depth == 1 && key == 0x0a)) {
            uint64_t inside = varint(&at); /* the last field of its message */
            assert_ptr_equal(at + inside, end);
            depth++;
        } else if (depth == 2 && key == 0x0a) {
            take_text(&at, e.tag, sizeof e.tag);
        } else if (depth == 2 && key == 0x15) { /* field 2, 4 bytes */
            uint32_t bits = (uint32_t)little_endian(at, 4);
            memcpy(&e.value, &bits, 4);
            at += 4;
        } else {
            fail_msg("unknown key %d at depth %d", (int)key, depth);
        }
    }
    assert_ptr_equal(at, end);
    return e;
}

static size_t parse_file(event *out, size_t most)
{
    gn_map map;
    assert_ok(ctx, gn_map_open(ctx, path, &map));
    size_t count = 0, at = 0;
    while (at < map.size) {
        assert_true(at + 16 <= map.size);
        const unsigned char *head = map.bytes + at;
        size_t size = (size_t)little_endian(head, 8);
        assert_true(size <= map.size - at - 16);
        assert_int_equal(little_endian(head + 8, 4), masked(head, 8));
        assert_int_equal(little_endian(head + 12 + size, 4), masked(head + 12, size));
        assert_true(count < most);
        out[count++] = parse_event(head + 12, head + 12 + size);
        at += 16 + size;
    }
    gn_map_close(&map);
    return count;
}

static void events_are_read_back(void **state)
{
    (void)state;
    assert_int_equal(crc_by_table((const unsigned char *)"123456789", 9),
                     0xe3069283); /* RFC 3720 */
    gn_events *events;
    assert_ok(ctx, gn_events_open(ctx, path, 0, &events));
    assert_ok(ctx, gn_events_scalar(events, "val/wga", 0, 0.25));
    assert_ok(ctx, gn_events_scalar(events, "val/wga", 300, NAN));
    assert_ok(ctx, gn_events_scalar(events, "loss", UINT64_C(1) << 40, -1e30));
    gn_events_close(events);
    event list[8];
    assert_int_equal(parse_file(list, 8), 4);
    assert_string_equal(list[0].version, "brain.Event:2");
    assert_true(list[0].wall_time > 1.6e9 && list[0].wall_time < 1e11);
    assert_string_equal(list[1].tag, "val/wga");
    assert_near(list[1].value, 0.25, 0);
    assert_int_equal(list[2].step, 300);
    assert_true(isnan(list[2].value));
    assert_int_equal(list[3].step, UINT64_C(1) << 40);
    assert_near((double)list[3].value / 1e30, -1, 1e-6);
    /* Every event file that TensorFlow writes begins with these twelve bytes. */
    gn_map map;
    assert_ok(ctx, gn_map_open(ctx, path, &map));
    assert_memory_equal(map.bytes, "\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22", 12);
    gn_map_close(&map);
}

static void events_go_on_after_a_cut(void **state)
{
    (void)state;
    gn_events *events;
    uint64_t length;
    assert_ok(ctx, gn_events_open(ctx, path, 0, &events));
    assert_ok(ctx, gn_events_scalar(events, "loss", 1, 1));
    assert_ok(ctx, gn_events_sync(events, &length));
    assert_ok(ctx, gn_events_scalar(events, "lost", 2, 2));
    assert_ok(ctx, gn_events_flush(events));
    gn_events_close(events);
    assert_ok(ctx, gn_events_open(ctx, path, length, &events));
    assert_ok(ctx, gn_events_scalar(events, "kept", 2, 3));
    gn_events_close(events);
    event list[8];
    assert_int_equal(parse_file(list, 8), 3);
    assert_string_equal(list[1].tag, "loss");
    assert_string_equal(list[2].tag, "kept");
    assert_fails(ctx, GERNE_EDATA, "fewer than the 100000",
                 gn_events_open(ctx, path, 100000, &events));
    assert_null(events);
    assert_fails(ctx, GERNE_EIO, "cannot write", gn_events_open(ctx, directory, 0, &events));
    assert_fails(ctx, GERNE_EIO, "not a regular file",
                 gn_events_open(ctx, "/dev/null", 0, &events));
}

static void log_is_one_object_a_line(void **state)
{
    (void)state;
    gn_runlog *log;
    uint64_t length;
    assert_ok(ctx, gn_runlog_open(ctx, path, 0, &log));
    assert_ok(ctx, gn_runlog_event(log, "start", NULL));
    assert_ok(ctx,
              gn_runlog_event(log, "epoch", json_pack("{s:i, s:s}", "epoch", 1, "note", "a\nb")));
    assert_ok(ctx, gn_runlog_sync(log, &length));
    assert_ok(ctx, gn_runlog_event(log, "lost", NULL));
    gn_runlog_close(log);
    assert_ok(ctx, gn_runlog_open(ctx, path, length, &log));
    assert_ok(ctx,
              gn_runlog_event(log, "end", json_pack("{s:o}", "loss", gn_json_number(INFINITY))));
    assert_fails(ctx, GERNE_EINTERNAL, "'bad'", gn_runlog_event(log, "bad", json_integer(1)));
    gn_runlog_close(log);
    gn_text text = {0};
    assert_ok(ctx, gn_file_read(ctx, path, 1 << 20, &text));
    static const char *const names[] = {"start", "epoch", "end"};
    size_t count = 0;
    for (char *save, *line = strtok_r(text.bytes, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save), count++) {
        json_t *json;
        assert_true(count < 3);
        assert_ok(ctx, gn_json_parse(ctx, line, strlen(line), "line", &json));
        assert_string_equal(json_string_value(json_object_get(json, "event")), names[count]);
        assert_true(json_real_value(json_object_get(json, "time")) > 1.6e9);
        if (count == 1)
            assert_string_equal(json_string_value(json_object_get(json, "note")), "a\nb");
        if (count == 2)
            assert_true(json_is_null(json_object_get(json, "loss")));
        json_decref(json);
    }
    assert_int_equal(count, 3);
    gn_text_free(&text);
}

/* A limit on the size of files stands for a full disk: the write fails with a sentence, what was
 * synced stays, and the run goes on from there. */
static void a_full_disk_loses_nothing_synced(void **state)
{
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 100, .rlim_max = old.rlim_max};
    gn_append *file;
    uint64_t length;
    char bytes[90];
    memset(bytes, 'a', sizeof bytes);
    assert_ok(ctx, gn_append_open(ctx, path, 0, &file));
    assert_ok(ctx, gn_append_write(file, bytes, sizeof bytes));
    assert_ok(ctx, gn_append_sync(file, &length));
    assert_int_equal(length, 90);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_ok(ctx, gn_append_write(file, bytes, sizeof bytes)); /* buffered */
    gerne_status failed = gn_append_sync(file, &length);
    gn_append_close(file);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_fails(ctx, GERNE_EIO, "cannot write", failed);
    assert_int_equal(length, 90);
    assert_ok(ctx, gn_append_open(ctx, path, length, &file));
    assert_ok(ctx, gn_append_write(file, "b", 1));
    assert_ok(ctx, gn_append_sync(file, &length));
    assert_int_equal(length, 91);
    gn_append_close(file);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 91);
}

/* More than the buffer at once, in pieces and whole. */
static void long_writes_are_whole(void **state)
{
    (void)state;
    static char bytes[50000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)('a' + i % 26);
    gn_append *file;
    uint64_t length;
    assert_ok(ctx, gn_append_open(ctx, path, 0, &file));
    for (size_t i = 0; i < 3; i++)
        assert_ok(ctx, gn_append_write(file, bytes + i * 13, 13));
    assert_ok(ctx, gn_append_write(file, bytes + 39, sizeof bytes - 39));
    assert_ok(ctx, gn_append_sync(file, &length));
    gn_append_close(file);
    gn_map map;
    assert_ok(ctx, gn_map_open(ctx, path, &map));
    assert_int_equal(map.size, sizeof bytes);
    assert_int_equal(length, sizeof bytes);
    assert_memory_equal(map.bytes, bytes, sizeof bytes);
    gn_map_close(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_read_back),
        cmocka_unit_test(events_go_on_after_a_cut),
        cmocka_unit_test(log_is_one_object_a_line),
        cmocka_unit_test(a_full_disk_loses_nothing_synced),
        cmocka_unit_test(long_writes_are_whole),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
