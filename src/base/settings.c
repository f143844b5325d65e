#include "base/settings.h"

#include <string.h>
#include <stdio.h>
#include <yaml.h>

#include "base/file.h"

enum { FILE_LIMIT = 1 << 20, KEY_MAX = 128, ITEMS_MAX = 4096, KEYS_MAX = 4096 };

void gn_settings_free(gn_settings *settings)
{
    gn_free(settings->list);
    *settings = (gn_settings){0};
}

gerne_status gn_settings_add(gerne_ctx *ctx, gn_settings *settings, const char *key,
                             const char *const *items, size_t count, bool is_list, int line)
{
    const char **copies;
    GN_TRY(gn_arena_alloc(ctx, settings->arena, count, sizeof *copies, &copies));
    for (size_t i = 0; i < count; i++)
        GN_TRY(gn_arena_copy_text(ctx, settings->arena, items[i], &copies[i]));
    gn_setting setting = {.items = copies, .count = count, .is_list = is_list, .line = line};
    GN_TRY(gn_arena_copy_text(ctx, settings->arena, key, &setting.key));
    GN_TRY(gn_grow(ctx, &settings->list, &settings->capacity, settings->count + 1,
                   sizeof *settings->list, "settings"));
    settings->list[settings->count++] = setting;
    return GERNE_OK;
}

gerne_status gn_settings_pick(gerne_ctx *ctx, const gn_settings *from, const char *section,
                              bool inside, gn_settings *to)
{
    to->source = from->source;
    for (size_t i = 0; i < from->count; i++) {
        const gn_setting *s = &from->list[i];
        if ((strncmp(s->key, section, strlen(section)) == 0) == inside)
            GN_TRY(gn_settings_add(ctx, to, s->key, s->items, s->count, s->is_list, s->line));
    }
    return GERNE_OK;
}

const gn_setting *gn_settings_find(const gn_settings *settings, const char *key)
{
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->list[i].key, key) == 0)
            return &settings->list[i];
    return NULL;
}

/* The reader walks libyaml's events by recursive descent, one event ahead. */
typedef struct reader {
    gerne_ctx *ctx;
    gn_settings *settings;
    yaml_parser_t parser;
    yaml_event_t event;
    bool has_event;
    const char **items;
    size_t item_capacity;
} reader;

static gerne_status complain(reader *r, size_t line, size_t column, const char *what)
{
    return gn_fail(r->ctx, GERNE_EUSAGE, "%s, line %zu, column %zu: %s", r->settings->source,
                   line + 1, column + 1, what);
}

static gerne_status complain_here(reader *r, const char *what)
{
    return complain(r, r->event.start_mark.line, r->event.start_mark.column, what);
}

static gerne_status next(reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = yaml_parser_parse(&r->parser, &r->event);
    if (!r->has_event && r->parser.error == YAML_MEMORY_ERROR)
        return gn_fail(r->ctx, GERNE_ENOMEM, "no memory to read %s", r->settings->source);
    if (!r->has_event)
        return complain(r, r->parser.problem_mark.line, r->parser.problem_mark.column,
                        r->parser.problem ? r->parser.problem : "this is not YAML");
    if (r->event.type == YAML_ALIAS_EVENT)
        return complain_here(r, "aliases (*name) are not supported");
    return GERNE_OK;
}

static bool has_nul(const yaml_event_t *event)
{
    return strlen((const char *)event->data.scalar.value) != event->data.scalar.length;
}

static gerne_status copy_scalar(reader *r, const char **out)
{
    if (has_nul(&r->event))
        return complain_here(r, "a value must not contain a NUL character");
    return gn_arena_copy_text(r->ctx, r->settings->arena, (const char *)r->event.data.scalar.value,
                              out);
}

static gerne_status read_items(reader *r, size_t *count)
{
    *count = 0;
    for (;;) {
        GN_TRY(next(r));
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            return GERNE_OK;
        if (r->event.type != YAML_SCALAR_EVENT)
            return complain_here(r, "a list may only hold plain values");
        if (*count == ITEMS_MAX)
            return complain_here(r, "this list has more than 4096 items");
        GN_TRY(
            gn_grow(r->ctx, &r->items, &r->item_capacity, *count + 1, sizeof *r->items, "a list"));
        GN_TRY(copy_scalar(r, &r->items[*count]));
        ++*count;
    }
}

