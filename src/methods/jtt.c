/* jtt.c - just train twice: what a briefly trained model gets wrong counts more in a second run. */
#include <string.h>

#include "debias/groups.h"
#include "methods/rules.h"
#include "methods/weighted.h"

typedef enum variant { ORIGINAL, SUBPOPBENCH } variant;

typedef struct jtt_options {
    int variant;
    double first_epochs, first_share, lambda;
} jtt_options;

static const gn_option options[] = {
    {"variant", GN_CHOICE, offsetof(jtt_options, variant), .fallback = "original",
     .choices = "original|subpopbench",
     .help = "original: lambda extra copies of each misclassified sample; "
             "subpopbench: weight lambda for it"},
    {"first_epochs", GN_REAL, offsetof(jtt_options, first_epochs), .fallback = "1", .min = 0,
     .max = 1e6, .flags = GN_TUNABLE | GN_OPEN_MIN, .help = "original: epochs of the first model"},
    {"first_share", GN_REAL, offsetof(jtt_options, first_share), .fallback = "0.5", .min = 0,
     .max = 1, .flags = GN_TUNABLE | GN_OPEN_MIN | GN_OPEN_MAX,
     .help = "subpopbench: fraction of all steps that train the first model"},
    {"lambda", GN_REAL, offsetof(jtt_options, lambda), .fallback = "20", .min = 0, .max = 1e6,
     .flags = GN_TUNABLE,
     .help = "extra copies (rounded), or the weight, of a misclassified sample"},
};

typedef struct jtt_state {
    const gerne_sampler *sampler;
    float *errors;       /* [n]: 1 where the first model is wrong */
    const uint32_t *map; /* the multiset of the second stage */
} jtt_state;

static int stages(const gn_run *run, gn_stage *list)
{
    const jtt_options *given = run->options;
    bool original = given->variant == ORIGINAL;
    list[0] = (gn_stage){.name = "first",
                         .lr_factor = 1,
                         .decay_factor = 1,
                         .epochs = original ? given->first_epochs : 0,
                         .share = original ? 0 : given->first_share,
                         .networks = 1,
                         .keep = GN_KEEP_LAST};
    list[1] = (gn_stage){.name = "main",
                         .lr_factor = 1,
                         .decay_factor = 1,
                         .share = original ? 0 : 1 - given->first_share,
                         .networks = 1};
    return 2;
}

/* All training samples, and those in error copies more times. */
static gerne_status make_multiset(gn_run *run, size_t copies, const gerne_groups **groups)
{
    jtt_state *state = run->state;
    size_t errors = 0, at = run->n, more;
    for (size_t i = 0; i < run->n; i++)
        errors += state->errors[i] != 0;
    if (!gn_multiply(errors, copies, &more) || more > UINT32_MAX - run->n)
        return gn_fail(run->ctx, GERNE_EUSAGE,
                       "method.lambda: %zu copies of %zu samples are too many", copies, errors);
    uint32_t *map;
    int32_t *y;
    GN_TRY(gn_run_alloc(run, run->n + more, sizeof *map, &map));
    GN_TRY(gn_run_alloc(run, run->n + more, sizeof *y, &y));
    for (size_t i = 0; i < run->n; i++) {
        map[i] = (uint32_t)i;
        for (size_t c = 0; state->errors[i] != 0 && c < copies; c++)
            map[at++] = (uint32_t)i;
    }
    for (size_t i = 0; i < at; i++)
        y[i] = run->y[map[i]];
    state->map = map;
    run->epoch_samples = at;
    return gn_run_groups(run, y, NULL, at, 1, groups);
}

