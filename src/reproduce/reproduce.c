#include "reproduce/reproduce.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "reproduce/reproduction.h"
#include "study/run.h"

static const struct {
    const char *name, *title;
    gerne_status (*add)(gn_reproduction *r); /* what it shows beside the cells; or NULL */
} kinds[] = {
    {"table1", "Table 1: C-MNIST, C-CIFAR-10, bFFHQ", NULL},
    {"table2", "Table 2: Waterbirds, CelebA, CivilComments", NULL},
    {"table3", "Table 3: trained on the validation split alone", NULL},
    {"fig2", "Fig. 2: the extrapolation factor beta", gn_reproduce_fig2},
    {"fig3", "Fig. 3: the threshold t of pseudo-groups", gn_reproduce_fig3},
    {"appB", "Appendix B: GERNE beside sampling and weighting", gn_reproduce_appB},
};

static size_t kind_of(const char *what)
{
    size_t i = 0;
    while (i + 1 < sizeof kinds / sizeof kinds[0] && strcmp(kinds[i].name, what) != 0)
        i++;
    return i;
}

const char *gn_reproduce_title(const char *what)
{
    return kinds[kind_of(what)].title;
}

/* ---- what helps everywhere ---- */

const gn_slot_trial *gn_slot_trials(const gn_reproduction *r, size_t slot, size_t *count)
{
    size_t first = 0;
    while (first < r->job_count && r->jobs[first].slot != slot)
        first++;
    *count = 0;
    while (first + *count < r->job_count && r->jobs[first + *count].slot == slot)
        ++*count;
    return r->slot_trials + first;
}

gerne_status gn_note(gn_reproduction *r, const char *format, ...)
{
    char words[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    gn_mend_end(words);
    for (size_t i = 0; i < json_array_size(r->notes); i++)
        if (strcmp(json_string_value(json_array_get(r->notes, i)), words) == 0)
            return GERNE_OK;
    return json_array_append_new(r->notes, json_string(words)) == 0
               ? GERNE_OK
               : gn_fail(r->ctx, GERNE_ENOMEM, "no memory for notes");
}

bool gn_slot_comparable(const gn_reproduction *r, const gn_slot *slot)
{
    bool quick = slot->cell && strcmp(slot->cell->budget, "quick") == 0;
    return !quick && !slot->frozen && r->options->steps == 0;
}

/* ---- planning ---- */

static gerne_status add_integer(gn_reproduction *r, gn_settings *flags, const char *key,
                                int64_t value)
{
    char number[32];
    const char *text = number;
    if (!value)
        return GERNE_OK;
    snprintf(number, sizeof number, "%lld", (long long)value);
    return gn_settings_add(r->ctx, flags, key, &text, 1, false, 0);
}

/* The slot's configuration without what its grid changes. */
static gerne_status base_of(gn_reproduction *r, const gn_slot *slot, gn_settings *base)
{
    gn_settings flags = {.arena = r->arena};
    gerne_status status = gn_slot_flags(r->ctx, slot, &flags);
    if (status == GERNE_OK)
        status = add_integer(r, &flags, "threads", r->options->threads);
    if (status == GERNE_OK)
        status = add_integer(r, &flags, "train.steps", r->options->steps);
    if (status == GERNE_OK)
        status = add_integer(r, &flags, "train.eval_every", r->options->steps);
    if (status == GERNE_OK)
        status = gn_base_settings(r->ctx, &slot->settings.base, &flags, base);
    gn_settings_free(&flags);
    return status;
}

static bool is_planned(const gn_reproduction *r, const char *id)
{
    for (size_t i = 0; i < r->spec_count; i++)
        if (strcmp(r->specs[i].id, id) == 0)
            return true;
    return false;
}

static gerne_status plan_point(gn_reproduction *r, size_t slot, const gn_settings *base,
                               size_t point, size_t fold)
{
    gn_settings changes = {.arena = r->arena};
    gerne_status status = gn_slot_changes(r->ctx, &r->slots.list[slot], point, fold, &changes);
    for (int64_t seed = 0; seed < r->options->seeds && status == GERNE_OK; seed++) {
        const gn_trial_request request = {
            .base = base, .changes = &changes, .tag = r->slots.list[slot].path, .seed = seed};
        gn_trial_spec spec;
        status = gn_trial_make(r->ctx, r->arena, &request, &spec);
        if (status != GERNE_OK)
            break;
        gn_job *job = &r->jobs[r->job_count++];
        *job = (gn_job){.slot = slot, .point = point, .seed = seed};
        memcpy(job->id, spec.id, sizeof job->id);
        if (!is_planned(r, spec.id))
            r->specs[r->spec_count++] = spec;
    }
    gn_settings_free(&changes);
    return status;
}

static gerne_status plan_slot(gn_reproduction *r, size_t slot)
{
    const gn_slot *s = &r->slots.list[slot];
    gn_settings base = {.arena = r->arena};
    gerne_status status = base_of(r, s, &base);
    size_t points = gn_grid_size(&s->settings.axes), folds = gn_grid_size(&s->settings.folds);
    for (size_t i = 0; i < points * folds && status == GERNE_OK; i++)
        status = plan_point(r, slot, &base, i / folds, i % folds);
    gn_settings_free(&base);
    return status == GERNE_OK ? status : gn_fail_in(r->ctx, status, "cell %s", s->path);
}

static gerne_status plan(gn_reproduction *r)
{
    size_t most = 1;
    for (size_t i = 0; i < r->slots.count; i++)
        if (r->slots.list[i].state == GN_SLOT_RUNNABLE)
            most += gn_grid_size(&r->slots.list[i].settings.axes) *
                    gn_grid_size(&r->slots.list[i].settings.folds) * (size_t)r->options->seeds;
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, most, sizeof *r->jobs, &r->jobs));
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, most, sizeof *r->specs, &r->specs));
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, most, sizeof *r->slot_trials, &r->slot_trials));
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, r->slots.count + 1, sizeof *r->results, &r->results));
    for (size_t i = 0; i < r->slots.count; i++)
        if (r->slots.list[i].state == GN_SLOT_RUNNABLE)
            GN_TRY(plan_slot(r, i));
    return GERNE_OK;
}

