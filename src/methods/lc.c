/* lc.c - logit correction: a biased network (generalised cross-entropy) guesses each sample's
 * attribute; the logits of the robust one (network 0) are corrected by how classes share it, and
 * group mix-up blends minority samples into every class. As the authors' code does it. */
#include "methods/lc.h"

#include <math.h>
#include <string.h>

#include "methods/group_rules.h"
#include "methods/mixing.h"
#include "methods/rules.h"
#include "methods/weighted.h"

enum { ROBUST, BIASED };

/* ---- rules ---- */

static const double epsilon = 1e-4;

/* The first value is taken as it is. */
static void blend(float *value, float *seen, double alpha, double with)
{
    *value = (float)(alpha * (double)*value + (1 - (*seen != 0 ? alpha : 0)) * with);
    *seen = 1;
}

static void update_by_batch(gn_lc_table *t, gn_lc_rule rule, double alpha, const gn_lc_view *view)
{
    size_t cells = t->classes * t->classes;
    memset(t->sums, 0, cells * sizeof *t->sums);
    memset(t->counts, 0, cells * sizeof *t->counts);
    for (size_t i = 0; i < view->count; i++) {
        size_t cell = (size_t)view->y[i] * t->classes + (size_t)view->a[i];
        t->sums[cell] += view->confidence[i];
        t->counts[cell]++;
    }
    for (size_t cell = 0; cell < cells; cell++) {
        double mean = (double)t->sums[cell] / ((double)t->counts[cell] + epsilon);
        if (rule == GN_LC_BATCH)
            t->values[cell] = (float)mean;
        else if (t->counts[cell] > 0)
            blend(&t->values[cell], &t->seen[cell], alpha, mean);
    }
}

void gn_lc_update(gn_lc_table *t, gn_lc_rule rule, double alpha, const gn_lc_view *view)
{
    if (rule != GN_LC_MV) {
        update_by_batch(t, rule, alpha, view);
        return;
    }
    for (size_t i = 0; i < view->count; i++) {
        size_t cell = (size_t)view->y[i] * t->classes + (size_t)view->a[i];
        blend(&t->values[cell], &t->seen[cell], alpha, (double)view->confidence[i]);
    }
}

void gn_lc_column(const gn_lc_table *t, gn_lc_columns how, size_t a, float *column)
{
    double sum = how == GN_LC_SMOOTH ? epsilon : 0;
    for (size_t y = 0; y < t->classes; y++)
        sum += (double)t->values[y * t->classes + a];
    if (how == GN_LC_RAW || sum == 0)
        sum = 1;
    for (size_t y = 0; y < t->classes; y++)
        column[y] = (float)((double)t->values[y * t->classes + a] / sum);
}

double gn_lc_strength(double t, double ramp)
{
    double left = t < ramp ? 1 - t / ramp : 0;
    return 0.5 * exp(-5 * left * left);
}

bool gn_lc_partners(const gn_lc_view *view, size_t classes, gn_stream *stream, uint32_t *partners,
                    uint32_t *room)
{
    bool all = true;
    for (size_t c = 0; c < classes; c++) {
        size_t members = 0, conflicting = 0;
        for (size_t i = 0; i < view->count; i++)
            if ((size_t)view->y[i] == c && view->a[i] != view->y[i])
                room[conflicting++] = (uint32_t)i;
        for (size_t i = 0; !conflicting && i < view->count; i++)
            if ((size_t)view->y[i] == c)
                room[members++] = (uint32_t)i;
        all = all && members == 0;
        gn_random_shuffle(stream, room, members);
        for (size_t i = 0, m = 0; i < view->count; i++)
            if ((size_t)view->y[i] == c)
                partners[i] = room[conflicting ? gn_random_below(stream, conflicting) : m++];
    }
    return all;
}

float gn_lc_shift(float prior)
{
    return (float)log((double)prior + epsilon);
}

/* ---- the method ---- */

typedef struct lc_options {
    int table, columns;
    double alpha, tau, q, lambda_b, biased_lr;
    int64_t ramp;
    bool mixup;
} lc_options;

static const gn_option options[] = {
    {"table", GN_CHOICE, offsetof(lc_options, table), .fallback = "mv",
     .choices = "mv|batch|mv_batch",
     .help =
         "how the table of classes and attributes is kept: running means over samples, means of "
         "the batch, or running means of these"},
    {"columns", GN_CHOICE, offsetof(lc_options, columns), .fallback = "normalized",
     .choices = "normalized|raw|smooth",
     .help = "columns of the table: normalized to sum 1, raw (the authors' C-MNIST), or divided by "
             "their "
             "sum + 1e-4 (smooth, their CivilComments)"},
    {"alpha", GN_REAL, offsetof(lc_options, alpha), .fallback = "0.995", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MAX, .help = "decay of the running means of the table"},
    {"tau", GN_REAL, offsetof(lc_options, tau), .fallback = "1", .min = 0, .max = 1e3,
     .flags = GN_TUNABLE | GN_OPEN_MIN, .help = "temperature of the biased network's softmax"},
    {"q", GN_REAL, offsetof(lc_options, q), .fallback = "0.7", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "exponent of the generalised cross-entropy of the biased network"},
    {"lambda_b", GN_REAL, offsetof(lc_options, lambda_b), .fallback = "1", .min = 0, .max = 1e3,
     .flags = GN_TUNABLE | GN_OPEN_MIN, .help = "weight of the biased network's loss"},
    {"biased_lr", GN_REAL, offsetof(lc_options, biased_lr), .fallback = "0.1", .min = 0, .max = 1e3,
     .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "learning rate of the biased network, as a multiple of train.lr"},
    {"mixup", GN_BOOL, offsetof(lc_options, mixup), .fallback = "true",
     .help = "group mix-up: mix each sample with one of its class that the biased network "
             "misclassifies"},
    {"ramp", GN_INT, offsetof(lc_options, ramp), .fallback = "0", .min = 0, .max = 1e12,
     .help = "steps until mix-up reaches its full strength; 0: full strength from the start"},
};

