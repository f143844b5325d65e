/* rows.c - labels of a dataset, read row by row or allocated whole; splits and folds. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/rng.h"
#include "data/source.h"

/* More classes than this is a column taken by mistake, such as an identifier. */
enum { LABEL_LIMIT = 100000 };

/* The draws of data.seed; assign.c and synthetic.c have others. */
enum { STEP_FOLD = 1, STEP_HOLD_OUT = 5 };

const char *gn_split_name(gn_split split)
{
    static const char *const names[] = {"train", "val", "test"};
    return split < GN_SPLITS ? names[split] : "none";
}

bool gn_is_none(const char *text)
{
    return text && strcmp(text, "none") == 0;
}

/* The length of a number up to ".0", which pandas writes where a column of integers has gaps; of
 * any other text the whole. */
static size_t length_before_zeros(const char *text)
{
    size_t digits = strspn(text, "0123456789"), length = strlen(text);
    bool zeros = digits && text[digits] == '.' && text[digits + 1] &&
                 digits + 1 + strspn(text + digits + 1, "0") == length;
    return zeros ? digits : length;
}

bool gn_parse_split(const char *text, gn_split *out)
{
    static const struct {
        const char *text;
        gn_split split;
    } words[] = {{"0", GN_TRAIN},        {"train", GN_TRAIN}, {"training", GN_TRAIN},
                 {"1", GN_VAL},          {"val", GN_VAL},     {"valid", GN_VAL},
                 {"validation", GN_VAL}, {"dev", GN_VAL},     {"eval", GN_VAL},
                 {"2", GN_TEST},         {"test", GN_TEST},   {"testing", GN_TEST}};
    size_t length = length_before_zeros(text);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].text) == length && strncasecmp(text, words[i].text, length) == 0) {
            *out = words[i].split;
            return true;
        }
    return false;
}

gerne_status gn_rows_open(gerne_ctx *ctx, const gn_data_options *options, bool has_y, bool has_a,
                          gn_rows *rows)
{
    *rows = (gn_rows){.has_y = has_y,
                      .has_a = has_a,
                      .missing = {.rule = options->missing},
                      .y_name = options->y ? options->y : "y",
                      .a_name = options->a ? options->a : "a"};
    gerne_status status = gn_labels_new(ctx, LABEL_LIMIT, &rows->y);
    if (status == GERNE_OK)
        status = gn_labels_new(ctx, LABEL_LIMIT, &rows->a);
    if (status != GERNE_OK)
        gn_rows_close(rows);
    return status;
}

void gn_rows_close(gn_rows *rows)
{
    gn_labels_close(rows->y);
    gn_labels_close(rows->a);
    gn_free(rows->y_numbers);
    gn_free(rows->a_numbers);
    gn_free(rows->split);
    gn_free(rows->keep);
    *rows = (gn_rows){0};
}

gerne_status gn_rows_add(gerne_ctx *ctx, gn_rows *rows, const char *y, const char *a,
                         gn_split split)
{
    uint32_t number = 0;
    size_t need = rows->n + 1;
    if (need >= UINT32_MAX)
        return gn_fail(ctx, GERNE_EDATA, "there are more than %u samples", UINT32_MAX - 1);
    const char *attribute = rows->has_a ? a : NULL;
    bool used = gn_missing_take(&rows->missing, rows->has_y ? y : NULL, &attribute);
    if (rows->has_y) {
        if (used)
            GN_TRY(gn_labels_add(ctx, rows->y, y, &number));
        GN_TRY(gn_grow(ctx, &rows->y_numbers, &rows->capacity_y, need, sizeof *rows->y_numbers,
                       "labels"));
        rows->y_numbers[rows->n] = number;
    }
    if (rows->has_a) {
        if (used)
            GN_TRY(gn_labels_add(ctx, rows->a, attribute, &number));
        GN_TRY(gn_grow(ctx, &rows->a_numbers, &rows->capacity_a, need, sizeof *rows->a_numbers,
                       "attributes"));
        rows->a_numbers[rows->n] = number;
    }
    GN_TRY(gn_grow(ctx, &rows->split, &rows->capacity_split, need, 1, "splits"));
    GN_TRY(gn_grow(ctx, &rows->keep, &rows->capacity_keep, need, 1, "samples"));
    rows->keep[rows->n] = used;
    rows->split[rows->n++] = (uint8_t)split;
    return GERNE_OK;
}

