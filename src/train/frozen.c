#include "train/frozen.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/half.h"
#include "base/lock.h"
#include "data/derive.h"
#include "nn/network_weights.h"
#include "ranks/ranks.h"
#include "train/inference.h"

/* The file is a NumPy array (numpy.load reads it) with a trailer that tells whether it is whole. */
enum { HEADER = 128, TRAILER_MAGIC = 16, TRAILER = TRAILER_MAGIC + 2 * GN_SHA256_SIZE };
static const char magic[TRAILER_MAGIC] = "gerne features2";

/* What the changes of views are drawn by, whatever the run's seed: runs share them. */
enum { VIEWS_SEED = 0x76696577 };

struct gn_frozen {
    gn_network *network;   /* the whole */
    gn_network *front;     /* its frozen layers; NULL when that is the body */
    gn_sample_shape shape; /* of the samples that both take */
    gn_dataset *features;
    unsigned char key[GN_SHA256_SIZE];
    gn_arena *arena;
    const char *path; /* of the file */
    size_t views;     /* of a training sample */
    bool cached;
    bool has_head; /* model.weights brought one */
};

void gn_frozen_close(gn_frozen *frozen)
{
    if (!frozen)
        return;
    gn_network_close(frozen->network);
    gn_network_close(frozen->front);
    gn_dataset_close(frozen->features);
    gn_arena_close(frozen->arena);
    gn_free(frozen);
}

gn_dataset *gn_frozen_dataset(const gn_frozen *frozen)
{
    return frozen->features;
}

gn_network *gn_frozen_network(const gn_frozen *frozen)
{
    return frozen->network;
}

bool gn_frozen_cached(const gn_frozen *frozen)
{
    return frozen->cached;
}

const gn_architecture *gn_frozen_architecture(const gn_frozen *frozen)
{
    return frozen->front ? gn_network_architecture(frozen->network) : &gn_linear_architecture;
}

/* ---- the network ---- */

/* What computes the features. */
static gn_network *computing(const gn_frozen *frozen)
{
    return frozen->front ? frozen->front : frozen->network;
}

static bool halves(const gn_frozen *frozen)
{
    return frozen->front && gn_network_options(frozen->network)->activations == GN_KEEP_F16;
}

static size_t element_size(const gn_frozen *frozen)
{
    return halves(frozen) ? sizeof(uint16_t) : sizeof(float);
}

static int find_parameter(const gn_store *store, const char *name)
{
    for (int i = 0; i < gn_store_count(store); i++)
        if (strcmp(gn_store_parameter(store, i)->name, name) == 0)
            return i;
    return -1;
}

static gerne_status copy_parameter(gerne_ctx *ctx, const gn_store *from, int i, gn_store *to, int j)
{
    const gn_parameter *p = gn_store_parameter(from, i), *q = gn_store_parameter(to, j);
    float *values;
    if (p->size != q->size)
        return gn_fail(ctx, GERNE_EINTERNAL, "'%s' of %lld numbers and '%s' of %lld", p->name,
                       (long long)p->size, q->name, (long long)q->size);
    GN_TRY(gn_alloc(ctx, (size_t)p->size, sizeof *values, "weights", &values));
    gerne_status status = gn_store_get(ctx, from, i, values);
    if (status == GERNE_OK)
        status = gn_store_set(ctx, to, j, values);
    gn_free(values);
    return status;
}

/* Weights and statistics that both networks have, by name. */
static gerne_status copy_shared(gerne_ctx *ctx, const gn_network *from, const gn_network *to,
                                bool heads)
{
    gn_store *source = gn_network_store(from), *target = gn_network_store(to);
    for (int i = 0; i < gn_store_count(source); i++) {
        const gn_parameter *p = gn_store_parameter(source, i);
        int j = find_parameter(target, p->name);
        if (j < 0 || p->role == GN_FIXED || (p->graph == GN_HEAD && !heads))
            continue;
        GN_TRY(copy_parameter(ctx, source, i, target, j));
    }
    return GERNE_OK;
}

