#include "tune/space.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char prefix[] = "search.";

/* ---- ranges ---- */

gn_point_value gn_range_value(const gn_search_axis *axis, double share)
{
    gn_point_value out;
    double value = axis->log ? axis->lo * pow(axis->hi / axis->lo, share)
                             : axis->lo + share * (axis->hi - axis->lo);
    if (axis->whole)
        snprintf(out.text, sizeof out.text, "%.0f",
                 fmin(axis->hi, fmax(axis->lo, nearbyint(value))));
    else
        snprintf(out.text, sizeof out.text, "%.4g", value);
    return out;
}

static gerne_status bad_range(gerne_ctx *ctx, const char *key, const char *text)
{
    gn_fail(ctx, GERNE_EUSAGE, "%s%s: '%s' is not a range", prefix, key, text);
    gn_hint(ctx, "write LOW..HIGH, optionally followed by log or linear and the number of "
                 "grid points: 1e-4..1e-1 log 4");
    return GERNE_EUSAGE;
}

/* Copies the next word of *at to word and goes on behind it; false when it is too long. */
static bool next_word(const char **at, char word[32])
{
    *at += strspn(*at, " ");
    size_t size = strcspn(*at, " ");
    snprintf(word, 32, "%.*s", (int)size, *at);
    *at += size;
    return size < 32;
}

static gerne_status parse_range(gerne_ctx *ctx, const char *text, gn_search_axis *axis)
{
    char low[32], word[32];
    const char *dots = strstr(text, ".."), *at = dots + 2;
    axis->kind = GN_AXIS_RANGE;
    axis->points = GN_RANGE_POINTS;
    bool good = dots - text < 32;
    snprintf(low, sizeof low, "%.*s", (int)(dots - text), text);
    low[strcspn(low, " ")] = '\0';
    good = good && gn_parse_double(low, &axis->lo) && next_word(&at, word) &&
           gn_parse_double(word, &axis->hi);
    while (good && at[strspn(at, " ")]) {
        int64_t points;
        good = next_word(&at, word);
        if (strcmp(word, "log") == 0)
            axis->log = true;
        else if (strcmp(word, "linear") == 0)
            axis->log = false;
        else if (gn_parse_int(word, &points) && points >= 2 && points <= 1000)
            axis->points = (int)points;
        else
            good = false;
    }
    if (!good || !isfinite(axis->lo) || !isfinite(axis->hi))
        return bad_range(ctx, axis->key, text);
    if (axis->lo >= axis->hi)
        return gn_fail(ctx, GERNE_EUSAGE, "%s%s: %g..%g is empty: its end is not above its start",
                       prefix, axis->key, axis->lo, axis->hi);
    if (axis->log && axis->lo <= 0)
        return gn_fail(ctx, GERNE_EUSAGE, "%s%s: a log range starts above 0, not at %g", prefix,
                       axis->key, axis->lo);
    return GERNE_OK;
}

/* "0.5,1" -> its parts, in the arena. */
static gerne_status split(gerne_ctx *ctx, gn_arena *arena, const char *text, gn_search_axis *axis)
{
    size_t size = strlen(text) + 1;
    char *copy;
    const char **list;
    axis->count = 1;
    for (const char *at = text; (at = strchr(at, ',')); at++)
        axis->count++;
    GN_TRY(gn_arena_alloc(ctx, arena, size, 1, &copy));
    GN_TRY(gn_arena_alloc(ctx, arena, axis->count, sizeof *list, &list));
    memcpy(copy, text, size);
    for (size_t i = 0; i < axis->count; i++) {
        copy += strspn(copy, " ");
        list[i] = copy;
        size_t length = strcspn(copy, ",");
        char *end = copy + length;
        copy = end + 1;
        do
            *end = '\0';
        while (end-- > list[i] && *end == ' ');
    }
    axis->values = list;
    return GERNE_OK;
}

/* ---- what is usual ---- */

/* Some factor to each side of what is configured. */
static gerne_status around(gerne_ctx *ctx, double value, double factor, gn_search_axis *axis)
{
    axis->kind = GN_AXIS_RANGE;
    axis->log = true;
    axis->points = 3;
    axis->lo = value / factor;
    axis->hi = value * factor;
    return value > 0 ? GERNE_OK
                     : gn_fail(ctx, GERNE_EUSAGE, "%s is 0: give %s%s a range of its own",
                               axis->key, prefix, axis->key);
}

static bool is_limited(const gn_run_config *base, const char *key)
{
    const char *name = base->method->limited;
    return name && strncmp(key, "method.", 7) == 0 && strcmp(key + 7, name) == 0;
}

static double real_of(const gn_option *option, const void *target)
{
    return *(const double *)(const void *)((const char *)target + option->offset);
}

