/* files.h - weight files built in memory, honest and lying. */
#ifndef GN_TESTS_NN_FILES_H
#define GN_TESTS_NN_FILES_H

#include "base/text.h"
#include "nn/weights.h"

/* A safetensors file of this header (its length put before it) and data_size zero bytes. */
void safetensors_bytes(const char *header, size_t data_size, gn_text *out);

typedef struct zip_part {
    const char *name;
    const void *bytes;
    size_t size;
} zip_part;

/* A zip archive of stored entries. */
void zip_bytes(const zip_part *parts, size_t count, gn_text *out);

/* What torch.save would wrap around this pickle: "a/data.pkl" and "a/data/0" with 24 zero bytes. */
void pth_bytes(const void *pickle, size_t size, gn_text *out);

/* The value that tests/golden/weights.py puts at item i of tensor k. */
float golden_value(size_t k, size_t i);

/* Parses bytes as weights from "test". */
gerne_status parse_text(gerne_ctx *ctx, const gn_text *bytes, gn_weights **out);

#endif
