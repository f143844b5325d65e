#include "methods/bodies.h"

gerne_status gn_bodies_check(gn_run *run)
{
    if (gn_model_freeze(run->model) == GN_FREEZE_NONE)
        return GERNE_OK;
    gn_fail(run->ctx, GERNE_EUSAGE,
            "method '%s' trains bodies of its own, but model.freeze leaves a part as it is",
            run->method->name);
    gn_hint(run->ctx, "use --model.freeze none");
    return GERNE_EUSAGE;
}
