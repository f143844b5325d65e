#include "engine/winograd_kernels.h"

#define LANES     8
#define PROCESSOR "avx2,fma"
#define KERNELS   gn_winograd_8
enum { TILES = 6, INPUTS = 4 }; /* of a block that the registers hold, beside two vectors */
#include "engine/winograd_lanes.h"
