#include "methods/adapt_features.h"

#include <math.h>

#include "debias/groups.h"
#include "debias/line.h"
#include "methods/subsets.h"

/* Below it Newton's steps on features that separate the classes would have no end. */
static const double LEAST_L2 = 1e-4;

/* Places of the chosen samples in the training split, ascending: the same in every evaluation. */
static gerne_status choose(gn_run *run, gn_adapt_features *f, uint32_t **places, size_t *count)
{
    gn_grouped all = {.n = run->n, .groups = (size_t)run->classes * run->attributes};
    int32_t *group;
    bool *taken;
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, run->n, sizeof *group, &group));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, run->n, sizeof *taken, &taken));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, run->n, sizeof **places, places));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, all.groups, sizeof *f->sizes, &f->sizes));
    for (size_t i = 0; i < run->n; i++)
        group[i] = run->y[i] * (int32_t)run->attributes + run->a[i];
    all.group = group;
    gn_permutation order = gn_permutation_at(run->n, run->seed, GN_RNG_METHOD, 0, 0);
    *count = gn_balanced_subset(&all, &order, GN_GROUP_SAMPLES, f->sizes, *places);
    for (size_t i = 0; i < *count; i++)
        taken[(*places)[i]] = true;
    *count = 0;
    for (size_t i = 0; i < run->n; i++)
        if (taken[i])
            (*places)[(*count)++] = (uint32_t)i;
    return GERNE_OK;
}

static gerne_status infer_train(gn_run *run, gn_adapt_features *f)
{
    uint32_t *places;
    size_t count, width = gn_run_width(run, 0);
    float *x;
    int32_t *y;
    GN_TRY(choose(run, f, &places, &count));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, count * width, sizeof *x, &x));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, count, sizeof *y, &y));
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, count, sizeof *f->group, &f->group));
    for (size_t i = 0; i < count; i++) {
        y[i] = run->y[places[i]];
        f->group[i] = y[i] * (int32_t)run->attributes + run->a[places[i]];
    }
    f->train = (gn_featured){x, y, count, width, run->classes};
    return gn_run_infer_part(run, 0, GN_SET_TRAIN, places, count, NULL, x);
}

static gerne_status infer_validation(gn_run *run, gn_adapt_features *f)
{
    gn_labelled val = gn_run_labelled(run, GN_SET_VALIDATION);
    size_t width = gn_run_width(run, 0);
    float *x;
    GN_TRY(gn_arena_alloc(run->ctx, f->arena, val.n * width, sizeof *x, &x));
    f->val = (gn_featured){x, val.y, val.n, width, run->classes};
    return gn_run_infer(run, 0, GN_SET_VALIDATION, NULL, x);
}

gerne_status gn_adapt_features_open(gn_run *run, gn_adapt_features *f)
{
    *f = (gn_adapt_features){.l2 = fmax(run->weight_decay, LEAST_L2)};
    GN_TRY(gn_arena_new(run->ctx, &f->arena));
    GN_TRY(infer_train(run, f));
    GN_TRY(infer_validation(run, f));
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

void gn_adapt_weigh(const gn_run *run, const gn_adapt_features *f, const double *s, double *scratch,
                    float *weights)
{
    gn_line_fill(run->groups, s, scratch);
    for (size_t i = 0; i < f->train.n; i++) {
        int32_t g = f->group[i];
        weights[i] = (float)(scratch[g] / ((double)f->sizes[g] * run->classes));
    }
}