/* ---- summing up ---- */

static const gn_trial *find_trial(const gn_reproduction *r, const char *id)
{
    for (size_t i = 0; i < r->trials.count; i++)
        if (strcmp(r->trials.items[i].spec.id, id) == 0)
            return &r->trials.items[i];
    return NULL;
}

static gerne_status take_results(gn_reproduction *r)
{
    for (size_t j = 0; j < r->job_count; j++) {
        const gn_job *job = &r->jobs[j];
        r->slot_trials[j] = (gn_slot_trial){job->point, job->seed, find_trial(r, job->id)};
        if (!r->slot_trials[j].trial)
            return gn_fail(r->ctx, GERNE_EINTERNAL, "the ledger lost trial %s", job->id);
    }
    for (size_t i = 0; i < r->slots.count; i++) {
        size_t count;
        const gn_slot_trial *trials = gn_slot_trials(r, i, &count);
        GN_TRY(gn_cell_result_of(r->ctx, trials, count,
                                 gn_grid_size(&r->slots.list[i].settings.axes),
                                 r->slots.list[i].dataset->metric, &r->results[i]));
    }
    return GERNE_OK;
}

static gerne_status note_what_is_missing(gn_reproduction *r)
{
    for (size_t i = 0; i < r->slots.count; i++) {
        const gn_slot *s = &r->slots.list[i];
        if (s->state == GN_SLOT_DATA_MISSING)
            GN_TRY(gn_note(r, "%s: %s", s->reason, s->hint));
        if (s->frost == NULL && s->state == GN_SLOT_RUNNABLE &&
            strcmp(s->dataset->name, "c-cifar10") == 0)
            GN_TRY(gn_note(r, "C-CIFAR-10 is made with a synthetic frost texture: 'gerne data "
                              "fetch frost' and --frost FOLDER for the benchmark's own"));
    }
    if (r->options->steps)
        GN_TRY(gn_note(r, "every run was cut to %lld steps: a trial of the path, not a result",
                       (long long)r->options->steps));
    return GERNE_OK;
}

