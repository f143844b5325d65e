#include "train/shared_data.h"

#include <stdio.h>
#include <string.h>

typedef struct printer {
    gerne_ctx *ctx;
    const gn_config *config;
    gn_text *out;
} printer;

static gerne_status print_key(void *user, const char *section, const char *summary,
                              const gn_option *option)
{
    const printer *p = user;
    char key[128];
    void *target;
    (void)summary;
    snprintf(key, sizeof key, "%s.%s", section, option->name);
    if (strcmp(section, "data") != 0 || !gn_config_find(p->config, key, &target))
        return GERNE_OK;
    GN_TRY(gn_text_add(p->ctx, p->out, "%s: ", key));
    GN_TRY(gn_option_print(p->ctx, option, target, p->out));
    return gn_text_add(p->ctx, p->out, "\n");
}

/* All that decides what is read. */
static gerne_status print_keys(gerne_ctx *ctx, const gn_run_config *config, gn_text *out)
{
    printer p = {.ctx = ctx, .config = config->config, .out = out};
    GN_TRY(gn_config_visit(config->config, print_key, &p));
    return gn_text_add(ctx, out, "model.vocab: %s\ncache: %s\n",
                       config->model.vocab ? config->model.vocab : "",
                       config->top.cache ? config->top.cache : "");
}

gerne_status gn_shared_data_find(gerne_ctx *ctx, const gn_run_config *config, gn_dataset **out)
{
    gn_shared_data *shared = config->shared;
    GN_LOCAL(gn_text) keys = {0};
    *out = NULL;
    if (!shared)
        return GERNE_OK;
    GN_TRY(print_keys(ctx, config, &keys));
    pthread_mutex_lock(&shared->lock);
    if (shared->dataset && strcmp(keys.bytes, shared->keys.bytes) == 0)
        *out = gn_dataset_share(shared->dataset);
    pthread_mutex_unlock(&shared->lock);
    return GERNE_OK;
}

gerne_status gn_shared_data_keep(gerne_ctx *ctx, const gn_run_config *config, gn_dataset *dataset)
{
    gn_shared_data *shared = config->shared;
    GN_LOCAL(gn_text) keys = {0};
    if (!shared)
        return GERNE_OK;
    GN_TRY(print_keys(ctx, config, &keys));
    pthread_mutex_lock(&shared->lock);
    gn_dataset *before = shared->dataset;
    gn_text keys_before = shared->keys;
    shared->dataset = gn_dataset_share(dataset);
    shared->keys = keys;
    keys = keys_before;
    pthread_mutex_unlock(&shared->lock);
    gn_dataset_close(before);
    return GERNE_OK;
}

void gn_shared_data_free(gn_shared_data *shared)
{
    gn_text_free(&shared->keys);
    gn_dataset_close(shared->dataset);
    pthread_mutex_destroy(&shared->lock);
}
