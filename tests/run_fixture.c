#include "run_fixture.h"

#include "testing.h"

static void add(run_fixture *f, const char *const *pairs)
{
    for (; *pairs; pairs += 2)
        assert_ok(f->ctx, gn_settings_add(f->ctx, &f->settings, pairs[0], &pairs[1], 1, false, 0));
}

void run_configure_more(run_fixture *f, const char *const *pairs, const char *const *more)
{
    *f = (run_fixture){.ctx = test_ctx()};
    assert_ok(f->ctx, gn_arena_new(f->ctx, &f->arena));
    f->settings.arena = f->arena;
    add(f, pairs);
    add(f, more);
    assert_ok(f->ctx, gn_run_config_new(f->ctx, NULL, &f->settings, &f->config));
}

void run_configure(run_fixture *f, const char *const *pairs)
{
    static const char *const none[] = {NULL};
    run_configure_more(f, pairs, none);
}

void run_settle(run_fixture *f)
{
    assert_ok(f->ctx, gn_trainer_new(f->ctx, f->config, &f->t));
    assert_ok(f->ctx, gn_trainer_settle(f->t));
}

void run_enter(run_fixture *f)
{
    run_settle(f);
    assert_ok(f->ctx, gn_stage_enter(f->t));
}

void run_close(run_fixture *f)
{
    gn_trainer_close(f->t);
    gn_run_config_close(f->config);
    gn_settings_free(&f->settings);
    gn_arena_close(f->arena);
    gerne_ctx_close(f->ctx);
}
