/* The tokenizer: any bytes as text, with the rules that the first byte chooses. Ids are of the
 * vocabulary, there are no more than asked for, and fewer are the beginning of more. */
#include "target.h"

#include <string.h>

#include "data/wordpiece.h"

static const char list[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nab\n##a\n##b\n##ba\n!\n\xc3\xa4\n"
    "##\xc3\xa4\n\xce\xa9\n\xe4\xb8\xad\ni\n##\xcc\x87\n##x\nx\n";

static gn_tokenizer *make(gerne_ctx *ctx, uint8_t rules)
{
    gn_vocabulary *v;
    gn_tokenizer *t;
    fuzz_check(gn_vocabulary_parse(ctx, "list", list, sizeof list - 1, &v) == GERNE_OK);
    v->normalizer = (gn_normalizer){rules & 1, rules & 2, rules & 4, rules & 8};
    v->word_max = rules & 16 ? 3 : 100;
    fuzz_check(gn_tokenizer_new(ctx, v, &t) == GERNE_OK);
    return t;
}

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    enum { MOST = 64, FEW = 9 };
    int32_t many[2 * MOST], few[2 * FEW];
    if (size == 0)
        return;
    gn_tokenizer *t = make(ctx, data[0]);
    const char *bytes = (const char *)data + 1;
    size_t half = (size - 1) / 2;
    const gn_words texts[] = {{bytes, size - 1}, {bytes + half, size - 1 - half}};
    gn_encoding whole = {.ids = many, .max_tokens = MOST}, cut = {.ids = few, .max_tokens = FEW};
    gn_encode(t, texts, 1, &whole);
    gn_encode(t, texts, 1, &cut);
    fuzz_check(whole.count >= 2 && whole.count <= MOST && cut.count <= whole.count);
    fuzz_check(memcmp(many, few, (cut.count - 1) * sizeof few[0]) == 0);
    fuzz_check(cut.truncated == (whole.truncated || whole.count > FEW));
    for (size_t i = 0; i < whole.count; i++)
        fuzz_check(many[i] >= 0 && (size_t)many[i] < gn_tokenizer_vocabulary(t)->size);
    gn_encode(t, texts, 2, &cut);
    fuzz_check(cut.count >= 3 && cut.count <= FEW && few[cut.count - 1] == 3);
    gn_tokenizer_close(t);
}
