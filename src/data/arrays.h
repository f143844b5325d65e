/* arrays.h - samples that a program keeps in memory, or fetches, as a dataset: gerne_arrays. */
#ifndef GN_DATA_ARRAYS_H
#define GN_DATA_ARRAYS_H

#include "data/source.h"

/* GERNE_EUSAGE unless the arrays are of one of the kinds; *format is the one that goes with it. */
GERNE_CHECKED gerne_status gn_arrays_format(gerne_ctx *ctx, const gerne_arrays *arrays,
                                            gn_data_format *format);

/* Opens options->arrays, which has to outlive the dataset. Labels are copied, samples are not. */
GERNE_CHECKED gerne_status gn_open_arrays(gerne_ctx *ctx, const gn_data_options *options,
                                          gn_dataset *dataset);

/* Features that are fetched: all of them, on several threads. */
GERNE_CHECKED gerne_status gn_arrays_fetch(gerne_ctx *ctx, gn_dataset *dataset, int threads);

#endif
