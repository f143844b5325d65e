/* workers.c - how the trials of a search share the threads. A small network gains little from a
 * second thread, so that two trials with one thread each finish sooner than one after the other
 * with two. The answer must not depend on the number of trials, which may grow: threads are part of
 * what makes a study what it is.
 */
#include <stdio.h>
#include <string.h>

#include "engine/device.h"
#include "train/default_network.h"
#include "tune/tune.h"

/* Methods from plugins may not be prepared for several runs in one process. */
static gerne_status runs_side_by_side(const gn_tuner *t, const gn_dataset *data, bool *out)
{
    const gn_architecture *architecture;
    GN_TRY(gn_architecture_find(t->ctx, gn_architecture_name(t->config, data), &architecture));
    *out = gn_architecture_is_small(architecture) && !t->config->method_choice.plugin_sha256;
    return GERNE_OK;
}

static gerne_status count_workers(gn_tuner *t, const gn_dataset *data, size_t threads)
{
    bool small;
    GN_TRY(runs_side_by_side(t, data, &small));
    int64_t asked = t->request->options.workers;
    t->workers = asked ? (size_t)asked : small ? threads : 1;
    return GERNE_OK;
}

gerne_status gn_tune_divide(gn_tuner *t, const gn_dataset *data)
{
    const gn_settings *from = t->request->base;
    int64_t given = t->config->top.threads;
    size_t threads = given > 0 ? (size_t)given : (size_t)gn_threads_of_caller();
    char text[32];
    const char *each = text;
    GN_TRY(count_workers(t, data, threads));
    t->base = (gn_settings){.source = from->source, .arena = t->arena};
    for (size_t i = 0; i < from->count; i++) {
        const gn_setting *s = &from->list[i];
        if (t->workers == 1 || strcmp(s->key, "threads") != 0)
            GN_TRY(
                gn_settings_add(t->ctx, &t->base, s->key, s->items, s->count, s->is_list, s->line));
    }
    if (t->workers == 1)
        return GERNE_OK;
    snprintf(text, sizeof text, "%zu", threads > t->workers ? threads / t->workers : 1);
    return gn_settings_add(t->ctx, &t->base, "threads", &each, 1, false, 0);
}
