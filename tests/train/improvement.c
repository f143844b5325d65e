/* What the methods of the list make of the embedded data, beside plain ERM. A method is covered by
 * being listed: one that uses groups has to be better than ERM; any other, such as a baseline, has
 * to train without diverging and may not fall far below it. Rows ask for more. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/list.h"
#include "train/train.h"

typedef struct pair {
    const char *key, *value;
} pair;

enum { PAIRS_MAX = 12 };

/* One minority sample in a hundred, 60 in all. */
static const pair usual[PAIRS_MAX] = {
    {"train.lr", "0.02"},       {"train.schedule", "cosine"}, {"train.per_class", "32"},
    {"train.steps", "500"},     {"train.eval_every", "50"},   {"data.ratio", "0.01"},
    {"train.optimizer", "sgd"},
};

/* Methods that have to find the minority themselves in plain batches need more of it: 300. */
static const pair more[PAIRS_MAX] = {
    {"data.ratio", "0.05"}, {"train.optimizer", "adam"}, {"train.lr", "0.0005"},
    {"train.batch", "128"}, {"train.steps", "500"},      {"train.eval_every", "50"},
};

/* SubpopBench's LISA pairs samples of a plain batch, which should have several of each group. */
static const pair two_classes[PAIRS_MAX] = {
    {"data.classes", "2"},      {"data.ratio", "0.1"},  {"train.optimizer", "adam"},
    {"train.lr", "0.0005"},     {"train.batch", "128"}, {"train.steps", "200"},
    {"train.eval_every", "50"},
};

typedef struct row {
    const char *method;
    pair option; /* of the method */
    const pair *settings;
    double margin; /* group-balanced accuracy above that of ERM with the same settings, at least */
} row;

/* Margins are at most 60 % of the least difference of seeds 0, 1 and 2. */
static const row special[] = {
    {"gerne", {"method.attributes", "known"}, usual, 0.4},
    {"gerne", {"method.attributes", "unknown"}, usual, 0.3},
    {"groupdro", {"method.variant", "original"}, usual, 0.4},
    {"groupdro", {"method.variant", "subpopbench"}, more, 0.3},
    {"resampling", {NULL, NULL}, usual, 0.1},
    {"sw", {NULL, NULL}, usual, 0.1},
    {"jtt", {"method.variant", "original"}, usual, 0.1},
    {"jtt", {"method.variant", "subpopbench"}, more, 0.1},
    {"lff", {"method.variant", "original"}, more, 0.07},
    {"mat", {"method.temperature", "0.01"}, more, 0.4},
    {"cnc", {"method.units", "4"}, more, 0.35},
    {"ula", {"method.memory", "0.9"}, more, 0.3},
    /* Of the next four seed 0 alone was measured: 51, 47, 100 and 100 %, ERM 26 %. */
    {"crt", {NULL, NULL}, more, 0.05},
    {"reweight_crt", {NULL, NULL}, more, 0.01},
    {"dfr", {"method.repeats", "1"}, more, 0.3},
    {"pde", {NULL, NULL}, more, 0.3},
    {"self", {"method.variant", "class_balanced"}, more, 0.14},
    {"self", {"method.variant", "early_stop"}, more, 0.035},
    {"afr", {NULL, NULL}, more, 0.16},
    {"dfa", {"method.lr_gamma", "1"}, more, 0.09},
    {"denetdm", {"method.w_d", "0"}, more, 0.06},
    {"denetdm", {"method.w_d", "1"}, more, 0.015},
    {"reweight", {0}, more, 0.35}, /* its mean weight is small, which sgd does not make up for */
    {"sqrt_reweight", {0}, more, 0.24},
    {"cbloss", {0}, more, 0.35},
    {"resample", {0}, usual, 0.4},
    {"lisa", {"method.variant", "original"}, usual, 0.25},
    {"lisa", {"method.variant", "subpopbench"}, two_classes, 0.2},
    /* For classes of different sizes or for margins: no help against a shortcut, and no harm. */
    {"bsoftmax", {0}, usual, -0.01},
    {"focal", {0}, usual, -0.01},
    {"mixup", {0}, usual, -0.01},
};
enum { SPECIALS = sizeof special / sizeof special[0] };

