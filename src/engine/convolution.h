/* convolution.h - what others need to know to run a convolution of the graph. */
#ifndef GN_ENGINE_CONVOLUTION_H
#define GN_ENGINE_CONVOLUTION_H

#include "engine/internal.h"

/* Its operands in any order, and its window; whole: no taps are cut off. */
gerne_status gn_describe_convolution(gn_maker *maker, const gn_node *node, gn_operands *operands,
                                     gn_window *window, bool *whole);

#endif
