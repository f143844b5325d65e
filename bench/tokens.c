/* tokens.c - tokens a second of the tokenizer on one core.
 *
 * usage: bench_tokens VOCAB TEXT       TEXT: lines of text, any number
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "data/wordpiece.h"

enum { MOST = 512, ROUNDS = 5, LIMIT = 1 << 30 };

/* All lines once; the ids are added up so that nothing is left out. */
static size_t encode_all(const gn_tokenizer *tokenizer, const gn_text *text, int64_t *sum)
{
    static int32_t ids[2 * MOST];
    gn_encoding e = {.ids = ids, .max_tokens = MOST};
    size_t tokens = 0;
    for (size_t at = 0; at < text->size;) {
        const char *end = memchr(text->bytes + at, '\n', text->size - at);
        size_t size = end ? (size_t)(end - text->bytes) - at : text->size - at;
        gn_encode(tokenizer, &(gn_words){text->bytes + at, size}, 1, &e);
        tokens += e.count;
        *sum += e.ids[e.count / 2];
        at += size + 1;
    }
    return tokens;
}

static gerne_status measure(gerne_ctx *ctx, const char *vocab, const gn_text *text)
{
    gn_tokenizer *tokenizer;
    double started = gn_seconds(), best = 0;
    GN_TRY(gn_tokenizer_open(ctx, vocab, &tokenizer));
    double opened = gn_seconds() - started;
    int64_t sum = 0;
    size_t tokens = 0;
    for (int i = 0; i < ROUNDS; i++) {
        started = gn_seconds();
        tokens = encode_all(tokenizer, text, &sum);
        double seconds = gn_seconds() - started;
        best = i == 0 || seconds < best ? seconds : best;
    }
    printf("vocabulary opened in %.1f ms\n%zu tokens (at most %d a line) in %.3f s: %.2f million a "
           "second, %.0f MB/s; check %lld\n",
           1000 * opened, tokens, MOST, best, (double)tokens / best / 1e6,
           (double)text->size / best / 1e6, (long long)sum);
    gn_tokenizer_close(tokenizer);
    return GERNE_OK;
}

int main(int argc, char **argv)
{
    gerne_ctx *ctx;
    gn_text text = {0};
    if (argc != 3 || gerne_ctx_new(&ctx) != GERNE_OK) {
        fprintf(stderr, "usage: bench_tokens VOCAB TEXT\n");
        return 2;
    }
    gerne_status status = gn_file_read(ctx, argv[2], LIMIT, &text);
    if (status == GERNE_OK)
        status = measure(ctx, argv[1], &text);
    if (status != GERNE_OK)
        fprintf(stderr, "bench_tokens: %s\n", gerne_message(ctx));
    gn_text_free(&text);
    gerne_ctx_close(ctx);
    return status == GERNE_OK ? 0 : 1;
}
