/* lisa.c - learning invariant predictors with selective augmentation: mixes samples of one class
 * and two attributes, or of one attribute and two classes; a coin decides for the whole batch. */
#include "methods/lisa_pairs.h"
#include "methods/weighted.h"

typedef enum variant { ORIGINAL, SUBPOPBENCH } variant;

typedef struct lisa_options {
    int variant, mix;
    double p_sel, alpha;
    bool compat_cutmix_alpha;
} lisa_options;

static const gn_option options[] = {
    {"variant", GN_CHOICE, offsetof(lisa_options, variant), .fallback = "original",
     .choices = "original|subpopbench",
     .help = "original: batches with equally many samples of each group; subpopbench: uniform "
             "batches, paired until there are as many mixed samples as were drawn"},
    {"mix", GN_CHOICE, offsetof(lisa_options, mix), .fallback = "mixup", .choices = "mixup|cutmix",
     .flags = GN_TUNABLE,
     .help = "mixup: weighted means of two samples; cutmix: a box of one image in another"},
    {"p_sel", GN_REAL, offsetof(lisa_options, p_sel), .fallback = "0.5", .min = 0, .max = 1,
     .flags = GN_TUNABLE,
     .help = "probability of mixing inside a class instead of inside an attribute"},
    {"alpha", GN_REAL, offsetof(lisa_options, alpha), .fallback = "2", .min = 0, .max = 1000,
     .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "both parameters of the coefficients' beta distribution"},
    {"compat_cutmix_alpha", GN_BOOL, offsetof(lisa_options, compat_cutmix_alpha),
     .fallback = "false", .help = "as the original code: cutmix takes 0.2 instead of alpha"},
};

typedef struct lisa_state {
    const gerne_sampler *sampler;
    gn_mixing mixing;
    size_t wanted; /* mixed samples of a step */
    gn_lisa_batch batch;
    int32_t *y, *a; /* of the step's batch */
    bool told;      /* that a batch was not mixed */
} lisa_state;

static gerne_status check(gn_run *run)
{
    const lisa_options *given = run->options;
    if (given->mix == GN_MIX_BOXES && !run->pictures) {
        gn_fail(run->ctx, GERNE_EUSAGE, "method.mix is cutmix, but samples are not images");
        gn_hint(run->ctx, "use --method.mix mixup; cutmix needs images and a body that trains");
        return GERNE_EUSAGE;
    }
    GN_TRY(gn_check_pairs(run));
    bool grouped = run->attributes > 1 || run->estimator;
    if (given->variant == SUBPOPBENCH || !grouped || given->p_sel == 0 || run->per_class >= 2)
        return GERNE_OK;
    gn_fail(run->ctx, GERNE_EUSAGE,
            "method 'lisa' mixes two samples of a class, but a batch has one of each class");
    gn_hint(run->ctx, "raise --train.batch to %u or more", 2 * run->classes);
    return GERNE_EUSAGE;
}

/* A sweep over two classes and two attributes of a balanced batch makes half as many mixtures as
 * there are samples, or as many when boxes are cut both ways. */
static size_t mixed_samples(const gn_run *run, size_t drawn)
{
    const lisa_options *given = run->options;
    bool half = given->variant == ORIGINAL && given->mix == GN_MIX_WHOLE;
    return half ? drawn / 2 : drawn;
}

static gerne_status start(gn_run *run)
{
    const lisa_options *given = run->options;
    lisa_state *state = run->state;
    bool original = given->variant == ORIGINAL;
    size_t drawn = original ? (size_t)run->classes * run->per_class : run->batch;
    size_t cells = (size_t)run->classes * run->attributes;
    state->wanted = run->pass_samples = mixed_samples(run, drawn);
    state->batch = (gn_lisa_batch){
        .classes = run->classes,
        .attributes = run->attributes,
        .alpha = given->mix == GN_MIX_BOXES && given->compat_cutmix_alpha ? 0.2 : given->alpha,
        .how = (gn_mix_operator)given->mix,
    };
    GN_TRY(gn_mixing_start(run, state->wanted + drawn, &state->mixing));
    GN_TRY(gn_run_alloc(run, cells + 1, sizeof(uint32_t), &state->batch.starts));
    GN_TRY(gn_run_alloc(run, drawn, sizeof(uint32_t), &state->batch.order));
    GN_TRY(gn_run_alloc(run, drawn, sizeof *state->y, &state->y));
    GN_TRY(gn_run_alloc(run, drawn, sizeof *state->a, &state->a));
    return gn_run_sampler(run, NULL, &(gerne_sampler_options){.c = 1}, &state->sampler);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const lisa_options *given = run->options;
    lisa_state *state = run->state;
    (void)k;
    plan->everywhere = true;
    plan->batches[plan->count++] = (gn_request){
        .sampler = state->sampler,
        .draw = given->variant == ORIGINAL ? GERNE_DRAW_LESS_BIASED : GERNE_DRAW_UNIFORM,
    };
    return GERNE_OK;
}

