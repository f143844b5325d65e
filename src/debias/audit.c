#include "debias/audit.h"

#include <math.h>

#include "debias/describe.h"
#include "debias/groups.h"

/* Documented in docs/bounds.md; the first two are part of the contract of --strict. */
static const double BIASED_FROM = 0.1, STRONGLY_BIASED_FROM = 0.5;
enum { TOO_FEW = 10, FEW = 100 };

const char *gn_verdict_text(gn_verdict verdict)
{
    static const char *const texts[] = {"unbiased", "biased", "strongly biased"};
    return texts[verdict];
}

gn_verdict gn_verdict_of(const gn_association *association)
{
    double v = association->cramers_v;
    return v < BIASED_FROM            ? GN_UNBIASED
           : v < STRONGLY_BIASED_FROM ? GN_BIASED
                                      : GN_STRONGLY_BIASED;
}

/* Insertion into a short list: one pass over the groups, the lowest id first among equals. */
static void find_smallest(gn_audit *audit)
{
    const gerne_groups *groups = audit->groups;
    size_t cells = (size_t)groups->classes * groups->attributes;
    for (size_t g = 0; g < cells; g++) {
        if (groups->counts[g] == 0)
            continue;
        size_t at = audit->smallest_count;
        while (at > 0 && groups->counts[audit->smallest[at - 1]] > groups->counts[g])
            at--;
        if (at == GN_AUDIT_SMALLEST)
            continue;
        if (audit->smallest_count < GN_AUDIT_SMALLEST)
            audit->smallest_count++;
        for (size_t i = audit->smallest_count - 1; i > at; i--)
            audit->smallest[i] = audit->smallest[i - 1];
        audit->smallest[at] = g;
    }
}

gerne_status gn_audit_of(gerne_ctx *ctx, const gerne_groups *groups, gn_audit *out)
{
    *out = (gn_audit){.groups = groups, .c = {0.25, 0.5, 1}, .grid_c = 0.5};
    GN_TRY(gn_association_of(ctx, groups->counts, groups->classes, groups->attributes,
                             &out->association));
    out->verdict = gn_verdict_of(&out->association);
    find_smallest(out);
    out->empty = gn_groups_empty(groups);
    for (int i = 0; i < GN_AUDIT_CS; i++)
        GN_TRY(gerne_bounds_of(ctx, groups, out->c[i], &out->bounds[i]));
    return gn_beta_grid(ctx, groups, out->grid_c, GN_BETA_STEPS, &out->grid);
}

/* ---- JSON ---- */

