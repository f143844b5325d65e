#include <sched.h>
#include <string.h>

#include "base/memory.h"
#include "ranks/ranks.h"

typedef struct place {
    char host[GN_HOST_MAX];
    cpu_set_t cpus;
} place;

gerne_status gn_ranks_threads(gerne_ctx *ctx, int *threads)
{
    const gn_ranks *ranks = gn_ranks_of(ctx);
    *threads = 0;
    if (!ranks)
        return GERNE_OK;
    place own = {0}, *all;
    strncpy(own.host, gn_ranks_host(ranks, gn_ranks_rank(ranks)), sizeof own.host - 1);
    if (sched_getaffinity(0, sizeof own.cpus, &own.cpus) != 0)
        CPU_SET(0, &own.cpus);
    GN_TRY(gn_alloc(ctx, (size_t)gn_ranks_size(ranks), sizeof *all, "ranks", &all));
    gerne_status status = gn_ranks_gather(ctx, &own, sizeof own, all);
    int alike = 0;
    for (int r = 0; r < gn_ranks_size(ranks) && status == GERNE_OK; r++)
        alike += memcmp(&all[r], &own, sizeof own) == 0;
    if (alike > 0)
        *threads = CPU_COUNT(&own.cpus) / alike;
    *threads = *threads > 1 ? *threads : 1;
    gn_free(all);
    return status;
}
