/* idx.h - the files of MNIST and its relatives: unsigned bytes in one or three dimensions, plain or
 * compressed with gzip. */
#ifndef GN_DATA_IDX_H
#define GN_DATA_IDX_H

#include "base/memory.h"

typedef struct gn_idx {
    size_t count, height, width; /* height and width are 1 for labels */
    uint8_t *bytes;              /* count * height * width, within block */
    uint8_t *block;
} gn_idx;

static inline size_t gn_idx_size(const gn_idx *idx)
{
    return idx->count * idx->height * idx->width;
}

/* dimensions is 1 (labels) or 3 (images). GERNE_EUSAGE, which names data.memory_limit, when the
 * file holds more than limit bytes. */
GERNE_CHECKED gerne_status gn_idx_read(gerne_ctx *ctx, const char *path, int dimensions,
                                       size_t limit, gn_idx *out);
/* The same from memory, for tests and fuzzing; name stands for the file in messages. */
GERNE_CHECKED gerne_status gn_idx_parse(gerne_ctx *ctx, const char *name, const void *bytes,
                                        size_t size, int dimensions, size_t limit, gn_idx *out);
void gn_idx_free(gn_idx *idx);

/* DIR/name or DIR/name.gz, whichever exists; also with '.' in place of the '-' before idx. */
GERNE_CHECKED gerne_status gn_idx_find(gerne_ctx *ctx, const char *directory, const char *name,
                                       char *path, size_t size);

#endif
