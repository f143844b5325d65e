/* eval_model.c - gerne eval RUN|WEIGHTS: opens a model and its data, and prints the metrics. */
#include <string.h>

#include "base/file.h"
#include "cli/eval.h"
#include "train/judge.h"
#include "train/same_data.h"

static gerne_status check_usage(gn_cli *cli)
{
    static const char *const of_predictions[] = {
        "predictions", "compare", "train-counts", "classes", "y",
        "a",           "pred",    "score",        "missing", "max-regression"};
    for (size_t i = 0; i < sizeof of_predictions / sizeof of_predictions[0]; i++)
        if (gn_settings_find(&cli->flags, of_predictions[i])) {
            gn_fail(cli->ctx, GERNE_EUSAGE, "'--%s' applies to a predictions file, not to '%s'",
                    of_predictions[i], cli->arguments[0]);
            gn_hint(cli->ctx, "gerne predict %s > new.csv && gerne eval --predictions new.csv ...",
                    cli->arguments[0]);
            return GERNE_EUSAGE;
        }
    size_t length = strlen(cli->arguments[0]);
    if (length < 4 || strcmp(cli->arguments[0] + length - 4, ".csv") != 0)
        return GERNE_OK;
    gn_fail(cli->ctx, GERNE_EUSAGE, "'%s' is a CSV file, not a run or weights", cli->arguments[0]);
    gn_hint(cli->ctx, "gerne eval --predictions %s", cli->arguments[0]);
    return GERNE_EUSAGE;
}

/* Keys of data mean other data. */
static bool names_data(const gn_settings *flags)
{
    for (size_t i = 0; i < flags->count; i++)
        if (strncmp(flags->list[i].key, "data.", 5) == 0)
            return true;
    return false;
}

static gerne_status parse_split(gn_cli *cli, gn_split *out)
{
    const gn_eval_options *given = cli->options;
    int split = given->split ? gn_choice_index(GN_SPLIT_CHOICES, given->split) : GN_TEST;
    *out = (gn_split)split;
    return split >= 0 ? GERNE_OK
                      : gn_fail(cli->ctx, GERNE_EUSAGE, "split: '%s' is not one of %s",
                                given->split, GN_SPLIT_CHOICES);
}

static gerne_status judge(gn_cli *cli, gn_trained_model *model, gn_split split)
{
    char title[GN_JUDGEMENT_TITLE];
    gn_model_data data;
    gn_predictor *predictor = NULL;
    gn_judgement judgement = {0};
    GN_TRY(gn_trained_model_data(cli->ctx, model, split, &data));
    gerne_status status = gn_predictor_new(cli->ctx, model, &data, &predictor);
    if (status == GERNE_OK)
        status = gn_judge(cli->ctx, model, &data, predictor, &judgement);
    if (status == GERNE_OK)
        status = gn_eval_print(cli, gn_judgement_title(cli->arguments[0], split, title),
                               &judgement.metrics, &judgement.names);
    gn_judgement_free(&judgement);
    gn_predictor_close(predictor);
    gn_model_data_close(&data);
    return status;
}

gerne_status gn_eval_model(gn_cli *cli)
{
    gn_eval_options *given = cli->options;
    const char *path = cli->arguments[0];
    gn_trained_model *model;
    gn_split split;
    GN_TRY(check_usage(cli));
    GN_TRY(gn_trained_options_resolve(cli->ctx, cli->config, path, &cli->flags, &given->use));
    GN_TRY(parse_split(cli, &split));
    if (gn_is_directory(path) && !given->other_data && !names_data(&cli->flags))
        GN_TRY(gn_same_data_check(cli->ctx, path, "--other-data"));
    GN_TRY(gn_trained_model_open(cli->ctx, path, &given->use, &model));
    gerne_status status = judge(cli, model, split);
    gn_trained_model_close(model);
    return status;
}
