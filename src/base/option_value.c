/* option_value.c - one value of an option: from text, to text, by default. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/option.h"

enum { WORD_MAX = 64 };

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
    if (option->flags & GN_AUTO && strcmp(text, "auto") == 0) {
        *out = (double)NAN;
        return GERNE_OK;
    }
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

gerne_status gn_option_parse(gerne_ctx *ctx, gn_arena *arena, const gn_option *option,
                             const gn_setting *setting, void *target)
{
    void *field = (unsigned char *)target + option->offset;
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

/* ---- defaults ---- */

/* Bytes of the field of each type. */
static const size_t sizes[] = {
    [GN_BOOL] = sizeof(bool),         [GN_INT] = sizeof(int64_t),    [GN_REAL] = sizeof(double),
    [GN_TEXT] = sizeof(const char *), [GN_CHOICE] = sizeof(int),     [GN_INTS] = sizeof(gn_ints),
    [GN_REALS] = sizeof(gn_reals),    [GN_TEXTS] = sizeof(gn_texts),
};

static gerne_status set_default(gerne_ctx *ctx, gn_arena *arena, const gn_option *option,
                                void *target)
{
    void *field = (unsigned char *)target + option->offset;
    memset(field, 0, sizes[option->type]);
    if (!option->fallback)
        return GERNE_OK;
    if (option->type == GN_TEXT) { /* the table outlives every arena */
        *(const char **)field = option->fallback;
        return GERNE_OK;
    }
    if (is_list(option) && !arena)
        return gn_fail(ctx, GERNE_EINTERNAL, "the default of the list '%s' needs an arena",
                       option->name);
    const gn_setting value = {.items = &option->fallback, .count = 1};
    return gn_option_parse(ctx, arena, option, &value, target);
}

gerne_status gn_options_default(gerne_ctx *ctx, gn_arena *arena, const gn_option *options,
                                size_t count, void *target)
{
    for (size_t i = 0; i < count; i++)
        GN_TRY(set_default(ctx, arena, &options[i], target));
    return GERNE_OK;
}

/* ---- tables that are not our own ---- */

static const char *row_fault(const gn_option *option, size_t size)
{
    size_t type = (size_t)option->type;
    if (!option->help)
        return "help is missing";
    if (type >= sizeof sizes / sizeof sizes[0])
        return "there is no such type";
    if (option->offset > size || sizes[type] > size - option->offset)
        return "its field is outside the struct";
    if (option->type == GN_CHOICE && !option->choices)
        return "choices are missing";
    if (option->min > option->max)
        return "min is above max";
    if (option->when && !strchr(option->when, ' '))
        return "when is not \"OPTION VALUE\"";
    return NULL;
}

static gerne_status check_row(gerne_ctx *ctx, gn_arena *arena, const gn_option *option, size_t size,
                              void *target)
{
    const char *fault = row_fault(option, size);
    if (fault)
        return gn_fail(ctx, GERNE_EDATA, "%s", fault);
    gerne_status status = set_default(ctx, arena, option, target);
    if (status == GERNE_EUSAGE)
        return gn_fail_in(ctx, GERNE_EDATA, "fallback");
    return status;
}

static gerne_status check_rows(gerne_ctx *ctx, gn_arena *arena, const gn_option *options,
                               size_t count, size_t size)
{
    void *target;
    GN_TRY(gn_arena_alloc(ctx, arena, 1, size + 1, &target));
    for (size_t i = 0; i < count; i++) {
        const char *name = options[i].name;
        if (!gn_is_identifier(name))
            return gn_fail(ctx, GERNE_EDATA, "option %zu has no name of lower-case letters", i + 1);
        gerne_status status = check_row(ctx, arena, &options[i], size, target);
        for (size_t j = 0; j < i && status == GERNE_OK; j++)
            if (strcmp(options[j].name, name) == 0)
                status = gn_fail(ctx, GERNE_EDATA, "there are two of it");
        if (status != GERNE_OK)
            return gn_fail_in(ctx, status, "option '%s'", name);
    }
    return GERNE_OK;
}

gerne_status gn_options_check(gerne_ctx *ctx, const gn_option *options, size_t count, size_t size)
{
    GN_LOCAL(gn_arena) *arena = NULL;
    if (count && !options)
        return gn_fail(ctx, GERNE_EDATA, "the table of its %zu options is missing", count);
    GN_TRY(gn_arena_new(ctx, &arena));
    return check_rows(ctx, arena, options, count, size);
}

/* ---- printing ---- */

/* What YAML's readers take as it is: they refuse control characters and U+FFFE, and fold a line at
 * the line ends of Unicode. */
static bool needs_escape(int32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
           c == 0xfffe || c == 0xffff;
}

static gerne_status print_text(gerne_ctx *ctx, const char *text, gn_text *out)
{
    const char *whole = text;
    int32_t character;
    GN_TRY(gn_text_add(ctx, out, "\""));
    for (size_t left = strlen(text), used; left; text += used, left -= used) {
        if (!gn_utf8_next(text, left, &used, &character))
            return gn_fail(ctx, GERNE_EUSAGE, "a configuration cannot hold '%s': it is not UTF-8",
                           whole);
        if (*text == '"' || *text == '\\')
            GN_TRY(gn_text_add(ctx, out, "\\%c", *text));
        else if (needs_escape(character))
            GN_TRY(gn_text_add(ctx, out, character < 0x100 ? "\\x%02x" : "\\u%04x",
                               (unsigned)character));
        else
            GN_TRY(gn_text_add_bytes(ctx, out, text, used));
    }
    return gn_text_add(ctx, out, "\"");
}

/* The shortest text that reads back as the same number; NaN is what auto is read as. */
static gerne_status print_real(gerne_ctx *ctx, double value, gn_text *out)
{
    char text[40];
    if (isnan(value))
        return gn_text_add(ctx, out, "auto");
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
