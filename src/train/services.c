/* services.c - what a run does for its method: the calls of methods/method.h. */
#include <math.h>
#include <string.h>

#include "nn/loss.h"
#include "train/trainer.h"

static gn_trainer *trainer_of(gn_run *run)
{
    return (gn_trainer *)run;
}

gn_network *gn_run_network(gn_run *run, int i)
{
    return trainer_of(run)->networks[i];
}

gerne_status gn_run_pass(gn_run *run, int i, gn_minibatch *batch, const float *weights,
                         bool accumulate)
{
    gn_samples samples = batch->samples;
    if (weights)
        samples.weights = weights;
    const gn_outcome outcome = {.losses = batch->losses[i], .predictions = batch->predictions[i]};
    trainer_of(run)->kept[i] = false;
    return gn_weighted_pass(run->ctx, trainer_of(run)->networks[i], &samples, accumulate, &outcome);
}

gerne_status gn_run_forward(gn_run *run, int i, gn_minibatch *batch)
{
    gn_trainer *t = trainer_of(run);
    gn_network *network = t->networks[i];
    const gn_samples *samples = &batch->samples;
    t->kept[i] = samples->count <= (size_t)gn_network_batch(network);
    if (!t->kept[i]) {
        const gn_outcome outcome = {.losses = batch->losses[i],
                                    .predictions = batch->predictions[i]};
        /* Weights are made of the losses that the backward pass will see, so with its masks. */
        gn_mode mode = gn_network_options(network)->dropout > 0 ? GN_MODE_TRAIN : GN_MODE_INFER;
        return gn_forward_pass(run->ctx, network, mode, samples, &outcome);
    }
    GN_TRY(gn_network_set_mode(run->ctx, network, GN_MODE_TRAIN));
    gn_load_samples(network, samples, 0, samples->count);
    GN_TRY(gn_body_forward(run->ctx, network));
    GN_TRY(gn_head_forward(run->ctx, network, NULL));
    gn_cross_entropy(gn_logits(network), samples->count, run->classes, samples->labels, NULL,
                     batch->losses[i], batch->predictions[i], NULL);
    return GERNE_OK;
}

gerne_status gn_run_backward(gn_run *run, int i, gn_minibatch *batch, const float *weights,
                             bool accumulate)
{
    gn_trainer *t = trainer_of(run);
    gn_network *network = t->networks[i];
    if (!t->kept[i])
        return gn_run_pass(run, i, batch, weights, accumulate);
    size_t n = batch->samples.count, size = (size_t)gn_network_batch(network);
    float *gradient = gn_logit_gradient(network);
    gn_cross_entropy(gn_logits(network), n, run->classes, batch->samples.labels, weights, NULL,
                     NULL, gradient);
    memset(gradient + n * run->classes, 0, (size - n) * run->classes * sizeof *gradient);
    t->kept[i] = false;
    GN_TRY(gn_head_backward(run->ctx, network, accumulate));
    return gn_body_backward(run->ctx, network, NULL, accumulate);
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

gerne_status gn_run_regroup(gn_run *run, const int32_t *a, uint32_t attributes)
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
    static const char *const names[] = {"hard", "easy"};
    return gerne_groups_set_names(run->ctx, groups, t->data->class_names,
                                  attributes == 2 ? names : NULL);
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
