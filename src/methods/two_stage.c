#include "methods/two_stage.h"

gn_stage gn_erm_stage(void)
{
    return (gn_stage){
        .name = "erm", .lr_factor = 1, .decay_factor = 1, .networks = 1, .keep = GN_KEEP_LAST};
}

gn_stage gn_head_stage(const char *name)
{
    return (gn_stage){.name = name,
                      .lr_factor = 1,
                      .decay_factor = 1,
                      .networks = 1,
                      .start = GN_START_PREVIOUS_BODY,
                      .head_only = true};
}
