#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/option.h"

typedef struct sample {
    bool flag;
    int64_t count;
    double rate;
    const char *name;
    int kind;
    gn_ints sizes;
    double epochs, steps;
    double momentum;
    const char *column;
    bool strict;
    double factor;
} sample;

static const gn_option options[] = {
    {"flag", GN_BOOL, offsetof(sample, flag), .fallback = "false", .help = "a switch"},
    {"count", GN_INT, offsetof(sample, count), .fallback = "3", .min = 1, .max = 10, .help = "n"},
    {"rate", GN_REAL, offsetof(sample, rate), .fallback = "0.1", .min = 0, .max = 1,
     .flags = GN_OPEN_MIN, .help = "r"},
    {"name", GN_TEXT, offsetof(sample, name), .help = "a name"},
    {"kind", GN_CHOICE, offsetof(sample, kind), .fallback = "sgd", .choices = "sgd|adam|adamw",
     .help = "which"},
    {"sizes", GN_INTS, offsetof(sample, sizes), .fallback = "100,100", .min = 1, .max = 1e6,
     .help = "widths"},
    {"epochs", GN_REAL, offsetof(sample, epochs), .fallback = "10", .min = 0, .max = 1e9,
     .exclusive = "length", .help = "e"},
    {"steps", GN_REAL, offsetof(sample, steps), .min = 0, .max = 1e9, .exclusive = "length",
     .help = "s"},
    {"momentum", GN_REAL, offsetof(sample, momentum), .fallback = "0.9", .when = "kind sgd",
     .help = "m"},
    {"column", GN_TEXT, offsetof(sample, column), .fallback = "y", .alias = "label", .help = "c"},
    {"strict", GN_BOOL, offsetof(sample, strict), .when = "name a|b", .help = "t"},
    {"factor", GN_REAL, offsetof(sample, factor), .fallback = "auto", .min = 0, .max = 1,
     .flags = GN_AUTO, .help = "f"},
};

typedef struct fixture {
    gerne_ctx *ctx;
    gn_config *config;
    sample train;
    gn_settings file, flags;
} fixture;

static fixture open_fixture(void)
{
    fixture f = {.ctx = test_ctx()};
    assert_ok(f.ctx, gn_config_new(f.ctx, &f.config));
    f.file.arena = f.flags.arena = gn_config_arena(f.config);
    return f;
}

static void add_tables(fixture *f)
{
    assert_ok(f->ctx, gn_config_add(f->ctx, f->config, "train", "Training", options,
                                    sizeof options / sizeof options[0], &f->train));
}

static void close_fixture(fixture *f)
{
    gn_settings_free(&f->file);
    gn_settings_free(&f->flags);
    gn_config_close(f->config);
    gerne_ctx_close(f->ctx);
}

static gerne_status load(fixture *f, const char *yaml)
{
    gn_settings_free(&f->file);
    f->file.arena = gn_config_arena(f->config);
    GN_TRY(gn_settings_parse(f->ctx, yaml, strlen(yaml), "test.yaml", &f->file));
    return gn_config_apply(f->ctx, f->config, &f->file);
}

static gerne_status flag(fixture *f, const char *key, const char *value)
{
    f->flags.count = 0;
    GN_TRY(gn_settings_add(f->ctx, &f->flags, key, &value, 1, false, 0));
    return gn_config_apply(f->ctx, f->config, &f->flags);
}

static void test_defaults_file_and_flags(void **state)
{
    (void)state;
    fixture f = open_fixture();
    add_tables(&f);
    assert_int_equal(f.train.count, 3);
    assert_int_equal(f.train.sizes.count, 2);
    assert_int_equal(f.train.sizes.items[1], 100);
    assert_ok(f.ctx, load(&f, "train: {count: 7, kind: adamw, sizes: [5, 6, 7], flag: yes}\n"));
    assert_int_equal(f.train.count, 7);
    assert_int_equal(f.train.kind, 2);
    assert_int_equal(f.train.sizes.count, 3);
    assert_true(f.train.flag);
    assert_ok(f.ctx, flag(&f, "train.count", "9"));
    assert_int_equal(f.train.count, 9);
    assert_ok(f.ctx, flag(&f, "train.sizes", "8"));
    assert_int_equal(f.train.sizes.items[0], 8);
    assert_int_equal(gn_config_origin(f.config, "train.count"), GN_FLAG);
    assert_int_equal(gn_config_origin(f.config, "train.kind"), GN_FILE);
    assert_int_equal(gn_config_origin(f.config, "train.name"), GN_UNSET);
    close_fixture(&f);
}

