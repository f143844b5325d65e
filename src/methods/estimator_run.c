/* estimator_run.c - the groups that another run has found, whatever its network and estimator:
 * found once on the features of a frozen network, for example, and used to fine-tune it. */
#include "methods/estimating.h"

typedef struct run_options {
    const char *directory;
} run_options;

static const gn_option options[] = {
    {"estimator_run", GN_TEXT, offsetof(run_options, directory), .flags = GN_NO_HASH,
     .help = "attributes unknown: run on the same data whose groups are used"},
};

/* It trains nothing. */
static int stages(const gn_run *run, gn_stage *list)
{
    (void)run;
    (void)list;
    return 0;
}

static bool is_named(const run_options *given)
{
    return given->directory && given->directory[0];
}

static gerne_status find(gn_run *run, const gn_found_groups **out)
{
    const run_options *given = run->options;
    if (is_named(given))
        return gn_run_found_elsewhere(run, given->directory, out);
    gn_fail(run->ctx, GERNE_EUSAGE, "estimator 'run' has no run to take groups from");
    gn_hint(run->ctx, "name its directory with --method.estimator_run");
    return GERNE_EUSAGE;
}

static gerne_status check(gn_run *run)
{
    const gn_found_groups *found;
    return find(run, &found);
}

/* What cannot be read is said by check. */
static uint32_t attributes_found(const gn_run *run)
{
    const gn_found_groups *found;
    return find((gn_run *)run, &found) == GERNE_OK ? found->grouping.attributes : GN_TWO_ATTRIBUTES;
}

static bool gives_membership(const gn_run *run)
{
    const gn_found_groups *found;
    return find((gn_run *)run, &found) == GERNE_OK && found->grouping.membership;
}

static gerne_status expect(const gn_run *run, char *at, size_t size, gerne_groups **out)
{
    const run_options *given = run->options;
    *out = NULL;
    (void)at;
    (void)size;
    return is_named(given) ? gn_found_sizes(run->ctx, given->directory, run->classes, out)
                           : GERNE_OK; /* check says it */
}

static gerne_status groups(gn_run *run)
{
    const gn_found_groups *found;
    GN_TRY(find(run, &found));
    for (int kind = 0; kind < GN_CELLS_KINDS; kind++)
        if (found->cells[kind])
            GN_TRY(gn_run_val_cells(run, (gn_val_cells)kind, found->cells[kind],
                                    found->cell_counts[kind]));
    return gn_run_regroup(run, &found->grouping);
}

static const char description[] =
    "The groups that another run has found: every run whose attributes are unknown and that has an "
    "estimator keeps them in its directory (groups.ckpt), and method.estimator_run names that "
    "directory. Network, method, seed and augmentation of the two may differ; the samples, and "
    "what "
    "of them is held out, must be the same.\n\n"
    "    a_i: as in the other run\n\n"
    "Use it to find groups where that is cheap, on the features of a frozen network, and to train "
    "where it is not; to compare methods on the same groups; or to search settings of a method "
    "without running its estimator again. select.metric inferred_wga, inferred_gba, bias_wga and "
    "bias_gba are available where the other estimator gives them.";

const gn_method gn_estimator_run = {
    .name = "run",
    .paper = "gerne 2026",
    .title = "Groups of another run (no paper)",
    .summary = "what the estimator of another run has found",
    .description = description,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(run_options),
    .val_cells = 1 << GN_CELLS_INFERRED | 1 << GN_CELLS_BIASED,
    .stages = stages,
    .check = check,
    .attributes_found = attributes_found,
    .gives_membership = gives_membership,
    .expect = expect,
    .reads = "estimator_run",
    .groups = groups,
};
