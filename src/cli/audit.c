/* audit.c - `gerne audit`: is the data biased, by how much, and what to do about it. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/command.h"
#include "data/dataset.h"
#include "data/label_table.h"
#include "debias/audit.h"
#include "debias/groups.h"

typedef struct audit_options {
    const char *y, *a, *split;
    int missing;
    bool strict;
    gn_data_options data;
} audit_options;

static const gn_option options[] = {
    {"y", GN_TEXT, offsetof(audit_options, y), .fallback = "y",
     .help = "name of the column with the class"},
    {"a", GN_TEXT, offsetof(audit_options, a),
     .help =
         "name of the column with the attribute (default: a; without one, columns of few values "
         "are ranked and the first is audited)"},
    {"split", GN_TEXT, offsetof(audit_options, split),
     .help = "audit the rows with this value of column 'split', or all (default: train, where the "
             "data has splits)"},
    {"missing", GN_CHOICE, offsetof(audit_options, missing), .fallback = "error",
     .choices = GN_MISSING_CHOICES, .help = GN_MISSING_HELP},
    {"strict", GN_BOOL, offsetof(audit_options, strict), .fallback = "false",
     .help = "gate: exit with code 3 if the data is biased"},
};

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 1, sizeof(audit_options), &cli->options));
    GN_TRY(gn_config_add(cli->ctx, cli->config, "", "Audit", options,
                         sizeof options / sizeof options[0], cli->options));
    audit_options *given = cli->options;
    return gn_data_options_add(cli->ctx, cli->config, &given->data);
}

/* What is audited, wherever it comes from. */
typedef struct subject {
    const char *name;
    gn_label_table table;
} subject;

/* ---- the groups of a dataset ---- */

static gerne_status check_dataset(gn_cli *cli, const gn_dataset *dataset)
{
    if (dataset->classes < 2)
        return gn_fail(cli->ctx, GERNE_EDATA, "the data have %u classes; bias takes two",
                       dataset->classes);
    if (dataset->attributes)
        return GERNE_OK;
    gn_fail(cli->ctx, GERNE_EUSAGE, "the data have no attribute that could be audited");
    gn_hint(cli->ctx, "name its column with --data.a");
    return GERNE_EUSAGE;
}

/* The counts of a split; all splits together for "all". */
static gerne_status count_dataset(gn_cli *cli, const gn_dataset *dataset, const char *wanted,
                                  int64_t *counts)
{
    size_t groups = (size_t)dataset->classes * dataset->attributes;
    uint64_t *part;
    bool found = false;
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, groups, sizeof *part, &part));
    for (int split = 0; split < GN_SPLITS; split++) {
        if (strcmp(wanted, "all") != 0 && strcmp(wanted, gn_split_name((gn_split)split)) != 0)
            continue;
        found = true;
        gn_dataset_count(dataset, (gn_split)split, part);
        for (size_t g = 0; g < groups; g++)
            counts[g] += (int64_t)part[g];
    }
    if (!found)
        return gn_fail(cli->ctx, GERNE_EUSAGE, "--split '%s' is not train, val, test or all",
                       wanted);
    for (size_t g = 0; g < groups; g++)
        if (counts[g])
            return GERNE_OK;
    return gn_fail(cli->ctx, GERNE_EDATA, "the data have no samples in split '%s'", wanted);
}

static gerne_status groups_of_split(gn_cli *cli, const gn_dataset *dataset, const char *split,
                                    gerne_groups **out)
{
    int64_t *counts;
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, (size_t)dataset->classes * dataset->attributes,
                          sizeof *counts, &counts));
    GN_TRY(count_dataset(cli, dataset, split, counts));
    GN_TRY(gerne_groups_from_counts(cli->ctx, counts, dataset->classes, dataset->attributes, out));
    return gerne_groups_set_names(cli->ctx, *out, dataset->class_names, dataset->attribute_names);
}

static gerne_status read_dataset(gn_cli *cli, subject *out)
{
    const audit_options *given = cli->options;
    gn_dataset *dataset;
    gn_label_table *table = &out->table;
    const char *split = given->split ? given->split : "train";
    GN_TRY(gn_dataset_open(cli->ctx, &given->data, &dataset));
    gerne_status status = check_dataset(cli, dataset);
    if (status == GERNE_OK)
        status = groups_of_split(cli, dataset, split, &table->groups);
    bool part = status == GERNE_OK && gerne_groups_total(table->groups) < dataset->n;
    if (part) {
        table->split = split;
        status = groups_of_split(cli, dataset, "all", &table->all);
    }
    table->y = given->data.y;
    table->a = given->data.a;
    gn_dataset_close(dataset);
    return status;
}

