/* services.c - what a run does for its method: the calls of methods/method.h. */
#include <math.h>
#include <string.h>

#include "debias/groups.h"
#include "methods/list.h"
#include "nn/split_pass.h"
#include "ranks/ranks.h"
#include "train/trainer.h"

static gn_trainer *trainer_of(gn_run *run)
{
    return (gn_trainer *)run;
}

gn_network *gn_run_network(gn_run *run, int i)
{
    return trainer_of(run)->now.networks[i];
}

static gn_outcome outcome_of(const gn_minibatch *batch, int i)
{
    return (gn_outcome){.losses = batch->losses[i], .predictions = batch->predictions[i]};
}

gerne_status gn_run_pass(gn_run *run, int i, gn_minibatch *batch, const gn_loss *loss,
                         bool accumulate)
{
    const gn_outcome outcome = outcome_of(batch, i);
    GN_TRY(gn_expect_gradients(run, i, accumulate, true));
    return gn_pass_step(run->ctx, gn_run_network(run, i), &batch->samples, loss, accumulate,
                        &outcome);
}

/* What does not fit the network runs again in the backward pass. Losses are those that it will see,
 * so with its masks. */
gerne_status gn_run_forward(gn_run *run, int i, gn_minibatch *batch, const gn_loss *loss)
{
    gn_network *network = gn_run_network(run, i);
    const gn_outcome outcome = outcome_of(batch, i);
    const gn_samples own = gn_split_own(run->ctx, &batch->samples);
    bool again;
    GN_TRY(gn_ranks_any(run->ctx, !gn_pass_fits(network, &own), &again));
    bool drops = gn_network_options(network)->dropout > 0;
    return gn_pass_forward(run->ctx, network, again && !drops ? GN_MODE_INFER : GN_MODE_TRAIN,
                           &batch->samples, loss, &outcome);
}

gerne_status gn_run_backward(gn_run *run, int i, gn_minibatch *batch, const gn_loss *loss,
                             bool accumulate)
{
    const gn_outcome outcome = outcome_of(batch, i);
    GN_TRY(gn_expect_gradients(run, i, accumulate, true));
    return gn_pass_backward(run->ctx, gn_run_network(run, i), &batch->samples, loss, accumulate,
                            &outcome);
}

gerne_status gn_run_apply(gn_run *run, int i)
{
    return gn_run_apply_at(run, i, 1);
}

gerne_status gn_run_apply_at(gn_run *run, int i, double lr_factor)
{
    gn_trainer *t = trainer_of(run);
    GN_TRY(gn_sum_gradients(run, i));
    double lr = gn_learning_rate(&t->now.optimizer_options, t->at.step, run->steps);
    gn_optimizer_step(t->now.optimizers[i], run->lr_scale * lr_factor * lr);
    return GERNE_OK;
}

/* More figures than there is room for are a mistake of the method, told once the step is over. */
void gn_run_log(gn_run *run, const char *name, double value)
{
    gn_trainer *t = trainer_of(run);
    if (strcmp(name, "loss") == 0)
        t->now.step_loss = value;
    if (isnan(value))
        return;
    for (int i = 0; i < GN_FIGURES_MAX; i++) {
        gn_figure *f = &t->at.figures[i];
        if (!f->name[0])
            strncpy(f->name, name, sizeof f->name - 1);
        if (strncmp(f->name, name, sizeof f->name - 1) != 0)
            continue;
        f->sum += value;
        f->count++;
        return;
    }
    t->now.figures_full = true;
}

gerne_status gn_run_table(gn_run *run, const char *name, size_t count, float initial, float **out)
{
    gn_trainer *t = trainer_of(run);
    for (size_t i = 0; i < t->table_count; i++)
        if (strcmp(t->tables[i].name, name) == 0) {
            *out = t->tables[i].values;
            return GERNE_OK;
        }
    if (t->table_count == GN_TABLES_MAX || strlen(name) >= GN_FIGURE_NAME)
        return gn_fail(run->ctx, GERNE_EINTERNAL, "too many tables, or a name too long: %s", name);
    gn_table *table = &t->tables[t->table_count];
    GN_TRY(gn_alloc(run->ctx, count, sizeof(float), "a table of a method", &table->values));
    strncpy(table->name, name, sizeof table->name - 1);
    table->count = count;
    t->table_count++;
    for (size_t i = 0; i < count; i++)
        table->values[i] = initial;
    *out = table->values;
    char block[64] = "table ";
    strncat(block, name, sizeof block - strlen(block) - 1);
    return gn_checkpoint_take(t->resume, block, table->values, count * sizeof(float), NULL);
}

