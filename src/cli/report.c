/* report.c - gerne report: runs and studies as one HTML file. */
#include "report/report.h"

#include "base/file.h"
#include "cli/command.h"

typedef struct report_options {
    const char *out;
} report_options;

static const gn_option options[] = {
    {"out", GN_TEXT, offsetof(report_options, out),
     .help = "output file (default: report.html in the directory of a single run or study, in the "
             "current directory for several)"},
};

static const char help[] =
    "Writes one HTML file about a run, several runs side by side, or a study: the worst group\n"
    "first, then groups with intervals, errors, curves, the bias of the data, the configuration\n"
    "and the command that repeats it. The file is self-contained: it can be read offline, on a\n"
    "phone, printed and sent.\n"
    "\n"
    "  gerne report runs/gerne                        writes runs/gerne/report.html\n"
    "  gerne report runs/erm runs/gerne --out both.html\n"
    "  gerne report studies/cmnist\n"
    "\n"
    "Runs in one report must have the same data; differences are relative to the first run. A run\n"
    "that has not finished or diverged is shown up to its last evaluation, and says so.\n";

gerne_status gn_close_with_report(gn_cli *cli, const char *directory)
{
    const char *path;
    GN_TRY(gn_path_join(cli->ctx, cli->arena, directory, "report.html", &path));
    if (gn_report_write(cli->ctx, &directory, 1, path) != GERNE_OK) {
        gn_log(cli->ctx, GERNE_LOG_WARNING, "no report: %s", gerne_message(cli->ctx));
        return GERNE_OK;
    }
    return cli->json ? GERNE_OK
                     : gn_text_add(cli->ctx, &cli->output, "open %s in a browser\n", path);
}

static gerne_status setup(gn_cli *cli)
{
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 1, sizeof(report_options), &cli->options));
    return gn_config_add(cli->ctx, cli->config, "", "Report", options, 1, cli->options);
}

static double fraction(const json_t *run, const char *key)
{
    return 100 * json_number_value(json_object_get(run, key));
}

static gerne_status print_diverged(gn_cli *cli, const char *path, const json_t *diverged)
{
    const char *message = json_string_value(json_object_get(diverged, "message"));
    return gn_text_add(cli->ctx, &cli->output, "  %s: %s\n", path, message ? message : "diverged");
}

static gerne_status print_warnings(gn_cli *cli, const json_t *run)
{
    const json_t *text;
    size_t i;
    json_array_foreach(json_object_get(run, "warnings"), i, text)
    {
        GN_TRY(gn_text_add(cli->ctx, &cli->output, "    warning: %s\n", json_string_value(text)));
    }
    return GERNE_OK;
}

static gerne_status print_run(gn_cli *cli, const json_t *run)
{
    const char *path = json_string_value(json_object_get(run, "path"));
    const json_t *range = json_object_get(run, "wga_ci95");
    if (json_is_object(json_object_get(run, "diverged")))
        return print_diverged(cli, path, json_object_get(run, "diverged"));
    if (!json_is_true(json_object_get(run, "complete")))
        return gn_text_add(cli->ctx, &cli->output, "  %s: not finished\n", path);
    if (!json_is_number(json_object_get(run, "wga")))
        return gn_text_add(cli->ctx, &cli->output, "  %s: worst group n/a\n", path);
    GN_TRY(gn_text_add(cli->ctx, &cli->output, "  %s: worst group %.2f%%", path,
                       fraction(run, "wga")));
    if (json_is_array(range))
        GN_TRY(gn_text_add(cli->ctx, &cli->output, " (%.2f to %.2f)",
                           100 * json_number_value(json_array_get(range, 0)),
                           100 * json_number_value(json_array_get(range, 1))));
    return gn_text_add(cli->ctx, &cli->output, ", mean of groups %.2f%%%s\n", fraction(run, "gba"),
                       json_is_true(json_object_get(run, "oracle")) ? "  ORACLE" : "");
}

static gerne_status print(gn_cli *cli, const json_t *summary)
{
    const json_t *item;
    size_t i;
    json_array_foreach(json_object_get(summary, "studies"), i, item)
    {
        GN_TRY(gn_text_add(cli->ctx, &cli->output, "  %s: %s\n",
                           json_string_value(json_object_get(item, "path")),
                           json_is_true(json_object_get(item, "complete")) ? "complete study"
                                                                           : "unfinished study"));
    }
    json_array_foreach(json_object_get(summary, "runs"), i, item)
    {
        GN_TRY(print_run(cli, item));
        GN_TRY(print_warnings(cli, item));
    }
    return gn_text_add(cli->ctx, &cli->output, "written to %s\n",
                       json_string_value(json_object_get(summary, "report")));
}

static gerne_status run(gn_cli *cli)
{
    const report_options *given = cli->options;
    json_t *summary;
    if (cli->argument_count == 0) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "no run or study given");
        gn_hint(cli->ctx, "gerne report RUN, with the directory that 'gerne train --out' wrote");
        return GERNE_EUSAGE;
    }
    GN_TRY(gn_report_write_summary(cli->ctx, cli->arguments, cli->argument_count, given->out,
                                   &summary));
    if (cli->json)
        return gn_output_json(cli, summary);
    gerne_status status = print(cli, summary);
    json_decref(summary);
    return status;
}

const gn_command gn_command_report = {
    .name = "report",
    .arguments = "RUN|STUDY...",
    .summary = "Write one HTML report about runs or a study",
    .help = help,
    .max_arguments = SIZE_MAX,
    .setup = setup,
    .run = run,
};