static bool has_data_keys(const gn_cli *cli)
{
    for (size_t i = 0; i < cli->flags.count; i++)
        if (strncmp(cli->flags.list[i].key, "data.", 5) == 0)
            return true;
    return false;
}

/* A column without a file is a file forgotten. */
static gerne_status check_columns_unused(gn_cli *cli)
{
    static const char *const keys[] = {"y", "a"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (gn_settings_find(&cli->flags, keys[i])) {
            gn_fail(cli->ctx, GERNE_EUSAGE, "--%s names a column, but no file is given", keys[i]);
            gn_hint(cli->ctx, "gerne audit FILE.csv --y COLUMN --a COLUMN; columns of other data "
                              "are named by --data.y and --data.a");
            return GERNE_EUSAGE;
        }
    if (gn_settings_find(&cli->flags, "missing"))
        return gn_fail(cli->ctx, GERNE_EUSAGE,
                       "--missing is for a file or folder; of other data it is --data.missing");
    return GERNE_OK;
}

/* ---- a folder of images ---- */

/* The argument and the flags of a file become data.* keys, which may not be given twice. */
static gerne_status take_folder(gn_cli *cli, const char *path)
{
    static const char *const keys[] = {"data.dir", "data.y", "data.a", "data.missing"};
    static const char *const flags[] = {NULL, "y", "a", "missing"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const gn_setting *flag = flags[i] ? gn_settings_find(&cli->flags, flags[i]) : NULL;
        if (flags[i] && !flag)
            continue;
        if (gn_settings_find(&cli->flags, keys[i]))
            return gn_fail(cli->ctx, GERNE_EUSAGE, "both %s%s and --%s are given",
                           flag ? "--" : "a folder", flag ? flags[i] : "", keys[i]);
        const char *value = flag ? flag->items[0] : path;
        GN_TRY(gn_settings_add(cli->ctx, &cli->flags, keys[i], &value, 1, false, 0));
    }
    static const char *const images = "images";
    if (gn_settings_find(&cli->flags, "data.format"))
        return GERNE_OK;
    return gn_settings_add(cli->ctx, &cli->flags, "data.format", &images, 1, false, 0);
}

/* ---- what is said about it ---- */

static json_t *ranking_json(const gn_label_table *table)
{
    json_t *list = json_array();
    for (size_t i = 0; i < table->ranked; i++) {
        const gn_ranked_column *c = &table->ranking[i];
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:o, s:o, s:o, s:s}", "column", c->name, "values",
                            (json_int_t)c->values, "cramers_v_unbiased",
                            gn_json_number(c->association.cramers_v_unbiased), "cramers_v",
                            gn_json_number(c->association.cramers_v), "attribute_only_accuracy",
                            gn_json_number(c->association.attribute_only), "verdict",
                            gn_verdict_text(gn_verdict_of(&c->association))));
    }
    return list;
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static gerne_status print_json(gn_cli *cli, const subject *s, const gn_audit *audit,
                               const gn_audit *all)
{
    json_t *json;
    GN_TRY(gn_audit_json(cli->ctx, audit, &json));
    json_object_set_new(json, "class_column", text_or_null(s->table.y));
    json_object_set_new(json, "attribute_column", text_or_null(s->table.a));
    json_object_set_new(json, "split", text_or_null(s->table.split));
    if (s->table.all)
        json_object_set_new(json, "all_splits",
                            json_pack("{s:I, s:s, s:o}", "n", (json_int_t)all->groups->total,
                                      "verdict", gn_verdict_text(all->verdict), "cramers_v",
                                      gn_json_number(all->association.cramers_v)));
    if (s->table.ranking)
        json_object_set_new(json, "columns", ranking_json(&s->table));
    return gn_output_json(cli, json);
}

static gerne_status print_ranking(gn_cli *cli, const gn_label_table *table)
{
    enum { SHOWN = 20, NAME = 28 };
    gn_text *out = &cli->output;
    GN_TRY(gn_text_add(cli->ctx, out,
                       "Which column is the shortcut? By Cramer's V with '%s', less what chance "
                       "gives\n",
                       table->y));
    for (size_t i = 0; i < table->ranked && i < SHOWN; i++) {
        const gn_ranked_column *c = &table->ranking[i];
        GN_TRY(gn_text_add(cli->ctx, out, "  %2zu  ", i + 1));
        GN_TRY(gn_text_add_cell(cli->ctx, out, c->name, NAME));
        GN_TRY(gn_text_add(cli->ctx, out, "  %6.3f  %3u values%s\n",
                           c->association.cramers_v_unbiased, c->values,
                           strcmp(c->name, table->a) == 0 ? "  audited below" : ""));
    }
    if (table->ranked > SHOWN)
        GN_TRY(
            gn_text_add(cli->ctx, out, "  and %zu more; --json has them\n", table->ranked - SHOWN));
    return gn_text_add(cli->ctx, out, "  --a COLUMN audits another one.\n\n");
}

