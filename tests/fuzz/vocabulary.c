/* Vocabularies: tokenizer.json and vocab.txt, and the terms of data.a_words. What is taken can be
 * used on a text. */
#include "target.h"

#include <string.h>

#include "data/terms.h"
#include "data/wordpiece.h"

static void fuzz_terms(gerne_ctx *ctx, const char *bytes, size_t size)
{
    gn_terms *terms;
    const char *group;
    if (!fuzz_accepted(ctx, gn_terms_parse(ctx, "input", bytes, size, &terms), GERNE_EDATA))
        return;
    fuzz_check(gn_terms_find(ctx, terms, "some words, and a term", &group) == GERNE_OK);
    gn_terms_close(terms);
}

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    enum { MOST = 16 };
    static const char text[] = "Some w\xc3\xb6rds, [CLS] \xe4\xb8\xad!";
    int32_t ids[2 * MOST];
    gn_vocabulary *v;
    gn_tokenizer *t;
    if (size == 0)
        return;
    if (data[0] == 'w') {
        fuzz_terms(ctx, (const char *)data + 1, size - 1);
        return;
    }
    gerne_status status = gn_vocabulary_parse(ctx, "input", (const char *)data, size, &v);
    if (!fuzz_accepted(ctx, status, GERNE_EDATA))
        return;
    fuzz_check(gn_tokenizer_new(ctx, v, &t) == GERNE_OK);
    gn_encoding e = {.ids = ids, .max_tokens = MOST};
    gn_encode(t, &(gn_words){text, sizeof text - 1}, 1, &e);
    for (size_t i = 0; i < e.count; i++)
        fuzz_check(ids[i] >= 0 && (size_t)ids[i] < v->size && v->tokens[ids[i]]);
    gn_tokenizer_close(t);
}