static gerne_status make_front(gerne_ctx *ctx, gn_device *device, gn_frozen *frozen)
{
    gn_model_options model = *gn_network_options(frozen->network);
    model.part = GN_FRONT;
    model.cut = model.freeze;
    model.freeze = "body";
    GN_TRY(gn_network_new(ctx, device, &model, frozen->shape, gn_network_classes(frozen->network),
                          gn_inference_batch(&frozen->shape), &frozen->front));
    return copy_shared(ctx, frozen->network, frozen->front, false);
}

static gerne_status make_network(gerne_ctx *ctx, gn_device *device,
                                 const gn_frozen_options *options, const gn_dataset *dataset,
                                 gn_frozen *frozen)
{
    const gn_model_options *model = options->model;
    int64_t classes = options->classes ? options->classes : (int64_t)dataset->classes;
    frozen->shape = gn_dataset_shape(dataset);
    GN_TRY(gn_network_new(ctx, device, model, frozen->shape, classes,
                          gn_inference_batch(&frozen->shape), &frozen->network));
    gn_match match;
    GN_TRY(gn_network_start(ctx, frozen->network, model->weights, options->seed, &match));
    frozen->has_head = model->weights && !match.head_replaced;
    if (!model->weights && gn_store_part(gn_network_store(frozen->network), GN_BODY).size)
        gn_warn(ctx, "the frozen layers have random weights: model.weights is not set");
    return gn_model_freeze(model) == GN_FREEZE_LAYERS ? make_front(ctx, device, frozen) : GERNE_OK;
}

/* ---- the key ---- */

static void add_text(gn_sha256 *hash, const char *text)
{
    gn_sha256_add(hash, text, strlen(text) + 1);
}

static gerne_status add_body(gerne_ctx *ctx, const gn_network *network, gn_sha256 *hash)
{
    const gn_store *store = gn_network_store(network);
    gn_arena *arena;
    gerne_status status = gn_arena_new(ctx, &arena);
    for (int i = 0; status == GERNE_OK && i < gn_store_count(store); i++) {
        const gn_parameter *p = gn_store_parameter(store, i);
        float *values;
        if (p->graph != GN_BODY)
            continue;
        gn_arena_reset(arena);
        status = gn_arena_alloc(ctx, arena, (size_t)p->size, sizeof *values, &values);
        if (status == GERNE_OK)
            status = gn_store_get(ctx, store, i, values);
        if (status != GERNE_OK)
            break;
        add_text(hash, p->name);
        gn_sha256_add(hash, p->dims, (size_t)p->ndims * sizeof p->dims[0]);
        gn_sha256_add(hash, values, (size_t)p->size * sizeof *values);
    }
    gn_arena_close(arena);
    return status;
}

static gerne_status compute_key(gerne_ctx *ctx, const gn_dataset *dataset, gn_frozen *frozen)
{
    const gn_network *network = computing(frozen);
    const gn_model_options *model = gn_network_options(network);
    const gn_device *device = gn_network_device(network);
    char fingerprint[GN_SHA256_HEX], words[128];
    GN_TRY(gn_dataset_fingerprint(ctx, dataset, fingerprint));
    gn_sha256 hash;
    gn_sha256_start(&hash);
    add_text(&hash, magic);
    add_text(&hash, model->arch);
    snprintf(words, sizeof words, "variant %d stem %d precision %d threads %d batch %lld",
             model->variant, model->stem, (int)gn_device_precision(device),
             gn_device_threads(device), (long long)gn_network_batch(network));
    add_text(&hash, words);
    if (model->pool != GN_POOL_FIRST)
        add_text(&hash, "pool");
    if (frozen->front) {
        add_text(&hash, model->cut);
        add_text(&hash, halves(frozen) ? "fp16" : "fp32");
    }
    if (frozen->views > 1) { /* how they are changed is in the fingerprint */
        snprintf(words, sizeof words, "views %zu", frozen->views);
        add_text(&hash, words);
    }
    add_text(&hash, fingerprint);
    for (size_t i = 0; i < dataset->n; i++) { /* which of the source's rows, for generated data */
        uint64_t row = gn_dataset_row(dataset, i);
        gn_sha256_add(&hash, &row, sizeof row);
    }
    GN_TRY(add_body(ctx, network, &hash));
    gn_sha256_end(&hash, frozen->key);
    return GERNE_OK;
}