static gerne_status summarise(gn_reproduction *r, gn_text *report, json_t **document)
{
    gn_trial_list_free(&r->trials);
    json_decref(r->figures);
    json_decref(r->notes);
    r->figures = json_array();
    r->notes = json_array();
    r->sheet_count = 0;
    GN_TRY(gn_ledger_list(r->ledger, &r->trials));
    GN_TRY(take_results(r));
    GN_TRY(note_what_is_missing(r));
    gn_sheet *cells;
    GN_TRY(gn_sheet_of_cells(r, &cells));
    if (kinds[kind_of(r->options->what)].add)
        GN_TRY(kinds[kind_of(r->options->what)].add(r));
    r->sheets[r->sheet_count++] = cells;
    return gn_reproduction_write(r, report, document);
}

/* ---- running ---- */

/* Weights and checkpoints of finished trials would fill the disk; their results stay. */
static gerne_status after_trial(void *user, gn_ledger *ledger)
{
    gn_reproduction *r = user;
    GN_TRY(summarise(r, NULL, NULL));
    for (size_t i = 0; i < r->trials.count; i++)
        if (r->trials.items[i].state == GN_TRIAL_DONE)
            gn_trial_prune(r->ctx, gn_ledger_dir(ledger), r->trials.items[i].spec.id);
    return GERNE_OK;
}

static gerne_status run(gn_reproduction *r, gn_text *report, json_t **document)
{
    char description[512];
    snprintf(description, sizeof description, "reproduce: %s\nbudget: %s\ndataset: %s\n",
             r->options->what, r->options->budget,
             r->options->dataset ? r->options->dataset : "the paper's");
    GN_TRY(plan(r));
    GN_TRY(gn_ledger_open(r->ctx, r->dir, "reproduce", description, &r->ledger));
    GN_TRY(gn_ledger_plan(r->ledger, r->specs, r->spec_count));
    if (r->options->retry)
        GN_TRY(gn_ledger_retry(r->ledger));
    const gn_study_work work = {
        .what = "reproduce", .cache = r->options->cache, .after = after_trial, .user = r};
    gerne_status status = gn_study_run(r->ctx, r->ledger, &work);
    if (status != GERNE_OK && status != GERNE_EINTERRUPTED)
        return status;
    GN_TRY(summarise(r, report, document));
    if (status == GERNE_EINTERRUPTED) {
        gn_fail(r->ctx, status, "stopped before all cells were done; %s tells how far it came",
                r->dir);
        gn_hint(r->ctx, "the same command goes on where it stopped");
    }
    return status;
}

static gerne_status open_reproduction(gerne_ctx *ctx, const gn_reproduce_options *options,
                                      gn_reproduction *r)
{
    *r = (gn_reproduction){.ctx = ctx, .options = options, .dir = options->out};
    if (options->seeds < 1)
        return gn_fail(ctx, GERNE_EUSAGE, "seeds %lld: at least one run of a cell is needed",
                       (long long)options->seeds);
    if (options->dataset && strcmp(options->what, "table3") != 0)
        return gn_fail(ctx, GERNE_EUSAGE, "dataset goes with table3 only, not with %s",
                       options->what);
    GN_TRY(gn_arena_new(ctx, &r->arena));
    const gn_slot_request request = {.what = options->what,
                                     .budget = options->budget,
                                     .only = options->only,
                                     .method = options->method,
                                     .dataset = options->dataset,
                                     .places = options->places};
    return gn_slots_make(ctx, r->arena, &request, &r->slots);
}

static void close_reproduction(gn_reproduction *r)
{
    gn_trial_list_free(&r->trials);
    json_decref(r->figures);
    json_decref(r->notes);
    gn_ledger_close(r->ledger);
    gn_slots_free(&r->slots);
    gn_arena_close(r->arena);
}