static json_t *bounds_json(const gn_audit *audit)
{
    json_t *list = json_array();
    for (int i = 0; list && i < GN_AUDIT_CS; i++) {
        json_t *item = json_pack("{s:o,s:o,s:o}", "c", gn_json_number(audit->c[i]), "beta_max",
                                 gn_json_number(audit->bounds[i].beta_max), "beta_balanced",
                                 gn_json_number(audit->bounds[i].beta_balanced));
        if (json_array_append_new(list, item) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *grid_json(const gn_audit *audit)
{
    json_t *betas = json_array();
    for (size_t i = 0; betas && i < audit->grid.count; i++)
        if (json_array_append_new(betas, gn_json_number(audit->grid.items[i])) != 0) {
            json_decref(betas);
            return NULL;
        }
    return json_pack("{s:o,s:o}", "c", gn_json_number(audit->grid_c), "beta", betas);
}

static json_t *alpha_json(gerne_ctx *ctx, const gerne_groups *groups)
{
    double *p;
    size_t cells = (size_t)groups->classes * groups->attributes;
    if (gn_alloc(ctx, cells, sizeof *p, "shares", &p) != GERNE_OK)
        return NULL;
    json_t *json = NULL;
    if (gerne_law_fill(ctx, groups, GERNE_LAW_BIASED, 1, 0, p) == GERNE_OK)
        json = gn_json_matrix(p, groups->classes, groups->attributes);
    gn_free(p);
    return json;
}

static json_t *smallest_json(const gn_audit *audit)
{
    size_t g = audit->smallest[0];
    return json_pack("{s:I,s:I,s:I}", "y", (json_int_t)(g / audit->groups->attributes), "a",
                     (json_int_t)(g % audit->groups->attributes), "n",
                     (json_int_t)audit->groups->counts[g]);
}

gerne_status gn_audit_json(gerne_ctx *ctx, const gn_audit *audit, json_t **out)
{
    const gerne_groups *groups = audit->groups;
    const gn_association *s = &audit->association;
    json_t *o = *out = json_object();
    bool good =
        o && gn_json_put(o, "verdict", json_string(gn_verdict_text(audit->verdict))) &&
        gn_json_put(o, "n", json_integer((json_int_t)groups->total)) &&
        gn_json_put(o, "class_names", gn_json_names(groups->class_names, groups->classes)) &&
        gn_json_put(o, "attribute_names",
                    gn_json_names(groups->attribute_names, groups->attributes)) &&
        gn_json_put(o, "counts",
                    gn_json_counts(groups->counts, groups->classes, groups->attributes)) &&
        gn_json_put(o, "alpha", alpha_json(ctx, groups)) &&
        gn_json_put(o, "cramers_v", gn_json_number(s->cramers_v)) &&
        gn_json_put(o, "cramers_v_ci95", gn_json_interval(s->cramers_v_ci95)) &&
        gn_json_put(o, "mutual_information", gn_json_number(s->mutual_information)) &&
        gn_json_put(o, "mutual_information_ci95", gn_json_interval(s->mutual_information_ci95)) &&
        gn_json_put(o, "attribute_only_accuracy", gn_json_number(s->attribute_only)) &&
        gn_json_put(o, "attribute_only_accuracy_ci95", gn_json_interval(s->attribute_only_ci95)) &&
        gn_json_put(o, "largest_class_share", gn_json_number(s->largest_class)) &&
        gn_json_put(o, "smallest_group", smallest_json(audit)) &&
        gn_json_put(o, "empty_groups", json_integer((json_int_t)audit->empty)) &&
        gn_json_put(o, "bounds", bounds_json(audit)) && gn_json_put(o, "grid", grid_json(audit));
    if (good)
        return GERNE_OK;
    json_decref(o);
    *out = NULL;
    return gn_fail(ctx, GERNE_ENOMEM, "no memory for JSON");
}

/* ---- words ---- */

static gerne_status print_association(gerne_ctx *ctx, const gn_audit *audit, gn_text *out)
{
    const gn_association *s = &audit->association;
    static const char *const meaning[] = {
        "The attribute hardly predicts the class: there is no shortcut to learn.",
        "Class and attribute are associated: a model can use the attribute as a shortcut.",
        ("Class and attribute are strongly associated: a model will most likely rely on the\n"
         "  attribute and fail on the groups where it misleads."),
    };
    return gn_text_add(
        ctx, out,
        "\nHow well the attribute predicts the class (with 95 %% intervals)\n"
        "  Cramer's V               %7.3f   [%.3f, %.3f]   0: none, 1: perfect association\n"
        "  mutual information       %7.3f   [%.3f, %.3f]   nats, of at most %.3f here\n"
        "  attribute-only accuracy  %7.2f %% [%.2f, %.2f]   majority class: %.2f %%\n"
        "  %s\n",
        s->cramers_v, s->cramers_v_ci95.lo, s->cramers_v_ci95.hi, s->mutual_information,
        s->mutual_information_ci95.lo, s->mutual_information_ci95.hi, s->most_information,
        100 * s->attribute_only, 100 * s->attribute_only_ci95.lo, 100 * s->attribute_only_ci95.hi,
        100 * s->largest_class, meaning[audit->verdict]);
}

static const char *group_at(const gerne_groups *groups, size_t g, char text[GN_GROUP_TEXT])
{
    return gn_group_text(groups, (uint32_t)(g / groups->attributes),
                         (uint32_t)(g % groups->attributes), text);
}

static gerne_status print_smallest(gerne_ctx *ctx, const gn_audit *audit, gn_text *out)
{
    const gerne_groups *groups = audit->groups;
    char text[GN_GROUP_TEXT];
    int width = 28;
    for (size_t i = 0; i < audit->smallest_count; i++) {
        int one = gn_text_width(group_at(groups, audit->smallest[i], text));
        width = one > width ? one : width;
    }
    GN_TRY(gn_text_add(ctx, out, "\nThe smallest groups\n"));
    for (size_t i = 0; i < audit->smallest_count; i++) {
        size_t g = audit->smallest[i];
        uint64_t n = groups->counts[g];
        const char *words = n < TOO_FEW ? "too few: a model will memorise them; collect more"
                            : n < FEW   ? "few: expect results to vary from seed to seed"
                                        : "enough";
        GN_TRY(gn_text_add(ctx, out, "  "));
        GN_TRY(gn_text_add_cell(ctx, out, group_at(groups, g, text), width));
        GN_TRY(gn_text_add(ctx, out, " %9llu   %s\n", (unsigned long long)n, words));
    }
    if (audit->empty)
        GN_TRY(gn_text_add(ctx, out,
                           "  %llu group%s no samples: nothing can be learnt or said about %s.\n",
                           (unsigned long long)audit->empty, audit->empty == 1 ? " has" : "s have",
                           audit->empty == 1 ? "it" : "them"));
    return GERNE_OK;
}

static gerne_status print_bounds(gerne_ctx *ctx, const gn_audit *audit, gn_text *out)
{
    const gerne_bounds *b = &audit->bounds[0];
    if (!b->binds)
        return gn_text_add(ctx, out,
                           "\nEvery class is balanced over the groups that have samples: %s.\n",
                           audit->verdict == GN_UNBIASED ? "GERNE has nothing to correct"
                                                         : "reweighting cannot help");
    char text[GN_GROUP_TEXT];
    GN_TRY(gn_text_add(ctx, out,
                       "\nHow far GERNE can extrapolate (gerne bounds explains)\n"
                       "        c   groups balanced at beta   largest beta\n"));
    for (int i = 0; i < GN_AUDIT_CS; i++)
        GN_TRY(gn_text_add(ctx, out, "  %7.2f   %23.4f   %12.4f\n", audit->c[i],
                           audit->bounds[i].beta_balanced, audit->bounds[i].beta_max));
    GN_TRY(gn_text_add(ctx, out, "  %s sets the limit: at the largest beta its weight is 0.\n",
                       gn_group_text(audit->groups, b->y, b->a, text)));
    GN_TRY(gn_text_add(ctx, out, "  Worth trying with c = %g: beta = ", audit->grid_c));
    for (size_t i = 0; i < audit->grid.count; i++)
        GN_TRY(gn_text_add(ctx, out, "%s%.4g", i ? ", " : "", audit->grid.items[i]));
    return gn_text_add(ctx, out, "\n");
}

static gerne_status print_verdict(gerne_ctx *ctx, const gn_audit *audit, gn_text *out)
{
    static const char *const advice[] = {
        "Ordinary training should be enough; still check every group when you evaluate.",
        "Compare ordinary training (ERM) with GERNE by worst-group accuracy.",
        ("Ordinary training (ERM) will look good on average and fail on the small groups;\n"
         "train with GERNE and evaluate by worst-group accuracy."),
    };
    const char *words = advice[audit->verdict];
    if (audit->verdict != GN_UNBIASED && !audit->bounds[0].binds)
        words = "Groups are missing, not just small, and no method can make up for that:\n"
                "collect samples of them.";
    GN_TRY(gn_text_add(ctx, out,
                       "\nVerdict: %s (by Cramer's V: unbiased below %g, strongly biased from %g)\n"
                       "%s\n",
                       gn_verdict_text(audit->verdict), BIASED_FROM, STRONGLY_BIASED_FROM, words));
    bool uneven = audit->verdict == GN_UNBIASED && audit->smallest_count > 0 &&
                  audit->groups->counts[audit->smallest[0]] < FEW;
    if (uneven)
        GN_TRY(gn_text_add(ctx, out, "Some groups are small nevertheless.\n"));
    return GERNE_OK;
}

gerne_status gn_audit_print(gerne_ctx *ctx, const gn_audit *audit, const char *name, const char *y,
                            const char *a, gn_text *out)
{
    const gerne_groups *groups = audit->groups;
    GN_TRY(gn_text_add(ctx, out, "%s: %llu samples, %u classes (y), %u attribute value%s (a)\n",
                       name, (unsigned long long)groups->total, groups->classes, groups->attributes,
                       groups->attributes == 1 ? "" : "s"));
    if (y && a)
        GN_TRY(gn_text_add(ctx, out, "y is column '%s', a is column '%s'\n", y, a));
    GN_TRY(gn_text_add(ctx, out, "\nGroups: samples, and share of the class (alpha)\n"));
    GN_TRY(gn_print_groups(ctx, groups, out));
    if (groups->attributes == 1)
        GN_TRY(gn_text_add(ctx, out,
                           "  The attribute has a single value, so it cannot be a shortcut.\n"));
    GN_TRY(print_association(ctx, audit, out));
    GN_TRY(print_smallest(ctx, audit, out));
    GN_TRY(print_bounds(ctx, audit, out));
    return print_verdict(ctx, audit, out);
}
