#include "methods/two_stage.h"

gn_stage gn_erm_stage(void)
{
    return (gn_stage){
        .name = "erm", .lr_factor = 1, .decay_factor = 1, .networks = 1, .keep = GN_KEEP_LAST};
}

int gn_first_and_main(double first_epochs, gn_stage *stages)
{
    stages[0] = gn_erm_stage();
    stages[0].name = "first";
    stages[0].epochs = first_epochs;
    stages[1] = (gn_stage){.name = "main", .lr_factor = 1, .decay_factor = 1, .networks = 1};
    return 2;
}

bool gn_is_first_stage(const gn_run *run)
{
    return run->stage_index == 0;
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
