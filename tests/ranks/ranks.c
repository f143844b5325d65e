/* The interface of ranks, with threads for processes: shares, sums, and ending together. */
#include "ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/launch.h"
#include "ranks_fixture.h"
#include "testing.h"

enum { SIZE = 3 };

static void together(test_rank_fn *play)
{
    test_on_ranks(SIZE, play, NULL);
}

/* ---- what they play ---- */

/* In the order of the ranks: (1e8 + 1) - 1e8 is 0 in single precision, 1e8 - 1e8 + 1 is 1. */
static void play_sum(test_rank *m)
{
    const float of_rank[SIZE] = {1e8f, 1, -1e8f};
    enum { N = 10 };
    float values[N];
    for (int i = 0; i < N; i++)
        values[i] = i == 0 ? of_rank[m->rank] : (float)(i * (m->rank + 1));
    assert_ok(m->ctx, gn_ranks_sum(m->ctx, values, N));
    assert_float_equal(values[0], 0, 0);
    for (int i = 1; i < N; i++)
        assert_float_equal(values[i], (float)(6 * i), 0);
    assert_int_equal(gn_ranks_exchanged(gn_ranks_of(m->ctx)).bytes > 0, 1);
}

/* Values of rank r: i + r, or nonsense before they are computed. */
static void compute(float *values, size_t first, size_t end, int rank)
{
    for (size_t i = first; i < end; i++)
        values[i] = (float)(i % 1000) / 7 + (float)rank;
}

/* Several buckets, announced in pieces that are not theirs, while ranks exchange other things. */
static void play_sum_of_growing_values(test_rank *m)
{
    enum { N = 5000000, PIECE = 700001 };
    float *values = malloc(N * sizeof *values), *expected = malloc(N * sizeof *expected);
    assert_non_null(values);
    assert_non_null(expected);
    for (size_t i = 0; i < N; i++)
        values[i] = -1e30f;
    uint64_t before = gn_ranks_exchanged(gn_ranks_of(m->ctx)).bytes;
    assert_ok(m->ctx, gn_ranks_sum_start(m->ctx, values, N));
    for (size_t end = N, first; end > 0; end = first) {
        int all[SIZE];
        first = end > PIECE ? end - PIECE : 0;
        compute(values, first, end, m->rank);
        gn_ranks_sum_ready(m->ctx, values + first);
        assert_ok(m->ctx, gn_ranks_gather(m->ctx, &m->rank, sizeof m->rank, all));
        assert_int_equal(all[SIZE - 1], SIZE - 1);
    }
    assert_ok(m->ctx, gn_ranks_sum_wait(m->ctx));
    uint64_t sent = gn_ranks_exchanged(gn_ranks_of(m->ctx)).bytes - before;
    compute(expected, 0, N, m->rank);
    assert_ok(m->ctx, gn_ranks_sum(m->ctx, expected, N));
    assert_memory_equal(values, expected, N * sizeof *values);
    float own = 0;
    for (int r = 0; r < SIZE; r++) {
        compute(values, 7, 8, r);
        own = r == 0 ? values[7] : own + values[7];
    }
    assert_float_equal(expected[7], own, 0);
    /* Every rank sends what it does not sum, and then what it has summed to each other rank. */
    assert_true(sent > 4 * sizeof(float) * (N / SIZE - 10));
    assert_ok(m->ctx, gn_ranks_sum_wait(m->ctx)); /* none is under way */
    free(values);
    free(expected);
}

/* What was not announced is not touched any more, and no sum can follow. */
static void play_abandoned_sum(test_rank *m)
{
    enum { N = 1500000 }; /* more than a bucket */
    float *values = calloc(N, sizeof *values), one = 1;
    assert_non_null(values);
    assert_ok(m->ctx, gn_ranks_sum_start(m->ctx, values, N));
    gn_ranks_sum_ready(m->ctx, values + N - 1);
    gn_ranks_sum_abandon(m->ctx);
    free(values);
    assert_int_equal(gn_ranks_sum(m->ctx, &one, 1), GERNE_EIO);
    assert_non_null(strstr(gerne_message(m->ctx), "lost the other ranks"));
}

static void play_exchange(test_rank *m)
{
    int own = 10 + m->rank, all[SIZE], first = m->rank == 0 ? 7 : 0;
    bool any;
    assert_ok(m->ctx, gn_ranks_gather(m->ctx, &own, sizeof own, all));
    for (int r = 0; r < SIZE; r++)
        assert_int_equal(all[r], 10 + r);
    assert_ok(m->ctx, gn_ranks_broadcast(m->ctx, &first, sizeof first));
    assert_int_equal(first, 7);
    assert_ok(m->ctx, gn_ranks_any(m->ctx, m->rank == 2, &any));
    assert_true(any);
    assert_ok(m->ctx, gn_ranks_any(m->ctx, false, &any));
    assert_false(any);
}

