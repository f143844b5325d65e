#include "train/same_data.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "data/dataset.h"
#include "train/checkpoint.h"
#include "train/options.h"
#include "train/trained_options.h"

enum { READERS = 2, RESULTS_LIMIT = 1 << 28 };

static void take_fingerprint(const json_t *json, char hex[GN_SHA256_HEX])
{
    const char *text = json_string_value(json_object_get(json, "data_fingerprint"));
    if (text && strlen(text) == GN_SHA256_HEX - 1)
        memcpy(hex, text, GN_SHA256_HEX);
}

static gerne_status recorded_in_results(gerne_ctx *ctx, const char *path, char hex[GN_SHA256_HEX])
{
    GN_LOCAL(json_t) *json = NULL;
    GN_TRY(gn_json_read(ctx, path, RESULTS_LIMIT, &json));
    take_fingerprint(json, hex);
    return GERNE_OK;
}

static gerne_status recorded_in_checkpoint(gerne_ctx *ctx, const char *path,
                                           char hex[GN_SHA256_HEX])
{
    GN_LOCAL(gn_checkpoint) *checkpoint = NULL;
    GN_TRY(gn_checkpoint_open(ctx, path, &checkpoint));
    take_fingerprint(gn_checkpoint_head(checkpoint), hex);
    return GERNE_OK;
}

/* hex stays empty when neither file is there. */
static gerne_status recorded(gerne_ctx *ctx, gn_arena *arena, const char *run,
                             char hex[GN_SHA256_HEX])
{
    const char *results, *checkpoint;
    hex[0] = '\0';
    GN_TRY(gn_path_join(ctx, arena, run, "results.json", &results));
    GN_TRY(gn_path_join(ctx, arena, run, "last.ckpt", &checkpoint));
    if (gn_path_exists(results))
        return recorded_in_results(ctx, results, hex);
    return gn_path_exists(checkpoint) ? recorded_in_checkpoint(ctx, checkpoint, hex) : GERNE_OK;
}

/* Opened as training opens it, and read once: files are hashed, not kept. */
static gerne_status digest_now(gerne_ctx *ctx, gn_arena *arena, const gn_trained_options *options,
                               char hex[GN_SHA256_HEX])
{
    gn_data_options data = options->data;
    GN_LOCAL(gn_dataset) *dataset = NULL;
    data.vocab = options->model.vocab;
    GN_TRY(gn_cache_folder(ctx, arena, options->cache, &data.cache));
    GN_TRY(gn_dataset_open(ctx, &data, &dataset));
    dataset->read_once = true;
    GN_TRY(gn_dataset_prepare(ctx, dataset, READERS));
    return gn_dataset_fingerprint(ctx, dataset, hex);
}

/* Of the run's keys those of the data are enough: its method may be a plug-in that is not here. */
static gerne_status present(gerne_ctx *ctx, gn_arena *arena, const char *run,
                            char hex[GN_SHA256_HEX])
{
    GN_LOCAL(gn_config) *config = NULL;
    gn_trained_options options = {0};
    GN_TRY(gn_config_new(ctx, &config));
    const gn_settings no_flags = {.arena = gn_config_arena(config)};
    GN_TRY(gn_trained_options_add(ctx, config, &options));
    GN_TRY(gn_trained_options_resolve(ctx, config, run, &no_flags, &options));
    return digest_now(ctx, arena, &options, hex);
}

static gerne_status check(gerne_ctx *ctx, gn_arena *arena, const char *run, const char *flag)
{
    char then[GN_SHA256_HEX], now[GN_SHA256_HEX] = "";
    GN_TRY(recorded(ctx, arena, run, then));
    if (!then[0])
        return GERNE_OK;
    GN_TRY(present(ctx, arena, run, now));
    if (strcmp(then, now) == 0)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "the data of '%s' has changed: its fingerprint is %s now, %s then",
            run, now, then);
    gn_hint(ctx, "restore the data; %s uses it as it is", flag);
    return GERNE_EUSAGE;
}

gerne_status gn_same_data_check(gerne_ctx *ctx, const char *run, const char *flag)
{
    GN_LOCAL(gn_arena) *arena = NULL;
    GN_TRY(gn_arena_new(ctx, &arena));
    return check(ctx, arena, run, flag);
}
