/* adapt.h - method.adapt: rules that move s = c (1 + beta) while a run trains.
 *
 * A rule says where s should be, from what the steps have shown of the groups of the training split
 * or from an evaluation on validation; adapt.c keeps it inside its interval, lets it move only so
 * far at a time, and holds all state in one table, so that a resumed run goes the same way. Rules
 * are files adapt_*.c, listed in adapt.c; their options are rows of gerne.c.
 */
#ifndef GN_METHODS_ADAPT_H
#define GN_METHODS_ADAPT_H

#include "methods/method.h"

typedef struct gn_adapt_options {
    int rule;      /* index in GN_ADAPT_CHOICES; 0: none */
    bool by_class; /* an s for each class, within the class's own limits */
    double low, high;
    double gamma, eta, adjustment, rate, repetitions, end, kappa;
    int64_t heads;
} gn_adapt_options;

/* In the order of the list. */
#define GN_ADAPT_CHOICES "none|contribution|groupdro|hypergradient|repetitions|fan|feedback"

typedef struct gn_adapt_rule gn_adapt_rule;

/* One use of a rule; a run's own, in its state. */
typedef struct gn_adapt {
    const gn_adapt_rule *rule; /* NULL: s stays */
    const gn_adapt_options *options;
    const gerne_groups *groups;
    uint32_t classes, attributes;
    uint32_t per_class;
    double c, start;     /* the s that training starts with */
    gn_interval *limits; /* [classes], of s */
    float *table;        /* in every checkpoint: */
    float *s;            /* [classes] */
    float *loss, *doubt; /* [groups]: means of CE and of 1 - p(y|x); below 0: not seen yet */
    double *betas;       /* [classes] of s, for the step */
    double *scratch;     /* [3 * groups] */
} gn_adapt;

/* What a rule is asked at: a step, or an evaluation. */
typedef struct gn_adapt_moment {
    int64_t k, steps;              /* steps done, and of the stage */
    const gn_validated *validated; /* after an evaluation; else NULL */
} gn_adapt_moment;

typedef enum gn_adapt_when { GN_ADAPT_STEPS, GN_ADAPT_EVALUATIONS } gn_adapt_when;

struct gn_adapt_rule {
    const char *name, *summary;
    gn_adapt_when when;
    bool needs_validation;        /* a validation split */
    bool needs_validation_groups; /* whose attributes may be used */
    /* Before training: do its options go with the s that it starts with? May be NULL. */
    gerne_status (*check)(gerne_ctx *ctx, const gn_adapt_options *options, double start);
    /* Fills wish[ranges]: where s of each range of classes should be; as it is where nothing can be
     * said. NULL: s does not move in training. */
    gerne_status (*propose)(gn_run *run, const gn_adapt *a, const gn_adapt_moment *moment,
                            double *wish);
    /* Before an evaluation: sets a head for it. May be NULL. */
    gerne_status (*refit)(gn_run *run, const gn_adapt *a);
};

/* With a NULL at the end; in the order of GN_ADAPT_CHOICES after "none". */
extern const gn_adapt_rule *const gn_adapt_rules[];

/* The classes that share an s: all, or one each. */
size_t gn_adapt_ranges(const gn_adapt *a);
typedef struct gn_class_range {
    uint32_t first, end;
} gn_class_range;
gn_class_range gn_adapt_range(const gn_adapt *a, size_t r);

/* The limits that a rule has with these groups, from the options; GERNE_EUSAGE when the user's are
 * outside what the groups allow, or start is outside them. limits [classes]. */
GERNE_CHECKED gerne_status gn_adapt_limits(gerne_ctx *ctx, const gn_adapt_options *options,
                                           const gerne_groups *groups, double start,
                                           gn_interval *limits);

/* The hook check: has the run what the rule needs? */
GERNE_CHECKED gerne_status gn_adapt_check(gn_run *run, const gn_adapt_options *options,
                                          const gerne_groups *groups, double start);

/* Whether training itself uses an s that is not the same for all classes and steps. */
bool gn_adapt_moves(const gn_adapt_options *options);

/* The hook start; s is the value to start with. */
GERNE_CHECKED gerne_status gn_adapt_start(gn_run *run, gn_adapt *a, const gn_adapt_options *options,
                                          double c, double s);

/* After step k has been taken: what it has shown, and a new s when one is due. */
GERNE_CHECKED gerne_status gn_adapt_step(gn_run *run, gn_adapt *a, int64_t k,
                                         const gn_minibatch *batches, size_t count);

/* The hooks evaluated and refit. */
GERNE_CHECKED gerne_status gn_adapt_evaluated(gn_run *run, gn_adapt *a,
                                              const gn_validated *validated);
GERNE_CHECKED gerne_status gn_adapt_refit(gn_run *run, const gn_adapt *a);

/* ---- pure parts of rules ---- */

/* Rule contribution: the s of classes first..end-1 at which groups below 1/A of their class give
 * gamma times the gradient of the others; now where nothing is known. doubt [groups] is the mean of
 * 1 - p(y|x), half the l1 norm of the gradient by the logits. */
double gn_contribution_s(const gerne_groups *groups, const float *doubt, double gamma,
                         gn_class_range range, double now);

/* Rule groupdro: the derivative of L_ext by s for these mean losses of groups. */
double gn_slope_of_s(const gerne_groups *groups, const float *loss, double adjustment,
                     gn_class_range range);

/* Rule repetitions: how often step's two batches draw a sample of the most repeated group. */
double gn_repetitions_per_step(const gerne_groups *groups, double c, uint32_t per_class);
double gn_scheduled_s(double start, double end, double passes_per_step, double most_passes,
                      int64_t k, int64_t steps);

/* Rule feedback: mean accuracy of the groups of at least 1/A of their class minus that of the
 * others; 0 where one side has no samples. accuracies [groups], NaN for empty ones. */
double gn_accuracy_gap(const gerne_groups *groups, const double *accuracies, gn_class_range range);

#endif
