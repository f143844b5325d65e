#include "ranks/ranks.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "ranks/sums.h"

struct gn_ranks {
    const gn_ranks_calls *calls;
    void *self;
    int rank, size;
    char (*hosts)[GN_HOST_MAX];
    char *flags; /* [size] */
    gn_sums *sums;
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
    GN_TRY(gn_alloc(ctx, (size_t)ranks->size, 1, "ranks", &ranks->flags));
    GN_TRY(gn_sums_new(ctx, ranks->calls, ranks->self, ranks->rank, ranks->size, &ranks->sums));
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
    gn_sums_close(ranks->sums);
    ranks->calls->close(ranks->self);
    gn_free(ranks->hosts);
    gn_free(ranks->flags);
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

gn_share gn_share_of(int rank, int size, size_t count, size_t unit)
{
    size_t ranks = (size_t)size, units = (count + unit - 1) / unit;
    size_t whole = units / ranks, longer = units % ranks, r = (size_t)rank;
    size_t first = (whole * r + (r < longer ? r : longer)) * unit;
    size_t end = first + (whole + (r < longer)) * unit;
    return (gn_share){first < count ? first : count, end < count ? end : count};
}

gn_share gn_ranks_share(const gn_ranks *ranks, int rank, size_t count, size_t unit)
{
    return gn_share_of(rank, gn_ranks_size(ranks), count, unit);
}

/* ---- exchange ---- */

static gerne_status check(gerne_ctx *ctx, const gn_ranks *ranks, bool well)
{
    return well ? GERNE_OK
                : gn_fail(ctx, GERNE_EIO, "rank %d on %s lost the other ranks", ranks->rank,
                          ranks->hosts[ranks->rank]);
}

static gerne_status done(gerne_ctx *ctx, gn_ranks *ranks, bool well, double since, size_t bytes)
{
    ranks->traffic.seconds += gn_seconds() - since;
    ranks->traffic.bytes += bytes;
    return check(ctx, ranks, well);
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

static gerne_status start(gerne_ctx *ctx, float *values, size_t count, bool grow)
{
    const gn_ranks *ranks = gn_ranks_of(ctx);
    if (!ranks)
        return GERNE_OK;
    GN_TRY(gn_ranks_sum_wait(ctx));
    GN_TRY(gn_sums_reserve(ctx, ranks->sums, count));
    gn_sums_start(ranks->sums, values, count, grow);
    return GERNE_OK;
}

gerne_status gn_ranks_sum_start(gerne_ctx *ctx, float *values, size_t count)
{
    return start(ctx, values, count, true);
}

void gn_ranks_sum_ready(const gerne_ctx *ctx, const float *first)
{
    const gn_ranks *ranks = gn_ranks_of(ctx);
    if (ranks)
        gn_sums_ready(ranks->sums, first);
}

gerne_status gn_ranks_sum_wait(gerne_ctx *ctx)
{
    const gn_ranks *ranks = gn_ranks_of(ctx);
    return ranks ? check(ctx, ranks, gn_sums_wait(ranks->sums)) : GERNE_OK;
}

void gn_ranks_sum_abandon(const gerne_ctx *ctx)
{
    const gn_ranks *ranks = gn_ranks_of(ctx);
    if (ranks)
        gn_sums_abandon(ranks->sums);
}

gerne_status gn_ranks_sum(gerne_ctx *ctx, float *values, size_t count)
{
    GN_TRY(start(ctx, values, count, false));
    return gn_ranks_sum_wait(ctx);
}

/* ---- agreeing ---- */

typedef struct verdict {
    int status;
    gn_saved_failure words;
} verdict;

static bool alike(const verdict *all, int size)
{
    for (int r = 1; r < size; r++)
        if (all[r].status != all[0].status ||
            strcmp(all[r].words.message, all[0].words.message) != 0)
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
    if (!ranks)
        return (gn_ranks_traffic){0};
    gn_ranks_traffic all = gn_sums_exchanged(ranks->sums);
    all.bytes += ranks->traffic.bytes;
    all.seconds += ranks->traffic.seconds;
    return all;
}
