#include "cli/client.h"

#include <string.h>

#include "train/trained_options.h"

gerne_status gn_set_flags(gn_cli *cli, gn_flag_filter *filter, const void *user,
                          gerne_config *config)
{
    for (size_t i = 0; i < cli->flags.count; i++) {
        const gn_setting *flag = &cli->flags.list[i];
        if (filter(user, flag->key))
            GN_TRY(gerne_config_set(cli->ctx, config, flag->key, flag->items[0]));
    }
    return GERNE_OK;
}

/* ---- models ---- */

static bool models_know(const void *user, const char *key)
{
    return gn_config_knows(user, key);
}

static gerne_status open_model(gn_cli *cli, gn_config *known, gerne_model **out)
{
    gerne_config *config;
    gn_trained_options unused;
    GN_TRY(gn_trained_options_add_all(cli->ctx, known, &unused));
    GN_TRY(gerne_config_new(cli->ctx, &config));
    gerne_status status = gn_set_flags(cli, models_know, known, config);
    if (status == GERNE_OK)
        status = gerne_model_open(cli->ctx, cli->arguments[0], config, out);
    gerne_config_close(config);
    return status;
}

gerne_status gn_open_model(gn_cli *cli, gerne_model **out)
{
    gn_config *known;
    *out = NULL;
    GN_TRY(gn_config_new(cli->ctx, &known));
    gerne_status status = open_model(cli, known, out);
    gn_config_close(known);
    return status;
}

/* ---- data ---- */

bool gn_is_data_key(const void *unused, const char *key)
{
    (void)unused;
    return strncmp(key, "data.", strlen("data.")) == 0;
}

bool gn_has_data_keys(const gn_cli *cli)
{
    for (size_t i = 0; i < cli->flags.count; i++)
        if (gn_is_data_key(NULL, cli->flags.list[i].key))
            return true;
    return false;
}

/* ---- output ---- */

gerne_form gn_form(const gn_cli *cli)
{
    return cli->json ? GERNE_JSON : GERNE_TEXT;
}

gerne_status gn_output_text(gn_cli *cli, gerne_status status, char *text)
{
    if (status == GERNE_OK)
        status = gn_text_add(cli->ctx, &cli->output, "%s", text);
    gerne_free(text);
    return status;
}
