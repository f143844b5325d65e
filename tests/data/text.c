/* text.c - datasets of texts: columns, presets, words, and the file of tokens. */
#include "helpers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "data/corpus.h"
#include "data/fetch.h"
#include "data/terms.h"
#include "debias/missing.h"

static const char vocabulary[] = "[UNK]\n[CLS]\n[SEP]\na\nb\nc\n##b\n";
enum { UNK, CLS, SEP, A, B, C, B_INSIDE };
enum { PATH_BYTES = 1024 };

typedef struct fixture {
    gerne_ctx *ctx;
    char *dir;
    gn_data_options options;
} fixture;

static fixture start(const char *name, const char *file)
{
    fixture f = {.ctx = test_ctx(), .dir = test_directory()};
    f.options = test_options(f.ctx, GN_DATA_TEXT);
    test_write_text(f.ctx, test_path(f.dir, "vocab.txt"), vocabulary);
    test_write_text(f.ctx, test_path(f.dir, name), file);
    f.options.vocab = strdup(test_path(f.dir, "vocab.txt"));
    f.options.cache = strdup(test_path(f.dir, "cache"));
    f.options.file = strdup(test_path(f.dir, name));
    f.options.max_tokens = 6;
    return f;
}

static void end(fixture *f)
{
    free((char *)(uintptr_t)f->options.vocab);
    free((char *)(uintptr_t)f->options.cache);
    free((char *)(uintptr_t)f->options.file);
    test_remove_directory(f->dir);
    gerne_ctx_close(f->ctx);
}

static void check_tokens(const gn_dataset *data, size_t i, const int32_t *wanted, size_t count)
{
    const int32_t *ids = gn_dataset_field(data, i, 0), *length = gn_dataset_field(data, i, 1);
    assert_int_equal(*length, count);
    for (size_t k = 0; k < count; k++)
        assert_int_equal(ids[k], wanted[k]);
}

#define TOKENS(...)                                                                                \
    (const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)

static void test_csv(void **state)
{
    (void)state;
    fixture f = start("t.tsv", "comment\ty\ta\tsplit\nA b\tyes\tx\ttrain\n\tno\ty\ttest\n"
                               "a b c a b c\tyes\ty\tval\n");
    gn_dataset *data = test_dataset(f.ctx, &f.options);
    assert_int_equal(data->n, 3);
    assert_int_equal(data->field, GN_TOKENS);
    assert_string_equal(data->class_names[0], "no");
    assert_int_equal(data->y[0], 1);
    assert_int_equal(data->split[2], GN_VAL);
    check_tokens(data, 0, TOKENS(CLS, A, B, SEP));
    check_tokens(data, 1, TOKENS(CLS, SEP));
    check_tokens(data, 2, TOKENS(CLS, A, B, C, A, SEP));
    gn_sample_shape shape = gn_dataset_shape(data);
    assert_int_equal(shape.count, 2);
    assert_int_equal(shape.fields[0].dims[0], 6);
    assert_int_equal(shape.fields[0].below, 7);
    gn_corpus_summary summary;
    assert_ok(f.ctx, gn_corpus_summarize(f.ctx, data->corpus, &summary));
    assert_int_equal(summary.tokens, 12);
    assert_int_equal(summary.truncated, 1);
    assert_int_equal(summary.quantiles[0], 2);
    assert_int_equal(summary.quantiles[2], 4);
    assert_int_equal(summary.quantiles[4], 6);
    /* A batch has both fields. */
    const gn_fetch_options ahead = {.threads = 1, .ahead = 4};
    const uint32_t wanted[] = {2, 0};
    const void *const *fields[GN_FIELDS_MAX];
    gn_fetch *fetch;
    assert_ok(f.ctx, gn_fetch_new(f.ctx, data, &ahead, &fetch));
    assert_ok(f.ctx, gn_fetch_submit(fetch, 0, wanted, 2));
    assert_ok(f.ctx, gn_fetch_wait(fetch, fields));
    assert_int_equal(*(const int32_t *)fields[1][0], 6);
    assert_int_equal(((const int32_t *)fields[0][1])[1], A);
    gn_fetch_close(fetch);
    gn_dataset_close(data);
    end(&f);
}

