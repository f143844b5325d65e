/* Every trial is claimed once, whoever dies; damaged and foreign ledgers are refused in words. */
#include "testing.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "study/ledger.h"

typedef struct fixture {
    gerne_ctx *ctx;
    char *dir;
} fixture;

static const char description[] = "train.lr: 0.1\nmethod.beta: 1\n";

static int setup(void **state)
{
    static fixture f;
    f = (fixture){.ctx = test_ctx(), .dir = test_directory()};
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    test_remove_directory(f->dir);
    gerne_ctx_close(f->ctx);
    return 0;
}

static gn_ledger *open_ledger(fixture *f)
{
    gn_ledger *l;
    assert_ok(f->ctx, gn_ledger_open(f->ctx, f->dir, "tune", description, &l));
    return l;
}

enum { TRIALS = 3 };

static void plan(fixture *f, gn_ledger *l)
{
    gn_trial trials[TRIALS];
    for (int i = 0; i < TRIALS; i++) {
        trials[i] = (gn_trial){
            .settings = "{\"method.beta\":\"1\"}", .config = "{}\n", .tag = "", .seed = i};
        snprintf(trials[i].id, sizeof trials[i].id, "%016d", i);
    }
    assert_ok(f->ctx, gn_ledger_plan(l, trials, TRIALS));
}

static gn_claim claim(fixture *f, gn_ledger *l, size_t wanted_others)
{
    gn_claim c;
    size_t others;
    assert_ok(f->ctx, gn_ledger_claim(l, &c, &others));
    if (!c.id)
        assert_int_equal(others, wanted_others);
    return c;
}

static void two_handles_share_the_work(void **state)
{
    fixture *f = *state;
    gn_ledger *a = open_ledger(f), *b = open_ledger(f);
    plan(f, a);
    plan(f, b); /* the same trials: not planned twice */
    gn_claim first = claim(f, a, 0), second = claim(f, b, 0), third = claim(f, b, 0);
    assert_string_equal(first.id, "0000000000000000");
    assert_string_equal(second.id, "0000000000000001");
    assert_string_equal(third.id, "0000000000000002");
    assert_string_equal(first.config, "{}\n");
    assert_null(claim(f, a, 3).id);

    json_t *results = json_pack("{s:f}", "x", 0.25);
    assert_ok(f->ctx, gn_ledger_done(a, &first, results));
    assert_ok(f->ctx, gn_ledger_failed(b, &second, "diverged"));
    json_decref(results);
    assert_ok(f->ctx, gn_ledger_release(b, &third));
    gn_claim again = claim(f, a, 0);
    assert_string_equal(again.id, "0000000000000002");
    assert_null(claim(f, b, 1).id);

    gn_trial_list list;
    assert_ok(f->ctx, gn_ledger_list(b, &list));
    assert_int_equal(list.count, TRIALS);
    assert_int_equal(list.items[0].state, GN_TRIAL_DONE);
    assert_true(json_real_value(json_object_get(list.items[0].results, "x")) == 0.25);
    assert_int_equal(list.items[1].state, GN_TRIAL_FAILED);
    assert_string_equal(list.items[1].reason, "diverged");
    assert_int_equal(list.items[2].state, GN_TRIAL_RUNNING);
    assert_int_equal(list.items[2].seed, 2);
    gn_trial_list_free(&list);
    assert_ok(f->ctx, gn_ledger_release(a, &again));
    gn_ledger_close(a);
    gn_ledger_close(b);
}

static void retry_makes_failures_wait(void **state)
{
    fixture *f = *state;
    gn_ledger *l = open_ledger(f);
    plan(f, l);
    gn_claim c = claim(f, l, 0);
    assert_ok(f->ctx, gn_ledger_failed(l, &c, "diverged"));
    assert_ok(f->ctx, gn_ledger_retry(l));
    c = claim(f, l, 0);
    assert_string_equal(c.id, "0000000000000000");
    assert_ok(f->ctx, gn_ledger_release(l, &c));
    gn_ledger_close(l);
}

