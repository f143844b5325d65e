/* section_run.c - verdict, what was asked, how to repeat it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/sections.h"

gn_shown gn_interval_words(double lo, double hi)
{
    gn_shown words;
    if (!isfinite(lo) || !isfinite(hi))
        snprintf(words.text, sizeof words.text, "no interval");
    else
        snprintf(words.text, sizeof words.text, "%.1f to %.1f", 100 * lo, 100 * hi);
    return words;
}

enum { PART_CHARACTERS = 40 };

void gn_page_group(gn_page *page, const gn_run_record *run, size_t group, bool title)
{
    char name[512];
    size_t y = group / run->attributes, a = group % run->attributes;
    bool both = run->attributes > 1;
    bool cut = title && (strlen(run->class_names[y]) > PART_CHARACTERS ||
                         (both && strlen(run->attribute_names[a]) > PART_CHARACTERS));
    if (cut)
        gn_page_fill(page, "<span title=\"%s\">", gn_group_name(run, group, name, sizeof name));
    gn_page_text_cut(page, run->class_names[y], PART_CHARACTERS);
    if (both)
        gn_page_fill(page, " " GN_DOT " %.*s", PART_CHARACTERS, run->attribute_names[a]);
    gn_page_add(page, "%s", cut ? "</span>" : "");
}

/* ---- verdict ---- */

/* The last evaluation of the last stage, for runs without results; nothing without one. */
static void add_last_evaluation(gn_page *page, const gn_run_record *run, const char *nothing)
{
    const gn_curves *curves = run->stage_count ? &run->stages[run->stage_count - 1].curves : NULL;
    ptrdiff_t wga = curves ? gn_curves_find(curves, "val/wga") : -1;
    if (wga < 0 || curves->rows == 0)
        gn_page_add(page, "%s", nothing);
    else
        gn_page_add(page, "worst group %s on validation at step %s",
                    gn_show_percent(gn_curves_at(curves, (size_t)wga, curves->rows - 1), 1).text,
                    gn_show_number(gn_curves_at(curves, 0, curves->rows - 1)).text);
}

static void add_verdict_so_far(gn_page *page, const gn_run_record *run)
{
    gn_page_add(page, "<p class=\"verdict\">Not finished: ");
    add_last_evaluation(page, run, "nothing has been evaluated yet");
    gn_page_add(page, "</p>\n");
}

void gn_page_divergence(gn_page *page, const gn_run_record *run)
{
    static const char said[] = "diverged at step ";
    const gn_divergence_record *d = &run->divergence;
    const char *why = d->message;
    if (why && strncmp(why, said, sizeof said - 1) == 0 && strchr(why, ':'))
        why = strchr(why, ':') + 1 + strspn(strchr(why, ':') + 1, " ");
    if (d->stage && strcmp(d->stage, "main") != 0)
        gn_page_fill(page, " of the stage %.*s", PART_CHARACTERS, d->stage);
    if (why) {
        gn_page_fill(page, ": <span>%.*s</span>", GN_WARNING_CHARACTERS, why);
    }
}

static void add_verdict_diverged(gn_page *page, const gn_run_record *run)
{
    const gn_divergence_record *d = &run->divergence;
    gn_page_add(page, "<p class=\"verdict\">D%s", gn_run_state(run).text + strlen("d"));
    gn_page_divergence(page, run);
    gn_page_add(page, "</p>\n<p class=\"lead\">Training ended there, without a test figure. Last "
                      "evaluation: ");
    add_last_evaluation(page, run, "none");
    gn_page_add(page, ".");
    if (d->hint && *d->hint)
        gn_page_fill(page, "</p>\n<p class=\"lead\"><b>Hint:</b> %.*s", GN_WARNING_CHARACTERS,
                     d->hint);
    gn_page_add(page, "</p>\n");
}

