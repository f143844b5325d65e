/* methods.c - gerne methods: what can be trained, from the tables that the parser uses. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "methods/list.h"

static const char *need_words(const gn_method *m, char words[80])
{
    if (m->attributes == GN_ATTRIBUTES_UNUSED)
        return "not used";
    if (m->attributes == GN_ATTRIBUTES_ESTIMATED)
        return "not used; an estimator runs first";
    if (!m->default_estimator)
        return "used; unknown: classes are the groups";
    snprintf(words, 80, "used; unknown: groups of the estimator %s", m->default_estimator);
    return words;
}

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

static void add_json(json_t *all, const char *kind, const gn_method *const *list, const char *only)
{
    char words[80];
    for (size_t i = 0; list[i]; i++) {
        const gn_method *m = list[i];
        if (only && strcmp(only, m->name) != 0)
            continue;
        json_array_append_new(all,
                              json_pack("{s:s,s:s,s:s,s:s,s:s,s:o}", "name", m->name, "kind", kind,
                                        "paper", m->paper, "summary", m->summary, "attributes",
                                        need_words(m, words), "options", options_json(m)));
    }
}

static gerne_status print_json(gn_cli *cli, const char *only)
{
    json_t *all = json_array();
    add_json(all, "method", gn_methods, only);
    add_json(all, "estimator", gn_estimators, only);
    return gn_output_json(cli, all);
}

static gerne_status print_options(gn_cli *cli, const gn_method *m)
{
    for (size_t i = 0; i < m->option_count; i++) {
        GN_TRY(gn_text_add(cli->ctx, &cli->output, "    "));
        GN_TRY(gn_option_label(cli->ctx, "method", &m->options[i], &cli->output));
        GN_TRY(gn_text_add(cli->ctx, &cli->output, "\n        "));
        GN_TRY(gn_option_description(cli->ctx, &m->options[i], &cli->output));
        GN_TRY(gn_text_add(cli->ctx, &cli->output, "\n"));
    }
    return GERNE_OK;
}

static const char *method_name(size_t i)
{
    return gn_methods[i] ? gn_methods[i]->name : NULL;
}

static bool is_in(const gn_method *const *list, const char *name)
{
    while (*list && strcmp((*list)->name, name) != 0)
        list++;
    return *list != NULL;
}

static gerne_status print_methods(gn_cli *cli, const char *only)
{
    char words[80];
    for (size_t i = 0; gn_methods[i]; i++) {
        const gn_method *m = gn_methods[i];
        if (only && strcmp(only, m->name) != 0)
            continue;
        GN_TRY(gn_text_add(cli->ctx, &cli->output, "%-13s %s (%s)\n%-13s attributes: %s\n", m->name,
                           m->summary, m->paper, "", need_words(m, words)));
        if (only)
            GN_TRY(print_options(cli, m));
    }
    return GERNE_OK;
}

static gerne_status print_estimators(gn_cli *cli, const char *only)
{
    if (!only || is_in(gn_estimators, only))
        GN_TRY(gn_text_add(cli->ctx, &cli->output,
                           "%sEstimators of groups, for unknown attributes (method.estimator):\n",
                           only && !is_in(gn_methods, only) ? "" : "\n"));
    for (size_t i = 0; gn_estimators[i]; i++) {
        const gn_method *m = gn_estimators[i];
        if (only && strcmp(only, m->name) != 0)
            continue;
        GN_TRY(
            gn_text_add(cli->ctx, &cli->output, "%-13s %s (%s)\n", m->name, m->summary, m->paper));
        if (only)
            GN_TRY(print_options(cli, m));
    }
    return GERNE_OK;
}

static gerne_status run(gn_cli *cli)
{
    const char *only = cli->argument_count ? cli->arguments[0] : NULL;
    const gn_method *found;
    if (only && !is_in(gn_estimators, only))
        GN_TRY(gn_method_find(cli->ctx, only, &found));
    if (cli->json)
        return print_json(cli, only);
    GN_TRY(print_methods(cli, only));
    GN_TRY(print_estimators(cli, only));
    return only ? GERNE_OK
                : gn_text_add(cli->ctx, &cli->output,
                              "\n'gerne methods NAME' describes the options of one.\n");
}

const gn_command gn_command_methods = {
    .name = "methods",
    .arguments = "[NAME]",
    .summary = "List methods and estimators, or describe the options of one",
    .max_arguments = 1,
    .word = method_name,
    .takes_plugin = true,
    .run = run,
};