gerne_status gn_reproduce(gerne_ctx *ctx, const gn_reproduce_options *options, gn_text *report,
                          json_t **document)
{
    gn_reproduction r;
    json_t *made = NULL;
    gerne_status status = open_reproduction(ctx, options, &r);
    if (status == GERNE_OK)
        status = run(&r, report, &made);
    close_reproduction(&r);
    if (status == GERNE_OK && document)
        *document = made;
    else
        json_decref(made);
    return status;
}

/* ---- looking without running ---- */

static gerne_status list(gn_reproduction *r, gn_sheet **out)
{
    static const char *const columns[] = {"cell", "paper", "state", "configuration", "missing"};
    GN_TRY(gn_sheet_new(r->ctx, r->arena, gn_reproduce_title(r->options->what), columns, 5, out));
    for (size_t i = 0; i < r->slots.count; i++) {
        const gn_slot *s = &r->slots.list[i];
        GN_TRY(gn_sheet_add(r->ctx, *out, s->path));
        GN_TRY(gn_sheet_add_spread(r->ctx, *out, s->paper.mean, s->paper.sd));
        GN_TRY(gn_sheet_add(r->ctx, *out, gn_slot_state_name(s->state)));
        GN_TRY(gn_sheet_add(r->ctx, *out, s->cell ? s->cell->base : "-"));
        GN_TRY(gn_sheet_add(r->ctx, *out, s->reason ? s->reason : ""));
    }
    return GERNE_OK;
}

gerne_status gn_reproduce_list(gerne_ctx *ctx, const gn_reproduce_options *options, gn_text *report,
                               json_t **document)
{
    gn_reproduction r;
    gn_sheet *sheet;
    gerne_status status = open_reproduction(ctx, options, &r);
    if (status == GERNE_OK)
        status = list(&r, &sheet);
    if (status == GERNE_OK && report)
        status = gn_sheet_print(ctx, sheet, report);
    if (status == GERNE_OK && document)
        *document = gn_sheet_json(sheet);
    close_reproduction(&r);
    return status;
}

static gerne_status print_point(gn_reproduction *r, const gn_slot *slot, size_t point, size_t fold,
                                gn_text *out)
{
    gn_settings base = {.arena = r->arena}, changes = {.arena = r->arena};
    gn_run_config *config = NULL;
    const char *words = "";
    gerne_status status = base_of(r, slot, &base);
    if (status == GERNE_OK)
        status = gn_slot_changes(r->ctx, slot, point, fold, &changes);
    if (status == GERNE_OK)
        status = gn_run_config_new(r->ctx, &base, &changes, &config);
    if (status == GERNE_OK)
        status = gn_slot_point_words(r->ctx, r->arena, slot, point, &words);
    if (status == GERNE_OK)
        status = gn_text_add(r->ctx, out, "%s# %s%s%s\n", out->size ? "---\n" : "", slot->path,
                             words[0] ? ", " : "", words);
    if (status == GERNE_OK)
        status = gn_config_print(r->ctx, config->config, GN_NOT_ASKED, out);
    gn_run_config_close(config);
    gn_settings_free(&base);
    gn_settings_free(&changes);
    return status;
}

static gerne_status print_all(gn_reproduction *r, gn_text *out)
{
    size_t printed = 0;
    for (size_t i = 0; i < r->slots.count; i++) {
        const gn_slot *s = &r->slots.list[i];
        size_t points = gn_grid_size(&s->settings.axes), folds = gn_grid_size(&s->settings.folds);
        for (size_t p = 0; s->cell && p < points * folds; p++, printed++)
            GN_TRY(print_point(r, s, p / folds, p % folds, out));
    }
    if (printed)
        return GERNE_OK;
    return gn_fail(r->ctx, GERNE_EUSAGE, "none of the chosen cells has a configuration: %s",
                   r->slots.list[0].reason);
}

gerne_status gn_reproduce_print(gerne_ctx *ctx, const gn_reproduce_options *options, gn_text *out)
{
    gn_reproduction r;
    gerne_status status = open_reproduction(ctx, options, &r);
    if (status == GERNE_OK)
        status = print_all(&r, out);
    close_reproduction(&r);
    return status;
}
