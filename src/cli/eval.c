/* eval.c - gerne eval: group metrics with intervals, gates, a comparison. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/counts.h"
#include "cli/eval.h"
#include "metrics/evaluation.h"
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
    {"other-data", GN_BOOL, offsetof(gn_eval_options, other_data), .fallback = "false",
     .help = "of a run: evaluate although its data is not what it was when it was trained (without "
             "this, and without data.* keys, a changed fingerprint is an error)"},
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

/* The sizes of the training groups, NULL when they were not given; in the command's arena. */
static gerne_status take_train_counts(gn_cli *cli, const gn_predictions *predictions,
                                      const gn_counts *counts, uint64_t **out)
{
    const gn_eval_options *given = cli->options;
    *out = NULL;
    if (!given->train_counts)
        return GERNE_OK;
    if (counts->rows != (uint32_t)predictions->classes ||
        counts->columns != (uint32_t)predictions->attributes)
        return gn_fail(cli->ctx, GERNE_EUSAGE,
                       "--train-counts has %u rows of %u, the predictions have %d classes and %d "
                       "attributes",
                       counts->rows, counts->columns, (int)predictions->classes,
                       (int)predictions->attributes);
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, counts->count, sizeof **out, out));
    for (size_t g = 0; g < counts->count; g++)
        (*out)[g] = (uint64_t)counts->items[g];
    return GERNE_OK;
}

static gerne_status compute(gn_cli *cli, const gn_predictions *predictions, gn_metrics *out)
{
    const gn_eval_options *given = cli->options;
    gn_counts counts = {0};
    uint64_t *train = NULL;
    gerne_status status = GERNE_OK;
    if (given->train_counts)
        status = gn_parse_counts(cli->ctx, "train-counts", given->train_counts, &counts);
    if (status == GERNE_OK)
        status = take_train_counts(cli, predictions, &counts, &train);
    gn_free(counts.items);
    GN_TRY(status);
    return gn_metrics_compute(cli->ctx, predictions, train, out);
}

/* ---- gates ---- */

typedef struct gate {
    const char *flag, *metric, *whose, *what;
    double threshold, value;
} gate;

enum { GATES = 3 };

static bool passes(const gate *g)
{
    return g->value >= g->threshold; /* NaN does not */
}

static bool asked(const gn_cli *cli, const char *flag)
{
    return gn_config_origin(cli->config, flag) != GN_UNSET;
}

static gerne_status check_gates(gn_cli *cli)
{
    const gn_eval_options *given = cli->options;
    bool regression = asked(cli, "max-regression");
    if (regression && !given->compare) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "'--max-regression' needs '--compare'");
        gn_hint(cli->ctx, "--compare FILE.csv names the predictions of the reference");
        return GERNE_EUSAGE;
    }
    if (given->gate_ci && !regression && !asked(cli, "min-wga") && !asked(cli, "min-gba"))
        return gn_fail(cli->ctx, GERNE_EUSAGE,
                       "'--gate-ci' needs '--min-wga', '--min-gba' or '--max-regression'");
    return GERNE_OK;
}

/* The gates that were asked for, judged. */
static size_t find_gates(const gn_cli *cli, const gn_metrics *m, const gn_comparison *c,
                         gate out[GATES])
{
    const gn_eval_options *given = cli->options;
    bool low = given->gate_ci;
    size_t count = 0;
    if (asked(cli, "min-wga"))
        out[count++] = (gate){"min-wga",  "wga",          "the worst group's",
                              "accuracy", given->min_wga, low ? m->wga_ci95.lo : m->wga};
    if (asked(cli, "min-gba"))
        out[count++] = (gate){"min-gba",       "gba",          "the groups'",
                              "mean accuracy", given->min_gba, low ? m->gba_ci95.lo : m->gba};
    if (c && asked(cli, "max-regression"))
        out[count++] = (gate){"max-regression",       "wga_difference",
                              "this file's",          "WGA minus the reference's",
                              -given->max_regression, low ? c->wga_ci95.lo : c->wga_difference};
    return count;
}

/* The first that fails, else the first. */
static const gate *decisive(const gate *gates, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!passes(&gates[i]))
            return &gates[i];
    return gates;
}

static json_t *gate_json(const gn_cli *cli, const gate *g)
{
    const gn_eval_options *given = cli->options;
    return json_pack("{s:s, s:s, s:o, s:o, s:b, s:b}", "flag", g->flag, "metric", g->metric,
                     "threshold", gn_json_number(g->threshold), "value", gn_json_number(g->value),
                     "lower_end", given->gate_ci, "passed", passes(g));
}

