#include "reproduce/reproduce.h"

#include <stdio.h>
#include <string.h>

#include "reproduce/reproduction.h"
#include "study/summary.h"
#include "study/worker.h"

typedef struct kind {
    const char *name, *title;
    gerne_status (*add)(gn_reproduction *r); /* what it shows beside the cells; or NULL */
    bool alone;        /* and instead of them: nothing of the paper's to compare with */
    bool search_first; /* the first seed chooses the grid point; only that one gets the others */
} kind;

static const kind kinds[] = {
    {.name = "table1", .title = "Table 1: C-MNIST, C-CIFAR-10, bFFHQ"},
    {.name = "table2", .title = "Table 2: Waterbirds, CelebA, CivilComments"},
    {.name = "table3", .title = "Table 3: trained on the validation split alone"},
    {.name = "fig2", .title = "Fig. 2: the extrapolation factor beta", .add = gn_reproduce_fig2},
    {.name = "fig3", .title = "Fig. 3: the threshold t of pseudo-groups", .add = gn_reproduce_fig3},
    {.name = "appB",
     .title = "Appendix B: GERNE compared with sampling and weighting",
     .add = gn_reproduce_appB},
    {.name = "methods",
     .title = "All methods side by side",
     .add = gn_reproduce_methods,
     .alone = true,
     .search_first = true},
    {.name = "adapt",
     .title = "Rules that choose beta compared with fixed values",
     .add = gn_reproduce_adapt,
     .alone = true},
    {.name = "estimators",
     .title = "How well estimators find the minority",
     .add = gn_reproduce_estimators,
     .alone = true},
    {.name = "beyond",
     .title = "GERNE with what the paper does not try",
     .add = gn_reproduce_methods,
     .alone = true,
     .search_first = true},
};

static const kind *kind_of(const char *what)
{
    size_t i = 0;
    while (i + 1 < sizeof kinds / sizeof kinds[0] && strcmp(kinds[i].name, what) != 0)
        i++;
    return &kinds[i];
}

const char *gn_reproduce_title(const char *what)
{
    return kind_of(what)->title;
}

/* ---- what helps everywhere ---- */

const gn_trial *gn_trial_of(const gn_reproduction *r, const gn_cell_run *run)
{
    return &r->trials.items[run->trial];
}

bool gn_cell_comparable(const gn_reproduction *r, const gn_cell *cell)
{
    return strcmp(cell->budget, "quick") != 0 && !cell->frozen && r->options->steps == 0;
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

/* The cell's configuration without what its grid changes. */
static gerne_status base_of(gn_reproduction *r, const gn_cell *cell, gn_settings *base)
{
    gn_settings flags = {.arena = r->arena};
    gerne_status status = gn_cell_flags(r->ctx, cell, &flags);
    if (status == GERNE_OK)
        status = add_integer(r, &flags, "threads", r->options->threads);
    if (status == GERNE_OK)
        status = add_integer(r, &flags, "train.steps", r->options->steps);
    if (status == GERNE_OK)
        status = add_integer(r, &flags, "train.eval_every", r->options->steps);
    if (status == GERNE_OK)
        status = gn_base_settings(r->ctx, &cell->base, &flags, base);
    gn_settings_free(&flags);
    return status;
}

/* The place of the trial in the plan, which it joins unless it is there already. */
static size_t join_plan(gn_reproduction *r, const gn_trial *trial)
{
    size_t i = 0;
    while (i < r->planned_count && strcmp(r->planned[i].id, trial->id) != 0)
        i++;
    if (i == r->planned_count)
        r->planned[r->planned_count++] = *trial;
    return i;
}

/* The cells' results from the trials as they are now. */
static gerne_status sum_up_cells(gn_reproduction *r)
{
    gn_trial_list_free(&r->trials);
    GN_TRY(gn_ledger_list(r->ledger, &r->trials));
    for (size_t i = 0; i < r->cells.count; i++)
        GN_TRY(gn_cell_sum_up(r->ctx, &r->trials, &r->cells.list[i]));
    return GERNE_OK;
}

/* Some of the runs of a cell. */
typedef struct portion {
    size_t first_point, points;
    int64_t first_seed, seeds;
} portion;

static gerne_status plan_point(gn_reproduction *r, gn_cell *cell, const gn_settings *base,
                               const portion *which, size_t point, size_t fold)
{
    gn_settings changes = {.arena = r->arena};
    gerne_status status = gn_cell_changes(r->ctx, cell, point, fold, &changes);
    int64_t end = which->first_seed + which->seeds;
    for (int64_t seed = which->first_seed; seed < end && status == GERNE_OK; seed++) {
        gn_trial trial = {.tag = cell->path, .seed = seed};
        status = gn_trial_make(r->ctx, r->arena, base, &changes, &trial);
        if (status == GERNE_OK)
            cell->runs[cell->run_count++] = (gn_cell_run){point, join_plan(r, &trial)};
    }
    gn_settings_free(&changes);
    return status;
}

static size_t runs_of(const gn_reproduction *r, const gn_cell *cell)
{
    return cell->state == GN_CELL_RUNNABLE
               ? gn_grid_size(&cell->axes) * gn_grid_size(&cell->folds) * (size_t)r->options->seeds
               : 0;
}

static gerne_status plan_portion(gn_reproduction *r, gn_cell *cell, const portion *which)
{
    gn_settings base = {.arena = r->arena};
    gerne_status status = base_of(r, cell, &base);
    size_t folds = gn_grid_size(&cell->folds);
    for (size_t i = 0; i < which->points * folds && status == GERNE_OK; i++)
        status = plan_point(r, cell, &base, which, which->first_point + i / folds, i % folds);
    gn_settings_free(&base);
    return status == GERNE_OK ? status : gn_fail_in(r->ctx, status, "cell %s", cell->path);
}

/* Whether one seed chooses among the points of a cell before the others run. */
static bool searches_first(const gn_reproduction *r, const gn_cell *cell)
{
    return kind_of(r->options->what)->search_first && gn_grid_size(&cell->axes) > 1;
}

static gerne_status plan_cell(gn_reproduction *r, gn_cell *cell)
{
    const portion first = {.points = gn_grid_size(&cell->axes),
                           .seeds = searches_first(r, cell) ? 1 : r->options->seeds};
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, runs_of(r, cell), sizeof *cell->runs, &cell->runs));
    return plan_portion(r, cell, &first);
}