static void add_verdict(gn_page *page, const gn_run_record *run)
{
    const gn_split_record *test = &run->test;
    if (run->divergence.there) {
        add_verdict_diverged(page, run);
        return;
    }
    if (!test->there) {
        add_verdict_so_far(page, run);
        return;
    }
    gn_page_add(page, "<p class=\"verdict\">Worst group %s", gn_show_percent(test->wga, 1).text);
    if (isfinite(test->wga_lo))
        gn_page_add(page, " <span>(95" GN_NARROW_SPACE "%% interval %s)</span>",
                    gn_interval_words(test->wga_lo, test->wga_hi).text);
    gn_page_add(page, "</p>\n<p class=\"lead\">");
    if (test->worst >= 0) {
        gn_page_add(page, "Group ");
        gn_page_group(page, run, (size_t)test->worst, true);
        gn_page_add(page, " is the worst of %s groups on the test split of %s samples. ",
                    gn_show_count((uint64_t)run->classes * run->attributes).text,
                    gn_show_count(test->n).text);
    }
    gn_page_add(page, "The mean of the groups is %s.</p>\n", gn_show_percent(test->gba, 1).text);
}

static void add_stamps(gn_page *page, const gn_run_record *run)
{
    const gn_selection_record *s = &run->selection;
    if (run->divergence.there) /* the verdict says so, and no checkpoint was chosen */
        return;
    if (!run->results)
        gn_page_add(page, "<span class=\"stamp open\">%s</span>", gn_run_state(run).text);
    if (s->oracle) {
        gn_page_add(page, "<span class=\"stamp oracle\">ORACLE: the checkpoint was selected on the "
                          "test split that it is evaluated on</span>");
    } else if (s->metric) {
        gn_page_fill(page, "<span class=\"stamp\">selected on validation by %s", s->metric);
        if (isfinite(s->step))
            gn_page_add(page, ", step %s", gn_show_whole(s->step).text);
        gn_page_add(page, "</span><span class=\"stamp\">test labels not used for selection</span>");
    }
    gn_page_add(page, "\n");
}

static void add_figure(gn_page *page, const char *name, const char *value, const char *below)
{
    gn_page_add(page, "<div><dt>%s</dt><dd>%s<small>%s</small></dd></div>", name, value, below);
}

static void add_figures(gn_page *page, const gn_run_record *run)
{
    const gn_split_record *t = &run->test;
    char below[96];
    if (!t->there)
        return;
    gn_page_add(page, "<dl class=\"figures\">");
    snprintf(below, sizeof below, "WGA, %s", gn_interval_words(t->wga_lo, t->wga_hi).text);
    add_figure(page, "Worst group", gn_show_percent(t->wga, 1).text, below);
    snprintf(below, sizeof below, "GBA, %s", gn_interval_words(t->gba_lo, t->gba_hi).text);
    add_figure(page, "Mean of groups", gn_show_percent(t->gba, 1).text, below);
    snprintf(below, sizeof below, "%s test samples", gn_show_count(t->n).text);
    add_figure(page, "All samples", gn_show_percent(t->acc_avg, 1).text, below);
    add_figure(page, "Worst class", gn_show_percent(t->worst_class, 1).text, "lowest recall");
    if (isfinite(t->auroc))
        add_figure(page, "AUROC", gn_show_number(t->auroc).text, "1 is perfect");
    if (isfinite(t->ece))
        add_figure(page, "Calibration error", gn_show_percent(t->ece, 1).text, "0 is perfect");
    gn_page_add(page, "</dl>\n");
}

static void add_notes(gn_page *page, const gn_run_record *run)
{
    size_t warned = run->warnings.count;
    if (!warned && !run->notes.count)
        return;
    gn_page_add(page, "<ul class=\"remarks\">");
    for (size_t i = 0; i < warned && i < GN_WARNINGS_SHOWN; i++)
        gn_page_fill(page, "<li><b>Warning:</b> %.*s</li>", GN_WARNING_CHARACTERS,
                     run->warnings.items[i]);
    if (warned > GN_WARNINGS_SHOWN)
        gn_page_add(page, "<li>%zu more warnings are in log.jsonl.</li>",
                    warned - GN_WARNINGS_SHOWN);
    for (size_t i = 0; i < run->notes.count; i++)
        gn_page_fill(page, "<li>%s</li>", run->notes.items[i]);
    gn_page_add(page, "</ul>\n");
}

