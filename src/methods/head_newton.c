#include "methods/head_newton.h"

#include <math.h>
#include <string.h>

#include "nn/loss.h"

gerne_status gn_head_solver_new(gerne_ctx *ctx, gn_arena *arena, const gn_head_objective *objective,
                                gn_head_solver *solver)
{
    const gn_featured *s = &objective->samples;
    size_t size = s->classes * (s->width + 1), outputs = s->n * s->classes;
    *solver = (gn_head_solver){.objective = *objective, .size = size};
    float **const heads[] = {&solver->gradient, &solver->residual, &solver->direction,
                             &solver->curved,   &solver->step,     &solver->tried};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        GN_TRY(gn_arena_alloc(ctx, arena, size, sizeof(float), heads[i]));
    GN_TRY(gn_arena_alloc(ctx, arena, outputs, sizeof(float), &solver->probabilities));
    GN_TRY(gn_arena_alloc(ctx, arena, outputs, sizeof(float), &solver->logits));
    return gn_arena_alloc(ctx, arena, s->n, sizeof(float), &solver->losses);
}

gn_linear_head gn_flat_head(const gn_head_solver *solver, float *flat)
{
    const gn_featured *s = &solver->objective.samples;
    return (gn_linear_head){.weights = flat, .bias = flat + s->classes * s->width};
}

static double dot(const float *a, const float *b, size_t size)
{
    double sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

double gn_head_look(gn_head_solver *solver, float *head)
{
    const gn_head_objective *o = &solver->objective;
    const gn_featured *s = &o->samples;
    size_t weights = s->classes * s->width;
    const gn_linear_head at = gn_flat_head(solver, head);
    const gn_linear_head gradient = gn_flat_head(solver, solver->gradient);
    gn_head_logits(s, &at, solver->logits);
    memcpy(solver->probabilities, solver->logits, s->n * s->classes * sizeof(float));
    gn_softmax(solver->probabilities, s->n, s->classes);
    double value = gn_head_loss(s, o->weights, solver->logits, solver->losses);
    gn_head_gradient(s, solver->logits, &gradient);
    for (size_t i = 0; i < weights; i++)
        solver->gradient[i] += (float)(o->l2 * (double)head[i]);
    return value + o->l2 / 2 * dot(head, head, weights);
}

/* out = Hessian v: with z = X v the logits move by weights (p z - p (p.z)). */
static void curve(gn_head_solver *solver, float *v, float *out)
{
    const gn_head_objective *o = &solver->objective;
    const gn_featured *s = &o->samples;
    const gn_linear_head direction = gn_flat_head(solver, v), curved = gn_flat_head(solver, out);
    gn_head_logits(s, &direction, solver->logits);
    for (size_t i = 0; i < s->n; i++) {
        const float *p = solver->probabilities + i * s->classes;
        float *z = solver->logits + i * s->classes, mean = 0;
        for (size_t k = 0; k < s->classes; k++)
            mean += p[k] * z[k];
        for (size_t k = 0; k < s->classes; k++)
            z[k] = o->weights[i] * p[k] * (z[k] - mean);
    }
    gn_head_gradient(s, solver->logits, &curved);
    for (size_t i = 0; i < s->classes * s->width; i++)
        out[i] += (float)(o->l2 * (double)v[i]);
}

void gn_head_solve(gn_head_solver *solver, const float *right, int iterations, float *x)
{
    size_t size = solver->size;
    float *r = solver->residual, *d = solver->direction, *q = solver->curved;
    memset(x, 0, size * sizeof *x);
    memcpy(r, right, size * sizeof *r);
    memcpy(d, right, size * sizeof *d);
    double rr = dot(r, r, size), enough = 1e-8 * rr;
    for (int i = 0; i < iterations && rr > enough; i++) {
        curve(solver, d, q);
        double dq = dot(d, q, size);
        if (!(dq > 0))
            return; /* flat along d: softmax does not see a shift of all biases */
        double length = rr / dq;
        for (size_t j = 0; j < size; j++) {
            x[j] += (float)(length * (double)d[j]);
            r[j] -= (float)(length * (double)q[j]);
        }
        double next = dot(r, r, size);
        for (size_t j = 0; j < size; j++)
            d[j] = (float)((double)r[j] + next / rr * (double)d[j]);
        rr = next;
    }
}

double gn_head_descend(gn_head_solver *solver, float *head, int steps, int iterations)
{
    enum { HALVINGS = 8 };
    size_t bytes = solver->size * sizeof *head;
    double value = gn_head_look(solver, head);
    for (int k = 0; k < steps; k++) {
        gn_head_solve(solver, solver->gradient, iterations, solver->step);
        double before = value, length = 1;
        memcpy(solver->tried, head, bytes);
        for (int h = 0; h < HALVINGS; h++, length /= 2) {
            for (size_t j = 0; j < solver->size; j++)
                head[j] = (float)((double)solver->tried[j] - length * (double)solver->step[j]);
            value = gn_head_look(solver, head);
            if (value < before)
                break;
        }
        if (!(value < before)) { /* as low as it gets */
            memcpy(head, solver->tried, bytes);
            return gn_head_look(solver, head);
        }
        if (before - value < 1e-6 * fabs(before))
            break;
    }
    return value;
}
