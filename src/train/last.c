#include "train/last.h"

#include <string.h>

#include "train/trainer.h"

struct gn_last {
    gn_checkpoint *checkpoint;
    int64_t batch;
    bool averaged;
};

static gerne_status read_head(gerne_ctx *ctx, const char *path, const gn_device *device,
                              gn_last *last)
{
    const json_t *head = gn_checkpoint_head(last->checkpoint);
    const char *version = json_string_value(json_object_get(head, "gerne"));
    const char *cpu = json_string_value(json_object_get(head, "cpu"));
    json_int_t threads = json_integer_value(json_object_get(head, "threads"));
    gn_position position = {0};
    bool found;
    last->batch = json_integer_value(json_object_get(head, "batch"));
    if (!version || strcmp(version, gerne_version()) != 0)
        return gn_fail(ctx, GERNE_EUSAGE, "'%s' was written by version %s, this is %s", path,
                       version ? version : "unknown", gerne_version());
    if (threads != gn_device_threads(device)) {
        gn_fail(ctx, GERNE_EUSAGE, "'%s' was written with %lld threads, not %d", path,
                (long long)threads, gn_device_threads(device));
        gn_hint(ctx, "--threads %lld", (long long)threads);
        return GERNE_EUSAGE;
    }
    if (!cpu || strcmp(cpu, gn_device_cpu()) != 0) {
        gn_fail(ctx, GERNE_EUSAGE,
                "'%s' was written on a CPU with another instruction set (%s, this one has %s)",
                path, cpu ? cpu : "unknown", gn_device_cpu());
        gn_hint(ctx, "the selected weights (--checkpoint best) can be read on any CPU");
        return GERNE_EUSAGE;
    }
    GN_TRY(gn_checkpoint_take(last->checkpoint, "position", &position, sizeof position, &found));
    if (!found || last->batch < 1)
        return gn_fail(ctx, GERNE_EDATA, "'%s' has no weights of a run", path);
    last->averaged = position.averaged > 0;
    return GERNE_OK;
}

gerne_status gn_last_open(gerne_ctx *ctx, const char *path, const gn_device *device, gn_last **out)
{
    GN_LOCAL(gn_last) *last = NULL;
    *out = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *last, "a checkpoint", &last));
    GN_TRY(gn_checkpoint_open(ctx, path, &last->checkpoint));
    GN_TRY(read_head(ctx, path, device, last));
    return gn_give(&last, out);
}

void gn_last_close(gn_last *last)
{
    if (!last)
        return;
    gn_checkpoint_close(last->checkpoint);
    gn_free(last);
}

int64_t gn_last_batch(const gn_last *last)
{
    return last->batch;
}

gerne_status gn_last_load(gerne_ctx *ctx, const gn_last *last, gn_network *network)
{
    const gn_store *store = gn_network_store(network);
    gn_block block = gn_store_block(store);
    size_t size, bytes = block.size * sizeof *block.values;
    float *statistics = gn_store_statistics(store, &size);
    bool found;
    GN_TRY(gn_checkpoint_take(last->checkpoint, "network 0 values", block.values, bytes, &found));
    if (!found)
        return gn_fail(ctx, GERNE_EDATA, "the checkpoint has no weights");
    if (last->averaged)
        GN_TRY(gn_checkpoint_take(last->checkpoint, "average", block.values, bytes, &found));
    return size ? gn_checkpoint_take(last->checkpoint, "network 0 statistics", statistics,
                                     size * sizeof *statistics, &found)
                : GERNE_OK;
}