typedef struct lc_state {
    gn_lc_table table;
    int32_t *a;
    float *confidence;
    float *columns; /* [classes][classes]: row a is the table's column of that attribute */
    float *shift, *shifted;
    uint32_t *partners, *room;
    gn_mixing mixing;
    bool told; /* that a class had no sample to mix with */
} lc_state;

static int stages(const gn_run *run, gn_stage *list)
{
    (void)run;
    list[0] = (gn_stage){.name = "main", .lr_factor = 1, .decay_factor = 1, .networks = 2};
    return 1;
}

static gerne_status check(gn_run *run)
{
    const lc_options *given = run->options;
    return given->mixup ? gn_check_pairs(run) : GERNE_OK;
}

static gerne_status start(gn_run *run)
{
    lc_state *state = run->state;
    gn_lc_table *table = &state->table;
    size_t cells = (size_t)run->classes * run->classes, batch = run->batch;
    table->classes = run->classes;
    run->looks_first = true;
    GN_TRY(gn_run_table(run, "shares", cells, 0, &table->values));
    GN_TRY(gn_run_table(run, "shares seen", cells, 0, &table->seen));
    GN_TRY(gn_run_alloc(run, cells, sizeof(float), &table->sums));
    GN_TRY(gn_run_alloc(run, cells, sizeof(float), &table->counts));
    GN_TRY(gn_run_alloc(run, cells, sizeof(float), &state->columns));
    GN_TRY(gn_run_alloc(run, batch, sizeof *state->a, &state->a));
    GN_TRY(gn_run_alloc(run, batch, sizeof(float), &state->confidence));
    GN_TRY(gn_run_alloc(run, batch * run->classes, sizeof(float), &state->shift));
    GN_TRY(gn_run_alloc(run, batch * run->classes, sizeof(float), &state->shifted));
    GN_TRY(gn_run_alloc(run, batch, sizeof(uint32_t), &state->partners));
    GN_TRY(gn_run_alloc(run, batch, sizeof(uint32_t), &state->room));
    GN_TRY(gn_mixing_start(run, batch, &state->mixing));
    return gn_shuffled_start(run);
}

static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    plan->everywhere = true;
    return gn_shuffled_plan(run, k, plan);
}

/* A cross-entropy that notes what the biased network says about the samples. */
typedef struct observer {
    gn_cross_entropy cross_entropy;
    gn_lc_view view;
    double tau;
} observer;

static double observe(const void *given, const gn_loss_part *part)
{
    const observer *o = given;
    for (size_t i = 0; i < part->count; i++) {
        const float *z = part->logits + i * part->classes;
        size_t at = part->first + i, label = (size_t)o->view.y[at];
        o->view.a[at] = (int32_t)gn_argmax_float(z, part->classes);
        o->view.confidence[at] = gn_probability(z, part->classes, label, o->tau);
    }
    const gn_loss plain = gn_cross_entropy_loss(&o->cross_entropy);
    return plain.evaluate(plain.terms, part);
}

static void tell(gn_run *run, bool all_have_partners)
{
    lc_state *state = run->state;
    if (!all_have_partners && !state->told)
        gn_log(run->ctx, GERNE_LOG_INFO,
               "lc: the biased network misclassifies no sample of some class in a batch; the "
               "samples of such a class are mixed among themselves");
    state->told = state->told || !all_have_partners;
}

/* Pairs of group mix-up; without it every sample is its own partner. */
static void pair_up(gn_run *run, int64_t k, const gn_lc_view *view)
{
    const lc_options *given = run->options;
    lc_state *state = run->state;
    gn_stream stream = gn_stream_at(run->seed, GN_RNG_METHOD, (uint64_t)k, 0);
    double strength = given->mixup ? gn_lc_strength((double)k, (double)given->ramp) : 0;
    float share = (float)(1 - strength * (2 - gn_random_uniform(&stream)));
    if (given->mixup)
        tell(run, gn_lc_partners(view, run->classes, &stream, state->partners, state->room));
    for (size_t i = 0; i < view->count; i++)
        state->mixing.pairs[i] = (gn_pair){
            .own = (uint32_t)i,
            .other = given->mixup ? state->partners[i] : (uint32_t)i,
            .share = share,
        };
}

