#include "base/option.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TABLES_MAX = 24, NAMES_MAX = 512, KEY_MAX = 128, WORD_MAX = 64 };

typedef struct table {
    const char *section, *summary;
    const gn_option *options;
    size_t count;
    unsigned char *target;
    unsigned char *origins; /* a gn_origin for each option */
} table;

struct gn_config {
    gn_arena *arena;
    table tables[TABLES_MAX];
    size_t count;
};

gerne_status gn_config_new(gerne_ctx *ctx, gn_config **out)
{
    GN_TRY(gn_alloc(ctx, 1, sizeof **out, "a configuration", out));
    gerne_status status = gn_arena_new(ctx, &(*out)->arena);
    if (status != GERNE_OK) {
        gn_free(*out);
        *out = NULL;
    }
    return status;
}

void gn_config_close(gn_config *config)
{
    if (!config)
        return;
    gn_arena_close(config->arena);
    gn_free(config);
}

gn_arena *gn_config_arena(gn_config *config)
{
    return config->arena;
}

/* ---- words of a choice ---- */

int gn_choice_index(const char *choices, const char *word)
{
    size_t size = strlen(word);
    int index = 0;
    for (const char *at = choices; at; index++) {
        const char *bar = strchr(at, '|');
        size_t length = bar ? (size_t)(bar - at) : strlen(at);
        if (length == size && memcmp(at, word, size) == 0)
            return index;
        at = bar ? bar + 1 : NULL;
    }
    return -1;
}

const char *gn_choice_word(const char *choices, int index, char *buffer, size_t size)
{
    const char *at = choices;
    for (int i = 0; i < index && at; i++) {
        at = strchr(at, '|');
        at = at ? at + 1 : NULL;
    }
    size_t length = at ? strcspn(at, "|") : 0;
    snprintf(buffer, size, "%.*s", (int)length, at ? at : "");
    return buffer;
}

/* ---- one value ---- */

static gerne_status check_range(gerne_ctx *ctx, const gn_option *option, double value,
                                const char *text)
{
    if (option->min == 0 && option->max == 0)
        return GERNE_OK;
    bool low = option->flags & GN_OPEN_MIN ? value <= option->min : value < option->min;
    bool high = option->flags & GN_OPEN_MAX ? value >= option->max : value > option->max;
    if (!low && !high)
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EUSAGE, "'%s' is outside %c%g, %g%c", text,
                   option->flags & GN_OPEN_MIN ? '(' : '[', option->min, option->max,
                   option->flags & GN_OPEN_MAX || isinf(option->max) ? ')' : ']');
}

static gerne_status parse_int(gerne_ctx *ctx, const gn_option *option, const char *text,
                              int64_t *out)
{
    if (!gn_parse_int(text, out))
        return gn_fail(ctx, GERNE_EUSAGE, "'%s' is not a whole number", text);
    return check_range(ctx, option, (double)*out, text);
}

static gerne_status parse_real(gerne_ctx *ctx, const gn_option *option, const char *text,
                               double *out)
{
    if (!gn_parse_double(text, out))
        return gn_fail(ctx, GERNE_EUSAGE, "'%s' is not a number", text);
    return check_range(ctx, option, *out, text);
}

static gerne_status parse_choice(gerne_ctx *ctx, const gn_option *option, const char *text,
                                 int *out)
{
    int index = gn_choice_index(option->choices, text);
    if (index < 0)
        return gn_fail(ctx, GERNE_EUSAGE, "'%s' is not one of %s", text, option->choices);
    *out = index;
    return GERNE_OK;
}

static bool is_list(const gn_option *option)
{
    return option->type == GN_INTS || option->type == GN_REALS || option->type == GN_TEXTS;
}

static gerne_status parse_list(gerne_ctx *ctx, gn_arena *arena, const gn_option *option,
                               const char *const *items, size_t count, void *field)
{
    if (option->type == GN_INTS) {
        int64_t *list;
        GN_TRY(gn_arena_alloc(ctx, arena, count, sizeof *list, &list));
        for (size_t i = 0; i < count; i++)
            GN_TRY(parse_int(ctx, option, items[i], &list[i]));
        *(gn_ints *)field = (gn_ints){list, count};
    } else if (option->type == GN_REALS) {
        double *list;
        GN_TRY(gn_arena_alloc(ctx, arena, count, sizeof *list, &list));
        for (size_t i = 0; i < count; i++)
            GN_TRY(parse_real(ctx, option, items[i], &list[i]));
        *(gn_reals *)field = (gn_reals){list, count};
    } else {
        const char **list;
        GN_TRY(gn_arena_alloc(ctx, arena, count, sizeof *list, &list));
        for (size_t i = 0; i < count; i++)
            GN_TRY(gn_arena_copy_text(ctx, arena, items[i], &list[i]));
        *(gn_texts *)field = (gn_texts){list, count};
    }
    return GERNE_OK;
}

