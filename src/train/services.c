/* services.c - what a run does for its method: the calls of methods/method.h. */
#include <math.h>
#include <string.h>

#include "train/trainer.h"

static gn_trainer *trainer_of(gn_run *run)
{
    return (gn_trainer *)run;
}

gn_network *gn_run_network(gn_run *run, int i)
{
    return trainer_of(run)->networks[i];
}

static gn_outcome outcome_of(const gn_minibatch *batch, int i)
{
    return (gn_outcome){.losses = batch->losses[i], .predictions = batch->predictions[i]};
}

gerne_status gn_run_pass(gn_run *run, int i, gn_minibatch *batch, const gn_loss *loss,
                         bool accumulate)
{
    const gn_outcome outcome = outcome_of(batch, i);
    return gn_pass_step(run->ctx, gn_run_network(run, i), &batch->samples, loss, accumulate,
                        &outcome);
}

/* What does not fit the network runs again in the backward pass. Losses are those that it will see,
 * so with its masks. */
gerne_status gn_run_forward(gn_run *run, int i, gn_minibatch *batch, const gn_loss *loss)
{
    gn_network *network = gn_run_network(run, i);
    const gn_outcome outcome = outcome_of(batch, i);
    bool again = batch->samples.count > (size_t)gn_network_batch(network);
    bool drops = gn_network_options(network)->dropout > 0;
    return gn_pass_forward(run->ctx, network, again && !drops ? GN_MODE_INFER : GN_MODE_TRAIN,
                           &batch->samples, loss, &outcome);
}

gerne_status gn_run_backward(gn_run *run, int i, gn_minibatch *batch, const gn_loss *loss,
                             bool accumulate)
{
    const gn_outcome outcome = outcome_of(batch, i);
    return gn_pass_backward(run->ctx, gn_run_network(run, i), &batch->samples, loss, accumulate,
                            &outcome);
}

gerne_status gn_run_apply(gn_run *run, int i)
{
    gn_trainer *t = trainer_of(run);
    gn_optimizer_step(t->optimizers[i],
                      gn_learning_rate(&t->optimizer_options, t->at.step, run->steps));
    return GERNE_OK;
}

void gn_run_log(gn_run *run, const char *name, double value)
{
    gn_trainer *t = trainer_of(run);
    if (strcmp(name, "loss") == 0)
        t->step_loss = value;
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
    if (t->sampler_count == GN_STAGE_PARTS_MAX)
        return gn_fail(run->ctx, GERNE_EINTERNAL, "too many samplers");
    gerne_sampler *made;
    GN_TRY(gerne_sampler_new(run->ctx, groups ? groups : run->groups, &full, &made));
    t->samplers[t->sampler_count++] = made;
    *out = made;
    return GERNE_OK;
}

gerne_status gn_run_groups(gn_run *run, const int32_t *y, const int32_t *a, size_t n,
                           uint32_t attributes, const gerne_groups **out)
{
    gn_trainer *t = trainer_of(run);
    if (t->group_count == GN_STAGE_PARTS_MAX)
        return gn_fail(run->ctx, GERNE_EINTERNAL, "too many tables of groups");
    gerne_groups *made;
    GN_TRY(gerne_groups_from_labels(run->ctx, y, a, n, run->classes, attributes, &made));
    t->other_groups[t->group_count++] = made;
    *out = made;
    return GERNE_OK;
}

gerne_status gn_run_regroup(gn_run *run, const int32_t *a, uint32_t attributes,
                            const char *const *names)
{
    gn_trainer *t = trainer_of(run);
    gerne_groups *groups;
    memcpy(t->a, a, run->n * sizeof *a);
    GN_TRY(gerne_groups_from_labels(run->ctx, run->y, t->a, run->n, run->classes, attributes,
                                    &groups));
    gerne_groups_close(t->groups);
    t->groups = groups;
    run->groups = groups;
    run->attributes = attributes;
    return gerne_groups_set_names(run->ctx, groups, t->data->class_names, names);
}

typedef struct gathered {
    float *logits;
    size_t classes, done;
} gathered;

static gerne_status gather(void *user, const gn_inferred *part)
{
    gathered *g = user;
    memcpy(g->logits + g->done * g->classes, part->logits,
           part->count * g->classes * sizeof(float));
    g->done += part->count;
    return GERNE_OK;
}

gerne_status gn_run_predict(gn_run *run, int i, float *logits)
{
    gn_trainer *t = trainer_of(run);
    gathered g = {.logits = logits, .classes = run->classes};
    gn_inference *inference = t->inference;
    if (i != 0)
        GN_TRY(gn_inference_new(run->ctx, t->networks[i], t->data,
                                &(gn_inference_options){.threads = gn_device_threads(t->device)},
                                &inference));
    gerne_status status =
        gn_inference_run(inference, NULL, t->samples[GN_TRAIN].items, run->n, gather, &g);
    if (i != 0)
        gn_inference_close(inference);
    return status;
}
