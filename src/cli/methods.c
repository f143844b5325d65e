/* methods.c - gerne methods: what can be trained, from the tables that the parser uses. */
#include "cli/methods.h"

#include <ctype.h>
#include <string.h>

const gn_need_words gn_need_words_of[GN_METHOD_NEEDS] = {
    [GN_NEEDS_TRAINING_ATTRIBUTES] =
        {"training_attributes", "Attributes in training",
         "When they are unknown, groups come from method.estimator; without one, classes are the "
         "groups."},
    [GN_NEEDS_VALIDATION_ATTRIBUTES] =
        {"validation_attributes", "Attributes in validation, to fit the head",
         "When they are unknown, classes are balanced instead of groups."},
    [GN_NEEDS_VALIDATION_LABELS] =
        {"validation_labels", "Labels in validation, to fit the head; no attributes",
         "Attributes, where there are any, serve to select the checkpoint."},
    [GN_NEEDS_NOTHING] = {"none", "No attributes",
                          "Attributes, where there are any, serve to select the checkpoint."},
};

const gn_need_words gn_estimator_words = {
    "none", "Estimators of groups, for unknown attributes (method.estimator)",
    "They run before a method that uses groups, with method.attributes unknown. How well they find "
    "the minority is reported where the attributes are known, and never used."};

const char gn_method_notation[] =
    "Notation: sample i has input x_i, class y_i, attribute a_i and group g = (y_i, a_i); there "
    "are K classes, A attributes, G = K A groups, n_g samples in group g, n_y in class y, N in "
    "all. z are the logits of the network, p = softmax(z), CE_i = -log p_i[y_i]; means without a "
    "range are over the batch.";

gn_method_need gn_need_of(const gn_method *method)
{
    if (method->validation == GN_VALIDATION_FITS_GROUPS)
        return GN_NEEDS_VALIDATION_ATTRIBUTES;
    if (method->validation == GN_VALIDATION_FITS_LABELS)
        return GN_NEEDS_VALIDATION_LABELS;
    return method->attributes == GN_ATTRIBUTES_GROUPS ? GN_NEEDS_TRAINING_ATTRIBUTES
                                                      : GN_NEEDS_NOTHING;
}

/* ---- for programs ---- */

static json_t *options_json(const gn_method *m)
{
    json_t *list = json_array();
    for (size_t i = 0; i < m->option_count; i++) {
        const gn_option *o = &m->options[i];
        json_t *item = json_pack("{s:s,s:s}", "name", o->name, "help", o->help);
        json_object_set_new(item, "default", o->fallback ? json_string(o->fallback) : json_null());
        if (o->choices)
            json_object_set_new(item, "choices", json_string(o->choices));
        json_array_append_new(list, item);
    }
    return list;
}

/* What it does with attributes, known or not. */
static json_t *attributes_json(const gn_method *m)
{
    if (m->attributes == GN_ATTRIBUTES_UNUSED)
        return json_string("not used");
    if (m->attributes == GN_ATTRIBUTES_ESTIMATED)
        return json_string("not used; an estimator runs first");
    if (!m->default_estimator)
        return json_string("used; unknown: classes are the groups");
    return json_sprintf("used; unknown: groups of the estimator %s", m->default_estimator);
}

static void add_json(json_t *all, const char *kind, const gn_method *const *list, const char *only)
{
    bool estimators = list == gn_estimators;
    for (size_t i = 0; list[i]; i++) {
        const gn_method *m = list[i];
        if (only && strcmp(only, m->name) != 0)
            continue;
        const gn_need_words *need =
            estimators ? &gn_estimator_words : &gn_need_words_of[gn_need_of(m)];
        json_array_append_new(all, json_pack("{s:s,s:s,s:s,s:s?,s:s,s:s,s:o,s:s?,s:s?,s:o}", "name",
                                             m->name, "kind", kind, "paper", m->paper, "title",
                                             m->title, "summary", m->summary, "needs", need->word,
                                             "attributes", attributes_json(m), "default_estimator",
                                             m->default_estimator, "description", m->description,
                                             "options", options_json(m)));
    }
}

static gerne_status print_json(gn_cli *cli, const char *only)
{
    json_t *all = json_array();
    add_json(all, "method", gn_methods, only);
    add_json(all, "estimator", gn_estimators, only);
    return gn_output_json(cli, all);
}

/* ---- the list ---- */

static gerne_status print_section(gn_cli *cli, const gn_need_words *words)
{
    return gn_text_add(cli->ctx, &cli->output, "%s:\n  (%s)\n", words->heading, words->note);
}

static gerne_status print_line(gn_cli *cli, const gn_method *m)
{
    return gn_text_add(cli->ctx, &cli->output, "  %-14s %s (%s)\n", m->name, m->summary, m->paper);
}