/* Closing the config frees its arena; a default that pointed there would be gone. */
static void test_default_texts_outlive_the_config(void **state)
{
    (void)state;
    fixture f = open_fixture();
    add_tables(&f);
    gn_config_close(f.config);
    f.config = NULL;
    assert_string_equal(f.train.column, "y");
    assert_ptr_equal(f.train.column, options[9].fallback);
    sample alone = {.count = 77};
    assert_ok(f.ctx, gn_options_default(f.ctx, NULL, options, 5, &alone));
    assert_int_equal(alone.count, 3);
    assert_fails(f.ctx, GERNE_EINTERNAL, "'sizes' needs an arena",
                 gn_options_default(f.ctx, NULL, &options[5], 1, &alone));
    close_fixture(&f);
}

static void complete_kinds(fixture *f, const char *yaml, gerne_status expected)
{
    add_tables(f);
    assert_ok(f->ctx, load(f, yaml));
    assert_int_equal(gn_config_complete(f->ctx, f->config), expected);
}

static void test_options_that_do_not_apply(void **state)
{
    (void)state;
    gn_text text = {0};
    fixture f = open_fixture();
    complete_kinds(&f, "train: {kind: adam}\n", GERNE_OK);
    assert_int_equal(gn_config_origin(f.config, "train.momentum"), GN_UNSET);
    assert_ok(f.ctx, gn_config_print(f.ctx, f.config, 0, &text));
    assert_null(strstr(text.bytes, "momentum"));
    assert_non_null(strstr(text.bytes, "kind: adam"));
    gn_text_free(&text);
    close_fixture(&f);

    f = open_fixture();
    complete_kinds(&f, "train: {kind: adam, momentum: 0.5}\n", GERNE_EUSAGE);
    assert_string_equal(gerne_message(f.ctx), "train.momentum does not apply to train.kind adam");
    assert_string_equal(gerne_hint(f.ctx), "it needs --train.kind sgd");
    close_fixture(&f);

    f = open_fixture(); /* the default in a file says nothing */
    complete_kinds(&f, "train: {kind: adam, momentum: 0.9}\n", GERNE_OK);
    assert_int_equal(gn_config_origin(f.config, "train.momentum"), GN_UNSET);
    assert_ok(f.ctx, flag(&f, "train.momentum", "0.9"));
    assert_int_equal(gn_config_complete(f.ctx, f.config), GERNE_EUSAGE);
    close_fixture(&f);

    f = open_fixture(); /* texts are compared as well; here there is none */
    complete_kinds(&f, "train: {strict: true}\n", GERNE_EUSAGE);
    close_fixture(&f);
    f = open_fixture();
    complete_kinds(&f, "train: {strict: true, name: b}\n", GERNE_OK);
    assert_true(f.train.strict);
    close_fixture(&f);
}

static void test_flag_replaces_what_a_file_goes_with(void **state)
{
    (void)state;
    fixture f = open_fixture();
    add_tables(&f);
    assert_ok(f.ctx, load(&f, "train: {kind: sgd, momentum: 0.5}\n"));
    assert_ok(f.ctx, flag(&f, "train.kind", "adam"));
    assert_ok(f.ctx, gn_config_complete(f.ctx, f.config));
    assert_float_equal(f.train.momentum, 0.9, 0);
    assert_int_equal(gn_config_origin(f.config, "train.momentum"), GN_UNSET);
    close_fixture(&f);
}

static void test_alias(void **state)
{
    (void)state;
    fixture f = open_fixture();
    add_tables(&f);
    assert_ok(f.ctx, load(&f, "train: {label: bird}\n"));
    assert_string_equal(f.train.column, "bird");
    gn_text text = {0};
    assert_ok(f.ctx, gn_config_print(f.ctx, f.config, 0, &text));
    assert_non_null(strstr(text.bytes, "  column: \"bird\"\n"));
    gn_text_free(&text);
    assert_fails(f.ctx, GERNE_EUSAGE, "same key", load(&f, "train: {column: a, label: b}\n"));
    close_fixture(&f);
}

static void test_exclusive(void **state)
{
    (void)state;
    fixture f = open_fixture();
    add_tables(&f);
    assert_ok(f.ctx, load(&f, "train: {epochs: 5}\n"));
    assert_ok(f.ctx, flag(&f, "train.steps", "100"));
    assert_int_equal(gn_config_origin(f.config, "train.epochs"), GN_UNSET);
    close_fixture(&f);
    f = open_fixture();
    add_tables(&f);
    assert_fails(f.ctx, GERNE_EUSAGE, "mutually exclusive",
                 load(&f, "train: {epochs: 5, steps: 7}\n"));
    close_fixture(&f);
}

