/* pde.c - progressive data expansion: training starts on a group-balanced subset; after a warm-up a
 * few random samples of the rest join it every few epochs, at a lower learning rate. */
#include "methods/pde.h"

#include "methods/subsets.h"
#include "methods/weighted.h"

typedef struct pde_options {
    int64_t warm_up, every, added;
    double lr_factor;
} pde_options;

static const gn_option options[] = {
    {"warm_up", GN_INT, offsetof(pde_options, warm_up), .fallback = "140", .min = 1, .max = 1000000,
     .flags = GN_TUNABLE, .help = "epochs of the balanced subset before samples are added"},
    {"every", GN_INT, offsetof(pde_options, every), .fallback = "10", .min = 1, .max = 1000000,
     .flags = GN_TUNABLE, .help = "epochs between two additions, over the samples present"},
    {"added", GN_INT, offsetof(pde_options, added), .fallback = "10", .min = 1, .max = 1000000,
     .flags = GN_TUNABLE, .help = "samples added each time"},
    {"lr_factor", GN_REAL, offsetof(pde_options, lr_factor), .fallback = "0.01", .min = 0, .max = 1,
     .flags = GN_TUNABLE | GN_OPEN_MIN,
     .help = "multiplies the learning rate from the first addition on"},
};

typedef struct pde_state {
    uint32_t *order; /* [n]: the balanced subset, then the others as they will be added */
    gn_growth growth;
    uint32_t *drawn; /* [batch], of a step */
} pde_state;

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

gn_growth_place gn_growth_at(const gn_growth *growth, int64_t k)
{
    gn_growth_place place = {.size = growth->first};
    for (int64_t epochs = growth->warm_up;; epochs = growth->every) {
        int64_t steps = (int64_t)(place.size / growth->batch);
        steps = steps < 1 ? 1 : steps;
        bool full = place.size == growth->all;
        if (full || k < epochs * steps) {
            place.epoch += k / steps;
            place.step = k % steps;
            return place;
        }
        k -= epochs * steps;
        place.epoch += epochs;
        place.growths++;
        place.size = smaller(place.size + growth->added, growth->all);
    }
}

/* The balanced subset in front, the rest behind it in a random order: none is ever added twice. */
static gerne_status order_samples(gn_run *run, size_t *balanced)
{
    pde_state *state = run->state;
    gn_grouped groups;
    size_t *sizes;
    bool *taken;
    GN_TRY(gn_run_by_group(run, &groups));
    GN_TRY(gn_run_alloc(run, groups.groups, sizeof *sizes, &sizes));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *taken, &taken));
    GN_TRY(gn_run_alloc(run, run->n, sizeof *state->order, &state->order));
    gn_permutation shuffled = gn_permutation_at(run->n, run->seed, GN_RNG_METHOD, 0, 0);
    size_t smallest = gn_smallest_group(&groups, sizes);
    size_t at = gn_balanced_subset(&groups, &shuffled, smallest, sizes, state->order);
    *balanced = at;
    for (size_t i = 0; i < at; i++)
        taken[state->order[i]] = true;
    for (size_t p = 0; p < run->n; p++) {
        uint32_t i = (uint32_t)gn_permute(&shuffled, p);
        if (!taken[i])
            state->order[at++] = i;
    }
    gn_log(run->ctx, GERNE_LOG_INFO, "pde: starts with %zu samples, %zu of each group", *balanced,
           smallest);
    return GERNE_OK;
}

static gerne_status start(gn_run *run)
{
    const pde_options *given = run->options;
    pde_state *state = run->state;
    size_t balanced;
    GN_TRY(order_samples(run, &balanced));
    if (balanced < run->batch)
        gn_log(run->ctx, GERNE_LOG_INFO,
               "pde: fewer samples than a batch of %u has: batches repeat them", run->batch);
    state->growth = (gn_growth){.first = balanced,
                                .added = (size_t)given->added,
                                .all = run->n,
                                .warm_up = given->warm_up,
                                .every = given->every,
                                .batch = run->batch};
    return gn_run_alloc(run, run->batch, sizeof *state->drawn, &state->drawn);
}

/* A batch of the epoch's permutation of the present set; a set smaller than a batch repeats. */
static gerne_status plan(gn_run *run, int64_t k, gn_plan *plan)
{
    const pde_state *state = run->state;
    gn_growth_place place = gn_growth_at(&state->growth, k);
    gn_permutation epoch =
        gn_permutation_at(place.size, run->seed, GN_RNG_METHOD, (uint64_t)place.epoch, 1);
    for (size_t i = 0; i < run->batch; i++) {
        size_t position = ((size_t)place.step * run->batch + i) % place.size;
        state->drawn[i] = state->order[gn_permute(&epoch, position)];
    }
    plan->batches[plan->count++] = (gn_request){.samples = state->drawn, .count = run->batch};
    return GERNE_OK;
}

static gerne_status step(gn_run *run, int64_t k, gn_minibatch *batch)
{
    const pde_options *given = run->options;
    const pde_state *state = run->state;
    gn_growth_place place = gn_growth_at(&state->growth, k);
    if (k == 0 && gn_growth_at(&state->growth, run->steps - 1).growths == 0)
        gn_warn(run->ctx,
                "pde: the warm-up takes all %lld steps, so that no samples are added; "
                "lower method.warm_up or train for longer",
                (long long)run->steps);
    run->lr_scale = place.growths ? given->lr_factor : 1;
    gn_run_log(run, "samples", (double)place.size);
    return gn_plain_step(run, batch);
}

static const char description[] =
    "Progressive data expansion: training starts on a group-balanced subset, with as many samples "
    "of every group as the smallest has. After a warm-up, random samples of the rest join it step "
    "by step, at a lower learning rate.\n\n"
    "    n_j = min(N, G n_min + j added)   samples after j additions\n"
    "    L   = mean CE_i over batches of the present samples\n\n"
    "warm_up is the length of the first part in epochs of the subset, every the number of epochs "
    "between two additions, lr_factor multiplies the learning rate from the first addition on. No "
    "sample is added twice (in the authors' code some are). A warm-up that takes the whole run "
    "gives a warning. It assumes that a network that has learned the class first does not unlearn "
    "it. Use it when attributes are known and the smallest group is not tiny. With unknown "
    "attributes the groups are those of method.estimator; without one it starts from equal "
    "classes.";

const gn_method gn_method_pde = {
    .name = "pde",
    .paper = "Deng et al. 2023",
    .title = "Robust Learning with Progressive Data Expansion Against Spurious Correlation",
    .summary = "starts on a group-balanced subset and adds other samples gradually",
    .description = description,
    .attributes = GN_ATTRIBUTES_GROUPS,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .options_size = sizeof(pde_options),
    .state_size = sizeof(pde_state),
    .plain_batches = true,
    .start = start,
    .plan = plan,
    .step = step,
};
