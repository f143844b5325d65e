#include "ranks/ranks.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

struct gn_ranks {
    const gn_ranks_calls *calls;
    void *self;
    int rank, size;
    char (*hosts)[GN_HOST_MAX];
    int *shares, *offsets; /* [size], of the block that is summed */
    char *flags;           /* [size] */
    float *received;       /* [size][share] */
    size_t capacity;
    gn_ranks_traffic traffic;
};

/* ---- opening ---- */

static gerne_status exchange_hosts(gerne_ctx *ctx, gn_ranks *ranks)
{
    char own[GN_HOST_MAX] = "";
    if (gethostname(own, sizeof own - 1) != 0)
        snprintf(own, sizeof own, "unknown");
    GN_TRY(gn_alloc(ctx, (size_t)ranks->size, sizeof *ranks->hosts, "ranks", &ranks->hosts));
    if (!ranks->calls->gather(ranks->self, own, sizeof own, ranks->hosts))
        return gn_fail(ctx, GERNE_EIO, "the ranks cannot reach each other");
    return GERNE_OK;
}

static gerne_status fill(gerne_ctx *ctx, gn_ranks *ranks)
{
    GN_TRY(gn_alloc(ctx, (size_t)ranks->size, sizeof *ranks->shares, "ranks", &ranks->shares));
    GN_TRY(gn_alloc(ctx, (size_t)ranks->size, sizeof *ranks->offsets, "ranks", &ranks->offsets));
    GN_TRY(gn_alloc(ctx, (size_t)ranks->size, 1, "ranks", &ranks->flags));
    return exchange_hosts(ctx, ranks);
}

gerne_status gn_ranks_new(gerne_ctx *ctx, const gn_ranks_calls *calls, void *self, int rank,
                          int size, gn_ranks **out)
{
    gn_ranks *ranks;
    *out = NULL;
    gerne_status status = gn_alloc(ctx, 1, sizeof *ranks, "ranks", &ranks);
    if (status != GERNE_OK) {
        calls->close(self);
        return status;
    }
    *ranks = (gn_ranks){.calls = calls, .self = self, .rank = rank, .size = size};
    status = fill(ctx, ranks);
    if (status == GERNE_OK)
        *out = ranks;
    else
        gn_ranks_close(ranks);
    return status;
}

void gn_ranks_close(gn_ranks *ranks)
{
    if (!ranks)
        return;
    ranks->calls->close(ranks->self);
    gn_free(ranks->hosts);
    gn_free(ranks->shares);
    gn_free(ranks->offsets);
    gn_free(ranks->flags);
    gn_free(ranks->received);
    gn_free(ranks);
}

/* ---- who ---- */

gn_ranks *gn_ranks_of(const gerne_ctx *ctx)
{
    return gn_peers(ctx);
}

void gn_ranks_attach(gerne_ctx *ctx, gn_ranks *ranks)
{
    gn_set_peers(ctx, ranks);
}

int gn_ranks_rank(const gn_ranks *ranks)
{
    return ranks ? ranks->rank : 0;
}

int gn_ranks_size(const gn_ranks *ranks)
{
    return ranks ? ranks->size : 1;
}

bool gn_ranks_first(const gerne_ctx *ctx)
{
    return gn_ranks_rank(gn_ranks_of(ctx)) == 0;
}

const char *gn_ranks_host(const gn_ranks *ranks, int rank)
{
    return ranks ? ranks->hosts[rank] : "this host";
}

gn_share gn_ranks_share(const gn_ranks *ranks, int rank, size_t count, size_t unit)
{
    size_t size = (size_t)gn_ranks_size(ranks), units = (count + unit - 1) / unit;
    size_t whole = units / size, longer = units % size, r = (size_t)rank;
    size_t first = (whole * r + (r < longer ? r : longer)) * unit;
    size_t end = first + (whole + (r < longer)) * unit;
    return (gn_share){first < count ? first : count, end < count ? end : count};
}

/* ---- exchange ---- */

