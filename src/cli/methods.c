/* methods.c - gerne methods: what can be trained, from the tables that the parser uses. */
#include <stdio.h>

#include "cli/command.h"
#include "methods/method.h"

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

static gerne_status print_json(gn_cli *cli, const gn_method *only)
{
    json_t *list = json_array();
    char words[80];
    for (size_t i = 0; gn_methods[i]; i++) {
        const gn_method *m = gn_methods[i];
        if (only && only != m)
            continue;
        json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:s,s:o}", "name", m->name, "paper",
                                              m->paper, "summary", m->summary, "attributes",
                                              need_words(m, words), "options", options_json(m)));
    }
    return gn_output_json(cli, list);
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

static gerne_status run(gn_cli *cli)
{
    const gn_method *only = NULL;
    char words[80];
    if (cli->argument_count)
        GN_TRY(gn_method_find(cli->ctx, cli->arguments[0], &only));
    if (cli->json)
        return print_json(cli, only);
    for (size_t i = 0; gn_methods[i]; i++) {
        const gn_method *m = gn_methods[i];
        if (only && only != m)
            continue;
        GN_TRY(gn_text_add(cli->ctx, &cli->output, "%-11s %s (%s)\n%-11s attributes: %s\n", m->name,
                           m->summary, m->paper, "", need_words(m, words)));
        if (only)
            GN_TRY(print_options(cli, m));
    }
    return only ? GERNE_OK
                : gn_text_add(cli->ctx, &cli->output,
                              "\n'gerne methods NAME' describes the options of a method.\n");
}

const gn_command gn_command_methods = {
    .name = "methods",
    .arguments = "[NAME]",
    .summary = "List the methods, or describe the options of one",
    .max_arguments = 1,
    .word = method_name,
    .run = run,
};