gerne_status gn_run_alloc(gn_run *run, size_t count, size_t size, void *out)
{
    return gn_arena_alloc(run->ctx, trainer_of(run)->stage_arena, count, size, out);
}

gerne_status gn_run_sampler(gn_run *run, const gerne_groups *groups,
                            const gerne_sampler_options *options, const gerne_sampler **out)
{
    gn_trainer *t = trainer_of(run);
    gerne_sampler_options full = *options;
    full.seed = run->seed;
    full.per_class = full.per_class ? full.per_class : run->per_class;
    full.batch = full.batch ? full.batch : run->batch;
    full.c = full.c > 0 ? full.c : 1;
    if (t->now.sampler_count == GN_STAGE_PARTS_MAX)
        return gn_fail(run->ctx, GERNE_EINTERNAL, "too many samplers");
    gerne_sampler *made;
    GN_TRY(gerne_sampler_new(run->ctx, groups ? groups : run->groups, &full, &made));
    t->now.samplers[t->now.sampler_count++] = made;
    *out = made;
    return GERNE_OK;
}

gerne_status gn_run_groups(gn_run *run, const int32_t *y, const int32_t *a, size_t n,
                           uint32_t attributes, const gerne_groups **out)
{
    gn_trainer *t = trainer_of(run);
    if (t->now.group_count == GN_STAGE_PARTS_MAX)
        return gn_fail(run->ctx, GERNE_EINTERNAL, "too many tables of groups");
    gerne_groups *made;
    GN_TRY(gerne_groups_from_labels(run->ctx, y, a, n, run->classes, attributes, &made));
    t->now.other_groups[t->now.group_count++] = made;
    *out = made;
    return GERNE_OK;
}

/* Which samples are in groups that stand for the minority, and how well that is so. */
static gerne_status judge_grouping(gn_run *run, const gn_grouping *grouping,
                                   const gerne_groups *groups)
{
    gn_minority_quality quality;
    bool *found;
    GN_TRY(gn_run_alloc(run, run->n, sizeof *found, &found));
    run->pseudo.made = true;
    run->pseudo.n = 0;
    run->pseudo.precision = run->pseudo.recall = (double)NAN;
    for (size_t i = 0; i < run->n; i++) {
        uint32_t y = (uint32_t)run->y[i], a = (uint32_t)grouping->a[i];
        found[i] = grouping->minority
                       ? grouping->minority[a]
                       : gerne_groups_alpha(groups, y, a) < 1.0 / grouping->attributes;
        run->pseudo.n += found[i];
    }
    if (!run->true_a || run->true_attributes < 2)
        return GERNE_OK;
    GN_TRY(gn_judge_minority(run->ctx, run->y, run->true_a, found, run->n, run->classes,
                             run->true_attributes, &quality));
    run->pseudo.precision = quality.precision;
    run->pseudo.recall = quality.recall;
    return GERNE_OK;
}

/* What an estimator that found nothing can be told, by the options that it has. */
static const char *way_out(const gn_method *estimator)
{
    if (gn_method_has_option(estimator, "estimator_epochs"))
        return "train its model shorter or longer (--method.estimator_epochs, "
               "--method.estimator_lr), ";
    return gn_method_has_option(estimator, "t")
               ? "give the fraction of the minority (--method.t X), "
               : "";
}

/* A class whose samples are all alike has nothing to be balanced. */
static gerne_status check_grouping(gn_run *run, const gerne_groups *groups)
{
    char text[GN_GROUP_TEXT];
    for (uint32_t y = 0; y < run->classes; y++) {
        if (groups->present[y] > 1)
            continue;
        if (trainer_of(run)->config->method_choice.no_shortcut == GN_NO_SHORTCUT_KEEP) {
            gn_warn(run->ctx, "estimator '%s' found no shortcut in class %s, which stays one group",
                    run->estimator->name, groups->class_names[y]);
            continue;
        }
        uint32_t a = 0;
        while (gerne_groups_count(groups, y, a) == 0)
            a++;
        gn_fail(run->ctx, GERNE_ENOTHING,
                "estimator '%s' found no shortcut in class %s: all %llu training samples are in "
                "one group, %s",
                run->estimator->name, groups->class_names[y],
                (unsigned long long)groups->class_counts[y], gn_group_text(groups, y, a, text));
        gn_hint(run->ctx,
                "%suse another --method.estimator, or leave such classes as they are with "
                "--method.no_shortcut keep",
                way_out(run->estimator));
        return GERNE_ENOTHING;
    }
    return GERNE_OK;
}