static gerne_status print_text(gn_cli *cli, const subject *s, const gn_audit *audit,
                               const gn_audit *all)
{
    const gn_label_table *table = &s->table;
    gn_text title = {0};
    if (table->ranked > 1)
        GN_TRY(print_ranking(cli, table));
    gerne_status status = table->split
                              ? gn_text_add(cli->ctx, &title, "%s, split %s", s->name, table->split)
                              : gn_text_add(cli->ctx, &title, "%s", s->name);
    if (status == GERNE_OK)
        status = gn_audit_print(cli->ctx, audit, title.bytes, table->y, table->a, &cli->output);
    gn_text_free(&title);
    GN_TRY(status);
    if (!table->all)
        return GERNE_OK;
    return gn_text_add(cli->ctx, &cli->output,
                       "All splits together: %llu samples, Cramer's V %.3f, %s; --split all audits "
                       "them.\n",
                       (unsigned long long)all->groups->total, all->association.cramers_v,
                       gn_verdict_text(all->verdict));
}

static gerne_status report(gn_cli *cli, const subject *s)
{
    const audit_options *given = cli->options;
    gn_audit audit, all = {0};
    GN_TRY(gn_audit_of(cli->ctx, s->table.groups, &audit));
    if (s->table.all)
        GN_TRY(gn_audit_of(cli->ctx, s->table.all, &all));
    cli->gate_failed = given->strict && audit.verdict != GN_UNBIASED;
    return cli->json ? print_json(cli, s, &audit, &all) : print_text(cli, s, &audit, &all);
}

static gerne_status read_file(gn_cli *cli, const char *path, subject *out)
{
    const audit_options *given = cli->options;
    const gn_label_columns columns = {
        .y = given->y, .a = given->a, .split = given->split, .missing = given->missing};
    return gn_label_table_read(cli->ctx, path, &columns, &out->table);
}

static gerne_status run(gn_cli *cli)
{
    const audit_options *given = cli->options;
    const char *argument = cli->argument_count ? cli->arguments[0] : NULL;
    bool keys = has_data_keys(cli), folder = argument && gn_is_directory(argument);
    if (argument && keys && !folder)
        return gn_fail(cli->ctx, GERNE_EUSAGE,
                       "both a file and data.* keys are given; one of them is enough");
    if (folder)
        GN_TRY(take_folder(cli, argument));
    else if (!argument)
        GN_TRY(check_columns_unused(cli));
    GN_TRY(gn_config_apply(cli->ctx, cli->config, &cli->flags));
    GN_TRY(gn_config_complete(cli->ctx, cli->config));
    if (!argument && !keys)
        gn_log(cli->ctx, GERNE_LOG_INFO,
               "note: neither a file nor data.* keys are given: this is the embedded synthetic "
               "data; 'gerne audit FILE.csv --y COLUMN --a COLUMN' audits your own");
    subject s = {.name = argument ? argument : gn_data_format_name(given->data.format)};
    gerne_status status =
        argument && !folder ? read_file(cli, argument, &s) : read_dataset(cli, &s);
    if (status == GERNE_OK)
        status = report(cli, &s);
    gn_label_table_free(&s.table);
    return status;
}

const gn_command gn_command_audit = {
    .name = "audit",
    .arguments = "[FILE.csv|FOLDER] [data.* keys]",
    .summary = "Measure how biased data is, and suggest what to do about it",
    .help =
        "Reads the class and the attribute of every sample from a CSV file with a header, a\n"
        "folder of images or other data, and reports the sizes of the groups (class y with\n"
        "attribute a), how well the attribute predicts the class, whether the smallest groups\n"
        "are large enough, and which extrapolation factors beta are worth trying. Labels may be\n"
        "numbers or words.\n"
        "\n"
        "  gerne audit metadata.csv --y bird --a background\n"
        "  gerne audit metadata.csv --y bird     (ranks the columns: which one is the shortcut?)\n"
        "  gerne audit labels.csv --strict || echo biased\n"
        "  gerne audit photos                    (a folder of images)\n"
        "  gerne audit --data.format images --data.dir waterbirds --data.preset waterbirds\n"
        "  gerne audit                           (the embedded synthetic data)\n"
        "\n"
        "Of data with splits the training split is audited; one line reports all splits together.\n"
        "The verdict follows from Cramer's V: unbiased below 0.1, strongly biased from 0.5.\n",
    .max_arguments = 1,
    .applies_flags_itself = true,
    .setup = setup,
    .run = run,
};
