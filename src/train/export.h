/* export.h - a trained model as a file for other programs: ONNX, or safetensors with the names that
 * PyTorch's libraries use.
 *
 *     GN_TRY(gn_trained_model_open(ctx, "runs/birds", &use, &model));
 *     GN_TRY(gn_export(ctx, model, &options, &exported));
 */
#ifndef GN_TRAIN_EXPORT_H
#define GN_TRAIN_EXPORT_H

#include "base/option.h"
#include "train/trained_model.h"

typedef enum gn_export_precision { GN_EXPORT_FP32, GN_EXPORT_FP16 } gn_export_precision;

typedef struct gn_export_options {
    const char *onnx, *safetensors; /* files to write; NULL: none */
    int precision;                  /* of the stored weights: gn_export_precision */
    bool features;                  /* of the body are an output of the ONNX file */
    bool overwrite;                 /* existing files */
    gn_ints shape;                  /* of a sample, and */
    int normalize;                  /* gn_normalize, both for weights without metadata alone */
} gn_export_options;

extern const gn_option gn_export_option_table[];
extern const size_t gn_export_option_count;

/* What was written. */
typedef struct gn_exported {
    int64_t onnx_bytes, safetensors_bytes; /* 0: not asked for */
} gn_exported;

/* Writes the files that the options name. Everything that can be wrong with the options is found
 * before the first is written; each appears only when it is complete. *out may be NULL. */
GERNE_CHECKED gerne_status gn_export(gerne_ctx *ctx, gn_trained_model *model,
                                     const gn_export_options *options, gn_exported *out);

#endif
