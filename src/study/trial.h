/* trial.h - one trial: from what is asked to a plan, and from a claim to a run directory.
 *
 *     GN_TRY(gn_base_settings(ctx, arena, &file, &flags, &base));        once for a configuration
 *     GN_TRY(gn_trial_make(ctx, arena, &base, &changes, &trial));        for each trial
 *     GN_TRY(gn_ledger_plan(ledger, trials, count));
 *     GN_TRY(gn_ledger_claim(ledger, &claim, &others));
 *     GN_TRY(gn_trial_execute(ctx, ledger, &claim, &means));             or gn_study_run does both
 */
#ifndef GN_STUDY_TRIAL_H
#define GN_STUDY_TRIAL_H

#include "base/settings.h"
#include "study/ledger.h"
#include "train/shared_data.h"

/* A configuration as the base of trials: what was asked for in a file (or NULL) and by flags (which
 * win), checked and merged, without out, cache and seed. base->arena is set by the caller. */
GERNE_CHECKED gerne_status gn_base_settings(gerne_ctx *ctx, const gn_settings *file,
                                            const gn_settings *flags, gn_settings *base);

/* Appends a line "section.key: value" for every option of the base that has a value, defaults
 * included, without out and cache: what a study's description starts with. */
GERNE_CHECKED gerne_status gn_base_describe(gerne_ctx *ctx, const gn_settings *base, gn_text *out);

/* Makes a trial of the base with changes, which win over it and set the trial apart (NULL: none).
 * The caller has set tag (lent), seed and level; the rest is filled, texts in the arena. The id is
 * a digest of the resolved configuration with the seed: the same trial has the same id at any time.
 */
GERNE_CHECKED gerne_status gn_trial_make(gerne_ctx *ctx, gn_arena *arena, const gn_settings *base,
                                         const gn_settings *changes, gn_trial *trial);

/* The resolved configuration of a trial, as gn_trial_execute runs it. out and cache may be NULL. */
GERNE_CHECKED gerne_status gn_trial_config(gerne_ctx *ctx, const char *yaml, const char *out,
                                           const char *cache, gn_run_config **config);

/* What trials are run with. */
typedef struct gn_trial_means {
    const char *cache;    /* may be NULL */
    gn_shared_data *data; /* so that the next trial need not read it again */
} gn_trial_means;

/* Runs the claimed trial in DIR/trials/<id>, or resumes it exactly where it stopped. Touches no
 * ledger; results is a new reference. */
GERNE_CHECKED gerne_status gn_trial_run(gerne_ctx *ctx, const char *dir, const gn_claim *claim,
                                        const gn_trial_means *means, json_t **results);

/* Ends the claim of a trial by what came of it, whose message is in ctx. A run that fails by its
 * own settings (it diverged, its estimator found nothing, beta is out of bounds, its metric is NaN)
 * is a failed trial with its reason, and GERNE_OK here. What would hit every trial (the system, the
 * data, an interrupt) is returned, and the trial waits again. */
GERNE_CHECKED gerne_status gn_trial_end(gerne_ctx *ctx, gn_ledger *ledger, gn_claim *claim,
                                        gerne_status status, json_t *results);

/* Both. */
GERNE_CHECKED gerne_status gn_trial_execute(gerne_ctx *ctx, gn_ledger *ledger, gn_claim *claim,
                                            const gn_trial_means *means);

/* Whether a failed trial diverged; its reason then says so: "diverged at step 113: ...". */
bool gn_trial_diverged(const gn_trial *trial);

/* What a trial is called in a line for people: its tag, "method.beta=1 seed=0". */
void gn_trial_words(const gn_trial *trial, char *buffer, size_t size);

/* DIR/trials/ID/name, in the arena; the directory itself when name is "". */
GERNE_CHECKED gerne_status gn_trial_path(gerne_ctx *ctx, gn_arena *arena, const char *dir,
                                         const char *id, const char *name, const char **out);

/* Removes weights and checkpoints from a trial's directory; its results stay. */
void gn_trial_prune(gerne_ctx *ctx, const char *dir, const char *id);

#endif
