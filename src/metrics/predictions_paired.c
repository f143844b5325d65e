/* predictions_paired.c - do two files hold the same samples in the same order? */
#include "metrics/predictions_csv.h"

/* translation[index in second] = index in first, or -1. */
static gerne_status translate(gerne_ctx *ctx, const gn_labels *first, const gn_labels *second,
                              int64_t **out)
{
    uint32_t count = gn_labels_count(second);
    GN_TRY(gn_alloc(ctx, count, sizeof **out, "labels", out));
    for (uint32_t i = 0; i < count; i++)
        (*out)[i] = gn_labels_find(first, gn_labels_names(second)[i]);
    return GERNE_OK;
}

static gerne_status unpaired(gerne_ctx *ctx, const char *first, const char *second, size_t row,
                             const char *what)
{
    gn_fail(ctx, GERNE_EDATA, "%s and %s differ in the %s of row %zu", first, second, what,
            row + 1);
    gn_hint(ctx, "a paired comparison needs the same samples in the same order; rows are counted "
                 "from 1 after the header");
    return GERNE_EDATA;
}

static gerne_status compare_rows(gerne_ctx *ctx, const gn_prediction_file *first,
                                 const char *first_name, const gn_prediction_file *second,
                                 const char *second_name, const int64_t *classes,
                                 const int64_t *attributes)
{
    const gn_predictions *p = &first->predictions, *q = &second->predictions;
    for (size_t i = 0; i < p->count; i++) {
        if (first->ids && second->ids && first->ids[i] != second->ids[i])
            return unpaired(ctx, first_name, second_name, i, "index");
        if (p->y[i] != classes[q->y[i]])
            return unpaired(ctx, first_name, second_name, i, "class");
        if (p->a[i] != attributes[q->a[i]])
            return unpaired(ctx, first_name, second_name, i, "attribute");
    }
    return GERNE_OK;
}

gerne_status gn_predictions_check_paired(gerne_ctx *ctx, const gn_prediction_file *first,
                                         const char *first_name, const gn_prediction_file *second,
                                         const char *second_name)
{
    if (first->predictions.count != second->predictions.count)
        return gn_fail(ctx, GERNE_EDATA, "%s has %zu rows and %s has %zu", first_name,
                       first->predictions.count, second_name, second->predictions.count);
    GN_FREED int64_t *classes = NULL, *attributes = NULL;
    GN_TRY(translate(ctx, first->classes, second->classes, &classes));
    GN_TRY(translate(ctx, first->attributes, second->attributes, &attributes));
    return compare_rows(ctx, first, first_name, second, second_name, classes, attributes);
}
