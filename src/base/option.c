#include "base/option.h"

#include <stdio.h>
#include <string.h>

enum { TABLES_MAX = 96, NAMES_MAX = 512, KEY_MAX = 128, NAME_MAX_BYTES = 64 };

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
    GN_TRY(gn_options_default(ctx, config->arena, options, count, target));
    for (size_t i = 0; i < count; i++)
        t.origins[i] = options[i].fallback ? GN_DEFAULT : GN_UNSET;
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

static const char *full_key(const table *t, const char *name, char key[KEY_MAX])
{
    snprintf(key, KEY_MAX, "%s%s%s", t->section, t->section[0] ? "." : "", name);
    return key;
}

static bool is_called(const gn_option *option, const char *name)
{
    return strcmp(option->name, name) == 0 || (option->alias && strcmp(option->alias, name) == 0);
}

static bool find(const gn_config *config, const char *key, const table **t, size_t *index)
{
    for (size_t i = 0; i < config->count; i++) {
        const char *name;
        if (!is_in_section(key, config->tables[i].section, &name))
            continue;
        for (size_t j = 0; j < config->tables[i].count; j++)
            if (is_called(&config->tables[i].options[j], name)) {
                *t = &config->tables[i];
                *index = j;
                return true;
            }
    }
    return false;
}

/* A key without its section: "lr" for "train.lr". */
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
        for (size_t j = 0; j < t->count && count < NAMES_MAX; j++, count++)
            names[count] = full_key(t, t->options[j].name, keys[count]);
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
                return gn_fail(ctx, GERNE_EUSAGE, "'%s' and '%s' are mutually exclusive",
                               other->name, option->name);
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
    if (option->alias && t->origins[i] == (unsigned char)origin)
        return gn_fail(ctx, GERNE_EUSAGE, "'%s' and '%s' are the same key, given twice",
                       option->name, option->alias);
    gerne_status status = gn_option_parse(ctx, config->arena, option, setting, t->target);
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

/* ---- options that need a value of another ---- */

/* What "format images|features" says of an option. */
typedef struct condition {
    char key[KEY_MAX];   /* data.format */
    char value[KEY_MAX]; /* what it is now */
    const char *words;   /* what it has to be: images|features */
    gn_origin origin;    /* where its value comes from */
} condition;

/* False when the option asks for nothing, or for an option that this config does not have. */
static bool find_condition(const gn_config *config, const table *t, const gn_option *option,
                           condition *out)
{
    if (!option->when)
        return false;
    char name[NAME_MAX_BYTES];
    const table *other;
    size_t i, length = strcspn(option->when, " ");
    snprintf(name, sizeof name, "%.*s", (int)length, option->when);
    if (!find(config, full_key(t, name, out->key), &other, &i))
        return false;
    const void *field = other->target + other->options[i].offset;
    out->words = option->when + length + 1;
    out->origin = (gn_origin)other->origins[i];
    if (other->options[i].type == GN_CHOICE) {
        gn_choice_word(other->options[i].choices, *(const int *)field, out->value,
                       sizeof out->value);
    } else {
        const char *text = *(const char *const *)field;
        snprintf(out->value, sizeof out->value, "%s", text ? text : "");
    }
    return true;
}

/* Back to the default; *changed tells whether the value was another. */
static gerne_status reset(gerne_ctx *ctx, const gn_config *config, const table *t,
                          const gn_option *option, bool *changed)
{
    GN_LOCAL(gn_text) before = {0}, after = {0};
    GN_TRY(gn_option_print(ctx, option, t->target, &before));
    GN_TRY(gn_options_default(ctx, config->arena, option, 1, t->target));
    GN_TRY(gn_option_print(ctx, option, t->target, &after));
    *changed = !option->fallback || strcmp(before.bytes, after.bytes) != 0;
    return GERNE_OK;
}

/* An option that does not apply counts as unset. It is an error to ask for it, except that a file
 * may state the default, as config.yaml of earlier versions does, that a flag may replace the value
 * for which the file's option was meant, and that lenient options are ignored with a warning. */
static gerne_status withdraw(gerne_ctx *ctx, const gn_config *config, const table *t, size_t i,
                             const condition *c)
{
    char key[KEY_MAX];
    const gn_option *option = &t->options[i];
    gn_origin origin = (gn_origin)t->origins[i];
    bool changed;
    t->origins[i] = GN_UNSET;
    if (origin <= GN_DEFAULT)
        return GERNE_OK;
    GN_TRY(reset(ctx, config, t, option, &changed));
    full_key(t, option->name, key);
    if (origin == GN_FILE && c->origin == GN_FLAG && changed)
        gn_log(ctx, GERNE_LOG_INFO, "%s is now %s: the file's %s does not apply and is ignored",
               c->key, c->value, key);
    if (origin == GN_FILE && (c->origin == GN_FLAG || !changed))
        return GERNE_OK;
    if (option->flags & GN_LENIENT) {
        gn_log(ctx, GERNE_LOG_WARNING, "%s does not apply to %s %s and is ignored", key, c->key,
               c->value);
        return GERNE_OK;
    }
    gn_fail(ctx, GERNE_EUSAGE, "%s does not apply to %s %s", key, c->key, c->value);
    gn_hint(ctx, "it needs --%s %s", c->key, c->words);
    return GERNE_EUSAGE;
}

gerne_status gn_config_complete(gerne_ctx *ctx, gn_config *config)
{
    for (size_t i = 0; i < config->count; i++) {
        const table *t = &config->tables[i];
        for (size_t j = 0; j < t->count; j++) {
            condition c;
            char key[KEY_MAX];
            if (find_condition(config, t, &t->options[j], &c) &&
                gn_choice_index(c.words, c.value) < 0) {
                GN_TRY(withdraw(ctx, config, t, j, &c));
            } else if (t->options[j].flags & GN_REQUIRED && t->origins[j] == GN_UNSET) {
                gn_fail(ctx, GERNE_EUSAGE, "'%s' is missing", full_key(t, t->options[j].name, key));
                gn_hint(ctx, "%s", t->options[j].help);
                return GERNE_EUSAGE;
            }
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

void gn_config_drop_default(gn_config *config, const char *key)
{
    const table *t;
    size_t i;
    if (find(config, key, &t, &i) && t->origins[i] == GN_DEFAULT)
        t->origins[i] = GN_UNSET;
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
