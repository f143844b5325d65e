/* optimizer.h - SGD, Adam and AdamW on one flat block, learning-rate schedules, clipping. */
#ifndef GN_NN_OPTIMIZER_H
#define GN_NN_OPTIMIZER_H

#include "base/option.h"
#include "engine/graph.h"

typedef enum gn_optimizer_kind { GN_SGD, GN_ADAM, GN_ADAMW } gn_optimizer_kind;
typedef enum gn_schedule_kind {
    GN_SCHEDULE_CONSTANT,
    GN_SCHEDULE_LINEAR, /* down to 0 at the end */
    GN_SCHEDULE_STEP,   /* times schedule_factor every schedule_every steps */
    GN_SCHEDULE_COSINE, /* half a cosine down to 0 */
} gn_schedule_kind;

/* Part of section "train". */
typedef struct gn_optimizer_options {
    int optimizer, schedule;
    double lr, momentum, weight_decay, clip;
    int64_t schedule_every;
    double schedule_factor;
    double warmup;          /* share of the steps during which the rate rises from 0 */
    bool compat_bert_decay; /* see gn_network_optimizer */
} gn_optimizer_options;

extern const gn_option gn_optimizer_option_table[];
extern const size_t gn_optimizer_option_count;

/* The rate of step (0 is the first) of total. */
double gn_learning_rate(const gn_optimizer_options *options, int64_t step, int64_t total);

typedef struct gn_optimizer gn_optimizer;

/* The block is lent. */
GERNE_CHECKED gerne_status gn_optimizer_new(gerne_ctx *ctx, const gn_optimizer_options *options,
                                            gn_block block, gn_optimizer **out);
void gn_optimizer_close(gn_optimizer *optimizer);

/* A part of the block that decays as one. */
typedef struct gn_stretch {
    size_t first, count;
    bool decays;
} gn_stretch;

/* weight_decay acts on some stretches alone; they follow each other and make up the block. */
GERNE_CHECKED gerne_status gn_optimizer_set_decay(gerne_ctx *ctx, gn_optimizer *optimizer,
                                                  const gn_stretch *stretches, size_t count);

/* Clips (when asked) and takes one step with this rate. */
void gn_optimizer_step(gn_optimizer *optimizer, double lr);

/* Everything that a resumed run needs: the flat state and the number of steps taken. */
float *gn_optimizer_state(gn_optimizer *optimizer, size_t *size);
int64_t gn_optimizer_steps(const gn_optimizer *optimizer);
void gn_optimizer_set_steps(gn_optimizer *optimizer, int64_t steps);

/* The Euclidean norm of the gradients; the same bits for the same numbers on any thread count. */
double gn_gradient_norm(gn_block block);

#endif
