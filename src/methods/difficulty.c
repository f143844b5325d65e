#include "methods/difficulty.h"

#include "methods/rules.h"

gerne_status gn_difficulty_start(gn_run *run, gn_difficulty *d)
{
    GN_TRY(gn_run_table(run, "debiased losses", run->n, 0, &d->means[GN_DEBIASED]));
    GN_TRY(gn_run_table(run, "biased losses", run->n, 0, &d->means[GN_BIASED]));
    GN_TRY(gn_run_table(run, "seen", run->n, 0, &d->seen));
    for (int i = 0; i < 2; i++)
        GN_TRY(gn_run_alloc(run, run->classes, sizeof(float), &d->maxima[i]));
    return GERNE_OK;
}

void gn_difficulty_weigh(const gn_run *run, gn_difficulty *d, const gn_minibatch *batch,
                         float *const losses[2], double rho, float *weights)
{
    size_t n = batch->samples.count;
    for (size_t i = 0; i < n; i++) {
        uint32_t s = batch->indices[i];
        for (int of = 0; of < 2; of++)
            d->means[of][s] = gn_lff_mean(d->means[of][s], d->seen[s] != 0, losses[of][i], rho);
        d->seen[s] = 1;
    }
    for (int of = 0; of < 2; of++)
        gn_class_maxima(d->means[of], run->y, run->n, run->classes, d->maxima[of]);
    for (size_t i = 0; i < n; i++) {
        uint32_t s = batch->indices[i];
        float relative[2];
        for (int of = 0; of < 2; of++) {
            float largest = d->maxima[of][run->y[s]];
            relative[of] = largest > 0 ? d->means[of][s] / largest : 0;
        }
        weights[i] = gn_lff_weight(relative[GN_BIASED], relative[GN_DEBIASED]) / (float)n;
    }
}