/* "100,100" -> its parts; "" is the empty list. */
static gerne_status split(gerne_ctx *ctx, gn_arena *arena, const char *text,
                          const char *const **items, size_t *count)
{
    char *copy;
    GN_TRY(gn_arena_alloc(ctx, arena, strlen(text) + 1, 1, &copy));
    memcpy(copy, text, strlen(text) + 1);
    *count = text[0] ? 1 : 0;
    for (const char *at = text; (at = strchr(at, ',')); at++)
        ++*count;
    const char **list;
    GN_TRY(gn_arena_alloc(ctx, arena, *count, sizeof *list, &list));
    char *at = copy;
    for (size_t i = 0; i < *count; i++) {
        list[i] = at;
        at += strcspn(at, ",");
        *at++ = '\0';
    }
    *items = list;
    return GERNE_OK;
}

static gerne_status parse_scalar(gerne_ctx *ctx, gn_arena *arena, const gn_option *option,
                                 const char *text, void *field)
{
    switch (option->type) {
    case GN_BOOL:
        if (gn_parse_bool(text, field))
            return GERNE_OK;
        return gn_fail(ctx, GERNE_EUSAGE, "'%s' is neither true nor false", text);
    case GN_INT:
        return parse_int(ctx, option, text, field);
    case GN_REAL:
        return parse_real(ctx, option, text, field);
    case GN_CHOICE:
        return parse_choice(ctx, option, text, field);
    default:
        return gn_arena_copy_text(ctx, arena, text, (const char **)field);
    }
}

static gerne_status parse_value(gerne_ctx *ctx, gn_arena *arena, const gn_option *option,
                                const gn_setting *setting, void *field)
{
    if (is_list(option)) {
        const char *const *items = setting->items;
        size_t count = setting->count;
        if (!setting->is_list)
            GN_TRY(split(ctx, arena, setting->items[0], &items, &count));
        return parse_list(ctx, arena, option, items, count, field);
    }
    if (setting->is_list)
        return gn_fail(ctx, GERNE_EUSAGE, "one value was expected, not a list");
    return parse_scalar(ctx, arena, option, setting->items[0], field);
}

/* ---- the set of tables ---- */

gerne_status gn_config_add(gerne_ctx *ctx, gn_config *config, const char *section,
                           const char *summary, const gn_option *options, size_t count,
                           void *target)
{
    if (config->count == TABLES_MAX)
        return gn_fail(ctx, GERNE_EINTERNAL, "too many option tables");
    table t = {.section = section, .summary = summary, .options = options, .count = count};
    t.target = target;
    GN_TRY(gn_arena_alloc(ctx, config->arena, count, 1, &t.origins));
    for (size_t i = 0; i < count; i++) {
        if (!options[i].fallback)
            continue;
        gn_setting value = {.items = &options[i].fallback, .count = 1};
        GN_TRY(parse_value(ctx, config->arena, &options[i], &value, t.target + options[i].offset));
        t.origins[i] = GN_DEFAULT;
    }
    config->tables[config->count++] = t;
    return GERNE_OK;
}

/* "train.lr" belongs to table "train" when it starts with "train."; the top has no dot. */
static bool is_in_section(const char *key, const char *section, const char **name)
{
    size_t size = strlen(section);
    if (size > 0 && (strncmp(key, section, size) != 0 || key[size] != '.'))
        return false;
    *name = size > 0 ? key + size + 1 : key;
    return true;
}

static bool find(const gn_config *config, const char *key, const table **t, size_t *index)
{
    for (size_t i = 0; i < config->count; i++) {
        const char *name;
        if (!is_in_section(key, config->tables[i].section, &name))
            continue;
        for (size_t j = 0; j < config->tables[i].count; j++)
            if (strcmp(config->tables[i].options[j].name, name) == 0) {
                *t = &config->tables[i];
                *index = j;
                return true;
            }
    }
    return false;
}

/* A key whose section was left out: "lr" for "train.lr". */
static const char *with_section(const gn_config *config, const char *key, char *buffer, size_t size)
{
    for (size_t i = 0; i < config->count; i++)
        for (size_t j = 0; j < config->tables[i].count; j++)
            if (strcmp(config->tables[i].options[j].name, key) == 0) {
                snprintf(buffer, size, "%s.%s", config->tables[i].section, key);
                return buffer;
            }
    return NULL;
}