/* Whether an option is auto in the base: a range around it is not known. */
static bool is_automatic(const gn_run_config *base, const char *key)
{
    void *target;
    const gn_option *option = gn_config_find(base->config, key, &target);
    return option && option->flags & GN_AUTO && isnan(real_of(option, target));
}

static gerne_status usual_axis(gerne_ctx *ctx, gn_arena *arena, const gn_run_config *base,
                               gn_search_axis *axis)
{
    void *target;
    const gn_option *option = gn_config_find(base->config, axis->key, &target);
    if (is_limited(base, axis->key)) {
        axis->kind = GN_AXIS_LIMITS;
        return GERNE_OK;
    }
    if (option->search)
        return split(ctx, arena, option->search, axis);
    if (option->search_factor > 0 && option->type == GN_REAL) {
        double given = real_of(option, target);
        if (!isnan(given))
            return around(ctx, given, option->search_factor, axis);
    }
    gn_fail(ctx, GERNE_EUSAGE, "%s%s: it has no default range", prefix, axis->key);
    gn_hint(ctx, "give a list (0.1,0.2) or a range (0.1..0.9)");
    return GERNE_EUSAGE;
}

typedef struct usual_maker {
    gerne_ctx *ctx;
    gn_arena *arena;
    const gn_run_config *base;
    gn_space *out;
} usual_maker;

static gerne_status add_usual(void *user, const char *section, const char *summary,
                              const gn_option *option)
{
    usual_maker *m = user;
    char key[96];
    bool guesses = m->base->method_choice.attributes == GN_UNKNOWN && m->base->estimator;
    (void)summary;
    snprintf(key, sizeof key, "%s.%s", section, option->name);
    bool usual = option->search || (option->search_factor > 0 && !is_automatic(m->base, key)) ||
                 is_limited(m->base, key);
    if (!usual || (option->flags & GN_GUESSED && !guesses) || m->out->count == GN_AXES_MAX)
        return GERNE_OK;
    gn_search_axis *axis = &m->out->axes[m->out->count++];
    *axis = (gn_search_axis){.kind = GN_AXIS_LIST};
    GN_TRY(gn_arena_copy_text(m->ctx, m->arena, key, &axis->key));
    return usual_axis(m->ctx, m->arena, m->base, axis);
}

/* ---- what was asked for ---- */

enum { NAMES_MAX = 128, NAME_MAX_BYTES = 64 };

typedef struct tunables {
    char names[NAMES_MAX][NAME_MAX_BYTES];
    const char *list[NAMES_MAX];
    size_t count;
} tunables;

static gerne_status add_tunable(void *user, const char *section, const char *summary,
                                const gn_option *option)
{
    tunables *t = user;
    (void)summary;
    if (option->flags & GN_TUNABLE && t->count < NAMES_MAX) {
        snprintf(t->names[t->count], NAME_MAX_BYTES, "%s.%s", section, option->name);
        t->list[t->count] = t->names[t->count];
        t->count++;
    }
    return GERNE_OK;
}

static gerne_status refuse_key(gerne_ctx *ctx, const gn_run_config *base, const char *key,
                               bool exists)
{
    static const char unknown[] = "there is no option '%s' with method %s";
    tunables t = {.count = 0};
    gn_text names = {0};
    GN_TRY(gn_config_visit(base->config, add_tunable, &t));
    gerne_status status = GERNE_OK;
    for (size_t i = 0; i < t.count && status == GERNE_OK; i++)
        status = gn_text_add(ctx, &names, "%s%s", i ? ", " : "", t.list[i]);
    const char *nearest = gn_nearest(key, t.list, t.count);
    if (exists)
        gn_fail(ctx, GERNE_EUSAGE, "%s%s: this option cannot be searched over", prefix, key);
    else
        gn_fail(ctx, GERNE_EUSAGE, unknown, key, base->method->name);
    if (!exists && nearest)
        gn_hint(ctx, "did you mean '%s%s'?", prefix, nearest);
    else
        gn_hint(ctx, "searchable options: %s", names.bytes ? names.bytes : "nothing");
    gn_text_free(&names);
    return GERNE_EUSAGE;
}

static gerne_status parse_axis(gerne_ctx *ctx, gn_arena *arena, const gn_run_config *base,
                               const gn_setting *setting, gn_search_axis *axis)
{
    axis->key = setting->key + strlen(prefix);
    const gn_option *option = gn_config_find(base->config, axis->key, NULL);
    if (!option || !(option->flags & GN_TUNABLE))
        return refuse_key(ctx, base, axis->key, option != NULL);
    axis->whole = option->type == GN_INT;
    axis->log = option->flags & GN_LOG;
    const char *only = setting->count == 1 ? setting->items[0] : "";
    if (strcmp(only, "auto") == 0)
        return usual_axis(ctx, arena, base, axis);
    if (strstr(only, ".."))
        return parse_range(ctx, only, axis);
    axis->values = setting->items;
    axis->count = setting->count;
    if (setting->count == 1)
        GN_TRY(split(ctx, arena, only, axis));
    for (size_t i = 0; i < axis->count; i++)
        if (axis->values[i][0] == '\0' || strlen(axis->values[i]) > 31)
            return gn_fail(ctx, GERNE_EUSAGE, "%s: '%s' is not a value", setting->key,
                           axis->values[i]);
    if (axis->count == 0)
        return gn_fail(ctx, GERNE_EUSAGE, "%s: no values given", setting->key);
    return GERNE_OK;
}

