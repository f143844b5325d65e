/* ula.c - unsupervised logit adjustment (Tsirigotis et al. 2023): a first model that relies on the
 * shortcut predicts k; the logits of the second are adjusted by how often class y goes with it.
 *
 *     C <- 0.999 C + 0.001 mean_i softmax(f~(x_i) / tau_t) (x) onehot(y_i), from 1/K^2 on
 *     loss = mean CE(z_i + tau_s log(C[k_i] / sum C[k_i]), y_i); z alone predicts
 *
 * Selection without attributes goes by the cells (k, y) of the validation split: select.metric
 * bias_gba or bias_wga. */
#include "methods/estimating.h"
#include "methods/group_rules.h"
#include "methods/shifted.h"
#include "methods/two_stage.h"

typedef enum part { PART_WHOLE, PART_HEAD } part;

typedef struct ula_options {
    double first_epochs, first_lr, memory, tau_train, tau_shift;
    int first;
} ula_options;

static const gn_option options[] = {
    {"first", GN_CHOICE, offsetof(ula_options, first), .fallback = "whole", .choices = "whole|head",
     .help = "part of the first model that is trained: all of it, or its head (the paper's linear "
             "probe, for a body that comes with model.weights)"},
    {"first_epochs", GN_REAL, offsetof(ula_options, first_epochs), .fallback = "0", .min = 0,
     .max = 1e6, .flags = GN_TUNABLE, .help = "epochs of the first model; 0: those of the run"},
    {"first_lr", GN_REAL, offsetof(ula_options, first_lr), .fallback = "1", .min = 0, .max = 1e6,
     .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "learning rate of the first model, as a multiple of train.lr"},
    {"memory", GN_REAL, offsetof(ula_options, memory), .fallback = "0.999", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MAX,
     .help = "decay of the table C per step; a run should have more than 1 / (1 - memory) steps"},
    {"tau_train", GN_REAL, offsetof(ula_options, tau_train), .fallback = "1", .min = 0, .max = 1e3,
     .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "temperature of the first model's predictions in C"},
    {"tau_shift", GN_REAL, offsetof(ula_options, tau_shift), .fallback = "1", .min = 0, .max = 1e3,
     .flags = GN_TUNABLE, .help = "factor of the adjustment"},
};

typedef struct ula_state {
    float *logits; /* [n][classes] of the first model, then its classes in validation */
    float *shares; /* [classes][classes]: C */
    float *said;   /* [n][classes]: softmax(logits / tau_train) */
    float *drawn, *shift, *room; /* [batch][classes] */
} ula_state;

static int stages(const gn_run *run, gn_stage *list)
{
    const ula_options *given = run->options;
    int count = gn_first_and_main(given->first_epochs, list);
    list[0].lr_factor = given->first_lr;
    list[0].head_only = given->first == PART_HEAD;
    return count;
}

static gerne_status take_first_model(gn_run *run)
{
    const ula_options *given = run->options;
    ula_state *state = run->state;
    size_t classes = run->classes, all = run->n * classes, drawn = (size_t)run->batch * classes;
    GN_TRY(gn_run_alloc(run, all, sizeof(float), &state->said));
    for (size_t i = 0; i < all; i++)
        state->said[i] = (float)((double)state->logits[i] / given->tau_train);
    gn_softmax(state->said, run->n, classes);
    GN_TRY(gn_run_alloc(run, drawn, sizeof(float), &state->drawn));
    GN_TRY(gn_run_alloc(run, drawn, sizeof(float), &state->shift));
    GN_TRY(gn_run_alloc(run, drawn, sizeof(float), &state->room));
    return gn_cells_of_table(run, GN_CELLS_BIASED, state->logits + all, run->classes);
}

static gerne_status start(gn_run *run)
{
    ula_state *state = run->state;
    size_t classes = run->classes;
    GN_TRY(gn_run_table(run, "ula", run->n * classes + gn_val_count(run), 0, &state->logits));
    GN_TRY(gn_run_table(run, "ula shares", classes * classes, 1.0f / (float)(classes * classes),
                        &state->shares));
    if (!gn_is_first_stage(run))
        GN_TRY(take_first_model(run));
    return gn_shuffled_start(run);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const ula_options *given = run->options;
    ula_state *state = run->state;
    size_t n = batch->samples.count, classes = run->classes;
    (void)k;
    if (gn_is_first_stage(run))
        return gn_plain_step(run, batch);
    gn_take_rows(state->said, batch->indices, n, classes, state->drawn);
    gn_ula_update(state->drawn, batch->samples.labels, n, classes, given->memory, state->shares);
    for (size_t i = 0; i < n; i++) {
        size_t predicted = gn_argmax_float(state->logits + batch->indices[i] * classes, classes);
        gn_ula_shift(state->shares + predicted * classes, classes, given->tau_shift,
                     state->shift + i * classes);
    }
    return gn_shifted_step(run, batch, state->shift, state->room);
}

static gerne_status finish(gn_run *run)
{
    ula_state *state = run->state;
    GN_TRY(gn_run_infer(run, 0, GN_SET_TRAIN, state->logits, NULL));
    return gn_predict_set(run, 0, GN_SET_VALIDATION, state->logits + run->n * run->classes);
}

static const char description[] =
    "Unsupervised logit adjustment: a first model is trained by ERM. The logits of a second one "
    "are adjusted in training by how often each class goes with the class that the first model "
    "predicts.\n\n"
    "    C <- memory C + (1 - memory) mean softmax(b_i / tau_train) onehot(y_i)^T\n"
    "    k_i = argmax b_i;  b_i: logits of the first model;  C starts at 1/K^2\n"
    "    L = mean CE(z_i + tau_shift log(C[k_i, .] / sum_y C[k_i, y]), y_i)\n"
    "    prediction: argmax z\n\n"
    "The first model is trained for first_epochs (0: as long as the run) at first_lr times "
    "train.lr, as a whole, or its head alone with first head: the paper's linear probe, for a body "
    "that comes with model.weights. C forgets slowly: a run should have more than 1 / (1 - memory) "
    "steps. It assumes that the first model relies on the shortcut. Use it when there are no "
    "attributes at all: they are not used in training, and select.metric bias_wga or bias_gba "
    "needs none in validation either: its cells are (prediction of the first model, class).";

const gn_method gn_method_ula = {
    .name = "ula",
    .paper = "Tsirigotis et al. 2023",
    .title = "Group Robust Classification Without Any Group Information",
    .summary = "adjusts logits by what a first, biased model predicts",
    .description = description,
    .attributes = GN_ATTRIBUTES_UNUSED,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(ula_options),
    .state_size = sizeof(ula_state),
    .plain_batches = true,
    .val_cells = 1 << GN_CELLS_BIASED,
    .stages = stages,
    .start = start,
    .plan = gn_shuffled_plan,
    .step = step,
    .finish = finish,
};