static gerne_status find_path(gerne_ctx *ctx, const char *cache, gn_frozen *frozen)
{
    char hex[GN_SHA256_HEX], name[GN_SHA256_HEX + 8];
    const char *folder;
    gn_sha256_hex(frozen->key, hex);
    snprintf(name, sizeof name, "%.32s.npy", hex);
    GN_TRY(gn_path_join(ctx, frozen->arena, cache, "features", &folder));
    GN_TRY(gn_make_directory(ctx, folder));
    return gn_path_join(ctx, frozen->arena, folder, name, &frozen->path);
}

/* ---- reading ---- */

static bool trailer_fits(const gn_frozen *frozen, const gn_map *map)
{
    const unsigned char *trailer = map->bytes + map->size - TRAILER;
    return memcmp(trailer, magic, TRAILER_MAGIC) == 0 &&
           memcmp(trailer + TRAILER_MAGIC, frozen->key, GN_SHA256_SIZE) == 0;
}

static gerne_status too_many(gerne_ctx *ctx, const gn_dataset *dataset)
{
    return gn_fail(ctx, GERNE_ENOMEM, "the features of %zu samples do not fit in memory",
                   dataset->n);
}

static gn_kept_features kept_features(const gn_frozen *frozen)
{
    return (gn_kept_features){.offset = HEADER,
                              .dimension = (size_t)gn_network_feature_count(computing(frozen)),
                              .halves = halves(frozen),
                              .views = frozen->views};
}

/* GERNE_EDATA when the file is not what was written. */
static gerne_status open_features(gerne_ctx *ctx, const gn_dataset *dataset, int threads,
                                  gn_frozen *frozen)
{
    size_t rows, bytes;
    gn_map map;
    char settings[96] = "frozen ";
    gn_kept_features kept = kept_features(frozen);
    kept.settings = settings;
    if (!gn_kept_size(dataset, &kept, &rows, &bytes))
        return too_many(ctx, dataset);
    GN_TRY(gn_map_open(ctx, frozen->path, &map));
    gn_sha256_hex(frozen->key, settings + strlen(settings));
    gerne_status status = GERNE_OK;
    if (map.size != HEADER + bytes + TRAILER || !trailer_fits(frozen, &map))
        status = gn_fail(ctx, GERNE_EDATA, "'%s' is not a complete features file", frozen->path);
    if (status == GERNE_OK)
        status = gn_dataset_derive(ctx, dataset, map, &kept, &frozen->features);
    if (status != GERNE_OK) {
        gn_map_close(&map);
        return status;
    }
    GN_TRY(gn_dataset_prepare(ctx, frozen->features, threads));
    const unsigned char *digest = map.bytes + map.size - GN_SHA256_SIZE;
    if (memcmp(frozen->features->content_digest, digest, GN_SHA256_SIZE) != 0)
        return gn_fail(ctx, GERNE_EDATA, "'%s' is damaged", frozen->path);
    return GERNE_OK;
}

/* ---- writing ---- */

typedef struct feature_sink {
    gerne_ctx *ctx;
    gn_writer *writer;
    gn_feature_digest digest;
    size_t width;
    uint16_t *row; /* for numbers that are kept in 16 bits, or NULL */
} feature_sink;

static gerne_status put(feature_sink *sink, const void *values, size_t bytes)
{
    gn_feature_digest_add(&sink->digest, values, bytes);
    return gn_write(sink->writer, values, bytes);
}

