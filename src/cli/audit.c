/* audit.c - `gerne audit`: is the data biased, by how much, and what to do about it. */
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "cli/command.h"
#include "data/dataset.h"
#include "debias/audit.h"
#include "debias/groups.h"
#include "debias/tally.h"

/* More different values than this are measurements or names, not labels. */
enum { LABEL_LIMIT = 10000 };

typedef struct audit_options {
    const char *y, *a, *split;
    bool strict;
    gn_data_options data;
} audit_options;

static const gn_option options[] = {
    {"y", GN_TEXT, offsetof(audit_options, y), .fallback = "y",
     .help = "name of the column with the class"},
    {"a", GN_TEXT, offsetof(audit_options, a), .fallback = "a",
     .help = "name of the column with the attribute"},
    {"split", GN_TEXT, offsetof(audit_options, split),
     .help = "audit only the rows with this text in column 'split'; with data.* keys the split "
             "(train, val, test, all; default train)"},
    {"strict", GN_BOOL, offsetof(audit_options, strict), .fallback = "false",
     .help = "gate: exit with 3 when the data is biased"},
};

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 1, sizeof(audit_options), &cli->options));
    GN_TRY(gn_config_add(cli->ctx, cli->config, "", "Audit", options,
                         sizeof options / sizeof options[0], cli->options));
    audit_options *given = cli->options;
    return gn_data_options_add(cli->ctx, cli->config, &given->data);
}

/* ---- the groups of a CSV file ---- */

typedef struct columns {
    size_t y, a, split;
    bool by_split;
} columns;

static gerne_status find_columns(gn_cli *cli, gn_csv *csv, columns *out)
{
    const audit_options *given = cli->options;
    if (strcmp(given->y, given->a) == 0)
        return gn_fail(cli->ctx, GERNE_EUSAGE, "class and attribute are the same column '%s'",
                       given->y);
    gerne_status status = gn_csv_require(csv, given->y, &out->y);
    const char *key = "y";
    if (status == GERNE_OK) {
        status = gn_csv_require(csv, given->a, &out->a);
        key = "a";
    }
    if (status != GERNE_OK) {
        char known[600];
        snprintf(known, sizeof known, "%s", gerne_hint(cli->ctx));
        gn_hint(cli->ctx, "name another with --%s; %s", key, known);
        return status;
    }
    out->by_split = given->split != NULL;
    if (out->by_split)
        return gn_csv_require(csv, "split", &out->split);
    if (gn_csv_column(csv, "split") >= 0)
        gn_log(cli->ctx, GERNE_LOG_INFO,
               "note: all splits are audited together; '--split train' takes those rows alone");
    return GERNE_OK;
}

static gerne_status add_label(gerne_ctx *ctx, gn_csv *csv, size_t column, gn_labels *labels,
                              uint32_t *number)
{
    gerne_status status = gn_labels_add(ctx, labels, gn_csv_cell(csv, column), number);
    if (status == GERNE_EDATA)
        gn_csv_fail(csv, status, (ptrdiff_t)column, "%s", gerne_message(ctx));
    return status;
}

static gerne_status count_rows(gn_cli *cli, gn_csv *csv, const columns *at, gn_tally *tally)
{
    const audit_options *given = cli->options;
    for (;;) {
        bool more;
        GN_TRY(gn_csv_next(csv, &more));
        if (!more)
            return GERNE_OK;
        if (at->by_split && strcmp(gn_csv_cell(csv, at->split), given->split) != 0)
            continue;
        uint32_t y, a;
        GN_TRY(add_label(cli->ctx, csv, at->y, tally->y, &y));
        GN_TRY(add_label(cli->ctx, csv, at->a, tally->a, &a));
        GN_TRY(gn_tally_count(cli->ctx, tally, y, a));
    }
}

static gerne_status check_rows(gn_cli *cli, const char *path, const gn_tally *tally)
{
    const audit_options *given = cli->options;
    uint32_t classes = gn_labels_count(tally->y);
    if (classes == 0 && given->split)
        return gn_fail(cli->ctx, GERNE_EDATA, "%s has no rows with split '%s'", path, given->split);
    if (classes == 0)
        return gn_fail(cli->ctx, GERNE_EDATA, "%s has no rows after its header", path);
    if (classes > 1)
        return GERNE_OK;
    gn_fail(cli->ctx, GERNE_EDATA, "%s, column '%s': all rows have the same class", path, given->y);
    gn_hint(cli->ctx,
            "bias is a class that can be guessed from an attribute; it takes two classes");
    return GERNE_EDATA;
}

static gerne_status count_csv(gn_cli *cli, const char *path, gn_tally *tally)
{
    gn_csv *csv;
    columns at = {0};
    GN_TRY(gn_csv_open(cli->ctx, path, NULL, &csv));
    gerne_status status = find_columns(cli, csv, &at);
    if (status == GERNE_OK)
        status = count_rows(cli, csv, &at, tally);
    if (status == GERNE_OK)
        status = check_rows(cli, path, tally);
    gn_csv_close(csv);
    return status;
}