static gerne_status print_list(gn_cli *cli)
{
    for (int need = 0; need < GN_METHOD_NEEDS; need++) {
        GN_TRY(print_section(cli, &gn_need_words_of[need]));
        for (size_t i = 0; gn_methods[i]; i++)
            if ((int)gn_need_of(gn_methods[i]) == need)
                GN_TRY(print_line(cli, gn_methods[i]));
        GN_TRY(gn_text_add(cli->ctx, &cli->output, "\n"));
    }
    GN_TRY(print_section(cli, &gn_estimator_words));
    for (size_t i = 0; gn_estimators[i]; i++)
        GN_TRY(print_line(cli, gn_estimators[i]));
    return gn_text_add(
        cli->ctx, &cli->output,
        "\n'gerne methods NAME' describes one: formulas, when to use it, options.\n");
}

/* ---- one of them ---- */

static const gn_method *find_in(const gn_method *const *list, const char *name)
{
    while (*list && strcmp((*list)->name, name) != 0)
        list++;
    return *list;
}

/* A citation may be long. */
static gerne_status print_head(gerne_ctx *ctx, const gn_method *m, const gn_need_words *need,
                               bool estimator, gn_text *out)
{
    gn_text words = {0};
    gerne_status status = gn_text_add(
        ctx, &words, "%s%s - %s\n\n%s%s%s\n\n    --method.%s %s\n\nNeeds %c%s.\n\n", m->name,
        estimator ? " (estimator)" : "", m->summary, m->paper, m->title ? ": " : "",
        m->title ? m->title : "", estimator ? "estimator" : "name", m->name,
        tolower((unsigned char)need->heading[0]), need->heading + 1);
    if (status == GERNE_OK)
        status = gn_print_paragraphs(ctx, words.bytes, out);
    gn_text_free(&words);
    return status;
}

static gerne_status print_one(gn_cli *cli, const gn_method *m, const gn_need_words *need,
                              bool estimator)
{
    gerne_ctx *ctx = cli->ctx;
    gn_text *out = &cli->output;
    GN_TRY(print_head(ctx, m, need, estimator, out));
    if (m->description)
        GN_TRY(gn_print_paragraphs(ctx, m->description, out));
    if (!m->option_count)
        return gn_text_add(ctx, out, "\nIt has no options of its own.\n");
    return gn_print_options(ctx, "method", "Options", m->options, m->option_count, out);
}

/* A name may be in both lists. */
static gerne_status print_named(gn_cli *cli, const char *name)
{
    const gn_method *method = find_in(gn_methods, name), *estimator = find_in(gn_estimators, name);
    gn_text *out = &cli->output;
    if (method)
        GN_TRY(print_one(cli, method, &gn_need_words_of[gn_need_of(method)], false));
    if (method && estimator)
        GN_TRY(gn_text_add(cli->ctx, out, "\n"));
    if (estimator)
        GN_TRY(print_one(cli, estimator, &gn_need_words_of[GN_NEEDS_NOTHING], true));
    GN_TRY(gn_text_add(cli->ctx, out, "\n"));
    return gn_print_paragraphs(cli->ctx, gn_method_notation, out);
}

/* ---- the command ---- */

typedef struct methods_options {
    bool markdown;
} methods_options;

static const gn_option options[] = {
    {"markdown", GN_BOOL, offsetof(methods_options, markdown), .fallback = "false",
     .help = "print the reference of all methods, docs/methods.md"},
};

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 1, sizeof(methods_options), &cli->options));
    return gn_config_add(cli->ctx, cli->config, "", "Methods", options,
                         sizeof options / sizeof options[0], cli->options);
}

static const char *method_name(size_t i)
{
    size_t methods = 0;
    while (gn_methods[methods])
        methods++;
    const gn_method *m = i < methods ? gn_methods[i] : gn_estimators[i - methods];
    return m ? m->name : NULL;
}

static gerne_status refuse(gerne_ctx *ctx, const char *name)
{
    enum { NAMES_MAX = 128 };
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (; count < NAMES_MAX && method_name(count); count++)
        names[count] = method_name(count);
    gn_fail(ctx, GERNE_EUSAGE, "there is no method or estimator '%s'", name);
    gn_hint_nearest(ctx, name, names, count, "'gerne methods' lists them");
    return GERNE_EUSAGE;
}

static gerne_status run(gn_cli *cli)
{
    const methods_options *given = cli->options;
    const char *only = cli->argument_count ? cli->arguments[0] : NULL;
    if (only && !find_in(gn_methods, only) && !find_in(gn_estimators, only))
        return refuse(cli->ctx, only);
    if (given->markdown)
        return gn_print_methods_page(cli->ctx, &cli->output);
    if (cli->json)
        return print_json(cli, only);
    return only ? print_named(cli, only) : print_list(cli);
}

const gn_command gn_command_methods = {
    .name = "methods",
    .arguments = "[NAME]",
    .summary = "List methods and estimators by what they need, or describe one",
    .help = "Without NAME: every method with its paper, grouped by whether it needs attributes in\n"
            "training, in validation, or none, then the estimators of groups. With NAME: what it\n"
            "does, its formulas, when to use it, and its options.\n"
            "\n"
            "  gerne methods groupdro\n",
    .max_arguments = 1,
    .word = method_name,
    .setup = setup,
    .takes_plugin = true,
    .run = run,
};
