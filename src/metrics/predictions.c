#include "metrics/predictions.h"

#include <math.h>
#include <string.h>

void gn_predictions_init(gn_predictions *predictions, int32_t classes, int32_t attributes,
                         bool with_probabilities)
{
    *predictions = (gn_predictions){
        .classes = classes,
        .attributes = attributes,
        .with_probabilities = with_probabilities,
    };
}

void gn_predictions_free(gn_predictions *predictions)
{
    gn_free(predictions->y);
    gn_free(predictions->a);
    gn_free(predictions->pred);
    gn_free(predictions->probabilities);
    *predictions = (gn_predictions){0};
}

void gn_predictions_clear(gn_predictions *predictions)
{
    predictions->count = 0;
}

static gerne_status reserve(gerne_ctx *ctx, gn_predictions *p, size_t more)
{
    size_t need = p->count + more;
    GN_TRY(gn_grow(ctx, &p->y, &p->capacity[0], need, sizeof *p->y, "predictions"));
    GN_TRY(gn_grow(ctx, &p->a, &p->capacity[1], need, sizeof *p->a, "predictions"));
    GN_TRY(gn_grow(ctx, &p->pred, &p->capacity[2], need, sizeof *p->pred, "predictions"));
    if (!p->with_probabilities)
        return GERNE_OK;
    size_t row = (size_t)p->classes * sizeof *p->probabilities;
    return gn_grow(ctx, &p->probabilities, &p->capacity[3], need, row, "probabilities");
}

static gerne_status check_index(gerne_ctx *ctx, const char *what, int32_t index, int32_t limit)
{
    if (index >= 0 && index < limit)
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EUSAGE, "%s %d is outside [0, %d)", what, (int)index, (int)limit);
}

gerne_status gn_predictions_add(gerne_ctx *ctx, gn_predictions *predictions, int32_t y, int32_t a,
                                int32_t pred, const double *probabilities)
{
    GN_TRY(check_index(ctx, "class", y, predictions->classes));
    GN_TRY(check_index(ctx, "attribute", a, predictions->attributes));
    GN_TRY(check_index(ctx, "predicted class", pred, predictions->classes));
    GN_TRY(reserve(ctx, predictions, 1));
    size_t at = predictions->count, classes = (size_t)predictions->classes;
    predictions->y[at] = y;
    predictions->a[at] = a;
    predictions->pred[at] = pred;
    if (predictions->with_probabilities)
        memcpy(predictions->probabilities + at * classes, probabilities,
               classes * sizeof *probabilities);
    predictions->count++;
    return GERNE_OK;
}

/* The softmax in place of the largest index; false when a logit is not finite. */
static bool softmax(const float *logits, int32_t classes, double *out, int32_t *argmax)
{
    for (int32_t k = 0; k < classes; k++)
        if (!isfinite(logits[k]))
            return false;
    size_t best = gn_argmax_float(logits, (size_t)classes);
    *argmax = (int32_t)best;
    if (!out)
        return true;
    double sum = 0;
    for (int32_t k = 0; k < classes; k++) {
        out[k] = exp((double)logits[k] - (double)logits[best]);
        sum += out[k];
    }
    for (int32_t k = 0; k < classes; k++)
        out[k] /= sum;
    return true;
}

gerne_status gn_predictions_add_logits(gerne_ctx *ctx, gn_predictions *predictions,
                                       const float *logits, const int32_t *y, const int32_t *a,
                                       size_t count)
{
    GN_TRY(reserve(ctx, predictions, count));
    size_t classes = (size_t)predictions->classes;
    for (size_t i = 0; i < count; i++) {
        size_t at = predictions->count;
        double *row =
            predictions->with_probabilities ? predictions->probabilities + at * classes : NULL;
        int32_t pred;
        GN_TRY(check_index(ctx, "class", y[i], predictions->classes));
        GN_TRY(check_index(ctx, "attribute", a[i], predictions->attributes));
        if (!softmax(logits + i * classes, predictions->classes, row, &pred))
            return gn_fail(ctx, GERNE_EDIVERGED, "a logit of sample %zu is not a finite number",
                           at);
        predictions->y[at] = y[i];
        predictions->a[at] = a[i];
        predictions->pred[at] = pred;
        predictions->count++;
    }
    return GERNE_OK;
}

gerne_status gn_check_group_count(gerne_ctx *ctx, size_t classes, size_t attributes)
{
    size_t groups;
    if (gn_multiply(classes, attributes, &groups) && groups <= GN_MAX_GROUPS)
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EDATA, "%zu classes times %zu attributes are more than %d groups",
                   classes, attributes, GN_MAX_GROUPS);
}
