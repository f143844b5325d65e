/* A configuration: YAML into settings into structs, printed, and read again to the same. */
#include "target.h"

#include <string.h>

#include "base/option.h"

typedef struct values {
    bool flag;
    int64_t count;
    double rate;
    const char *name;
    int kind;
    gn_ints sizes;
    gn_reals rates;
    gn_texts words;
    double epochs, steps;
} values;

static const gn_option options[] = {
    {"flag", GN_BOOL, offsetof(values, flag), .fallback = "false", .help = "a switch"},
    {"count", GN_INT, offsetof(values, count), .fallback = "3", .min = -9, .max = 1e9, .help = "n"},
    {"rate", GN_REAL, offsetof(values, rate), .fallback = "0.1", .help = "r"},
    {"name", GN_TEXT, offsetof(values, name), .help = "a name"},
    {"kind", GN_CHOICE, offsetof(values, kind), .fallback = "sgd", .choices = "sgd|adam|adamw",
     .help = "which"},
    {"sizes", GN_INTS, offsetof(values, sizes), .fallback = "100,100", .help = "widths"},
    {"rates", GN_REALS, offsetof(values, rates), .help = "rates"},
    {"words", GN_TEXTS, offsetof(values, words), .help = "words"},
    {"epochs", GN_REAL, offsetof(values, epochs), .exclusive = "length", .help = "e"},
    {"steps", GN_REAL, offsetof(values, steps), .exclusive = "length", .help = "s"},
};
enum { OPTIONS = sizeof options / sizeof options[0] };

/* Reads bytes into a fresh config and prints it; false when they are refused. */
static bool resolve(gerne_ctx *ctx, const void *bytes, size_t size, gn_text *printed)
{
    values top = {0}, train = {0};
    gn_config *config;
    if (gn_config_new(ctx, &config) != GERNE_OK)
        return false;
    gn_settings settings = {.arena = gn_config_arena(config)};
    gerne_status status = gn_config_add(ctx, config, "", "Top", options, OPTIONS, &top);
    if (status == GERNE_OK)
        status = gn_config_add(ctx, config, "train", "Training", options, OPTIONS, &train);
    fuzz_check(status == GERNE_OK);
    status = gn_settings_parse(ctx, bytes, size, "fuzz.yaml", &settings);
    if (status == GERNE_OK)
        status = gn_config_apply(ctx, config, &settings);
    bool accepted = fuzz_accepted(ctx, status, GERNE_EUSAGE);
    if (accepted)
        fuzz_check(gn_config_print(ctx, config, 0, printed) == GERNE_OK);
    gn_settings_free(&settings);
    gn_config_close(config);
    return accepted;
}

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    gn_text first = {0}, second = {0};
    if (resolve(ctx, data, size, &first)) {
        fuzz_check(resolve(ctx, first.bytes, first.size, &second));
        fuzz_check(first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0);
    }
    gn_text_free(&first);
    gn_text_free(&second);
}