static void test_bad_values_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *words;
    } cases[] = {
        {"train: {cuont: 7}\n", "test.yaml, line 1: unknown key 'train.cuont'"},
        {"train:\n  count: 0\n", "test.yaml, line 2: train.count: '0' is outside [1, 10]"},
        {"train: {count: 1.5}\n", "not a whole number"},
        {"train: {rate: 0}\n", "'0' is outside (0, 1]"},
        {"train: {rate: nan}\n", "not a number"},
        {"train: {kind: sdg}\n", "'sdg' is not one of sgd|adam|adamw"},
        {"train: {count: [1, 2]}\n", "one value was expected"},
        {"train: {count: 1}\ntrain: {count: 2}\n", "given twice"},
        {"train: {count: 1, count: 2}\n", "given twice"},
        {"train: {count: {x: 1}}\n", "cannot be nested"},
        {"train: &a {count: 1}\nother: *a\n", "aliases"},
        {"[1, 2]\n", "a configuration is a list of"},
        {"train: {count: 1\n", "line 2"},
        {"a: 1\n---\nb: 2\n", "only one YAML document"},
        {"train: {sizes: [1, -2]}\n", "'-2' is outside"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f = open_fixture();
        add_tables(&f);
        assert_fails(f.ctx, GERNE_EUSAGE, cases[i].words, load(&f, cases[i].yaml));
        close_fixture(&f);
    }
}

static void test_nearest_name_is_hinted(void **state)
{
    (void)state;
    fixture f = open_fixture();
    add_tables(&f);
    assert_fails(f.ctx, GERNE_EUSAGE, "unknown key", load(&f, "train: {cuont: 7}\n"));
    assert_string_equal(gerne_hint(f.ctx), "did you mean 'train.count'?");
    close_fixture(&f);
}

static void test_printed_config_reads_back(void **state)
{
    (void)state;
    fixture f = open_fixture();
    add_tables(&f);
    assert_ok(f.ctx, load(&f, "train: {rate: 0.1234567890123456, name: \"a \\\"b\\\": #c\"}\n"));
    gn_text text = {0};
    assert_ok(f.ctx, gn_config_print(f.ctx, f.config, 0, &text));
    fixture g = open_fixture();
    add_tables(&g);
    assert_ok(g.ctx, load(&g, text.bytes));
    assert_true(g.train.rate == f.train.rate);
    assert_string_equal(g.train.name, f.train.name);
    assert_int_equal(g.train.sizes.count, f.train.sizes.count);
    gn_text_free(&text);
    close_fixture(&f);
    close_fixture(&g);
}

/* The word is a value of options that take it, may be written out, and is replaced by a number or
 * replaces one. */
static void test_auto(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        bool is_auto;
        const char *printed;
    } cases[] = {
        {"", true, "factor: auto\n"},
        {"train: {factor: auto}\n", true, "factor: auto\n"},
        {"train: {factor: 0.25}\n", false, "factor: 0.25\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f = open_fixture();
        gn_text text = {0};
        add_tables(&f);
        assert_ok(f.ctx, load(&f, cases[i].yaml));
        assert_int_equal(isnan(f.train.factor), cases[i].is_auto);
        assert_ok(f.ctx, gn_config_print(f.ctx, f.config, 0, &text));
        assert_non_null(strstr(text.bytes, cases[i].printed));
        gn_text_free(&text);
        close_fixture(&f);
    }
    fixture f = open_fixture();
    add_tables(&f);
    assert_fails(f.ctx, GERNE_EUSAGE, "'auto' is not a number", load(&f, "train: {rate: auto}\n"));
    assert_fails(f.ctx, GERNE_EUSAGE, "'2' is outside [0, 1]", load(&f, "train: {factor: 2}\n"));
    close_fixture(&f);
}

static void test_empty_file_asks_for_nothing(void **state)
{
    (void)state;
    fixture f = open_fixture();
    add_tables(&f);
    assert_ok(f.ctx, load(&f, ""));
    assert_ok(f.ctx, load(&f, "# only a comment\n"));
    assert_int_equal(f.file.count, 0);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_file_and_flags),
        cmocka_unit_test(test_default_texts_outlive_the_config),
        cmocka_unit_test(test_options_that_do_not_apply),
        cmocka_unit_test(test_flag_replaces_what_a_file_goes_with),
        cmocka_unit_test(test_alias),
        cmocka_unit_test(test_exclusive),
        cmocka_unit_test(test_bad_values_are_named),
        cmocka_unit_test(test_nearest_name_is_hinted),
        cmocka_unit_test(test_printed_config_reads_back),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_empty_file_asks_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
