/* train.c - gerne_train and gerne_resume: a run into its directory, and the report that closes it.
 */
#include "train/train.h"

#include <string.h>

#include "api/api.h"
#include "api/handles.h"
#include "base/file.h"
#include "engine/device.h"
#include "ranks/ranks.h"
#include "report/report.h"

/* What a call gives back, in the form that was asked for. */
typedef struct outcome {
    gn_text text;
    json_t *results;
} outcome;

static gerne_status write_report(gerne_ctx *ctx, const char *directory, outcome *o)
{
    gn_arena *arena;
    const char *path;
    if (!gn_ranks_first(ctx))
        return GERNE_OK;
    GN_TRY(gn_arena_new(ctx, &arena));
    gerne_status status = gn_path_join(ctx, arena, directory, "report.html", &path);
    if (status == GERNE_OK && !gn_path_exists(path)) {
        if (gn_report_write(ctx, &directory, 1, path) != GERNE_OK)
            gn_log(ctx, GERNE_LOG_WARNING, "no report: %s", gerne_message(ctx));
        else
            status = gn_text_add(ctx, &o->text, "open %s in a browser\n", path);
    }
    gn_arena_close(arena);
    return status;
}

/* A diverged run gets its report, too; what is told remains the divergence. */
static gerne_status close_run(gerne_ctx *ctx, const char *directory, gerne_status status,
                              outcome *o)
{
    if (status == GERNE_OK)
        return write_report(ctx, directory, o);
    if (status == GERNE_EDIVERGED) {
        gn_saved_failure failure = gn_save_failure(ctx);
        if (write_report(ctx, directory, o) != GERNE_OK)
            gn_log(ctx, GERNE_LOG_WARNING, "no report: %s", gerne_message(ctx));
        gn_restore_failure(ctx, &failure);
    }
    return status;
}

static gerne_status give(gerne_ctx *ctx, gerne_status status, outcome *o, gerne_form form,
                         char **out)
{
    if (status == GERNE_OK && form == GERNE_TEXT)
        status = gn_give_text(ctx, &o->text, out);
    else if (status == GERNE_OK)
        status = gn_give_json(ctx, json_incref(o->results), out);
    gn_text_free(&o->text);
    json_decref(o->results);
    return status;
}

gerne_status gerne_train(gerne_ctx *ctx, const gerne_config *config, const gerne_dataset *dataset,
                         gerne_form form, char **out)
{
    outcome o = {0};
    gn_run_config *run;
    if (out)
        *out = NULL;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, config);
    GN_TRY(gn_check_form(ctx, form));
    GN_TRY(gn_config_resolve(ctx, config, dataset, &run));
    int threads = gn_threads_of_caller();
    gerne_status status = gn_train(ctx, run, &o.text, &o.results);
    gn_restore_threads(threads);
    status = close_run(ctx, run->top.out, status, &o);
    gn_run_config_close(run);
    return give(ctx, status, &o, form, out);
}

gerne_status gerne_resume(gerne_ctx *ctx, const char *directory, const gerne_dataset *dataset,
                          gerne_form form, char **out)
{
    outcome o = {0};
    gn_run_config *run;
    if (out)
        *out = NULL;
    GN_NEEDS(ctx, ctx);
    GN_NEEDS(ctx, directory);
    GN_TRY(gn_check_form(ctx, form));
    GN_TRY(gn_run_config_of(ctx, directory, &run));
    run->data.arrays = dataset ? dataset->options.arrays : NULL;
    int threads = gn_threads_of_caller();
    gerne_status status = gn_train_resume_as(ctx, run, &o.text, &o.results);
    gn_restore_threads(threads);
    if (status == GERNE_EUSAGE && !dataset && !run->data.file && !run->data.dir &&
        run->data.format >= GN_DATA_IMAGES)
        gn_hint(ctx, "the run was trained on arrays: give the same dataset again");
    status = close_run(ctx, directory, status, &o);
    gn_run_config_close(run);
    return give(ctx, status, &o, form, out);
}
