/* refit.c - heads that are fitted for an evaluation alone: the option repair, and the hook refit.
 *
 * repair fits the head anew, by group-balanced logistic regression, to samples that are
 * neither trained on nor judged: half of the validation split, or a fifth of the training split. As
 * it does so before every evaluation, the checkpoint is selected after the repair. */
#include <string.h>

#include "debias/groups.h"
#include "methods/head_fit.h"
#include "train/trainer.h"

static const double VALIDATION_SHARE = 0.5, TRAINING_SHARE = 0.2;
enum { REPEATS = 10 };

/* ---- which samples ---- */

/* The groups that may be balanced: of known attributes, else classes. */
static uint32_t attributes_of(const gn_trainer *t)
{
    return t->run.known && t->input.data->attributes ? t->input.data->attributes : 1;
}

static gerne_status group_of_all(gn_trainer *t, const gn_sample_list *list, gn_grouped *out)
{
    const gn_dataset *data = t->input.data;
    uint32_t attributes = attributes_of(t);
    int32_t *group;
    GN_TRY(gn_arena_alloc(t->run.ctx, t->arena, list->count + 1, sizeof *group, &group));
    for (size_t i = 0; i < list->count; i++) {
        uint32_t sample = list->items[i];
        group[i] = data->y[sample] * (int32_t)attributes + (attributes > 1 ? data->a[sample] : 0);
    }
    *out = (gn_grouped){group, list->count, (size_t)data->classes * attributes};
    return GERNE_OK;
}

/* A group of which too few samples would be fitted to. */
static gerne_status check_sizes(gn_trainer *t, const gn_grouped *all, const bool *taken)
{
    const gn_dataset *data = t->input.data;
    bool val = t->config->top.repair == GN_REPAIR_VAL;
    uint32_t attributes = attributes_of(t);
    for (size_t g = 0; g < all->groups; g++) {
        size_t count = 0, fitted = 0;
        for (size_t i = 0; i < all->n; i++)
            if ((size_t)all->group[i] == g) {
                count++;
                fitted += taken[i];
            }
        if (count == 0 || fitted >= 2)
            continue;
        gn_fail(t->run.ctx, GERNE_EUSAGE,
                "repair %s fits the head to %s: class '%s'%s%s%s has %zu sample%s there, it "
                "needs %d",
                val ? "val" : "train",
                val ? "half of the validation split" : "a fifth of the training split",
                data->class_names[g / attributes], attributes > 1 ? " with attribute '" : "",
                attributes > 1 ? data->attribute_names[g % attributes] : "",
                attributes > 1 ? "'" : "", count, count == 1 ? "" : "s", val ? 4 : 10);
        gn_hint(t->run.ctx, "use --repair %s or none%s", val ? "train" : "val",
                attributes > 1 ? ", or --method.attributes unknown, which balances classes" : "");
        return GERNE_EUSAGE;
    }
    return GERNE_OK;
}

static gerne_status check_repair(gn_trainer *t)
{
    const gn_method *method = t->run.method;
    if (t->config->top.repair != GN_REPAIR_VAL)
        return GERNE_OK;
    if (t->input.samples[GN_VAL].count == 0) {
        gn_fail(t->run.ctx, GERNE_EUSAGE,
                "repair val fits the head to the validation split, but the data has none");
        gn_hint(t->run.ctx, "hold out samples with --data.val N, or use --repair train");
        return GERNE_EUSAGE;
    }
    if (method->validation == GN_VALIDATION_SELECTS)
        return GERNE_OK;
    gn_fail(t->run.ctx, GERNE_EUSAGE,
            "repair val: method '%s' itself is fitted to the validation split", method->name);
    gn_hint(t->run.ctx, "use --repair none, or another --method.name");
    return GERNE_EUSAGE;
}

