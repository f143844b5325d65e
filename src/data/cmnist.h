/* cmnist.h - the colours of C-MNIST. */
#ifndef GN_DATA_CMNIST_H
#define GN_DATA_CMNIST_H

#include "data/source.h"

/* Colours an image of size grey values: pixel = trunc(clip(mean + sigma * noise, 0, 1) * value),
 * with one triple of normal noise for the whole image; severity 1..5. */
void gn_cmnist_colour(const uint8_t *grey, size_t size, uint32_t attribute, int severity,
                      const double noise[GN_CHANNELS], uint8_t *pixels);

#endif