/* The corrections of the mixed samples, from the columns of both attributes. */
static void mix_corrections(const gn_run *run, size_t count)
{
    const lc_options *given = run->options;
    lc_state *state = run->state;
    size_t classes = run->classes;
    for (size_t a = 0; a < classes; a++)
        gn_lc_column(&state->table, (gn_lc_columns)given->columns, a, state->columns + a * classes);
    for (size_t i = 0; i < count; i++) {
        const gn_pair *pair = &state->mixing.pairs[i];
        const float *own = state->columns + (size_t)state->a[pair->own] * classes;
        const float *other = state->columns + (size_t)state->a[pair->other] * classes;
        for (size_t k = 0; k < classes; k++)
            state->shift[i * classes + k] =
                gn_lc_shift(pair->share * own[k] + (1 - pair->share) * other[k]);
    }
}

static gerne_status step_robust(gn_run *run, int64_t k, gn_minibatch *batch, const gn_lc_view *view)
{
    const lc_options *given = run->options;
    lc_state *state = run->state;
    gn_lc_update(&state->table, (gn_lc_rule)given->table, given->alpha, view);
    pair_up(run, k, view);
    mix_corrections(run, view->count);
    gn_minibatch *mixed =
        given->mixup ? gn_mix(&state->mixing, batch, view->count, GN_MIX_WHOLE) : batch;
    const gn_shifted_cross_entropy terms = {
        .cross_entropy = {.labels = view->y, .count = view->count},
        .shift = state->shift,
        .room = state->shifted,
    };
    const gn_loss loss = gn_shifted_cross_entropy_loss(&terms);
    GN_TRY(gn_run_pass(run, ROBUST, mixed, &loss, false));
    gn_run_log(run, "loss", gn_mean(mixed->losses[ROBUST], view->count));
    return GERNE_OK;
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const lc_options *given = run->options;
    lc_state *state = run->state;
    size_t n = batch->samples.count;
    const observer terms = {.cross_entropy = gn_samples_terms(&batch->samples),
                            .view = {n, batch->samples.labels, state->a, state->confidence},
                            .tau = given->tau};
    GN_TRY(gn_run_forward(run, BIASED, batch, &(gn_loss){.evaluate = observe, .terms = &terms}));
    GN_TRY(step_robust(run, k, batch, &terms.view));
    for (size_t i = 0; i < n; i++)
        batch->weights[i] =
            (float)given->lambda_b * gn_gce_factor(batch->losses[BIASED][i], given->q) / (float)n;
    GN_TRY(gn_weighted_backward(run, BIASED, batch, batch->weights, false));
    gn_run_log(run, "L_biased", gn_weighted_sum(batch->weights, batch->losses[BIASED], n));
    GN_TRY(gn_run_apply(run, ROBUST));
    return gn_run_apply_at(run, BIASED, given->biased_lr);
}

static const char description[] =
    "Logit correction: the class that a biased network predicts stands for the attribute of a "
    "sample. In training, the logits of the robust network are shifted by how the classes share "
    "this attribute, so that it need not learn the shortcut. Group mix-up mixes each sample with "
    "one of its class that the biased network misclassifies.\n\n"
    "    f~ biased, f robust;  p~ = softmax(f~(x) / tau),  a_i = argmax p~_i\n"
    "    T[y, a] = running mean of p~_i[y] over samples with y_i = y and a_i = a\n"
    "    x' = lam x_i + (1 - lam) x_j,  D = lam T[., a_i] + (1 - lam) T[., a_j]\n"
    "    L = mean CE(f(x') + log(D + 1e-4), y_i) + lambda_b mean GCE(f~(x_i), y_i)\n"
    "    lam ~ U(1 - 2s, 1 - s),  s = 0.5 exp(-5 (1 - t / ramp)^2) in step t < ramp\n\n"
    "GCE is the generalised cross-entropy of lff, with exponent q. T is updated sample by sample "
    "with decay alpha (table mv), is the means of the batch (batch), or a running mean of these "
    "(mv_batch); its columns are normalized to sum 1, taken raw (columns raw, the authors' "
    "C-MNIST) or divided by their sum + 1e-4 (columns smooth, their CivilComments). biased_lr is "
    "the learning rate of the biased network relative to train.lr; mixup false turns mix-up off. "
    "Where paper and code of the authors differ, it follows the code. It assumes as many "
    "attributes as classes, each of which goes with one class. Use it for such data, C-MNIST for "
    "example, when no attributes are known. Attributes are not used in training. Every step trains "
    "two networks.";

const gn_method gn_method_lc = {
    .name = "lc",
    .paper = "Liu et al. 2023",
    .title = "Avoiding spurious correlations via logit correction",
    .summary = "corrects logits by what a biased network, trained alongside, predicts",
    .description = description,
    .attributes = GN_ATTRIBUTES_UNUSED,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(lc_options),
    .state_size = sizeof(lc_state),
    .plain_batches = true,
    .stages = stages,
    .check = check,
    .start = start,
    .plan = plan,
    .step = step,
};