static gerne_status put_halves(feature_sink *sink, const float *values)
{
    bool finite = true;
    for (size_t i = 0; i < sink->width; i++) {
        sink->row[i] = gn_half_from_float(values[i]);
        finite = finite && (sink->row[i] & GN_HALF_INFINITY) != GN_HALF_INFINITY;
    }
    if (finite)
        return put(sink, sink->row, sink->width * sizeof *sink->row);
    gn_fail(sink->ctx, GERNE_EDATA, "the frozen layers give numbers that 16 bits cannot hold");
    gn_hint(sink->ctx, "use --model.activations fp32");
    return GERNE_EDATA;
}

static gerne_status take_features(void *user, const gn_inferred *inferred)
{
    feature_sink *sink = user;
    if (!sink->writer) /* rank 0 writes */
        return GERNE_OK;
    if (!sink->row)
        return put(sink, inferred->features, inferred->count * sink->width * sizeof(float));
    for (size_t i = 0; i < inferred->count; i++)
        GN_TRY(put_halves(sink, inferred->features + i * sink->width));
    return GERNE_OK;
}

static gerne_status write_header(gn_writer *writer, size_t rows, size_t columns, size_t element)
{
    char header[HEADER];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01", 8); /* version 1.0: the final '\0' is the minor number */
    header[8] = HEADER - 10;
    header[9] = 0;
    int size = snprintf(header + 10, HEADER - 10,
                        "{'descr': '<f%zu', 'fortran_order': False, 'shape': (%zu, %zu), }",
                        element, rows, columns);
    header[10 + size] = ' ';
    header[HEADER - 1] = '\n';
    return gn_write(writer, header, sizeof header);
}

/* One view of all samples that have it. */
static gerne_status write_view(const gn_dataset *dataset, int threads, size_t view, size_t rows,
                               const gn_frozen *frozen, feature_sink *sink)
{
    GN_LOCAL(gn_inference) *inference = NULL;
    GN_LOCAL(gn_sample_list) all = {0};
    GN_TRY(gn_samples_of_split(sink->ctx, dataset, view ? GN_TRAIN : GN_SPLITS, &all));
    const gn_inference_options options = {
        .threads = threads,
        .body_only = true,
        .augment = view ? dataset->augment : GN_AUGMENT_NONE,
        .seed = VIEWS_SEED,
        .step = view,
        .done_before = view ? dataset->n + (view - 1) * all.count : 0,
        .total = rows,
    };
    GN_TRY(gn_inference_new(sink->ctx, computing(frozen), dataset, &options, &inference));
    return gn_inference_run(inference, "features", all.items, all.count, take_features, sink);
}

static gerne_status write_rows(const gn_dataset *dataset, int threads, const gn_frozen *frozen,
                               feature_sink *sink)
{
    unsigned char trailer[TRAILER];
    const gn_kept_features kept = kept_features(frozen);
    size_t rows, bytes;
    if (!gn_kept_size(dataset, &kept, &rows, &bytes))
        return too_many(sink->ctx, dataset);
    if (sink->writer)
        GN_TRY(write_header(sink->writer, rows, sink->width, element_size(frozen)));
    gn_feature_digest_start(&sink->digest);
    for (size_t view = 0; view < frozen->views; view++)
        GN_TRY(write_view(dataset, threads, view, rows, frozen, sink));
    if (!sink->writer)
        return GERNE_OK;
    memcpy(trailer, magic, TRAILER_MAGIC);
    memcpy(trailer + TRAILER_MAGIC, frozen->key, GN_SHA256_SIZE);
    gn_feature_digest_end(&sink->digest, trailer + TRAILER_MAGIC + GN_SHA256_SIZE);
    GN_TRY(gn_write(sink->writer, trailer, sizeof trailer));
    return gn_write_commit(&sink->writer);
}

static void announce(gerne_ctx *ctx, const gn_dataset *dataset, const gn_frozen *frozen)
{
    char views[64] = "";
    if (frozen->views > 1)
        snprintf(views, sizeof views, ", %zu views of each training sample,", frozen->views);
    gn_log(ctx, GERNE_LOG_INFO, "computing the features of %zu samples%s into '%s'", dataset->n,
           views, frozen->path);
}