/* ---- checks ---- */

/* Whether the option takes the value, in the words of its table. */
static gerne_status check_value(gerne_ctx *ctx, gn_arena *arena, const gn_settings *base,
                                const char *key, const char *value)
{
    GN_LOCAL(gn_settings) flags = {.arena = arena};
    GN_LOCAL(gn_run_config) *config = NULL;
    gerne_status status = gn_settings_add(ctx, &flags, key, &value, 1, false, 0);
    if (status == GERNE_OK)
        status = gn_run_config_new(ctx, base, &flags, &config);
    return status == GERNE_OK ? status : gn_fail_in(ctx, status, "%s%s", prefix, key);
}

static gerne_status check_axis(gerne_ctx *ctx, gn_arena *arena, const gn_settings *base,
                               const gn_search_axis *axis)
{
    for (size_t i = 0; axis->kind == GN_AXIS_LIST && i < axis->count; i++)
        GN_TRY(check_value(ctx, arena, base, axis->key, axis->values[i]));
    for (int i = 0; axis->kind == GN_AXIS_RANGE && i < 2; i++) {
        gn_point_value end = gn_range_value(axis, i);
        GN_TRY(check_value(ctx, arena, base, axis->key, end.text));
    }
    return GERNE_OK;
}

static void move_limited_last(const gn_run_config *config, gn_space *space)
{
    for (size_t i = 0; i < space->count; i++)
        if (is_limited(config, space->axes[i].key)) {
            gn_search_axis limited = space->axes[i];
            memmove(&space->axes[i], &space->axes[i + 1],
                    (space->count - i - 1) * sizeof space->axes[0]);
            space->axes[space->count - 1] = limited;
            space->limited = true;
            return;
        }
}

static gerne_status read_axes(gerne_ctx *ctx, gn_arena *arena, const gn_run_config *config,
                              const gn_settings *search, gn_space *out)
{
    if (search->count > GN_AXES_MAX)
        return gn_fail(ctx, GERNE_EUSAGE, "a search over %zu options; the limit is %d",
                       search->count, GN_AXES_MAX);
    for (size_t i = 0; i < search->count; i++) {
        out->axes[out->count] = (gn_search_axis){.kind = GN_AXIS_LIST};
        GN_TRY(parse_axis(ctx, arena, config, &search->list[i], &out->axes[out->count++]));
    }
    if (search->count)
        return GERNE_OK;
    return gn_config_visit(config->config, add_usual, &(usual_maker){ctx, arena, config, out});
}

gerne_status gn_space_read(gerne_ctx *ctx, gn_arena *arena, const gn_settings *base,
                           const gn_settings *search, gn_space *out)
{
    gn_settings none = {.arena = arena};
    GN_LOCAL(gn_run_config) *config = NULL;
    *out = (gn_space){0};
    GN_TRY(gn_run_config_new(ctx, base, &none, &config));
    GN_TRY(read_axes(ctx, arena, config, search, out));
    move_limited_last(config, out);
    for (size_t i = 0; i < out->count; i++)
        GN_TRY(check_axis(ctx, arena, base, &out->axes[i]));
    return GERNE_OK;
}

gerne_status gn_space_describe(gerne_ctx *ctx, const gn_space *space, gn_text *out)
{
    for (size_t i = 0; i < space->count; i++) {
        const gn_search_axis *axis = &space->axes[i];
        GN_TRY(gn_text_add(ctx, out, "%s%s: ", prefix, axis->key));
        if (axis->kind == GN_AXIS_LIMITS)
            GN_TRY(gn_text_add(ctx, out, "auto"));
        if (axis->kind == GN_AXIS_RANGE)
            GN_TRY(gn_text_add(ctx, out, "%.6g..%.6g %s %d", axis->lo, axis->hi,
                               axis->log ? "log" : "linear", axis->points));
        for (size_t j = 0; axis->kind == GN_AXIS_LIST && j < axis->count; j++)
            GN_TRY(gn_text_add(ctx, out, "%s%s", j ? "," : "", axis->values[j]));
        GN_TRY(gn_text_add(ctx, out, "\n"));
    }
    return GERNE_OK;
}
