/* dataset.h - samples with a class, perhaps an attribute, and a split, wherever they come from.
 *
 *     gn_dataset *data;
 *     GN_TRY(gn_dataset_open(ctx, &options, &data));       // labels, names, sizes; quick
 *     GN_TRY(gn_dataset_prepare(ctx, data, threads));      // checks files, fills the cache
 *     if (gn_dataset_in_memory(data))
 *         use(gn_dataset_pixels(data, i));                 // uint8 H x W x 3, not normalised
 *     else
 *         ...                                              // data/fetch.h streams
 *     gn_dataset_close(data);
 *
 * After gn_dataset_prepare a dataset does not change, and any thread may read it.
 */
#ifndef GN_DATA_DATASET_H
#define GN_DATA_DATASET_H

#include <stdatomic.h>

#include "base/field.h"
#include "base/json.h"
#include "base/sha256.h"
#include "data/options.h"

typedef enum gn_split { GN_TRAIN, GN_VAL, GN_TEST, GN_SPLITS } gn_split;

/* Words for a gn_split, in its order; all is GN_SPLITS. */
#define GN_SPLIT_CHOICES "train|val|test|all"

/* "train", "val", "test"; static. */
const char *gn_split_name(gn_split split);

typedef enum gn_field_kind {
    GN_PIXELS,   /* uint8 H x W x 3; the network sees value * scale[c] + shift[c] */
    GN_FEATURES, /* float rows */
    GN_TOKENS,   /* texts: up to dimension ids each, and their number */
} gn_field_kind;

enum { GN_CHANNELS = 3 };

/* Changed copies of training samples, whose features lie behind those of all samples: view 1 of
 * every training sample, then view 2, and so on. */
typedef struct gn_views {
    size_t count;     /* of a training sample, itself included; 0 stands for 1 */
    size_t samples;   /* that train */
    uint32_t *places; /* sample -> its place among them */
} gn_views;

typedef struct gn_source gn_source; /* data/source.h */
typedef struct gn_corpus gn_corpus; /* data/corpus.h */

/* Fields are for reading only. */
typedef struct gn_dataset {
    const char *format;
    size_t n;            /* samples in all splits */
    uint32_t classes;    /* K; 0 when the data has no labels, and y is NULL then */
    uint32_t attributes; /* A; 0 when unknown, and a is NULL then */
    const char *const *class_names;
    const char *const *attribute_names;
    const char *y_column, *a_column; /* column, array or CelebA attribute that the labels were read
                                        from; NULL when there is none */
    int32_t *y, *a;                  /* n indices each */
    uint8_t *split;                  /* n gn_split values */
    gn_field_kind field;
    size_t height, width; /* of GN_PIXELS */
    float scale[GN_CHANNELS], shift[GN_CHANNELS];
    size_t dimension; /* floats in a sample: height * width * 3, or the width of the rows; the
                         most tokens of a text */
    const float *mean, *deviation; /* what data.standardize took away, or NULL; after prepare */
    gn_augment augment;            /* what gn_fetch does to training samples */
    gn_views views;                /* of features that were computed from pictures */
    size_t skipped;                /* bad samples skipped by data.skip_bad */
    size_t memory_limit;           /* bytes */
    /* May be set before prepare: samples that are files are not kept in memory; nobody will ask for
     * the fingerprint. */
    bool read_once, no_fingerprint;

    /* The rest belongs to src/data. */
    gn_arena *arena;
    atomic_uint others;          /* users beside one */
    gn_source *source;           /* decodes pixels; NULL for others */
    gn_corpus *corpus;           /* texts and their tokens; NULL for others */
    uint32_t *origin;            /* sample -> row of the source; NULL when they are the same */
    uint8_t *cache;              /* all pixels, or NULL */
    const uint8_t *lent_pixels;  /* the same by row, of the caller; or NULL */
    const gerne_arrays *fetched; /* where rows are fetched from by prepare; or NULL */
    const float *rows;           /* all features, or */
    const uint16_t *halves;      /* all features in 16 bits: see base/half.h */
    bool computed;               /* features that frozen layers made: data/derive.h */
    const char *const *paths;    /* by row: the files that rows were computed from, or NULL */
    const char *features_file;   /* where rows come from, for messages; or NULL */
    void *rows_owned;            /* heap block behind rows, or NULL */
    void *map;                   /* gn_map behind rows, or NULL */
    bool row_of_sample;          /* rows are in the order of the samples, whatever origin says */
    bool skip_bad, standardize, prepared;
    unsigned char settings_digest[GN_SHA256_SIZE]; /* of the transform or generator settings */
    unsigned char content_digest[GN_SHA256_SIZE];  /* of pixels, files or features */
} gn_dataset;

