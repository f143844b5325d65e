#include "report/record.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "report/page.h"

enum { CONFIG_LIMIT = 1 << 20, STUDY_LIMIT = 1 << 28, PATH_BYTES = 4096 };

/* ---- small services ---- */

bool gn_json_range(const json_t *object, const char *key, double *lo, double *hi)
{
    const json_t *list = json_object_get(object, key);
    const json_t *first = json_array_get(list, 0), *second = json_array_get(list, 1);
    bool there = json_is_number(first) && json_is_number(second);
    *lo = there ? json_number_value(first) : NAN;
    *hi = there ? json_number_value(second) : NAN;
    return there;
}

gerne_status gn_record_path(gn_run_record *run, const char *name, const char **out)
{
    return gn_path_join(run->ctx, run->arena, run->path, name, out);
}

static gerne_status add_text(gn_run_record *run, gn_text_list *list, const char *text)
{
    GN_TRY(gn_grow(run->ctx, &list->items, &list->capacity, list->count + 1, sizeof *list->items,
                   "texts of a run"));
    GN_TRY(gn_arena_copy_text(run->ctx, run->arena, text, &list->items[list->count]));
    list->count++;
    return GERNE_OK;
}

gerne_status gn_run_note(gn_run_record *run, const char *format, ...)
{
    char text[1024];
    GN_FORMAT(text, format);
    gn_mend_end(text);
    return add_text(run, &run->notes, text);
}

gerne_status gn_take_warning(gn_run_record *run, const json_t *text)
{
    return json_is_string(text) ? add_text(run, &run->warnings, json_string_value(text)) : GERNE_OK;
}

const char *gn_run_setting(const gn_run_record *run, const char *key)
{
    const gn_setting *setting = gn_settings_find(&run->config, key);
    return setting && setting->count ? setting->items[0] : NULL;
}

const char *gn_group_name(const gn_run_record *run, size_t group, char *out, size_t size)
{
    size_t y = group / run->attributes, a = group % run->attributes;
    if (y >= run->classes)
        snprintf(out, size, "group %zu", group);
    else if (run->attributes == 1)
        snprintf(out, size, "%s", run->class_names[y]);
    else
        snprintf(out, size, "%s " GN_DOT " %s", run->class_names[y], run->attribute_names[a]);
    gn_mend_end(out);
    return out;
}

gerne_status gn_base_name(gerne_ctx *ctx, gn_arena *arena, const char *path, const char **out)
{
    char absolute[PATH_BYTES], *name;
    *out = path;
    if (strcmp(path, ".") == 0 && getcwd(absolute, sizeof absolute))
        path = absolute;
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    size_t begin = size;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    if (begin == size)
        return GERNE_OK;
    GN_TRY(gn_arena_alloc(ctx, arena, size - begin + 1, 1, &name));
    memcpy(name, path + begin, size - begin);
    *out = name;
    return GERNE_OK;
}

/* ---- what is there ---- */

static bool has(const char *directory, const char *name)
{
    char path[PATH_BYTES];
    int size = snprintf(path, sizeof path, "%s/%s", directory, name);
    return size > 0 && (size_t)size < sizeof path && gn_path_exists(path);
}

gerne_status gn_record_kind(gerne_ctx *ctx, const char *path, bool *is_study)
{
    *is_study = has(path, "study.json");
    if (*is_study || has(path, "config.yaml") || has(path, "results.json"))
        return GERNE_OK;
    if (!gn_path_exists(path))
        return gn_fail(ctx, GERNE_EUSAGE, "there is no directory '%s'", path);
    if (!gn_is_directory(path)) {
        gn_fail(ctx, GERNE_EUSAGE, "'%s' is a file, not the directory of a run or study", path);
        gn_hint(ctx, "give the directory that 'gerne train --out' wrote");
        return GERNE_EUSAGE;
    }
    if (has(path, "ledger.sqlite")) {
        gn_fail(ctx, GERNE_EUSAGE, "the study in '%s' has no study.json yet", path);
        gn_hint(ctx, "it is written when the study ends or is interrupted; run the same "
                     "command again to resume it");
        return GERNE_EUSAGE;
    }
    gn_fail(ctx, GERNE_EUSAGE,
            "'%s' is neither a run nor a study: it has no config.yaml, results.json or study.json",
            path);
    gn_hint(ctx, "give the directory that 'gerne train --out' or 'gerne tune' wrote");
    return GERNE_EUSAGE;
}

