/* bsoftmax.c - balanced softmax: in training every logit is raised by the logarithm of its class's
 * size, so that the network itself need not know which classes are frequent. It looks at classes
 * alone, also where attributes are known. */
#include "methods/bsoftmax.h"

#include <math.h>

#include "methods/shifted.h"
#include "methods/weighted.h"

typedef struct bsoftmax_state {
    const gerne_sampler *sampler;
    float *raise; /* [classes], added to the logits */
    float *room;  /* [batch][classes] */
} bsoftmax_state;

void gn_log_class_sizes(const gerne_groups *groups, uint32_t classes, uint32_t attributes,
                        float *raise)
{
    for (uint32_t y = 0; y < classes; y++) {
        uint64_t size = 0;
        for (uint32_t a = 0; a < attributes; a++)
            size += gerne_groups_count(groups, y, a);
        raise[y] = (float)log((double)size);
    }
}

static gerne_status start(gn_run *run)
{
    bsoftmax_state *state = run->state;
    size_t logits = (size_t)run->batch * run->classes;
    GN_TRY(gn_run_alloc(run, run->classes, sizeof *state->raise, &state->raise));
    GN_TRY(gn_run_alloc(run, logits, sizeof *state->room, &state->room));
    gn_log_class_sizes(run->groups, run->classes, run->attributes, state->raise);
    return gn_run_sampler(run, NULL, &(gerne_sampler_options){0}, &state->sampler);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const bsoftmax_state *state = run->state;
    (void)k;
    return gn_plan_draw(plan, state->sampler, GERNE_DRAW_UNIFORM);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const bsoftmax_state *state = run->state;
    (void)k;
    const gn_shifted_cross_entropy terms = {gn_samples_terms(&batch->samples), state->raise,
                                            state->room, .common = true};
    const gn_loss loss = gn_shifted_cross_entropy_loss(&terms);
    GN_TRY(gn_run_pass(run, 0, batch, &loss, false));
    gn_run_log(run, "loss", gn_mean(batch->losses[0], batch->samples.count));
    return gn_run_apply(run, 0);
}

static const char description[] =
    "Balanced softmax: in training every logit is raised by the logarithm of the size of its "
    "class, so that the network itself need not favour frequent classes. Batches are uniform.\n\n"
    "    z'_k = z_k + log n_k\n"
    "    L = mean CE(z'_i, y_i);  prediction: argmax z\n\n"
    "It corrects for classes of different sizes and looks at nothing else: attributes are not "
    "used, even where they are known, and with classes of equal size it is ERM. Use it as a "
    "baseline, or where the rare groups are rare classes.";

const gn_method gn_method_bsoftmax = {
    .name = "bsoftmax",
    .paper = "Ren et al. 2020",
    .title = "Balanced Meta-Softmax for Long-Tailed Visual Recognition",
    .summary = "adds the logarithms of the class sizes to the logits in training",
    .description = description,
    .attributes = GN_ATTRIBUTES_UNUSED,
    .state_size = sizeof(bsoftmax_state),
    .plain_batches = true,
    .start = start,
    .plan = plan,
    .step = step,
};
