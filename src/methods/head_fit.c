#include "methods/head_fit.h"

#include <math.h>

#include "nn/logistic.h"
#include "nn/loss.h"

static const double tried[] = {1, 0.7, 0.3, 0.1, 0.07, 0.03, 0.01};

enum { HALVES = 0, FIRST_REPEAT = 1 }; /* steps of the permutations */

/* (x - mean) / deviation, feature by feature. */
typedef struct scale {
    double *mean, *deviation;
} scale;

typedef struct workspace {
    const gn_head_problem *problem;
    size_t *sizes;          /* [groups] */
    uint32_t *list;         /* [n] */
    bool *fits;             /* [n]: the half to fit on */
    float *x;               /* [n][width], of a fit */
    int32_t *y;             /* [n] */
    double *weights, *bias; /* of a fit, for standardised features */
    double *weight_sum, *bias_sum;
    float *logits;
    scale scale;
} workspace;

static gerne_status reserve(gerne_ctx *ctx, gn_arena *arena, workspace *w)
{
    const gn_featured *s = &w->problem->samples;
    size_t head = s->classes * s->width;
    GN_TRY(gn_arena_alloc(ctx, arena, w->problem->groups.groups, sizeof *w->sizes, &w->sizes));
    GN_TRY(gn_arena_alloc(ctx, arena, s->n, sizeof *w->list, &w->list));
    GN_TRY(gn_arena_alloc(ctx, arena, s->n, sizeof *w->fits, &w->fits));
    GN_TRY(gn_arena_alloc(ctx, arena, s->n * s->width, sizeof *w->x, &w->x));
    GN_TRY(gn_arena_alloc(ctx, arena, s->n, sizeof *w->y, &w->y));
    GN_TRY(gn_arena_alloc(ctx, arena, head, sizeof *w->weights, &w->weights));
    GN_TRY(gn_arena_alloc(ctx, arena, s->classes, sizeof *w->bias, &w->bias));
    GN_TRY(gn_arena_alloc(ctx, arena, head, sizeof *w->weight_sum, &w->weight_sum));
    GN_TRY(gn_arena_alloc(ctx, arena, s->classes, sizeof *w->bias_sum, &w->bias_sum));
    GN_TRY(gn_arena_alloc(ctx, arena, s->n * s->classes, sizeof *w->logits, &w->logits));
    GN_TRY(gn_arena_alloc(ctx, arena, s->width, sizeof *w->scale.mean, &w->scale.mean));
    return gn_arena_alloc(ctx, arena, s->width, sizeof *w->scale.deviation, &w->scale.deviation);
}

/* Of the rows in list, or of the first count; a feature that does not vary keeps its size. */
static void take_scale(const float *x, size_t width, const uint32_t *list, size_t count, scale *out)
{
    for (size_t j = 0; j < width; j++)
        out->mean[j] = out->deviation[j] = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < width; j++)
            out->mean[j] += (double)x[(list ? list[i] : i) * width + j] / (double)count;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < width; j++) {
            double d = (double)x[(list ? list[i] : i) * width + j] - out->mean[j];
            out->deviation[j] += d * d / (double)count;
        }
    for (size_t j = 0; j < width; j++)
        out->deviation[j] = out->deviation[j] > 0 ? sqrt(out->deviation[j]) : 1;
}

/* On the first count samples of the list. */
static gerne_status fit(gerne_ctx *ctx, workspace *w, size_t count, double c)
{
    const gn_featured *s = &w->problem->samples;
    for (size_t i = 0; i < count; i++) {
        const float *row = s->x + w->list[i] * s->width;
        w->y[i] = s->y[w->list[i]];
        for (size_t j = 0; j < s->width; j++)
            w->x[i * s->width + j] =
                (float)(((double)row[j] - w->scale.mean[j]) / w->scale.deviation[j]);
    }
    const gn_logistic_problem problem = {w->x, w->y, count, s->width, s->classes};
    return gn_logistic_fit(ctx, &problem, c, w->weights, w->bias);
}

/* The head for features as they are: w / deviation, and b - w mean / deviation. */
static void fold(const workspace *w, const double *weights, const double *bias,
                 const gn_linear_head *head)
{
    const gn_featured *s = &w->problem->samples;
    for (size_t k = 0; k < s->classes; k++) {
        double shift = 0;
        for (size_t j = 0; j < s->width; j++) {
            double folded = weights[k * s->width + j] / w->scale.deviation[j];
            head->weights[k * s->width + j] = (float)folded;
            shift += folded * w->scale.mean[j];
        }
        head->bias[k] = (float)(bias[k] - shift);
    }
}