/* What is kept of them beside the labels: for judging, and for other runs. */
static gerne_status keep_grouping(gn_run *run, const gn_grouping *grouping)
{
    gn_grouping *kept = &trainer_of(run)->input.found;
    size_t count = run->n * grouping->attributes;
    float *copy;
    bool *minority = NULL;
    if (grouping->minority) {
        GN_TRY(gn_arena_alloc(run->ctx, trainer_of(run)->arena, grouping->attributes,
                              sizeof *minority, &minority));
        memcpy(minority, grouping->minority, grouping->attributes * sizeof *minority);
    }
    *kept = (gn_grouping){.attributes = grouping->attributes, .minority = minority};
    run->membership = NULL;
    if (!grouping->membership)
        return GERNE_OK;
    GN_TRY(gn_arena_alloc(run->ctx, trainer_of(run)->arena, count, sizeof *copy, &copy));
    memcpy(copy, grouping->membership, count * sizeof *copy);
    run->membership = copy;
    return GERNE_OK;
}

gerne_status gn_run_regroup(gn_run *run, const gn_grouping *grouping)
{
    gn_trainer *t = trainer_of(run);
    gerne_groups *groups;
    memcpy(t->input.a, grouping->a, run->n * sizeof *grouping->a);
    GN_TRY(gerne_groups_from_labels(run->ctx, run->y, t->input.a, run->n, run->classes,
                                    grouping->attributes, &groups));
    gerne_status status =
        gerne_groups_set_names(run->ctx, groups, t->input.data->class_names, grouping->names);
    gerne_groups_close(t->input.groups);
    t->input.groups = groups;
    run->groups = groups;
    run->attributes = grouping->attributes;
    GN_TRY(status);
    GN_TRY(keep_grouping(run, grouping));
    GN_TRY(check_grouping(run, groups));
    return judge_grouping(run, grouping, groups);
}

gerne_status gn_run_val_cells(gn_run *run, gn_val_cells kind, const int32_t *values, uint32_t count)
{
    gn_trainer *t = trainer_of(run);
    gn_cell_values *cells = &t->input.val_cells[kind];
    size_t n = t->input.samples[GN_VAL].count;
    if (n == 0)
        return GERNE_OK;
    if (!cells->values)
        GN_TRY(gn_arena_alloc(run->ctx, t->arena, n, sizeof *cells->values, &cells->values));
    memcpy(cells->values, values, n * sizeof *values);
    cells->count = count;
    return GERNE_OK;
}

gerne_status gn_run_judge_on(gn_run *run, const bool *judged)
{
    gn_trainer *t = trainer_of(run);
    const gn_sample_list *all = &t->input.samples[GN_VAL];
    gn_judged_part *part = &t->now.judged;
    size_t count = 0;
    *part = (gn_judged_part){0};
    GN_TRY(gn_run_alloc(run, all->count, sizeof *part->samples.items, &part->samples.items));
    GN_TRY(gn_run_alloc(run, all->count, sizeof *part->places, &part->places));
    GN_TRY(gn_run_alloc(run, all->count, sizeof *part->cell_values, &part->cell_values));
    for (size_t i = 0; i < all->count; i++)
        if (judged[i]) {
            part->samples.items[count] = all->items[i];
            part->places[count++] = i;
        }
    part->samples.count = count;
    return GERNE_OK;
}

gn_labelled gn_run_labelled(const gn_run *run, gn_sample_set set)
{
    const gn_trainer *t = (const gn_trainer *)run;
    const gn_run_input *input = &t->input;
    uint32_t known = run->known && input->data->attributes ? input->data->attributes : 1;
    if (set == GN_SET_VALIDATION)
        return (gn_labelled){input->samples[GN_VAL].count, input->val_y, input->val_a, known};
    return (gn_labelled){input->samples[GN_TRAIN].count, input->y, input->a,
                         gerne_groups_attributes(input->groups)};
}

/* ---- inference ---- */

