/* denetdm.c - debiasing by network depth modulation. Stage "pair": a shallow and a deep body train
 * as one, their features added before one head; the deep one takes the bias, the shallow one the
 * rest. Stage "main": a body of the configured depth takes the place of the shallow one, beside the
 * deep one, which is fixed now, and learns from the shallow one's logits. Network 0 predicts
 * alone. */
#include "methods/denetdm.h"

#include <math.h>
#include <string.h>

#include "methods/bodies.h"
#include "methods/weighted.h"

enum { DEBIASED, BIASED, TEACHER };

/* ---- the loss ---- */

static double log_of_sum(const float *z, size_t classes, double temperature)
{
    double largest = (double)z[gn_argmax_float(z, classes)], sum = 0;
    for (size_t k = 0; k < classes; k++)
        sum += exp(((double)z[k] - largest) / temperature);
    return largest / temperature + log(sum);
}

static double distil(const void *given, const gn_loss_part *part)
{
    const gn_distillation *d = given;
    double T = d->temperature, mean = d->weight / (double)d->count, value = 0;
    for (size_t i = 0; i < part->count; i++) {
        const float *z = part->logits + i * part->classes;
        const float *t = d->teacher + (part->first + i) * part->classes;
        double ours = log_of_sum(z, part->classes, T), theirs = log_of_sum(t, part->classes, T);
        double loss = 0;
        for (size_t k = 0; k < part->classes; k++) {
            double wanted = exp((double)t[k] / T - theirs), log_p = (double)z[k] / T - ours;
            loss -= wanted * log_p;
            if (part->logit_gradient)
                part->logit_gradient[i * part->classes + k] =
                    (float)(mean * T * (exp(log_p) - wanted));
        }
        if (part->losses)
            part->losses[i] = (float)(T * T * loss);
        value += mean * T * T * loss;
    }
    return value;
}

gn_loss gn_distillation_loss(const gn_distillation *terms)
{
    return (gn_loss){.evaluate = distil, .terms = terms};
}

/* ---- the method ---- */

typedef struct denetdm_options {
    const char *shallow, *deep;
    gn_ints shallow_hidden, deep_hidden;
    double first_epochs, second_lr, second_decay, w_p, w_d, temperature;
    bool compat_bn_moves;
} denetdm_options;

static const gn_option options[] = {
    {"shallow", GN_TEXT, offsetof(denetdm_options, shallow),
     .help = "network of the shallow body (default: mlp beside an mlp, convnet3 beside networks of "
             "64 features, convnet4 beside those of 512)"},
    {"shallow_hidden", GN_INTS, offsetof(denetdm_options, shallow_hidden), .fallback = "100,100",
     .min = 1, .max = 1e6, .help = "widths of the shallow body's hidden layers (mlp)"},
    {"deep", GN_TEXT, offsetof(denetdm_options, deep),
     .help = "network of the deep body (default: model.arch)"},
    {"deep_hidden", GN_INTS, offsetof(denetdm_options, deep_hidden), .fallback = "100,100,100,100",
     .min = 1, .max = 1e6, .help = "widths of the deep body's hidden layers (mlp)"},
    {"first_epochs", GN_REAL, offsetof(denetdm_options, first_epochs), .fallback = "0", .min = 0,
     .max = 1e6, .help = "epochs of the first stage; 0: as many as the second has"},
    {"second_lr", GN_REAL, offsetof(denetdm_options, second_lr), .fallback = "1", .min = 0,
     .max = 1e3, .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "learning rate of the second stage, as a multiple of train.lr"},
    {"second_decay", GN_REAL, offsetof(denetdm_options, second_decay), .fallback = "0", .min = 0,
     .max = 1e3, .help = "weight decay of the second stage, as a multiple of train.weight_decay"},
    {"w_p", GN_REAL, offsetof(denetdm_options, w_p), .fallback = "1", .min = 0, .max = 1e3,
     .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "second stage: weight of the cross-entropy of both bodies together"},
    {"w_d", GN_REAL, offsetof(denetdm_options, w_d), .fallback = "1", .min = 0, .max = 1e3,
     .flags = GN_TUNABLE, .help = "second stage: weight of the distillation"},
    {"temperature", GN_REAL, offsetof(denetdm_options, temperature), .fallback = "2", .min = 0,
     .max = 1e3, .flags = GN_TUNABLE | GN_OPEN_MIN, .help = "of the distillation"},
    {"compat_bn_moves", GN_BOOL, offsetof(denetdm_options, compat_bn_moves), .fallback = "false",
     .help = "as the authors' code: the fixed deep body normalises by batches in the second stage "
             "and its running statistics move"},
};

