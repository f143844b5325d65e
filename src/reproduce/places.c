#include "reproduce/places.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

#define PLACE(field) offsetof(gn_places, field)

const gn_option gn_place_options[] = {
    {"data", GN_TEXT, PLACE(data), .fallback = "data",
     .help = "folder with mnist, cifar10, waterbirds, celeba, bffhq, frost, resnet50.safetensors, "
             "resnet18.safetensors; the flags below override it",
     .flags = GN_NO_HASH},
    {"mnist", GN_TEXT, PLACE(mnist), .help = "folder of the four MNIST files", .flags = GN_NO_HASH},
    {"cifar10", GN_TEXT, PLACE(cifar10), .help = "folder of CIFAR-10's binary files",
     .flags = GN_NO_HASH},
    {"waterbirds", GN_TEXT, PLACE(waterbirds), .help = "folder of Waterbirds with metadata.csv",
     .flags = GN_NO_HASH},
    {"celeba", GN_TEXT, PLACE(celeba), .help = "folder of CelebA with its lists",
     .flags = GN_NO_HASH},
    {"bffhq", GN_TEXT, PLACE(bffhq), .help = "folder of bFFHQ", .flags = GN_NO_HASH},
    {"frost", GN_TEXT, PLACE(frost), .help = "folder of the frost textures for C-CIFAR-10",
     .flags = GN_NO_HASH},
    {"weights", GN_TEXT, PLACE(weights), .help = "ImageNet weights of ResNet-50",
     .flags = GN_NO_HASH},
    {"weights18", GN_TEXT, PLACE(weights18), .help = "ImageNet weights of ResNet-18",
     .flags = GN_NO_HASH},
    {"variant", GN_TEXT, PLACE(variant),
     .help = "variant of the ResNet-50 weights: v1.5 (torchvision) or v1", .flags = GN_NO_HASH},
};
const size_t gn_place_option_count = sizeof gn_place_options / sizeof gn_place_options[0];

static const gn_paper_dataset datasets[] = {
    {"c-mnist", "C-MNIST", "gba", "group-balanced accuracy", "mnist",
     "train-images-idx3-ubyte.gz|train-images-idx3-ubyte",
     "'gerne data fetch mnist' downloads it; then --mnist FOLDER", PLACE(mnist)},
    {"c-cifar10", "C-CIFAR-10", "gba", "group-balanced accuracy", "cifar10",
     "data_batch_1.bin|cifar-10-batches-bin/data_batch_1.bin",
     "'gerne data fetch cifar10' downloads it; then --cifar10 FOLDER", PLACE(cifar10)},
    {"bffhq", "bFFHQ", "minority_acc", "minority accuracy", "bffhq", "",
     "see docs/data.md for its layout; then --bffhq FOLDER", PLACE(bffhq)},
    {"waterbirds", "Waterbirds", "wga", "worst-group accuracy", "waterbirds",
     "metadata.csv|waterbird_complete95_forest2water2/metadata.csv",
     "'gerne data fetch waterbirds' downloads it; then --waterbirds FOLDER", PLACE(waterbirds)},
    {"celeba", "CelebA", "wga", "worst-group accuracy", "celeba",
     "list_attr_celeba.txt|list_attr_celeba.csv",
     "CelebA's authors ask to download it from their page; see docs/data.md; then --celeba FOLDER",
     PLACE(celeba)},
    {"synthetic", "the built-in data", "gba", "group-balanced accuracy", "", "", NULL, 0},
    {"civilcomments", "CivilComments", "wga", "worst-group accuracy", NULL, NULL, NULL, 0},
};

const gn_paper_dataset *gn_paper_dataset_find(const char *name)
{
    for (size_t i = 0; i < sizeof datasets / sizeof datasets[0]; i++)
        if (strcmp(datasets[i].name, name) == 0)
            return &datasets[i];
    return NULL;
}

/* The folder in which the first witness lies, or NULL. */
static gerne_status look(gerne_ctx *ctx, gn_arena *arena, const char *folder, const char *witness,
                         const char **out)
{
    char word[128];
    for (int i = 0; *gn_choice_word(witness, i, word, sizeof word); i++) {
        const char *path;
        GN_TRY(gn_path_join(ctx, arena, folder, word, &path));
        if (!gn_path_exists(path))
            continue;
        char *slash = strchr(word, '/');
        if (slash)
            *slash = '\0';
        return slash ? gn_path_join(ctx, arena, folder, word, out)
                     : gn_arena_copy_text(ctx, arena, folder, out);
    }
    return GERNE_OK;
}

static gerne_status say(gerne_ctx *ctx, gn_arena *arena, const char **out, const char *format,
                        const char *a, const char *b)
{
    char words[512];
    snprintf(words, sizeof words, format, a, b);
    gn_mend_end(words);
    return gn_arena_copy_text(ctx, arena, words, out);
}

gerne_status gn_place_of(gerne_ctx *ctx, gn_arena *arena, const gn_places *places,
                         const gn_paper_dataset *dataset, const char **out, const char **reason)
{
    *out = *reason = NULL;
    if (!dataset->folder)
        return say(ctx, arena, reason, "not built yet: the text data of %s%s", dataset->title, "");
    const char *folder = *(const char *const *)((const char *)places + dataset->option);
    if (!folder)
        GN_TRY(gn_path_join(ctx, arena, places->data ? places->data : "data", dataset->folder,
                            &folder));
    if (dataset->witness[0])
        GN_TRY(look(ctx, arena, folder, dataset->witness, out));
    else if (gn_is_directory(folder))
        *out = folder;
    if (*out)
        return GERNE_OK;
    return say(ctx, arena, reason, "%s is not in '%s'", dataset->title, folder);
}

gerne_status gn_place_of_weights(gerne_ctx *ctx, gn_arena *arena, const gn_places *places,
                                 const char *arch, const char **out, const char **reason,
                                 const char **hint)
{
    char name[64];
    bool is18 = strcmp(arch, "resnet18") == 0;
    const char *path = is18 ? places->weights18 : places->weights;
    *out = *reason = NULL;
    *hint = is18 ? "export torchvision's resnet18 (a .pth file will do); then --weights18 FILE"
                 : "export torchvision's resnet50 (a .pth file will do); then --weights FILE";
    snprintf(name, sizeof name, "%s.safetensors", arch);
    if (!path)
        GN_TRY(gn_path_join(ctx, arena, places->data ? places->data : "data", name, &path));
    if (gn_path_exists(path)) {
        *out = path;
        return GERNE_OK;
    }
    return say(ctx, arena, reason, "no ImageNet weights of %s in '%s'", arch, path);
}

gerne_status gn_place_of_frost(gerne_ctx *ctx, gn_arena *arena, const gn_places *places,
                               const char **out)
{
    *out = places->frost;
    if (*out)
        return GERNE_OK;
    const char *path;
    GN_TRY(gn_path_join(ctx, arena, places->data ? places->data : "data", "frost", &path));
    if (gn_is_directory(path))
        *out = path;
    return GERNE_OK;
}
