/* eval_model.c - gerne eval RUN|WEIGHTS: group metrics of a model on its data. */
#include <string.h>

#include "cli/eval.h"
#include "data/dataset.h"

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

static gerne_status parse_split(gn_cli *cli, gerne_split *out)
{
    const gn_eval_options *given = cli->options;
    int split = given->split ? gn_choice_index(GN_SPLIT_CHOICES, given->split) : GERNE_TEST;
    *out = (gerne_split)split;
    return split >= 0 ? GERNE_OK
                      : gn_fail(cli->ctx, GERNE_EUSAGE, "split: '%s' is not one of %s",
                                given->split, GN_SPLIT_CHOICES);
}

static gerne_status judge(gn_cli *cli, gerne_model *model, gerne_split split)
{
    gerne_metrics metrics = {.size = sizeof metrics};
    char *out = NULL;
    gerne_status status =
        gerne_model_evaluate(cli->ctx, model, NULL, split, &metrics, gn_form(cli), &out);
    return gn_eval_output(cli, status, &metrics, NULL, out);
}

gerne_status gn_eval_model(gn_cli *cli)
{
    gerne_model *model;
    gerne_split split;
    GN_TRY(check_usage(cli));
    GN_TRY(gn_config_apply(cli->ctx, cli->config, &cli->flags));
    GN_TRY(parse_split(cli, &split));
    GN_TRY(gn_eval_check_gates(cli));
    GN_TRY(gn_open_model(cli, &model));
    gerne_status status = judge(cli, model, split);
    gerne_model_close(model);
    return status;
}
