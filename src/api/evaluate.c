/* evaluate.c - bounds as JSON, audits, evaluations and comparisons: what labels alone tell. */
#include "api/evaluate.h"

#include <math.h>
#include <string.h>

#include "api/api.h"
#include "debias/audit.h"
#include "debias/describe.h"
#include "debias/groups.h"

gerne_status gerne_bounds_json(gerne_ctx *ctx, const gerne_groups *groups, double c,
                               const double *beta, char **json)
{
    json_t *document;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, json);
    *json = NULL;
    GN_NEEDS(ctx, groups);
    GN_TRY(gn_bounds_json(ctx, groups, c, beta, &document));
    return gn_give_json(ctx, document, json);
}

gerne_status gerne_audit(gerne_ctx *ctx, const gerne_groups *groups, gerne_form form, char **out)
{
    gn_audit audit;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_NEEDS(ctx, groups);
    GN_TRY(gn_check_form(ctx, form));
    GN_TRY(gn_audit_of(ctx, groups, &audit));
    if (form == GERNE_JSON) {
        json_t *json;
        GN_TRY(gn_audit_json(ctx, &audit, &json));
        return gn_give_json(ctx, json, out);
    }
    gn_text text = {0};
    gerne_status status = gn_audit_print(ctx, &audit, "groups", NULL, NULL, &text);
    if (status == GERNE_OK)
        status = gn_give_text(ctx, &text, out);
    gn_text_free(&text);
    return status;
}

gerne_status gerne_bias_of(gerne_ctx *ctx, const gerne_groups *groups, gerne_bias *out)
{
    gn_audit audit;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, groups);
    GN_NEEDS(ctx, out);
    GN_TRY(gn_audit_of(ctx, groups, &audit));
    const gerne_bias own = {
        .cramers_v = audit.association.cramers_v,
        .verdict = (gerne_verdict)audit.verdict,
    };
    return gn_give_struct(ctx, "gerne_bias", &own, sizeof own, out);
}

/* ---- predictions from arrays ---- */

typedef struct subject {
    gn_arena *arena;
    gerne_predicted given;
    gn_predictions predictions;
    uint64_t *train_counts; /* or NULL */
    gn_metrics metrics;
    gn_group_names names;
} subject;

static void free_subject(subject *s)
{
    gn_metrics_free(&s->metrics);
    gn_predictions_free(&s->predictions);
    gn_arena_close(s->arena);
}

static gerne_status check_sizes(gerne_ctx *ctx, const gerne_predicted *p)
{
    if (p->n == 0)
        return gn_fail(ctx, GERNE_EDATA, "there are no samples");
    if (!p->y)
        return gn_fail(ctx, GERNE_EUSAGE, "gerne_predicted: 'y' is NULL");
    if (!p->pred && !p->probabilities)
        return gn_fail(ctx, GERNE_EUSAGE, "there are neither predictions nor probabilities");
    if (p->classes < 1 || (p->a && p->attributes < 1))
        return gn_fail(ctx, GERNE_EUSAGE, "%u classes and %u attributes make no groups", p->classes,
                       p->attributes);
    if (!p->a && p->attributes > 1)
        return gn_fail(ctx, GERNE_EUSAGE, "there are %u attributes, but no sample has one",
                       p->attributes);
    return gn_check_group_count(ctx, p->classes, p->a ? p->attributes : 1);
}

static gerne_status check_label(gerne_ctx *ctx, const char *what, size_t i, int32_t value,
                                uint32_t count)
{
    if (value >= 0 && (uint32_t)value < count)
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EUSAGE, "sample %zu has %s %d, outside 0..%u", i, what, value,
                   count - 1);
}

static gerne_status check_probabilities(gerne_ctx *ctx, const double *row, uint32_t classes,
                                        size_t i)
{
    for (uint32_t k = 0; k < classes; k++)
        if (!(row[k] >= 0 && row[k] <= 1))
            return gn_fail(ctx, GERNE_EDATA,
                           "sample %zu: probability %g of class %u is outside "
                           "[0, 1]",
                           i, row[k], k);
    return GERNE_OK;
}

static gerne_status take_samples(gerne_ctx *ctx, subject *s)
{
    const gerne_predicted *p = &s->given;
    uint32_t attributes = p->a ? p->attributes : 1;
    gn_predictions_init(&s->predictions, (int32_t)p->classes, (int32_t)attributes,
                        p->probabilities != NULL);
    for (size_t i = 0; i < p->n; i++) {
        const double *row = p->probabilities ? p->probabilities + i * p->classes : NULL;
        int32_t a = p->a ? p->a[i] : 0;
        GN_TRY(check_label(ctx, "class", i, p->y[i], p->classes));
        GN_TRY(check_label(ctx, "attribute", i, a, attributes));
        if (row)
            GN_TRY(check_probabilities(ctx, row, p->classes, i));
        int32_t pred = p->pred ? p->pred[i] : (int32_t)gn_argmax(row, p->classes);
        GN_TRY(check_label(ctx, "prediction", i, pred, p->classes));
        GN_TRY(gn_predictions_add(ctx, &s->predictions, p->y[i], a, pred, row));
    }
    return GERNE_OK;
}