gerne_status gn_config_unknown_key(gerne_ctx *ctx, const gn_config *config, const char *key)
{
    char full[KEY_MAX];
    char keys[NAMES_MAX][KEY_MAX];
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < config->count; i++) {
        const table *t = &config->tables[i];
        for (size_t j = 0; j < t->count && count < NAMES_MAX; j++, count++) {
            snprintf(keys[count], KEY_MAX, "%s%s%s", t->section, t->section[0] ? "." : "",
                     t->options[j].name);
            names[count] = keys[count];
        }
    }
    const char *nearest = with_section(config, key, full, sizeof full);
    if (!nearest)
        nearest = gn_nearest(key, names, count);
    gn_fail(ctx, GERNE_EUSAGE, "unknown key '%s'", key);
    if (nearest)
        gn_hint(ctx, "did you mean '%s'?", nearest);
    return GERNE_EUSAGE;
}

/* Switches off the other options of an exclusive set; two of one origin contradict each other. */
static gerne_status yield_exclusive(gerne_ctx *ctx, const gn_config *config, const table *chosen,
                                    const gn_option *option, gn_origin origin)
{
    for (size_t i = 0; i < config->count; i++) {
        const table *t = &config->tables[i];
        if (strcmp(t->section, chosen->section) != 0)
            continue;
        for (size_t j = 0; j < t->count; j++) {
            const gn_option *other = &t->options[j];
            if (other == option || !other->exclusive || t->origins[j] == GN_UNSET ||
                strcmp(other->exclusive, option->exclusive) != 0)
                continue;
            if (t->origins[j] == (unsigned char)origin)
                return gn_fail(ctx, GERNE_EUSAGE, "'%s' and '%s' exclude each other", other->name,
                               option->name);
            t->origins[j] = GN_UNSET;
        }
    }
    return GERNE_OK;
}

static gerne_status apply_one(gerne_ctx *ctx, gn_config *config, const gn_setting *setting,
                              gn_origin origin)
{
    const table *t;
    size_t i;
    if (!find(config, setting->key, &t, &i))
        return gn_config_unknown_key(ctx, config, setting->key);
    const gn_option *option = &t->options[i];
    gerne_status status =
        parse_value(ctx, config->arena, option, setting, t->target + option->offset);
    if (status != GERNE_OK)
        return gn_fail_in(ctx, status, "%s", setting->key);
    if (option->exclusive)
        GN_TRY(yield_exclusive(ctx, config, t, option, origin));
    t->origins[i] = (unsigned char)origin;
    return GERNE_OK;
}

gerne_status gn_config_apply(gerne_ctx *ctx, gn_config *config, const gn_settings *settings)
{
    gn_origin origin = settings->source ? GN_FILE : GN_FLAG;
    for (size_t i = 0; i < settings->count; i++) {
        const gn_setting *setting = &settings->list[i];
        gerne_status status = apply_one(ctx, config, setting, origin);
        if (status != GERNE_OK && settings->source) {
            char hint[512];
            snprintf(hint, sizeof hint, "%s", ctx ? gerne_hint(ctx) : "");
            gn_fail_in(ctx, status, "%s, line %d", settings->source, setting->line);
            gn_hint(ctx, "%s", hint);
        }
        if (status != GERNE_OK)
            return status;
    }
    return GERNE_OK;
}

gerne_status gn_config_complete(gerne_ctx *ctx, const gn_config *config)
{
    for (size_t i = 0; i < config->count; i++) {
        const table *t = &config->tables[i];
        for (size_t j = 0; j < t->count; j++)
            if (t->options[j].flags & GN_REQUIRED && t->origins[j] == GN_UNSET) {
                gn_fail(ctx, GERNE_EUSAGE, "'%s%s%s' is missing", t->section,
                        t->section[0] ? "." : "", t->options[j].name);
                gn_hint(ctx, "%s", t->options[j].help);
                return GERNE_EUSAGE;
            }
    }
    return GERNE_OK;
}

bool gn_config_knows(const gn_config *config, const char *key)
{
    return gn_config_find(config, key, NULL) != NULL;
}

gn_origin gn_config_origin(const gn_config *config, const char *key)
{
    const table *t;
    size_t i;
    return find(config, key, &t, &i) ? (gn_origin)t->origins[i] : GN_UNSET;
}

const gn_option *gn_config_find(const gn_config *config, const char *key, void **target)
{
    const table *t;
    size_t i;
    if (!find(config, key, &t, &i))
        return NULL;
    if (target)
        *target = t->target;
    return &t->options[i];
}

