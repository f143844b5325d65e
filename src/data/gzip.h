/* gzip.h - unpacks files of gzip whose size is known beforehand. */
#ifndef GN_DATA_GZIP_H
#define GN_DATA_GZIP_H

#include <stdbool.h>
#include <stddef.h>

/* Asked before memory is taken. Whether size bytes can hold so much at all: deflate makes at most
 * 1032 bytes of one. */
bool gn_gzip_may_hold(size_t size, size_t unpacked);
/* Whether the last bytes of the file say this size. */
bool gn_gzip_says(const void *bytes, size_t size, size_t unpacked);

/* True when the file is one member without anything after it, whole and undamaged (its checksum is
 * compared), and makes exactly this many bytes. */
bool gn_gzip_unpack(const void *bytes, size_t size, void *out, size_t unpacked);

#endif