/* Of methods without a row, with the settings of examples/synthetic.yaml. Between seeds ERM moves
 * by about a point. */
static const double margin_with_groups = 0.02, margin_without = -0.05;

typedef struct run {
    gerne_ctx *ctx;
    gn_arena *arena;
    gn_settings flags;
} run;

static void set(run *r, const char *key, const char *value)
{
    assert_ok(r->ctx, gn_settings_add(r->ctx, &r->flags, key, &value, 1, false, 0));
}

/* The test split's group-balanced accuracy after training in a directory of its own. */
static double train(const char *method, pair option, const pair *settings)
{
    char out[4200];
    char *directory = test_directory();
    run r = {.ctx = test_ctx()};
    gn_run_config *config;
    json_t *results;
    assert_ok(r.ctx, gn_arena_new(r.ctx, &r.arena));
    r.flags.arena = r.arena;
    snprintf(out, sizeof out, "%s/run", directory);
    set(&r, "out", out);
    set(&r, "cache", directory);
    set(&r, "threads", "1");
    const char *const hidden[] = {"100", "100"};
    assert_ok(r.ctx, gn_settings_add(r.ctx, &r.flags, "model.hidden", hidden, 2, true, 0));
    set(&r, "method.name", method);
    if (option.key)
        set(&r, option.key, option.value);
    for (int i = 0; i < PAIRS_MAX && settings[i].key; i++)
        set(&r, settings[i].key, settings[i].value);
    assert_ok(r.ctx, gn_run_config_new(r.ctx, NULL, &r.flags, &config));
    if (gn_train(r.ctx, config, NULL, &results) != GERNE_OK)
        fail_msg("method %s, %s %s: %s", method, option.key ? option.key : "defaults",
                 option.key ? option.value : "", gerne_message(r.ctx));
    const json_t *test = json_object_get(json_object_get(results, "splits"), "test");
    const json_t *figure = json_object_get(test, "gba");
    double gba = json_is_number(figure) ? json_number_value(figure) : (double)NAN;
    json_decref(results);
    gn_run_config_close(config);
    gn_settings_free(&r.flags);
    gn_arena_close(r.arena);
    gerne_ctx_close(r.ctx);
    test_remove_directory(directory);
    return gba;
}

/* ERM once for each list of settings. */
static double plain(const pair *settings)
{
    static double known[3];
    double *value = &known[settings == usual ? 0 : settings == more ? 1 : 2];
    if (*value == 0)
        *value = train("erm", (pair){0}, settings);
    return *value;
}

static void check(const row *r)
{
    double erm = plain(r->settings), gba = train(r->method, r->option, r->settings);
    print_message("%-13s %-24s %5.1f %%, ERM %5.1f %%\n", r->method,
                  r->option.value ? r->option.value : "", 100 * gba, 100 * erm);
    if (!(gba >= erm + r->margin))
        fail_msg("method %s, %s %s: group-balanced accuracy %.1f %%, ERM's %.1f %%; it has to be "
                 "%+g points from that or better",
                 r->method, r->option.key ? r->option.key : "defaults",
                 r->option.key ? r->option.value : "", 100 * gba, 100 * erm, 100 * r->margin);
}

static void every_method_keeps_its_margin(void **state)
{
    (void)state;
    for (size_t i = 0; gn_methods[i]; i++) {
        const char *name = gn_methods[i]->name;
        bool uses_groups = gn_methods[i]->attributes != GN_ATTRIBUTES_UNUSED;
        int rows = 0;
        for (int s = 0; s < SPECIALS; s++)
            if (strcmp(special[s].method, name) == 0) {
                check(&special[s]);
                rows++;
            }
        if (rows == 0 && strcmp(name, "erm") != 0)
            check(&(row){.method = name,
                         .settings = usual,
                         .margin = uses_groups ? margin_with_groups : margin_without});
    }
}

/* The point of it all: plain ERM follows the colour, and is right where colour and shape agree. */
static void erm_follows_the_colour(void **state)
{
    (void)state;
    assert_true(plain(usual) < 0.35); /* 4 of 16 groups are 0.25 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(erm_follows_the_colour),
        cmocka_unit_test(every_method_keeps_its_margin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
