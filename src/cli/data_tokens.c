/* data_tokens.c - `gerne data tokens`: lines of text as token ids, as a network will see them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/data.h"
#include "data/wordpiece.h"

enum { CHUNK = 1 << 16, LINE_MAX_BYTES = 1 << 28 };

typedef struct token_lines {
    gn_cli *cli;
    gn_tokenizer *tokenizer;
    gn_encoding encoding;
    size_t lines, malformed, malformed_lines;
} token_lines;

static gerne_status print_line(token_lines *t, const char *line, size_t size)
{
    gn_text *out = &t->cli->output;
    gn_encoding *encoding = &t->encoding;
    const char *separator = t->cli->json ? "," : " ";
    gn_encode(t->tokenizer, &(gn_words){line, size}, 1, encoding);
    t->malformed += encoding->malformed;
    t->malformed_lines += encoding->malformed > 0;
    if (t->cli->json)
        GN_TRY(gn_text_add(t->cli->ctx, out, "%s[", t->lines ? ",\n" : ""));
    for (size_t i = 0; i < encoding->count; i++)
        GN_TRY(gn_text_add(t->cli->ctx, out, "%s%d", i ? separator : "", (int)encoding->ids[i]));
    GN_TRY(gn_text_add(t->cli->ctx, out, "%s", t->cli->json ? "]" : "\n"));
    t->lines++;
    return out->size >= CHUNK ? gn_output_flush(t->cli) : GERNE_OK;
}

/* Prints the whole lines of the buffer and keeps the rest; seen bytes of it have no line end. */
static gerne_status print_lines(token_lines *t, gn_text *input, size_t seen)
{
    size_t first = 0;
    for (;;) {
        size_t from = seen > first ? seen : first;
        const char *end = memchr(input->bytes + from, '\n', input->size - from);
        if (!end)
            break;
        size_t next = (size_t)(end - input->bytes) + 1;
        GN_TRY(print_line(t, input->bytes + first, next - 1 - first));
        first = next;
    }
    if (first) {
        memmove(input->bytes, input->bytes + first, input->size - first);
        input->size -= first;
    }
    if (input->size <= LINE_MAX_BYTES)
        return GERNE_OK;
    return gn_fail(t->cli->ctx, GERNE_EDATA, "line %zu has more than %d bytes", t->lines + 1,
                   LINE_MAX_BYTES);
}

static gerne_status read_input(token_lines *t, gn_text *input)
{
    static char chunk[CHUNK];
    for (;;) {
        ssize_t count = read(STDIN_FILENO, chunk, sizeof chunk);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return gn_fail_errno(t->cli->ctx, GERNE_EIO, "cannot read standard input");
        if (count == 0)
            return input->size ? print_line(t, input->bytes, input->size) : GERNE_OK;
        size_t seen = input->size;
        GN_TRY(gn_text_add_bytes(t->cli->ctx, input, chunk, (size_t)count));
        GN_TRY(print_lines(t, input, seen));
    }
}

static gerne_status print_all(token_lines *t, gn_text *input)
{
    gn_cli *cli = t->cli;
    GN_TRY(gn_text_add(cli->ctx, &cli->output, "%s", cli->json ? "[" : ""));
    GN_TRY(read_input(t, input));
    if (t->malformed)
        gn_warn(cli->ctx,
                "%zu bytes or byte sequences on %zu lines are not UTF-8 and were "
                "read as U+FFFD",
                t->malformed, t->malformed_lines);
    return cli->json ? gn_text_add(cli->ctx, &cli->output, "]\n") : GERNE_OK;
}

gerne_status gn_data_tokens(gn_cli *cli, const char *vocab, size_t max_tokens)
{
    token_lines t = {.cli = cli, .encoding = {.max_tokens = max_tokens}};
    gn_text input = {0};
    if (!vocab) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "'gerne data tokens' needs a vocabulary");
        gn_hint(cli->ctx, "--model.vocab FILE, BERT's vocab.txt or tokenizer.json");
        return GERNE_EUSAGE;
    }
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 2 * max_tokens, sizeof *t.encoding.ids,
                          &t.encoding.ids));
    GN_TRY(gn_tokenizer_open(cli->ctx, vocab, &t.tokenizer));
    gerne_status status = print_all(&t, &input);
    gn_text_free(&input);
    gn_tokenizer_close(t.tokenizer);
    return status;
}
