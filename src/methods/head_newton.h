/* head_newton.h - a head on features under an l2 penalty, by Newton's method:
 *
 *     J(W, b) = sum_i weights[i] CE_i + l2/2 |W|^2,   weights >= 0
 *
 * J is convex; its Hessian is only ever multiplied with (conjugate gradients), so that memory is a
 * few heads and logits. Heads are flat here: weights [classes][width], then bias [classes]. */
#ifndef GN_METHODS_HEAD_NEWTON_H
#define GN_METHODS_HEAD_NEWTON_H

#include "base/memory.h"
#include "methods/linear_head.h"

typedef struct gn_head_objective {
    gn_featured samples;
    const float *weights; /* [n] */
    double l2;
} gn_head_objective;

/* Room for the work on one objective; belongs to the arena. */
typedef struct gn_head_solver {
    gn_head_objective objective; /* weights and l2 may change between calls */
    size_t size;                 /* of a flat head */
    float *probabilities;        /* [n][classes] at the last gn_head_look */
    float *logits, *losses;
    float *gradient, *residual, *direction, *curved, *step, *tried;
} gn_head_solver;

GERNE_CHECKED gerne_status gn_head_solver_new(gerne_ctx *ctx, gn_arena *arena,
                                              const gn_head_objective *objective,
                                              gn_head_solver *solver);

gn_linear_head gn_flat_head(const gn_head_solver *solver, float *flat);

/* J at a head, and its gradient into solver->gradient. */
double gn_head_look(gn_head_solver *solver, float *head);

/* x with Hessian x = right, at the head of the last gn_head_look, by so many conjugate gradients at
 * most. x and right may not overlap. */
void gn_head_solve(gn_head_solver *solver, const float *right, int iterations, float *x);

/* So many Newton steps at most, each halved until J falls; returns J. */
double gn_head_descend(gn_head_solver *solver, float *head, int steps, int iterations);

#endif
