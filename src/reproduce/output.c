/* output.c - <what>.json, <what>.md, <what>.tex and study.json of a reproduction. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "reproduce/reproduction.h"
#include "study/summary.h"

/* ---- <what>.json ---- */

static json_t *choice_json(gn_reproduction *r, const gn_cell *cell, const gn_cell_choice *choice)
{
    if (!choice->measure.n)
        return json_null();
    const gn_settings *axes = &cell->axes;
    json_t *chosen = json_object();
    for (size_t a = 0; a < axes->count; a++)
        json_object_set_new(chosen, axes->list[a].key,
                            json_string(gn_grid_value(axes, choice->point, a)));
    json_t *ci = isnan(choice->interval.lo)
                     ? json_null()
                     : json_pack("[o,o]", gn_json_number(choice->interval.lo),
                                 gn_json_number(choice->interval.hi));
    const gn_spread *ours = &choice->measure;
    bool judged = gn_cell_comparable(r, cell) && !isnan(cell->paper.mean);
    return json_pack("{s:o,s:o,s:i,s:o,s:o,s:o,s:o}", "mean", gn_json_number(ours->mean), "sd",
                     gn_json_number(ours->sd), "n", (int)ours->n, "ci95", ci, "difference",
                     gn_json_number(ours->mean - cell->paper.mean), "band",
                     judged ? json_string(gn_agreement_name(gn_agreement_of(ours, &cell->paper)))
                            : json_null(),
                     "chosen", chosen);
}

static json_t *cell_json(gn_reproduction *r, const gn_cell *cell)
{
    const gn_cell_result *o = &cell->result;
    const gn_paper_figure *paper = &cell->paper;
    json_t *figure =
        isnan(paper->mean)
            ? json_null()
            : json_pack("{s:o,s:o,s:o}", "mean", gn_json_number(paper->mean), "sd",
                        gn_json_number(paper->sd), "band", gn_json_number(gn_band(paper)));
    return json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s?,s:s?,s:b,s:b,s:i,s:i,s:i,s:s?,s:i,s:s?,s:o,s:o,s:o}",
        "cell", cell->path, "dataset", cell->dataset->name, "ratio", cell->ratio, "setting",
        cell->setting, "method", cell->method, "variant", cell->variant, "metric",
        cell->dataset->metric, "state", gn_cell_state_name(cell->state), "reason", cell->reason,
        "hint", cell->hint, "frozen", cell->frozen, "comparable",
        cell->state == GN_CELL_RUNNABLE && gn_cell_comparable(r, cell), "runs",
        (int)cell->run_count, "done", (int)o->done, "failed", (int)o->failed, "failure",
        o->failure ? o->failure->reason : NULL, "warned", (int)o->warned, "warning", o->warning,
        "honest", choice_json(r, cell, &o->honest), "oracle", choice_json(r, cell, &o->oracle),
        "paper", figure);
}

static json_t *sheets_json(const gn_reproduction *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->sheet_count; i++)
        json_array_append_new(list, gn_sheet_json(r->sheets[i]));
    return list;
}

static void count_trials(const gn_reproduction *r, int counts[4])
{
    memset(counts, 0, 4 * sizeof counts[0]);
    for (size_t i = 0; i < r->trials.count; i++)
        counts[r->trials.items[i].state]++;
}

static json_t *document_json(gn_reproduction *r)
{
    int counts[4];
    json_t *cells = json_array();
    count_trials(r, counts);
    for (size_t i = 0; i < r->cells.count; i++)
        json_array_append_new(cells, cell_json(r, &r->cells.list[i]));
    return json_pack("{s:s,s:s,s:s,s:s,s:I,s:b,s:o,s:O,s:o,s:O}", "gerne", gerne_version(), "what",
                     r->options->what, "title", gn_reproduce_title(r->options->what), "budget",
                     r->options->budget, "seeds", (json_int_t)r->options->seeds, "complete",
                     counts[GN_TRIAL_WAITING] + counts[GN_TRIAL_RUNNING] == 0, "cells", cells,
                     "notes", r->notes, "tables", sheets_json(r), "figures", r->figures);
}