typedef struct gathered {
    float *logits, *features;
    size_t classes, width, done;
} gathered;

static gerne_status gather(void *user, const gn_inferred *part)
{
    gathered *g = user;
    if (g->logits)
        memcpy(g->logits + g->done * g->classes, part->logits,
               part->count * g->classes * sizeof(float));
    if (g->features)
        memcpy(g->features + g->done * g->width, part->features,
               part->count * g->width * sizeof(float));
    g->done += part->count;
    return GERNE_OK;
}

size_t gn_run_width(gn_run *run, int i)
{
    return (size_t)gn_network_feature_count(gn_run_network(run, i));
}

gerne_status gn_run_model_width(gn_run *run, const gn_model_options *model, size_t *width)
{
    const gn_trainer *t = trainer_of(run);
    gn_network *probe;
    GN_TRY(gn_network_outline(run->ctx, t->device, model, gn_dataset_shape(t->input.data),
                              (int64_t)run->classes, &probe));
    *width = (size_t)gn_network_feature_count(probe);
    gn_network_close(probe);
    return GERNE_OK;
}

gerne_status gn_infer_list(gn_trainer *t, int i, const gn_sample_list *list, float *logits,
                           float *features)
{
    gn_run *run = &t->run;
    gathered g = {logits, features, run->classes, gn_run_width(run, i), 0};
    const gn_inference_options options = {.threads = gn_device_threads(t->device)};
    gn_inference *inference = t->now.inference;
    if (i != 0)
        GN_TRY(gn_inference_new(run->ctx, gn_run_network(run, i), t->input.data, &options,
                                &inference));
    gn_inference_gather_features(inference, features != NULL);
    gerne_status status = gn_inference_run(inference, NULL, list->items, list->count, gather, &g);
    gn_inference_gather_features(inference, false);
    if (i != 0)
        gn_inference_close(inference);
    return status;
}

gerne_status gn_run_infer(gn_run *run, int i, gn_sample_set set, float *logits, float *features)
{
    gn_trainer *t = trainer_of(run);
    return gn_infer_list(t, i, &t->input.samples[set == GN_SET_TRAIN ? GN_TRAIN : GN_VAL], logits,
                         features);
}

gerne_status gn_run_infer_part(gn_run *run, int i, gn_sample_set set, const uint32_t *places,
                               size_t count, float *logits, float *features)
{
    gn_trainer *t = trainer_of(run);
    const gn_sample_list *all = &t->input.samples[set == GN_SET_TRAIN ? GN_TRAIN : GN_VAL];
    gn_sample_list list = {.count = count};
    GN_TRY(gn_alloc(run->ctx, count, sizeof *list.items, "a list of samples", &list.items));
    for (size_t j = 0; j < count; j++)
        list.items[j] = all->items[places[j]];
    gerne_status status = gn_infer_list(t, i, &list, logits, features);
    gn_sample_list_free(&list);
    return status;
}

/* ---- heads ---- */

/* The head's weight and bias in the store. */
static void find_head(const gn_store *store, int *weight, int *bias)
{
    for (int j = 0; j < gn_store_count(store); j++) {
        const gn_parameter *p = gn_store_parameter(store, j);
        if (p->graph == GN_HEAD)
            *(p->role == GN_WEIGHT ? weight : bias) = j;
    }
}

gerne_status gn_run_get_head(gn_run *run, int i, float *weights, float *bias)
{
    const gn_store *store = gn_network_store(gn_run_network(run, i));
    int w = 0, b = 0;
    find_head(store, &w, &b);
    GN_TRY(gn_store_get(run->ctx, store, w, weights));
    return gn_store_get(run->ctx, store, b, bias);
}

gerne_status gn_run_set_head(gn_run *run, int i, const float *weights, const float *bias)
{
    gn_store *store = gn_network_store(gn_run_network(run, i));
    int w = 0, b = 0;
    find_head(store, &w, &b);
    GN_TRY(gn_store_set(run->ctx, store, w, weights));
    return gn_store_set(run->ctx, store, b, bias);
}

gerne_status gn_run_head_weights(gn_run *run, int i, gn_block *out)
{
    const gn_store *store = gn_network_store(gn_run_network(run, i));
    int w = 0, b = 0;
    find_head(store, &w, &b);
    *out = gn_store_parameter_block(store, w);
    return gn_sum_gradients(run, i);
}
