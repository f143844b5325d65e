#include "engine/winograd_kernels.h"

#define LANES     16
#define PROCESSOR "avx512f"
#define KERNELS   gn_winograd_16
enum { TILES = 12, INPUTS = 8 }; /* of a block that the registers hold, beside two vectors */
#include "engine/winograd_lanes.h"
