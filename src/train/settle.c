/* settle.c - what a run consists of, settled and checked before anything is written. */
#include <stdio.h>
#include <string.h>

#include "methods/list.h"
#include "ranks/ranks.h"
#include "train/default_network.h"
#include "train/shared_data.h"
#include "train/trainer.h"

/* ---- data ---- */

/* Whether what frozen layers compute is kept; behind a layer's name only where it never changes, or
 * its views are kept. */
static bool wants_features(const gn_trainer *t)
{
    const gn_model_options *model = &t->config->model;
    gn_freeze freeze = gn_model_freeze(model);
    return freeze == GN_FREEZE_BODY ||
           (freeze == GN_FREEZE_LAYERS && model->activations != GN_RECOMPUTE &&
            (t->input.data->augment == GN_AUGMENT_NONE || gn_model_views(model) > 1) &&
            t->input.data->field == GN_PIXELS);
}

/* What another run has read, unless it was not kept in memory and must be here. */
static gerne_status find_shared(gn_trainer *t)
{
    gn_dataset *found;
    GN_TRY(gn_shared_data_find(t->run.ctx, t->config, &found));
    t->input.data = found;
    if (!found)
        return GERNE_OK;
    GN_TRY(gn_check_views(t, found));
    if (found->read_once == wants_features(t))
        return GERNE_OK;
    gn_dataset_close(found);
    t->input.data = NULL;
    return GERNE_OK;
}

static gerne_status read_data(gn_trainer *t)
{
    gerne_ctx *ctx = t->run.ctx;
    size_t warnings = json_array_size(t->record.warnings);
    gn_data_options data = t->config->data;
    data.vocab = t->config->model.vocab;
    GN_TRY(gn_cache_folder(ctx, t->arena, t->config->top.cache, &data.cache));
    GN_TRY(gn_dataset_open(ctx, &data, &t->input.data));
    if (t->input.data->classes == 0) {
        gn_fail(ctx, GERNE_EUSAGE, "the data has no labels to train on");
        return GERNE_EUSAGE;
    }
    GN_TRY(gn_check_views(t, t->input.data));
    /* Behind frozen layers pixels are read once at most: when their features are computed. */
    t->input.data->read_once = wants_features(t);
    GN_TRY(gn_dataset_prepare(ctx, t->input.data, gn_device_threads(t->device)));
    if (json_array_size(t->record.warnings) > warnings)
        return GERNE_OK; /* which belong to the record of every run that reads the data */
    return gn_shared_data_keep(ctx, t->config, t->input.data);
}

static gerne_status open_data(gn_trainer *t)
{
    gerne_ctx *ctx = t->run.ctx;
    GN_TRY(gn_settle_vocabulary(ctx, t->config));
    GN_TRY(find_shared(t));
    if (!t->input.data)
        GN_TRY(read_data(t));
    GN_TRY(gn_dataset_fingerprint(ctx, t->input.data, t->input.fingerprint));
    for (int s = 0; s < GN_SPLITS; s++)
        GN_TRY(gn_samples_of_split(ctx, t->input.data, (gn_split)s, &t->input.samples[s]));
    if (t->input.samples[GN_TRAIN].count == 0)
        return gn_fail(ctx, GERNE_EDATA, "the training split is empty");
    return GERNE_OK;
}

/* Labels of the training split; attributes that may not be seen are 0. */
static gerne_status take_labels(gn_trainer *t)
{
    gn_run *run = &t->run;
    const gn_dataset *data = t->input.data;
    const gn_sample_list *train = &t->input.samples[GN_TRAIN];
    run->n = train->count;
    run->classes = data->classes;
    GN_TRY(gn_arena_alloc(run->ctx, t->arena, run->n, sizeof *t->input.y, &t->input.y));
    GN_TRY(gn_arena_alloc(run->ctx, t->arena, run->n, sizeof *t->input.a, &t->input.a));
    if (data->attributes)
        GN_TRY(
            gn_arena_alloc(run->ctx, t->arena, run->n, sizeof *t->input.true_a, &t->input.true_a));
    for (size_t i = 0; i < run->n; i++) {
        t->input.y[i] = data->y[train->items[i]];
        if (data->attributes)
            t->input.true_a[i] = data->a[train->items[i]];
        t->input.a[i] = run->known && data->attributes ? t->input.true_a[i] : 0;
    }
    run->y = t->input.y;
    run->a = t->input.a;
    run->true_a = t->input.true_a;
    run->true_attributes = data->attributes;
    run->attributes = run->known && data->attributes ? data->attributes : 1;
    size_t groups = (size_t)data->classes * (data->attributes ? data->attributes : 1);
    GN_TRY(gn_arena_alloc(run->ctx, t->arena, groups, sizeof *t->input.train_counts,
                          &t->input.train_counts));
    gn_dataset_count(data, GN_TRAIN, t->input.train_counts);
    GN_TRY(gerne_groups_from_labels(run->ctx, run->y, run->a, run->n, run->classes, run->attributes,
                                    &t->input.groups));
    run->groups = t->input.groups;
    return gerne_groups_set_names(run->ctx, t->input.groups, data->class_names,
                                  run->attributes > 1 ? data->attribute_names : NULL);
}

