/* model_file.h - best.safetensors: weights that know what they are.
 *
 * Beside the tensors the file's metadata carry what is needed to use them: architecture, sample
 * shape, names of classes and attributes, input normalisation, method and version. Paths, times and
 * hosts are not among them: the same run gives the same bytes everywhere.
 *
 *     GN_TRY(gn_model_file_save(ctx, path, network, &card));
 *
 *     gn_model_file *file;
 *     GN_TRY(gn_model_file_open(ctx, path, &file));
 *     GN_TRY(gn_model_file_network(ctx, file, device, batch, &network));   // rebuilt and loaded
 *     gn_model_file_close(file);
 */
#ifndef GN_TRAIN_MODEL_FILE_H
#define GN_TRAIN_MODEL_FILE_H

#include "data/dataset.h"
#include "nn/network.h"
#include "nn/weights.h"

/* All pointers are borrowed. */
typedef struct gn_model_card {
    gn_model_options model; /* arch, hidden, variant and stem count */
    gn_sample_shape shape;
    uint32_t classes, attributes; /* attributes 0: unknown */
    const char *const *class_names;
    const char *const *attribute_names;
    float scale[GN_CHANNELS], shift[GN_CHANNELS]; /* of pixels: value = byte * scale + shift */
    const float *mean,
        *deviation;      /* of features that were standardised, shape.channels each; NULL */
    const char *method;  /* NULL: unknown */
    const char *version; /* of the program that wrote the file */
} gn_model_card;

/* What a network trained on this dataset has to tell. */
gn_model_card gn_model_card_of(const gn_network *network, const gn_dataset *dataset,
                               const char *method);

/* The card as the metadata of a file; the texts are in the arena. */
enum { GN_CARD_KEYS_MAX = 8 };
typedef struct gn_card_text {
    gn_metadata items[GN_CARD_KEYS_MAX];
    size_t count;
} gn_card_text;
GERNE_CHECKED gerne_status gn_model_card_text(gerne_ctx *ctx, gn_arena *arena,
                                              const gn_model_card *card, gn_card_text *out);

/* Writes weights and card; the file appears under its name only when it is complete. */
GERNE_CHECKED gerne_status gn_model_file_save(gerne_ctx *ctx, const char *path, gn_network *network,
                                              const gn_model_card *card);

typedef struct gn_model_file gn_model_file;

/* Reads the card. A weights file without one (torchvision's, say) is opened as well:
 * gn_model_file_card is NULL then. */
GERNE_CHECKED gerne_status gn_model_file_open(gerne_ctx *ctx, const char *path,
                                              gn_model_file **out);
void gn_model_file_close(gn_model_file *file); /* takes NULL */
GN_LOCAL_HANDLE(gn_model_file, gn_model_file_close)
const gn_model_card *gn_model_file_card(const gn_model_file *file);

/* The tensors and metadata of the file. Borrowed. */
const gn_weights *gn_model_file_weights(const gn_model_file *file);

/* Gives a file without a card one, from options and what the tensors tell: the number of classes is
 * that of the head. The options are lent; names are numbers. */
GERNE_CHECKED gerne_status gn_model_file_describe(gerne_ctx *ctx, gn_model_file *file,
                                                  const gn_model_options *options,
                                                  gn_sample_shape shape);

/* Other names for the classes, as many as there are; lent as long as the file is open. */
void gn_model_file_name_classes(gn_model_file *file, const char *const *names);

/* Rebuilds the network for passes of batch samples and loads every weight, the head included. The
 * network borrows its options from the file: close it first. */
GERNE_CHECKED gerne_status gn_model_file_network(gerne_ctx *ctx, const gn_model_file *file,
                                                 gn_device *device, int64_t batch,
                                                 gn_network **out);

#endif
