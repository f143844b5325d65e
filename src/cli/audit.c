/* audit.c - `gerne audit`: is the data biased, by how much, and what to do about it. */
#include "base/file.h"
#include "cli/client.h"
#include "data/dataset.h"
#include "data/images.h"
#include "debias/missing.h"

typedef struct audit_options {
    const char *y, *a, *split, *split_column;
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
     .help = "audit the rows with this value of the split column, or all (default: train, where "
             "the data has splits)"},
    {"split-column", GN_TEXT, offsetof(audit_options, split_column),
     .help = "name of the column with the split, 0/1/2 or train/val/test (default: split, if there "
             "is one)"},
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

/* A column without a file is a file forgotten. */
static gerne_status check_columns_unused(gn_cli *cli)
{
    static const char *const keys[] = {"y", "a", "split-column"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (gn_settings_find(&cli->flags, keys[i])) {
            gn_fail(cli->ctx, GERNE_EUSAGE, "--%s names a column, but no file is given", keys[i]);
            gn_hint(cli->ctx, "gerne audit FILE.csv --y COLUMN --a COLUMN; columns of other data "
                              "are named by --data.y, --data.a and --data.split");
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
    static const char *const keys[] = {"data.dir", "data.y", "data.a", "data.split",
                                       "data.missing"};
    static const char *const flags[] = {NULL, "y", "a", "split-column", "missing"};
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

/* ---- auditing ---- */

static gerne_status apply_gate(gn_cli *cli, const gerne_groups *groups)
{
    const audit_options *given = cli->options;
    gerne_bias bias = {.size = sizeof bias};
    if (!given->strict)
        return GERNE_OK;
    GN_TRY(gerne_bias_of(cli->ctx, groups, &bias));
    cli->gate_failed = bias.verdict != GERNE_UNBIASED;
    return GERNE_OK;
}

static gerne_status audit_labels(gn_cli *cli, const char *path, const gerne_label_columns *columns,
                                 char **out)
{
    gerne_labels *labels;
    GN_TRY(gerne_labels_open(cli->ctx, path, columns, &labels));
    gerne_status status = gerne_labels_audit(cli->ctx, labels, gn_form(cli), out);
    if (status == GERNE_OK)
        status = apply_gate(cli, gerne_labels_groups(labels));
    gerne_labels_close(labels);
    return status;
}

static gerne_status audit_file(gn_cli *cli, const char *path, char **out)
{
    const audit_options *given = cli->options;
    const gerne_label_columns columns = {.size = sizeof columns,
                                         .y = given->y,
                                         .a = given->a,
                                         .split = given->split,
                                         .split_column = given->split_column,
                                         .missing = (gerne_missing)given->missing};
    return audit_labels(cli, path, &columns, out);
}

/* The list of images, whose columns are named by data.* keys. */
static gerne_status audit_metadata(gn_cli *cli, const char *path, char **out)
{
    const audit_options *given = cli->options;
    const gerne_label_columns columns = {.size = sizeof columns,
                                         .y = given->data.y,
                                         .split = given->split,
                                         .split_column = given->data.split,
                                         .missing = (gerne_missing)given->data.missing};
    return audit_labels(cli, path, &columns, out);
}

static gerne_status audit_split(gn_cli *cli, const gerne_dataset *dataset, gerne_split split,
                                char **out)
{
    gerne_groups *groups;
    GN_TRY(gerne_dataset_audit(cli->ctx, dataset, split, gn_form(cli), out));
    GN_TRY(gerne_dataset_groups(cli->ctx, dataset, split, &groups));
    gerne_status status = apply_gate(cli, groups);
    gerne_groups_close(groups);
    return status;
}

static gerne_status open_dataset(gn_cli *cli, gerne_dataset **out)
{
    gerne_config *config;
    GN_TRY(gerne_config_new(cli->ctx, &config));
    gerne_status status = gn_set_flags(cli, gn_is_data_key, NULL, config);
    if (status == GERNE_OK)
        status = gerne_dataset_open(cli->ctx, config, out);
    gerne_config_close(config);
    return status;
}

static gerne_status audit_dataset(gn_cli *cli, const char *folder, char **out)
{
    const audit_options *given = cli->options;
    gerne_dataset *dataset;
    const char *metadata;
    GN_TRY(gn_metadata_to_rank(cli->ctx, cli->arena, &given->data, &metadata));
    if (metadata)
        return audit_metadata(cli, metadata, out);
    int split = given->split ? gn_choice_index(GN_SPLIT_CHOICES, given->split) : GERNE_TRAIN;
    if (split < 0)
        return gn_fail(cli->ctx, GERNE_EUSAGE, "--split '%s' is not train, val, test or all",
                       given->split);
    GN_TRY(open_dataset(cli, &dataset));
    gerne_status status = folder ? gerne_dataset_set_name(cli->ctx, dataset, folder) : GERNE_OK;
    if (status == GERNE_OK)
        status = audit_split(cli, dataset, (gerne_split)split, out);
    gerne_dataset_close(dataset);
    return status;
}

static gerne_status refuse_data_keys(gn_cli *cli)
{
    gn_fail(cli->ctx, GERNE_EUSAGE, "both a file and data.* keys are given; one of them is enough");
    gn_hint(cli->ctx, "--y, --a, --split-column and --missing are for a file");
    return GERNE_EUSAGE;
}

static gerne_status run(gn_cli *cli)
{
    const char *argument = cli->argument_count ? cli->arguments[0] : NULL;
    bool keys = gn_has_data_keys(cli), folder = argument && gn_is_directory(argument);
    char *out = NULL;
    if (argument && keys && !folder)
        return refuse_data_keys(cli);
    if (folder)
        GN_TRY(take_folder(cli, argument));
    else if (!argument)
        GN_TRY(check_columns_unused(cli));
    GN_TRY(gn_config_apply(cli->ctx, cli->config, &cli->flags));
    if (!argument && !keys)
        gn_log(cli->ctx, GERNE_LOG_INFO,
               "note: neither a file nor data.* keys are given: this is the embedded synthetic "
               "data; 'gerne audit FILE.csv --y COLUMN --a COLUMN' audits your own");
    gerne_status status =
        argument && !folder ? audit_file(cli, argument, &out) : audit_dataset(cli, argument, &out);
    return gn_output_text(cli, status, out);
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