static gerne_status take_counts(gerne_ctx *ctx, subject *s)
{
    const gerne_predicted *p = &s->given;
    size_t groups = (size_t)s->predictions.classes * (size_t)s->predictions.attributes;
    if (!p->train_counts)
        return GERNE_OK;
    GN_TRY(gn_arena_alloc(ctx, s->arena, groups, sizeof *s->train_counts, &s->train_counts));
    for (size_t g = 0; g < groups; g++) {
        if (p->train_counts[g] < 0)
            return gn_fail(ctx, GERNE_EUSAGE, "the training count of group %zu is negative: %lld",
                           g, (long long)p->train_counts[g]);
        s->train_counts[g] = (uint64_t)p->train_counts[g];
    }
    return GERNE_OK;
}

static gerne_status take_names(gerne_ctx *ctx, subject *s)
{
    static const char *const none[] = {GN_ALL_SAMPLES};
    const gerne_predicted *p = &s->given;
    s->names = (gn_group_names){p->class_names, p->a ? p->attribute_names : none};
    if (!s->names.classes)
        GN_TRY(gn_number_names(ctx, s->arena, p->classes, &s->names.classes));
    if (!s->names.attributes)
        GN_TRY(gn_number_names(ctx, s->arena, p->attributes, &s->names.attributes));
    for (uint32_t y = 0; y < p->classes; y++)
        if (!s->names.classes[y] || !gn_is_utf8(s->names.classes[y]))
            return gn_fail(ctx, GERNE_EUSAGE, "class %u has no name in UTF-8", y);
    for (uint32_t a = 0; p->a && a < p->attributes; a++)
        if (!s->names.attributes[a] || !gn_is_utf8(s->names.attributes[a]))
            return gn_fail(ctx, GERNE_EUSAGE, "attribute %u has no name in UTF-8", a);
    return GERNE_OK;
}

static gerne_status take(gerne_ctx *ctx, const gerne_predicted *given, subject *s)
{
    GN_TRY(gn_take_struct(ctx, "gerne_predicted", given, &s->given, sizeof s->given));
    GN_TRY(check_sizes(ctx, &s->given));
    GN_TRY(gn_arena_new(ctx, &s->arena));
    GN_TRY(take_names(ctx, s));
    GN_TRY(take_samples(ctx, s));
    GN_TRY(take_counts(ctx, s));
    return gn_metrics_compute(ctx, &s->predictions, s->train_counts, &s->metrics);
}

/* ---- results ---- */

gerne_status gn_give_metrics(gerne_ctx *ctx, const gn_metrics *m, gerne_metrics *out)
{
    bool any = m->worst_group >= 0;
    const gerne_metrics own = {
        .n = m->n,
        .acc_avg = m->acc_avg,
        .balanced_acc = m->balanced_acc,
        .worst_class = m->worst_class,
        .gba = m->gba,
        .gba_ci95 = {m->gba_ci95.lo, m->gba_ci95.hi},
        .wga = m->wga,
        .wga_ci95 = {m->wga_ci95.lo, m->wga_ci95.hi},
        .worst_y = any ? (uint32_t)(m->worst_group / m->attributes) : 0,
        .worst_a = any ? (uint32_t)(m->worst_group % m->attributes) : 0,
        .minority_acc = m->minority_acc,
        .adj_acc_avg = m->adj_acc_avg,
        .auroc = m->auroc,
        .ece = m->ece,
    };
    return out ? gn_give_struct(ctx, "gerne_metrics", &own, sizeof own, out) : GERNE_OK;
}

gerne_status gn_give_evaluation(gerne_ctx *ctx, const gn_evaluation *evaluation, gerne_form form,
                                char **out)
{
    if (!out)
        return GERNE_OK;
    if (form == GERNE_JSON)
        return gn_give_json(ctx, gn_evaluation_json(evaluation), out);
    gn_text text = {0};
    gerne_status status = gn_evaluation_print(ctx, evaluation, &text);
    if (status == GERNE_OK)
        status = gn_give_text(ctx, &text, out);
    gn_text_free(&text);
    return status;
}

static gn_evaluated evaluated(const subject *s, const char *nameless)
{
    return (gn_evaluated){s->given.name ? s->given.name : nameless, &s->metrics, s->names};
}

