/* Descriptors of methods: ours are complete, what is missing in others is named, and additions to
 * the lists are all or none. */
#include "testing.h"

#include <stdio.h>

#include "methods/list.h"

typedef struct example_options {
    double power;
    int rule;
} example_options;

static const gn_option power = {"power",         GN_REAL,  offsetof(example_options, power),
                                .fallback = "1", .max = 2, .help = "some"};
static const gn_option rule = {"rule",
                               GN_CHOICE,
                               offsetof(example_options, rule),
                               .fallback = "one",
                               .choices = "one|two",
                               .help = "some"};

static gerne_status plan(gn_run *run, int64_t k, gn_plan *out)
{
    (void)run;
    (void)k;
    (void)out;
    return GERNE_OK;
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batches)
{
    (void)run;
    (void)k;
    (void)batches;
    return GERNE_OK;
}

static gerne_status groups(gn_run *run)
{
    (void)run;
    return GERNE_OK;
}

static gn_method example(const char *name, const gn_option *options, size_t count)
{
    return (gn_method){.name = name,
                       .paper = "p",
                       .summary = "s",
                       .options = options,
                       .option_count = count,
                       .options_size = sizeof(example_options),
                       .plan = plan,
                       .step = step};
}

static void our_descriptors_pass(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    for (size_t i = 0; gn_methods[i]; i++) {
        assert_ok(ctx, gn_method_check(ctx, gn_methods[i]));
        assert_false(gn_is_estimator(gn_methods[i]));
    }
    for (size_t i = 0; gn_estimators[i]; i++) {
        assert_ok(ctx, gn_method_check(ctx, gn_estimators[i]));
        assert_true(gn_is_estimator(gn_estimators[i]));
    }
    gerne_ctx_close(ctx);
}

static void refuse(gn_method method, const char *words)
{
    gerne_ctx *ctx = test_ctx();
    assert_fails(ctx, GERNE_EDATA, words, gn_method_check(ctx, &method));
    gerne_ctx_close(ctx);
}

static void missing_parts_are_named(void **state)
{
    (void)state;
    gn_method m = example("mine", NULL, 0);
    m.paper = NULL;
    refuse(m, "method 'mine': paper is missing");
    m = example("mine", NULL, 0);
    m.summary = NULL;
    refuse(m, "summary is missing");
    m = example("mine", NULL, 0);
    m.plan = NULL;
    refuse(m, "the hook plan is missing");
    m = example("mine", NULL, 0);
    m.step = NULL;
    refuse(m, "the hook step is missing");
    m = example("mine", NULL, 0);
    m.groups = groups;
    refuse(m, "attributes_found is missing");
    m = example("mine", &power, 1);
    m.limited = "power";
    refuse(m, "the hook limits is missing");
    m = example("mine", NULL, 3);
    refuse(m, "the table of its 3 options is missing");
    static const char *const names[] = {
        NULL, "", "Mine", "2nd", "a-b", "../x", "a_name_of_more_than_thirty_two_letters"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        refuse(example(names[i], NULL, 0), "a method has no name of lower-case letters");
}

static void refuse_row(gn_option row, const char *words)
{
    refuse(example("mine", &row, 1), words);
}

static void faulty_options_are_named(void **state)
{
    (void)state;
    gn_option row = power;
    row.name = "Power";
    refuse_row(row, "method 'mine': option 1 has no name of lower-case letters");
    row = power;
    row.help = NULL;
    refuse_row(row, "option 'power': help is missing");
    row = power;
    row.type = (gn_option_type)99;
    refuse_row(row, "there is no such type");
    row = power;
    row.offset = sizeof(example_options) - 4;
    refuse_row(row, "its field is outside the struct");
    row = power;
    row.offset = SIZE_MAX;
    refuse_row(row, "its field is outside the struct");
    row = power;
    row.fallback = "3";
    refuse_row(row, "option 'power': fallback: '3' is outside");
    row = power;
    row.fallback = "much";
    refuse_row(row, "fallback: 'much' is not a number");
    row = power;
    row.min = 3;
    refuse_row(row, "min is above max");
    row = power;
    row.when = "rule";
    refuse_row(row, "when is not");
    row = rule;
    row.choices = NULL;
    refuse_row(row, "choices are missing");
    const gn_option twice[] = {power, rule, power};
    refuse(example("mine", twice, 3), "option 'power': there are two of it");
}

static size_t count_of(const gn_method *const *list)
{
    size_t count = 0;
    while (list[count])
        count++;
    return count;
}

static void additions_are_all_or_none(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    size_t methods = count_of(gn_methods), estimators = count_of(gn_estimators);
    gn_method mine = example("mine", NULL, 0), ours = example("erm", NULL, 0), jtt = mine;
    jtt.name = "jtt";
    jtt.groups = groups;
    assert_fails(ctx, GERNE_EDATA, "there is a method 'erm' already",
                 gn_methods_add(ctx, (const gn_method *const[]){&mine, &ours, NULL}));
    assert_fails(ctx, GERNE_EDATA, "there is an estimator 'jtt' already",
                 gn_methods_add(ctx, (const gn_method *const[]){&mine, &jtt, NULL}));
    assert_fails(ctx, GERNE_EDATA, "there is a method 'mine' already",
                 gn_methods_add(ctx, (const gn_method *const[]){&mine, &mine, NULL}));
    enum { TOO_MANY = GN_ADDED_MAX + 1 };
    gn_method many[TOO_MANY];
    char names[TOO_MANY][16];
    const gn_method *list[TOO_MANY + 1] = {NULL};
    for (int i = 0; i < TOO_MANY; i++) {
        snprintf(names[i], sizeof names[i], "m%d", i);
        many[i] = example(names[i], NULL, 0);
        list[i] = &many[i];
    }
    assert_fails(ctx, GERNE_EDATA, "more than 8 methods", gn_methods_add(ctx, list));
    assert_int_equal(count_of(gn_methods), methods);
    assert_int_equal(count_of(gn_estimators), estimators);
    gerne_ctx_close(ctx);
}

/* The last test: the lists stay longer. */
static void added_ones_are_found(void **state)
{
    (void)state;
    static gn_method mine, finder;
    const gn_method *found;
    gerne_ctx *ctx = test_ctx();
    mine = example("mine", &power, 1);
    finder = example("mine", NULL, 0); /* the lists have names of their own */
    finder.groups = groups;
    assert_ok(ctx, gn_methods_add(ctx, (const gn_method *const[]){&finder, &mine, NULL}));
    assert_ok(ctx, gn_method_find(ctx, "mine", &found));
    assert_ptr_equal(found, &mine);
    assert_true(gn_method_has_option(found, "power"));
    assert_false(gn_method_has_option(found, "rule"));
    assert_ok(ctx, gn_estimator_find(ctx, "mine", &found));
    assert_ptr_equal(found, &finder);
    assert_fails(ctx, GERNE_EUSAGE, "there is no method 'minee'",
                 gn_method_find(ctx, "minee", &found));
    assert_string_equal(gerne_hint(ctx), "did you mean 'mine'?");
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_descriptors_pass),     cmocka_unit_test(missing_parts_are_named),
        cmocka_unit_test(faulty_options_are_named), cmocka_unit_test(additions_are_all_or_none),
        cmocka_unit_test(added_ones_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