/* Opens what the options describe. Labels are complete; pixels are not decoded yet. */
GERNE_CHECKED gerne_status gn_dataset_open(gerne_ctx *ctx, const gn_data_options *options,
                                           gn_dataset **out);
void gn_dataset_close(gn_dataset *dataset); /* takes NULL */
/* For another user, who closes it as well; after prepare. */
gn_dataset *gn_dataset_share(gn_dataset *dataset);
GN_LOCAL_HANDLE(gn_dataset, gn_dataset_close)

/* Reads every sample once on several threads: a sample that cannot be read is an error, or is
 * skipped with skip_bad (n, y, a and split then shrink). What fits data.memory_limit stays in
 * memory.
 */
GERNE_CHECKED gerne_status gn_dataset_prepare(gerne_ctx *ctx, gn_dataset *dataset, int threads);

/* Standardises features with somebody else's mean and deviation (a trained model's), dimension
 * floats each. After prepare of a dataset that was opened without data.standardize. */
GERNE_CHECKED gerne_status gn_dataset_standardize(gerne_ctx *ctx, gn_dataset *dataset,
                                                  const float *mean, const float *deviation,
                                                  int threads);

/* What one sample is to a network. */
gn_sample_shape gn_dataset_shape(const gn_dataset *dataset);

/* True when the calls below may be used. */
bool gn_dataset_in_memory(const gn_dataset *dataset);
/* A field of a sample, by its place in the shape: pixels, features, tokens or their length. */
const void *gn_dataset_field(const gn_dataset *dataset, size_t i, int field);
const uint8_t *gn_dataset_pixels(const gn_dataset *dataset, size_t i);
const float *gn_dataset_features(const gn_dataset *dataset, size_t i); /* not those in 16 bits */

/* How many views there are of a sample, and the features of one; view 0 is the sample itself. */
size_t gn_dataset_view_count(const gn_dataset *dataset, size_t i);
const void *gn_dataset_view(const gn_dataset *dataset, size_t i, size_t view);

/* The row of the sample in its file or folder listing: what predictions are reported under. */
size_t gn_dataset_row(const gn_dataset *dataset, size_t i);

/* Whether samples are files of their own, and the path of one (data.dir and its name), written to
 * buffer; "" when there is none. Features that were computed from files know them as well. */
bool gn_dataset_has_files(const gn_dataset *dataset);
const char *gn_dataset_file(const gn_dataset *dataset, size_t i, char *buffer, size_t size);

/* What training sees: labels, splits, contents and transform, not paths. After prepare. */
GERNE_CHECKED gerne_status gn_dataset_fingerprint(gerne_ctx *ctx, const gn_dataset *dataset,
                                                  char hex[GN_SHA256_HEX]);
/* What the samples are and in which order, whatever is known of their attributes and done to them
 * before they are trained on. After prepare. */
GERNE_CHECKED gerne_status gn_dataset_add_identity(gerne_ctx *ctx, const gn_dataset *dataset,
                                                   gn_sha256 *hash);

/* The samples of a split, or all with GN_SPLITS. */
size_t gn_count_split(const gn_dataset *dataset, gn_split split);
/* counts[y * A + a] of a split, A taken as 1 when attributes are unknown; zeros at first. */
void gn_dataset_count(const gn_dataset *dataset, gn_split split, uint64_t *counts);

#endif