/* After what is held out is gone from the lists: tables and groups of other runs belong to samples
 * by their places in them. */
static gerne_status identify_samples(gn_trainer *t)
{
    static const gn_split splits[] = {GN_TRAIN, GN_VAL};
    gn_sha256 hash;
    unsigned char digest[GN_SHA256_SIZE];
    gn_sha256_start(&hash);
    GN_TRY(gn_dataset_add_identity(t->run.ctx, t->input.data, &hash));
    for (size_t s = 0; s < sizeof splits / sizeof splits[0]; s++) {
        const gn_sample_list *list = &t->input.samples[splits[s]];
        gn_sha256_add(&hash, &list->count, sizeof list->count);
        if (list->count)
            gn_sha256_add(&hash, list->items, list->count * sizeof *list->items);
    }
    gn_sha256_end(&hash, digest);
    gn_sha256_hex(digest, t->input.samples_digest);
    return GERNE_OK;
}

static gerne_status take_validation_labels(gn_trainer *t)
{
    const gn_run *run = &t->run;
    const gn_dataset *data = t->input.data;
    const gn_sample_list *val = &t->input.samples[GN_VAL];
    GN_TRY(gn_arena_alloc(run->ctx, t->arena, val->count + 1, sizeof(int32_t), &t->input.val_y));
    GN_TRY(gn_arena_alloc(run->ctx, t->arena, val->count + 1, sizeof(int32_t), &t->input.val_a));
    for (size_t i = 0; i < val->count; i++) {
        t->input.val_y[i] = data->y[val->items[i]];
        t->input.val_a[i] = run->known && data->attributes ? data->a[val->items[i]] : 0;
    }
    return GERNE_OK;
}

/* ---- what can be refused before anything is written ---- */

static gerne_status settle_attributes(gn_trainer *t)
{
    gn_run *run = &t->run;
    const gn_run_config *c = t->config;
    run->known = c->method_choice.attributes == GN_KNOWN &&
                 run->method->attributes != GN_ATTRIBUTES_ESTIMATED;
    if (!run->known || t->input.data->attributes > 0)
        return GERNE_OK;
    bool asked = gn_config_origin(c->config, "method.attributes") != GN_DEFAULT;
    if (!asked && run->method->attributes == GN_ATTRIBUTES_UNUSED) {
        run->known = false;
        return GERNE_OK;
    }
    const char *estimator = run->method->default_estimator;
    gn_fail(run->ctx, GERNE_EUSAGE, "method.attributes is known, but the data has no attributes");
    gn_hint(run->ctx,
            "use --method.attributes unknown (the groups are then %s%s), or name the column with "
            "--data.a",
            estimator ? "those of estimator " : "the classes", estimator ? estimator : "");
    return GERNE_EUSAGE;
}

static bool needs_validation(const gn_trainer *t)
{
    bool needed = t->config->select.split == GN_SELECT_VAL;
    for (int i = 0; i < t->stage_count; i++)
        needed = needed || t->stages[i].keep == GN_KEEP_BALANCED_ACC || t->stages[i].on_validation;
    return needed;
}

/* Selecting on test instead helps only where nothing but the selection needs the split. */
static gerne_status refuse_empty_split(const gn_trainer *t, gn_split split, const char *words)
{
    const char *fitted = NULL;
    bool kept = false;
    for (int i = 0; i < t->stage_count; i++) {
        fitted = t->stages[i].on_validation ? t->stages[i].owner->name : fitted;
        kept = kept || t->stages[i].keep == GN_KEEP_BALANCED_ACC;
    }
    if (split == GN_VAL && fitted)
        gn_fail(t->run.ctx, GERNE_EUSAGE,
                "method '%s' is fitted to the validation split, but the data has none", fitted);
    else
        gn_fail(t->run.ctx, GERNE_EUSAGE, "the data has no %s split to select on", words);
    gn_hint(t->run.ctx, "%s",
            split == GN_TEST ? "use --select.split val"
            : fitted || kept ? "hold out samples with --data.val N"
                             : "hold out samples with --data.val N, or use --select.split test "
                               "(marked oracle)");
    return GERNE_EUSAGE;
}

