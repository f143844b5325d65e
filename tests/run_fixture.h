/* run_fixture.h - a run from the inside, for tests that take its steps themselves. */
#ifndef GN_TESTS_RUN_FIXTURE_H
#define GN_TESTS_RUN_FIXTURE_H

#include "train/trainer.h"

typedef struct run_fixture {
    gerne_ctx *ctx;
    gn_arena *arena;
    gn_settings settings;
    gn_run_config *config;
    gn_trainer *t; /* NULL before run_settle */
} run_fixture;

/* Configures a run; pairs: key, value, ..., NULL. Later pairs win over earlier ones. */
void run_configure(run_fixture *f, const char *const *pairs);
void run_configure_more(run_fixture *f, const char *const *pairs, const char *const *more);
void run_settle(run_fixture *f);
void run_enter(run_fixture *f); /* settles, and enters the first stage */
void run_close(run_fixture *f);

#endif
