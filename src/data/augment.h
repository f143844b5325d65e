/* augment.h - random changes of a picture that keep its label: data.augment. */
#ifndef GN_DATA_AUGMENT_H
#define GN_DATA_AUGMENT_H

#include "base/augment.h"
#include "base/rng.h"

/* Writes a changed copy of a picture ([height][width][3] bytes), drawn from the stream alone. What
 * comes from outside of the picture is zero. */
void gn_augment_picture(gn_augment kind, gn_stream *stream, size_t height, size_t width,
                        const uint8_t *from, uint8_t *to);

#endif