static gerne_status plan(gn_reproduction *r)
{
    size_t most = 1;
    for (size_t i = 0; i < r->cells.count; i++)
        most += runs_of(r, &r->cells.list[i]);
    GN_TRY(gn_arena_alloc(r->ctx, r->arena, most, sizeof *r->planned, &r->planned));
    for (size_t i = 0; i < r->cells.count; i++)
        if (r->cells.list[i].state == GN_CELL_RUNNABLE)
            GN_TRY(plan_cell(r, &r->cells.list[i]));
    return GERNE_OK;
}

/* Runs that follow once the first seed has chosen. */
static size_t runs_to_come(const gn_reproduction *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->cells.count; i++) {
        const gn_cell *cell = &r->cells.list[i];
        if (cell->state == GN_CELL_RUNNABLE && searches_first(r, cell))
            count += gn_grid_size(&cell->folds) * (size_t)(r->options->seeds - 1);
    }
    return count;
}

/* The other seeds of the chosen grid points (gn_study_work.grow). */
static gerne_status plan_chosen(void *user, gn_ledger *ledger, size_t *to_come, bool *grew)
{
    gn_reproduction *r = user;
    size_t before = r->planned_count;
    *to_come = 0;
    if (r->chosen)
        return GERNE_OK;
    r->chosen = true;
    GN_TRY(sum_up_cells(r));
    for (size_t i = 0; i < r->cells.count; i++) {
        gn_cell *cell = &r->cells.list[i];
        const portion rest = {cell->result.honest.point, 1, 1, r->options->seeds - 1};
        if (cell->state == GN_CELL_RUNNABLE && searches_first(r, cell) &&
            cell->result.honest.measure.n)
            GN_TRY(plan_portion(r, cell, &rest));
    }
    *grew = r->planned_count > before;
    return gn_ledger_plan(ledger, r->planned + before, r->planned_count - before);
}

/* ---- summing up ---- */

static gerne_status note_what_is_missing(gn_reproduction *r)
{
    for (size_t i = 0; i < r->cells.count; i++) {
        const gn_cell *cell = &r->cells.list[i];
        if (cell->state == GN_CELL_DATA_MISSING)
            GN_TRY(gn_study_note(r->ctx, r->notes, "%s: %s", cell->reason, cell->hint));
        if (cell->frost == NULL && cell->state == GN_CELL_RUNNABLE &&
            strcmp(cell->dataset->name, "c-cifar10") == 0)
            GN_TRY(gn_study_note(r->ctx, r->notes,
                                 "C-CIFAR-10 is made with a synthetic frost texture: 'gerne data "
                                 "fetch frost' and --frost FOLDER for the benchmark's own"));
    }
    if (r->options->steps)
        GN_TRY(gn_study_note(r->ctx, r->notes,
                             "every run was limited to %lld steps: a smoke test, not a result",
                             (long long)r->options->steps));
    return GERNE_OK;
}