/* A child claims and is killed: its trial is free at once, and only then. */
static void a_dead_owner_loses_its_trial(void **state)
{
    fixture *f = *state;
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        gerne_ctx *ctx = NULL;
        gn_ledger *l = NULL;
        gn_claim c;
        size_t others;
        gn_trial planned = {.id = "0000000000000000", .settings = "{}", .config = "{}\n"};
        bool good = gerne_ctx_new(&ctx) == GERNE_OK &&
                    gn_ledger_open(ctx, f->dir, "tune", description, &l) == GERNE_OK &&
                    gn_ledger_plan(l, &planned, 1) == GERNE_OK &&
                    gn_ledger_claim(l, &c, &others) == GERNE_OK && c.id;
        if (write(ready[1], good ? "y" : "n", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    gn_ledger *l = open_ledger(f);
    gn_trial planned = {.id = "0000000000000000", .settings = "{}", .config = "{}\n"};
    assert_ok(f->ctx, gn_ledger_plan(l, &planned, 1));
    assert_null(claim(f, l, 1).id);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    gn_claim c = claim(f, l, 0);
    assert_non_null(c.id);
    assert_ok(f->ctx, gn_ledger_failed(l, &c, "enough"));
    assert_null(claim(f, l, 0).id);
    gn_ledger_close(l);
    close(ready[0]);
    close(ready[1]);
}

static void another_study_is_refused(void **state)
{
    fixture *f = *state;
    gn_ledger *l = open_ledger(f);
    gn_ledger_close(l);
    assert_fails(f->ctx, GERNE_EUSAGE, "'train.lr: 0.2' now, train.lr: 0.1 then",
                 gn_ledger_open(f->ctx, f->dir, "tune", "train.lr: 0.2\nmethod.beta: 1\n", &l));
    assert_null(l);
    assert_fails(f->ctx, GERNE_EUSAGE, "reproduce",
                 gn_ledger_open(f->ctx, f->dir, "reproduce", description, &l));
    l = open_ledger(f);
    gn_ledger_close(l);
}

static void put_file(fixture *f, const char *bytes, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/ledger.sqlite", f->dir);
    assert_ok(f->ctx, gn_file_write(f->ctx, path, bytes, size));
}

static void damaged_ledgers_are_refused(void **state)
{
    fixture *f = *state;
    gn_ledger *l = open_ledger(f);
    plan(f, l);
    gn_ledger_close(l);
    char path[512];
    gn_text whole = {0};
    snprintf(path, sizeof path, "%s/ledger.sqlite", f->dir);
    assert_ok(f->ctx, gn_file_read(f->ctx, path, 1 << 24, &whole));
    for (size_t size = whole.size / 4; size < whole.size; size += whole.size / 4) {
        put_file(f, whole.bytes, size);
        assert_fails(f->ctx, GERNE_EDATA, "damaged",
                     gn_ledger_open(f->ctx, f->dir, "tune", description, &l));
        assert_non_null(strstr(gerne_hint(f->ctx), "move it elsewhere"));
    }
    memset(whole.bytes, 'x', whole.size);
    put_file(f, whole.bytes, whole.size);
    assert_fails(f->ctx, GERNE_EDATA, "damaged",
                 gn_ledger_open(f->ctx, f->dir, "tune", description, &l));
    put_file(f, "", 0); /* nothing is lost that was there: a new one */
    l = open_ledger(f);
    gn_ledger_close(l);
    gn_text_free(&whole);
}

static void places_that_cannot_be_written(void **state)
{
    fixture *f = *state;
    char path[512];
    gn_ledger *l;
    snprintf(path, sizeof path, "%s/file", f->dir);
    assert_ok(f->ctx, gn_file_write(f->ctx, path, "x", 1));
    assert_fails(f->ctx, GERNE_EIO, "cannot make the directory",
                 gn_ledger_open(f->ctx, path, "tune", description, &l));
    snprintf(path, sizeof path, "%s/ledger.sqlite", f->dir);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_fails(f->ctx, GERNE_EIO, "it is a directory, not a regular file",
                 gn_ledger_open(f->ctx, f->dir, "tune", description, &l));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(two_handles_share_the_work),   CASE(retry_makes_failures_wait),
        CASE(a_dead_owner_loses_its_trial), CASE(another_study_is_refused),
        CASE(damaged_ledgers_are_refused),  CASE(places_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