static gerne_status check_split(gn_trainer *t, gn_split split)
{
    const gn_sample_list *list = &t->input.samples[split];
    const char *words = split == GN_VAL ? "validation" : "test";
    if (list->count == 0)
        return refuse_empty_split(t, split, words);
    bool *seen;
    GN_TRY(gn_arena_alloc(t->run.ctx, t->arena, t->run.classes, sizeof *seen, &seen));
    for (size_t i = 0; i < list->count; i++)
        seen[t->input.data->y[list->items[i]]] = true;
    for (uint32_t y = 0; y < t->run.classes; y++)
        if (!seen[y]) {
            gn_fail(t->run.ctx, GERNE_EUSAGE,
                    "class '%s' has no samples in the %s split, on which the checkpoint is "
                    "selected",
                    t->input.data->class_names[y], words);
            gn_hint(t->run.ctx, "put samples of every class into the %s split", words);
            return GERNE_EUSAGE;
        }
    return GERNE_OK;
}

/* How many attributes the groups will have that the method sees. */
static void settle_attributes_found(gn_trainer *t)
{
    gn_run *run = &t->run;
    run->attributes_found = run->attributes;
    if (!run->estimator)
        return;
    const void *own = run->options;
    run->options = t->config->estimator_options;
    run->attributes_found = run->estimator->attributes_found(run);
    run->options = own;
}

enum { USUAL_BATCH = 128 };

static gerne_status settle_sizes(gn_trainer *t)
{
    gn_run *run = &t->run;
    const gn_train_options *train = &t->config->train;
    int64_t per_class = train->per_class, k = (int64_t)run->classes;
    if (train->per_group)
        per_class = (int64_t)run->attributes_found * train->per_group;
    int64_t usual = run->n < USUAL_BATCH ? (int64_t)run->n : USUAL_BATCH;
    int64_t batch = per_class ? k * per_class : train->batch ? train->batch : usual;
    if (!per_class)
        per_class = (batch + k - 1) / k;
    if (batch > UINT32_MAX / 4 || per_class * k > UINT32_MAX / 4)
        return gn_fail(run->ctx, GERNE_EUSAGE, "a batch of %lld samples is too large",
                       (long long)batch);
    if (run->method->plain_batches && (uint64_t)batch > run->n)
        return gn_fail(run->ctx, GERNE_EUSAGE,
                       "a batch of %lld samples, but the training split has %zu", (long long)batch,
                       run->n);
    run->batch = (uint32_t)batch;
    run->per_class = (uint32_t)per_class;
    return GERNE_OK;
}

/* Whether batches have to be run whole is a matter of the network; a small one tells. */
static gerne_status settle_network(gn_trainer *t)
{
    gn_run *run = &t->run;
    gn_network *probe;
    t->model = t->config->model;
    if (t->model.bn == GN_BN_AUTO)
        t->model.bn = t->model.weights ? GN_BN_FROZEN : GN_BN_CONCAT;
    GN_TRY(gn_network_outline(run->ctx, t->device, &t->model, gn_dataset_shape(t->input.data),
                              (int64_t)run->classes, &probe));
    run->model = &t->model;
    t->couples = run->coupled = gn_network_couples_samples(probe);
    run->width = (size_t)gn_network_feature_count(probe);
    t->drops = gn_network_options(probe)->dropout > 0;
    bool whole_body = gn_model_freeze(&t->model) == GN_FREEZE_BODY;
    bool cut = gn_network_can_cut(probe);
    gn_network_close(probe);
    run->concatenate = run->coupled && t->model.bn == GN_BN_CONCAT;
    t->on_features = wants_features(t) && (whole_body || cut);
    GN_TRY(gn_check_views_are_kept(t));
    run->fixed = gn_passes_are_fixed(t, t->input.data->augment);
    const gn_sample_shape shape = gn_dataset_shape(t->input.data);
    run->pictures = gn_shape_field(&shape, GN_FIELD_PIXELS) != NULL && !t->on_features;
    return GERNE_OK;
}

