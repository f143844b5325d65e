/* wordpiece.c - the tokenizer's interface: vocabularies, limits, pairs. Its ids are compared with
 * an independent tokenizer by wordpiece.py. */
#include "helpers.h"

#include <string.h>

#include "data/wordpiece.h"

static const char letters[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\n##a\n##b\n##bc\n!\n\xe4\xb8\xad\n";
enum {
    UNK = 1,
    CLS,
    SEP,
    A,
    B,
    C,
    D,
    E,
    F,
    G,
    H,
    I,
    J,
    A_INSIDE,
    B_INSIDE,
    BC_INSIDE,
    BANG,
    ZHONG
};

static gn_tokenizer *open_tokenizer(gerne_ctx *ctx, const char *file)
{
    gn_vocabulary *vocabulary;
    gn_tokenizer *tokenizer;
    assert_ok(ctx, gn_vocabulary_parse(ctx, "vocab", file, strlen(file), &vocabulary));
    assert_ok(ctx, gn_tokenizer_new(ctx, vocabulary, &tokenizer));
    return tokenizer;
}

static void check_ids(const int32_t *found, size_t count, const int32_t *wanted,
                      size_t wanted_count)
{
    assert_int_equal(count, wanted_count);
    for (size_t i = 0; i < count && i < wanted_count; i++)
        assert_int_equal(found[i], wanted[i]);
}

#define WANTED(...)                                                                                \
    (const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)

static void test_pieces(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_tokenizer *t = open_tokenizer(ctx, letters);
    int32_t ids[16] = {0};
    gn_pieces pieces = {.ids = ids, .capacity = 16};
    static const char text[] = "ABC aba! xa \xe4\xb8\xad\xe4\xb8\xad [SEP]";
    gn_tokenize(t, (gn_words){text, strlen(text)}, &pieces);
    check_ids(ids, pieces.count,
              WANTED(A, BC_INSIDE, A, B_INSIDE, A_INSIDE, BANG, UNK, ZHONG, ZHONG, SEP));
    assert_false(pieces.more);
    /* It stops where there is no room, and says so. */
    pieces = (gn_pieces){.ids = ids, .capacity = 3};
    gn_tokenize(t, (gn_words){"a b c", 5}, &pieces);
    assert_false(pieces.more);
    pieces = (gn_pieces){.ids = ids, .capacity = 3};
    gn_tokenize(t, (gn_words){"a b abc", 7}, &pieces);
    check_ids(ids, pieces.count, WANTED(A, B, A));
    assert_true(pieces.more);
    /* Bytes that are not UTF-8 are counted; NUL bytes are removed. */
    pieces = (gn_pieces){.ids = ids, .capacity = 16};
    gn_tokenize(t, (gn_words){"a\xff\xe2\x82\0b", 6}, &pieces);
    check_ids(ids, pieces.count, WANTED(A, B_INSIDE));
    assert_int_equal(pieces.malformed, 2);
    gn_tokenizer_close(t);
    gerne_ctx_close(ctx);
}

/* The wanted lengths are those of Hugging Face's tokenizers 0.23 ("longest_first"). */
static void test_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second;
        size_t most, kept_first, kept_second;
    } cases[] = {
        {"a b c d e f g", "h i", 9, 4, 2},  {"a b", "c d e f g h i", 9, 2, 4},
        {"a b c d", "e f g h", 9, 3, 3},    {"a b c d e f g", "h i", 10, 5, 2},
        {"a b c d", "e f g h", 10, 3, 4},   {"a b c d e", "f g h i", 10, 4, 3},
        {"a b c", "d e f g h i", 10, 3, 4}, {"a b c d", "e f g h", 11, 4, 4},
        {"a b c d e", "f g h i", 11, 4, 4}, {"a", "", 9, 1, 0},
    };
    gerne_ctx *ctx = test_ctx();
    gn_tokenizer *t = open_tokenizer(ctx, letters);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int32_t ids[2 * 11];
        const gn_words texts[] = {{cases[i].first, strlen(cases[i].first)},
                                  {cases[i].second, strlen(cases[i].second)}};
        gn_encoding e = {.ids = ids, .max_tokens = cases[i].most};
        gn_encode(t, texts, 2, &e);
        size_t n = cases[i].kept_first, m = cases[i].kept_second;
        assert_int_equal(e.count, n + m + 3);
        assert_int_equal(ids[0], CLS);
        assert_int_equal(ids[n + 1], SEP);
        assert_int_equal(ids[n + m + 2], SEP);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(ids[1 + k], A + texts[0].bytes[2 * k] - 'a');
        for (size_t k = 0; k < m; k++)
            assert_int_equal(ids[n + 2 + k], A + texts[1].bytes[2 * k] - 'a');
        assert_int_equal(e.truncated, (texts[0].size + 1) / 2 + (texts[1].size + 1) / 2 > n + m);
    }
    gn_tokenizer_close(t);
    gerne_ctx_close(ctx);
}