static void play_same(test_rank *m)
{
    assert_ok(m->ctx, gn_ranks_same(m->ctx, "the version of gerne", "1.0"));
    assert_int_equal(gn_ranks_same(m->ctx, "the version of gerne", m->rank == 1 ? "1.1" : "1.0"),
                     GERNE_EUSAGE);
    assert_non_null(strstr(gerne_message(m->ctx), "the version of gerne: 1.0 on rank 0"));
    assert_non_null(strstr(gerne_message(m->ctx), "1.1 on rank 1"));
}

static void play_one_fails(test_rank *m)
{
    bool alone;
    gerne_status status = GERNE_OK;
    if (m->rank == 1)
        status = gn_fail(m->ctx, GERNE_EDATA, "a bad file");
    assert_int_equal(gn_ranks_meet(m->ctx, status, &alone), GERNE_EDATA);
    assert_false(alone);
    assert_non_null(strstr(gerne_message(m->ctx), "rank 1 on "));
    assert_non_null(strstr(gerne_message(m->ctx), ": a bad file"));
}

static void play_all_fail(test_rank *m)
{
    bool alone;
    gn_fail(m->ctx, GERNE_EUSAGE, "a wrong key");
    gn_hint(m->ctx, "another key");
    assert_int_equal(gn_ranks_meet(m->ctx, GERNE_EUSAGE, &alone), GERNE_EUSAGE);
    assert_string_equal(gerne_message(m->ctx), "a wrong key");
    assert_string_equal(gerne_hint(m->ctx), "another key");
}

static void play_left_alone(test_rank *m)
{
    bool alone;
    m->absent = true;
    gn_fail(m->ctx, GERNE_EIO, "a full disk");
    assert_int_equal(gn_ranks_meet(m->ctx, GERNE_EIO, &alone), GERNE_EIO);
    assert_true(alone);
    char words[16];
    snprintf(words, sizeof words, "rank %d on ", m->rank);
    assert_ptr_equal(strstr(gerne_message(m->ctx), words), gerne_message(m->ctx));
}

static void test_exchange(void **state)
{
    (void)state;
    together(play_sum);
    together(play_sum_of_growing_values);
    together(play_abandoned_sum);
    together(play_exchange);
    together(play_same);
}

static void test_ends(void **state)
{
    (void)state;
    together(play_one_fails);
    together(play_all_fail);
    together(play_left_alone);
}

static void test_alone(void **state)
{
    (void)state;
    gerne_ctx *ctx;
    float value = 2;
    bool any, alone;
    int own = 3, all = 0;
    assert_int_equal(gerne_ctx_new(&ctx), GERNE_OK);
    assert_null(gn_ranks_of(ctx));
    assert_int_equal(gn_ranks_size(NULL), 1);
    assert_true(gn_ranks_first(ctx));
    assert_ok(ctx, gn_ranks_sum(ctx, &value, 1));
    assert_float_equal(value, 2, 0);
    assert_ok(ctx, gn_ranks_gather(ctx, &own, sizeof own, &all));
    assert_int_equal(all, 3);
    assert_ok(ctx, gn_ranks_any(ctx, true, &any));
    assert_true(any);
    assert_int_equal(gn_ranks_meet(ctx, GERNE_EDATA, &alone), GERNE_EDATA);
    assert_false(alone);
    gerne_ctx_close(ctx);
}

/* Shares follow each other, cover all, and differ by a unit at most. */
static void play_share(test_rank *m)
{
    const gn_ranks *ranks = gn_ranks_of(m->ctx);
    for (size_t count = 0; count < 20; count++)
        for (size_t unit = 1; unit < 4; unit++) {
            size_t at = 0, least = count, most = 0;
            for (int r = 0; r < SIZE; r++) {
                gn_share s = gn_ranks_share(ranks, r, count, unit);
                assert_int_equal(s.first, at);
                size_t n = s.end - s.first;
                assert_true(s.end == count || n % unit == 0);
                least = n < least ? n : least;
                most = n > most ? n : most;
                at = s.end;
            }
            assert_int_equal(at, count);
            assert_true(most - least <= 2 * unit - 1);
            assert_true(unit > 1 || most - least <= 1);
        }
}

static void test_share(void **state)
{
    (void)state;
    together(play_share);
}

static void test_launch(void **state)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE",
                                        "PMI_RANK", "SLURM_STEP_NUM_TASKS"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    assert_int_equal(gn_launched().size, 1);
    setenv("OMPI_COMM_WORLD_SIZE", "nonsense", 1);
    assert_int_equal(gn_launched().size, 1);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    assert_int_equal(gn_launched().size, 4);
    assert_int_equal(gn_launched().rank, 3);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    setenv("SLURM_STEP_NUM_TASKS", "2", 1);
    assert_string_equal(gn_launched().with, "srun");
    unsetenv("SLURM_STEP_NUM_TASKS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share), cmocka_unit_test(test_exchange), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_alone), cmocka_unit_test(test_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
