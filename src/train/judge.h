/* judge.h - how right a trained model is about labelled data, by group. */
#ifndef GN_TRAIN_JUDGE_H
#define GN_TRAIN_JUDGE_H

#include "metrics/metrics.h"
#include "train/trained_model.h"

/* Names are borrowed from the model and the data. */
typedef struct gn_judgement {
    gn_predictions predictions;
    gn_metrics metrics;
    gn_group_names names;
} gn_judgement;

/* Runs the predictor, made from this model and data, over all samples. Classes are matched by name,
 * and one that the model does not have is GERNE_EUSAGE; attributes are the model's where it knows
 * all of the data's, else the data's own. Free the result. */
GERNE_CHECKED gerne_status gn_judge(gerne_ctx *ctx, const gn_trained_model *model,
                                    const gn_model_data *data, gn_predictor *predictor,
                                    gn_judgement *out);

/* What was judged, for people: the model's path and the split. */
enum { GN_JUDGEMENT_TITLE = 512 };
const char *gn_judgement_title(const char *path, gn_split split, char title[GN_JUDGEMENT_TITLE]);
void gn_judgement_free(gn_judgement *judgement);

#endif