static gerne_status read_mapping(reader *r, const char *section);

static gerne_status read_value(reader *r, const char *section, const char *key, int line)
{
    size_t count = 1;
    const char *item;
    switch (r->event.type) {
    case YAML_SCALAR_EVENT:
        GN_TRY(copy_scalar(r, &item));
        return gn_settings_add(r->ctx, r->settings, key, &item, 1, false, line);
    case YAML_SEQUENCE_START_EVENT:
        GN_TRY(read_items(r, &count));
        return gn_settings_add(r->ctx, r->settings, key, r->items, count, true, line);
    case YAML_MAPPING_START_EVENT:
        if (section[0])
            return complain_here(r, "sections cannot be nested");
        return read_mapping(r, key);
    default:
        return complain_here(r, "a value was expected here");
    }
}

static bool has_section(const gn_settings *settings, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < settings->count; i++)
        if (strncmp(settings->list[i].key, name, length) == 0 &&
            settings->list[i].key[length] == '.')
            return true;
    return false;
}

static gerne_status read_mapping(reader *r, const char *section)
{
    for (;;) {
        GN_TRY(next(r));
        if (r->event.type == YAML_MAPPING_END_EVENT)
            return GERNE_OK;
        if (r->event.type != YAML_SCALAR_EVENT)
            return complain_here(r, "a key was expected here");
        char key[KEY_MAX];
        int size = snprintf(key, sizeof key, "%s%s%s", section, section[0] ? "." : "",
                            (const char *)r->event.data.scalar.value);
        if (size < 0 || size >= KEY_MAX || has_nul(&r->event))
            return complain_here(r, "this key is too long");
        if (r->settings->count == KEYS_MAX) /* each is compared with all before it */
            return complain_here(r, "a configuration has more than 4096 keys");
        if (gn_settings_find(r->settings, key))
            return complain_here(r, "this key is given twice");
        if (!section[0] && has_section(r->settings, key))
            return complain_here(r, "this section is given twice");
        int line = (int)r->event.start_mark.line + 1;
        GN_TRY(next(r));
        GN_TRY(read_value(r, section, key, line));
    }
}

static gerne_status read_document(reader *r)
{
    GN_TRY(next(r)); /* stream start */
    GN_TRY(next(r));
    if (r->event.type == YAML_STREAM_END_EVENT)
        return GERNE_OK; /* an empty file asks for nothing */
    GN_TRY(next(r));
    if (r->event.type == YAML_SCALAR_EVENT && r->event.data.scalar.length == 0)
        return GERNE_OK; /* only comments */
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return complain_here(r, "a configuration is a list of 'key: value' lines");
    GN_TRY(read_mapping(r, ""));
    GN_TRY(next(r)); /* document end */
    GN_TRY(next(r));
    if (r->event.type != YAML_STREAM_END_EVENT)
        return complain_here(r, "a file may hold only one YAML document");
    return GERNE_OK;
}

gerne_status gn_settings_parse(gerne_ctx *ctx, const char *bytes, size_t size, const char *source,
                               gn_settings *settings)
{
    reader r = {.ctx = ctx, .settings = settings};
    settings->source = source;
    if (!yaml_parser_initialize(&r.parser))
        return gn_fail(ctx, GERNE_ENOMEM, "no memory for the YAML parser");
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)bytes, size);
    gerne_status status = read_document(&r);
    if (r.has_event)
        yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    gn_free(r.items);
    return status;
}

gerne_status gn_settings_read(gerne_ctx *ctx, const char *path, gn_settings *settings)
{
    GN_LOCAL(gn_text) bytes = {0};
    GN_TRY(gn_file_read(ctx, path, FILE_LIMIT, &bytes));
    return gn_settings_parse(ctx, bytes.bytes, bytes.size, path, settings);
}
