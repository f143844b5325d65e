#include "data/describe.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "data/corpus.h"
#include "data/source.h"

enum { EXAMPLES = 3, COLUMNS_MAX = 12, ROWS_MAX = 24 };

/* ---- looking at the files ---- */

typedef struct inspection_job {
    const gn_dataset *dataset;
    uint32_t (*sizes)[2]; /* height and width of every sample; 0 where bad */
} inspection_job;

static gerne_status inspect_one(gerne_ctx *ctx, void *user, gn_scratch *scratch, size_t index)
{
    inspection_job *job = user;
    const gn_source *source = job->dataset->source;
    size_t height = 0, width = 0;
    gerne_status status =
        source->inspect(ctx, source, scratch, gn_dataset_row(job->dataset, index), &height, &width);
    if (status == GERNE_OK) {
        job->sizes[index][0] = (uint32_t)height;
        job->sizes[index][1] = (uint32_t)width;
    }
    return status;
}

static void summarize(const inspection_job *job, gn_inspection *out)
{
    bool first = true;
    for (size_t i = 0; i < job->dataset->n; i++) {
        size_t height = job->sizes[i][0], width = job->sizes[i][1];
        if (!height)
            continue;
        size_t area = height * width;
        if (first || area < out->smallest[0] * out->smallest[1]) {
            out->smallest[0] = height;
            out->smallest[1] = width;
        }
        if (first || area > out->largest[0] * out->largest[1]) {
            out->largest[0] = height;
            out->largest[1] = width;
        }
        if (first)
            out->sizes = 1;
        else if (height != out->smallest[0] || width != out->smallest[1] ||
                 height != out->largest[0])
            out->sizes = 2;
        first = false;
    }
}

gerne_status gn_dataset_inspect(gerne_ctx *ctx, const gn_dataset *dataset, int threads,
                                gn_inspection *out)
{
    *out = (gn_inspection){0};
    if (!dataset->source || !dataset->source->inspect)
        return GERNE_OK;
    GN_FREED uint32_t(*sizes)[2] = NULL;
    GN_FREED uint8_t *failed = NULL;
    GN_TRY(gn_alloc(ctx, dataset->n, sizeof *sizes, "sizes", &sizes));
    GN_TRY(gn_alloc(ctx, dataset->n, 1, "samples", &failed));
    inspection_job job = {.dataset = dataset, .sizes = sizes};
    GN_TRY(gn_parallel(ctx, threads, dataset->n, "look at files", inspect_one, &job, failed));
    out->files = dataset->n;
    for (size_t i = 0; i < dataset->n; i++)
        out->bad += failed[i];
    summarize(&job, out);
    return GERNE_OK;
}

/* ---- JSON ---- */

typedef struct split_counts {
    size_t classes, attributes;
    uint64_t n[GN_SPLITS];
    uint64_t *groups[GN_SPLITS];
} split_counts;

static void free_counts(split_counts *counts)
{
    gn_free(counts->groups[0]);
}
GN_LOCAL_STRUCT(split_counts, free_counts)

static gerne_status count_splits(gerne_ctx *ctx, const gn_dataset *dataset, split_counts *out)
{
    *out = (split_counts){.classes = dataset->classes ? dataset->classes : 1,
                          .attributes = dataset->attributes ? dataset->attributes : 1};
    size_t groups;
    if (!gn_multiply(out->classes, out->attributes, &groups) || groups > 100000000)
        return gn_fail(ctx, GERNE_EDATA, "%zu classes times %zu attributes are too many groups",
                       out->classes, out->attributes);
    GN_TRY(gn_alloc(ctx, groups, GN_SPLITS * sizeof(uint64_t), "groups", &out->groups[0]));
    for (int split = 0; split < GN_SPLITS; split++) {
        out->groups[split] = out->groups[0] + (size_t)split * groups;
        gn_dataset_count(dataset, (gn_split)split, out->groups[split]);
        for (size_t g = 0; g < groups; g++)
            out->n[split] += out->groups[split][g];
    }
    return GERNE_OK;
}

static json_t *splits_json(const split_counts *counts)
{
    json_t *splits = json_object();
    for (int split = 0; split < GN_SPLITS; split++) {
        json_t *one = json_object();
        json_object_set_new(one, "n", json_integer((json_int_t)counts->n[split]));
        json_object_set_new(
            one, "groups",
            gn_json_counts(counts->groups[split], counts->classes, counts->attributes));
        json_object_set_new(splits, gn_split_name((gn_split)split), one);
    }
    return splits;
}

