#include "train/frozen.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/lock.h"
#include "data/derive.h"
#include "nn/network_weights.h"
#include "ranks/ranks.h"
#include "train/inference.h"

/* The file is a NumPy array (numpy.load reads it) with a trailer that tells whether it is whole. */
enum { HEADER = 128, TRAILER_MAGIC = 16, TRAILER = TRAILER_MAGIC + 2 * GN_SHA256_SIZE };
static const char magic[TRAILER_MAGIC] = "gerne features1";

struct gn_frozen {
    gn_network *network;
    gn_dataset *features;
    unsigned char key[GN_SHA256_SIZE];
    gn_arena *arena;
    const char *path; /* of the file */
    bool cached;
    bool has_head; /* model.weights brought one */
};

void gn_frozen_close(gn_frozen *frozen)
{
    if (!frozen)
        return;
    gn_network_close(frozen->network);
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

/* ---- the network ---- */

static gerne_status make_network(gerne_ctx *ctx, gn_device *device,
                                 const gn_frozen_options *options, const gn_dataset *dataset,
                                 gn_frozen *frozen)
{
    gn_sample_shape shape = gn_dataset_shape(dataset);
    int64_t classes = options->classes ? options->classes : (int64_t)dataset->classes;
    GN_TRY(gn_network_new(ctx, device, options->model, shape, classes, gn_inference_batch(&shape),
                          &frozen->network));
    GN_TRY(gn_network_initialize(ctx, frozen->network, options->seed));
    gn_match match = {0};
    if (options->model->weights) {
        GN_TRY(gn_network_load(ctx, frozen->network, options->model->weights, &match));
        frozen->has_head = !match.head_replaced;
        return GERNE_OK;
    }
    if (gn_store_part(gn_network_store(frozen->network), GN_BODY).size)
        gn_warn(ctx, "the frozen body has random weights: model.weights is not set");
    return GERNE_OK;
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
    const gn_network *network = frozen->network;
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

/* GERNE_EDATA when the file is not what was written. */
static gerne_status open_features(gerne_ctx *ctx, const gn_dataset *dataset, int threads,
                                  gn_frozen *frozen)
{
    size_t dimension = (size_t)gn_network_feature_count(frozen->network), bytes;
    gn_map map;
    char settings[96] = "frozen ";
    if (!gn_multiply(dataset->n, dimension, &bytes) || !gn_multiply(bytes, sizeof(float), &bytes))
        return gn_fail(ctx, GERNE_ENOMEM, "the features of %zu samples do not fit in memory",
                       dataset->n);
    GN_TRY(gn_map_open(ctx, frozen->path, &map));
    gn_sha256_hex(frozen->key, settings + strlen(settings));
    gerne_status status = GERNE_OK;
    if (map.size != HEADER + bytes + TRAILER || !trailer_fits(frozen, &map))
        status = gn_fail(ctx, GERNE_EDATA, "'%s' is not a complete features file", frozen->path);
    if (status == GERNE_OK)
        status =
            gn_dataset_derive(ctx, dataset, map, HEADER, dimension, settings, &frozen->features);
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
    gn_writer *writer;
    gn_feature_digest digest;
    size_t width;
} feature_sink;

static gerne_status take_features(void *user, const gn_inferred *inferred)
{
    feature_sink *sink = user;
    if (!sink->writer) /* rank 0 writes */
        return GERNE_OK;
    size_t bytes = inferred->count * sink->width * sizeof(float);
    gn_feature_digest_add(&sink->digest, inferred->features, bytes);
    return gn_write(sink->writer, inferred->features, bytes);
}

static gerne_status write_header(gn_writer *writer, size_t rows, size_t columns)
{
    char header[HEADER];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01", 8); /* version 1.0: the final '\0' is the minor number */
    header[8] = HEADER - 10;
    header[9] = 0;
    int size =
        snprintf(header + 10, HEADER - 10,
                 "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", rows, columns);
    header[10 + size] = ' ';
    header[HEADER - 1] = '\n';
    return gn_write(writer, header, sizeof header);
}

static gerne_status write_rows(const gn_dataset *dataset, gn_inference *inference,
                               const gn_sample_list *all, gn_frozen *frozen, feature_sink *sink)
{
    unsigned char trailer[TRAILER];
    if (sink->writer)
        GN_TRY(write_header(sink->writer, dataset->n, sink->width));
    gn_feature_digest_start(&sink->digest);
    GN_TRY(gn_inference_run(inference, "features", all->items, all->count, take_features, sink));
    if (!sink->writer)
        return GERNE_OK;
    memcpy(trailer, magic, TRAILER_MAGIC);
    memcpy(trailer + TRAILER_MAGIC, frozen->key, GN_SHA256_SIZE);
    gn_feature_digest_end(&sink->digest, trailer + TRAILER_MAGIC + GN_SHA256_SIZE);
    GN_TRY(gn_write(sink->writer, trailer, sizeof trailer));
    return gn_write_commit(&sink->writer);
}

static gerne_status compute_features(gerne_ctx *ctx, const gn_dataset *dataset, int threads,
                                     gn_frozen *frozen)
{
    feature_sink sink = {.width = (size_t)gn_network_feature_count(frozen->network)};
    gn_inference *inference = NULL;
    gn_sample_list all = {0};
    const gn_inference_options options = {.threads = threads, .body_only = true};
    gn_log(ctx, GERNE_LOG_INFO, "computing the features of %zu samples into '%s'", dataset->n,
           frozen->path);
    gerne_status status = gn_inference_new(ctx, frozen->network, dataset, &options, &inference);
    if (status == GERNE_OK)
        status = gn_samples_of_split(ctx, dataset, GN_SPLITS, &all);
    if (status == GERNE_OK && gn_ranks_first(ctx))
        status = gn_write_open(ctx, frozen->path, &sink.writer);
    if (status == GERNE_OK)
        status = write_rows(dataset, inference, &all, frozen, &sink);
    gn_write_abort(sink.writer);
    gn_sample_list_free(&all);
    gn_inference_close(inference);
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
    if (!frozen->cached)
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

static gerne_status fill(gerne_ctx *ctx, gn_device *device, const gn_frozen_options *options,
                         const gn_dataset *dataset, gn_frozen *frozen)
{
    int threads = options->threads > 0 ? options->threads : 1;
    if (dataset->augment != GN_AUGMENT_NONE)
        gn_warn(ctx,
                "data.augment has no effect with model.freeze body: features are computed once");
    GN_TRY(gn_arena_new(ctx, &frozen->arena));
    GN_TRY(make_network(ctx, device, options, dataset, frozen));
    GN_TRY(compute_key(ctx, dataset, frozen));
    GN_TRY(find_path(ctx, options->cache, frozen));
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

/* ---- the head ---- */

static gerne_status copy_head(gerne_ctx *ctx, const gn_network *from, const gn_network *to)
{
    gn_store *source = gn_network_store(from), *target = gn_network_store(to);
    float *values = NULL;
    gerne_status status = GERNE_OK;
    for (int i = 0; status == GERNE_OK && i < gn_store_count(source); i++) {
        const gn_parameter *p = gn_store_parameter(source, i);
        for (int j = 0; status == GERNE_OK && j < gn_store_count(target); j++) {
            const gn_parameter *q = gn_store_parameter(target, j);
            if (p->graph != GN_HEAD || q->graph != GN_HEAD || p->role != q->role ||
                p->role == GN_FIXED)
                continue;
            if (p->size != q->size)
                return gn_fail(ctx, GERNE_EINTERNAL, "heads of %lld and %lld weights",
                               (long long)p->size, (long long)q->size);
            GN_TRY(gn_alloc(ctx, (size_t)p->size, sizeof *values, "a head", &values));
            status = gn_store_get(ctx, source, i, values);
            if (status == GERNE_OK)
                status = gn_store_set(ctx, target, j, values);
            gn_free(values);
        }
    }
    return status;
}

gerne_status gn_frozen_new_head(gerne_ctx *ctx, const gn_frozen *frozen, uint64_t seed,
                                int64_t batch, gn_network **out)
{
    const gn_model_options options = {.arch = "linear",
                                      .dropout = gn_network_options(frozen->network)->dropout};
    gn_network *head;
    *out = NULL;
    GN_TRY(gn_network_new(ctx, gn_network_device(frozen->network), &options,
                          gn_dataset_shape(frozen->features), gn_network_classes(frozen->network),
                          batch, &head));
    gerne_status status = gn_network_initialize(ctx, head, seed);
    if (status == GERNE_OK && frozen->has_head)
        status = copy_head(ctx, frozen->network, head);
    if (status != GERNE_OK) {
        gn_network_close(head);
        return status;
    }
    *out = head;
    return GERNE_OK;
}

gerne_status gn_frozen_set_head(gerne_ctx *ctx, gn_frozen *frozen, const gn_network *head)
{
    return copy_head(ctx, head, frozen->network);
}