static gerne_status check_average(gn_trainer *t)
{
    if (t->config->train.average == GN_AVERAGE_NONE || !t->run.coupled)
        return GERNE_OK;
    gn_fail(t->run.ctx, GERNE_EUSAGE,
            "train.average cannot be combined with BatchNorm in training: the "
            "averaged weights have no statistics");
    gn_hint(t->run.ctx, "use --train.average none or --model.bn frozen");
    return GERNE_EUSAGE;
}

static gerne_status check_gradients(gn_trainer *t)
{
    if (!t->config->train.log_gradients || !t->run.concatenate)
        return GERNE_OK;
    gn_fail(t->run.ctx, GERNE_EUSAGE,
            "train.log_gradients cannot be combined with model.bn concat: the two "
            "batches share one pass");
    gn_hint(t->run.ctx, "use --model.bn separate, or remove train.log_gradients");
    return GERNE_EUSAGE;
}

static gerne_status hash_run(gn_trainer *t)
{
    GN_LOCAL(gn_text) text = {0};
    unsigned char digest[GN_SHA256_SIZE];
    GN_TRY(gn_text_add(t->run.ctx, &text, "gerne %s\nthreads %d\ndata %s\nweights %s\n",
                       gerne_version(), gn_device_threads(t->device), t->input.fingerprint,
                       t->input.weights_digest));
    if (t->input.elsewhere_digest[0])
        GN_TRY(gn_text_add(t->run.ctx, &text, "groups %s\n", t->input.elsewhere_digest));
    int ranks = gn_ranks_size(gn_ranks_of(t->run.ctx));
    if (ranks > 1)
        GN_TRY(gn_text_add(t->run.ctx, &text, "ranks %d\n", ranks));
    GN_TRY(gn_config_print(t->run.ctx, t->config->config, GN_NO_HASH, &text));
    gn_sha256_of(text.bytes, text.size, digest);
    gn_sha256_hex(digest, t->run_hash);
    return GERNE_OK;
}

/* ---- stages ---- */

static gerne_status check_estimator(gn_trainer *t)
{
    gn_run *run = &t->run;
    const gn_run_config *c = t->config;
    bool asked = c->estimator && strcmp(c->method_choice.estimator, "auto") != 0;
    run->estimator = run->known ? NULL : c->estimator;
    if (asked && run->known) {
        gn_fail(run->ctx, GERNE_EUSAGE, "method.estimator is '%s', but attributes are known",
                c->estimator->name);
        gn_hint(run->ctx, "use --method.attributes unknown, or --method.estimator none");
        return GERNE_EUSAGE;
    }
    if (asked && run->method->attributes == GN_ATTRIBUTES_UNUSED) {
        gn_fail(run->ctx, GERNE_EUSAGE,
                "method '%s' does not use groups, so method.estimator "
                "has nothing to do",
                run->method->name);
        gn_hint(run->ctx, "use --method.estimator none");
        return GERNE_EUSAGE;
    }
    return GERNE_OK;
}

static void add_stages(gn_trainer *t, const gn_method *owner, const void *options)
{
    gn_stage *list = t->stages + t->stage_count;
    int count = 1;
    t->run.options = options;
    list[0] = (gn_stage){.name = "main", .lr_factor = 1, .decay_factor = 1, .networks = 1};
    if (owner->stages)
        count = owner->stages(&t->run, list);
    for (int i = 0; i < count; i++)
        list[i].owner = owner;
    t->stage_count += count;
}

/* "jtt, xrm or mst": what in a list gives such cells. */
static gerne_status name_givers(gerne_ctx *ctx, const gn_method *const *list, gn_val_cells kind,
                                gn_text *out)
{
    const gn_method *last = NULL;
    for (; *list; list++) {
        if (!((*list)->val_cells >> kind & 1))
            continue;
        if (last)
            GN_TRY(gn_text_add(ctx, out, "%s%s", out->size ? ", " : "", last->name));
        last = *list;
    }
    return last ? gn_text_add(ctx, out, "%s%s", out->size ? " or " : "", last->name) : GERNE_OK;
}