gerne_status gn_settle_repair(gn_trainer *t)
{
    gerne_ctx *ctx = t->run.ctx;
    if (!t->run.repairs)
        return GERNE_OK;
    bool val = t->config->top.repair == GN_REPAIR_VAL;
    gn_sample_list *list = &t->input.samples[val ? GN_VAL : GN_TRAIN], *held = &t->input.repair;
    gn_grouped all;
    size_t *sizes, kept = 0;
    bool *taken;
    GN_TRY(check_repair(t));
    GN_TRY(group_of_all(t, list, &all));
    GN_TRY(gn_arena_alloc(ctx, t->arena, all.groups, sizeof *sizes, &sizes));
    GN_TRY(gn_arena_alloc(ctx, t->arena, all.n, sizeof *taken, &taken));
    GN_TRY(gn_alloc(ctx, all.n, sizeof *held->items, "samples of the repair", &held->items));
    GN_TRY(gn_arena_alloc(ctx, t->arena, all.n, sizeof(int32_t), &t->input.repair_groups));
    /* By the seed of the data: the seeds of a study share their splits. */
    gn_permutation order =
        gn_permutation_at(all.n, (uint64_t)t->config->data.seed, GN_RNG_METHOD, GN_REPAIR_VAL, 0);
    gn_take_share(&all, &order, val ? VALIDATION_SHARE : TRAINING_SHARE, sizes, taken);
    GN_TRY(check_sizes(t, &all, taken));
    for (size_t i = 0; i < all.n; i++) {
        if (taken[i]) {
            t->input.repair_groups[held->count] = all.group[i];
            held->items[held->count++] = list->items[i];
        } else if (!val) {
            list->items[kept++] = list->items[i];
        }
    }
    if (!val)
        list->count = kept;
    return GERNE_OK;
}

gerne_status gn_enter_repair(gn_trainer *t)
{
    const gn_sample_list *val = &t->input.samples[GN_VAL], *held = &t->input.repair;
    bool *judged;
    if (t->config->top.repair != GN_REPAIR_VAL)
        return GERNE_OK;
    GN_TRY(gn_run_alloc(&t->run, val->count, sizeof *judged, &judged));
    for (size_t i = 0, h = 0; i < val->count; i++) {
        bool taken = h < held->count && held->items[h] == val->items[i]; /* both ascend */
        judged[i] = !taken;
        h += taken;
    }
    return gn_run_judge_on(&t->run, judged);
}

/* ---- the fit ---- */

static gerne_status repair(gn_trainer *t, gn_arena *arena)
{
    gn_run *run = &t->run;
    const gn_sample_list *list = &t->input.repair;
    size_t width = gn_run_width(run, 0), groups = (size_t)run->classes * attributes_of(t);
    float *x;
    int32_t *y;
    gn_linear_head head;
    gn_head_outcome outcome;
    GN_TRY(gn_arena_alloc(run->ctx, arena, list->count * width, sizeof *x, &x));
    GN_TRY(gn_arena_alloc(run->ctx, arena, list->count, sizeof *y, &y));
    GN_TRY(gn_arena_alloc(run->ctx, arena, run->classes * width, sizeof(float), &head.weights));
    GN_TRY(gn_arena_alloc(run->ctx, arena, run->classes, sizeof(float), &head.bias));
    GN_TRY(gn_infer_list(t, 0, list, NULL, x));
    for (size_t i = 0; i < list->count; i++)
        y[i] = t->input.data->y[list->items[i]];
    const gn_head_problem problem = {
        .samples = {.x = x, .y = y, .n = list->count, .width = width, .classes = run->classes},
        .groups = {t->input.repair_groups, list->count, groups},
        .reference = x,
        .reference_n = list->count,
        .repeats = REPEATS,
        .seed = (uint64_t)t->config->top.seed,
    };
    GN_TRY(gn_head_fit(run->ctx, &problem, &head, &outcome));
    gn_run_log(run, "repair_c", outcome.c);
    return gn_run_set_head(run, 0, head.weights, head.bias);
}

gerne_status gn_refit_begin(gn_trainer *t, gn_kept_head *kept)
{
    gn_run *run = &t->run;
    const gn_method *owner = run->stage->owner;
    bool last = run->stage_index == t->stage_count - 1;
    *kept = (gn_kept_head){0};
    if (!last || (!owner->refit && !run->repairs))
        return GERNE_OK;
    GN_TRY(gn_arena_new(run->ctx, &kept->arena));
    size_t size = run->classes * gn_run_width(run, 0);
    GN_TRY(gn_arena_alloc(run->ctx, kept->arena, size, sizeof(float), &kept->weights));
    GN_TRY(gn_arena_alloc(run->ctx, kept->arena, run->classes, sizeof(float), &kept->bias));
    GN_TRY(gn_run_get_head(run, 0, kept->weights, kept->bias));
    if (owner->refit)
        GN_TRY(owner->refit(run));
    return run->repairs ? repair(t, kept->arena) : GERNE_OK;
}

void gn_refit_end(gn_trainer *t, gn_kept_head *kept, gerne_status *status)
{
    if (kept->arena && kept->bias && *status == GERNE_OK)
        *status = gn_run_set_head(&t->run, 0, kept->weights, kept->bias);
    gn_arena_close(kept->arena);
    *kept = (gn_kept_head){0};
}