static gerne_status copy_names(gerne_ctx *ctx, gn_arena *arena, const char *const *names,
                               size_t count, const char *const **out)
{
    const char **copies;
    GN_TRY(gn_arena_alloc(ctx, arena, count, sizeof *copies, &copies));
    for (size_t i = 0; i < count; i++)
        GN_TRY(gn_arena_copy_text(ctx, arena, names[i], &copies[i]));
    *out = copies;
    return GERNE_OK;
}

gerne_status gn_dataset_allocate(gerne_ctx *ctx, gn_dataset *dataset, size_t n, uint32_t classes,
                                 uint32_t attributes, const char *const *class_names,
                                 const char *const *attribute_names)
{
    dataset->n = n;
    dataset->classes = classes;
    dataset->attributes = attributes;
    GN_TRY(copy_names(ctx, dataset->arena, class_names, classes, &dataset->class_names));
    GN_TRY(copy_names(ctx, dataset->arena, attribute_names, attributes, &dataset->attribute_names));
    if (classes)
        GN_TRY(gn_alloc(ctx, n, sizeof *dataset->y, "labels", &dataset->y));
    if (attributes)
        GN_TRY(gn_alloc(ctx, n, sizeof *dataset->a, "attributes", &dataset->a));
    return gn_alloc(ctx, n, 1, "splits", &dataset->split);
}

static gerne_status finish_labels(gerne_ctx *ctx, gn_labels *labels, bool in_order)
{
    return in_order ? gn_labels_finish_in_order(ctx, labels) : gn_labels_finish(ctx, labels);
}

static gerne_status check_gaps(gerne_ctx *ctx, const gn_rows *rows)
{
    const char *y = rows->y_name ? rows->y_name : "y", *a = rows->a_name ? rows->a_name : "a";
    GN_TRY(gn_missing_check(ctx, &rows->missing, NULL, y, a, "data.missing"));
    if (rows->missing.dropped == rows->n)
        return gn_fail(ctx, GERNE_EDATA, "no row has both '%s' and '%s'", y, a);
    return GERNE_OK;
}

static gerne_status copy_name(gerne_ctx *ctx, gn_arena *arena, const char *name, const char **out)
{
    return name ? gn_arena_copy_text(ctx, arena, name, out) : GERNE_OK;
}

gerne_status gn_rows_finish(gerne_ctx *ctx, gn_rows *rows, gn_dataset *dataset)
{
    if (rows->n == 0)
        return gn_fail(ctx, GERNE_EDATA, "there are no samples");
    GN_TRY(check_gaps(ctx, rows));
    GN_TRY(copy_name(ctx, dataset->arena, rows->has_y ? rows->y_name : NULL, &dataset->y_column));
    GN_TRY(copy_name(ctx, dataset->arena, rows->has_a ? rows->a_name : NULL, &dataset->a_column));
    GN_TRY(finish_labels(ctx, rows->y, rows->in_order));
    GN_TRY(finish_labels(ctx, rows->a, rows->in_order));
    GN_TRY(copy_names(ctx, dataset->arena, gn_labels_names(rows->y), gn_labels_count(rows->y),
                      &dataset->class_names));
    GN_TRY(copy_names(ctx, dataset->arena, gn_labels_names(rows->a), gn_labels_count(rows->a),
                      &dataset->attribute_names));
    dataset->n = rows->n;
    dataset->classes = gn_labels_count(rows->y);
    dataset->attributes = gn_labels_count(rows->a);
    const uint32_t *y_ranks = gn_labels_ranks(rows->y), *a_ranks = gn_labels_ranks(rows->a);
    for (size_t i = 0; i < rows->n; i++) {
        if (rows->has_y)
            rows->y_numbers[i] = y_ranks[rows->y_numbers[i]];
        if (rows->has_a)
            rows->a_numbers[i] = a_ranks[rows->a_numbers[i]];
    }
    dataset->y = (int32_t *)rows->y_numbers; /* the same bytes: labels are few */
    dataset->a = (int32_t *)rows->a_numbers;
    dataset->split = rows->split;
    rows->y_numbers = rows->a_numbers = NULL;
    rows->split = NULL;
    return rows->missing.dropped ? gn_dataset_keep(ctx, dataset, rows->keep) : GERNE_OK;
}

