/* eval.c - gerne eval: group metrics of files of predictions, and a comparison of two. */
#include "cli/eval.h"

#include <string.h>

#include "cli/counts.h"
#include "metrics/predictions_csv.h"

static const gn_option options[] = {
    {"predictions", GN_TEXT, offsetof(gn_eval_options, predictions),
     .help = "predictions to evaluate: a CSV file with columns y, a and pred or "
             "prob_<class>; - reads standard input"},
    {"y", GN_TEXT, offsetof(gn_eval_options, y), .fallback = "y",
     .help = "name of the column with the true class"},
    {"a", GN_TEXT, offsetof(gn_eval_options, a), .fallback = "a",
     .help = "name of the column with the attribute"},
    {"pred", GN_TEXT, offsetof(gn_eval_options, pred), .fallback = "pred",
     .help = "name of the column with the predicted class"},
    {"score", GN_TEXT, offsetof(gn_eval_options, score),
     .help = "name of the column with the probability of the second of two classes, instead of "
             "prob_<class>"},
    {"missing", GN_CHOICE, offsetof(gn_eval_options, missing), .fallback = "error",
     .choices = GN_MISSING_CHOICES, .help = GN_MISSING_HELP},
    {"split", GN_TEXT, offsetof(gn_eval_options, split),
     .help = "evaluate only the rows with this value in column 'split'; of a model: "
             "train, val, test (default) or all"},
    {"classes", GN_TEXTS, offsetof(gn_eval_options, classes),
     .help = "all classes, if some have no samples and no prob_<class> column"},
    {"train-counts", GN_TEXT, offsetof(gn_eval_options, train_counts),
     .help =
         "sizes of the training groups as for 'bounds --counts', for adj_acc_avg and minority_acc"},
    {"compare", GN_TEXT, offsetof(gn_eval_options, compare),
     .help = "reference to compare with: other predictions on the same samples"},
    {"resamples", GN_INT, offsetof(gn_eval_options, resamples), .fallback = "10000", .min = 100,
     .max = 1000000, .help = "bootstrap resamples for the intervals of a comparison"},
    {"min-wga", GN_REAL, offsetof(gn_eval_options, min_wga), .min = 0, .max = 1,
     .help = "gate: exit with code 3 if the worst-group accuracy (a fraction) is below this"},
    {"min-gba", GN_REAL, offsetof(gn_eval_options, min_gba), .min = 0, .max = 1,
     .help = "gate: exit with code 3 if the mean accuracy of the groups (a fraction) "
             "is below this"},
    {"max-regression", GN_REAL, offsetof(gn_eval_options, max_regression), .min = 0, .max = 1,
     .help = "gate: exit with code 3 if WGA is lower than that of --compare by more than this"},
    {"other-data", GN_BOOL, offsetof(gn_eval_options, use.other_data), .fallback = "false",
     .help = GN_OTHER_DATA_HELP},
    {"gate-ci", GN_BOOL, offsetof(gn_eval_options, gate_ci), .fallback = "false",
     .help = "apply the gates to the lower end of the interval instead of the estimate"},
};

static const char help[] =
    "Evaluates a run, a weights file, or the predictions of any model. Prints the accuracy of\n"
    "every group (class y with attribute a) with an exact 95% interval, worst-group accuracy\n"
    "(WGA), the mean of the groups (GBA) and further metrics, which docs/metrics.md defines.\n"
    "\n"
    "  gerne eval runs/birds --min-wga 0.85 || echo not good enough\n"
    "  gerne eval runs/birds --data.dir photos-of-2026 --split all\n"
    "  gerne eval --predictions test.csv\n"
    "  gerne eval --predictions test.csv --y label --a background --pred guess --json\n"
    "  gerne eval --predictions new.csv --compare old.csv --max-regression 0.01\n"
    "  model | gerne eval --predictions - --score probability\n"
    "\n"
    "A run is evaluated on its own data unless data.* keys name other data. A weights file needs\n"
    "data.* keys, and --model.arch unless its metadata names the network (best.safetensors of a "
    "run does).\n"
    "With prob_<class> columns, AUROC and calibration error are computed too; without a column\n"
    "pred, the prediction is the most probable class, the first on ties.\n";

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 1, sizeof(gn_eval_options), &cli->options));
    gn_eval_options *given = cli->options;
    GN_TRY(gn_config_add(cli->ctx, cli->config, "", "Evaluation", options,
                         sizeof options / sizeof options[0], given));
    return gn_trained_options_add(cli->ctx, cli->config, &given->use);
}

static gerne_status check_usage(gn_cli *cli)
{
    const gn_eval_options *given = cli->options;
    if (!given->predictions) {
        gn_fail(cli->ctx, GERNE_EUSAGE,
                "nothing to evaluate: no run, weights or predictions given");
        gn_hint(cli->ctx, "gerne eval RUN, or gerne eval --predictions FILE.csv");
        return GERNE_EUSAGE;
    }
    if (given->compare && strcmp(given->predictions, "-") == 0 && strcmp(given->compare, "-") == 0)
        return gn_fail(cli->ctx, GERNE_EUSAGE,
                       "--predictions and --compare cannot both read standard input");
    return GERNE_OK;
}

/* ---- a file of predictions as the library takes it ---- */

typedef struct subject {
    gn_prediction_file file;
    gn_counts counts;
    gerne_predicted predicted; /* of the two above */
} subject;

