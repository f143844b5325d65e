#include "train/divergence.h"

#include "base/file.h"

enum { FILE_MAX = 1 << 20 };

gerne_status gn_divergence_read(gerne_ctx *ctx, const char *directory, json_t **out)
{
    GN_LOCAL(gn_arena) *arena = NULL;
    const char *path;
    *out = NULL;
    GN_TRY(gn_arena_new(ctx, &arena));
    GN_TRY(gn_path_join(ctx, arena, directory, GN_DIVERGED_FILE, &path));
    return gn_path_exists(path) ? gn_json_read(ctx, path, FILE_MAX, out) : GERNE_OK;
}

gerne_status gn_divergence_write(gerne_ctx *ctx, const char *directory, const json_t *divergence)
{
    GN_LOCAL(gn_arena) *arena = NULL;
    const char *path;
    GN_TRY(gn_arena_new(ctx, &arena));
    GN_TRY(gn_path_join(ctx, arena, directory, GN_DIVERGED_FILE, &path));
    return gn_json_write(ctx, path, divergence);
}

const char *gn_divergence_words(const json_t *divergence)
{
    const char *message = gn_json_text(divergence, "message");
    return message ? message : "diverged";
}

gerne_status gn_divergence_fail(gerne_ctx *ctx, const char *directory, const json_t *divergence)
{
    const char *remedy = gn_json_text(divergence, "hint");
    gn_fail(ctx, GERNE_EDIVERGED, "the run in '%s' %s", directory, gn_divergence_words(divergence));
    gn_hint(ctx, "resuming would repeat it; start a new run: %s",
            remedy ? remedy : "lower train.lr, or set train.clip");
    return GERNE_EDIVERGED;
}
