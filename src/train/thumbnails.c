/* thumbnails.c - pictures or texts of what the worst group got wrong, for people who look at the
 * run.
 *
 * They are no part of the results: a run whose pictures cannot be written is as good as any.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "data/corpus.h"
#include "data/image.h"
#include "train/rundir.h"
#include "train/trainer.h"

enum { PICTURES = 12, SIDE = 96, TEXT_BYTES = 2000 };

typedef struct mistake {
    size_t position;    /* in the test split */
    double probability; /* of the class that was predicted */
} mistake;

/* The surest first; ties in the order of the samples. */
static int surer(const void *left, const void *right)
{
    const mistake *a = left, *b = right;
    if (a->probability != b->probability)
        return a->probability > b->probability ? -1 : 1;
    return a->position < b->position ? -1 : 1;
}

static gerne_status find_mistakes(gn_trainer *t, const gn_predictions *p, int32_t group,
                                  mistake **out, size_t *count)
{
    *count = 0;
    GN_TRY(gn_alloc(t->run.ctx, p->count, sizeof **out, "mistakes", out));
    for (size_t i = 0; i < p->count; i++)
        if (p->y[i] * p->attributes + p->a[i] == group && p->pred[i] != p->y[i])
            (*out)[(*count)++] = (mistake){
                .position = i,
                .probability = p->probabilities[i * (size_t)p->classes + (size_t)p->pred[i]]};
    if (*count)
        qsort(*out, *count, sizeof **out, surer);
    return GERNE_OK;
}

/* Large pictures are made small; small ones stay as they are. */
static gerne_status shrink(gerne_ctx *ctx, gn_scratch *scratch, gn_image *image)
{
    size_t longer = image->height > image->width ? image->height : image->width;
    if (longer <= SIDE)
        return GERNE_OK;
    size_t height = image->height * SIDE / longer, width = image->width * SIDE / longer;
    height = height ? height : 1;
    width = width ? width : 1;
    const gn_resize resize = {.height = image->height,
                              .width = image->width,
                              .out_height = height,
                              .out_width = width,
                              .part_height = height,
                              .part_width = width};
    uint8_t *pixels;
    GN_TRY(gn_scratch_take(ctx, scratch, GN_SCRATCH_C, height * width * GN_CHANNELS, &pixels));
    GN_TRY(gn_image_resize(ctx, scratch, image, &resize, pixels));
    *image = (gn_image){height, width, pixels};
    return GERNE_OK;
}

static gerne_status write_picture(gerne_ctx *ctx, const gn_dataset *images, gn_scratch *scratch,
                                  size_t row, int folder, const char *path)
{
    uint8_t *pixels;
    GN_LOCAL(gn_text) bytes = {0};
    GN_TRY(gn_scratch_take(ctx, scratch, GN_SCRATCH_D, images->dimension, &pixels));
    GN_TRY(images->source->load(ctx, images->source, scratch, row, pixels, NULL));
    gn_image image = {images->height, images->width, pixels};
    GN_TRY(shrink(ctx, scratch, &image));
    GN_TRY(gn_png_encode(ctx, &image, &bytes));
    return gn_file_write_one_of(ctx, folder, path, bytes.bytes, bytes.size);
}

/* The folder of the mistakes, without half-written files. */
static gerne_status open_folder(gn_trainer *t, const char **path, int *folder)
{
    GN_TRY(gn_path_of(t, "errors", path));
    GN_TRY(gn_folder_own(t->run.ctx, *path, folder));
    gn_folder_sweep(*folder, NULL);
    return GERNE_OK;
}

static size_t row_of(const gn_trainer *t, const mistake *m)
{
    return gn_dataset_row(t->input.data, t->input.samples[GN_TEST].items[m->position]);
}

/* The file's name says which sample, and what it was taken for. */
static gerne_status path_of(gn_trainer *t, const char *folder, const gn_predictions *p,
                            const mistake *m, const char *kind, const char **path)
{
    char name[96];
    size_t at = m->position;
    snprintf(name, sizeof name, "%zu_%d_%d_%d.%s", row_of(t, m), (int)p->y[at], (int)p->a[at],
             (int)p->pred[at], kind);
    return gn_path_join(t->run.ctx, t->arena, folder, name, path);
}