static gerne_status compute_features(gerne_ctx *ctx, const gn_dataset *dataset, int threads,
                                     gn_frozen *frozen)
{
    feature_sink sink = {.ctx = ctx, .width = (size_t)gn_network_feature_count(computing(frozen))};
    gerne_status status = GERNE_OK;
    announce(ctx, dataset, frozen);
    if (halves(frozen))
        status = gn_alloc(ctx, sink.width, sizeof *sink.row, "a row of features", &sink.row);
    if (status == GERNE_OK && gn_ranks_first(ctx))
        status = gn_write_open(ctx, frozen->path, &sink.writer);
    if (status == GERNE_OK)
        status = write_rows(dataset, threads, frozen, &sink);
    gn_write_abort(sink.writer);
    gn_free(sink.row);
    return status;
}

/* ---- finding or making ---- */

static gerne_status find(gerne_ctx *ctx, const gn_dataset *dataset, int threads, gn_frozen *frozen)
{
    if (!gn_path_exists(frozen->path))
        return GERNE_OK;
    gerne_status status = open_features(ctx, dataset, threads, frozen);
    frozen->cached = status == GERNE_OK;
    if (status != GERNE_EDATA)
        return status;
    gn_log(ctx, GERNE_LOG_WARNING, "%s; recomputing it", gerne_message(ctx));
    gn_dataset_close(frozen->features);
    frozen->features = NULL;
    return GERNE_OK;
}

/* Rank 0 looks for the file, all compute it, rank 0 writes it, and all read it. */
static gerne_status find_or_make_together(gerne_ctx *ctx, const gn_dataset *dataset, int threads,
                                          gn_frozen *frozen)
{
    bool first = gn_ranks_first(ctx);
    GN_TRY(gn_ranks_agree(ctx, first ? find(ctx, dataset, threads, frozen) : GERNE_OK));
    GN_TRY(gn_ranks_broadcast(ctx, &frozen->cached, sizeof frozen->cached));
    if (!frozen->cached) /* and nobody opens the file before rank 0 has written it */
        GN_TRY(gn_ranks_agree(ctx, compute_features(ctx, dataset, threads, frozen)));
    gerne_status status =
        frozen->features ? GERNE_OK : open_features(ctx, dataset, threads, frozen);
    if (status != GERNE_OK && !first)
        gn_hint(ctx, "choose a --cache that all hosts share");
    return gn_ranks_agree(ctx, status);
}

/* One process computes them (or its ranks), others wait. */
static gerne_status find_or_make(gerne_ctx *ctx, const gn_dataset *dataset, int threads,
                                 gn_frozen *frozen)
{
    gn_text path = {0};
    int lock = -1;
    gerne_status status = gn_text_add(ctx, &path, "%s.lock", frozen->path);
    if (status == GERNE_OK && gn_ranks_first(ctx) && !gn_path_exists(frozen->path))
        status = gn_lock_wait(ctx, path.bytes, "features",
                              "waiting for another process to compute them", &lock);
    status = gn_ranks_agree(ctx, status);
    if (status == GERNE_OK)
        status = find_or_make_together(ctx, dataset, threads, frozen);
    if (path.bytes)
        gn_lock_release(path.bytes, lock, true);
    gn_text_free(&path);
    return status;
}

/* Views that were deleted since are not made again for an evaluation, which does not read them. */
static gerne_status choose_file(gerne_ctx *ctx, const gn_frozen_options *options,
                                const gn_dataset *dataset, gn_frozen *frozen)
{
    frozen->views = (size_t)gn_model_views(options->model);
    GN_TRY(compute_key(ctx, dataset, frozen));
    GN_TRY(find_path(ctx, options->cache, frozen));
    if (!options->evaluates || frozen->views == 1 || gn_path_exists(frozen->path))
        return GERNE_OK;
    frozen->views = 1;
    GN_TRY(compute_key(ctx, dataset, frozen));
    return find_path(ctx, options->cache, frozen);
}

