/* describe.h - what a dataset is, for `gerne data info`. */
#ifndef GN_DATA_DESCRIBE_H
#define GN_DATA_DESCRIBE_H

#include "data/dataset.h"

/* What a look at every file's header found. */
typedef struct gn_inspection {
    size_t files;                   /* checked; 0 when the samples are not files */
    size_t bad;                     /* missing, empty, or neither JPEG nor PNG */
    size_t smallest[2], largest[2]; /* height and width */
    size_t sizes;                   /* 1 when all images have one size, else 2 or more */
} gn_inspection;

/* Reads every file's header on several threads. Bad files are logged as warnings (the first few
 * by name) and counted; they are no failure. */
GERNE_CHECKED gerne_status gn_dataset_inspect(gerne_ctx *ctx, const gn_dataset *dataset,
                                              int threads, gn_inspection *out);

/* The document of `data info --json`. New reference. */
GERNE_CHECKED gerne_status gn_dataset_json(gerne_ctx *ctx, const gn_dataset *dataset,
                                           const gn_inspection *inspection, json_t **out);

/* Appends the same for people. */
GERNE_CHECKED gerne_status gn_dataset_text(gerne_ctx *ctx, const gn_dataset *dataset,
                                           const gn_inspection *inspection, gn_text *out);

#endif