gerne_status gn_dataset_keep(gerne_ctx *ctx, gn_dataset *dataset, const uint8_t *keep)
{
    if (!dataset->origin) {
        GN_TRY(gn_alloc(ctx, dataset->n, sizeof *dataset->origin, "samples", &dataset->origin));
        for (size_t i = 0; i < dataset->n; i++)
            dataset->origin[i] = (uint32_t)i;
    }
    size_t kept = 0;
    for (size_t i = 0; i < dataset->n; i++) {
        if (!keep[i])
            continue;
        if (dataset->y)
            dataset->y[kept] = dataset->y[i];
        if (dataset->a)
            dataset->a[kept] = dataset->a[i];
        dataset->split[kept] = dataset->split[i];
        dataset->origin[kept] = dataset->origin[i];
        if (dataset->cache && kept != i)
            memcpy(dataset->cache + kept * dataset->dimension,
                   dataset->cache + i * dataset->dimension, dataset->dimension);
        kept++;
    }
    dataset->n = kept;
    return GERNE_OK;
}

/* "2/3" -> 1 of 3. */
static gerne_status parse_fold(gerne_ctx *ctx, const char *text, uint64_t *fold, uint64_t *folds)
{
    char first[16] = "";
    const char *slash = strchr(text, '/');
    int64_t i = 0, n = 0;
    bool fine = slash && (size_t)(slash - text) < sizeof first;
    if (fine) {
        memcpy(first, text, (size_t)(slash - text));
        fine = gn_parse_int(first, &i) && gn_parse_int(slash + 1, &n) && n >= 2 && n <= 1000 &&
               i >= 1 && i <= n;
    }
    if (!fine) {
        gn_fail(ctx, GERNE_EUSAGE, "data.fold '%s' is not i/n with 1 <= i <= n and n >= 2", text);
        gn_hint(ctx, "--data.fold 1/3 validates on the first of three folds");
        return GERNE_EUSAGE;
    }
    *fold = (uint64_t)i - 1;
    *folds = (uint64_t)n;
    return GERNE_OK;
}

/* Whether the training sample at a place becomes a validation sample. */
typedef bool choice(uint64_t place, uint64_t this_one, uint64_t of);

/* Dealt in turn: folds differ by one sample at most over all. */
static bool is_in_fold(uint64_t place, uint64_t fold, uint64_t folds)
{
    return place % folds == fold;
}

/* Every n/val-th: groups lose the same share. */
static bool is_held_out(uint64_t place, uint64_t val, uint64_t n)
{
    return (place + 1) * val / n > place * val / n;
}

/* The training samples stand in a row, group after group and shuffled inside; the choice sees their
 * places there. */
static gerne_status choose_validation(gerne_ctx *ctx, gn_dataset *dataset, uint64_t seed,
                                      uint64_t purpose, choice *chosen, uint64_t this_one,
                                      uint64_t of)
{
    size_t columns = dataset->attributes ? dataset->attributes : 1;
    size_t groups = (size_t)dataset->classes * columns;
    GN_FREED uint64_t *counts = NULL;
    GN_TRY(gn_alloc(ctx, 3 * groups, sizeof *counts, "groups", &counts));
    uint64_t *seen = counts + groups, *first = seen + groups;
    gn_dataset_count(dataset, GN_TRAIN, counts);
    for (size_t g = 1; g < groups; g++)
        first[g] = first[g - 1] + counts[g - 1];
    for (size_t i = 0; i < dataset->n; i++) {
        if (dataset->split[i] != GN_TRAIN)
            continue;
        size_t g = (size_t)dataset->y[i] * columns + (dataset->a ? (size_t)dataset->a[i] : 0);
        gn_permutation order = gn_permutation_at(counts[g], seed, GN_RNG_DATA, purpose, g);
        if (chosen(first[g] + gn_permute(&order, seen[g]++), this_one, of))
            dataset->split[i] = GN_VAL;
    }
    return GERNE_OK;
}

