/* zip.h - the stored entries of a zip archive in memory, as torch.save writes them.
 *
 * Nothing is copied or unpacked: an entry's bytes are borrowed from the archive's. Compressed and
 * encrypted entries have none, so no archive can grow while it is read. */
#ifndef GN_NN_ZIP_H
#define GN_NN_ZIP_H

#include "base/memory.h"

typedef struct gn_zip_entry {
    const char *name; /* not terminated */
    size_t name_size;
    const unsigned char *bytes;
    size_t size;
    bool stored; /* bytes is NULL when not */
} gn_zip_entry;

typedef struct gn_zip {
    gn_zip_entry *entries; /* sorted by name; no two are the same */
    size_t count, capacity;
} gn_zip;

/* Failures are GERNE_EDATA without a file name. gn_zip_close is due also after a failure. */
GERNE_CHECKED gerne_status gn_zip_open(gerne_ctx *ctx, const unsigned char *bytes, size_t size,
                                       gn_zip *out);
void gn_zip_close(gn_zip *zip);

/* The entry called folder + name; NULL when there is none. */
const gn_zip_entry *gn_zip_find(const gn_zip *zip, const char *folder, size_t folder_size,
                                const char *name, size_t name_size);

/* GERNE_EDATA with a sentence unless the entry is stored as it is. */
GERNE_CHECKED gerne_status gn_zip_check_stored(gerne_ctx *ctx, const gn_zip_entry *entry);

#endif
