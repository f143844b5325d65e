#include "nn/logistic.h"

#include <limits.h>
#include <linear.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"

/* liblinear draws from the C library's one generator, so that one fit runs at a time. */
static pthread_mutex_t one_fit = PTHREAD_MUTEX_INITIALIZER;

static void say_nothing(const char *text)
{
    (void)text;
}

/* Rows as liblinear wants them: nodes with indices from 1, the constant of the intercept, an end.
 */
static void fill_nodes(const gn_logistic_problem *problem, struct feature_node *nodes,
                       struct feature_node **rows, double *targets)
{
    size_t width = problem->width;
    for (size_t i = 0; i < problem->n; i++) {
        struct feature_node *row = nodes + i * (width + 2);
        rows[i] = row;
        targets[i] = problem->y[i];
        for (size_t j = 0; j < width; j++)
            row[j] = (struct feature_node){(int)j + 1, (double)problem->x[i * width + j]};
        row[width] = (struct feature_node){(int)width + 1, 1};
        row[width + 1] = (struct feature_node){-1, 0};
    }
}

/* liblinear numbers classes by their first sample, and keeps one vector where there are two. */
static void take_head(const struct model *model, const gn_logistic_problem *problem,
                      double *weights, double *bias)
{
    size_t width = problem->width, classes = problem->classes;
    bool pair = classes == 2;
    for (size_t k = 0; k < classes; k++) {
        size_t label = (size_t)model->label[k];
        size_t columns = pair ? 1 : classes, column = pair ? 0 : k;
        double factor = pair ? (k == 0 ? 0.5 : -0.5) : 1;
        for (size_t j = 0; j < width; j++)
            weights[label * width + j] = factor * model->w[j * columns + column];
        bias[label] = factor * model->w[width * columns + column];
    }
}

static gerne_status check(gerne_ctx *ctx, const gn_logistic_problem *problem, size_t *nodes)
{
    if (problem->n > INT_MAX || problem->width > INT_MAX - 2 ||
        !gn_multiply(problem->n, problem->width + 2, nodes))
        return gn_fail(ctx, GERNE_EUSAGE, "%zu samples of %zu features are too many for a fit",
                       problem->n, problem->width);
    return GERNE_OK;
}

static gerne_status fit(gerne_ctx *ctx, const gn_logistic_problem *problem, double c,
                        gn_arena *arena, struct model **out)
{
    struct feature_node *nodes, **rows;
    double *targets;
    size_t count;
    GN_TRY(check(ctx, problem, &count));
    GN_TRY(gn_arena_alloc(ctx, arena, count, sizeof *nodes, &nodes));
    GN_TRY(gn_arena_alloc(ctx, arena, problem->n, sizeof *rows, &rows));
    GN_TRY(gn_arena_alloc(ctx, arena, problem->n, sizeof *targets, &targets));
    fill_nodes(problem, nodes, rows, targets);
    const struct problem theirs = {
        .l = (int)problem->n, .n = (int)problem->width + 1, .y = targets, .x = rows, .bias = 1};
    const struct parameter parameter = {.solver_type = L1R_LR, .eps = 1e-4, .C = c, .p = 0.1};
    const char *wrong = check_parameter(&theirs, &parameter);
    if (wrong)
        return gn_fail(ctx, GERNE_EINTERNAL, "logistic regression: %s", wrong);
    pthread_mutex_lock(&one_fit);
    set_print_string_function(say_nothing);
    srand(1); /* the order of its coordinates: the same in every fit */
    *out = train(&theirs, &parameter);
    pthread_mutex_unlock(&one_fit);
    return GERNE_OK;
}

gerne_status gn_logistic_fit(gerne_ctx *ctx, const gn_logistic_problem *problem, double c,
                             double *weights, double *bias)
{
    gn_arena *arena;
    struct model *model = NULL;
    GN_TRY(gn_arena_new(ctx, &arena));
    gerne_status status = fit(ctx, problem, c, arena, &model);
    if (status == GERNE_OK && (size_t)model->nr_class != problem->classes)
        status =
            gn_fail(ctx, GERNE_EINTERNAL, "logistic regression: %d of %zu classes have samples",
                    model->nr_class, problem->classes);
    if (status == GERNE_OK)
        take_head(model, problem, weights, bias);
    if (model)
        free_and_destroy_model(&model);
    gn_arena_close(arena);
    return status;
}