static gerne_status done(gerne_ctx *ctx, gn_ranks *ranks, bool well, double since, size_t bytes)
{
    ranks->traffic.seconds += gn_seconds() - since;
    ranks->traffic.bytes += bytes;
    return well ? GERNE_OK
                : gn_fail(ctx, GERNE_EIO, "rank %d on %s lost the other ranks", ranks->rank,
                          ranks->hosts[ranks->rank]);
}

gerne_status gn_ranks_gather(gerne_ctx *ctx, const void *own, size_t size, void *all)
{
    gn_ranks *ranks = gn_ranks_of(ctx);
    if (!ranks) {
        memcpy(all, own, size);
        return GERNE_OK;
    }
    double since = gn_seconds();
    bool well = ranks->calls->gather(ranks->self, own, size, all);
    return done(ctx, ranks, well, since, size * (size_t)(ranks->size - 1));
}

gerne_status gn_ranks_broadcast(gerne_ctx *ctx, void *bytes, size_t size)
{
    gn_ranks *ranks = gn_ranks_of(ctx);
    if (!ranks || size == 0)
        return GERNE_OK;
    double since = gn_seconds();
    bool well = ranks->calls->broadcast(ranks->self, bytes, size);
    return done(ctx, ranks, well, since, ranks->rank == 0 ? size : 0);
}

/* ---- sums ---- */

enum { BLOCK = 1 << 24 }; /* floats at a time: offsets are ints, and the memory is bounded */

static void add_in_order(const gn_ranks *ranks, size_t share, float *sum)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < share; i++) {
        float value = ranks->received[i];
        for (int r = 1; r < ranks->size; r++)
            value += ranks->received[(size_t)r * share + i];
        sum[i] = value;
    }
}

static gerne_status reserve(gerne_ctx *ctx, gn_ranks *ranks, size_t count)
{
    if (count <= ranks->capacity)
        return GERNE_OK;
    gn_free(ranks->received);
    ranks->received = NULL;
    ranks->capacity = 0;
    GN_TRY(
        gn_alloc_aligned(ctx, count, sizeof(float), "gradients of other ranks", &ranks->received));
    ranks->capacity = count;
    return GERNE_OK;
}

/* Every rank sums its share of the block, and the shares come together. */
static gerne_status sum_block(gerne_ctx *ctx, gn_ranks *ranks, float *values, size_t count)
{
    for (int r = 0; r < ranks->size; r++) {
        gn_share share = gn_ranks_share(ranks, r, count, 1);
        ranks->offsets[r] = (int)share.first;
        ranks->shares[r] = (int)(share.end - share.first);
    }
    size_t own = (size_t)ranks->shares[ranks->rank];
    GN_TRY(reserve(ctx, ranks, own * (size_t)ranks->size));
    double since = gn_seconds();
    bool well =
        ranks->calls->scatter(ranks->self, values, ranks->shares, ranks->offsets, ranks->received);
    if (well) {
        add_in_order(ranks, own, values + ranks->offsets[ranks->rank]);
        well = ranks->calls->collect(ranks->self, values, ranks->shares, ranks->offsets);
    }
    size_t sent = count - own + own * (size_t)(ranks->size - 1);
    return done(ctx, ranks, well, since, sent * sizeof(float));
}

gerne_status gn_ranks_sum(gerne_ctx *ctx, float *values, size_t count)
{
    gn_ranks *ranks = gn_ranks_of(ctx);
    for (size_t first = 0; ranks && first < count; first += BLOCK)
        GN_TRY(
            sum_block(ctx, ranks, values + first, count - first < BLOCK ? count - first : BLOCK));
    return GERNE_OK;
}

/* ---- agreeing ---- */

typedef struct verdict {
    int status;
    gn_saved_failure words;
} verdict;

static bool alike(const verdict *all, int size)
{
    for (int r = 1; r < size; r++)
        if (all[r].status != all[0].status || strcmp(all[r].words.message, all[0].words.message))
            return false;
    return true;
}

