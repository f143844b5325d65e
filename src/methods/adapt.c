#include "methods/adapt.h"

#include <math.h>
#include <string.h>

#include "debias/groups.h"
#include "debias/line.h"

extern const gn_adapt_rule gn_adapt_contribution, gn_adapt_groupdro, gn_adapt_hypergradient,
    gn_adapt_repetitions, gn_adapt_fan, gn_adapt_feedback;
const gn_adapt_rule *const gn_adapt_rules[] = {
    &gn_adapt_contribution,
    &gn_adapt_groupdro,
    &gn_adapt_hypergradient,
    &gn_adapt_repetitions,
    &gn_adapt_fan,
    &gn_adapt_feedback,
    NULL,
};

enum { UPDATE_EVERY = 20 };           /* steps */
static const double PART = 0.98;      /* of the largest s: no group loses all its weight */
static const double FREEZE = 0.05;    /* the share of steps that s stays as it was */
static const double KEPT = 0.95;      /* of a moving average, per step */
static const double STEP_MOVE = 0.05; /* s moves at most so far */
static const double EVALUATION_MOVE = 0.1;

static const gn_adapt_rule *rule_of(const gn_adapt_options *options)
{
    return options->rule ? gn_adapt_rules[options->rule - 1] : NULL;
}

bool gn_adapt_moves(const gn_adapt_options *options)
{
    const gn_adapt_rule *rule = rule_of(options);
    return options->by_class || (rule && rule->propose);
}

size_t gn_adapt_ranges(const gn_adapt *a)
{
    return a->options->by_class ? a->classes : 1;
}

gn_class_range gn_adapt_range(const gn_adapt *a, size_t r)
{
    if (a->options->by_class)
        return (gn_class_range){(uint32_t)r, (uint32_t)r + 1};
    return (gn_class_range){0, a->classes};
}

/* ---- limits ---- */

static gerne_status refuse_limits(gerne_ctx *ctx, const char *key, double value,
                                  const gn_s_bounds *b, const gerne_groups *groups)
{
    char text[GN_GROUP_TEXT];
    gn_fail(ctx, GERNE_EUSAGE,
            "%s %g is outside the interval of s, [%.4f, %.4f], beyond which group %s would have a "
            "negative share",
            key, value, fmax(b->lower, 0), b->upper, gn_group_text(groups, b->y, b->a, text));
    gn_hint(
        ctx,
        "use an s up to %.4f, or --method.s_by_class, which gives each class a limit of its own",
        b->upper);
    return GERNE_EUSAGE;
}

static gerne_status refuse_room(gerne_ctx *ctx, const gn_adapt_options *options,
                                const gn_s_bounds *b, const gerne_groups *groups)
{
    char text[GN_GROUP_TEXT];
    gn_fail(ctx, GERNE_EUSAGE,
            "method.adapt leaves s below %g of its limit, which group %s sets at %.4f, and "
            "method.adapt_min %g is above that",
            PART, gn_group_text(groups, b->y, b->a, text), b->upper, options->low);
    gn_hint(ctx, "use --method.adapt_min %.4g or less, or --method.adapt none", PART * b->upper);
    return GERNE_EUSAGE;
}

static gerne_status refuse_start(gerne_ctx *ctx, double start, gn_interval limits)
{
    gn_fail(ctx, GERNE_EUSAGE,
            "training starts with s = c (1 + beta) = %g, outside the limits [%.4f, %.4f] of "
            "method.adapt",
            start, limits.lo, limits.hi);
    gn_hint(ctx, "set another --method.beta, or --method.adapt_min and --method.adapt_max; "
                 "beta = s / c - 1");
    return GERNE_EUSAGE;
}

gerne_status gn_adapt_limits(gerne_ctx *ctx, const gn_adapt_options *options,
                             const gerne_groups *groups, double start, gn_interval *limits)
{
    gn_s_bounds all = gn_s_bounds_of(groups);
    const gn_adapt_rule *rule = rule_of(options);
    if (rule && options->high > 0 && options->high < options->low) {
        gn_fail(ctx, GERNE_EUSAGE, "method.adapt_max %g is below method.adapt_min %g",
                options->high, options->low);
        gn_hint(ctx, "set both; adapt_min is 1 unless it is given");
        return GERNE_EUSAGE;
    }
    for (uint32_t y = 0; y < groups->classes; y++) {
        limits[y] = (gn_interval){start, start};
        if (!rule && !options->by_class)
            continue;
        gn_s_bounds own = options->by_class ? gn_s_bounds_of_class(groups, y) : all;
        /* Where s does not move a class, a large one would only add variance. */
        double top = own.binds ? PART * own.upper : options->by_class ? 1 : fmax(start, 1);
        limits[y] = (gn_interval){rule ? options->low : fmin(start, top), top};
        if (!rule)
            continue;
        if (options->high > 0) {
            if (own.binds && options->high > own.upper && !options->by_class)
                return refuse_limits(ctx, "method.adapt_max", options->high, &own, groups);
            limits[y].hi = fmin(options->high, top);
        }
        if (own.binds && limits[y].lo > top && !options->by_class)
            return limits[y].lo > own.upper
                       ? refuse_limits(ctx, "method.adapt_min", options->low, &own, groups)
                       : refuse_room(ctx, options, &own, groups);
        limits[y].lo = fmin(limits[y].lo, limits[y].hi);
        if (!options->by_class && !(start >= limits[y].lo - 1e-9 && start <= limits[y].hi + 1e-9))
            return refuse_start(ctx, start, limits[y]);
    }
    return GERNE_OK;
}

