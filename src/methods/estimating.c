#include "methods/estimating.h"

#include "debias/groups.h"
#include "methods/rules.h"
#include "methods/weighted.h"
#include "nn/loss.h"

gn_stage gn_estimator_stage(const char *name, const gn_estimator_budget *budget)
{
    return (gn_stage){.name = name,
                      .lr_factor = budget->lr,
                      .decay_factor = 1,
                      .epochs = budget->epochs,
                      .networks = 1,
                      .augments_itself = budget->augment > 0,
                      .augment =
                          budget->augment > 0 ? (gn_augment)(budget->augment - 1) : GN_AUGMENT_NONE,
                      .keep = GN_KEEP_LAST};
}

size_t gn_val_count(const gn_run *run)
{
    return gn_run_labelled(run, GN_SET_VALIDATION).n;
}

gerne_status gn_predict_set(gn_run *run, int i, gn_sample_set set, float *classes)
{
    size_t n = gn_run_labelled(run, set).n;
    float *logits;
    GN_TRY(gn_run_alloc(run, n * run->classes, sizeof *logits, &logits));
    GN_TRY(gn_run_infer(run, i, set, logits, NULL));
    for (size_t s = 0; s < n; s++)
        classes[s] = (float)gn_argmax_float(logits + s * run->classes, run->classes);
    return GERNE_OK;
}

void gn_mark_right(const float *predictions, const int32_t *y, size_t n, float *right)
{
    for (size_t i = 0; i < n; i++)
        right[i] = (int32_t)predictions[i] == y[i];
}

gerne_status gn_take_part(gn_run *run, const float *chosen, uint32_t **map,
                          const gerne_groups **groups)
{
    size_t count = 0;
    int32_t *y;
    GN_TRY(gn_run_alloc(run, run->n, sizeof **map, map));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *y, &y));
    for (size_t i = 0; i < run->n; i++)
        if (chosen[i] != 0) {
            y[count] = run->y[i];
            (*map)[count++] = (uint32_t)i;
        }
    run->epoch_samples = count;
    return gn_run_groups(run, y, NULL, count, 1, groups);
}

gerne_status gn_train_part_start(gn_run *run, const float *chosen, gn_train_part *part)
{
    const gerne_groups *groups;
    GN_TRY(gn_take_part(run, chosen, &part->map, &groups));
    run->pass_samples = (size_t)run->classes * run->per_class;
    return gn_run_sampler(run, groups, &(gerne_sampler_options){.c = 1, .beta = -1},
                          &part->sampler);
}

gerne_status gn_train_part_plan(const gn_train_part *part, gn_plan *plan)
{
    plan->batches[plan->count++] =
        (gn_request){.sampler = part->sampler, .draw = GERNE_DRAW_BIASED, .map = part->map};
    return GERNE_OK;
}

gerne_status gn_gce_step(gn_run *run, gn_minibatch *batch)
{
    static const double q = 0.7;
    size_t n = batch->samples.count;
    GN_TRY(gn_weighted_forward(run, 0, batch));
    for (size_t i = 0; i < n; i++)
        batch->weights[i] = batch->samples.weights[i] * gn_gce_factor(batch->losses[0][i], q);
    GN_TRY(gn_weighted_backward(run, 0, batch, batch->weights, false));
    gn_run_log(run, "loss", gn_weighted_sum(batch->weights, batch->losses[0], n));
    return gn_run_apply(run, 0);
}

static gerne_status to_integers(gn_run *run, const float *values, size_t n, int32_t **out)
{
    GN_TRY(gn_run_alloc(run, n + 1, sizeof **out, out));
    for (size_t i = 0; i < n; i++)
        (*out)[i] = (int32_t)values[i];
    return GERNE_OK;
}

gerne_status gn_regroup_in_two(gn_run *run, const float *marks,
                               const char *const names[GN_TWO_ATTRIBUTES])
{
    static const bool minority[GN_TWO_ATTRIBUTES] = {true, false};
    int32_t *a;
    GN_TRY(to_integers(run, marks, run->n, &a));
    return gn_run_regroup(
        run, &(gn_grouping){
                 .a = a, .attributes = GN_TWO_ATTRIBUTES, .names = names, .minority = minority});
}

gerne_status gn_regroup_by_class(gn_run *run, const float *classes)
{
    int32_t *a;
    GN_TRY(to_integers(run, classes, run->n, &a));
    return gn_run_regroup(run,
                          &(gn_grouping){.a = a,
                                         .attributes = run->classes,
                                         .names = (const char *const *)run->groups->class_names});
}

gerne_status gn_sum_probabilities(gn_run *run, int networks, gn_sample_set set, float *logits,
                                  float *sums)
{
    size_t n = gn_run_labelled(run, set).n, values = n * run->classes;
    for (int net = 0; net < networks; net++) {
        GN_TRY(gn_run_infer(run, net, set, logits, NULL));
        gn_softmax(logits, n, run->classes);
        for (size_t i = 0; i < values; i++)
            sums[i] = net == 0 ? logits[i] : sums[i] + logits[i];
    }
    return GERNE_OK;
}

gerne_status gn_cells_of_table(gn_run *run, gn_val_cells kind, const float *values, uint32_t count)
{
    int32_t *cells;
    GN_TRY(to_integers(run, values, gn_val_count(run), &cells));
    return gn_run_val_cells(run, kind, cells, count);
}

uint32_t gn_finds_two(const gn_run *run)
{
    (void)run;
    return GN_TWO_ATTRIBUTES;
}