static void add_checkpoint(gn_page *page, const char *name, const gn_split_record *test,
                           const gn_split_record *val)
{
    if (!test->there)
        return;
    gn_page_add(page, "<tr><td>%s</td>", name);
    const double values[] = {test->wga, test->gba, val ? val->wga : NAN, val ? val->gba : NAN};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        gn_page_add(page, "<td class=\"n\">%s</td>", gn_show_percent(values[i], 2).text);
    gn_page_add(page, "</tr>");
}

static void add_checkpoints(gn_page *page, const gn_run_record *run)
{
    if (!run->test.there || !run->last_test.there)
        return;
    gn_page_add(page, "<div class=\"scroll\"><table><thead><tr><th>checkpoint</th>"
                      "<th class=\"n\">test WGA</th><th class=\"n\">test GBA</th>"
                      "<th class=\"n\">val WGA</th><th class=\"n\">val GBA</th></tr></thead>"
                      "<tbody>");
    add_checkpoint(page, run->selection.oracle ? "selected (oracle)" : "selected", &run->test,
                   &run->val);
    add_checkpoint(page, "last", &run->last_test, &run->last_val);
    if (run->oracle_test.there)
        add_checkpoint(page, "best on test (oracle)", &run->oracle_test, NULL);
    gn_page_add(page, "</tbody></table></div>\n");
}

void gn_section_verdict(gn_page *page, gn_run_record *run)
{
    add_verdict(page, run);
    add_stamps(page, run);
    add_notes(page, run);
    add_figures(page, run);
}

/* ---- what was asked ---- */

static void add_pair(gn_page *page, const char *key, const char *value)
{
    gn_page_add(page, "<span%s><i>", strlen(value) > 28 ? " class=\"long\"" : "");
    gn_page_fill(page, "%s</i> %s</span> ", key, value);
}

static bool is_set(const gn_setting *setting)
{
    return setting && setting->count && (setting->count > 1 || *setting->items[0]);
}

static void add_setting(gn_page *page, const char *key, const gn_setting *setting)
{
    if (setting->count == 1) {
        add_pair(page, key, setting->items[0]);
        return;
    }
    gn_page_fill(page, "<span class=\"long\"><i>%s</i> ", key);
    for (size_t i = 0; i < setting->count; i++) {
        gn_page_add(page, "%s", i ? ", " : "");
        gn_page_text(page, setting->items[i]);
    }
    gn_page_add(page, "</span> ");
}

/* The named keys of a section that are set; a NULL ends them. */
static void add_keys(gn_page *page, gn_run_record *run, const char *title, const char *section,
                     const char *const *keys)
{
    char full[96];
    bool any = false;
    for (; *keys; keys++) {
        snprintf(full, sizeof full, "%s.%s", section, *keys);
        const gn_setting *setting = gn_settings_find(&run->config, full);
        if (!is_set(setting))
            continue;
        if (!any)
            gn_page_add(page, "<dt>%s</dt><dd>", title);
        any = true;
        add_setting(page, *keys, setting);
    }
    if (any)
        gn_page_add(page, "</dd>\n");
}

/* Every option of the method: they differ from method to method. */
static void add_method(gn_page *page, gn_run_record *run)
{
    gn_page_add(page, "<dt>Method</dt><dd>");
    add_pair(page, "name", run->method ? run->method : "unknown");
    for (size_t i = 0; i < run->config.count; i++) {
        const gn_setting *setting = &run->config.list[i];
        bool own = strncmp(setting->key, "method.", 7) == 0;
        if (own && strcmp(setting->key, "method.name") != 0 && is_set(setting))
            add_setting(page, setting->key + 7, setting);
    }
    gn_page_add(page, "</dd>\n");
}