/* ---- checks ---- */

static gerne_status refuse_rule(gn_run *run, const gn_adapt_rule *rule, const char *why)
{
    gn_fail(run->ctx, GERNE_EUSAGE, "method.adapt: rule '%s' needs %s", rule->name, why);
    gn_hint(run->ctx, "use --method.adapt contribution, groupdro or repetitions, which look at the "
                      "training split alone, or --method.adapt none");
    return GERNE_EUSAGE;
}

/* Every group of the training split that can tell something has samples in validation. */
static gerne_status check_groups(gn_run *run, const gn_adapt_rule *rule)
{
    gn_labelled val = gn_run_labelled(run, GN_SET_VALIDATION);
    bool minority = false, majority = false;
    for (size_t i = 0; i < val.n; i++) {
        bool small = gn_is_small(run->groups, (uint32_t)val.y[i], (uint32_t)val.a[i]);
        minority = minority || small;
        majority = majority || !small;
    }
    return minority && majority
               ? GERNE_OK
               : refuse_rule(run, rule,
                             "samples of large and of small groups in the validation split");
}

gerne_status gn_adapt_check(gn_run *run, const gn_adapt_options *options,
                            const gerne_groups *groups, double start)
{
    const gn_adapt_rule *rule = rule_of(options);
    if (rule && rule->refit && run->repairs) {
        gn_fail(run->ctx, GERNE_EUSAGE,
                "method.adapt: rule '%s' and repair both fit the head for an evaluation",
                rule->name);
        gn_hint(run->ctx, "use --repair none, or another --method.adapt");
        return GERNE_EUSAGE;
    }
    if (rule && rule->needs_validation && gn_run_labelled(run, GN_SET_VALIDATION).n == 0)
        return refuse_rule(run, rule, "a validation split, but the data has none");
    if (rule && rule->needs_validation_groups && !run->known)
        return refuse_rule(run, rule,
                           "the attributes of the validation split, but method.attributes is "
                           "unknown");
    if (rule && rule->needs_validation_groups)
        GN_TRY(check_groups(run, rule));
    GN_FREED gn_interval *limits = NULL;
    GN_TRY(gn_alloc(run->ctx, groups->classes, sizeof *limits, "limits of s", &limits));
    GN_TRY(gn_adapt_limits(run->ctx, options, groups, start, limits));
    return rule && rule->check ? rule->check(run->ctx, options, start) : GERNE_OK;
}

/* ---- state ---- */

static double clip(double value, gn_interval limits)
{
    return fmin(fmax(value, limits.lo), limits.hi);
}

/* What the step uses of s. */
static void take_s(gn_run *run, const gn_adapt *a)
{
    double mean = 0;
    for (uint32_t y = 0; y < a->classes; y++) {
        a->betas[y] = gn_beta_of(a->c, (double)a->s[y]);
        mean += (double)a->s[y] / a->classes;
    }
    run->beta = a->options->by_class ? (double)NAN : gn_beta_of(a->c, mean);
}

/* What a fixed s needs is not worth a place in the checkpoint. */
static gerne_status make_table(gn_run *run, gn_adapt *a, size_t count)
{
    if (a->rule || a->options->by_class)
        return gn_run_table(run, "adapt", count, -1, &a->table);
    GN_TRY(gn_run_alloc(run, count, sizeof *a->table, &a->table));
    for (size_t i = 0; i < count; i++)
        a->table[i] = -1;
    return GERNE_OK;
}

gerne_status gn_adapt_start(gn_run *run, gn_adapt *a, const gn_adapt_options *options, double c,
                            double s)
{
    size_t groups = (size_t)run->classes * run->attributes;
    *a = (gn_adapt){.rule = rule_of(options),
                    .options = options,
                    .groups = run->groups,
                    .classes = run->classes,
                    .attributes = run->attributes,
                    .per_class = run->per_class,
                    .c = c,
                    .start = s};
    GN_TRY(gn_run_alloc(run, a->classes, sizeof *a->limits, &a->limits));
    GN_TRY(gn_run_alloc(run, a->classes, sizeof *a->betas, &a->betas));
    GN_TRY(gn_run_alloc(run, 3 * groups, sizeof *a->scratch, &a->scratch));
    GN_TRY(gn_adapt_limits(run->ctx, options, run->groups, s, a->limits));
    GN_TRY(make_table(run, a, a->classes + 2 * groups));
    a->s = a->table;
    a->loss = a->table + a->classes;
    a->doubt = a->loss + groups;
    for (uint32_t y = 0; y < a->classes; y++)
        if (a->s[y] < 0) /* a new table */
            a->s[y] = (float)clip(s, a->limits[y]);
    take_s(run, a);
    return GERNE_OK;
}