gerne_status gn_config_visit(const gn_config *config, gn_option_visit *visit, void *user)
{
    for (size_t i = 0; i < config->count; i++) {
        const table *t = &config->tables[i];
        for (size_t j = 0; j < t->count; j++)
            GN_TRY(visit(user, t->section, t->summary, &t->options[j]));
    }
    return GERNE_OK;
}

/* ---- printing ---- */

static gerne_status print_text(gerne_ctx *ctx, const char *text, gn_text *out)
{
    GN_TRY(gn_text_add(ctx, out, "\""));
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            GN_TRY(gn_text_add(ctx, out, "\\%c", *text));
        else if ((unsigned char)*text < 0x20)
            GN_TRY(gn_text_add(ctx, out, "\\x%02x", (unsigned char)*text));
        else
            GN_TRY(gn_text_add_bytes(ctx, out, text, 1));
    }
    return gn_text_add(ctx, out, "\"");
}

/* The shortest text that reads back as the same number. */
static gerne_status print_real(gerne_ctx *ctx, double value, gn_text *out)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double back;
        if (gn_parse_double(text, &back) && back == value)
            break;
    }
    return gn_text_add(ctx, out, "%s", text);
}

static gerne_status print_list(gerne_ctx *ctx, const gn_option *option, const void *field,
                               gn_text *out)
{
    size_t count = option->type == GN_INTS    ? ((const gn_ints *)field)->count
                   : option->type == GN_REALS ? ((const gn_reals *)field)->count
                                              : ((const gn_texts *)field)->count;
    GN_TRY(gn_text_add(ctx, out, "["));
    for (size_t i = 0; i < count; i++) {
        if (i)
            GN_TRY(gn_text_add(ctx, out, ", "));
        if (option->type == GN_INTS)
            GN_TRY(gn_text_add(ctx, out, "%lld", (long long)((const gn_ints *)field)->items[i]));
        else if (option->type == GN_REALS)
            GN_TRY(print_real(ctx, ((const gn_reals *)field)->items[i], out));
        else
            GN_TRY(print_text(ctx, ((const gn_texts *)field)->items[i], out));
    }
    return gn_text_add(ctx, out, "]");
}

gerne_status gn_option_print(gerne_ctx *ctx, const gn_option *option, const void *target,
                             gn_text *out)
{
    const void *field = (const unsigned char *)target + option->offset;
    char word[WORD_MAX];
    switch (option->type) {
    case GN_BOOL:
        return gn_text_add(ctx, out, "%s", *(const bool *)field ? "true" : "false");
    case GN_INT:
        return gn_text_add(ctx, out, "%lld", (long long)*(const int64_t *)field);
    case GN_REAL:
        return print_real(ctx, *(const double *)field, out);
    case GN_CHOICE:
        return gn_text_add(ctx, out, "%s",
                           gn_choice_word(option->choices, *(const int *)field, word, sizeof word));
    case GN_TEXT: {
        const char *text = *(const char *const *)field;
        return print_text(ctx, text ? text : "", out);
    }
    default:
        return print_list(ctx, option, field, out);
    }
}

static bool appears_before(const gn_config *config, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(config->tables[i].section, config->tables[index].section) == 0)
            return true;
    return false;
}

static gerne_status print_section(gerne_ctx *ctx, const gn_config *config, const char *section,
                                  unsigned leave_out, gn_text *out)
{
    bool headed = section[0] == '\0';
    for (size_t i = 0; i < config->count; i++) {
        const table *t = &config->tables[i];
        if (strcmp(t->section, section) != 0)
            continue;
        for (size_t j = 0; j < t->count; j++) {
            bool wanted = t->origins[j] > (leave_out & GN_NOT_ASKED ? GN_DEFAULT : GN_UNSET);
            if (!wanted || t->options[j].flags & leave_out)
                continue;
            if (!headed)
                GN_TRY(gn_text_add(ctx, out, "%s:\n", section));
            headed = true;
            GN_TRY(gn_text_add(ctx, out, "%s%s: ", section[0] ? "  " : "", t->options[j].name));
            GN_TRY(gn_option_print(ctx, &t->options[j], t->target, out));
            GN_TRY(gn_text_add(ctx, out, "\n"));
        }
    }
    return GERNE_OK;
}

gerne_status gn_config_print(gerne_ctx *ctx, const gn_config *config, unsigned leave_out,
                             gn_text *out)
{
    for (size_t i = 0; i < config->count; i++)
        if (!appears_before(config, i))
            GN_TRY(print_section(ctx, config, config->tables[i].section, leave_out, out));
    return GERNE_OK;
}