static json_t *sample_json(const gn_dataset *dataset)
{
    static const char *const kinds[] = {
        [GN_PIXELS] = "pixels", [GN_FEATURES] = "features", [GN_TOKENS] = "tokens"};
    json_t *sample = json_object();
    bool pixels = dataset->field == GN_PIXELS;
    json_object_set_new(sample, "kind", json_string(kinds[dataset->field]));
    if (pixels) {
        json_object_set_new(sample, "height", json_integer((json_int_t)dataset->height));
        json_object_set_new(sample, "width", json_integer((json_int_t)dataset->width));
    }
    json_object_set_new(sample, "dimension", json_integer((json_int_t)dataset->dimension));
    return sample;
}

/* Texts whose tokens are known. */
static bool has_tokens(const gn_dataset *dataset)
{
    return dataset->field == GN_TOKENS && dataset->prepared;
}

static gerne_status add_tokens_json(gerne_ctx *ctx, const gn_dataset *dataset, json_t *root)
{
    gn_corpus_summary summary;
    if (!has_tokens(dataset))
        return GERNE_OK;
    GN_TRY(gn_corpus_summarize(ctx, dataset->corpus, &summary));
    json_t *lengths = json_array();
    for (size_t i = 0; i < sizeof summary.quantiles / sizeof summary.quantiles[0]; i++)
        json_array_append_new(lengths, json_integer((json_int_t)summary.quantiles[i]));
    json_object_set_new(root, "texts",
                        json_pack("{s:I,s:I,s:I,s:o}", "n", (json_int_t)summary.rows, "tokens",
                                  (json_int_t)summary.tokens, "truncated",
                                  (json_int_t)summary.truncated, "length_quartiles", lengths));
    return GERNE_OK;
}

gerne_status gn_dataset_json(gerne_ctx *ctx, const gn_dataset *dataset,
                             const gn_inspection *inspection, json_t **out)
{
    GN_LOCAL(split_counts) counts = {0};
    GN_LOCAL(json_t) *root = json_object();
    *out = NULL;
    GN_TRY(count_splits(ctx, dataset, &counts));
    json_object_set_new(root, "format", json_string(dataset->format));
    json_object_set_new(root, "n", json_integer((json_int_t)dataset->n));
    json_object_set_new(root, "classes", json_integer(dataset->classes));
    json_object_set_new(root, "attributes", json_integer(dataset->attributes));
    json_object_set_new(root, "class_names", gn_json_names(dataset->class_names, dataset->classes));
    json_object_set_new(root, "attribute_names",
                        gn_json_names(dataset->attribute_names, dataset->attributes));
    json_object_set_new(root, "sample", sample_json(dataset));
    json_object_set_new(root, "splits", splits_json(&counts));
    json_object_set_new(root, "skipped", json_integer((json_int_t)dataset->skipped));
    if (inspection->files)
        json_object_set_new(root, "bad_files", json_integer((json_int_t)inspection->bad));
    GN_TRY(add_tokens_json(ctx, dataset, root));
    return gn_give(&root, out);
}

/* ---- text ---- */

static gerne_status add_names(gerne_ctx *ctx, const char *title, const char *const *names,
                              uint32_t count, gn_text *out)
{
    if (count == 0)
        return gn_text_add(ctx, out, "%-11s unknown\n", title);
    GN_TRY(gn_text_add(ctx, out, "%-11s %u:", title, count));
    for (uint32_t i = 0; i < count && i < COLUMNS_MAX; i++)
        GN_TRY(gn_text_add(ctx, out, "%s %s", i ? "," : "", names[i]));
    return gn_text_add(ctx, out, "%s\n", count > COLUMNS_MAX ? ", ..." : "");
}