static gerne_status start(gn_run *run)
{
    const jtt_options *given = run->options;
    jtt_state *state = run->state;
    const gerne_groups *groups = NULL;
    GN_TRY(gn_run_table(run, "errors", run->n, 0, &state->errors));
    if (run->stage_index == 1 && given->variant == ORIGINAL)
        GN_TRY(make_multiset(run, (size_t)(given->lambda + 0.5), &groups));
    return gn_run_sampler(run, groups, &(gerne_sampler_options){.drop_last = true},
                          &state->sampler);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const jtt_options *given = run->options;
    jtt_state *state = run->state;
    (void)k;
    plan->batches[plan->count++] = (gn_request){
        .sampler = state->sampler,
        .draw = given->variant == ORIGINAL ? GERNE_DRAW_SHUFFLED : GERNE_DRAW_UNIFORM,
        .map = state->map,
    };
    return GERNE_OK;
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const jtt_options *given = run->options;
    jtt_state *state = run->state;
    size_t n = batch->samples.count;
    bool weigh = run->stage_index == 1 && given->variant == SUBPOPBENCH;
    (void)k;
    for (size_t i = 0; i < n; i++) {
        bool wrong = weigh && state->errors[batch->indices[i]] != 0;
        batch->weights[i] = (wrong ? (float)given->lambda : 1.0f) / (float)n;
    }
    GN_TRY(gn_weighted_pass(run, 0, batch, batch->weights, false));
    gn_run_log(run, "loss", gn_weighted_sum(batch->weights, batch->losses[0], n));
    return gn_run_apply(run, 0);
}

/* Without any error the second stage would be ERM once more. */
static gerne_status check_errors(gn_run *run, size_t count)
{
    const jtt_state *state = run->state;
    char text[GN_GROUP_TEXT];
    if (count == 0) {
        gn_fail(run->ctx, GERNE_ENOTHING,
                "jtt: the first model classifies all %zu training samples correctly, so there is "
                "nothing to upweight",
                run->n);
        gn_hint(run->ctx, "train the first model for a shorter time (--method.first_epochs, "
                          "--method.first_share)");
        return GERNE_ENOTHING;
    }
    for (uint32_t y = 0; y < run->classes; y++) {
        bool found = false;
        for (size_t i = 0; i < run->n && !found; i++)
            found = run->y[i] == (int32_t)y && state->errors[i] != 0;
        if (!found)
            gn_warn(run->ctx,
                    "jtt: the first model classifies all samples of class %s correctly, so none "
                    "of them is upweighted",
                    gn_class_text(run->groups, y, text));
    }
    return GERNE_OK;
}

static gerne_status finish(gn_run *run)
{
    jtt_state *state = run->state;
    float *logits;
    uint32_t *list;
    GN_TRY(gn_run_alloc(run, run->n * run->classes, sizeof *logits, &logits));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *list, &list));
    GN_TRY(gn_run_infer(run, 0, GN_SET_TRAIN, logits, NULL));
    size_t count = gn_error_set(logits, run->y, run->n, run->classes, list);
    for (size_t i = 0; i < count; i++)
        state->errors[list[i]] = 1;
    gn_log(run->ctx, GERNE_LOG_INFO,
           "jtt: the first model misclassifies %zu of %zu training samples", count, run->n);
    return check_errors(run, count);
}

static const char description[] =
    "Just train twice: a first model is trained briefly by ERM. The training samples that it "
    "misclassifies, its error set E, count more when a second model is trained from scratch.\n\n"
    "    E = { i : argmax z_i != y_i } under the first model\n"
    "    original:     L = mean CE_i,  with lambda extra copies of the samples in E\n"
    "    subpopbench:  L = mean w_i CE_i,  w_i = lambda for samples in E, else 1\n\n"
    "In the original variant the first model is trained for first_epochs and epochs are shuffled; "
    "in the subpopbench variant it takes the fraction first_share of all steps, and batches are "
    "uniform. This length matters most: too short, and the errors are arbitrary; too long, and "
    "there are none. Without any error the run fails; a class without errors gives a warning. It "
    "assumes that the first model errs where the shortcut fails. Attributes are not used in "
    "training, but those of the validation split help to choose first_epochs and lambda: use it "
    "when only that split has them.";

const gn_method gn_method_jtt = {
    .name = "jtt",
    .paper = "Liu et al. 2021",
    .title = "Just Train Twice: Improving Group Robustness without Training Group Information",
    .summary = "trains twice and upweights what the first model misclassifies",
    .description = description,
    .attributes = GN_ATTRIBUTES_UNUSED,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(jtt_options),
    .state_size = sizeof(jtt_state),
    .plain_batches = true,
    .stages = stages,
    .start = start,
    .plan = plan,
    .step = step,
    .finish = finish,
};
