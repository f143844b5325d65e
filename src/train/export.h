/* export.h - a trained model as a file for other programs: ONNX, or safetensors with the names that
 * PyTorch's libraries use.
 *
 *     GN_TRY(gn_trained_model_open(ctx, "runs/birds", &use, &model));
 *     GN_TRY(gn_export(ctx, model, &options));
 */
#ifndef GN_TRAIN_EXPORT_H
#define GN_TRAIN_EXPORT_H

#include "base/option.h"
#include "train/trained_model.h"

typedef struct gn_export_options {
    const char *onnx, *safetensors; /* files to write; NULL: none */
    bool half;                      /* store half-precision weights */
    bool features;                  /* of the body are an output of the ONNX file */
    bool overwrite;                 /* existing files */
    gn_ints shape;                  /* of a sample, and */
    int normalize;                  /* gn_normalize, both for weights without metadata alone */
} gn_export_options;

/* Writes the files that the options name. Everything that can be wrong with the options is found
 * before the first is written; each appears only when it is complete. */
GERNE_CHECKED gerne_status gn_export(gerne_ctx *ctx, gn_trained_model *model,
                                     const gn_export_options *options);

#endif