/* "gate" decides; "gates" has all of them when there are several. */
static void put_gates(const gn_cli *cli, const gate *gates, size_t count, json_t *json)
{
    if (count == 0)
        return;
    json_object_set_new(json, "gate", gate_json(cli, decisive(gates, count)));
    if (count == 1)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, gate_json(cli, &gates[i]));
    json_object_set_new(json, "gates", list);
}

static void apply_gates(gn_cli *cli, const gate *gates, size_t count)
{
    const gn_eval_options *given = cli->options;
    for (size_t i = 0; i < count; i++)
        if (!passes(&gates[i])) {
            cli->gate_failed = true;
            gn_log(cli->ctx, GERNE_LOG_WARNING, "gate: %s %s %.4f is below %g (--%s)",
                   gates[i].whose, given->gate_ci ? "lower end" : gates[i].what, gates[i].value,
                   gates[i].threshold, gates[i].flag);
        }
}

/* ---- comparison ---- */

/* The second file and how it compares; nothing in it when there is none. */
typedef struct other_file {
    gn_prediction_file file;
    gn_metrics metrics;
    gn_comparison comparison;
} other_file;

static gerne_status compare(gn_cli *cli, const gn_prediction_file *first, other_file *other)
{
    const gn_eval_options *given = cli->options;
    if (!given->compare)
        return GERNE_OK;
    GN_TRY(read_file(cli, given->compare, &other->file));
    GN_TRY(gn_predictions_check_paired(cli->ctx, first, given->predictions, &other->file,
                                       given->compare));
    GN_TRY(compute(cli, &other->file.predictions, &other->metrics));
    return gn_compare(cli->ctx, &first->predictions, &other->file.predictions,
                      (uint64_t)given->resamples, 0, &other->comparison);
}

static gerne_status print(gn_cli *cli, const gn_evaluation *evaluation)
{
    gate gates[GATES];
    const gn_metrics *metrics = evaluation->first.metrics;
    size_t count = find_gates(cli, metrics, evaluation->comparison, gates);
    gn_warn_of_empty_groups(cli->ctx, metrics, &evaluation->first.names);
    if (cli->json) {
        json_t *json = gn_evaluation_json(evaluation);
        put_gates(cli, gates, count, json);
        GN_TRY(gn_output_json(cli, json));
    } else {
        GN_TRY(gn_evaluation_print(cli->ctx, evaluation, &cli->output));
    }
    apply_gates(cli, gates, count);
    return GERNE_OK;
}

gerne_status gn_eval_print(gn_cli *cli, const char *title, const gn_metrics *metrics,
                           const gn_group_names *names)
{
    const gn_evaluation evaluation = {.first = {title, metrics, *names}};
    GN_TRY(check_gates(cli));
    return print(cli, &evaluation);
}

static gn_evaluated evaluated(const char *name, const gn_prediction_file *file,
                              const gn_metrics *metrics)
{
    return (gn_evaluated){
        name, metrics, {gn_labels_names(file->classes), gn_labels_names(file->attributes)}};
}

static gerne_status judge(gn_cli *cli, const gn_prediction_file *file, const gn_metrics *metrics)
{
    const gn_eval_options *given = cli->options;
    other_file other = {0};
    gerne_status status = compare(cli, file, &other);
    if (status == GERNE_OK) {
        gn_evaluated second = {0};
        gn_evaluation evaluation = {.first = evaluated(given->predictions, file, metrics)};
        if (given->compare) {
            second = evaluated(given->compare, &other.file, &other.metrics);
            evaluation.second = &second;
            evaluation.comparison = &other.comparison;
        }
        status = print(cli, &evaluation);
    }
    gn_comparison_free(&other.comparison);
    gn_metrics_free(&other.metrics);
    gn_prediction_file_free(&other.file);
    return status;
}

static gerne_status judge_predictions(gn_cli *cli)
{
    const gn_eval_options *given = cli->options;
    GN_TRY(gn_config_apply(cli->ctx, cli->config, &cli->flags));
    GN_TRY(gn_config_complete(cli->ctx, cli->config));
    GN_TRY(check_usage(cli));
    GN_TRY(check_gates(cli));
    gn_prediction_file file = {0};
    gn_metrics metrics = {0};
    gerne_status status = read_file(cli, given->predictions, &file);
    if (status == GERNE_OK)
        status = compute(cli, &file.predictions, &metrics);
    if (status == GERNE_OK)
        status = judge(cli, &file, &metrics);
    gn_metrics_free(&metrics);
    gn_prediction_file_free(&file);
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
