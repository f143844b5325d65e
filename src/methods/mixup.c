/* mixup.c - mixed samples with mixed labels: every sample of a batch with another one of it, by one
 * coefficient. */
#include "methods/mixing.h"
#include "methods/weighted.h"

typedef struct mixup_options {
    double alpha;
} mixup_options;

static const gn_option options[] = {
    {"alpha", GN_REAL, offsetof(mixup_options, alpha), .fallback = "0.2", .min = 0, .max = 1000,
     .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "both parameters of the coefficient's beta distribution"},
};

typedef struct mixup_state {
    const gerne_sampler *sampler;
    gn_mixing mixing;
} mixup_state;

static gerne_status start(gn_run *run)
{
    mixup_state *state = run->state;
    GN_TRY(gn_mixing_start(run, run->batch, &state->mixing));
    return gn_run_sampler(run, NULL, &(gerne_sampler_options){0}, &state->sampler);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const mixup_state *state = run->state;
    (void)k;
    plan->everywhere = true;
    return gn_plan_draw(plan, state->sampler, GERNE_DRAW_UNIFORM);
}

enum { COEFFICIENT, PARTNERS }; /* random numbers of a step */

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const mixup_options *given = run->options;
    mixup_state *state = run->state;
    size_t n = batch->samples.count;
    gn_stream stream = gn_stream_at(run->seed, GN_RNG_METHOD, (uint64_t)k, COEFFICIENT);
    float lambda = (float)gn_random_beta(&stream, given->alpha, given->alpha);
    gn_permutation partners = gn_permutation_at(n, run->seed, GN_RNG_METHOD, (uint64_t)k, PARTNERS);
    for (size_t i = 0; i < n; i++)
        state->mixing.pairs[i] = (gn_pair){
            .own = (uint32_t)i, .other = (uint32_t)gn_permute(&partners, i), .share = lambda};
    return gn_plain_step(run, gn_mix(&state->mixing, batch, n, GN_MIX_WHOLE));
}

static const char description[] =
    "Every sample of a uniform batch is mixed with another one of the batch, by one coefficient "
    "for all, and so are their labels.\n\n"
    "    lam ~ Beta(alpha, alpha),  pi: a permutation of the batch\n"
    "    x'_i = lam x_i + (1 - lam) x_pi(i)\n"
    "    L = mean lam CE(z(x'_i), y_i) + (1 - lam) CE(z(x'_i), y_pi(i))\n\n"
    "Inputs are mixed: pixels, the features where the body is frozen, and of texts the features in "
    "front of the head. A small alpha mixes "
    "little (lam near 0 or 1), alpha = 1 draws lam uniformly. It is a regulariser for the "
    "boundaries between classes and knows no groups; lisa mixes with regard to groups. Use it as a "
    "baseline. A batch needs at least two samples. Attributes are not used in training.";

const gn_method gn_method_mixup = {
    .name = "mixup",
    .paper = "Zhang et al. 2018",
    .title = "mixup: Beyond Empirical Risk Minimization",
    .summary = "trains on mixtures of two samples and of their labels",
    .description = description,
    .attributes = GN_ATTRIBUTES_UNUSED,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(mixup_options),
    .state_size = sizeof(mixup_state),
    .plain_batches = true,
    .check = gn_check_pairs,
    .start = start,
    .plan = plan,
    .step = step,
};
