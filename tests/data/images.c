/* images.c - collections of files: layouts, sizes, bad files, skipping, augmentation, memory. */
#include "helpers.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/fetch.h"
#include "data/images.h"

static void png(gerne_ctx *ctx, const char *dir, const char *name, int red)
{
    test_write_png(ctx, test_path(dir, name), 8, 10, red, 20, 30);
}

static void log_lines(void *user, gerne_log_level level, const char *line)
{
    (void)level;
    char *text = user;
    size_t used = strlen(text);
    snprintf(text + used, 4000 - used, "%s\n", line);
}

static void test_metadata(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    options.dir = dir;
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "b/%d.png", i);
        png(ctx, dir, name, 100 + i);
    }
    /* The columns of WILDS, of SubpopBench, and named ones. */
    static const struct {
        const char *text, *y, *a, *split, *file;
    } forms[] = {
        {"img_id,img_filename,y,split,place,place_filename\n1,b/0.png,1,0,0,x\n2,b/1.png,0,1,1,x\n"
         "3,b/2.png,1,2,1,x\n",
         NULL, NULL, NULL, NULL},
        {"id,filename,split,y,a\n1,b/0.png,0,1,0\n2,b/1.png,1,0,1\n3,b/2.png,2,1,1\n", NULL, NULL,
         NULL, NULL},
        {"bird,scene,part,picture\n1,0,train,b/0.png\n0,1,val,b/1.png\n1,1,test,b/2.png\n", "bird",
         "scene", "part", "picture"},
    };
    for (size_t i = 0; i < 3; i++) {
        test_write_text(ctx, test_path(dir, "metadata.csv"), forms[i].text);
        options.y = forms[i].y;
        options.a = forms[i].a;
        options.split = forms[i].split;
        options.filename_column = forms[i].file;
        gn_dataset *data = test_dataset(ctx, &options);
        static const int32_t y[] = {1, 0, 1}, a[] = {0, 1, 1};
        static const uint8_t split[] = {GN_TRAIN, GN_VAL, GN_TEST};
        assert_int_equal(data->n, 3);
        assert_memory_equal(data->y, y, sizeof y);
        assert_memory_equal(data->a, a, sizeof a);
        assert_memory_equal(data->split, split, sizeof split);
        assert_int_equal(data->height, 8);
        assert_int_equal(data->width, 10);
        assert_int_equal(gn_dataset_pixels(data, 2)[0], 102);
        assert_int_equal(gn_dataset_pixels(data, 2)[(3 * 10 + 4) * 3 + 1], 24);
        assert_int_equal(gn_dataset_pixels(data, 2)[(3 * 10 + 4) * 3 + 2], 33);
        gn_dataset_close(data);
    }
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_bad_metadata(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    gn_dataset *data;
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    assert_fails(ctx, GERNE_EUSAGE, "neither data.dir nor", gn_dataset_open(ctx, &options, &data));
    options.dir = dir;
    assert_fails(ctx, GERNE_EDATA, "no images", gn_dataset_open(ctx, &options, &data));
    png(ctx, dir, "0.png", 1);
    png(ctx, dir, "1.png", 2);
    static const struct {
        const char *text, *words;
        gerne_status status;
    } cases[] = {
        {"filename,y\n0.png,1\n0.png,0\n", "line 3: lists '0.png' again; it is already on line 2",
         GERNE_EDATA},
        {"filename,y,split\n0.png,1,9\n", "line 2, column 'split': '9' is not a split",
         GERNE_EDATA},
        {"filename,y\n0.png,\n", "1 of 1 row has no 'y'", GERNE_EDATA},
        {"filename,y\n,1\n", "the file name is empty", GERNE_EDATA},
        {"filename,z\n0.png,1\n", "'y'", GERNE_EDATA},
        {"name,y\n0.png,1\n", "'filename'", GERNE_EDATA},
        {"filename,y\n", "no samples", GERNE_EDATA},
        {"", "metadata.csv", GERNE_EDATA},
        {"filename,y\n9.png,1\n", "line 2: cannot open", GERNE_EIO},
        {"filename,y\n.,1\n", "is a directory", GERNE_EIO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_write_text(ctx, test_path(dir, "metadata.csv"), cases[i].text);
        assert_fails(ctx, cases[i].status, cases[i].words, gn_dataset_open(ctx, &options, &data));
    }
    options.resize = (gn_ints){(const int64_t[]){1, 2, 3}, 3};
    assert_fails(ctx, GERNE_EUSAGE, "data.resize has 3 numbers",
                 gn_dataset_open(ctx, &options, &data));
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_skipping(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    static char lines[4000];
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    options.dir = dir;
    png(ctx, dir, "good.png", 7);
    png(ctx, dir, "last.png", 9);
    test_write_png(ctx, test_path(dir, "large.png"), 9, 10, 1, 2, 3);
    test_write_text(ctx, test_path(dir, "text.png"), "this is not a picture");
    test_write(ctx, test_path(dir, "cut.png"), "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
    test_write_text(ctx, test_path(dir, "metadata.csv"),
                    "filename,y\ntext.png,0\ngood.png,0\ncut.png,1\nmissing.png,0\nlarge.png,1\n"
                    "good.png,1\nlast.png,1\n");
    options.skip_bad = true;
    for (int streamed = 0; streamed < 2; streamed++) {
        lines[0] = '\0';
        gerne_set_log(ctx, log_lines, lines);
        options.memory_limit = streamed ? "300" : "1M";
        gn_dataset *data = test_dataset(ctx, &options);
        assert_int_equal(data->n, 2);
        assert_int_equal(data->skipped, 5);
        assert_int_equal(gn_dataset_row(data, 0), 1);
        assert_int_equal(gn_dataset_row(data, 1), 6);
        assert_int_equal(data->y[1], 1);
        assert_non_null(strstr(lines, "line 2"));
        assert_non_null(strstr(lines, "neither JPEG nor PNG"));
        assert_non_null(strstr(lines, "missing.png"));
        assert_non_null(strstr(lines, "9x10 pixels, the first image has 8x10"));
        assert_non_null(strstr(lines, "skipped 4 of 6 samples"));
        if (!streamed)
            assert_int_equal(gn_dataset_pixels(data, 1)[0], 9);
        gn_dataset_close(data);
    }
    options.skip_bad = false; /* the first bad one by row is named, whatever the threads do */
    test_write_text(ctx, test_path(dir, "metadata.csv"),
                    "filename,y\ngood.png,0\ncut.png,1\nmissing.png,0\nlarge.png,1\n");
    gn_dataset *data;
    options.memory_limit = "1M";
    assert_ok(ctx, gn_dataset_open(ctx, &options, &data));
    assert_fails(ctx, GERNE_EDATA, "metadata.csv, line 3: '", gn_dataset_prepare(ctx, data, 2));
    gn_dataset_close(data);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_folders(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    options.dir = dir;
    png(ctx, dir, "train/cat/indoor/1.png", 1);
    png(ctx, dir, "train/dog/outdoor/2.png", 2);
    png(ctx, dir, "valid/cat/outdoor/3.PNG", 3);
    png(ctx, dir, "test/dog/indoor/4.png", 4);
    test_write_text(ctx, test_path(dir, "train/cat/notes.txt"), "not an image");
    gn_dataset *data = test_dataset(ctx, &options);
    assert_int_equal(data->n, 4);
    assert_string_equal(data->class_names[1], "dog");
    assert_string_equal(data->attribute_names[0], "indoor");
    assert_int_equal(data->split[0], GN_TEST); /* sorted by path */
    assert_int_equal(data->split[3], GN_VAL);
    assert_int_equal(data->a[3], 1);
    assert_int_equal(gn_dataset_pixels(data, 3)[0], 3);
    gn_dataset_close(data);
    png(ctx, dir, "train/dog/5.png", 5);
    assert_fails(ctx, GERNE_EDATA, "folders deep", gn_dataset_open(ctx, &options, &data));
    assert_non_null(strstr(gerne_hint(ctx), "--data.a none"));
    options.a = "none"; /* attributes that are there, or here and there, are not used */
    data = test_dataset(ctx, &options);
    assert_int_equal(data->n, 5);
    assert_int_equal(data->classes, 2);
    assert_int_equal(data->attributes, 0);
    assert_null(data->a);
    gn_dataset_close(data);
    options.y = "none";
    data = test_dataset(ctx, &options);
    assert_null(data->y);
    assert_int_equal(data->split[0], GN_TEST);
    gn_dataset_close(data);
    options.y = options.a = NULL;
    test_remove_directory(dir);

    dir = test_directory(); /* classes alone */
    options.dir = dir;
    png(ctx, dir, "a/1.png", 1);
    png(ctx, dir, "b/1.png", 1);
    data = test_dataset(ctx, &options);
    assert_int_equal(data->classes, 2);
    assert_int_equal(data->attributes, 0);
    gn_dataset_close(data);
    options.a = "none";
    data = test_dataset(ctx, &options);
    assert_int_equal(data->attributes, 0);
    gn_dataset_close(data);
    options.a = NULL;
    test_remove_directory(dir);

    dir = test_directory(); /* no labels */
    options.dir = dir;
    png(ctx, dir, "x.png", 1);
    png(ctx, dir, "w.png", 2);
    data = test_dataset(ctx, &options);
    assert_int_equal(data->n, 2);
    assert_int_equal(data->classes, 0);
    assert_null(data->y);
    assert_int_equal(gn_dataset_pixels(data, 0)[0], 2);
    gn_dataset_close(data);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_dfa_names(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory(), part[5000], y[16], a[16];
    snprintf(part, sizeof part, "%s/0.5pct", dir);
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    options.dir = part;
    png(ctx, part, "align/0/17_0_0.png", 1);
    png(ctx, part, "align/1/18_1_1.png", 2);
    png(ctx, part, "conflict/1/19_1_0.png", 3);
    png(ctx, part, "valid/20_0_1.png", 4);
    png(ctx, dir, "test/1/21_1_0.png", 5);
    gn_dataset *data = test_dataset(ctx, &options);
    assert_int_equal(data->n, 5);
    assert_int_equal(data->split[2], GN_TRAIN);
    assert_int_equal(data->a[2], 0);
    assert_int_equal(data->y[2], 1);
    assert_int_equal(data->split[3], GN_VAL);
    assert_int_equal(data->split[4], GN_TEST);
    assert_int_equal(gn_dataset_pixels(data, 4)[0], 5);
    gn_dataset_close(data);
    options.layout = GN_LAYOUT_DFA;
    options.dir = dir; /* one folder too high */
    assert_ok(ctx, gn_dataset_open(ctx, &options, &data));
    gn_dataset_close(data);
    png(ctx, part, "align/0/wrong.png", 1);
    assert_fails(ctx, GERNE_EDATA, "does not end in _<class>_<attribute>.png",
                 gn_dataset_open(ctx, &options, &data));
    assert_true(gn_parse_dfa_name("a/b_1/x_12_3.jpeg", y, a));
    assert_string_equal(y, "12");
    assert_string_equal(a, "3");
    static const char *const wrong[] = {
        "1_2.png", "_1_2", "x_1_.png", "x_a_1.png", "", "x__1.png", "x_1234567890123456_1.png"};
    for (int i = 0; i < 7; i++)
        assert_false(gn_parse_dfa_name(wrong[i], y, a));
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_celeba(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    options.dir = dir;
    options.preset = GN_PRESET_CELEBA;
    test_write_text(ctx, test_path(dir, "list_attr_celeba.txt"),
                    "3\nBald Blond_Hair Male \n000001.jpg -1  1 -1\n000002.jpg -1 -1  1\n"
                    "000003.jpg  1  1  1\n");
    test_write_text(ctx, test_path(dir, "list_eval_partition.txt"),
                    "000001.jpg 0\n000002.jpg 1\n000003.jpg 2\n");
    for (int i = 1; i <= 3; i++) { /* PNG in disguise: the contents count, not the name */
        char name[64];
        snprintf(name, sizeof name, "img_align_celeba/00000%d.jpg", i);
        test_write_png(ctx, test_path(dir, name), 218, 178, i, 0, 0);
    }
    gn_dataset *data = test_dataset(ctx, &options);
    static const int32_t y[] = {1, 0, 1}, a[] = {0, 1, 1};
    assert_int_equal(data->n, 3);
    assert_memory_equal(data->y, y, sizeof y);
    assert_memory_equal(data->a, a, sizeof a);
    assert_int_equal(data->split[1], GN_VAL);
    assert_int_equal(data->height, 224);
    assert_int_equal(gn_dataset_pixels(data, 2)[0], 3);
    /* Rows 20..197 of the blue ramp y remain after the crop to 178. */
    assert_int_equal(gn_dataset_pixels(data, 2)[2], 20);
    assert_int_equal(gn_dataset_pixels(data, 2)[(224 * 224 - 1) * 3 + 2], 197);
    gn_dataset_close(data);
    options.y = "Bald";
    options.a = "Blond_Hair";
    assert_ok(ctx, gn_dataset_open(ctx, &options, &data));
    assert_int_equal(data->y[2], 1);
    assert_int_equal(data->y[0], 0);
    assert_int_equal(data->a[0], 1);
    gn_dataset_close(data);
    options.y = "Blond";
    assert_fails(ctx, GERNE_EUSAGE, "no attribute 'Blond'", gn_dataset_open(ctx, &options, &data));
    options.y = "Bald";
    test_write_text(ctx, test_path(dir, "list_eval_partition.txt"), "000001.jpg 0\n");
    assert_fails(ctx, GERNE_EDATA, "'000002.jpg' is expected",
                 gn_dataset_open(ctx, &options, &data));
    test_write_text(ctx, test_path(dir, "list_attr_celeba.txt"),
                    "1\nBald Blond_Hair\n000001.jpg 3 1\n");
    assert_fails(ctx, GERNE_EDATA, "line 3: '3' is not 1 or -1",
                 gn_dataset_open(ctx, &options, &data));
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

/* A preset does not transform twice, and says so. */
static void test_preset(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = test_directory();
    static char lines[4000];
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    options.dir = dir;
    options.preset = GN_PRESET_WATERBIRDS;
    test_write_png(ctx, test_path(dir, "0/a.png"), 224, 224, 5, 0, 0);
    test_write_png(ctx, test_path(dir, "1/b.png"), 256, 256, 6, 0, 0);
    gerne_set_log(ctx, log_lines, lines);
    gn_dataset *data = test_dataset(ctx, &options);
    assert_non_null(strstr(lines, "already have 224x224 pixels"));
    assert_int_equal(data->height, 224);
    assert_int_equal(gn_dataset_pixels(data, 0)[2], 0);
    assert_int_equal(gn_dataset_pixels(data, 1)[2], 16); /* cut from the centre */
    assert_near((double)data->scale[0], 1 / (255 * 0.229), 1e-9);
    assert_near((double)data->shift[2], -0.406 / 0.225, 1e-6);
    gn_dataset_close(data);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

/* ---- prefetching ---- */

static char *make_folder(gerne_ctx *ctx, int count)
{
    char *dir = test_directory();
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d/%03d.png", i % 2, i);
        png(ctx, dir, name, i);
    }
    return dir;
}

static void test_batches_come_in_order(void **state)
{
    (void)state;
    enum { N = 40, BATCH = 6, STEPS = 50 };
    gerne_ctx *ctx = test_ctx();
    char *dir = make_folder(ctx, N);
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    options.dir = dir;
    gn_dataset *whole = test_dataset(ctx, &options);
    options.memory_limit = "5000"; /* 20 of 40 pictures */
    gn_dataset *data = test_dataset(ctx, &options);
    gn_fetch *fetch;
    gn_fetch_options fetching = {.threads = 3, .ahead = 1000};
    assert_ok(ctx, gn_fetch_new(ctx, data, &fetching, &fetch));
    assert_int_equal(gn_fetch_slots(fetch), 20);
    uint32_t indices[N] = {0};
    uint64_t submitted = 0;
    assert_fails(ctx, GERNE_EUSAGE, "does not fit", gn_fetch_submit(fetch, 0, indices, 21));
    for (uint64_t step = 0; step < STEPS; step++) {
        while (submitted < STEPS && gn_fetch_room(fetch) >= BATCH) {
            for (size_t i = 0; i < BATCH; i++)
                indices[i] = (uint32_t)((submitted * 7 + i * 5) % N);
            assert_ok(ctx, gn_fetch_submit(fetch, submitted++, indices, BATCH));
        }
        const void *const *samples[GN_FIELDS_MAX];
        assert_ok(ctx, gn_fetch_wait(fetch, samples));
        for (size_t i = 0; i < BATCH; i++)
            assert_memory_equal(samples[0][i], gn_dataset_pixels(whole, (step * 7 + i * 5) % N),
                                data->dimension);
        gn_fetch_release(fetch);
    }
    const void *const *samples[GN_FIELDS_MAX];
    assert_fails(ctx, GERNE_EUSAGE, "no batch was submitted", gn_fetch_wait(fetch, samples));
    indices[0] = N;
    assert_fails(ctx, GERNE_EUSAGE, "sample 40 is outside", gn_fetch_submit(fetch, 0, indices, 1));
    assert_true(gn_fetch_waited(fetch) >= 0);
    gn_fetch_close(fetch);
    gn_dataset_close(data);
    gn_dataset_close(whole);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

/* A file that vanishes under way is the failure of its batch, by name. */
static void test_vanished_file(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = make_folder(ctx, 6);
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    options.dir = dir;
    options.memory_limit = "1000";
    gn_dataset *data = test_dataset(ctx, &options);
    assert_int_equal(unlink(test_path(dir, "1/003.png")), 0);
    gn_fetch *fetch;
    gn_fetch_options fetching = {.threads = 2, .ahead = 4};
    assert_ok(ctx, gn_fetch_new(ctx, data, &fetching, &fetch));
    const void *const *samples[GN_FIELDS_MAX];
    static const uint32_t good[] = {0, 1},
                          bad[] = {2, 4}; /* sorted: 0/000 0/002 0/004 1/001 1/003 */
    assert_ok(ctx, gn_fetch_submit(fetch, 0, good, 2));
    assert_ok(ctx, gn_fetch_submit(fetch, 1, bad, 2));
    assert_ok(ctx, gn_fetch_wait(fetch, samples));
    gn_fetch_release(fetch);
    assert_fails(ctx, GERNE_EIO, "1/003.png", gn_fetch_wait(fetch, samples));
    gn_fetch_release(fetch);
    gn_fetch_close(fetch);
    gn_dataset_close(data);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_augmentation(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = make_folder(ctx, 4);
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    options.dir = dir;
    options.augment = GN_AUGMENT_CROP_FLIP;
    const void *const *samples[GN_FIELDS_MAX];
    static const uint32_t indices[] = {3, 0, 1, 2, 3};
    uint8_t kept[2][5][240];
    bool seen[9][9] = {{0}}, flips[2] = {0};
    for (int streamed = 0; streamed < 2; streamed++) {
        options.memory_limit = streamed ? "900" : "1M";
        gn_dataset *data = test_dataset(ctx, &options);
        gn_fetch *fetch;
        gn_fetch_options fetching = {.threads = 2, .ahead = 5, .seed = 3, .augment = data->augment};
        assert_ok(ctx, gn_fetch_new(ctx, data, &fetching, &fetch));
        for (uint64_t step = 0; step < 300; step++) {
            size_t count = gn_fetch_slots(fetch) < 5 ? 3 : 5;
            assert_ok(ctx, gn_fetch_submit(fetch, step, indices, count));
            assert_ok(ctx, gn_fetch_wait(fetch, samples));
            for (size_t i = 0; i < count; i++) {
                if (step == 7)
                    memcpy(kept[streamed][i], samples[0][i], 240);
                /* Green is 20 + column and blue 30 + row of the source; the border is 0. */
                const uint8_t *pixels = samples[0][i];
                int at = 0;
                while (at % 10 == 9 || !pixels[3 * at + 1] || !pixels[3 * at + 4])
                    at++;
                const uint8_t *pixel = pixels + 3 * at;
                bool flipped = pixel[4] < pixel[1];
                int column = pixel[1] - 20, dy = pixel[2] - 30 - at / 10;
                int dx = column - (flipped ? 9 - at % 10 : at % 10);
                assert_in_range(dx + 4, 0, 8);
                assert_in_range(dy + 4, 0, 8);
                seen[dy + 4][dx + 4] = flips[flipped] = true;
            }
            gn_fetch_release(fetch);
        }
        gn_fetch_close(fetch);
        gn_dataset_close(data);
    }
    assert_memory_equal(kept[0][0], kept[1][0], 3 * 240); /* streamed or not */
    assert_memory_equal(kept[0][0], kept[0][4], 240);     /* a function of step and sample */
    assert_true(flips[0] && flips[1]);
    for (int i = 0; i < 81; i++)
        assert_true(seen[i / 9][i % 9]);
    test_remove_directory(dir);
    gerne_ctx_close(ctx);
}

static void test_fingerprint(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *dir = make_folder(ctx, 4), *copy = make_folder(ctx, 4);
    char prints[5][GN_SHA256_HEX];
    gn_data_options options = test_options(ctx, GN_DATA_IMAGES);
    for (int i = 0; i < 5; i++) {
        static const int64_t six[] = {6};
        options.dir = i == 1 ? copy : dir;               /* another path: the same */
        options.memory_limit = i == 2 ? "300" : "1M";    /* streamed: the same */
        options.resize = (gn_ints){six, i == 3 ? 1 : 0}; /* another transform: another */
        if (i == 4)
            png(ctx, dir, "1/003.png", 99); /* another picture: another */
        gn_dataset *data = test_dataset(ctx, &options);
        assert_ok(ctx, gn_dataset_fingerprint(ctx, data, prints[i]));
        gn_dataset_close(data);
    }
    assert_string_equal(prints[0], prints[1]);
    assert_string_equal(prints[0], prints[2]);
    assert_string_not_equal(prints[0], prints[3]);
    assert_string_not_equal(prints[0], prints[4]);
    test_remove_directory(dir);
    test_remove_directory(copy);
    gerne_ctx_close(ctx);
}

/* A progressive picture of 8 x 8 grey pixels whose scans, all the same, are a few bytes each. */
static size_t make_scans(unsigned char *out, size_t scans)
{
    static const unsigned char frame[] = {0xff, 0xc2, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0};
    static const unsigned char codes[] = {0xff, 0xc4, 0, 20, 0, 1, 0, 0, 0, 0, 0,
                                          0,    0,    0, 0,  0, 0, 0, 0, 0, 0, 0};
    static const unsigned char scan[] = {0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0, 0x7f};
    static const unsigned char start[] = {0xff, 0xd8, 0xff, 0xdb, 0, 67, 0}, end[] = {0xff, 0xd9};
    size_t size = 0;
#define ADD(bytes) (memcpy(out + size, bytes, sizeof bytes), size += sizeof bytes)
    ADD(start);
    memset(out + size, 1, 64);
    size += 64;
    ADD(frame);
    ADD(codes);
    for (size_t i = 0; i < scans; i++)
        ADD(scan);
    ADD(end);
#undef ADD
    return size;
}

static void test_scans_are_bounded(void **state)
{
    (void)state;
    static unsigned char bytes[32768];
    gerne_ctx *ctx = test_ctx();
    gn_scratch scratch = {0};
    gn_image image;
    assert_ok(ctx, gn_image_decode(ctx, &scratch, "few", bytes, make_scans(bytes, 20), &image));
    assert_int_equal(image.height * image.width, 64);
    assert_fails(ctx, GERNE_EDATA, "'many' is a JPEG of more than 100 scans",
                 gn_image_decode(ctx, &scratch, "many", bytes, make_scans(bytes, 1500), &image));
    gn_scratch_free(&scratch);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_bad_metadata),
        cmocka_unit_test(test_skipping),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_dfa_names),
        cmocka_unit_test(test_celeba),
        cmocka_unit_test(test_preset),
        cmocka_unit_test(test_batches_come_in_order),
        cmocka_unit_test(test_vanished_file),
        cmocka_unit_test(test_augmentation),
        cmocka_unit_test(test_scans_are_bounded),
        cmocka_unit_test(test_fingerprint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