static gerne_status fill(gerne_ctx *ctx, gn_device *device, const gn_frozen_options *options,
                         const gn_dataset *dataset, gn_frozen *frozen)
{
    int threads = options->threads > 0 ? options->threads : 1;
    if (dataset->augment != GN_AUGMENT_NONE && gn_model_views(options->model) == 1)
        gn_warn(ctx,
                "data.augment has no effect with model.freeze body: features are computed once "
                "(--model.views N keeps N views of every training sample)");
    GN_TRY(gn_arena_new(ctx, &frozen->arena));
    GN_TRY(make_network(ctx, device, options, dataset, frozen));
    GN_TRY(choose_file(ctx, options, dataset, frozen));
    return find_or_make(ctx, dataset, threads, frozen);
}

gerne_status gn_frozen_features(gerne_ctx *ctx, gn_device *device, const gn_frozen_options *options,
                                const gn_dataset *dataset, gn_frozen **out)
{
    *out = NULL;
    gn_frozen *frozen;
    GN_TRY(gn_alloc(ctx, 1, sizeof *frozen, "a frozen body", &frozen));
    gerne_status status = fill(ctx, device, options, dataset, frozen);
    if (status != GERNE_OK) {
        gn_frozen_close(frozen);
        return status;
    }
    *out = frozen;
    return GERNE_OK;
}

/* ---- what trains ---- */

/* Between a linear head and that of the whole network, whose names differ. */
static gerne_status copy_head(gerne_ctx *ctx, const gn_network *from, const gn_network *to)
{
    gn_store *source = gn_network_store(from), *target = gn_network_store(to);
    for (int i = 0; i < gn_store_count(source); i++) {
        const gn_parameter *p = gn_store_parameter(source, i);
        for (int j = 0; j < gn_store_count(target); j++) {
            const gn_parameter *q = gn_store_parameter(target, j);
            if (p->graph == GN_HEAD && q->graph == GN_HEAD && p->role == q->role &&
                p->role != GN_FIXED)
                GN_TRY(copy_parameter(ctx, source, i, target, j));
        }
    }
    return GERNE_OK;
}

static gn_model_options trained_options(const gn_frozen *frozen, bool head_only)
{
    gn_model_options whole = *gn_network_options(frozen->network);
    if (!frozen->front)
        return (gn_model_options){.arch = gn_linear_architecture.name, .dropout = whole.dropout};
    whole.part = GN_REST;
    whole.cut = whole.freeze;
    whole.origin = &frozen->shape;
    whole.freeze = head_only ? "body" : "none";
    return whole;
}

static gerne_status start_weights(gerne_ctx *ctx, const gn_frozen *frozen, const gn_network *to)
{
    if (frozen->front)
        return copy_shared(ctx, frozen->network, to, frozen->has_head);
    return frozen->has_head ? copy_head(ctx, frozen->network, to) : GERNE_OK;
}

gerne_status gn_frozen_new_network(gerne_ctx *ctx, const gn_frozen *frozen, bool head_only,
                                   uint64_t seed, int64_t batch, gn_network **out)
{
    const gn_model_options options = trained_options(frozen, head_only);
    gn_network *network;
    *out = NULL;
    GN_TRY(gn_network_new(ctx, gn_network_device(frozen->network), &options,
                          gn_dataset_shape(frozen->features), gn_network_classes(frozen->network),
                          batch, &network));
    gerne_status status = gn_network_initialize(ctx, network, seed);
    if (status == GERNE_OK)
        status = start_weights(ctx, frozen, network);
    if (status != GERNE_OK) {
        gn_network_close(network);
        return status;
    }
    *out = network;
    return GERNE_OK;
}

gerne_status gn_frozen_put(gerne_ctx *ctx, gn_frozen *frozen, const gn_network *trained)
{
    if (frozen->front)
        return copy_shared(ctx, trained, frozen->network, true);
    return copy_head(ctx, trained, frozen->network);
}
