/* eval_gates.c - the gates of `gerne eval`, and its output with what they say. */
#include <string.h>

#include "cli/eval.h"

typedef struct gate {
    const char *flag, *metric, *whose, *what;
    double threshold, value;
} gate;

enum { GATES = 3 };

static bool passes(const gate *g)
{
    return g->value >= g->threshold; /* NaN does not */
}

static bool asked(const gn_cli *cli, const char *flag)
{
    return gn_config_origin(cli->config, flag) != GN_UNSET;
}

gerne_status gn_eval_check_gates(gn_cli *cli)
{
    const gn_eval_options *given = cli->options;
    bool regression = asked(cli, "max-regression");
    if (regression && !given->compare) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "'--max-regression' needs '--compare'");
        gn_hint(cli->ctx, "--compare FILE.csv names the predictions of the reference");
        return GERNE_EUSAGE;
    }
    if (given->gate_ci && !regression && !asked(cli, "min-wga") && !asked(cli, "min-gba"))
        return gn_fail(cli->ctx, GERNE_EUSAGE,
                       "'--gate-ci' needs '--min-wga', '--min-gba' or '--max-regression'");
    return GERNE_OK;
}

/* The gates that were asked for, judged. */
static size_t find_gates(const gn_cli *cli, const gerne_metrics *m, const gerne_differences *d,
                         gate out[GATES])
{
    const gn_eval_options *given = cli->options;
    bool low = given->gate_ci;
    size_t count = 0;
    if (asked(cli, "min-wga"))
        out[count++] = (gate){"min-wga",  "wga",          "the worst group's",
                              "accuracy", given->min_wga, low ? m->wga_ci95[0] : m->wga};
    if (asked(cli, "min-gba"))
        out[count++] = (gate){"min-gba",       "gba",          "the groups'",
                              "mean accuracy", given->min_gba, low ? m->gba_ci95[0] : m->gba};
    if (d)
        out[count++] = (gate){"max-regression",       "wga_difference",
                              "this file's",          "WGA minus the reference's",
                              -given->max_regression, low ? d->wga_ci95[0] : d->wga};
    return count;
}

/* The first that fails, else the first. */
static const gate *decisive(const gate *gates, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!passes(&gates[i]))
            return &gates[i];
    return gates;
}

static json_t *gate_json(const gn_cli *cli, const gate *g)
{
    const gn_eval_options *given = cli->options;
    return json_pack("{s:s, s:s, s:o, s:o, s:b, s:b}", "flag", g->flag, "metric", g->metric,
                     "threshold", gn_json_number(g->threshold), "value", gn_json_number(g->value),
                     "lower_end", given->gate_ci, "passed", passes(g));
}

/* "gate" decides; "gates" has all of them when there are several. */
static void put_gates(const gn_cli *cli, const gate *gates, size_t count, json_t *json)
{
    if (count == 0)
        return;
    json_object_set_new(json, "gate", gate_json(cli, decisive(gates, count)));
    if (count == 1)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, gate_json(cli, &gates[i]));
    json_object_set_new(json, "gates", list);
}

static void apply_gates(gn_cli *cli, const gate *gates, size_t count)
{
    const gn_eval_options *given = cli->options;
    for (size_t i = 0; i < count; i++)
        if (!passes(&gates[i])) {
            cli->gate_failed = true;
            gn_log(cli->ctx, GERNE_LOG_WARNING, "gate: %s %s %.4f is below %g (--%s)",
                   gates[i].whose, given->gate_ci ? "lower end" : gates[i].what, gates[i].value,
                   gates[i].threshold, gates[i].flag);
        }
}

static gerne_status output_with_gates(gn_cli *cli, const char *text, const gate *gates,
                                      size_t count)
{
    json_t *json;
    GN_TRY(gn_json_parse(cli->ctx, text, strlen(text), "figures", &json));
    put_gates(cli, gates, count, json);
    return gn_output_json(cli, json);
}

gerne_status gn_eval_output(gn_cli *cli, gerne_status status, const gerne_metrics *metrics,
                            const gerne_differences *differences, char *text)
{
    gate gates[GATES];
    size_t count = status == GERNE_OK ? find_gates(cli, metrics, differences, gates) : 0;
    if (cli->json && count) {
        status = output_with_gates(cli, text, gates, count);
        gerne_free(text);
    } else {
        status = gn_output_text(cli, status, text);
    }
    if (status == GERNE_OK)
        apply_gates(cli, gates, count);
    return status;
}