gerne_status gn_dataset_hold_out(gerne_ctx *ctx, const gn_data_options *options,
                                 gn_dataset *dataset)
{
    uint64_t of_split[GN_SPLITS] = {0};
    for (size_t i = 0; i < dataset->n; i++)
        of_split[dataset->split[i]]++;
    if (!options->val || !dataset->classes || !of_split[GN_TRAIN])
        return GERNE_OK;
    if (of_split[GN_VAL]) {
        gn_log(ctx, GERNE_LOG_WARNING,
               "data.val is ignored: the data has a validation split of %llu samples",
               (unsigned long long)of_split[GN_VAL]);
        return GERNE_OK;
    }
    if ((uint64_t)options->val >= of_split[GN_TRAIN])
        return gn_fail(ctx, GERNE_EUSAGE, "data.val %lld leaves none of the %llu training samples",
                       (long long)options->val, (unsigned long long)of_split[GN_TRAIN]);
    return choose_validation(ctx, dataset, (uint64_t)options->seed, STEP_HOLD_OUT, is_held_out,
                             (uint64_t)options->val, of_split[GN_TRAIN]);
}

gerne_status gn_dataset_fold(gerne_ctx *ctx, const gn_data_options *options, gn_dataset *dataset)
{
    if (options->train_on == GN_TRAIN_ON_TRAIN) {
        if (!options->fold)
            return GERNE_OK;
        gn_fail(ctx, GERNE_EUSAGE, "data.fold needs data.train_on val");
        gn_hint(ctx, "folds divide the validation split; add --data.train_on val");
        return GERNE_EUSAGE;
    }
    GN_FREED uint8_t *keep = NULL;
    size_t found = 0;
    GN_TRY(gn_alloc(ctx, dataset->n, 1, "samples", &keep));
    for (size_t i = 0; i < dataset->n; i++) {
        keep[i] = dataset->split[i] != GN_TRAIN;
        if (dataset->split[i] == GN_VAL) {
            dataset->split[i] = GN_TRAIN;
            found++;
        }
    }
    GN_TRY(gn_dataset_keep(ctx, dataset, keep));
    if (!found || !dataset->classes)
        return gn_fail(ctx, GERNE_EUSAGE,
                       "data.train_on is val, but there is no labelled "
                       "validation split");
    if (!options->fold)
        return GERNE_OK;
    uint64_t fold, folds;
    GN_TRY(parse_fold(ctx, options->fold, &fold, &folds));
    return choose_validation(ctx, dataset, (uint64_t)options->seed, STEP_FOLD, is_in_fold, fold,
                             folds);
}

void gn_dataset_normalize(gn_dataset *dataset, int normalize, gn_normalize fallback)
{
    static const float means[][GN_CHANNELS] = {
        [GN_NORMALIZE_AUTO] = {0, 0, 0},
        [GN_NORMALIZE_NONE] = {0, 0, 0},
        [GN_NORMALIZE_IMAGENET] = {0.485f, 0.456f, 0.406f},
        [GN_NORMALIZE_CIFAR] = {0.4914f, 0.4822f, 0.4465f},
    };
    static const float deviations[][GN_CHANNELS] = {
        [GN_NORMALIZE_AUTO] = {1, 1, 1},
        [GN_NORMALIZE_NONE] = {1, 1, 1},
        [GN_NORMALIZE_IMAGENET] = {0.229f, 0.224f, 0.225f},
        [GN_NORMALIZE_CIFAR] = {0.2023f, 0.1994f, 0.2010f},
    };
    if (normalize == GN_NORMALIZE_AUTO)
        normalize = (int)fallback;
    for (int c = 0; c < GN_CHANNELS; c++) {
        dataset->scale[c] = 1.0f / (255.0f * deviations[normalize][c]);
        dataset->shift[c] = -means[normalize][c] / deviations[normalize][c];
    }
}
