/* places.h - where the data of the paper's cells lies, and how to get what is missing. */
#ifndef GN_REPRODUCE_PLACES_H
#define GN_REPRODUCE_PLACES_H

#include "base/option.h"

/* Folders and files as the user gave them; NULL when not. */
typedef struct gn_places {
    const char *data; /* a folder with mnist, cifar10, waterbirds, celeba, bffhq, frost, ... */
    const char *mnist, *cifar10, *waterbirds, *celeba, *bffhq, *civilcomments, *frost;
    const char *weights;   /* ImageNet ResNet-50 */
    const char *weights18; /* ImageNet ResNet-18 */
    const char *bert;      /* BERT-base, its vocabulary beside it */
    const char *variant;   /* where the blocks of those weights stride: "v1.5" or "v1" */
} gn_places;

/* The options above, as a table for a command. */
extern const gn_option gn_place_options[];
extern const size_t gn_place_option_count;

/* A dataset of the paper's tables. */
typedef struct gn_paper_dataset {
    const char *name, *title;
    const char *metric; /* what the paper reports: a key of results.json's splits */
    const char *metric_title;
    const char *folder;  /* under gn_places.data; "" for data that is generated */
    const char *witness; /* "a|b": a file that is there when the data is; "" for the folder */
    bool is_file;        /* the witness is all there is: data.file, not data.dir */
    const char *hint;    /* how to get it */
    size_t option;       /* offset of its field in gn_places */
} gn_paper_dataset;

/* NULL when the paper has none of this name. */
const gn_paper_dataset *gn_paper_dataset_find(const char *name);

/* The folder or file of a dataset, or *out = NULL and *reason says what is missing where. */
GERNE_CHECKED gerne_status gn_place_of(gerne_ctx *ctx, gn_arena *arena, const gn_places *places,
                                       const gn_paper_dataset *dataset, const char **out,
                                       const char **reason);

/* The same for the weights of an architecture, "resnet50", "resnet18" or "bert", with the way to
 * get them. */
GERNE_CHECKED gerne_status gn_place_of_weights(gerne_ctx *ctx, gn_arena *arena,
                                               const gn_places *places, const char *arch,
                                               const char **out, const char **reason,
                                               const char **hint);

/* The folder of frost textures, or NULL. */
GERNE_CHECKED gerne_status gn_place_of_frost(gerne_ctx *ctx, gn_arena *arena,
                                             const gn_places *places, const char **out);

#endif