static gerne_status groups_of_csv(gn_cli *cli, const char *path, gerne_groups **out)
{
    *out = NULL;
    gn_tally tally;
    gerne_status status = gn_tally_start(cli->ctx, LABEL_LIMIT, &tally);
    if (status == GERNE_OK)
        status = count_csv(cli, path, &tally);
    if (status == GERNE_OK)
        status = gn_tally_finish(cli->ctx, &tally, out);
    gn_tally_free(&tally);
    return status;
}

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

/* The counts of the split that was asked for; all splits together for "all". */
static gerne_status count_dataset(gn_cli *cli, const gn_dataset *dataset, int64_t *counts)
{
    const audit_options *given = cli->options;
    const char *wanted = given->split ? given->split : "train";
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

static gerne_status groups_of_dataset(gn_cli *cli, gerne_groups **out)
{
    audit_options *given = cli->options;
    gn_dataset *dataset;
    int64_t *counts;
    *out = NULL;
    GN_TRY(gn_dataset_open(cli->ctx, &given->data, &dataset));
    gerne_status status = check_dataset(cli, dataset);
    if (status == GERNE_OK)
        status =
            gn_arena_alloc(cli->ctx, cli->arena, (size_t)dataset->classes * dataset->attributes,
                           sizeof *counts, &counts);
    if (status == GERNE_OK)
        status = count_dataset(cli, dataset, counts);
    if (status == GERNE_OK)
        status =
            gerne_groups_from_counts(cli->ctx, counts, dataset->classes, dataset->attributes, out);
    if (status == GERNE_OK)
        status =
            gerne_groups_set_names(cli->ctx, *out, dataset->class_names, dataset->attribute_names);
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
        if (gn_config_origin(cli->config, keys[i]) != GN_DEFAULT) {
            gn_fail(cli->ctx, GERNE_EUSAGE, "--%s names a column, but no file is given", keys[i]);
            gn_hint(cli->ctx, "gerne audit FILE.csv --y COLUMN --a COLUMN; columns of other data "
                              "are named by --data.y and --data.a");
            return GERNE_EUSAGE;
        }
    return GERNE_OK;
}

/* ---- what is said about groups, wherever they come from ---- */

static gerne_status report(gn_cli *cli, const char *name, const gerne_groups *groups)
{
    const audit_options *given = cli->options;
    gn_audit audit;
    GN_TRY(gn_audit_of(cli->ctx, groups, &audit));
    cli->gate_failed = given->strict && audit.verdict != GN_UNBIASED;
    if (!cli->json)
        return gn_audit_print(cli->ctx, &audit, name, &cli->output);
    json_t *json;
    GN_TRY(gn_audit_json(cli->ctx, &audit, &json));
    return gn_output_json(cli, json);
}

static gerne_status run(gn_cli *cli)
{
    const audit_options *given = cli->options;
    bool keys = has_data_keys(cli), dataset = cli->argument_count == 0;
    if (!dataset && keys)
        return gn_fail(cli->ctx, GERNE_EUSAGE,
                       "both a file and data.* keys are given; one of them is enough");
    if (dataset)
        GN_TRY(check_columns_unused(cli));
    if (dataset && !keys)
        gn_log(cli->ctx, GERNE_LOG_INFO,
               "note: neither a file nor data.* keys are given: this is the embedded synthetic "
               "data; 'gerne audit FILE.csv --y COLUMN --a COLUMN' audits your own");
    gerne_groups *groups;
    const char *name = dataset ? gn_data_format_name(given->data.format) : cli->arguments[0];
    GN_TRY(dataset ? groups_of_dataset(cli, &groups) : groups_of_csv(cli, name, &groups));
    gerne_status status = report(cli, name, groups);
    gerne_groups_close(groups);
    return status;
}

const gn_command gn_command_audit = {
    .name = "audit",
    .arguments = "[FILE.csv] [data.* keys]",
    .summary = "Tell whether data invites a shortcut, and what to do about it",
    .help = "Reads the class and the attribute of every sample from a CSV file with a header, and\n"
            "says how the groups (class y with attribute a) are filled, how well the attribute\n"
            "predicts the class, whether the smallest groups suffice, and which extrapolation\n"
            "factors beta are worth trying. Labels may be numbers or words.\n"
            "\n"
            "  gerne audit metadata.csv --y bird --a background --split train\n"
            "  gerne audit labels.csv --strict || echo biased\n"
            "  gerne audit --data.format images --data.dir waterbirds\n"
            "  gerne audit                        (the embedded synthetic data)\n"
            "\n"
            "The verdict goes by Cramer's V: unbiased below 0.1, strongly biased from 0.5.\n",
    .max_arguments = 1,
    .setup = setup,
    .run = run,
};