static gerne_status add_table(gerne_ctx *ctx, const gn_dataset *dataset, const uint64_t *counts,
                              gn_text *out)
{
    uint32_t attributes = dataset->attributes ? dataset->attributes : 1;
    int label = 6;
    for (uint32_t y = 0; y < dataset->classes && y < ROWS_MAX; y++) {
        int length = (int)strlen(dataset->class_names[y]);
        label = length > label ? length : label;
    }
    if (dataset->attributes) {
        GN_TRY(gn_text_add(ctx, out, "  %*s", label, ""));
        for (uint32_t a = 0; a < attributes && a < COLUMNS_MAX; a++)
            GN_TRY(gn_text_add(ctx, out, " %8.8s", dataset->attribute_names[a]));
        GN_TRY(gn_text_add(ctx, out, "%s\n", attributes > COLUMNS_MAX ? " ..." : ""));
    }
    for (uint32_t y = 0; y < dataset->classes && y < ROWS_MAX; y++) {
        GN_TRY(gn_text_add(ctx, out, "  %*s", label, dataset->class_names[y]));
        for (uint32_t a = 0; a < attributes && a < COLUMNS_MAX; a++)
            GN_TRY(gn_text_add(ctx, out, " %8llu",
                               (unsigned long long)counts[(size_t)y * attributes + a]));
        GN_TRY(gn_text_add(ctx, out, "%s\n", attributes > COLUMNS_MAX ? " ..." : ""));
    }
    if (dataset->classes > ROWS_MAX)
        GN_TRY(
            gn_text_add(ctx, out, "  %*s (%u more)\n", label, "...", dataset->classes - ROWS_MAX));
    return GERNE_OK;
}

static gerne_status add_files(gerne_ctx *ctx, const gn_dataset *dataset,
                              const gn_inspection *inspection, gn_text *out)
{
    if (!inspection->files)
        return GERNE_OK;
    char path[4096];
    GN_TRY(gn_text_add(ctx, out, "%-11s %zu checked, %zu bad; ", "files", inspection->files,
                       inspection->bad));
    if (inspection->sizes == 1)
        GN_TRY(gn_text_add(ctx, out, "all %zux%zu\n", inspection->smallest[0],
                           inspection->smallest[1]));
    else
        GN_TRY(gn_text_add(ctx, out, "from %zux%zu to %zux%zu\n", inspection->smallest[0],
                           inspection->smallest[1], inspection->largest[0],
                           inspection->largest[1]));
    for (size_t i = 0; i < EXAMPLES && i < dataset->n; i++)
        GN_TRY(gn_text_add(ctx, out, "%-11s %s\n", i ? "" : "for example",
                           gn_dataset_file(dataset, i, path, sizeof path)));
    return GERNE_OK;
}

static gerne_status add_tokens(gerne_ctx *ctx, const gn_dataset *dataset, gn_text *out)
{
    gn_corpus_summary s;
    if (!has_tokens(dataset))
        return GERNE_OK;
    GN_TRY(gn_corpus_summarize(ctx, dataset->corpus, &s));
    return gn_text_add(ctx, out,
                       "%-11s %zu in %zu texts; length from %zu to %zu, median %zu, middle half "
                       "%zu to %zu\n%-11s %zu texts (%.1f%%) are longer than data.max_tokens %zu\n",
                       "tokens", s.tokens, s.rows, s.quantiles[0], s.quantiles[4], s.quantiles[2],
                       s.quantiles[1], s.quantiles[3], "truncated", s.truncated,
                       s.rows ? 100.0 * (double)s.truncated / (double)s.rows : 0.0,
                       dataset->dimension);
}

gerne_status gn_dataset_text(gerne_ctx *ctx, const gn_dataset *dataset,
                             const gn_inspection *inspection, gn_text *out)
{
    GN_LOCAL(split_counts) counts = {0};
    GN_TRY(gn_text_add(ctx, out, "%-11s %s\n%-11s %zu", "format", dataset->format, "samples",
                       dataset->n));
    if (dataset->field == GN_PIXELS)
        GN_TRY(gn_text_add(ctx, out, " of %zux%zu RGB pixels\n", dataset->height, dataset->width));
    else if (dataset->field == GN_TOKENS)
        GN_TRY(gn_text_add(ctx, out, " of text, up to %zu tokens\n", dataset->dimension));
    else
        GN_TRY(gn_text_add(ctx, out, " of %zu features\n", dataset->dimension));
    GN_TRY(add_names(ctx, "classes", dataset->class_names, dataset->classes, out));
    GN_TRY(add_names(ctx, "attributes", dataset->attribute_names, dataset->attributes, out));
    if (dataset->skipped)
        GN_TRY(gn_text_add(ctx, out, "%-11s %zu bad samples\n", "skipped", dataset->skipped));
    GN_TRY(add_files(ctx, dataset, inspection, out));
    GN_TRY(add_tokens(ctx, dataset, out));
    GN_TRY(count_splits(ctx, dataset, &counts));
    for (int split = 0; split < GN_SPLITS; split++) {
        GN_TRY(gn_text_add(ctx, out, "\n%s: %llu\n", gn_split_name((gn_split)split),
                           (unsigned long long)counts.n[split]));
        if (counts.n[split])
            GN_TRY(add_table(ctx, dataset, counts.groups[split], out));
    }
    return GERNE_OK;
}