static gerne_status name_rank(gerne_ctx *ctx, gerne_status status, int rank)
{
    return gn_fail_in(ctx, status, "rank %d on %s", rank, gn_ranks_host(gn_ranks_of(ctx), rank));
}

static gerne_status first_failure(gerne_ctx *ctx, const verdict *all, int size)
{
    int failed = 0;
    while (failed < size && all[failed].status == GERNE_OK)
        failed++;
    if (failed == size)
        return GERNE_OK;
    gerne_status status = (gerne_status)all[failed].status;
    gn_restore_failure(ctx, &all[failed].words);
    return alike(all, size) ? status : name_rank(ctx, status, failed);
}

gerne_status gn_ranks_meet(gerne_ctx *ctx, gerne_status status, bool *alone)
{
    static const double patience = 3;
    const gn_ranks *ranks = gn_ranks_of(ctx);
    *alone = false;
    if (!ranks)
        return status;
    verdict own = {(int)status, gn_save_failure(ctx)}, *all;
    GN_TRY(gn_alloc(ctx, (size_t)ranks->size, sizeof *all, "the verdicts of ranks", &all));
    bool here =
        ranks->calls->meet(ranks->self, &own, sizeof own, all, status == GERNE_OK ? -1 : patience);
    if (here) {
        status = first_failure(ctx, all, ranks->size);
        gn_free(all);
        return status;
    }
    *alone = true; /* all stays: the exchange is under way still */
    return name_rank(ctx, status, ranks->rank);
}

gerne_status gn_ranks_agree(gerne_ctx *ctx, gerne_status status)
{
    const gn_ranks *ranks = gn_ranks_of(ctx);
    if (!ranks)
        return status;
    verdict own = {(int)status, gn_save_failure(ctx)}, *all;
    GN_TRY(gn_alloc(ctx, (size_t)ranks->size, sizeof *all, "the verdicts of ranks", &all));
    gerne_status agreed = gn_ranks_gather(ctx, &own, sizeof own, all);
    if (agreed == GERNE_OK)
        agreed = first_failure(ctx, all, ranks->size);
    gn_free(all);
    return agreed;
}

gerne_status gn_ranks_any(gerne_ctx *ctx, bool own, bool *any)
{
    gn_ranks *ranks = gn_ranks_of(ctx);
    char mine = own;
    *any = own;
    if (!ranks)
        return GERNE_OK;
    GN_TRY(gn_ranks_gather(ctx, &mine, 1, ranks->flags));
    for (int r = 0; r < ranks->size; r++)
        *any = *any || ranks->flags[r];
    return GERNE_OK;
}

enum { SHOWN = 160 }; /* of a text that differs */

gerne_status gn_ranks_same(gerne_ctx *ctx, const char *what, const char *text)
{
    gn_ranks *ranks = gn_ranks_of(ctx);
    char own[SHOWN + 1] = "", (*all)[SHOWN + 1];
    if (!ranks)
        return GERNE_OK;
    snprintf(own, sizeof own, "%s", text);
    GN_TRY(gn_alloc(ctx, (size_t)ranks->size, sizeof *all, "texts of ranks", &all));
    gerne_status status = gn_ranks_gather(ctx, own, sizeof own, all);
    for (int r = 1; r < ranks->size && status == GERNE_OK; r++)
        if (strcmp(all[r], all[0]) != 0)
            status = gn_fail(ctx, GERNE_EUSAGE,
                             "the ranks differ in %s: %s on rank 0 (%s), %s on rank %d (%s)", what,
                             all[0], ranks->hosts[0], all[r], r, ranks->hosts[r]);
    gn_free(all);
    return status;
}

void gn_ranks_abort(const gn_ranks *ranks, int code)
{
    if (ranks)
        ranks->calls->abort(ranks->self, code);
}

gn_ranks_traffic gn_ranks_exchanged(const gn_ranks *ranks)
{
    return ranks ? ranks->traffic : (gn_ranks_traffic){0};
}
