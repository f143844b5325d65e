/* download.h - files from the network: resumed, checked, unpacked. */
#ifndef GN_DATA_DOWNLOAD_H
#define GN_DATA_DOWNLOAD_H

#include "base/sha256.h"

typedef struct gn_download {
    const char *url;
    const char *path;   /* the finished file; PATH.part while it is not complete */
    const char *sha256; /* 64 digits, or NULL when none is known */
    uint64_t limit;     /* more bytes than this are refused; 0: 64 GB */
} gn_download;

/* Gets a file over HTTP or HTTPS. A PATH.part that an earlier call left behind is continued when
 * the checksum is known, else replaced. A file whose checksum is wrong is removed. hex receives its
 * SHA-256. */
GERNE_CHECKED gerne_status gn_download_file(gerne_ctx *ctx, const gn_download *download,
                                            char hex[GN_SHA256_HEX]);

/* Unpacks a tar or zip archive (plain, or compressed with gzip, bzip2 or xz) below a directory: all
 * of it, or nothing. Bytes are decompressed in this process: no program is started. Paths that
 * would leave it, links and special files are refused, as is more than limit bytes in all (0: a
 * hundred times the archive's size and 64 MB: pictures are packed once at most, bombs many times).
 */
GERNE_CHECKED gerne_status gn_unpack(gerne_ctx *ctx, const char *archive, const char *directory,
                                     uint64_t limit);

/* True when the name looks like an archive that gn_unpack reads. */
bool gn_is_archive(const char *path);

/* The datasets whose published addresses we know. */
typedef struct gn_published_file {
    const char *name;
    const char *sha256; /* NULL when the publisher gives none */
    uint64_t limit;
} gn_published_file;

typedef struct gn_published {
    const char *name, *what, *base, *licence;
    const gn_published_file *files;
    size_t count;
    const char *usage; /* how to use it then; %s stands for the folder */
} gn_published;

/* All of them; count through the pointer. */
const gn_published *gn_published_list(size_t *count);
const gn_published *gn_published_find(const char *name);

#endif
