#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/sha256.h"
#include "report/sections.h"
#include "report/style.h"

typedef struct report {
    gerne_ctx *ctx;
    gn_arena *arena;
    gn_run_record *runs;
    size_t run_count;
    gn_study_record *studies;
    size_t study_count;
    const char *out;
} report;

/* ---- reading ---- */

static gerne_status read_all(report *r, const char *const *paths, size_t count)
{
    GN_TRY(gn_alloc(r->ctx, count, sizeof *r->runs, "runs", &r->runs));
    GN_TRY(gn_alloc(r->ctx, count, sizeof *r->studies, "studies", &r->studies));
    for (size_t i = 0; i < count; i++) {
        bool is_study;
        GN_TRY(gn_record_kind(r->ctx, paths[i], &is_study));
        if (is_study) {
            gn_study_record *study = &r->studies[r->study_count++];
            GN_TRY(gn_study_record_read(r->ctx, paths[i], study));
            GN_TRY(gn_base_name(r->ctx, r->arena, paths[i], &study->name));
        } else {
            GN_TRY(gn_run_record_read(r->ctx, r->arena, paths[i], &r->runs[r->run_count++]));
        }
    }
    return GERNE_OK;
}

/* Runs of one name in different folders are called by their paths. */
static void tell_names_apart(report *r)
{
    for (size_t i = 0; i < r->run_count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(r->runs[i].name, r->runs[k].name) == 0) {
                r->runs[i].name = r->runs[i].path;
                r->runs[k].name = r->runs[k].path;
            }
}

static bool same_names(const char *const *a, const char *const *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(a[i], b[i]) != 0)
            return false;
    return true;
}

static gerne_status compare_data(gerne_ctx *ctx, const gn_run_record *first,
                                 const gn_run_record *other)
{
    const char *what = NULL;
    const char *const *ours = (const char *const *)first->class_names;
    const char *const *theirs = (const char *const *)other->class_names;
    if (first->classes && other->classes &&
        (first->classes != other->classes || !same_names(ours, theirs, first->classes)))
        what = "their classes";
    else if (first->classes && other->classes && first->attributes != other->attributes)
        what = "their attributes";
    else if (first->fingerprint && other->fingerprint &&
             strcmp(first->fingerprint, other->fingerprint) != 0)
        what = "the fingerprints of their data";
    if (!what)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EUSAGE, "the runs '%s' and '%s' have different data: %s differ", first->path,
            other->path, what);
    gn_hint(ctx, "compare runs on one dataset (same data.* keys), and write a separate "
                 "report for the others");
    return GERNE_EUSAGE;
}

/* ---- writing ---- */

/* Nothing is loaded, and no script runs but our own, which is named by its hash: should markup from
 * a file ever slip through, a browser does nothing with it. */
static void add_policy(gn_page *page)
{
    unsigned char digest[GN_SHA256_SIZE];
    gn_sha256 hash;
    gn_sha256_start(&hash);
    gn_sha256_add(&hash, "\n", 1); /* the line end after <script> belongs to it */
    gn_sha256_add(&hash, gn_report_script, strlen(gn_report_script));
    gn_sha256_end(&hash, digest);
    gn_page_add(page, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                      "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
                      "form-action 'none'; script-src 'sha256-");
    gn_page_base64(page, digest, sizeof digest);
    gn_page_add(page, "'\">\n");
}