static gerne_status write_pictures(gn_trainer *t, const gn_dataset *images, const gn_predictions *p,
                                   const mistake *list, size_t count)
{
    GN_LOCAL(gn_scratch) scratch = {0};
    const char *errors, *path;
    GN_CLOSED int folder = -1;
    GN_TRY(open_folder(t, &errors, &folder));
    for (size_t i = 0; i < count; i++) {
        GN_TRY(path_of(t, errors, p, &list[i], "png", &path));
        GN_TRY(write_picture(t->run.ctx, images, &scratch, row_of(t, &list[i]), folder, path));
    }
    return gn_folder_sync(t->run.ctx, folder, errors);
}

/* ---- texts ---- */

typedef struct quotes {
    gn_trainer *t;
    const gn_predictions *predictions;
    const mistake *list;
    size_t count;
    const char *errors;
    int folder;
} quotes;

static gerne_status write_quote(gerne_ctx *ctx, void *user, size_t row, const char *text)
{
    const quotes *q = user;
    const char *path;
    char start[TEXT_BYTES];
    for (size_t i = 0; i < q->count; i++) {
        if (row_of(q->t, &q->list[i]) != row)
            continue;
        snprintf(start, sizeof start, "%s", text);
        if (strlen(text) >= sizeof start)
            gn_mend_end(start);
        GN_TRY(path_of(q->t, q->errors, q->predictions, &q->list[i], "txt", &path));
        GN_TRY(gn_file_write_one_of(ctx, q->folder, path, start, strlen(start)));
    }
    return GERNE_OK;
}

static int by_row(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static gerne_status write_texts(gn_trainer *t, const gn_dataset *texts, const gn_predictions *p,
                                const mistake *list, size_t count)
{
    quotes q = {.t = t, .predictions = p, .list = list, .count = count};
    uint32_t rows[PICTURES];
    GN_TRY(open_folder(t, &q.errors, &q.folder));
    for (size_t i = 0; i < count; i++)
        rows[i] = (uint32_t)row_of(t, &list[i]);
    qsort(rows, count, sizeof rows[0], by_row);
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++)
        if (!i || rows[i] != rows[i - 1])
            rows[distinct++] = rows[i];
    gerne_status status =
        gn_corpus_quote(t->run.ctx, texts->corpus, rows, distinct, write_quote, &q);
    if (status == GERNE_OK)
        status = gn_folder_sync(t->run.ctx, q.folder, q.errors);
    close(q.folder);
    return status;
}

/* Behind a frozen body the samples are features: what they came from is opened again. */
static gerne_status with_samples(gn_trainer *t, const gn_predictions *p, const mistake *list,
                                 size_t count)
{
    GN_LOCAL(gn_dataset) *opened = NULL;
    const gn_dataset *images = t->input.data;
    if (t->input.frozen) {
        GN_TRY(gn_dataset_open(t->run.ctx, &t->config->data, &opened));
        images = opened;
    }
    if (images->field == GN_PIXELS && images->source)
        GN_TRY(write_pictures(t, images, p, list, count));
    else if (images->field == GN_TOKENS)
        GN_TRY(write_texts(t, images, p, list, count));
    return GERNE_OK;
}

static gerne_status write_all(gn_trainer *t, const gn_predictions *p, int32_t group)
{
    GN_FREED mistake *list = NULL;
    size_t count;
    GN_TRY(find_mistakes(t, p, group, &list, &count));
    if (count)
        GN_TRY(with_samples(t, p, list, count < PICTURES ? count : PICTURES));
    return GERNE_OK;
}

void gn_save_thumbnails(gn_trainer *t, const gn_predictions *predictions, int32_t group)
{
    bool shown = t->input.frozen || t->input.data->field != GN_FEATURES;
    if (!shown || group < 0)
        return;
    if (write_all(t, predictions, group) != GERNE_OK)
        gn_log(t->run.ctx, GERNE_LOG_WARNING, "the errors are not shown: %s",
               gerne_message(t->run.ctx));
}
