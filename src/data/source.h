/* source.h - what src/data uses behind a dataset: sources of pixels, scratch memory, rows of
 * labels, parallel loops. */
#ifndef GN_DATA_SOURCE_H
#define GN_DATA_SOURCE_H

#include "data/dataset.h"
#include "debias/labels.h"
#include "debias/missing.h"

/* Memory of one thread that lives as long as the thread works; buffers grow and are used again. */
enum { GN_SCRATCH_BUFFERS = 8 };

typedef struct gn_scratch {
    void *buffers[GN_SCRATCH_BUFFERS];
    size_t sizes[GN_SCRATCH_BUFFERS];
} gn_scratch;

/* At least size bytes; contents are lost. Every user has its own number. */
enum {
    GN_SCRATCH_FILE,
    GN_SCRATCH_IMAGE,
    GN_SCRATCH_RESIZE,
    GN_SCRATCH_COEFFICIENTS,
    GN_SCRATCH_A,
    GN_SCRATCH_B,
    GN_SCRATCH_C,
    GN_SCRATCH_D
};
GERNE_CHECKED gerne_status gn_scratch_take(gerne_ctx *ctx, gn_scratch *scratch, int number,
                                           size_t size, void *out);
void gn_scratch_free(gn_scratch *scratch);
GN_LOCAL_STRUCT(gn_scratch, gn_scratch_free)

/* Writes the pixels of a row (height * width * 3 bytes). Any thread may call it with its own
 * context and scratch. A digest of the file's bytes is written when digest is not NULL and the
 * source is made of files. */
struct gn_source {
    gerne_status (*load)(gerne_ctx *ctx, const gn_source *source, gn_scratch *scratch, size_t row,
                         uint8_t *pixels, unsigned char *digest);
    /* Without decoding: only the digest of the file. NULL when there are no files. */
    gerne_status (*digest)(gerne_ctx *ctx, const gn_source *source, gn_scratch *scratch, size_t row,
                           unsigned char *digest);
    /* The path of a row; NULL when there are no files. */
    const char *(*file)(const gn_source *source, size_t row, char *buffer, size_t size);
    /* Checks the header of a row's file, for `data info`; NULL when there are no files. */
    gerne_status (*inspect)(gerne_ctx *ctx, const gn_source *source, gn_scratch *scratch,
                            size_t row, size_t *height, size_t *width);
    /* Digest of everything a made dataset is made from; NULL when the samples are files, or made
     * from the settings alone. */
    void (*contents)(const gn_source *source, unsigned char digest[GN_SHA256_SIZE]);
    void (*close)(gn_source *source);
};

/* ---- rows of labels ---- */

typedef struct gn_rows {
    gn_labels *y, *a;
    uint32_t *y_numbers, *a_numbers;
    uint8_t *split;
    size_t n, capacity_y, capacity_a, capacity_split;
    bool has_a, has_y;
    bool in_order;               /* labels keep the order in which they came */
    gn_missing missing;          /* rows that lack a label: data.missing */
    const char *y_name, *a_name; /* of the columns; may be set to names that outlive the rows, or
                                    to NULL when labels do not come from columns */
    uint8_t *keep;               /* 0 for such a row */
    size_t capacity_keep;
} gn_rows;

GERNE_CHECKED gerne_status gn_rows_open(gerne_ctx *ctx, const gn_data_options *options, bool has_y,
                                        bool has_a, gn_rows *rows);
/* y and a are read only where the rows have them, and empty where a label is missing; the caller
 * adds the place to a failure. */
GERNE_CHECKED gerne_status gn_rows_add(gerne_ctx *ctx, gn_rows *rows, const char *y, const char *a,
                                       gn_split split);
/* Sorts the labels and moves everything into the dataset; its rows keep their numbers when some are
 * dropped. */
GERNE_CHECKED gerne_status gn_rows_finish(gerne_ctx *ctx, gn_rows *rows, gn_dataset *dataset);
void gn_rows_close(gn_rows *rows);
GN_LOCAL_STRUCT(gn_rows, gn_rows_close)

/* True for the word "none", which stands for labels that are not there. */
bool gn_is_none(const char *text);

