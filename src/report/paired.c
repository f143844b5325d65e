/* paired.c - runs that predicted the same samples as the first: how much better, and is it luck? */
#include "report/sections.h"

static gerne_status compare(const gn_run_record *first, gn_run_record *run)
{
    gerne_ctx *ctx = run->ctx;
    if (!first->predictions.predictions.count || !run->predictions.predictions.count)
        return GERNE_OK;
    gerne_status status = gn_predictions_check_paired(ctx, &run->predictions, run->path,
                                                      &first->predictions, first->path);
    if (status != GERNE_OK)
        return status == GERNE_EDATA ? GERNE_OK : status; /* of other samples */
    GN_TRY(gn_compare(ctx, &run->predictions.predictions, &first->predictions.predictions,
                      GN_RESAMPLES, 0, &run->difference));
    run->is_paired = true;
    return GERNE_OK;
}

gerne_status gn_pair_runs(gn_run_record *runs, size_t count)
{
    for (size_t i = 1; i < count; i++)
        GN_TRY(compare(&runs[0], &runs[i]));
    return GERNE_OK;
}