static void add_head(gn_page *page, const report *r)
{
    gn_page_add(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    add_policy(page);
    gn_page_add(page,
                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                "<meta name=\"generator\" content=\"gerne %s\">\n<title>",
                gerne_version());
    if (r->study_count)
        gn_page_text(page, r->studies[0].name);
    else
        gn_page_text(page, r->runs[0].name);
    if (r->run_count + r->study_count > 1)
        gn_page_add(page, " and %zu more", r->run_count + r->study_count - 1);
    gn_page_add(page,
                " " GN_DOT " gerne report</title>\n<style>\n%s</style>\n</head>\n<body>\n"
                "<main>\n",
                gn_report_style);
}

static void add_title(gn_page *page, const char *name, const char *what)
{
    gn_page_fill(page, "<h1><b>%s</b> " GN_DOT " %s</h1>\n", name, what);
}

static const char *title_of(const gn_study_record *study)
{
    const char *title = gn_json_text(study->study, "title");
    const char *kind = gn_json_text(study->study, "kind");
    return title ? title : kind ? kind : "study";
}

/* "gerne, attributes unknown, on c-mnist, seed 0": what was asked, in a line. */
static void add_run_title(gn_page *page, gn_run_record *run)
{
    const char *attributes = gn_run_setting(run, "method.attributes");
    const char *format = gn_run_setting(run, "data.format");
    char title[320];
    snprintf(title, sizeof title, "%.80s%s%.80s%s%.80s, seed %lld",
             run->method ? run->method : "a run", attributes ? ", attributes " : "",
             attributes ? attributes : "", format ? ", on " : "", format ? format : "",
             (long long)run->seed);
    gn_mend_end(title);
    add_title(page, run->name, title);
}

static void add_body(gn_page *page, report *r)
{
    char title[64];
    for (size_t i = 0; i < r->study_count; i++) {
        add_title(page, r->studies[i].name, title_of(&r->studies[i]));
        gn_section_study(page, &r->studies[i]);
    }
    if (r->run_count == 1) {
        add_run_title(page, &r->runs[0]);
        gn_section_verdict(page, &r->runs[0]);
        gn_sections_of_run(page, &r->runs[0]);
    } else if (r->run_count > 1) {
        snprintf(title, sizeof title, "%zu runs on the same data", r->run_count);
        add_title(page, "Comparison", title);
        gn_section_comparison(page, r->runs, r->run_count);
    }
    gn_page_add(page,
                "<footer>Written by gerne %s. This file is self-contained: it loads "
                "nothing from "
                "elsewhere.</footer>\n</main>\n<script>\n%s</script>\n</body>\n"
                "</html>\n",
                gerne_version(), gn_report_script);
}

static gerne_status choose_out(report *r, const char *const *paths, size_t count,
                               const char *out_path)
{
    r->out = out_path ? out_path : "report.html";
    return !out_path && count == 1
               ? gn_path_join(r->ctx, r->arena, paths[0], "report.html", &r->out)
               : GERNE_OK;
}

/* ---- in short ---- */

static json_t *worst_json(const gn_run_record *run, ptrdiff_t worst)
{
    if (worst < 0)
        return json_null();
    return json_pack("{s:s,s:s}", "class", run->class_names[(size_t)worst / run->attributes],
                     "attribute", run->attribute_names[(size_t)worst % run->attributes]);
}

static json_t *divergence_json(const gn_run_record *run)
{
    const gn_divergence_record *d = &run->divergence;
    if (!d->there)
        return json_null();
    json_t *step = isfinite(d->step) ? json_integer((json_int_t)d->step) : json_null();
    return json_pack("{s:s?,s:o,s:o,s:s?,s:s?}", "stage", d->stage, "step", step, "loss",
                     gn_json_number(d->loss), "message", d->message, "hint", d->hint);
}

static json_t *run_json(const gn_run_record *run)
{
    static const gn_split_record none = {
        .acc_avg = NAN, .gba = NAN, .gba_lo = NAN, .wga = NAN, .wga_lo = NAN, .worst = -1};
    const gn_split_record *t = run->test.there ? &run->test : &none;
    json_t *json = json_pack(
        "{s:s,s:o,s:o,s:b,s:b,s:o,s:b}", "method", run->method ? run->method : "", "warnings",
        gn_json_names(run->warnings.items, run->warnings.count), "notes",
        gn_json_names(run->notes.items, run->notes.count), "complete", run->results != NULL,
        "running", run->running, "diverged", divergence_json(run), "oracle", run->selection.oracle);
    json_object_set_new(json, "path", json_string(run->path));
    json_object_set_new(json, "n", t->there ? json_integer((json_int_t)t->n) : json_null());
    json_object_set_new(json, "wga", gn_json_number(t->wga));
    json_object_set_new(json, "wga_ci95", gn_json_interval((gn_interval){t->wga_lo, t->wga_hi}));
    json_object_set_new(json, "gba", gn_json_number(t->gba));
    json_object_set_new(json, "gba_ci95", gn_json_interval((gn_interval){t->gba_lo, t->gba_hi}));
    json_object_set_new(json, "acc_avg", gn_json_number(t->acc_avg));
    json_object_set_new(json, "worst_group", worst_json(run, t->worst));
    return json;
}

static json_t *comparison_json(const report *r)
{
    json_t *list = json_array();
    for (size_t i = 1; i < r->run_count; i++) {
        const gn_run_record *run = &r->runs[i];
        if (!run->is_paired)
            continue;
        json_t *json = gn_comparison_json(&run->difference);
        json_object_set_new(json, "n", json_integer((json_int_t)run->test.n));
        json_object_set_new(json, "run", json_string(run->path));
        json_object_set_new(json, "reference", json_string(r->runs[0].path));
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *study_json(const gn_study_record *study)
{
    static const char *const keys[] = {"kind", "title", "selection", "complete", "counts"};
    json_t *json = json_object();
    json_object_set_new(json, "path", json_string(study->path));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        json_t *value = json_object_get(study->study, keys[i]);
        json_object_set(json, keys[i], value ? value : json_null());
    }
    json_t *best = json_array_get(json_object_get(study->study, "ranking"), 0);
    json_object_set(json, "best", best ? best : json_null());
    return json;
}

static json_t *summarise(const report *r, size_t bytes)
{
    json_t *runs = json_array(), *studies = json_array();
    for (size_t i = 0; i < r->run_count; i++)
        json_array_append_new(runs, run_json(&r->runs[i]));
    for (size_t i = 0; i < r->study_count; i++)
        json_array_append_new(studies, study_json(&r->studies[i]));
    return json_pack("{s:s,s:I,s:o,s:o,s:o}", "report", r->out, "bytes", (json_int_t)bytes, "runs",
                     runs, "comparison", comparison_json(r), "studies", studies);
}

/* ---- all of it ---- */

static gerne_status make(report *r, const char *const *paths, size_t count, const char *out_path,
                         json_t **summary)
{
    GN_LOCAL(gn_page) page = {.ctx = r->ctx};
    GN_TRY(gn_arena_new(r->ctx, &r->arena));
    GN_TRY(read_all(r, paths, count));
    for (size_t i = 1; i < r->run_count; i++)
        GN_TRY(compare_data(r->ctx, &r->runs[0], &r->runs[i]));
    tell_names_apart(r);
    GN_TRY(gn_pair_runs(r->runs, r->run_count));
    GN_TRY(choose_out(r, paths, count, out_path));
    add_head(&page, r);
    add_body(&page, r);
    GN_TRY(gn_page_status(&page));
    GN_TRY(gn_file_write(r->ctx, r->out, page.text.bytes, page.text.size));
    if (summary)
        *summary = summarise(r, page.text.size);
    return GERNE_OK;
}

gerne_status gn_report_write_summary(gerne_ctx *ctx, const char *const *paths, size_t count,
                                     const char *out_path, json_t **summary)
{
    report r = {.ctx = ctx};
    if (summary)
        *summary = NULL;
    if (count == 0)
        return gn_fail(ctx, GERNE_EUSAGE, "nothing to report on: no run or study given");
    gerne_status status = make(&r, paths, count, out_path, summary);
    for (size_t i = 0; i < r.run_count; i++)
        gn_run_record_free(&r.runs[i]);
    for (size_t i = 0; i < r.study_count; i++)
        gn_study_record_free(&r.studies[i]);
    gn_free(r.runs);
    gn_free(r.studies);
    gn_arena_close(r.arena);
    return status;
}

gerne_status gn_report_write(gerne_ctx *ctx, const char *const *paths, size_t count,
                             const char *out_path)
{
    return gn_report_write_summary(ctx, paths, count, out_path, NULL);
}
