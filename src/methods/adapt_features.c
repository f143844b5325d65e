#include "methods/adapt_features.h"

#include <math.h>

#include "debias/groups.h"
#include "debias/line.h"

/* Below it Newton's steps on features that separate the classes would have no end. */
static const double LEAST_L2 = 1e-4;

static gerne_status infer(gn_run *run, gn_adapt_features *f, gn_sample_set set, gn_featured *out)
{
    gn_labelled labelled = gn_run_labelled(run, set);
    float *x;
    *out = (gn_featured){
        .y = labelled.y, .n = labelled.n, .width = gn_run_width(run, 0), .classes = run->classes};
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, out->n * out->width, sizeof *x, &x));
    out->x = x;
    return gn_run_infer(run, 0, set, NULL, x);
}

gerne_status gn_adapt_features_open(gn_run *run, gn_adapt_features *f)
{
    *f = (gn_adapt_features){.l2 = fmax(run->weight_decay, LEAST_L2)};
    GN_TRY(gn_arena_new(run->ctx, &f->arena));
    GN_TRY(infer(run, f, GN_SET_TRAIN, &f->train));
    GN_TRY(infer(run, f, GN_SET_VALIDATION, &f->val));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, f->train.n, sizeof *f->weights, &f->weights));
    const gn_head_objective objective = {f->train, f->weights, f->l2};
    GN_TRY(gn_head_solver_new(run->ctx, f->arena, &objective, &f->work));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, f->work.size, sizeof *f->head, &f->head));
    const gn_linear_head head = gn_flat_head(&f->work, f->head);
    return gn_run_get_head(run, 0, head.weights, head.bias);
}

void gn_adapt_features_close(gn_adapt_features *f)
{
    gn_arena_close(f->arena);
    *f = (gn_adapt_features){0};
}

void gn_adapt_weigh(gn_run *run, const double *s, double *scratch, float *weights)
{
    const gerne_groups *groups = run->groups;
    gn_line_weights(groups, NULL, s, scratch);
    for (size_t i = 0; i < run->n; i++) {
        uint32_t y = (uint32_t)run->y[i];
        double share = (double)groups->class_counts[y] * run->classes;
        weights[i] = (float)(scratch[gn_group_id(groups, y, (uint32_t)run->a[i])] / share);
    }
}