static void free_subject(subject *s)
{
    gn_free(s->counts.items);
    gn_prediction_file_free(&s->file);
}

static gerne_status read_file(gn_cli *cli, const char *path, gn_prediction_file *out)
{
    const gn_eval_options *given = cli->options;
    const gn_prediction_columns columns = {
        .y = given->y,
        .a = given->a,
        .pred = given->pred,
        .score = given->score,
        .missing = given->missing,
        .split = given->split,
        .classes = given->classes.items,
        .class_count = given->classes.count,
    };
    GN_TRY(gn_predictions_read(cli->ctx, path, &columns, out));
    if (out->disagreements)
        gn_log(
            cli->ctx, GERNE_LOG_WARNING,
            "%s: in %llu row%s column '%s' is not the most probable class; accuracies follow the "
            "column, AUROC and ECE the probabilities",
            path, (unsigned long long)out->disagreements, out->disagreements == 1 ? "" : "s",
            given->pred);
    if (out->splits_mixed)
        gn_log(cli->ctx, GERNE_LOG_WARNING,
               "%s: column 'split' has several values and all rows are evaluated "
               "together; --split NAME selects one",
               path);
    return GERNE_OK;
}

static gerne_status read_counts(gn_cli *cli, const gn_predictions *predictions, gn_counts *out)
{
    const gn_eval_options *given = cli->options;
    if (!given->train_counts)
        return GERNE_OK;
    GN_TRY(gn_parse_counts(cli->ctx, "train-counts", given->train_counts, out));
    if (out->rows == (uint32_t)predictions->classes &&
        out->columns == (uint32_t)predictions->attributes)
        return GERNE_OK;
    return gn_fail(cli->ctx, GERNE_EUSAGE,
                   "--train-counts has %u rows of %u, the predictions have %d classes and %d "
                   "attributes",
                   out->rows, out->columns, (int)predictions->classes,
                   (int)predictions->attributes);
}

static gerne_status read_subject(gn_cli *cli, const char *path, subject *out)
{
    const gn_predictions *p = &out->file.predictions;
    GN_TRY(read_file(cli, path, &out->file));
    GN_TRY(read_counts(cli, p, &out->counts));
    out->predicted = (gerne_predicted){
        .size = sizeof out->predicted,
        .n = p->count,
        .classes = (uint32_t)p->classes,
        .attributes = (uint32_t)p->attributes,
        .y = p->y,
        .a = p->a,
        .pred = p->pred,
        .probabilities = p->probabilities,
        .class_names = gn_labels_names(out->file.classes),
        .attribute_names = gn_labels_names(out->file.attributes),
        .train_counts = out->counts.items,
        .name = path,
    };
    return GERNE_OK;
}

/* ---- judging ---- */

static gerne_status judge(gn_cli *cli, subject *s)
{
    const gn_eval_options *given = cli->options;
    gerne_metrics metrics = {.size = sizeof metrics};
    char *out = NULL;
    GN_TRY(read_subject(cli, given->predictions, s));
    gerne_status status = gerne_evaluate(cli->ctx, &s->predicted, &metrics, gn_form(cli), &out);
    return gn_eval_output(cli, status, &metrics, NULL, out);
}

static gerne_status compare(gn_cli *cli, subject *first, subject *second)
{
    const gn_eval_options *given = cli->options;
    uint64_t resamples = (uint64_t)given->resamples;
    gerne_metrics metrics = {.size = sizeof metrics};
    gerne_differences differences = {.size = sizeof differences};
    char *out = NULL;
    GN_TRY(read_subject(cli, given->predictions, first));
    GN_TRY(read_subject(cli, given->compare, second));
    GN_TRY(gn_predictions_check_paired(cli->ctx, &first->file, given->predictions, &second->file,
                                       given->compare));
    GN_TRY(gerne_evaluate(cli->ctx, &first->predicted, &metrics, gn_form(cli), NULL));
    bool gate = gn_config_origin(cli->config, "max-regression") != GN_UNSET;
    if (gate)
        GN_TRY(gerne_differences_of(cli->ctx, &first->predicted, &second->predicted, resamples,
                                    &differences));
    gerne_status status = gerne_compare(cli->ctx, &first->predicted, &second->predicted, resamples,
                                        gn_form(cli), &out);
    return gn_eval_output(cli, status, &metrics, gate ? &differences : NULL, out);
}

static gerne_status judge_predictions(gn_cli *cli)
{
    const gn_eval_options *given = cli->options;
    subject first = {0}, second = {0};
    GN_TRY(gn_config_apply(cli->ctx, cli->config, &cli->flags));
    GN_TRY(gn_config_complete(cli->ctx, cli->config));
    GN_TRY(check_usage(cli));
    GN_TRY(gn_eval_check_gates(cli));
    gerne_status status = given->compare ? compare(cli, &first, &second) : judge(cli, &first);
    free_subject(&first);
    free_subject(&second);
    return status;
}

static gerne_status run(gn_cli *cli)
{
    return cli->argument_count ? gn_eval_model(cli) : judge_predictions(cli);
}

const gn_command gn_command_eval = {
    .name = "eval",
    .arguments = "RUN|WEIGHTS | --predictions FILE.csv",
    .summary = "Evaluate models or predictions by group, with intervals and a gate",
    .help = help,
    .max_arguments = 1,
    .applies_flags_itself = true,
    .setup = setup,
    .run = run,
};