static void add_origin(gn_page *page, gn_run_record *run)
{
    char number[32];
    gn_page_add(page, "<dt>Run</dt><dd>");
    snprintf(number, sizeof number, "%lld", (long long)run->seed);
    add_pair(page, "seed", number);
    if (run->threads > 0) {
        snprintf(number, sizeof number, "%lld", (long long)run->threads);
        add_pair(page, "threads", number);
    }
    if (run->version)
        add_pair(page, "gerne", run->version);
    if (isfinite(run->seconds)) {
        snprintf(number, sizeof number, "%.*f s", run->seconds < 10 ? 1 : 0, run->seconds);
        add_pair(page, "took", number);
    }
    if (run->run_hash) {
        snprintf(number, sizeof number, "%.12s", run->run_hash);
        add_pair(page, "run hash", number);
    }
    if (run->fingerprint) {
        snprintf(number, sizeof number, "%.12s", run->fingerprint);
        add_pair(page, "data fingerprint", number);
    }
    gn_page_add(page, "</dd>\n");
}

void gn_section_asked(gn_page *page, gn_run_record *run)
{
    static const char *const data[] = {
        "format", "dir", "file",   "construction", "ratio",   "severity",    "n",        "val",
        "y",      "a",   "preset", "resize",       "augment", "standardize", "train_on", "fold",
        "seed",   NULL};
    static const char *const model[] = {"arch",  "hidden", "weights", "variant", "freeze",
                                        "views", "bn",     "dropout", NULL};
    static const char *const train[] = {"optimizer", "lr",      "momentum", "weight_decay",
                                        "schedule",  "clip",    "batch",    "per_group",
                                        "per_class", "epochs",  "steps",    "eval_every",
                                        "precision", "average", NULL};
    static const char *const select[] = {"metric", "split", NULL};
    gn_page_add(page, "<h2>Configuration</h2>\n<dl class=\"facts\">");
    add_method(page, run);
    add_keys(page, run, "Data", "data", data);
    add_keys(page, run, "Network", "model", model);
    add_keys(page, run, "Training", "train", train);
    add_keys(page, run, "Selection", "select", select);
    add_origin(page, run);
    gn_page_add(page, "</dl>\n");
    add_checkpoints(page, run);
    if (run->config_text.size)
        gn_page_fill(page,
                     "<details><summary>Full configuration</summary><pre>%s</pre></details>\n",
                     run->config_text.bytes);
}

/* ---- again ---- */

void gn_section_repeat(gn_page *page, gn_run_record *run)
{
    char path[4096];
    gn_page_add(page, "<h2>Reproduce this run</h2>\n");
    if (!run->results && !run->divergence.there) {
        gn_page_add(page, "<p>This resumes the run exactly where it stopped:</p>"
                          "<pre class=\"command\">gerne train --resume ");
        gn_page_shell(page, run->path);
        gn_page_add(page, "</pre>\n");
        return;
    }
    gn_page_add(page, "<p>%s</p><pre class=\"command\">gerne train ",
                run->divergence.there
                    ? "Resuming would diverge again. This command, from the same folder, starts a "
                      "new run; add the keys to change, such as a lower --train.lr:"
                    : "This command, run from the same folder, gives the same bits with the same "
                      "program, type of CPU and number of threads:");
    snprintf(path, sizeof path, "%s/config.yaml", run->path);
    gn_page_shell(page, path);
    size_t size = strlen(run->path);
    while (size > 1 && run->path[size - 1] == '/')
        size--;
    snprintf(path, sizeof path, "%.*s-again", (int)(size < 4000 ? size : 4000), run->path);
    gn_page_add(page, " --out ");
    gn_page_shell(page, path);
    if (run->threads > 0)
        gn_page_add(page, " --threads %lld", (long long)run->threads);
    gn_page_add(page, "</pre>\n");
}

void gn_sections_of_run(gn_page *page, gn_run_record *run)
{
    gn_section_groups(page, run);
    gn_section_pictures(page, run);
    gn_section_confusion(page, run);
    gn_section_curves(page, run);
    gn_section_data(page, run);
    gn_section_beta(page, run);
    gn_section_asked(page, run);
    gn_section_repeat(page, run);
    gn_page_forget(page);
}