typedef struct denetdm_state {
    float *sum, *gradient;   /* [batch][width] */
    float *biased, *teacher; /* second stage: features [batch][width], logits [batch][classes] */
    float *losses, *distillation; /* [batch] */
} denetdm_state;

/* A body that starts from scratch, so statistics that model.weights lets one freeze would be those
 * of nothing. */
static gn_model_options body_of(const gn_run *run, const char *arch, gn_ints hidden)
{
    gn_model_options model = *run->model;
    model.arch = arch ? arch : model.arch;
    model.hidden = hidden;
    model.weights = NULL;
    if (model.bn == GN_BN_FROZEN)
        model.bn = GN_BN_CONCAT;
    return model;
}

static gn_model_options shallow_of(const gn_run *run)
{
    static const struct {
        const char *network, *shallow;
    } usual[] = {{"resnet20", "convnet3"}, {"resnet18", "convnet4"}, {"resnet34", "convnet4"}};
    const denetdm_options *given = run->options;
    const char *arch = given->shallow;
    for (size_t i = 0; !arch && i < sizeof usual / sizeof usual[0]; i++)
        if (strcmp(run->model->arch, usual[i].network) == 0)
            arch = usual[i].shallow;
    return body_of(run, arch, given->shallow_hidden);
}

static gn_model_options deep_of(const gn_run *run)
{
    const denetdm_options *given = run->options;
    return body_of(run, given->deep, given->deep_hidden);
}

static int stages(const gn_run *run, gn_stage *list)
{
    const denetdm_options *given = run->options;
    gn_model_options shallow = shallow_of(run), deep = deep_of(run);
    deep.freeze = "head"; /* it has no part in the sum */
    list[0] = (gn_stage){.name = "pair",
                         .lr_factor = 1,
                         .decay_factor = 1,
                         .epochs = given->first_epochs,
                         .networks = 2,
                         .models = {[DEBIASED] = shallow, [BIASED] = deep}};
    list[1] = (gn_stage){
        .name = "main",
        .lr_factor = given->second_lr,
        .decay_factor = given->second_decay,
        .networks = 3,
        .models = {[BIASED] = deep, [TEACHER] = shallow},
        .start = GN_START_PREVIOUS_HEAD,
        .others = {[BIASED] = GN_START_PREVIOUS, [TEACHER] = GN_START_PREVIOUS_PREDICTOR},
    };
    return 2;
}

/* Features are added, so all three bodies have to be of one width. */
static gerne_status check(gn_run *run)
{
    gn_model_options shallow = shallow_of(run), deep = deep_of(run);
    size_t widths[3];
    GN_TRY(gn_bodies_check(run));
    GN_TRY(gn_run_model_width(run, run->model, &widths[0]));
    gerne_status status = gn_run_model_width(run, &shallow, &widths[1]);
    if (status != GERNE_OK) {
        gn_hint(run->ctx, "choose another network for the shallow body with --method.shallow");
        return status;
    }
    GN_TRY(gn_run_model_width(run, &deep, &widths[2]));
    if (widths[0] == widths[1] && widths[0] == widths[2])
        return GERNE_OK;
    gn_fail(run->ctx, GERNE_EUSAGE,
            "method 'denetdm' adds the features of its bodies, but the network has %zu, the "
            "shallow body %zu and the deep one %zu",
            widths[0], widths[1], widths[2]);
    gn_hint(run->ctx, "let the last widths of model.hidden, method.shallow_hidden and "
                      "method.deep_hidden be the same, or choose other networks with "
                      "method.shallow and method.deep");
    return GERNE_EUSAGE;
}

