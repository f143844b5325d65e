/* crt.c - classifier retraining: a network learns features from the data as they are, then a fresh
 * head is trained on them with balanced groups, by drawing (crt) or by weighting (reweight_crt). */
#include "methods/group_weights.h"
#include "methods/two_stage.h"

typedef struct crt_state {
    const gerne_sampler *sampler;
    double *weights; /* of groups: reweight_crt, second stage */
} crt_state;

static int stages(const gn_run *run, gn_stage *list)
{
    (void)run;
    list[0] = gn_erm_stage();
    list[1] = gn_head_stage("head");
    return 2;
}

static bool second(const gn_run *run)
{
    return run->stage->head_only;
}

static gerne_status start(gn_run *run)
{
    crt_state *state = run->state;
    return gn_run_sampler(run, NULL, &(gerne_sampler_options){.drop_last = true}, &state->sampler);
}

static gerne_status start_reweight(gn_run *run)
{
    crt_state *state = run->state;
    if (second(run))
        GN_TRY(gn_group_weights(run, &(gn_weighting){.rule = GN_BY_SIZE}, &state->weights));
    return start(run);
}

static gerne_status draw(gn_run *run, gerne_draw of_second, gn_plan *plan)
{
    const crt_state *state = run->state;
    plan->batches[plan->count++] = (gn_request){
        .sampler = state->sampler, .draw = second(run) ? of_second : GERNE_DRAW_SHUFFLED};
    return GERNE_OK;
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    (void)k;
    return draw(run, GERNE_DRAW_GROUPS, plan);
}

static gerne_status plan_reweight(gn_run *run, int64_t k, gn_plan *plan)
{
    (void)k;
    return draw(run, GERNE_DRAW_UNIFORM, plan);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    (void)k;
    return gn_plain_step(run, batch);
}

static gerne_status step_reweight(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const crt_state *state = run->state;
    (void)k;
    if (!second(run))
        return gn_plain_step(run, batch);
    gn_weigh_by_group(run, state->weights, batch);
    return gn_weighted_step(run, batch);
}

static const char crt_description[] =
    "Classifier retraining: stage 'erm' trains the whole network by ERM and keeps the last "
    "checkpoint. Stage 'head' keeps its body and trains a fresh head, every sample of a batch "
    "being drawn from a group chosen uniformly.\n\n"
    "    erm:   L = mean CE_i,  shuffled epochs\n"
    "    head:  P(i) = 1 / (G n_g(i)),  L = mean CE_i,  body fixed\n\n"
    "It assumes that ERM learns useful features for all groups and that only the head relies on "
    "the shortcut. Both stages have the length and the learning rate of the run; in the second the "
    "body is in inference mode. Use it when attributes are known and training the body with "
    "balanced groups overfits. With unknown attributes the groups are those of method.estimator; "
    "without one classes are balanced.";

const gn_method gn_method_crt = {
    .name = "crt",
    .paper = "Kang et al. 2020",
    .title = "Decoupling Representation and Classifier for Long-Tailed Recognition",
    .summary = "retrains the head of an ERM network on group-balanced batches",
    .description = crt_description,
    .attributes = GN_ATTRIBUTES_GROUPS,
    .state_size = sizeof(crt_state),
    .plain_batches = true,
    .stages = stages,
    .start = start,
    .plan = plan,
    .step = step,
};

static const char reweight_crt_description[] =
    "Classifier retraining as in crt, but the second stage draws uniform batches and weights "
    "samples by the inverse size of their group, as reweight does.\n\n"
    "    erm:   L = mean CE_i,  shuffled epochs\n"
    "    head:  L = mean w_g(i) CE_i,  body fixed\n"
    "    w_g = G r_g / sum_h r_h,  r_g = 1 / n_g  (0 for an empty group)\n\n"
    "It assumes that ERM learns useful features for all groups and that only the head relies on "
    "the shortcut. Use it as crt, with weights in place of repeated samples. Both stages have the "
    "length and the learning rate of the run. The weights have mean 1 over the groups, not over "
    "the samples, so that sgd may need a larger learning rate. With unknown attributes the groups "
    "are those of method.estimator; without one weights are by class size.";

const gn_method gn_method_reweight_crt = {
    .name = "reweight_crt",
    .paper = "Kang et al. 2020",
    .title = "Decoupling Representation and Classifier for Long-Tailed Recognition",
    .summary = "retrains the head of an ERM network with weights by group size",
    .description = reweight_crt_description,
    .attributes = GN_ATTRIBUTES_GROUPS,
    .state_size = sizeof(crt_state),
    .plain_batches = true,
    .stages = stages,
    .start = start_reweight,
    .plan = plan_reweight,
    .step = step_reweight,
};
