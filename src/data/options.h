/* options.h - the section "data" of a configuration; every command that takes data shares it. */
#ifndef GN_DATA_OPTIONS_H
#define GN_DATA_OPTIONS_H

#include "base/augment.h"
#include "base/option.h"

/* The choices, in the order of the words in the table. */
typedef enum gn_data_format {
    GN_DATA_SYNTHETIC,
    GN_DATA_CMNIST,
    GN_DATA_CCIFAR10,
    GN_DATA_IMAGES,
    GN_DATA_FEATURES,
    GN_DATA_TEXT,
} gn_data_format;

typedef enum gn_construction { GN_CONSTRUCTION_DFA, GN_CONSTRUCTION_LFF } gn_construction;

typedef enum gn_image_layout {
    GN_LAYOUT_AUTO,
    GN_LAYOUT_METADATA, /* a CSV beside the images */
    GN_LAYOUT_FOLDERS,  /* split/class/attribute/image */
    GN_LAYOUT_DFA,      /* names that end in _<class>_<attribute>.png */
    GN_LAYOUT_CELEBA,   /* list_attr_celeba.txt and list_eval_partition.txt */
    GN_LAYOUT_PLAIN,    /* images without labels */
} gn_image_layout;

typedef enum gn_preset {
    GN_PRESET_NONE,
    GN_PRESET_WATERBIRDS,
    GN_PRESET_CELEBA,
    GN_PRESET_BFFHQ,
    GN_PRESET_CIVILCOMMENTS, /* texts from here on */
    GN_PRESET_CIVILCOMMENTS_COARSE,
    GN_PRESET_CIVILCOMMENTS_WILDS,
    GN_PRESET_MULTINLI,
} gn_preset;

#define GN_NORMALIZE_CHOICES "auto|none|imagenet|cifar"
typedef enum gn_normalize {
    GN_NORMALIZE_AUTO,
    GN_NORMALIZE_NONE, /* value / 255 */
    GN_NORMALIZE_IMAGENET,
    GN_NORMALIZE_CIFAR,
} gn_normalize;

typedef enum gn_train_on { GN_TRAIN_ON_TRAIN, GN_TRAIN_ON_VAL } gn_train_on;

typedef struct gn_data_options {
    int format;
    const char *dir, *file, *labels;
    int construction;
    double ratio;
    int64_t severity; /* 0: the format's own */
    const char *corruptions;
    const char *frost;
    int64_t seed;
    int64_t val; /* 0: the construction's own */
    int64_t classes, attributes, size, n;
    int layout, preset;
    gn_texts x, text;
    int64_t max_tokens;
    const char *a_words;
    const char *y, *a, *split, *filename_column;
    gn_ints resize, crop;
    bool crop_first;
    int normalize;
    int augment;
    bool standardize;
    bool skip_bad;
    int missing; /* a gn_missing_rule */
    const char *memory_limit;
    int train_on;
    const char *fold;

    /* Of other sections, set by whoever opens the data: the tokenizer of texts (model.vocab) and
     * the folder for their tokens (cache); NULL: none. */
    const char *vocab, *cache;
    bool columns_of_run;        /* columns are those of a run's own data, whose place these take:
                                   a layout without columns ignores them */
    const gerne_arrays *arrays; /* samples of the caller, instead of files; NULL: none. Lent */
} gn_data_options;

/* Adds the table under the section "data" and fills *target with the defaults. */
GERNE_CHECKED gerne_status gn_data_options_add(gerne_ctx *ctx, gn_config *config,
                                               gn_data_options *target);

/* The defaults without a configuration (for tests and for callers in C). */
GERNE_CHECKED gerne_status gn_data_options_default(gerne_ctx *ctx, gn_data_options *out);

/* "2G", "512M", "64K" or a number of bytes. */
GERNE_CHECKED gerne_status gn_parse_size(gerne_ctx *ctx, const char *text, size_t *out);

/* The word of a format, such as "c-mnist"; static. */
const char *gn_data_format_name(int format);

#endif
