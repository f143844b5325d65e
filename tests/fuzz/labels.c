/* Lists of samples, up to their labels. The first byte says what the rest is: [m]etadata.csv of
 * images, [c]elebA's two lists with a NUL between them, a table of [f]eatures, or [l]abels alone,
 * as an audit reads them. Labels of what is accepted have names. */
#include "target.h"

#include <stdio.h>
#include <string.h>

#include "base/folder.h"
#include "data/dataset.h"
#include "data/label_table.h"

static void look_at(const gn_dataset *dataset)
{
    for (uint32_t k = 0; k < dataset->classes; k++)
        fuzz_check(dataset->class_names[k] != NULL);
    for (size_t i = 0; i < dataset->n; i++) {
        fuzz_check(dataset->split[i] < GN_SPLITS);
        fuzz_check(!dataset->y || dataset->y[i] < (int32_t)dataset->classes);
        fuzz_check(!dataset->a || dataset->a[i] < (int32_t)dataset->attributes);
    }
}

static void open_dataset(gerne_ctx *ctx, gn_data_format format, const char *file, int layout)
{
    gn_data_options options;
    gn_dataset *dataset;
    fuzz_check(gn_data_options_default(ctx, &options) == GERNE_OK);
    options.format = (int)format;
    options.dir = file ? NULL : fuzz_directory();
    options.file = file;
    options.layout = layout;
    gerne_status status = gn_dataset_open(ctx, &options, &dataset);
    if (status == GERNE_EUSAGE || status == GERNE_EIO) /* names of columns; no such image */
        status = GERNE_EDATA;
    if (fuzz_accepted(ctx, status, GERNE_EDATA))
        look_at(dataset);
    gn_dataset_close(dataset);
}

static void put_celeba(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    size_t first = nul ? (size_t)(nul - data) : size;
    (void)fuzz_put("list_attr_celeba.txt", data, first);
    (void)fuzz_put("list_eval_partition.txt", data + first + !!nul, size - first - !!nul);
}

static void read_table(gerne_ctx *ctx, const char *path)
{
    const gn_label_columns columns = {.y = "y"};
    gn_label_table table = {0};
    gerne_status status = gn_label_table_read(ctx, path, &columns, &table);
    if (status == GERNE_EUSAGE)
        status = GERNE_EDATA;
    if (fuzz_accepted(ctx, status, GERNE_EDATA))
        fuzz_check(table.groups != NULL);
    gn_label_table_free(&table);
}

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    if (size == 0)
        return;
    gn_folder_remove(fuzz_directory(), 1);
    switch (data[0]) {
    case 'm':
        (void)fuzz_put("metadata.csv", data + 1, size - 1);
        open_dataset(ctx, GN_DATA_IMAGES, NULL, GN_LAYOUT_METADATA);
        break;
    case 'c':
        put_celeba(data + 1, size - 1);
        open_dataset(ctx, GN_DATA_IMAGES, NULL, GN_LAYOUT_CELEBA);
        break;
    case 'f':
        open_dataset(ctx, GN_DATA_FEATURES, fuzz_put("rows.csv", data + 1, size - 1),
                     GN_LAYOUT_AUTO);
        break;
    default:
        read_table(ctx, fuzz_put("labels.csv", data + 1, size - 1));
    }
}
