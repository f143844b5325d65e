/* inference.h - a network over the samples of a dataset, forward only: evaluation, predictions and
 * the features of a frozen body all come from here.
 *
 *     gn_inference_options options = {.threads = 2};
 *     GN_TRY(gn_inference_new(ctx, network, data, &options, &inference));
 *     GN_TRY(gn_samples_of_split(ctx, data, GN_TEST, &list));
 *     GN_TRY(gn_inference_predict(inference, "evaluate", list.items, list.count, &predictions));
 *     ...
 *     gn_sample_list_free(&list);
 *     gn_inference_close(inference);
 *
 * Ranks share the samples; every one of them is given all, in the order of the list.
 *
 * Samples that are in memory are read where they lie; others are decoded ahead on threads of their
 * own. Nothing is allocated while a batch runs, so one object serves every evaluation of a run. The
 * network is left in inference mode.
 */
#ifndef GN_TRAIN_INFERENCE_H
#define GN_TRAIN_INFERENCE_H

#include "data/dataset.h"
#include "nn/network.h"
#include "metrics/predictions.h"

/* Indices of samples, in ascending order. */
typedef struct gn_sample_list {
    uint32_t *items;
    size_t count;
} gn_sample_list;

/* The samples of a split, or all of them with GN_SPLITS. Free the list afterwards. */
GERNE_CHECKED gerne_status gn_samples_of_split(gerne_ctx *ctx, const gn_dataset *dataset,
                                               gn_split split, gn_sample_list *out);
void gn_sample_list_free(gn_sample_list *list);
GN_LOCAL_STRUCT(gn_sample_list, gn_sample_list_free)

typedef struct gn_inference gn_inference;

typedef struct gn_inference_options {
    int threads;                /* that decode samples which are not in memory; at least 1 */
    const float *scale, *shift; /* [GN_CHANNELS], copied; NULL: the dataset's own */
    bool body_only;             /* features alone: the head does not run */
    gn_augment augment;         /* of pictures, by seed, step and sample; evaluation has none */
    uint64_t seed, step;
    size_t done_before, total; /* samples of the work that a pass is a part of; 0: it is all */
} gn_inference_options;

/* Network and dataset (prepared) are lent and must outlive the object. GERNE_EUSAGE when the
 * dataset's samples are not what the network was built for. */
GERNE_CHECKED gerne_status gn_inference_new(gerne_ctx *ctx, gn_network *network,
                                            const gn_dataset *dataset,
                                            const gn_inference_options *options,
                                            gn_inference **out);
void gn_inference_close(gn_inference *inference); /* takes NULL */
GN_LOCAL_HANDLE(gn_inference, gn_inference_close)

/* What the network says about some consecutive samples of the list; borrowed during the call. */
typedef struct gn_inferred {
    const uint32_t *samples;
    size_t count;
    const float *logits;   /* [count][classes]; NULL with body_only */
    const float *features; /* [count][feature_count]; NULL: see gn_inference_gather_features */
    size_t feature_count;
} gn_inferred;

typedef gerne_status gn_inferred_fn(void *user, const gn_inferred *inferred);

/* Calls take for one batch after the other, in the order of the list. what names the work for the
 * progress hook; NULL reports nothing. */
GERNE_CHECKED gerne_status gn_inference_run(gn_inference *inference, const char *what,
                                            const uint32_t *samples, size_t count,
                                            gn_inferred_fn *take, void *user);

/* Where several ranks share the work, the features of all samples are given only on request (and
 * with body_only): they are much larger than logits. */
void gn_inference_gather_features(gn_inference *inference, bool on);

/* Appends the samples' classes, attributes (0 where unknown), probabilities and predictions. The
 * dataset has labels, and classes means the same in dataset, network and predictions. */
GERNE_CHECKED gerne_status gn_inference_predict(gn_inference *inference, const char *what,
                                                const uint32_t *samples, size_t count,
                                                gn_predictions *predictions);

#endif
