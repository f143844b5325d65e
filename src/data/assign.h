/* assign.h - which attribute a sample of a made dataset gets (C-MNIST and C-CIFAR-10 alike). */
#ifndef GN_DATA_ASSIGN_H
#define GN_DATA_ASSIGN_H

#include "data/source.h"

/* A labelled base dataset: train first, then test, classes 0..9. */
typedef struct gn_base {
    const uint8_t *train_labels, *test_labels;
    size_t train, test;
} gn_base;

enum { GN_MADE_CLASSES = 10 };

/* Fills y, a and split (allocated for train + test samples). lff: exact counts in order of the
 * file, val samples held out of train, stratified; test uniform. dfa: val (5,000 by default) held
 * out, stratified and seeded; in train and val the attribute is redrawn over all ten with
 * probability ratio; test likewise with probability 1. */
GERNE_CHECKED gerne_status gn_assign(gerne_ctx *ctx, const gn_data_options *options,
                                     const gn_base *base, gn_dataset *dataset);

#endif