/* The head's worst accuracy over groups on the half that was not fitted. */
static double held_wga(workspace *w, const gn_linear_head *head)
{
    const gn_head_problem *p = w->problem;
    const gn_featured *s = &p->samples;
    double worst = 1;
    gn_head_logits(s, head, w->logits);
    for (size_t g = 0; g < p->groups.groups; g++) {
        size_t right = 0, count = 0;
        for (size_t i = 0; i < s->n; i++) {
            if (w->fits[i] || (size_t)p->groups.group[i] != g)
                continue;
            const float *logits = w->logits + i * s->classes;
            count++;
            right += gn_argmax_float(logits, s->classes) == (size_t)s->y[i];
        }
        if (count)
            worst = fmin(worst, (double)right / (double)count);
    }
    return worst;
}

/* A balanced part of one half of the split, into the list. Each group is halved, so that neither
 * half lacks one; half the smallest group is the smallest of that half. */
static size_t balance_half(workspace *w)
{
    const gn_head_problem *p = w->problem;
    gn_permutation order = gn_permutation_at(p->samples.n, p->seed, GN_RNG_METHOD, HALVES, 0);
    size_t smallest = gn_smallest_group(&p->groups, w->sizes), count = 0;
    gn_take_share(&p->groups, &order, 0.5, w->sizes, w->fits);
    size_t chosen = gn_balanced_subset(&p->groups, &order, 2 * (smallest / 2), w->sizes, w->list);
    for (size_t i = 0; i < chosen; i++)
        if (w->fits[w->list[i]]) /* every second of its group */
            w->list[count++] = w->list[i];
    return count;
}

static gerne_status choose_c(gerne_ctx *ctx, workspace *w, const gn_linear_head *head,
                             gn_head_outcome *outcome)
{
    const gn_featured *s = &w->problem->samples;
    size_t count = balance_half(w);
    take_scale(s->x, s->width, w->list, count, &w->scale);
    *outcome = (gn_head_outcome){.held_wga = -1};
    for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
        GN_TRY(fit(ctx, w, count, tried[i]));
        fold(w, w->weights, w->bias, head);
        double wga = held_wga(w, head);
        if (wga > outcome->held_wga)
            *outcome = (gn_head_outcome){tried[i], wga};
    }
    return GERNE_OK;
}

static gerne_status average(gerne_ctx *ctx, workspace *w, double c, const gn_linear_head *head)
{
    const gn_head_problem *p = w->problem;
    size_t size = p->samples.classes * p->samples.width;
    take_scale(p->reference, p->samples.width, NULL, p->reference_n, &w->scale);
    for (size_t r = 0; r < p->repeats; r++) {
        gn_permutation order =
            gn_permutation_at(p->samples.n, p->seed, GN_RNG_METHOD, FIRST_REPEAT + r, 0);
        size_t smallest = gn_smallest_group(&p->groups, w->sizes);
        size_t count = gn_balanced_subset(&p->groups, &order, smallest, w->sizes, w->list);
        GN_TRY(fit(ctx, w, count, c));
        for (size_t j = 0; j < size; j++)
            w->weight_sum[j] += w->weights[j] / (double)p->repeats;
        for (size_t k = 0; k < p->samples.classes; k++)
            w->bias_sum[k] += w->bias[k] / (double)p->repeats;
    }
    fold(w, w->weight_sum, w->bias_sum, head);
    return GERNE_OK;
}

gerne_status gn_head_fit(gerne_ctx *ctx, const gn_head_problem *problem, const gn_linear_head *head,
                         gn_head_outcome *outcome)
{
    workspace w = {.problem = problem};
    GN_LOCAL(gn_arena) *arena = NULL;
    GN_TRY(gn_arena_new(ctx, &arena));
    GN_TRY(reserve(ctx, arena, &w));
    GN_TRY(choose_c(ctx, &w, head, outcome));
    return average(ctx, &w, outcome->c, head);
}

double gn_l1_penalty(const float *w, size_t count, double rho, float *gradient)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += fabs((double)w[i]);
        gradient[i] += (float)(rho * ((w[i] > 0) - (w[i] < 0)));
    }
    return rho * sum;
}
