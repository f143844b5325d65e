/* dense_convolution.h - convolutions that are matrix products: every output sees the whole image.
 *
 * So are 3x3 kernels on images of 2 x 2 and of one pixel. oneDNN's convolutions are made for long
 * rows of pixels, and reach a tenth to a half of the speed of its matrix products here. */
#ifndef GN_ENGINE_DENSE_CONVOLUTION_H
#define GN_ENGINE_DENSE_CONVOLUTION_H

#include "engine/internal.h"

/* By shape and precision; its weights then lie in GN_TAPS_ORDER. */
bool gn_convolves_densely(const gn_maker *maker, const gn_node *node);
/* Also by the order of its input: it is an image in blocks of channels. */
bool gn_runs_densely(const gn_compiler *c, const gn_node *node);

gerne_status gn_dense_forward(gn_compiler *c, const gn_node *node);
gerne_status gn_dense_backward(gn_compiler *c, const gn_node *node);

#endif
