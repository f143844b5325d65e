#include "train/same_data.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "data/dataset.h"
#include "train/checkpoint.h"
#include "train/train.h"

enum { READERS = 2, RESULTS_LIMIT = 1 << 28 };

static void take_fingerprint(const json_t *json, char hex[GN_SHA256_HEX])
{
    const char *text = json_string_value(json_object_get(json, "data_fingerprint"));
    if (text && strlen(text) == GN_SHA256_HEX - 1)
        memcpy(hex, text, GN_SHA256_HEX);
}

static gerne_status recorded_in_results(gerne_ctx *ctx, const char *path, char hex[GN_SHA256_HEX])
{
    gn_text text = {0};
    json_t *json = NULL;
    gerne_status status = gn_file_read(ctx, path, RESULTS_LIMIT, &text);
    if (status == GERNE_OK)
        status = gn_json_parse(ctx, text.bytes, text.size, path, &json);
    take_fingerprint(json, hex);
    json_decref(json);
    gn_text_free(&text);
    return status;
}

static gerne_status recorded_in_checkpoint(gerne_ctx *ctx, const char *path,
                                           char hex[GN_SHA256_HEX])
{
    gn_checkpoint *checkpoint;
    GN_TRY(gn_checkpoint_open(ctx, path, &checkpoint));
    take_fingerprint(gn_checkpoint_head(checkpoint), hex);
    gn_checkpoint_close(checkpoint);
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
static gerne_status present(gerne_ctx *ctx, gn_arena *arena, const gn_run_config *config,
                            char hex[GN_SHA256_HEX])
{
    gn_data_options data = config->data;
    gn_dataset *dataset;
    data.vocab = config->model.vocab;
    GN_TRY(gn_cache_folder(ctx, arena, config->top.cache, &data.cache));
    GN_TRY(gn_dataset_open(ctx, &data, &dataset));
    dataset->read_once = true;
    gerne_status status = gn_dataset_prepare(ctx, dataset, READERS);
    if (status == GERNE_OK)
        status = gn_dataset_fingerprint(ctx, dataset, hex);
    gn_dataset_close(dataset);
    return status;
}

static gerne_status check(gerne_ctx *ctx, gn_arena *arena, const char *run, const char *flag)
{
    char then[GN_SHA256_HEX], now[GN_SHA256_HEX] = "";
    gn_run_config *config;
    GN_TRY(recorded(ctx, arena, run, then));
    if (!then[0])
        return GERNE_OK;
    GN_TRY(gn_run_config_of(ctx, run, &config));
    gerne_status status = present(ctx, arena, config, now);
    gn_run_config_close(config);
    GN_TRY(status);
    if (strcmp(then, now) == 0)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "the data of '%s' has changed: its fingerprint is %s now, %s then",
            run, now, then);
    gn_hint(ctx, "restore the data; %s uses it as it is", flag);
    return GERNE_EUSAGE;
}

gerne_status gn_same_data_check(gerne_ctx *ctx, const char *run, const char *flag)
{
    gn_arena *arena;
    GN_TRY(gn_arena_new(ctx, &arena));
    gerne_status status = check(ctx, arena, run, flag);
    gn_arena_close(arena);
    return status;
}
