#include "nn/mixed_texts.h"

#include <string.h>

#include "base/memory.h"

/* The loss of the mixed logits, as one of twice as many samples: own, other, own, other. */
typedef struct pair_terms {
    const gn_loss *loss;
    const float *share;
    float *logits, *gradient; /* [pairs][classes], of the mixed samples */
    float *losses;            /* [pairs], or NULL */
} pair_terms;

static void mix_logits(const pair_terms *terms, const gn_loss_part *pairs, const float *from)
{
    size_t classes = pairs->classes;
    float *mixed = terms->logits + pairs->first * classes;
    for (size_t i = 0; i < pairs->count; i++, from += 2 * classes) {
        float share = terms->share[pairs->first + i];
        for (size_t k = 0; k < classes; k++)
            mixed[i * classes + k] = share * from[k] + (1 - share) * from[classes + k];
    }
}

static void spread_gradient(const pair_terms *terms, const gn_loss_part *pairs, float *to)
{
    size_t classes = pairs->classes;
    for (size_t i = 0; i < pairs->count; i++, to += 2 * classes) {
        float share = terms->share[pairs->first + i];
        for (size_t k = 0; k < classes; k++) {
            to[k] = share * pairs->logit_gradient[i * classes + k];
            to[classes + k] = (1 - share) * pairs->logit_gradient[i * classes + k];
        }
    }
}

static double evaluate_pairs(const void *given, const gn_loss_part *part)
{
    const pair_terms *terms = given;
    size_t first = part->first / 2;
    const gn_loss_part pairs = {
        .first = first,
        .count = part->count / 2,
        .classes = part->classes,
        .logits = terms->logits + first * part->classes,
        .losses = terms->losses ? terms->losses + first : NULL,
        .logit_gradient = part->logit_gradient ? terms->gradient + first * part->classes : NULL};
    mix_logits(terms, &pairs, part->logits);
    double value = terms->loss->evaluate(terms->loss->terms, &pairs);
    if (part->logit_gradient)
        spread_gradient(terms, &pairs, part->logit_gradient);
    return value;
}

/* Own and other source of a pair follow each other. */
static gerne_status run_pairs(gerne_ctx *ctx, gn_network *network, const gn_samples *samples,
                              const void **sources, const pair_terms *terms, bool accumulate,
                              const gn_outcome *outcome)
{
    size_t n = samples->count;
    gn_samples both = *samples;
    both.count = 2 * n;
    both.in_pairs = true;
    both.labels = NULL;
    both.weights = NULL;
    both.mixture = NULL;
    for (int f = 0; f < gn_network_shape(network)->count; f++, sources += 2 * n) {
        for (size_t i = 0; i < n; i++) {
            sources[2 * i] = samples->fields[f][i];
            sources[2 * i + 1] = samples->mixture->fields[f][i];
        }
        both.fields[f] = sources;
    }
    const gn_loss loss = {.evaluate = evaluate_pairs, .terms = terms};
    GN_TRY(gn_pass_step(ctx, network, &both, &loss, accumulate,
                        &(gn_outcome){.value = outcome->value}));
    size_t classes = (size_t)gn_network_classes(network);
    if (outcome->predictions)
        gn_predict(terms->logits, n, classes, outcome->predictions);
    if (outcome->logits)
        memcpy(outcome->logits, terms->logits, n * classes * sizeof(float));
    return GERNE_OK;
}

gerne_status gn_mixed_texts_step(gerne_ctx *ctx, gn_network *network, const gn_samples *samples,
                                 const gn_loss *loss, bool accumulate, const gn_outcome *outcome)
{
    const gn_cross_entropy own = gn_samples_terms(samples);
    const gn_loss usual = gn_cross_entropy_loss(&own);
    pair_terms terms = {
        .loss = loss ? loss : &usual, .share = samples->mixture->share, .losses = outcome->losses};
    if (samples->mixture->boxes)
        return gn_fail(ctx, GERNE_EUNSUPPORTED, "texts have no boxes that could be exchanged");
    if (terms.loss->wants_features || outcome->features)
        return gn_fail(ctx, GERNE_EUNSUPPORTED, "mixed texts have no features of their own");
    if (gn_network_batch(network) < 2)
        return gn_fail(ctx, GERNE_EINTERNAL, "a network for one text at a time cannot mix two");
    size_t n = samples->count, logits = n * (size_t)gn_network_classes(network);
    GN_FREED const void **sources = NULL;
    GN_FREED float *mixed = NULL;
    GN_TRY(gn_alloc(ctx, 2 * logits, sizeof *mixed, "mixed logits", &mixed));
    GN_TRY(gn_alloc(ctx, 2 * n * (size_t)gn_network_shape(network)->count, sizeof *sources,
                    "a list of texts", &sources));
    terms.logits = mixed;
    terms.gradient = mixed + logits;
    return run_pairs(ctx, network, samples, sources, &terms, accumulate, outcome);
}