/* ---- study.json ---- */

static gerne_status write_study(gn_reproduction *r)
{
    json_t *tables = sheets_json(r), *study;
    const gn_ranking none = {0};
    const gn_study_info info = {
        .kind = "reproduce",
        .title = gn_reproduce_title(r->options->what),
        .command = r->options->command ? r->options->command : "gerne reproduce",
        .metric = r->cells.list[0].dataset->metric,
        .split = "val",
        .notes = r->notes,
        .tables = tables,
        .figures = r->figures,
    };
    gerne_status status = gn_study_json(r->ctx, &info, &r->trials, &none, &study);
    if (status == GERNE_OK)
        status = gn_study_write(r->ctx, r->dir, study);
    json_decref(study);
    json_decref(tables);
    return status;
}

/* ---- files ---- */

static gerne_status write_text(gn_reproduction *r, const char *name, const gn_text *text)
{
    const char *path;
    GN_TRY(gn_path_join(r->ctx, r->arena, r->dir, name, &path));
    return gn_file_write(r->ctx, path, text->bytes ? text->bytes : "", text->size);
}

/* Takes over the reference. */
static gerne_status write_json(gn_reproduction *r, const char *name, json_t *json)
{
    gn_text text = {0};
    gerne_status status = json ? gn_json_print(r->ctx, json, &text)
                               : gn_fail(r->ctx, GERNE_ENOMEM, "no memory for %s", name);
    if (status == GERNE_OK)
        status = write_text(r, name, &text);
    gn_text_free(&text);
    json_decref(json);
    return status;
}

typedef gerne_status sheet_writer(gerne_ctx *ctx, const gn_sheet *sheet, gn_text *out);

static gerne_status add_sheets(gn_reproduction *r, sheet_writer *add, gn_text *out)
{
    for (size_t i = 0; i < r->sheet_count; i++) {
        if (i)
            GN_TRY(gn_text_add(r->ctx, out, "\n"));
        GN_TRY(add(r->ctx, r->sheets[i], out));
    }
    return GERNE_OK;
}

static gerne_status add_notes(gn_reproduction *r, const char *bullet, gn_text *out)
{
    for (size_t i = 0; i < json_array_size(r->notes); i++)
        GN_TRY(gn_text_add(r->ctx, out, "%s%s%s\n", i ? "" : "\n", bullet,
                           json_string_value(json_array_get(r->notes, i))));
    return GERNE_OK;
}

static gerne_status write_sheets(gn_reproduction *r, const char *ending, sheet_writer *add,
                                 const char *bullet)
{
    char name[64];
    gn_text text = {0};
    snprintf(name, sizeof name, "%s.%s", r->options->what, ending);
    gerne_status status = add_sheets(r, add, &text);
    if (status == GERNE_OK && bullet)
        status = add_notes(r, bullet, &text);
    if (status == GERNE_OK)
        status = write_text(r, name, &text);
    gn_text_free(&text);
    return status;
}

gerne_status gn_reproduction_write(gn_reproduction *r, gn_text *report, json_t **document)
{
    char name[64];
    GN_TRY(write_sheets(r, "md", gn_sheet_markdown, "- "));
    GN_TRY(write_sheets(r, "tex", gn_sheet_latex, NULL));
    snprintf(name, sizeof name, "%s.json", r->options->what);
    json_t *json = document_json(r);
    GN_TRY(write_json(r, name, json_incref(json)));
    if (document)
        *document = json;
    else
        json_decref(json);
    GN_TRY(write_study(r));
    if (!report)
        return GERNE_OK;
    GN_TRY(add_sheets(r, gn_sheet_print, report));
    GN_TRY(add_notes(r, "note: ", report));
    return gn_text_add(r->ctx, report, "\nwritten to %s\n", r->dir);
}
