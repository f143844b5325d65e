/* eval_model.c - gerne eval RUN|WEIGHTS: the network is run over the data, then judged by group. */
#include <stdio.h>
#include <string.h>

#include "cli/eval.h"
#include "debias/groups.h"

/* Classes by the model's numbers; attributes by the model's where it knows all of the data's, so
 * that y = a means the same as in training, else by the data's own. */
typedef struct label_space {
    uint32_t attributes;
    const char *const *attribute_names;
    int32_t *attribute_of; /* [data's attributes] */
} label_space;

static int32_t find_name(const char *name, const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return (int32_t)i;
    return -1;
}

static gerne_status match_attributes(gn_cli *cli, const gn_use *use, label_space *out)
{
    static const char *const none[] = {GN_ALL_SAMPLES};
    const gn_dataset *data = use->source;
    const gn_model_card *card = use->card;
    *out = (label_space){.attributes = 1, .attribute_names = none};
    if (!data->a)
        return GERNE_OK;
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, data->attributes, sizeof *out->attribute_of,
                          &out->attribute_of));
    bool known = card->attributes > 0;
    for (uint32_t a = 0; a < data->attributes; a++) {
        out->attribute_of[a] =
            find_name(data->attribute_names[a], card->attribute_names, card->attributes);
        known = known && out->attribute_of[a] >= 0;
    }
    out->attributes = known ? card->attributes : data->attributes;
    out->attribute_names = known ? card->attribute_names : data->attribute_names;
    for (uint32_t a = 0; !known && a < data->attributes; a++)
        out->attribute_of[a] = (int32_t)a;
    return GERNE_OK;
}

static gerne_status check_classes(gn_cli *cli, const gn_use *use)
{
    const gn_dataset *data = use->source;
    if (!data->y) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "the data has no labels, so there is nothing to judge by");
        gn_hint(cli->ctx, "'gerne predict' works without labels");
        return GERNE_EUSAGE;
    }
    for (uint32_t y = 0; y < data->classes; y++)
        if (use->class_of[y] < 0) {
            gn_fail(cli->ctx, GERNE_EUSAGE, "the model has no class '%s'", data->class_names[y]);
            gn_hint(cli->ctx, "its %u classes are '%s' to '%s'", use->card->classes,
                    use->card->class_names[0], use->card->class_names[use->card->classes - 1]);
            return GERNE_EUSAGE;
        }
    return GERNE_OK;
}

typedef struct judged_batch {
    gn_cli *cli;
    const gn_use *use;
    const label_space *space;
    gn_predictions *predictions;
} judged_batch;

static gerne_status add_batch(void *user, const gn_inferred *inferred)
{
    const judged_batch *b = user;
    const gn_dataset *data = b->use->source;
    size_t classes = (size_t)b->predictions->classes;
    for (size_t i = 0; i < inferred->count; i++) {
        uint32_t sample = inferred->samples[i];
        int32_t y = b->use->class_of[data->y[sample]];
        int32_t a = data->a ? b->space->attribute_of[data->a[sample]] : 0;
        GN_TRY(gn_predictions_add_logits(b->cli->ctx, b->predictions,
                                         inferred->logits + i * classes, &y, &a, 1));
    }
    return GERNE_OK;
}

/* The data's training counts in the label space of the predictions. */
static gerne_status move_counts(gn_cli *cli, const gn_use *use, const label_space *space,
                                uint64_t **out)
{
    const gn_dataset *data = use->source;
    *out = NULL;
    if (!use->train_counts)
        return GERNE_OK;
    uint64_t total = 0;
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, (size_t)use->card->classes * space->attributes,
                          sizeof **out, out));
    for (uint32_t y = 0; y < data->classes; y++)
        for (uint32_t a = 0; a < data->attributes; a++) {
            uint64_t count = use->train_counts[(size_t)y * data->attributes + a];
            (*out)[(size_t)use->class_of[y] * space->attributes + (size_t)space->attribute_of[a]] +=
                count;
            total += count;
        }
    if (!total)
        *out = NULL; /* test data alone: there is no training split to weigh by */
    return GERNE_OK;
}

static gerne_status judge(gn_cli *cli, const gn_use *use, const char *split,
                          gn_predictions *predictions, gn_metrics *metrics)
{
    label_space space;
    uint64_t *counts;
    char title[512];
    GN_TRY(check_classes(cli, use));
    GN_TRY(match_attributes(cli, use, &space));
    GN_TRY(gn_check_group_count(cli->ctx, use->card->classes, space.attributes));
    gn_predictions_init(predictions, (int32_t)use->card->classes, (int32_t)space.attributes, true);
    judged_batch batch = {.cli = cli, .use = use, .space = &space, .predictions = predictions};
    GN_TRY(gn_inference_run(use->inference, "evaluate", use->samples.items, use->samples.count,
                            add_batch, &batch));
    GN_TRY(move_counts(cli, use, &space, &counts));
    GN_TRY(gn_metrics_compute(cli->ctx, predictions, counts, metrics));
    const gn_group_names names = {use->card->class_names, space.attribute_names};
    snprintf(title, sizeof title, "%s, %s%s", cli->arguments[0],
             strcmp(split, "all") == 0 ? "all splits" : "split ",
             strcmp(split, "all") == 0 ? "" : split);
    return gn_eval_print(cli, title, metrics, &names);
}

static gerne_status check_usage(gn_cli *cli)
{
    static const char *const of_predictions[] = {
        "predictions", "compare", "train-counts", "classes", "y",
        "a",           "pred",    "score",        "missing", "max-regression"};
    for (size_t i = 0; i < sizeof of_predictions / sizeof of_predictions[0]; i++)
        if (gn_settings_find(&cli->flags, of_predictions[i])) {
            gn_fail(cli->ctx, GERNE_EUSAGE, "'--%s' belongs to a file of predictions, not to '%s'",
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

gerne_status gn_eval_model(gn_cli *cli)
{
    gn_eval_options *given = cli->options;
    gn_use use = {0};
    gn_predictions predictions = {0};
    gn_metrics metrics = {0};
    GN_TRY(check_usage(cli));
    const gn_setting *flag = gn_settings_find(&cli->flags, "split");
    const char *split = flag && flag->count ? flag->items[0] : "test";
    gerne_status status = gn_use_open(cli, &given->use, cli->arguments[0], split, &use);
    if (status == GERNE_OK)
        status = judge(cli, &use, split, &predictions, &metrics);
    gn_metrics_free(&metrics);
    gn_predictions_free(&predictions);
    gn_use_close(&use);
    return status;
}
