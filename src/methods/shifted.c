#include "methods/shifted.h"

static double shifted_cross_entropy(const void *given, const gn_loss_part *part)
{
    const gn_shifted_cross_entropy *terms = given;
    size_t first = part->first * part->classes;
    float *logits = terms->room + first;
    for (size_t i = 0; i < part->count * part->classes; i++)
        logits[i] = part->logits[i] + terms->shift[terms->common ? i % part->classes : first + i];
    gn_loss_part shifted = *part;
    shifted.logits = logits;
    const gn_loss plain = gn_cross_entropy_loss(&terms->cross_entropy);
    return plain.evaluate(plain.terms, &shifted);
}

gn_loss gn_shifted_cross_entropy_loss(const gn_shifted_cross_entropy *terms)
{
    return (gn_loss){.evaluate = shifted_cross_entropy, .terms = terms};
}

gerne_status gn_shifted_step(gn_run *run, gn_minibatch *batch, const float *shift, float *room)
{
    const gn_shifted_cross_entropy terms = {gn_samples_terms(&batch->samples), shift, room,
                                            .common = false};
    const gn_loss loss = gn_shifted_cross_entropy_loss(&terms);
    GN_TRY(gn_run_pass(run, 0, batch, &loss, false));
    gn_run_log(run, "loss", gn_mean(batch->losses[0], batch->samples.count));
    return gn_run_apply(run, 0);
}