gerne_status gerne_evaluate(gerne_ctx *ctx, const gerne_predicted *predicted,
                            gerne_metrics *metrics, gerne_form form, char **out)
{
    subject s = {0};
    if (out)
        *out = NULL;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, predicted);
    GN_TRY(gn_check_form(ctx, form));
    gerne_status status = take(ctx, predicted, &s);
    if (status == GERNE_OK) {
        const gn_evaluation evaluation = {.first = evaluated(&s, "predictions")};
        gn_warn_of_empty_groups(ctx, &s.metrics, &s.names);
        status = gn_give_metrics(ctx, &s.metrics, metrics);
        if (status == GERNE_OK)
            status = gn_give_evaluation(ctx, &evaluation, form, out);
    }
    free_subject(&s);
    return status;
}

/* ---- comparison ---- */

static gerne_status check_paired(gerne_ctx *ctx, const gn_predictions *a, const gn_predictions *b)
{
    if (a->count != b->count)
        return gn_fail(ctx, GERNE_EDATA, "the first predictions have %zu samples, the second %zu",
                       a->count, b->count);
    if (a->classes != b->classes || a->attributes != b->attributes)
        return gn_fail(ctx, GERNE_EDATA,
                       "the first predictions have %d classes and %d attributes, the second %d "
                       "and %d",
                       (int)a->classes, (int)a->attributes, (int)b->classes, (int)b->attributes);
    for (size_t i = 0; i < a->count; i++)
        if (a->y[i] != b->y[i] || a->a[i] != b->a[i])
            return gn_fail(ctx, GERNE_EDATA,
                           "sample %zu has class %d and attribute %d in the first predictions, %d "
                           "and %d in the second",
                           i, (int)a->y[i], (int)a->a[i], (int)b->y[i], (int)b->a[i]);
    return GERNE_OK;
}

/* Two sets of predictions and what comes of them; filled as far as the calls got. */
typedef struct pair {
    subject first, second;
    gn_comparison comparison;
} pair;

static void free_pair(pair *p)
{
    gn_comparison_free(&p->comparison);
    free_subject(&p->first);
    free_subject(&p->second);
}

static gerne_status compare(gerne_ctx *ctx, const gerne_predicted *first,
                            const gerne_predicted *second, uint64_t resamples, pair *out)
{
    enum { LEAST = 100, MOST = 1000000 };
    GN_NEEDS(ctx, first);
    GN_NEEDS(ctx, second);
    resamples = resamples ? resamples : GN_RESAMPLES;
    if (resamples < LEAST || resamples > MOST)
        return gn_fail(ctx, GERNE_EUSAGE, "resamples %llu is outside [%d, %d]",
                       (unsigned long long)resamples, LEAST, MOST);
    gerne_status status = take(ctx, first, &out->first);
    if (status != GERNE_OK)
        return gn_fail_in(ctx, status, "first predictions");
    status = take(ctx, second, &out->second);
    if (status != GERNE_OK)
        return gn_fail_in(ctx, status, "second predictions");
    GN_TRY(check_paired(ctx, &out->first.predictions, &out->second.predictions));
    return gn_compare(ctx, &out->first.predictions, &out->second.predictions, resamples, 0,
                      &out->comparison);
}

gerne_status gerne_compare(gerne_ctx *ctx, const gerne_predicted *first,
                           const gerne_predicted *second, uint64_t resamples, gerne_form form,
                           char **out)
{
    pair p = {0};
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, out);
    *out = NULL;
    GN_TRY(gn_check_form(ctx, form));
    gerne_status status = compare(ctx, first, second, resamples, &p);
    if (status == GERNE_OK) {
        const gn_evaluated other = evaluated(&p.second, "second");
        const gn_evaluation evaluation = {
            .first = evaluated(&p.first, "first"),
            .second = &other,
            .comparison = &p.comparison,
        };
        status = gn_give_evaluation(ctx, &evaluation, form, out);
    }
    free_pair(&p);
    return status;
}

gerne_status gerne_differences_of(gerne_ctx *ctx, const gerne_predicted *first,
                                  const gerne_predicted *second, uint64_t resamples,
                                  gerne_differences *out)
{
    pair p = {0};
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, out);
    gerne_status status = compare(ctx, first, second, resamples, &p);
    if (status == GERNE_OK) {
        const gn_comparison *c = &p.comparison;
        const gerne_differences own = {
            .acc_avg = c->acc_difference,
            .gba = c->gba_difference,
            .gba_ci95 = {c->gba_ci95.lo, c->gba_ci95.hi},
            .wga = c->wga_difference,
            .wga_ci95 = {c->wga_ci95.lo, c->wga_ci95.hi},
        };
        status = gn_give_struct(ctx, "gerne_differences", &own, sizeof own, out);
    }
    free_pair(&p);
    return status;
}