/* A trainer holds its directory with flock. */
static bool in_use(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return false;
    bool held = flock(folder, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(folder);
    return held;
}

static gerne_status read_config(gn_run_record *run)
{
    const char *path;
    GN_TRY(gn_record_path(run, "config.yaml", &path));
    if (!gn_path_exists(path))
        return gn_run_note(run, "config.yaml is missing: the configuration is known only in part.");
    GN_TRY(gn_file_read(run->ctx, path, CONFIG_LIMIT, &run->config_text));
    return gn_settings_parse(run->ctx, run->config_text.bytes ? run->config_text.bytes : "",
                             run->config_text.size, path, &run->config);
}

static gerne_status say_unfinished(gn_run_record *run)
{
    if (run->results || run->divergence.there)
        return GERNE_OK;
    run->running = in_use(run->path);
    if (run->running)
        return gn_run_note(run, "The run is still running: this is its state when the report was "
                                "written. Write the report again when the run has ended.");
    return gn_run_note(run, "The run has not finished (no results.json): it was stopped, or it "
                            "failed. 'gerne train --resume' resumes it.");
}

gn_state_words gn_run_state(const gn_run_record *run)
{
    gn_state_words words;
    const char *plain = run->divergence.there ? "diverged"
                        : run->running        ? "still running"
                                              : "not finished";
    if (run->divergence.there && isfinite(run->divergence.step))
        snprintf(words.text, sizeof words.text, "diverged at step %s",
                 gn_show_whole(run->divergence.step).text);
    else
        snprintf(words.text, sizeof words.text, "%s", plain);
    return words;
}

/* What the configuration tells where the results do not. */
static void fill_from_config(gn_run_record *run)
{
    const char *seed = gn_run_setting(run, "seed");
    int64_t number;
    if (!run->method)
        run->method = gn_run_setting(run, "method.name");
    if (!run->results && seed && gn_parse_int(seed, &number))
        run->seed = (json_int_t)number;
    if (!run->selection.metric)
        run->selection.metric = gn_run_setting(run, "select.metric");
    if (!run->selection.split) {
        run->selection.split = gn_run_setting(run, "select.split");
        run->selection.oracle = run->selection.split && strcmp(run->selection.split, "test") == 0;
    }
}

gerne_status gn_run_record_read(gerne_ctx *ctx, gn_arena *arena, const char *path,
                                gn_run_record *out)
{
    *out = (gn_run_record){.ctx = ctx,
                           .arena = arena,
                           .path = path,
                           .seconds = NAN,
                           .divergence = {.step = NAN, .loss = NAN},
                           .config = {.arena = arena},
                           .selection = {.epoch = NAN, .step = NAN}};
    GN_TRY(gn_base_name(ctx, arena, path, &out->name));
    GN_TRY(read_config(out));
    GN_TRY(gn_read_results(out));
    GN_TRY(gn_read_log(out));
    GN_TRY(gn_read_divergence(out));
    GN_TRY(say_unfinished(out));
    fill_from_config(out);
    GN_TRY(gn_read_predictions(out));
    return gn_read_pictures(out);
}

void gn_run_record_free(gn_run_record *run)
{
    gn_settings_free(&run->config);
    gn_text_free(&run->config_text);
    json_decref(run->results);
    json_decref(run->start);
    for (size_t i = 0; i < run->stage_count; i++)
        gn_curves_close(&run->stages[i].curves);
    for (size_t i = 0; i < run->picture_count; i++)
        gn_text_free(&run->pictures[i].bytes);
    gn_prediction_file_free(&run->predictions);
    gn_comparison_free(&run->difference);
    gn_free(run->warnings.items);
    gn_free(run->notes.items);
}

gerne_status gn_study_record_read(gerne_ctx *ctx, const char *path, gn_study_record *out)
{
    char file[PATH_BYTES];
    out->path = path;
    snprintf(file, sizeof file, "%s/study.json", path);
    GN_TRY(gn_json_read(ctx, file, STUDY_LIMIT, &out->study));
    if (!json_is_object(out->study))
        return gn_fail(ctx, GERNE_EDATA, "%s is not the description of a study", file);
    return GERNE_OK;
}

void gn_study_record_free(gn_study_record *study)
{
    json_decref(study->study);
}