static gerne_status summarise(gn_reproduction *r, gn_text *report, json_t **document)
{
    const kind *shown = kind_of(r->options->what);
    json_decref(r->figures);
    json_decref(r->notes);
    r->figures = json_array();
    r->notes = json_array();
    r->sheet_count = 0;
    GN_TRY(sum_up_cells(r));
    GN_TRY(note_what_is_missing(r));
    gn_sheet *cells;
    GN_TRY(gn_sheet_of_cells(r, &cells));
    if (shown->add)
        GN_TRY(shown->add(r));
    if (!shown->alone)
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
            gn_trial_prune(r->ctx, gn_ledger_dir(ledger), r->trials.items[i].id);
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
    GN_TRY(gn_ledger_plan(r->ledger, r->planned, r->planned_count));
    if (r->options->retry)
        GN_TRY(gn_ledger_retry(r->ledger));
    const gn_study_work work = {.what = "reproduce",
                                .cache = r->options->cache,
                                .to_come = runs_to_come(r),
                                .grow = plan_chosen,
                                .after = after_trial,
                                .user = r};
    gerne_status status = gn_study_run(r->ctx, r->ledger, &work);
    if (status != GERNE_OK && status != GERNE_EINTERRUPTED)
        return status;
    GN_TRY(summarise(r, report, document));
    if (status == GERNE_EINTERRUPTED) {
        gn_fail(r->ctx, status,
                "interrupted before all cells were finished; '%s' has the results so far", r->dir);
        gn_hint(r->ctx, "the same command resumes it");
    }
    return status;
}

static gerne_status open_reproduction(gerne_ctx *ctx, const gn_reproduce_options *options,
                                      gn_reproduction *r)
{
    *r = (gn_reproduction){.ctx = ctx, .options = options, .dir = options->out};
    if (options->seeds < 1)
        return gn_fail(ctx, GERNE_EUSAGE, "seeds %lld: a cell needs at least one run",
                       (long long)options->seeds);
    if (options->dataset && strcmp(options->what, "table3") != 0)
        return gn_fail(ctx, GERNE_EUSAGE, "--dataset applies to table3 only, not to %s",
                       options->what);
    GN_TRY(gn_arena_new(ctx, &r->arena));
    return gn_cells_make(ctx, r->arena, options, &r->cells);
}

static void close_reproduction(gn_reproduction *r)
{
    gn_trial_list_free(&r->trials);
    json_decref(r->figures);
    json_decref(r->notes);
    gn_ledger_close(r->ledger);
    gn_cells_free(&r->cells);
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
    for (size_t i = 0; i < r->cells.count; i++) {
        const gn_cell *cell = &r->cells.list[i];
        GN_TRY(gn_sheet_add(r->ctx, *out, cell->path));
        GN_TRY(gn_sheet_add_spread(r->ctx, *out, cell->paper.mean, cell->paper.sd));
        GN_TRY(gn_sheet_add(r->ctx, *out, gn_cell_state_name(cell->state)));
        GN_TRY(gn_sheet_add(r->ctx, *out, cell->base_name ? cell->base_name : "-"));
        GN_TRY(gn_sheet_add(r->ctx, *out, cell->reason ? cell->reason : ""));
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

static gerne_status print_point(gn_reproduction *r, const gn_cell *cell, size_t point, size_t fold,
                                gn_text *out)
{
    gn_settings base = {.arena = r->arena}, changes = {.arena = r->arena};
    gn_run_config *config = NULL;
    const char *words = "";
    gerne_status status = base_of(r, cell, &base);
    if (status == GERNE_OK)
        status = gn_cell_changes(r->ctx, cell, point, fold, &changes);
    if (status == GERNE_OK)
        status = gn_run_config_new(r->ctx, &base, &changes, &config);
    if (status == GERNE_OK)
        status = gn_cell_point_words(r->ctx, r->arena, cell, point, &words);
    if (status == GERNE_OK)
        status = gn_text_add(r->ctx, out, "%s# %s%s%s\n", out->size ? "---\n" : "", cell->path,
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
    for (size_t i = 0; i < r->cells.count; i++) {
        const gn_cell *cell = &r->cells.list[i];
        size_t points = gn_grid_size(&cell->axes), folds = gn_grid_size(&cell->folds);
        for (size_t p = 0; cell->base_name && p < points * folds; p++, printed++)
            GN_TRY(print_point(r, cell, p / folds, p % folds, out));
    }
    if (printed)
        return GERNE_OK;
    return gn_fail(r->ctx, GERNE_EUSAGE, "none of the selected cells has a configuration: %s",
                   r->cells.list[0].reason);
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
