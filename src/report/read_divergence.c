/* read_divergence.c - diverged.json: that a run diverged, where, and what to do about it. */
#include "base/file.h"
#include "report/record.h"

enum { DIVERGED_LIMIT = 1 << 20 };
#define STEP_LIMIT 9e15 /* a larger number is no count of steps */

static gerne_status take_text(gn_run_record *run, const json_t *json, const char *key,
                              const char **out)
{
    const char *text = gn_json_text(json, key);
    return text ? gn_arena_copy_text(run->ctx, run->arena, text, out) : GERNE_OK;
}

gerne_status gn_take_divergence(gn_run_record *run, const json_t *json)
{
    gn_divergence_record *out = &run->divergence;
    double step = gn_json_real(json, "step");
    out->there = true;
    if (step >= 0 && step < STEP_LIMIT)
        out->step = step;
    out->loss = gn_json_real(json, "loss");
    GN_TRY(take_text(run, json, "stage", &out->stage));
    GN_TRY(take_text(run, json, "message", &out->message));
    return take_text(run, json, "hint", &out->hint);
}

/* The file says that the run diverged even when it can no longer be read. */
static gerne_status note_damage(gn_run_record *run, const char *why)
{
    run->divergence.there = true;
    return gn_run_note(run, "diverged.json is damaged (%s): %s.", why,
                       run->divergence.message ? "what it said is taken from log.jsonl"
                                               : "where and why the run diverged is not known");
}

gerne_status gn_read_divergence(gn_run_record *run)
{
    const char *path;
    GN_LOCAL(json_t) *json = NULL;
    GN_TRY(gn_record_path(run, "diverged.json", &path));
    if (run->results || !gn_path_exists(path))
        return GERNE_OK;
    gerne_status status = gn_json_read(run->ctx, path, DIVERGED_LIMIT, &json);
    if (status == GERNE_ENOMEM)
        return status;
    if (status != GERNE_OK)
        return note_damage(run, gerne_message(run->ctx));
    return json_is_object(json) && gn_json_text(json, "message")
               ? gn_take_divergence(run, json)
               : note_damage(run, "it has no message");
}
