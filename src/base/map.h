/* map.h - files mapped read-only.
 *
 * When a mapped file shrinks, or its disk fails, reading what is gone is a signal (SIGBUS). A
 * program that calls gn_map_guard reads zeros instead, and the next gn_map_check fails; every
 * gn_progress and every commit of a written file checks, so nothing computed from them is kept. A
 * library must not take signals from its host, so nothing is caught unless it is asked for.
 */
#ifndef GN_BASE_MAP_H
#define GN_BASE_MAP_H

#include "base/status.h"

/* bytes is NULL for an empty file. */
typedef struct gn_map {
    const unsigned char *bytes;
    size_t size;
} gn_map;

GERNE_CHECKED gerne_status gn_map_open(gerne_ctx *ctx, const char *path, gn_map *out);
void gn_map_close(gn_map *map);
GN_LOCAL_STRUCT(gn_map, gn_map_close)

/* Catches SIGBUS in maps from now on; other causes of the signal end the program as ever. */
void gn_map_guard(void);

/* GERNE_EIO once bytes of a map were lost. */
GERNE_CHECKED gerne_status gn_map_check(gerne_ctx *ctx);

#endif
