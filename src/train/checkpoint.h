/* checkpoint.h - a file of named blocks of bytes with a JSON head and a checksum: last.ckpt.
 *
 *     gn_checkpoint_blocks blocks = {0};
 *     GN_TRY(gn_checkpoint_add(ctx, &blocks, "values", bytes, size));
 *     GN_TRY(gn_checkpoint_write(ctx, path, &blocks, head));
 *
 * The file appears under its name only when it is complete.
 */
#ifndef GN_TRAIN_CHECKPOINT_H
#define GN_TRAIN_CHECKPOINT_H

#include "base/json.h"

enum { GN_BLOCKS_MAX = 48, GN_BLOCK_NAME = 48 };

typedef struct gn_block_out {
    char name[GN_BLOCK_NAME];
    const void *bytes;
    size_t size;
} gn_block_out;

typedef struct gn_checkpoint_blocks {
    gn_block_out items[GN_BLOCKS_MAX];
    size_t count;
} gn_checkpoint_blocks;

/* The bytes are lent until gn_checkpoint_write; nothing is added when bytes is NULL. */
GERNE_CHECKED gerne_status gn_checkpoint_add(gerne_ctx *ctx, gn_checkpoint_blocks *blocks,
                                             const char *name, const void *bytes, size_t size);

/* head is an object; its reference is taken. */
GERNE_CHECKED gerne_status gn_checkpoint_write(gerne_ctx *ctx, const char *path,
                                               const gn_checkpoint_blocks *blocks, json_t *head);

typedef struct gn_checkpoint gn_checkpoint;

/* GERNE_EDATA when the file is not a whole checkpoint. */
GERNE_CHECKED gerne_status gn_checkpoint_open(gerne_ctx *ctx, const char *path,
                                              gn_checkpoint **out);
void gn_checkpoint_close(gn_checkpoint *checkpoint); /* takes NULL */
GN_LOCAL_HANDLE(gn_checkpoint, gn_checkpoint_close)
const json_t *gn_checkpoint_head(const gn_checkpoint *checkpoint); /* borrowed */

/* Copies a block to bytes. A block that is not there leaves bytes alone (*found, which may be NULL,
 * is false then); one of another size is GERNE_EDATA. A NULL checkpoint has no blocks. */
GERNE_CHECKED gerne_status gn_checkpoint_take(const gn_checkpoint *checkpoint, const char *name,
                                              void *bytes, size_t size, bool *found);

#endif