/* "0", "train", "training", "1", "val", "valid", "validation", "dev", "eval", "2", "test",
 * "testing", in any case, the numbers also as "0.0": false for other texts. */
bool gn_parse_split(const char *text, gn_split *out);
#define GN_NOT_A_SPLIT  "'%s' is not a split (0/1/2 or train/val/test)"
#define GN_OTHER_SPLITS "--data.split names the column or array of the splits"

/* ---- generated labels ---- */

/* Allocates y, a and split for n samples with K classes and A attributes, and copies the names. */
GERNE_CHECKED gerne_status gn_dataset_allocate(gerne_ctx *ctx, gn_dataset *dataset, size_t n,
                                               uint32_t classes, uint32_t attributes,
                                               const char *const *class_names,
                                               const char *const *attribute_names);

/* Keeps the samples with keep[i] != 0 and closes the gaps. */
GERNE_CHECKED gerne_status gn_dataset_keep(gerne_ctx *ctx, gn_dataset *dataset,
                                           const uint8_t *keep);

/* data.val: moves training samples of every group to a validation split that the data lacks. */
GERNE_CHECKED gerne_status gn_dataset_hold_out(gerne_ctx *ctx, const gn_data_options *options,
                                               gn_dataset *dataset);

/* data.train_on and data.fold. */
GERNE_CHECKED gerne_status gn_dataset_fold(gerne_ctx *ctx, const gn_data_options *options,
                                           gn_dataset *dataset);

/* Hashes a text that says how samples are made or transformed into the dataset's settings digest.
 */
void gn_dataset_settings(gn_dataset *dataset, const char *format, ...) GN_PRINTF(2, 3);

/* Sets scale and shift; fallback is what auto stands for. */
void gn_dataset_normalize(gn_dataset *dataset, int normalize, gn_normalize fallback);

/* ---- the formats ---- */

GERNE_CHECKED gerne_status gn_open_synthetic(gerne_ctx *ctx, const gn_data_options *options,
                                             gn_dataset *dataset);
GERNE_CHECKED gerne_status gn_open_cmnist(gerne_ctx *ctx, const gn_data_options *options,
                                          gn_dataset *dataset);
GERNE_CHECKED gerne_status gn_open_ccifar10(gerne_ctx *ctx, const gn_data_options *options,
                                            gn_dataset *dataset);
GERNE_CHECKED gerne_status gn_open_images(gerne_ctx *ctx, const gn_data_options *options,
                                          gn_dataset *dataset);
GERNE_CHECKED gerne_status gn_open_features(gerne_ctx *ctx, const gn_data_options *options,
                                            gn_dataset *dataset);
GERNE_CHECKED gerne_status gn_open_text(gerne_ctx *ctx, const gn_data_options *options,
                                        gn_dataset *dataset);

/* How features are used: part of the dataset and of its fingerprint. */
void gn_features_settings(gn_dataset *dataset, const gn_data_options *options);

/* Features row by row: of all samples, then of the other views. */
size_t gn_feature_rows(const gn_dataset *dataset);
const void *gn_feature_row(const gn_dataset *dataset, size_t row);

enum { GN_FEATURE_BLOCK = 1 << 22 }; /* bytes of features that one digest covers */

/* GERNE_EUSAGE unless so many floats fit data.memory_limit. */
GERNE_CHECKED gerne_status gn_features_fit(gerne_ctx *ctx, const gn_dataset *dataset, size_t rows,
                                           size_t columns);

/* ---- parallel loops ---- */

/* Called once for every index, in any order, on any thread. */
typedef gerne_status gn_item_fn(gerne_ctx *ctx, void *user, gn_scratch *scratch, size_t index);

/* Runs item for 0..count-1 on threads threads; what names the job for the progress hook. The first
 * failure by index is the one reported. When failed is not NULL, an item that fails with
 * GERNE_EDATA or GERNE_EIO is marked in it (failed[i] = 1), logged, and does not stop the loop. */
GERNE_CHECKED gerne_status gn_parallel(gerne_ctx *ctx, int threads, size_t count, const char *what,
                                       gn_item_fn *item, void *user, uint8_t *failed);

#endif