#define JSON(normalizer, pre, model, added)                                                        \
    "{\"added_tokens\":[" added "],\"normalizer\":" normalizer ",\"pre_tokenizer\":" pre           \
    ",\"model\":" model "}"
#define BERT     "{\"type\":\"BertNormalizer\",\"lowercase\":true}"
#define BERT_PRE "{\"type\":\"BertPreTokenizer\"}"
#define PIECES                                                                                     \
    "{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"[CLS]\":1,\"[SEP]\":2,\"a\":3,\"A\":4}"
#define SPECIAL "{\"id\":9,\"content\":\"<s>\",\"special\":true}"

static void test_json(void **state)
{
    (void)state;
    static const struct {
        const char *file, *words;
    } bad[] = {
        {"{\"model\":3}", "it has no model"},
        {JSON("null", BERT_PRE, PIECES "}", ""), "normalizer is none, not BertNormalizer"},
        {JSON(BERT, "{\"type\":\"ByteLevel\"}", PIECES "}", ""), "pre_tokenizer is ByteLevel"},
        {JSON(BERT, BERT_PRE, "{\"type\":\"BPE\",\"vocab\":{}}", ""),
         "model is BPE, not WordPiece"},
        {JSON(BERT, BERT_PRE, "{\"type\":\"WordPiece\",\"vocab\":[]}", ""),
         "no object model.vocab"},
        {JSON(BERT, BERT_PRE, "{\"vocab\":{\"a\":\"x\"}}", ""), "not a whole number"},
        {JSON(BERT, BERT_PRE, "{\"vocab\":{\"a\":1,\"b\":1}}", ""), "the same id 1"},
        {JSON(BERT, BERT_PRE, "{\"vocab\":{\"a\":-1}}", ""), "outside [0,"},
        {JSON(BERT, BERT_PRE, PIECES ",\"max_input_chars_per_word\":0}", ""), "[1, 1000]"},
        {JSON(BERT, BERT_PRE, PIECES ",\"unk_token\":\"?\"}", ""), "has no token '?'"},
        {JSON("{\"type\":\"BertNormalizer\",\"lowercase\":3}", BERT_PRE, PIECES "}", ""),
         "lowercase is neither"},
        {JSON(BERT, BERT_PRE, PIECES "}", "{\"id\":7,\"content\":\"a\"}"), "has two ids, 3 and 7"},
        {JSON(BERT, BERT_PRE, PIECES "}", "{\"id\":9,\"content\":\"x\",\"lstrip\":true}"),
         "lstrip"},
    };
    gerne_ctx *ctx = test_ctx();
    gn_vocabulary *v;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_fails(ctx, GERNE_EDATA, bad[i].words,
                     gn_vocabulary_parse(ctx, "t.json", bad[i].file, strlen(bad[i].file), &v));
    int32_t ids[8];
    gn_tokenizer *t = open_tokenizer(ctx, JSON(BERT, BERT_PRE, PIECES "}", SPECIAL));
    gn_pieces pieces = {.ids = ids, .capacity = 8};
    gn_tokenize(t, (gn_words){"A a<s>\xc3\x84", 8}, &pieces);
    check_ids(ids, pieces.count, WANTED(3, 3, 9, 3));
    assert_int_equal(gn_tokenizer_vocabulary(t)->size, 10);
    gn_tokenizer_close(t);
    /* Another case, accents and length of words. */
    t = open_tokenizer(ctx, JSON("{\"type\":\"BertNormalizer\",\"lowercase\":false}", BERT_PRE,
                                 PIECES ",\"max_input_chars_per_word\":1}", ""));
    pieces = (gn_pieces){.ids = ids, .capacity = 8};
    gn_tokenize(t, (gn_words){"A a \xc3\x84 aa", 9}, &pieces);
    check_ids(ids, pieces.count, WANTED(4, 3, 0, 0));
    gn_tokenizer_close(t);
    gerne_ctx_close(ctx);
}

