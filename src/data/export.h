/* export.h - a dataset of pictures as files that other tools read. */
#ifndef GN_DATA_EXPORT_H
#define GN_DATA_EXPORT_H

#include "data/dataset.h"

/* Writes DIRECTORY/<split>/<thousands>/<row>.png and DIRECTORY/metadata.csv with the columns id,
 * filename, split (0/1/2), y, a, class and attribute. All of it appears at the end, or nothing.
 * A folder that is not empty is refused. */
GERNE_CHECKED gerne_status gn_dataset_export(gerne_ctx *ctx, const gn_dataset *dataset,
                                             const char *directory, int threads);

#endif