/* Means of this step by group go into the moving averages. Each draw counts once, in whichever of
 * the two batches it is. */
static void look(const gn_run *run, gn_adapt *a, const gn_minibatch *batches, size_t count)
{
    size_t groups = (size_t)a->classes * a->attributes;
    double *weight = a->scratch, *loss = weight + groups, *doubt = loss + groups;
    memset(a->scratch, 0, 3 * groups * sizeof *a->scratch);
    for (size_t b = 0; b < count; b++)
        for (size_t i = 0; i < batches[b].samples.count; i++) {
            uint32_t sample = batches[b].indices[i];
            size_t g = gn_group_id(a->groups, (uint32_t)run->y[sample], (uint32_t)run->a[sample]);
            double w =
                batches[b].biased ? (double)(batches[b].biased[i] + batches[b].less_biased[i]) : 1;
            double ce = (double)batches[b].losses[0][i];
            weight[g] += w;
            loss[g] += w * ce;
            doubt[g] += w * (1 - exp(-ce));
        }
    for (size_t g = 0; g < groups; g++) {
        if (weight[g] <= 0)
            continue;
        double new_loss = loss[g] / weight[g], new_doubt = doubt[g] / weight[g];
        bool first = a->loss[g] < 0;
        a->loss[g] = (float)(first ? new_loss : KEPT * (double)a->loss[g] + (1 - KEPT) * new_loss);
        a->doubt[g] =
            (float)(first ? new_doubt : KEPT * (double)a->doubt[g] + (1 - KEPT) * new_doubt);
    }
}

static gerne_status move(gn_run *run, gn_adapt *a, const gn_adapt_moment *moment, double most)
{
    double *wish;
    size_t ranges = gn_adapt_ranges(a);
    if ((double)moment->k < FREEZE * (double)moment->steps)
        return GERNE_OK;
    GN_TRY(gn_alloc(run->ctx, ranges, sizeof *wish, "a new s", &wish));
    gerne_status status = a->rule->propose(run, a, moment, wish);
    for (size_t r = 0; r < ranges && status == GERNE_OK; r++) {
        gn_class_range range = gn_adapt_range(a, r);
        for (uint32_t y = range.first; y < range.end; y++) {
            double now = (double)a->s[y];
            const gn_interval reach = {now - most, now + most};
            if (isfinite(wish[r]))
                a->s[y] = (float)clip(clip(wish[r], reach), a->limits[y]);
        }
    }
    gn_free(wish);
    take_s(run, a);
    return status;
}

static void log_s(gn_run *run, const gn_adapt *a)
{
    double sum = 0, least = INFINITY, most = 0;
    for (uint32_t y = 0; y < a->classes; y++) {
        sum += (double)a->s[y];
        least = fmin(least, (double)a->s[y]);
        most = fmax(most, (double)a->s[y]);
    }
    gn_run_log(run, "s", sum / a->classes);
    if (!a->rule && !a->options->by_class)
        return;
    gn_run_log(run, "s_low", a->limits[0].lo);
    gn_run_log(run, "s_high", a->limits[0].hi);
    if (a->options->by_class) {
        gn_run_log(run, "s_least", least);
        gn_run_log(run, "s_most", most);
    }
}

gerne_status gn_adapt_step(gn_run *run, gn_adapt *a, int64_t k, const gn_minibatch *batches,
                           size_t count)
{
    const gn_adapt_moment moment = {.k = k + 1, .steps = run->steps};
    log_s(run, a);
    if (!a->rule || a->rule->when != GN_ADAPT_STEPS)
        return GERNE_OK;
    look(run, a, batches, count);
    return moment.k % UPDATE_EVERY ? GERNE_OK : move(run, a, &moment, STEP_MOVE);
}

gerne_status gn_adapt_evaluated(gn_run *run, gn_adapt *a, const gn_validated *validated)
{
    /* Evaluations have no number of their own: the freeze of the first steps is theirs too. */
    const gn_adapt_moment moment = {
        .k = validated->step, .steps = run->steps, .validated = validated};
    if (!a->rule || a->rule->when != GN_ADAPT_EVALUATIONS || !a->rule->propose)
        return GERNE_OK;
    return move(run, a, &moment, EVALUATION_MOVE);
}

gerne_status gn_adapt_refit(gn_run *run, const gn_adapt *a)
{
    return a->rule && a->rule->refit ? a->rule->refit(run, a) : GERNE_OK;
}
