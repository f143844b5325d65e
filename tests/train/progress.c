/* What a run reports to the progress hook: one count over all its stages. */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "train/train.h"

typedef struct seen {
    uint64_t calls, done, total;
    bool steady; /* every report is one step further in the same total */
    bool stages[2], best;
} seen;

static int note(void *user, const gerne_progress *p)
{
    seen *s = user;
    if (strcmp(p->what, "train") != 0)
        return 0;
    s->steady = s->steady && p->done == s->done + 1 && (!s->calls || p->total == s->total);
    s->calls++;
    s->done = p->done;
    s->total = p->total;
    s->stages[0] = s->stages[0] || strstr(p->detail, "stage biased, loss ");
    s->stages[1] = s->stages[1] || strstr(p->detail, "stage main, loss ");
    s->best = s->best || strstr(p->detail, ", best val WGA ");
    return 0;
}

static void test_one_count_over_all_stages(void **state)
{
    (void)state;
    static const char *const keys[][2] = {
        {"data.n", "100"},         {"data.size", "8"},       {"model.arch", "linear"},
        {"threads", "1"},          {"train.batch", "20"},    {"train.steps", "12"},
        {"train.eval_every", "4"}, {"select.metric", "wga"}, {"method.attributes", "unknown"},
        {"method.t", "0.2"},
    };
    gerne_ctx *ctx = test_ctx();
    char *directory = test_directory();
    char out[512], cache[512];
    const char *places[] = {out, cache};
    gn_arena *arena;
    gn_run_config *config;
    seen s = {.steady = true};
    snprintf(out, sizeof out, "%s/run", directory);
    snprintf(cache, sizeof cache, "%s/cache", directory);
    assert_ok(ctx, gn_arena_new(ctx, &arena));
    gn_settings flags = {.arena = arena};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        assert_ok(ctx, gn_settings_add(ctx, &flags, keys[i][0], &keys[i][1], 1, false, 0));
    assert_ok(ctx, gn_settings_add(ctx, &flags, "out", &places[0], 1, false, 0));
    assert_ok(ctx, gn_settings_add(ctx, &flags, "cache", &places[1], 1, false, 0));
    assert_ok(ctx, gn_run_config_new(ctx, NULL, &flags, &config));
    gerne_set_progress(ctx, note, &s);
    assert_ok(ctx, gn_train(ctx, config, NULL, NULL));
    assert_true(s.calls > 12);
    assert_true(s.steady);
    assert_int_equal(s.done, s.total);
    assert_true(s.stages[0] && s.stages[1] && s.best);
    gn_run_config_close(config);
    gn_settings_free(&flags);
    gn_arena_close(arena);
    test_remove_directory(directory);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_count_over_all_stages)};
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