static void test_pairs(void **state)
{
    (void)state;
    fixture f =
        start("t.jsonl", "{\"p\": \"a\", \"q\": \"b b\", \"y\": 1, \"a\": true}\n\n"
                         "{\"q\": \"c\", \"p\": \"ab\", \"y\": 0, \"a\": null, \"list\": [1]}\n");
    const char *const columns[] = {"p", "q"};
    f.options.text = (gn_texts){columns, 2};
    f.options.missing = GN_MISSING_GROUP;
    f.options.max_tokens = 9;
    gn_dataset *data = test_dataset(f.ctx, &f.options);
    assert_int_equal(data->n, 2);
    assert_int_equal(data->y[0], 1);
    assert_int_equal(data->attributes, 2);
    check_tokens(data, 0, TOKENS(CLS, A, SEP, B, B, SEP));
    check_tokens(data, 1, TOKENS(CLS, A, B_INSIDE, SEP, C, SEP));
    gn_dataset_close(data);
    end(&f);
}

static const char civil[] = "id,comment_text,split,toxicity,male,female,LGBTQ,christian,muslim,"
                            "other_religions,black,white\n"
                            "1,a,train,0.7,1,0.5,0,0,0,0,0,0\n"
                            "2,b,train,0.1,0,0,0,0,0,0,0,0\n"
                            "3,c,train,0.5,0,0,0,0,0,0,1,0.49\n"
                            "4,a b,val,0,0,0,0,0,0,0,0,1\n"
                            "5,b c,test,1,0,0,1,0,1,0,0,0\n"
                            "6,c a,test,0,,0,0,0,0,0,0,0\n";

static void check_counts(fixture *f, gn_preset preset, size_t n, uint32_t attributes,
                         const int32_t *a, const uint32_t *rows)
{
    gn_dataset *data;
    f->options.preset = (int)preset;
    assert_ok(f->ctx, gn_dataset_open(f->ctx, &f->options, &data));
    assert_int_equal(data->n, n);
    assert_int_equal(data->attributes, attributes);
    assert_string_equal(data->attribute_names[7], "white");
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(data->a[i], a[i]);
        assert_int_equal(gn_dataset_row(data, i), rows[i]);
    }
    gn_dataset_close(data);
}

/* As SubpopBench and WILDS have them: fine repeats a comment for each identity in all splits; the
 * others only where it is judged. */
static void test_civil_comments(void **state)
{
    (void)state;
    fixture f = start("all_data_with_identities.csv", civil);
    check_counts(&f, GN_PRESET_CIVILCOMMENTS, 6, 8, (const int32_t[]){0, 1, 6, 7, 2, 4},
                 (const uint32_t[]){0, 0, 2, 3, 4, 4});
    check_counts(&f, GN_PRESET_CIVILCOMMENTS_COARSE, 6, 10, (const int32_t[]){8, 9, 8, 7, 2, 4},
                 (const uint32_t[]){0, 1, 2, 3, 4, 4});
    check_counts(&f, GN_PRESET_CIVILCOMMENTS_WILDS, 6, 9, (const int32_t[]){8, 8, 6, 7, 2, 4},
                 (const uint32_t[]){0, 1, 2, 3, 4, 4});
    f.options.preset = GN_PRESET_CIVILCOMMENTS;
    gn_dataset *data = test_dataset(f.ctx, &f.options);
    check_tokens(data, 1, TOKENS(CLS, A, SEP)); /* the first comment again */
    check_tokens(data, 5, TOKENS(CLS, B, C, SEP));
    gn_dataset_close(data);
    end(&f);
}

static void test_multinli(void **state)
{
    (void)state;
    fixture f =
        start("m.jsonl", "{\"gold_label\":\"neutral\",\"sentence1\":\"no\",\"sentence2\":\"a\"}\n"
                         "{\"gold_label\":\"-\",\"sentence1\":\"a\",\"sentence2\":\"b\"}\n"
                         "{\"gold_label\":\"entailment\",\"sentence1\":\"c\","
                         "\"sentence2\":\"Never, b\"}\n"
                         "{\"gold_label\":\"neutral\",\"sentence1\":\"c\","
                         "\"sentence2\":\"nobody's nose\"}\n"
                         "{\"gold_label\":\"neutral\",\"sentence1\":\"c\","
                         "\"sentence2\":\"knowing nose\"}\n");
    gn_dataset *data;
    f.options.preset = GN_PRESET_MULTINLI;
    assert_ok(f.ctx, gn_dataset_open(f.ctx, &f.options, &data));
    assert_int_equal(data->n, 4); /* without the one that has no label */
    const int32_t a[] = {0, 1, 1, 0};
    const uint32_t rows[] = {0, 2, 3, 4};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(data->a[i], a[i]);
        assert_int_equal(gn_dataset_row(data, i), rows[i]);
    }
    gn_dataset_close(data);
    end(&f);
}