static gerne_status start(gn_run *run)
{
    denetdm_state *state = run->state;
    size_t batch = run->batch, width;
    GN_TRY(gn_run_model_width(run, run->model, &width));
    GN_TRY(gn_run_alloc(run, batch * width, sizeof(float), &state->sum));
    GN_TRY(gn_run_alloc(run, batch * width, sizeof(float), &state->gradient));
    GN_TRY(gn_run_alloc(run, batch * width, sizeof(float), &state->biased));
    GN_TRY(gn_run_alloc(run, batch * run->classes, sizeof(float), &state->teacher));
    GN_TRY(gn_run_alloc(run, batch, sizeof(float), &state->losses));
    GN_TRY(gn_run_alloc(run, batch, sizeof(float), &state->distillation));
    run->whole = true;
    return gn_shuffled_start(run);
}

static void add(float *sum, const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] = a[i] + b[i];
}

/* Cross-entropy of the head on the sum of both bodies' features. */
static gerne_status pass_sum(gn_run *run, const gn_minibatch *batch, const float *debiased,
                             const float *biased, bool accumulate, const float **gradient)
{
    denetdm_state *state = run->state;
    size_t n = batch->samples.count;
    const float *logits;
    const gn_cross_entropy terms = {.labels = batch->samples.labels, .weights = batch->weights};
    const gn_loss loss = gn_cross_entropy_loss(&terms);
    add(state->sum, debiased, biased, n * gn_run_width(run, DEBIASED));
    GN_TRY(gn_run_head_forward(run, DEBIASED, state->sum, n, &logits));
    return gn_run_head_backward(run, DEBIASED, &loss, n, accumulate, state->losses, gradient);
}

static gerne_status step_pair(gn_run *run, gn_minibatch *batch)
{
    denetdm_state *state = run->state;
    size_t n = batch->samples.count;
    const float *debiased, *biased, *gradient;
    GN_TRY(gn_run_body_forward(run, DEBIASED, batch, &debiased));
    GN_TRY(gn_run_body_forward(run, BIASED, batch, &biased));
    for (size_t i = 0; i < n; i++)
        batch->weights[i] = 1.0f / (float)n;
    GN_TRY(pass_sum(run, batch, debiased, biased, false, &gradient));
    gn_run_log(run, "loss", gn_mean(state->losses, n));
    if (gradient) {
        GN_TRY(gn_run_body_backward(run, DEBIASED, gradient, n, false));
        GN_TRY(gn_run_body_backward(run, BIASED, gradient, n, false));
        GN_TRY(gn_run_apply(run, BIASED));
    }
    return gn_run_apply(run, DEBIASED);
}

/* What the networks that do not train say about a batch. */
static gerne_status ask_fixed(gn_run *run, const gn_minibatch *batch)
{
    const denetdm_options *given = run->options;
    denetdm_state *state = run->state;
    gn_mode mode = given->compat_bn_moves ? GN_MODE_TRAIN : GN_MODE_INFER;
    GN_TRY(gn_pass_forward(run->ctx, gn_run_network(run, BIASED), mode, &batch->samples, NULL,
                           &(gn_outcome){.features = state->biased}));
    if (given->w_d == 0)
        return GERNE_OK;
    return gn_pass_forward(run->ctx, gn_run_network(run, TEACHER), GN_MODE_INFER, &batch->samples,
                           NULL, &(gn_outcome){.logits = state->teacher});
}

