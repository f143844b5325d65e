#include "train/judge.h"

#include <stdio.h>
#include <string.h>

#include "debias/groups.h"

/* From the data's labels to those of the predictions. Attributes are the model's where it knows all
 * of the data's, so that a group has the number that it had in training. */
typedef struct label_map {
    gn_arena *arena;
    const gn_dataset *dataset;
    int32_t *class_of, *attribute_of;
    uint32_t classes, attributes;
    gn_group_names names;
} label_map;

static int32_t find_name(const char *name, const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return (int32_t)i;
    return -1;
}

static gerne_status match_classes(gerne_ctx *ctx, const gn_model_card *card, label_map *map)
{
    const gn_dataset *dataset = map->dataset;
    if (!dataset->y) {
        gn_fail(ctx, GERNE_EUSAGE, "the data has no labels to compare predictions with");
        gn_hint(ctx, "'gerne predict' works without labels");
        return GERNE_EUSAGE;
    }
    map->classes = card->classes;
    map->names.classes = card->class_names;
    GN_TRY(
        gn_arena_alloc(ctx, map->arena, dataset->classes, sizeof *map->class_of, &map->class_of));
    for (uint32_t y = 0; y < dataset->classes; y++) {
        map->class_of[y] = find_name(dataset->class_names[y], card->class_names, card->classes);
        if (map->class_of[y] >= 0)
            continue;
        gn_fail(ctx, GERNE_EUSAGE, "the model has no class '%s'", dataset->class_names[y]);
        gn_hint(ctx, "its %u classes are '%s' to '%s'", card->classes, card->class_names[0],
                card->class_names[card->classes - 1]);
        return GERNE_EUSAGE;
    }
    return GERNE_OK;
}

static gerne_status match_attributes(gerne_ctx *ctx, const gn_model_card *card, label_map *map)
{
    static const char *const none[] = {GN_ALL_SAMPLES};
    const gn_dataset *dataset = map->dataset;
    map->attributes = 1;
    map->names.attributes = none;
    if (!dataset->a)
        return GERNE_OK;
    GN_TRY(gn_arena_alloc(ctx, map->arena, dataset->attributes, sizeof *map->attribute_of,
                          &map->attribute_of));
    bool known = card->attributes > 0;
    for (uint32_t a = 0; a < dataset->attributes; a++) {
        map->attribute_of[a] =
            find_name(dataset->attribute_names[a], card->attribute_names, card->attributes);
        known = known && map->attribute_of[a] >= 0;
    }
    map->attributes = known ? card->attributes : dataset->attributes;
    map->names.attributes = known ? card->attribute_names : dataset->attribute_names;
    for (uint32_t a = 0; !known && a < dataset->attributes; a++)
        map->attribute_of[a] = (int32_t)a;
    return GERNE_OK;
}

typedef struct batch_sink {
    gerne_ctx *ctx;
    const label_map *map;
    gn_predictions *predictions;
} batch_sink;

static gerne_status add_batch(void *user, const gn_inferred *inferred)
{
    const batch_sink *sink = user;
    const gn_dataset *dataset = sink->map->dataset;
    size_t classes = sink->map->classes;
    for (size_t i = 0; i < inferred->count; i++) {
        uint32_t sample = inferred->samples[i];
        int32_t y = sink->map->class_of[dataset->y[sample]];
        int32_t a = dataset->a ? sink->map->attribute_of[dataset->a[sample]] : 0;
        GN_TRY(gn_predictions_add_logits(sink->ctx, sink->predictions,
                                         inferred->logits + i * classes, &y, &a, 1));
    }
    return GERNE_OK;
}

/* The data's training counts under the labels of the predictions; NULL when it has no training
 * split. */
static gerne_status map_counts(gerne_ctx *ctx, const label_map *map, const uint64_t *counts,
                               uint64_t **out)
{
    const gn_dataset *dataset = map->dataset;
    uint64_t total = 0;
    *out = NULL;
    if (!counts)
        return GERNE_OK;
    GN_TRY(
        gn_arena_alloc(ctx, map->arena, (size_t)map->classes * map->attributes, sizeof **out, out));
    for (uint32_t y = 0; y < dataset->classes; y++)
        for (uint32_t a = 0; a < dataset->attributes; a++) {
            uint64_t count = counts[(size_t)y * dataset->attributes + a];
            (*out)[(size_t)map->class_of[y] * map->attributes + (size_t)map->attribute_of[a]] +=
                count;
            total += count;
        }
    if (!total)
        *out = NULL;
    return GERNE_OK;
}

static gerne_status judge(gerne_ctx *ctx, const gn_model_card *card, const gn_model_data *data,
                          gn_predictor *predictor, label_map *map, gn_judgement *out)
{
    uint64_t *counts;
    GN_TRY(match_classes(ctx, card, map));
    GN_TRY(match_attributes(ctx, card, map));
    GN_TRY(gn_check_group_count(ctx, map->classes, map->attributes));
    out->names = map->names;
    gn_predictions_init(&out->predictions, (int32_t)map->classes, (int32_t)map->attributes, true);
    batch_sink sink = {ctx, map, &out->predictions};
    GN_TRY(gn_predictor_run(predictor, "evaluate", add_batch, &sink));
    GN_TRY(map_counts(ctx, map, data->train_counts, &counts));
    return gn_metrics_compute(ctx, &out->predictions, counts, &out->metrics);
}

gerne_status gn_judge(gerne_ctx *ctx, const gn_trained_model *model, const gn_model_data *data,
                      gn_predictor *predictor, gn_judgement *out)
{
    label_map map = {.dataset = data->dataset};
    *out = (gn_judgement){0};
    GN_TRY(gn_arena_new(ctx, &map.arena));
    gerne_status status = judge(ctx, gn_trained_model_card(model), data, predictor, &map, out);
    gn_arena_close(map.arena);
    if (status != GERNE_OK)
        gn_judgement_free(out);
    return status;
}

const char *gn_judgement_title(const char *path, gn_split split, char title[GN_JUDGEMENT_TITLE])
{
    bool all = split == GN_SPLITS;
    snprintf(title, GN_JUDGEMENT_TITLE, "%s, %s%s", path, all ? "all splits" : "split ",
             all ? "" : gn_split_name(split));
    return title;
}

void gn_judgement_free(gn_judgement *judgement)
{
    gn_metrics_free(&judgement->metrics);
    gn_predictions_free(&judgement->predictions);
    *judgement = (gn_judgement){0};
}
