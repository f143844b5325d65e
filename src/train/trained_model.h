/* trained_model.h - a trained network, from a run directory or a file of weights, that predicts on
 * datasets.
 *
 *     GN_TRY(gn_trained_model_open(ctx, "runs/birds", &options, &model));
 *     GN_TRY(gn_trained_model_data(ctx, model, GN_TEST, &data));
 *     GN_TRY(gn_predictor_new(ctx, model, &data, &predictor));
 *     GN_TRY(gn_predictor_run(predictor, "predict", take, user));
 *     ...
 *     gn_predictor_close(predictor);
 *     gn_model_data_close(&data);
 *     gn_trained_model_close(model);
 *
 * Once the first predictor is made a model does not change: threads may share it, each with a
 * context and a predictor of its own.
 */
#ifndef GN_TRAIN_TRAINED_MODEL_H
#define GN_TRAIN_TRAINED_MODEL_H

#include "train/inference.h"
#include "train/model_file.h"
#include "train/trained_options.h"

typedef struct gn_trained_model gn_trained_model;

/* path is a run directory or a file of weights. The options are lent as long as the model lives. A
 * file without metadata needs options->model.arch; one with metadata refuses model.* flags. */
GERNE_CHECKED gerne_status gn_trained_model_open(gerne_ctx *ctx, const char *path,
                                                 const gn_trained_options *options,
                                                 gn_trained_model **out);
void gn_trained_model_close(gn_trained_model *model); /* takes NULL */
GN_LOCAL_HANDLE(gn_trained_model, gn_trained_model_close)

/* Classes, names and shapes. NULL for weights without metadata before the first predictor, which
 * takes the shape of its dataset for that of the network. Borrowed. */
const gn_model_card *gn_trained_model_card(const gn_trained_model *model);

/* The tensors and metadata of its weights file. Borrowed. */
const gn_weights *gn_trained_model_weights(const gn_trained_model *model);

bool gn_trained_model_has_metadata(const gn_trained_model *model);
const char *gn_trained_model_arch(const gn_trained_model *model); /* borrowed */

/* Without a dataset: completes the card, with this shape where the file has no metadata; then the
 * whole network of the checkpoint that the options name, on a device as they say, which has to
 * outlive it. Close both. */
GERNE_CHECKED gerne_status gn_trained_model_describe(gerne_ctx *ctx, gn_trained_model *model,
                                                     gn_sample_shape shape);
GERNE_CHECKED gerne_status gn_trained_model_device(gerne_ctx *ctx, const gn_trained_model *model,
                                                   gn_device **out);
GERNE_CHECKED gerne_status gn_trained_model_network(gerne_ctx *ctx, const gn_trained_model *model,
                                                    gn_device *device, gn_network **out);

/* A dataset to use a model on. */
typedef struct gn_model_data {
    gn_dataset *dataset;
    gn_split split;         /* the samples that count; GN_SPLITS: all of them */
    uint64_t *train_counts; /* [classes][attributes] of the training split; NULL: unknown. Owned */
    bool cached; /* the run's own data behind a frozen body: features may come from the cache */
} gn_model_data;

/* Opens what options->data describes, fitted to the model: images get its size where no key says
 * another, features its mean and deviation. Samples of other splits are not read. */
GERNE_CHECKED gerne_status gn_trained_model_data(gerne_ctx *ctx, const gn_trained_model *model,
                                                 gn_split split, gn_model_data *out);

/* The same for other data than that of the options. */
GERNE_CHECKED gerne_status gn_trained_model_other_data(gerne_ctx *ctx,
                                                       const gn_trained_model *model,
                                                       const gn_data_options *options,
                                                       gn_split split, gn_model_data *out);
void gn_model_data_close(gn_model_data *data);

typedef struct gn_predictor gn_predictor;

/* Model, data (prepared) and context are lent and must outlive the predictor. */
GERNE_CHECKED gerne_status gn_predictor_new(gerne_ctx *ctx, gn_trained_model *model,
                                            const gn_model_data *data, gn_predictor **out);
void gn_predictor_close(gn_predictor *predictor); /* takes NULL */
GN_LOCAL_HANDLE(gn_predictor, gn_predictor_close)

/* A predictor may outlive its data and context: rest lets go of them and keeps the network, and any
 * thread may then wake it for other data that suits it. One that does not suit is left alone. */
void gn_predictor_rest(gn_predictor *predictor);
bool gn_predictor_suits(const gn_predictor *predictor, const gn_model_data *data);
GERNE_CHECKED gerne_status gn_predictor_wake(gerne_ctx *ctx, gn_predictor *predictor,
                                             const gn_model_data *data);

/* Calls take for one batch of the data's samples after the other, in ascending order. what names
 * the work for the progress hook; NULL reports nothing. */
GERNE_CHECKED gerne_status gn_predictor_run(gn_predictor *predictor, const char *what,
                                            gn_inferred_fn *take, void *user);

#endif