static gerne_status hint_at_cells(gerne_ctx *ctx, gn_val_cells kind)
{
    GN_LOCAL(gn_text) estimators = {0}, methods = {0};
    GN_TRY(name_givers(ctx, gn_estimators, kind, &estimators));
    GN_TRY(name_givers(ctx, gn_methods, kind, &methods));
    gn_hint(ctx,
            "use --method.attributes unknown with --method.estimator %s%s%s, or --select.metric "
            "worst_class",
            estimators.bytes, methods.size ? ", or --method.name " : "",
            methods.size ? methods.bytes : "");
    return GERNE_OK;
}

bool gn_metric_of_cells(int metric, gn_val_cells *kind)
{
    static const gn_val_cells kinds[] = {
        [GN_METRIC_INFERRED_WGA] = GN_CELLS_INFERRED,
        [GN_METRIC_INFERRED_GBA] = GN_CELLS_INFERRED,
        [GN_METRIC_BIAS_WGA] = GN_CELLS_BIASED,
        [GN_METRIC_BIAS_GBA] = GN_CELLS_BIASED,
    };
    if (metric < GN_METRIC_INFERRED_WGA)
        return false;
    *kind = kinds[metric];
    return true;
}

/* The figures of cells exist where a part of the run gives the cells. */
static gerne_status check_selection(gn_trainer *t)
{
    const gn_run *run = &t->run;
    int metric = t->config->select.metric;
    gn_val_cells kind;
    char word[32];
    if (!gn_metric_of_cells(metric, &kind))
        return GERNE_OK;
    gn_choice_word(GN_METRIC_CHOICES, metric, word, sizeof word);
    if (t->config->select.split == GN_SELECT_TEST) {
        gn_fail(run->ctx, GERNE_EUSAGE, "select.metric: '%s' exists on the validation split only",
                word);
        gn_hint(run->ctx, "use --select.split val, or --select.metric wga");
        return GERNE_EUSAGE;
    }
    unsigned given = run->method->val_cells | (run->estimator ? run->estimator->val_cells : 0);
    if (given >> kind & 1)
        return GERNE_OK;
    bool inferred = kind == GN_CELLS_INFERRED;
    gn_fail(run->ctx, GERNE_EUSAGE, "select.metric: '%s' does not exist for this run: %s", word,
            inferred ? "no estimator infers groups of the validation split"
                     : "it has no biased model that predicts the validation split");
    GN_TRY(hint_at_cells(run->ctx, kind));
    return GERNE_EUSAGE;
}

/* The sizes that the estimator's groups will have, for the method's check. */
static gerne_status expect_groups(gn_trainer *t, gerne_groups **out)
{
    gn_run *run = &t->run;
    char at[64];
    *out = NULL;
    if (!run->estimator)
        return GERNE_OK;
    run->options = t->config->estimator_options;
    run->has_membership = run->estimator->gives_membership && run->estimator->gives_membership(run);
    if (!run->estimator->expect)
        return GERNE_OK;
    return run->estimator->expect(run, at, sizeof at, out);
}

/* A stage has the changes of pictures that it asks for, or those of the data. */
static gerne_status settle_augmentation(gn_trainer *t)
{
    for (int i = 0; i < t->stage_count; i++) {
        gn_stage *stage = &t->stages[i];
        if (!stage->augments_itself)
            stage->augment = t->input.data->augment;
        if (!stage->augments_itself || stage->augment == GN_AUGMENT_NONE || t->run.pictures)
            continue;
        gn_fail(t->run.ctx, GERNE_EUSAGE,
                t->on_features ? "method.estimator_augment changes images, but what the frozen "
                                 "layers make of them is computed once"
                               : "method.estimator_augment changes images, and this data has none");
        gn_hint(t->run.ctx, "use --method.estimator_augment none");
        return GERNE_EUSAGE;
    }
    return GERNE_OK;
}

/* An estimator without plan and step says that it has no stages (a plug-in may be wrong). */
static gerne_status check_owners(const gn_trainer *t)
{
    for (int i = 0; i < t->stage_count; i++)
        if (!t->stages[i].owner->plan)
            return gn_fail(t->run.ctx, GERNE_EDATA, "'%s' has a stage, but no hook plan",
                           t->stages[i].owner->name);
    return GERNE_OK;
}