static void test_terms(void **state)
{
    (void)state;
    static const char file[] =
        "# words\nfaith: church, \xc3\x89glise , native faith\nwoman:girl\nlone\n";
    static const struct {
        const char *text, *group;
    } cases[] = {
        {"", NULL},
        {"churches", NULL},
        {"A CHURCH.", "faith"},
        {"l'eglise", "faith"},
        {"my native-faith", "faith"},
        {"native", NULL},
        {"Girl church", "faith"},
        {"girl", "woman"},
        {"(lone)", "mentioned"},
        {"alone", NULL},
        {"girls' girl's", "woman"},
    };
    gerne_ctx *ctx = test_ctx();
    gn_terms *terms;
    assert_ok(ctx, gn_terms_parse(ctx, "words", file, strlen(file), &terms));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *group;
        assert_ok(ctx, gn_terms_find(ctx, terms, cases[i].text, &group));
        if (cases[i].group)
            assert_string_equal(group, cases[i].group);
        else
            assert_null(group);
    }
    gn_terms_close(terms);
    assert_fails(ctx, GERNE_EDATA, "is in the groups 'p' and 'q'",
                 gn_terms_parse(ctx, "words", "p: x\nq: X", 9, &terms));
    assert_fails(ctx, GERNE_EDATA, "has no terms",
                 gn_terms_parse(ctx, "words", "# x\n", 4, &terms));
    assert_fails(ctx, GERNE_EDATA, "line 1: there is no name",
                 gn_terms_parse(ctx, "w", ": x", 3, &terms));
    gerne_ctx_close(ctx);
}

/* The one file of tokens in the cache. */
static void token_file(const fixture *f, char path[PATH_BYTES])
{
    char folder[400];
    snprintf(folder, sizeof folder, "%s/tokens", f->options.cache);
    DIR *listing = opendir(folder);
    size_t count = 0;
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing));)
        if (strstr(entry->d_name, ".tokens")) {
            snprintf(path, PATH_BYTES, "%s/%s", folder, entry->d_name);
            count++;
        }
    closedir(listing);
    assert_int_equal(count, 1);
}

static void test_cache(void **state)
{
    (void)state;
    fixture f = start("t.csv", "text,y\na,0\nb c,1\n");
    char path[PATH_BYTES], first[GN_SHA256_HEX], second[GN_SHA256_HEX];
    gn_dataset *data = test_dataset(f.ctx, &f.options);
    assert_ok(f.ctx, gn_dataset_fingerprint(f.ctx, data, first));
    gn_dataset_close(data);
    token_file(&f, path);
    /* A damaged file is made again. */
    gn_text bytes = {0};
    assert_ok(f.ctx, gn_file_read(f.ctx, path, 1 << 20, &bytes));
    for (int way = 0; way < 3; way++) {
        bytes.bytes[64] ^= (char)(way == 0);
        assert_ok(f.ctx, gn_file_write(f.ctx, path, bytes.bytes,
                                       way == 1   ? bytes.size / 2
                                       : way == 2 ? 0
                                                  : bytes.size));
        data = test_dataset(f.ctx, &f.options);
        check_tokens(data, 1, TOKENS(CLS, B, C, SEP));
        assert_ok(f.ctx, gn_dataset_fingerprint(f.ctx, data, second));
        assert_string_equal(first, second);
        gn_dataset_close(data);
    }
    gn_text_free(&bytes);
    /* Other texts, another vocabulary or length are another dataset. */
    f.options.max_tokens = 5;
    data = test_dataset(f.ctx, &f.options);
    assert_ok(f.ctx, gn_dataset_fingerprint(f.ctx, data, second));
    assert_string_not_equal(first, second);
    gn_dataset_close(data);
    end(&f);
}

static gerne_status keep_quote(gerne_ctx *ctx, void *user, size_t row, const char *text)
{
    return gn_text_add(ctx, user, "%zu:%s;", row, text);
}

