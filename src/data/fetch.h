/* fetch.h - samples by index, decoded and augmented ahead of their use on threads of their own.
 *
 *     gn_fetch_options options = {.threads = 2, .ahead = 4 * batch};
 *     GN_TRY(gn_fetch_new(ctx, data, &options, &fetch));
 *     ... gn_fetch_submit for step 0, 1, 2, ... as far as gn_fetch_room allows
 *     for each step:
 *         GN_TRY(gn_fetch_wait(fetch, fields));     // the oldest batch that was submitted
 *         ... fields[0][0..count-1], each a field of a sample as gn_dataset_field gives it
 *         gn_fetch_release(fetch);                  // gives its slots back
 *         ... submit a further step
 *     gn_fetch_close(fetch);
 *
 * Batches come back in the order of submission, and what they contain does not depend on timing:
 * augmentation is a function of (seed, step, sample), and so is the view of a sample of which
 * several are kept. One thread uses a fetch object. Samples that are in memory and not augmented
 * are not copied: their pointers are handed out.
 */
#ifndef GN_DATA_FETCH_H
#define GN_DATA_FETCH_H

#include "data/dataset.h"

typedef struct gn_fetch gn_fetch;

typedef struct gn_fetch_options {
    int threads;        /* that decode; at least 1 */
    size_t ahead;       /* samples that may be held at once (slots); bounded by data.memory_limit */
    uint64_t seed;      /* of the augmentation */
    gn_augment augment; /* of pictures, or unless none one of the kept views; evaluation has none */
} gn_fetch_options;

/* The dataset is lent and must be prepared. */
GERNE_CHECKED gerne_status gn_fetch_new(gerne_ctx *ctx, const gn_dataset *dataset,
                                        const gn_fetch_options *options, gn_fetch **out);
void gn_fetch_close(gn_fetch *fetch); /* takes NULL; waits for the threads */
GN_LOCAL_HANDLE(gn_fetch, gn_fetch_close)

/* Samples that can be submitted now. */
size_t gn_fetch_room(const gn_fetch *fetch);
/* All slots: the largest batch that can ever be submitted at once. */
size_t gn_fetch_slots(const gn_fetch *fetch);

/* Starts a batch; indices are copied. step keys the augmentation. A batch that does not fit the
 * room is GERNE_EUSAGE: ask gn_fetch_room, and submit large batches in parts, with the same step.
 */
GERNE_CHECKED gerne_status gn_fetch_submit(gn_fetch *fetch, uint64_t step, const uint32_t *indices,
                                           size_t count);

/* Waits for the oldest batch that is not released; fields, one pointer a sample for each field of
 * the dataset's shape, are borrowed until the release. The failure of a sample is returned here. */
GERNE_CHECKED gerne_status gn_fetch_wait(gn_fetch *fetch, const void *const *fields[GN_FIELDS_MAX]);
void gn_fetch_release(gn_fetch *fetch);

/* Seconds spent inside gn_fetch_wait so far. */
double gn_fetch_waited(const gn_fetch *fetch);

#endif