static void describe(gn_run *run, const gn_minibatch *batch, gn_lisa_batch *out)
{
    lisa_state *state = run->state;
    const gn_sample_shape *shape = gn_network_shape(gn_run_network(run, 0));
    for (size_t i = 0; i < batch->samples.count; i++) {
        state->y[i] = run->y[batch->indices[i]];
        state->a[i] = run->a[batch->indices[i]];
    }
    out->count = batch->samples.count;
    out->y = state->y;
    out->a = state->a;
    if (run->pictures) {
        out->height = (uint32_t)shape->fields[0].dims[1];
        out->width = (uint32_t)shape->fields[0].dims[2];
    }
}

/* Attributes that are not known, or a batch that has one group alone. */
static void tell(gn_run *run, bool same_label)
{
    lisa_state *state = run->state;
    if (!state->told)
        gn_log(run->ctx, GERNE_LOG_INFO,
               "lisa: no two samples of a batch have %s; such batches are not mixed",
               same_label ? "one label and two attributes" : "one attribute and two labels");
    state->told = true;
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const lisa_options *given = run->options;
    lisa_state *state = run->state;
    gn_stream stream = gn_stream_at(run->seed, GN_RNG_METHOD, (uint64_t)k, 0);
    describe(run, batch, &state->batch);
    state->batch.same_label = gn_random_uniform(&stream) < given->p_sel;
    if (!gn_lisa_pairs(&state->batch, &stream, state->wanted, state->mixing.pairs))
        tell(run, state->batch.same_label);
    return gn_plain_step(run, gn_mix(&state->mixing, batch, state->wanted, state->batch.how));
}

static const char description[] =
    "Selective augmentation: with probability p_sel a batch is mixed inside classes, pairs having "
    "one class and two attributes, otherwise inside attributes, pairs having one attribute and two "
    "classes. Either way, the attribute predicts the class less well in the mixed samples.\n\n"
    "    mixup:   x' = lam x_1 + (1 - lam) x_2,  lam ~ Beta(alpha, alpha) for a pair\n"
    "    cutmix:  x' = x_1 with a box of x_2, sides sqrt(1 - lam) of the image's\n"
    "    L = mean lam CE(z(x'), y_1) + (1 - lam) CE(z(x'), y_2)\n\n"
    "With mix cutmix, for images and a body that trains, the lam of the loss is the part of the "
    "image that the box leaves. The original variant draws equally many samples of every group and "
    "mixes half as many pairs as samples (cutmix: as many); the subpopbench variant draws uniform "
    "batches and sweeps over them until there are as many pairs as samples, so that a batch should "
    "have several samples of each group. compat_cutmix_alpha repeats the authors' code, where "
    "cutmix has alpha 0.2. A batch without any pair is not mixed, which is logged once. Use it "
    "when attributes are known. With unknown attributes the groups are those of method.estimator; "
    "without one the first kind of batch stays as it is, and the second mixes classes.";

const gn_method gn_method_lisa = {
    .name = "lisa",
    .paper = "Yao et al. 2022",
    .title = "Improving Out-of-Distribution Robustness via Selective Augmentation",
    .summary = "mixes samples that have either the class or the attribute in common",
    .description = description,
    .attributes = GN_ATTRIBUTES_GROUPS,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(lisa_options),
    .state_size = sizeof(lisa_state),
    .plain_batches = true,
    .check = check,
    .start = start,
    .plan = plan,
    .step = step,
};