static void test_quotes(void **state)
{
    (void)state;
    fixture f = start("t.csv", "y,s,text\n0,p,one\n1,q,\"two\nlines\"\n0,r,three\n");
    const char *const columns[] = {"s", "text"};
    f.options.text = (gn_texts){columns, 2};
    gn_dataset *data;
    gn_text out = {0};
    const uint32_t rows[] = {1, 2};
    assert_ok(f.ctx, gn_dataset_open(f.ctx, &f.options, &data));
    assert_ok(f.ctx, gn_corpus_quote(f.ctx, data->corpus, rows, 2, keep_quote, &out));
    assert_string_equal(out.bytes, "1:q\ntwo\nlines;2:r\nthree;");
    gn_text_free(&out);
    /* A file that changes after it was opened is noticed. */
    test_write_text(f.ctx, f.options.file, "y,s,text\n0,p,one\n");
    assert_fails(f.ctx, GERNE_EDATA, "changed while it was read",
                 gn_corpus_quote(f.ctx, data->corpus, rows, 2, keep_quote, &out));
    assert_fails(f.ctx, GERNE_EDATA, "changed while it was read",
                 gn_dataset_prepare(f.ctx, data, 1));
    gn_text_free(&out);
    gn_dataset_close(data);
    end(&f);
}

static void test_bad(void **state)
{
    (void)state;
    static const struct {
        const char *name, *file, *words;
        int preset;
    } cases[] = {
        {"t.csv", "word,y\na,0\n", "text", 0},
        {"t.csv", "text,label\na,0\n", "y", 0},
        {"t.csv", "text,y,split\na,0,trian\n", "line 2, column 'split': 'trian' is not a split", 0},
        {"t.csv", "text,y\na,\n", "y", 0},
        {"t.csv", "text,y\n", "no samples", 0},
        {"t.csv", "text,y\na,0,1\n", "3 cells", 0},
        {"t.jsonl", "{\"text\":\"a\"}\n", "no key 'y'", 0},
        {"t.jsonl", "{\"text\":\"a\",\"y\":1}\n[1]\n", "line 2: not a JSON object", 0},
        {"t.jsonl", "{\"text\":\"a\",\"y\":1}\n{\"text\":{},\"y\":1}\n", "line 2, 'text': a list",
         0},
        {"t.jsonl", "{\"text\":\"a\",\"y\":1}\n{\"tex", "line 2", 0},
        {"t.jsonl", "\n \n", "is empty", 0},
        {"t.csv", "comment_text,toxicity\na,1\n", "male", GN_PRESET_CIVILCOMMENTS},
        {"t.csv", "text,y\na,0\n", "preset is one of images", GN_PRESET_CELEBA},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f = start(cases[i].name, cases[i].file);
        gn_dataset *data;
        f.options.preset = cases[i].preset;
        gerne_status status = gn_dataset_open(f.ctx, &f.options, &data);
        assert_fails(f.ctx, cases[i].preset == GN_PRESET_CELEBA ? GERNE_EUSAGE : GERNE_EDATA,
                     cases[i].words, status);
        end(&f);
    }
    fixture f = start("t.csv", "text,y\na,0\n");
    gn_dataset *data;
    gn_data_options options = f.options;
    options.vocab = NULL;
    assert_ok(f.ctx, gn_dataset_open(f.ctx, &options, &data));
    assert_fails(f.ctx, GERNE_EUSAGE, "texts need a vocabulary",
                 gn_dataset_prepare(f.ctx, data, 1));
    gn_dataset_close(data);
    end(&f);
}

/* Every allocation fails once. */
static void test_memory(void **state)
{
    (void)state;
    fixture f = start("t.csv", civil);
    f.options.preset = GN_PRESET_CIVILCOMMENTS;
    for (long n = 1;; n++) {
        gn_dataset *data = NULL;
        gn_fail_allocation(n);
        gerne_status status = gn_dataset_open(f.ctx, &f.options, &data);
        if (status == GERNE_OK)
            status = gn_dataset_prepare(f.ctx, data, 1);
        gn_fail_allocation(0);
        gn_dataset_close(data);
        if (status == GERNE_OK) {
            assert_true(n > 20);
            break;
        }
        assert_int_equal(status, GERNE_ENOMEM);
    }
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_civil_comments),
        cmocka_unit_test(test_multinli),
        cmocka_unit_test(test_terms),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
