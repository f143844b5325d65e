#include "debias/describe.h"

#include <math.h>

#include "debias/groups.h"
#include "debias/line.h"

json_t *gn_attribute_names_json(const char *const *names, uint32_t count)
{
    static const char *const all[] = {GN_ALL_SAMPLES};
    return count ? gn_json_names(names, count) : gn_json_names(all, 1);
}

static gerne_status put_law(gerne_ctx *ctx, const gerne_groups *groups, json_t *object,
                            const char *key, gerne_law law, double c, double beta)
{
    size_t cells = (size_t)groups->classes * groups->attributes;
    GN_FREED double *p = NULL;
    GN_TRY(gn_alloc(ctx, cells, sizeof *p, "shares", &p));
    GN_TRY(gerne_law_fill(ctx, groups, law, c, beta, p));
    return gn_json_put(object, key, gn_json_matrix(p, groups->classes, groups->attributes))
               ? GERNE_OK
               : gn_fail(ctx, GERNE_ENOMEM, "no memory for JSON");
}

/* How far each class could go on its own. */
static json_t *s_max_json(const gerne_groups *groups)
{
    json_t *list = json_array();
    for (uint32_t y = 0; y < groups->classes; y++)
        json_array_append_new(list, gn_json_number(gn_s_bounds_of_class(groups, y).upper));
    return list;
}

static gerne_status fill_bounds(gerne_ctx *ctx, const gerne_groups *groups, double c,
                                const double *beta, json_t *object)
{
    gerne_bounds bounds;
    GN_TRY(gerne_bounds_of(ctx, groups, c, &bounds));
    bool good = gn_json_put(object, "c", gn_json_number(c));
    GN_TRY(put_law(ctx, groups, object, "alpha", GERNE_LAW_BIASED, c, 0));
    GN_TRY(put_law(ctx, groups, object, "p_lb", GERNE_LAW_LESS_BIASED, c, 0));
    if (beta) {
        good = good && gn_json_put(object, "beta", gn_json_number(*beta)) &&
               gn_json_put(object, "s", gn_json_number(gn_s_of(c, *beta)));
        GN_TRY(put_law(ctx, groups, object, "p_ext", GERNE_LAW_EXTRAPOLATED, c, *beta));
    }
    json_t *binding =
        bounds.binds ? json_pack("{s:I,s:I}", "y", (json_int_t)bounds.y, "a", (json_int_t)bounds.a)
                     : json_null();
    good = good &&
           gn_json_put(
               object, "interval",
               json_pack("[o,o]", gn_json_number(bounds.lower), gn_json_number(bounds.upper))) &&
           gn_json_put(object, "beta_min", json_integer(-1)) &&
           gn_json_put(object, "beta_max", gn_json_number(bounds.beta_max)) &&
           gn_json_put(object, "beta_balanced", gn_json_number(bounds.beta_balanced)) &&
           gn_json_put(object, "s_max", gn_json_number(gn_s_bounds_of(groups).upper)) &&
           gn_json_put(object, "s_max_by_class", s_max_json(groups)) &&
           gn_json_put(object, "binding", binding);
    return good ? GERNE_OK : gn_fail(ctx, GERNE_ENOMEM, "no memory for JSON");
}

gerne_status gn_bounds_json(gerne_ctx *ctx, const gerne_groups *groups, double c,
                            const double *beta, json_t **out)
{
    *out = json_object();
    if (!*out)
        return gn_fail(ctx, GERNE_ENOMEM, "no memory for JSON");
    gerne_status status = fill_bounds(ctx, groups, c, beta, *out);
    if (status != GERNE_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

/* ---- text ---- */

enum { WIDEST = 12, TALLEST = 60, NAME_WIDTH = 14 };

/* "y=landbird" in a column. */
static gerne_status print_label(gerne_ctx *ctx, char letter, const char *const *names,
                                uint32_t index, int width, gn_text *out)
{
    GN_LOCAL(gn_text) words = {0};
    GN_TRY(names ? gn_text_add(ctx, &words, "%c=%s", letter, names[index])
                 : gn_text_add(ctx, &words, "%c=%u", letter, index));
    GN_TRY(gn_text_add(ctx, out, "  "));
    return gn_text_add_cell(ctx, out, words.bytes, width);
}

static gerne_status print_head(gerne_ctx *ctx, const gerne_groups *groups, int width, gn_text *out)
{
    GN_TRY(gn_text_add(ctx, out, "  %*s", NAME_WIDTH, ""));
    for (uint32_t a = 0; a < groups->attributes; a++)
        GN_TRY(print_label(ctx, 'a', (const char *const *)groups->attribute_names, a, -width, out));
    return gn_text_add(ctx, out, "\n");
}

static bool too_large(const gerne_groups *groups)
{
    return groups->attributes > WIDEST || groups->classes > TALLEST;
}

static gerne_status leave_out(gerne_ctx *ctx, const gerne_groups *groups, gn_text *out)
{
    return gn_text_add(ctx, out,
                       "  (a table of %u classes and %u attributes is too large to show; --json "
                       "has it)\n",
                       groups->classes, groups->attributes);
}

gerne_status gn_print_groups(gerne_ctx *ctx, const gerne_groups *groups, gn_text *out)
{
    if (too_large(groups))
        return leave_out(ctx, groups, out);
    enum { WIDTH = 18 };
    GN_TRY(print_head(ctx, groups, WIDTH, out));
    for (uint32_t y = 0; y < groups->classes; y++) {
        GN_TRY(print_label(ctx, 'y', (const char *const *)groups->class_names, y, NAME_WIDTH, out));
        for (uint32_t a = 0; a < groups->attributes; a++)
            GN_TRY(gn_text_add(ctx, out, "  %9llu %6.2f %%",
                               (unsigned long long)gerne_groups_count(groups, y, a),
                               100 * gerne_groups_alpha(groups, y, a)));
        GN_TRY(gn_text_add(ctx, out, "\n"));
    }
    return GERNE_OK;
}

gerne_status gn_print_shares(gerne_ctx *ctx, const gerne_groups *groups, const double *p,
                             gn_text *out)
{
    if (too_large(groups))
        return leave_out(ctx, groups, out);
    enum { WIDTH = 10 };
    GN_TRY(print_head(ctx, groups, WIDTH, out));
    for (uint32_t y = 0; y < groups->classes; y++) {
        GN_TRY(print_label(ctx, 'y', (const char *const *)groups->class_names, y, NAME_WIDTH, out));
        for (uint32_t a = 0; a < groups->attributes; a++) {
            double percent = 100 * p[gn_group_id(groups, y, a)];
            GN_TRY(gn_text_add(ctx, out, "  %8.2f %%", fabs(percent) < 5e-5 ? 0.0 : percent));
        }
        GN_TRY(gn_text_add(ctx, out, "\n"));
    }
    return GERNE_OK;
}
