/* tokenizer_json.c - Hugging Face's tokenizer.json, where it describes a tokenizer of BERT's kind.
 */
#include <string.h>

#include "base/json.h"
#include "data/vocabulary.h"

typedef struct json_file {
    gerne_ctx *ctx;
    const char *name;
    gn_vocabulary *vocabulary;
} json_file;

/* The type of a part such as "normalizer", or "none". */
static const char *type_of(const json_t *part)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    return type ? type : "none";
}

static gerne_status check_part(const json_file *f, const json_t *root, const char *key,
                               const char *wanted)
{
    const char *type = type_of(json_object_get(root, key));
    if (strcmp(type, wanted) == 0)
        return GERNE_OK;
    gn_fail(f->ctx, GERNE_EDATA, "'%s' is not BERT's tokenizer: its %s is %.60s, not %s", f->name,
            key, type, wanted);
    gn_hint(f->ctx, "--model.vocab takes BERT's vocab.txt, or a tokenizer.json with WordPiece");
    return GERNE_EDATA;
}

/* A switch that is absent or null keeps its default. */
static gerne_status read_bool(const json_file *f, const json_t *part, const char *key, bool *out)
{
    const json_t *value = json_object_get(part, key);
    if (!value || json_is_null(value))
        return GERNE_OK;
    if (!json_is_boolean(value))
        return gn_fail(f->ctx, GERNE_EDATA, "'%s': %s is neither true nor false", f->name, key);
    *out = json_is_true(value);
    return GERNE_OK;
}

static gerne_status read_normalizer(const json_file *f, const json_t *root)
{
    const json_t *part = json_object_get(root, "normalizer");
    gn_normalizer *n = &f->vocabulary->normalizer;
    GN_TRY(check_part(f, root, "normalizer", "BertNormalizer"));
    GN_TRY(read_bool(f, part, "clean_text", &n->clean_text));
    GN_TRY(read_bool(f, part, "handle_chinese_chars", &n->chinese_chars));
    GN_TRY(read_bool(f, part, "lowercase", &n->lowercase));
    n->strip_accents = n->lowercase;
    return read_bool(f, part, "strip_accents", &n->strip_accents);
}

static gerne_status read_tokens(const json_file *f, json_t *model)
{
    json_t *vocab = json_object_get(model, "vocab"), *id;
    const char *token;
    if (!json_is_object(vocab))
        return gn_fail(f->ctx, GERNE_EDATA, "'%s' has no object model.vocab", f->name);
    json_object_foreach(vocab, token, id)
    {
        if (!json_is_integer(id))
            return gn_fail(f->ctx, GERNE_EDATA, "'%s': the id of '%.100s' is not a whole number",
                           f->name, token);
        gerne_status status =
            gn_vocabulary_add(f->ctx, f->vocabulary, token, json_integer_value(id));
        if (status != GERNE_OK)
            return gn_fail_in(f->ctx, status, "'%s'", f->name);
    }
    return GERNE_OK;
}

static gerne_status read_model(const json_file *f, const json_t *root, const char **unknown)
{
    json_t *model = json_object_get(root, "model");
    const char *prefix = json_string_value(json_object_get(model, "continuing_subword_prefix"));
    const char *given = json_string_value(json_object_get(model, "unk_token"));
    const json_t *limit = json_object_get(model, "max_input_chars_per_word");
    gn_vocabulary *v = f->vocabulary;
    if (json_object_get(model, "type")) /* files of early versions have none */
        GN_TRY(check_part(f, root, "model", "WordPiece"));
    if (prefix)
        GN_TRY(gn_arena_copy_text(f->ctx, v->arena, prefix, &v->prefix));
    if (given)
        GN_TRY(gn_arena_copy_text(f->ctx, v->arena, given, unknown));
    if (limit) {
        json_int_t value = json_integer_value(limit);
        if (value < 1 || value > GN_WORD_MAX)
            return gn_fail(f->ctx, GERNE_EDATA,
                           "'%s': max_input_chars_per_word is not a whole number in [1, %d]",
                           f->name, GN_WORD_MAX);
        v->word_max = (size_t)value;
    }
    return read_tokens(f, model);
}

static gerne_status read_added(const json_file *f, const json_t *root)
{
    static const char *const refused[] = {"single_word", "lstrip", "rstrip", "normalized"};
    json_t *list = json_object_get(root, "added_tokens"), *entry;
    size_t i;
    json_array_foreach(list, i, entry)
    {
        const char *content = json_string_value(json_object_get(entry, "content"));
        const json_t *id = json_object_get(entry, "id");
        if (!content || !content[0] || !json_is_integer(id))
            return gn_fail(f->ctx, GERNE_EDATA, "'%s': added token %zu has no id or no content",
                           f->name, i);
        for (size_t k = 0; k < sizeof refused / sizeof refused[0]; k++)
            if (json_is_true(json_object_get(entry, refused[k])))
                return gn_fail(f->ctx, GERNE_EDATA,
                               "'%s': the added token '%.100s' has %s, which is not supported",
                               f->name, content, refused[k]);
        gerne_status status =
            gn_vocabulary_add_special(f->ctx, f->vocabulary, content, json_integer_value(id));
        if (status != GERNE_OK)
            return gn_fail_in(f->ctx, status, "'%s'", f->name);
    }
    return GERNE_OK;
}

gerne_status gn_vocabulary_read_json(gerne_ctx *ctx, const char *name, const char *bytes,
                                     size_t size, gn_vocabulary *vocabulary, const char **unknown)
{
    const json_file file = {ctx, name, vocabulary};
    GN_LOCAL(json_t) *root = NULL;
    GN_TRY(gn_json_parse(ctx, bytes, size, name, &root));
    if (!json_is_object(json_object_get(root, "model")))
        return gn_fail(ctx, GERNE_EDATA, "'%s' is not a tokenizer.json: it has no model", name);
    GN_TRY(read_model(&file, root, unknown));
    GN_TRY(check_part(&file, root, "pre_tokenizer", "BertPreTokenizer"));
    GN_TRY(read_normalizer(&file, root));
    return read_added(&file, root);
}
