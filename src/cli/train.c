/* train.c - gerne train: one run into a run directory, or resuming one. */
#include <string.h>

#include "base/file.h"
#include "cli/command.h"
#include "train/train.h"

typedef struct train_flags {
    const char *resume;
} train_flags;

static train_flags given;
static gn_run_config described; /* where the tables of help point to */

static const gn_option options[] = {
    {"resume", GN_TEXT, offsetof(train_flags, resume),
     .help = "resume the run in this directory exactly where it stopped"},
};

static const char help[] =
    "Trains a network and writes the run directory (--out): config.yaml, log.jsonl,\n"
    "results.json, predictions.csv of the test split, best.safetensors, last.ckpt, a\n"
    "TensorBoard event file, images of the worst group's errors, and report.html, which\n"
    "shows all of it. Every key below can also be set in the YAML file, under its section;\n"
    "flags override the file.\n"
    "\n"
    "  gerne train --method.name erm --out runs/erm              the embedded synthetic data\n"
    "  gerne train --method.c 0.5 --method.beta 1 --out runs/gerne\n"
    "  gerne train --method.attributes unknown --method.t 0.01 --out runs/unknown\n"
    "  gerne train config.yaml --seed 1 --out runs/seed1\n"
    "  gerne train --resume runs/seed1\n"
    "  gerne train --plugin mine.so --method.name mine --out runs/mine     a method of your own\n"
    "\n"
    "The checkpoint with the best select.metric on the validation split is selected; the\n"
    "test split is read once, at the end. A run that was interrupted or killed is resumed\n"
    "with --resume and gives the same bits as an uninterrupted one; if its method comes from a\n"
    "plug-in, with the same --plugin.\n";

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_config_add(cli->ctx, cli->config, "", "Resuming", options, 1, &given));
    return gn_run_config_describe(cli->ctx, cli->config, cli->arena, &described);
}

static bool is_own(const char *key)
{
    static const char *const keys[] = {"resume", "json", "quiet", GN_PLUGIN_FLAG};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* Flags of the command itself, or those of the run. */
static gerne_status pick_flags(gn_cli *cli, bool own, gn_settings *out)
{
    out->arena = cli->arena;
    for (size_t i = 0; i < cli->flags.count; i++) {
        const gn_setting *s = &cli->flags.list[i];
        if (is_own(s->key) == own)
            GN_TRY(gn_settings_add(cli->ctx, out, s->key, s->items, s->count, s->is_list, 0));
    }
    return GERNE_OK;
}

/* A finished run that has a report is left alone. */
static gerne_status write_report(gn_cli *cli, const char *directory)
{
    const char *path;
    GN_TRY(gn_path_join(cli->ctx, cli->arena, directory, "report.html", &path));
    return gn_path_exists(path) ? GERNE_OK : gn_close_with_report(cli, directory);
}

/* A diverged run gets its report, too; what is told remains the divergence. */
static gerne_status close_run(gn_cli *cli, const char *directory, gerne_status status)
{
    if (status == GERNE_OK)
        return write_report(cli, directory);
    if (status == GERNE_EDIVERGED) {
        gn_saved_failure failure = gn_save_failure(cli->ctx);
        if (write_report(cli, directory) != GERNE_OK)
            gn_log(cli->ctx, GERNE_LOG_WARNING, "no report: %s", gerne_message(cli->ctx));
        gn_restore_failure(cli->ctx, &failure);
    }
    return status;
}

/* A single run ignores what a file says about searching. */
static gerne_status read_file(gn_cli *cli, gn_settings *out)
{
    gn_settings all = {.arena = cli->arena}, rest = {.arena = cli->arena};
    gerne_status status = gn_settings_read(cli->ctx, cli->arguments[0], &all);
    if (status == GERNE_OK)
        status = gn_settings_pick(cli->ctx, &all, "tune.", false, &rest);
    if (status == GERNE_OK)
        status = gn_settings_pick(cli->ctx, &rest, "search.", false, out);
    if (status == GERNE_OK && out->count < all.count)
        gn_log(cli->ctx, GERNE_LOG_INFO,
               "ignored: the sections tune and search are for 'gerne tune'");
    gn_settings_free(&all);
    gn_settings_free(&rest);
    return status;
}

static gerne_status start(gn_cli *cli, const gn_settings *flags, gn_text *report, json_t **results)
{
    gn_settings file = {.arena = cli->arena};
    gn_run_config *config = NULL;
    gerne_status status = GERNE_OK;
    if (cli->argument_count)
        status = read_file(cli, &file);
    if (status == GERNE_OK)
        status = gn_run_config_new(cli->ctx, cli->argument_count ? &file : NULL, flags, &config);
    if (status == GERNE_OK) {
        status = gn_train(cli->ctx, config, report, results);
        status = close_run(cli, config->top.out, status);
    }
    gn_run_config_close(config);
    gn_settings_free(&file);
    return status;
}

static gerne_status resume(gn_cli *cli, const gn_settings *flags, gn_text *report, json_t **results)
{
    if (flags->count || cli->argument_count) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "'--resume' takes no other keys, but '%s' is given",
                flags->count ? flags->list[0].key : cli->arguments[0]);
        gn_hint(cli->ctx, "a run is resumed with the configuration that it was started with");
        return GERNE_EUSAGE;
    }
    gerne_status status = gn_train_resume(cli->ctx, given.resume, report, results);
    return close_run(cli, given.resume, status);
}

static gerne_status train(gn_cli *cli, const gn_settings *flags)
{
    json_t *results = NULL;
    gn_text *report = cli->json ? NULL : &cli->output;
    json_t **wanted = cli->json ? &results : NULL;
    gerne_status status =
        given.resume ? resume(cli, flags, report, wanted) : start(cli, flags, report, wanted);
    if (status == GERNE_OK && results)
        return gn_output_json(cli, results);
    json_decref(results);
    return status;
}

static gerne_status run(gn_cli *cli)
{
    gn_settings own = {0}, flags = {0};
    gerne_status status = pick_flags(cli, true, &own);
    if (status == GERNE_OK)
        status = pick_flags(cli, false, &flags);
    if (status == GERNE_OK)
        status = gn_config_apply(cli->ctx, cli->config, &own);
    if (status == GERNE_OK)
        status = train(cli, &flags);
    gn_settings_free(&own);
    gn_settings_free(&flags);
    return status;
}

const gn_command gn_command_train = {
    .name = "train",
    .arguments = "[CONFIG.yaml]",
    .summary = "Train a network and report its accuracy on every group",
    .help = help,
    .max_arguments = 1,
    .applies_flags_itself = true,
    .takes_plugin = true,
    .setup = setup,
    .run = run,
};