static gerne_status settle_stages(gn_trainer *t)
{
    gn_run *run = &t->run;
    const gn_run_config *c = t->config;
    gerne_groups *expected;
    GN_TRY(check_selection(t));
    if (run->estimator) {
        add_stages(t, run->estimator, c->estimator_options);
        if (run->estimator->check)
            GN_TRY(run->estimator->check(run));
    }
    GN_TRY(expect_groups(t, &expected));
    add_stages(t, run->method, c->method_options);
    run->expected = expected;
    run->sizes_checked = expected != NULL;
    gerne_status status = check_owners(t);
    if (status == GERNE_OK)
        status = settle_augmentation(t);
    if (status == GERNE_OK && run->method->check)
        status = run->method->check(run);
    run->expected = NULL;
    gerne_groups_close(expected);
    return status;
}

gerne_status gn_trainer_settle(gn_trainer *t)
{
    gn_run *run = &t->run;
    const gn_run_config *c = t->config;
    run->method = c->method;
    run->options = c->method_options;
    run->repairs = c->top.repair != GN_REPAIR_NONE;
    GN_TRY(gn_arena_new(run->ctx, &t->arena));
    GN_TRY(gn_arena_new(run->ctx, &t->stage_arena));
    int threads = (int)c->top.threads;
    if (!threads)
        GN_TRY(gn_ranks_threads(run->ctx, &threads));
    GN_TRY(gn_device_new(run->ctx, threads, (gn_precision)c->train.precision, &t->device));
    if (c->model.weights) {
        unsigned char digest[GN_SHA256_SIZE];
        GN_TRY(gn_sha256_file(run->ctx, c->model.weights, digest));
        gn_sha256_hex(digest, t->input.weights_digest);
    }
    GN_TRY(open_data(t));
    GN_TRY(gn_settle_architecture(run->ctx, c, t->input.data));
    GN_TRY(settle_attributes(t));
    GN_TRY(check_estimator(t));
    GN_TRY(gn_settle_repair(t));
    GN_TRY(identify_samples(t));
    GN_TRY(take_labels(t));
    GN_TRY(take_validation_labels(t));
    settle_attributes_found(t);
    GN_TRY(settle_sizes(t));
    GN_TRY(settle_network(t));
    GN_TRY(check_average(t));
    GN_TRY(check_gradients(t));
    GN_TRY(settle_stages(t));
    if (needs_validation(t))
        GN_TRY(check_split(t, GN_VAL));
    if (c->select.split == GN_SELECT_TEST)
        GN_TRY(check_split(t, GN_TEST));
    return hash_run(t);
}

/* ---- ranks ---- */

gerne_status gn_compare_ranks(gn_trainer *t)
{
    gerne_ctx *ctx = t->run.ctx;
    char threads[16];
    snprintf(threads, sizeof threads, "%d", gn_device_threads(t->device));
    GN_TRY(gn_ranks_same(ctx, "the version of gerne", gerne_version()));
    GN_TRY(gn_ranks_same(ctx, "the CPU's instruction set", gn_device_cpu()));
    gerne_status status = gn_ranks_same(ctx, "the number of threads", threads);
    if (status == GERNE_EUSAGE)
        gn_hint(ctx, "set --threads");
    GN_TRY(status);
    GN_TRY(gn_ranks_same(ctx, "the data (their fingerprint)", t->input.fingerprint));
    GN_TRY(gn_ranks_same(ctx, "the file model.weights (its digest)", t->input.weights_digest));
    return gn_ranks_same(ctx, "the configuration (the hash of the run)", t->run_hash);
}

/* ---- frozen bodies ---- */

gerne_status gn_settle_frozen(gn_trainer *t)
{
    gerne_ctx *ctx = t->run.ctx;
    const gn_run_config *config = t->config;
    const char *cache;
    if (!t->on_features)
        return GERNE_OK;
    GN_TRY(gn_cache_folder(ctx, t->arena, config->top.cache, &cache));
    const gn_frozen_options options = {
        .model = &t->model,
        .cache = cache,
        .seed = (uint64_t)config->top.seed,
        .threads = gn_device_threads(t->device),
    };
    gn_frozen *frozen;
    GN_TRY(gn_frozen_features(ctx, t->device, &options, t->input.data, &frozen));
    if (gn_frozen_cached(frozen))
        gn_log(ctx, GERNE_LOG_INFO, "features of the frozen layers: found in the cache");
    memcpy(t->input.scale, t->input.data->scale, sizeof t->input.scale);
    memcpy(t->input.shift, t->input.data->shift, sizeof t->input.shift);
    gn_dataset_close(t->input.data); /* its samples are not needed any more */
    t->input.frozen = frozen;
    t->input.data = gn_frozen_dataset(frozen);
    return GERNE_OK;
}