/* Distillation into network 0 alone; leaves the gradient of its features. */
static gerne_status pass_student(gn_run *run, const float *features, size_t n)
{
    const denetdm_options *given = run->options;
    denetdm_state *state = run->state;
    const float *logits, *gradient;
    const gn_distillation terms = {state->teacher, n, given->temperature, given->w_d};
    const gn_loss loss = gn_distillation_loss(&terms);
    GN_TRY(gn_run_head_forward(run, DEBIASED, features, n, &logits));
    GN_TRY(gn_run_head_backward(run, DEBIASED, &loss, n, false, state->distillation, &gradient));
    if (gradient)
        memcpy(state->gradient, gradient, n * gn_run_width(run, DEBIASED) * sizeof *gradient);
    return GERNE_OK;
}

static gerne_status step_main(gn_run *run, gn_minibatch *batch)
{
    const denetdm_options *given = run->options;
    denetdm_state *state = run->state;
    size_t n = batch->samples.count;
    const float *debiased, *gradient;
    bool distils = given->w_d > 0;
    GN_TRY(ask_fixed(run, batch));
    GN_TRY(gn_run_body_forward(run, DEBIASED, batch, &debiased));
    if (distils)
        GN_TRY(pass_student(run, debiased, n));
    for (size_t i = 0; i < n; i++)
        batch->weights[i] = (float)given->w_p / (float)n;
    GN_TRY(pass_sum(run, batch, debiased, state->biased, distils, &gradient));
    double of_sum = given->w_p * gn_mean(state->losses, n);
    double of_student = distils ? given->w_d * gn_mean(state->distillation, n) : 0;
    gn_run_log(run, "loss", of_sum + of_student);
    gn_run_log(run, "L_distillation", of_student);
    if (gradient) {
        if (distils)
            add(state->gradient, state->gradient, gradient, n * gn_run_width(run, DEBIASED));
        GN_TRY(gn_run_body_backward(run, DEBIASED, distils ? state->gradient : gradient, n, false));
    }
    return gn_run_apply(run, DEBIASED);
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    (void)k;
    return run->stage_index == 0 ? step_pair(run, batch) : step_main(run, batch);
}

static const char description[] =
    "Network depth modulation, from the observation that deep networks take up a shortcut sooner "
    "than shallow ones. In stage 'pair' a shallow body s and a deep body d are trained as one, "
    "their features added before a common head. In stage 'main' a body of the configured network "
    "takes the place of the shallow one beside the deep one, which is fixed now, and also learns "
    "from the logits of the shallow one.\n\n"
    "    pair:  L = mean CE(W (s(x_i) + d(x_i)) + b, y_i)\n"
    "    main:  L = w_p mean CE(W (f(x_i) + d(x_i)) + b, y_i)\n"
    "               + w_d T^2 mean sum_k -softmax(z_s / T)_k log softmax(z / T)_k\n"
    "    z = W f(x) + b predicts;  z_s: s and the head at the end of stage pair\n\n"
    "shallow, shallow_hidden, deep and deep_hidden set the two bodies of the first stage; all "
    "three bodies need features of the same width. first_epochs is the length of stage pair, "
    "second_lr and second_decay are the learning rate and weight decay of stage main relative to "
    "the configured ones, temperature is T, and w_d = 0 omits the distillation. compat_bn_moves "
    "repeats the authors' code, in which the fixed deep body keeps updating its BatchNorm "
    "statistics. Attributes are not used in training. Use it for networks trained from scratch, "
    "with model.freeze none.";

const gn_method gn_method_denetdm = {
    .name = "denetdm",
    .paper = "Sreelatha et al. 2024",
    .title = "DeNetDM: Debiasing by Network Depth Modulation",
    .summary = "lets a deep body absorb the bias and learns from a shallow one",
    .description = description,
    .attributes = GN_ATTRIBUTES_UNUSED,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(denetdm_options),
    .state_size = sizeof(denetdm_state),
    .plain_batches = true,
    .stages = stages,
    .check = check,
    .start = start,
    .plan = gn_shuffled_plan,
    .step = step,
};