static void test_lists(void **state)
{
    (void)state;
    static const struct {
        const char *file, *words;
    } bad[] = {
        {"", "is empty"},
        {"[UNK]\n[CLS]\n", "no token '[SEP]'"},
        {"[CLS]\n[SEP]\n", "no token '[UNK]'"},
        {"[UNK]\n[CLS]\n[SEP]\na\nb\na\n", "line 6: the token 'a' is also on line 4"},
        {"[UNK]\n[CLS]\n[SEP]\n\xff\n", "line 4: the token of id 3 is not UTF-8"},
    };
    gerne_ctx *ctx = test_ctx();
    gn_vocabulary *v, *other;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_fails(ctx, GERNE_EDATA, bad[i].words,
                     gn_vocabulary_parse(ctx, "vocab", bad[i].file, strlen(bad[i].file), &v));
    assert_fails(ctx, GERNE_EDATA, "a NUL byte", gn_vocabulary_parse(ctx, "vocab", "a\0b", 3, &v));
    /* Upper case in the tokens: texts keep theirs. Empty lines take an id. */
    static const char cased[] = "[UNK]\r\n[CLS]\r\n\r\n[SEP]\r\nThe\r\n";
    assert_ok(ctx, gn_vocabulary_parse(ctx, "vocab", cased, strlen(cased), &v));
    assert_false(v->normalizer.lowercase || v->normalizer.strip_accents);
    assert_int_equal(gn_trie_find(v->trie, "The", 3), 4);
    gn_vocabulary_close(v);
    /* The two forms of one vocabulary have one digest. */
    static const char list[] = "[UNK]\n[CLS]\n[SEP]\na\n";
    static const char json[] =
        JSON(BERT, BERT_PRE, "{\"vocab\":{\"a\":3,\"[UNK]\":0,\"[SEP]\":2,\"[CLS]\":1}}",
             "{\"id\":0,\"content\":\"[UNK]\"},{\"id\":1,\"content\":\"[CLS]\"},"
             "{\"id\":2,\"content\":\"[SEP]\"}");
    assert_ok(ctx, gn_vocabulary_parse(ctx, "vocab", list, strlen(list), &v));
    assert_ok(ctx, gn_vocabulary_parse(ctx, "json", json, strlen(json), &other));
    assert_memory_equal(v->digest, other->digest, sizeof v->digest);
    gn_vocabulary_close(v);
    gn_vocabulary_close(other);
    gerne_ctx_close(ctx);
}

/* Every allocation fails once. */
static void test_memory(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    static const char json[] = JSON(BERT, BERT_PRE, PIECES "}", SPECIAL);
    const char *const files[] = {letters, json};
    for (size_t i = 0; i < 2; i++)
        for (long n = 1;; n++) {
            gn_vocabulary *v = NULL;
            gn_tokenizer *t = NULL;
            gn_fail_allocation(n);
            gerne_status status = gn_vocabulary_parse(ctx, "v", files[i], strlen(files[i]), &v);
            if (status == GERNE_OK)
                status = gn_tokenizer_new(ctx, v, &t);
            gn_fail_allocation(0);
            gn_tokenizer_close(t);
            if (status == GERNE_OK) {
                assert_true(n > 5);
                break;
            }
            assert_int_equal(status, GERNE_ENOMEM);
        }
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces), cmocka_unit_test(test_pairs),  cmocka_unit_test(test_json),
        cmocka_unit_test(test_lists),  cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
