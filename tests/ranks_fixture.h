/* ranks_fixture.h - ranks that are threads of a test. */
#ifndef GN_RANKS_FIXTURE_H
#define GN_RANKS_FIXTURE_H

#include <stdbool.h>

#include "gerne.h"

typedef struct test_rank {
    gerne_ctx *ctx; /* with the ranks attached */
    int rank;
    void *user;
    bool absent; /* for the play to set: others do not come to meet it */
} test_rank;
typedef void test_rank_fn(test_rank *m);

/* Calls play on size threads at once, and waits for them. */
void test_on_ranks(int size, test_rank_fn *play, void *user);

#endif
