/* methods_page.c - docs/methods.md from the descriptors: a table of contents by what methods need,
 * and every method and estimator with formulas and options. */
#include <string.h>

#include "cli/methods.h"

/* Appends prose with what Markdown would read as its own made plain. */
static gerne_status add_prose(gerne_ctx *ctx, gn_text *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        GN_TRY(gn_text_add(ctx, out, "%s%c", strchr("*<|\\", text[i]) ? "\\" : "", text[i]));
    return GERNE_OK;
}

static gerne_status add_text(gerne_ctx *ctx, gn_text *out, const char *text)
{
    return add_prose(ctx, out, text, strlen(text));
}

/* Lines that start with a blank are code for Markdown too. */
static gerne_status add_paragraphs(gerne_ctx *ctx, gn_text *out, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (*text == ' ')
            GN_TRY(gn_text_add_bytes(ctx, out, text, length));
        else
            GN_TRY(add_prose(ctx, out, text, length));
        GN_TRY(gn_text_add(ctx, out, "\n"));
        text += length + (text[length] == '\n');
    }
    return GERNE_OK;
}

/* ---- the table of contents ---- */

typedef enum kind { METHOD, ESTIMATOR } kind;

/* The heading of a section and the anchor that it gets; a name may be in both lists. */
static const char *heading_of(kind k)
{
    return k == ESTIMATOR ? "Estimator " : "";
}

static const char *anchor_of(kind k)
{
    return k == ESTIMATOR ? "estimator-" : "";
}

static gerne_status add_entry(gerne_ctx *ctx, gn_text *out, kind k, const gn_method *m)
{
    GN_TRY(gn_text_add(ctx, out, "| [%s](#%s%s) | ", m->name, anchor_of(k), m->name));
    GN_TRY(add_text(ctx, out, m->summary));
    GN_TRY(gn_text_add(ctx, out, " | "));
    GN_TRY(add_text(ctx, out, m->paper));
    return gn_text_add(ctx, out, " |\n");
}

static gerne_status add_contents_heading(gerne_ctx *ctx, gn_text *out, kind k,
                                         const gn_need_words *words)
{
    GN_TRY(gn_text_add(ctx, out, "\n### %s\n\n", words->heading));
    GN_TRY(add_text(ctx, out, words->note));
    return gn_text_add(ctx, out, "\n\n| name | what it %s | paper |\n|---|---|---|\n",
                       k == ESTIMATOR ? "finds" : "does");
}

static gerne_status add_contents(gerne_ctx *ctx, gn_text *out)
{
    for (int need = 0; need < GN_METHOD_NEEDS; need++) {
        GN_TRY(add_contents_heading(ctx, out, METHOD, &gn_need_words_of[need]));
        for (size_t i = 0; gn_methods[i]; i++)
            if ((int)gn_need_of(gn_methods[i]) == need)
                GN_TRY(add_entry(ctx, out, METHOD, gn_methods[i]));
    }
    GN_TRY(add_contents_heading(ctx, out, ESTIMATOR, &gn_estimator_words));
    for (size_t i = 0; gn_estimators[i]; i++)
        GN_TRY(add_entry(ctx, out, ESTIMATOR, gn_estimators[i]));
    return GERNE_OK;
}

/* ---- one of them ---- */

static gerne_status add_option(gerne_ctx *ctx, gn_text *out, gn_text *words, const gn_option *o)
{
    gn_text_clear(words);
    GN_TRY(gn_option_label(ctx, "method", o, words));
    GN_TRY(gn_text_add(ctx, out, "| "));
    GN_TRY(add_text(ctx, out, words->bytes));
    gn_text_clear(words);
    GN_TRY(gn_option_description(ctx, o, words));
    GN_TRY(gn_text_add(ctx, out, " | "));
    GN_TRY(add_text(ctx, out, words->bytes));
    return gn_text_add(ctx, out, " |\n");
}

static gerne_status add_options(gerne_ctx *ctx, gn_text *out, const gn_method *m)
{
    gn_text words = {0};
    gerne_status status = GERNE_OK;
    if (!m->option_count)
        return gn_text_add(ctx, out, "\nIt has no options of its own.\n");
    status = gn_text_add(ctx, out, "\n| option | what it does |\n|---|---|\n");
    for (size_t i = 0; i < m->option_count && status == GERNE_OK; i++)
        status = add_option(ctx, out, &words, &m->options[i]);
    gn_text_free(&words);
    return status;
}

static gerne_status add_one(gerne_ctx *ctx, gn_text *out, kind k, const gn_method *m)
{
    GN_TRY(gn_text_add(ctx, out, "\n## %s%s\n\n", heading_of(k), m->name));
    GN_TRY(add_text(ctx, out, m->paper));
    if (m->title)
        GN_TRY(gn_text_add(ctx, out, ", *%s*", m->title));
    GN_TRY(gn_text_add(ctx, out, ". `--method.%s %s`\n", k == ESTIMATOR ? "estimator" : "name",
                       m->name));
    if (m->description) {
        GN_TRY(gn_text_add(ctx, out, "\n"));
        GN_TRY(add_paragraphs(ctx, out, m->description));
    }
    return add_options(ctx, out, m);
}

gerne_status gn_print_methods_page(gerne_ctx *ctx, gn_text *out)
{
    GN_TRY(gn_text_add(
        ctx, out,
        "<!-- Printed by 'gerne methods --markdown': change the descriptors in src/methods, then "
        "run 'make docs'. -->\n"
        "# Methods\n\n"
        "`--method.name NAME` selects a training method, `--method.estimator NAME` what finds the "
        "groups when attributes are unknown. `gerne methods` prints this list, `gerne help NAME` "
        "one entry. [extending](extending.md) explains how methods are implemented and how to add "
        "one.\n\n"));
    GN_TRY(add_text(ctx, out, gn_method_notation));
    GN_TRY(gn_text_add(ctx, out, "\n\n## Contents by need\n"));
    GN_TRY(add_contents(ctx, out));
    for (size_t i = 0; gn_methods[i]; i++)
        GN_TRY(add_one(ctx, out, METHOD, gn_methods[i]));
    for (size_t i = 0; gn_estimators[i]; i++)
        GN_TRY(add_one(ctx, out, ESTIMATOR, gn_estimators[i]));
    return GERNE_OK;
}
