#include "reproduce/places.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"

#define PLACE(field) offsetof(gn_places, field)

const gn_option gn_place_options[] = {
    {"data", GN_TEXT, PLACE(data), .fallback = "data",
     .help = "folder with mnist, cifar10, waterbirds, celeba, bffhq, civilcomments, frost, "
             "resnet50.safetensors, resnet18.safetensors, bert/model.safetensors; the flags below "
             "override it",
     .flags = GN_NO_HASH},
    {"mnist", GN_TEXT, PLACE(mnist), .help = "folder of the four MNIST files", .flags = GN_NO_HASH},
    {"cifar10", GN_TEXT, PLACE(cifar10), .help = "folder of CIFAR-10's binary files",
     .flags = GN_NO_HASH},
    {"waterbirds", GN_TEXT, PLACE(waterbirds), .help = "folder of Waterbirds with metadata.csv",
     .flags = GN_NO_HASH},
    {"celeba", GN_TEXT, PLACE(celeba), .help = "folder of CelebA with its lists",
     .flags = GN_NO_HASH},
    {"bffhq", GN_TEXT, PLACE(bffhq), .help = "folder of bFFHQ", .flags = GN_NO_HASH},
    {"civilcomments", GN_TEXT, PLACE(civilcomments),
     .help = "folder of WILDS' all_data_with_identities.csv", .flags = GN_NO_HASH},
    {"frost", GN_TEXT, PLACE(frost), .help = "folder of the frost textures for C-CIFAR-10",
     .flags = GN_NO_HASH},
    {"weights", GN_TEXT, PLACE(weights), .help = "ImageNet weights of ResNet-50",
     .flags = GN_NO_HASH},
    {"weights18", GN_TEXT, PLACE(weights18), .help = "ImageNet weights of ResNet-18",
     .flags = GN_NO_HASH},
    {"bert", GN_TEXT, PLACE(bert), .help = "weights of BERT-base, with vocab.txt beside them",
     .flags = GN_NO_HASH},
    {"variant", GN_TEXT, PLACE(variant),
     .help = "variant of the ResNet-50 weights: v1.5 (torchvision) or v1", .flags = GN_NO_HASH},
};
const size_t gn_place_option_count = sizeof gn_place_options / sizeof gn_place_options[0];

#define GBA "gba", .metric_title = "group-balanced accuracy"
#define WGA "wga", .metric_title = "worst-group accuracy"

/* What both studies on it have in common. */
#define CIVILCOMMENTS                                                                              \
    .metric = WGA, .folder = "civilcomments",                                                      \
    .witness = "all_data_with_identities.csv|civilcomments_v1.0/all_data_with_identities.csv",     \
    .is_file = true,                                                                               \
    .hint = "WILDS' package downloads it; see docs/text.md; then --civilcomments FOLDER",          \
    .option = PLACE(civilcomments)

static const gn_paper_dataset datasets[] = {
    {.name = "synthetic", .title = "the built-in data", .metric = GBA, .folder = ""},
    {.name = "c-mnist",
     .title = "C-MNIST",
     .metric = GBA,
     .folder = "mnist",
     .witness = "train-images-idx3-ubyte.gz|train-images-idx3-ubyte",
     .hint = "'gerne data fetch mnist' downloads it; then --mnist FOLDER",
     .option = PLACE(mnist)},
    {.name = "c-cifar10",
     .title = "C-CIFAR-10",
     .metric = GBA,
     .folder = "cifar10",
     .witness = "data_batch_1.bin|cifar-10-batches-bin/data_batch_1.bin",
     .hint = "'gerne data fetch cifar10' downloads it; then --cifar10 FOLDER",
     .option = PLACE(cifar10)},
    {.name = "bffhq",
     .title = "bFFHQ",
     .metric = "minority_acc",
     .metric_title = "minority accuracy",
     .folder = "bffhq",
     .witness = "",
     .hint = "see docs/data.md for its layout; then --bffhq FOLDER",
     .option = PLACE(bffhq)},
    {.name = "waterbirds",
     .title = "Waterbirds",
     .metric = WGA,
     .folder = "waterbirds",
     .witness = "metadata.csv|waterbird_complete95_forest2water2/metadata.csv",
     .hint = "'gerne data fetch waterbirds' downloads it; then --waterbirds FOLDER",
     .option = PLACE(waterbirds)},
    {.name = "celeba",
     .title = "CelebA",
     .metric = WGA,
     .folder = "celeba",
     .witness = "list_attr_celeba.txt|list_attr_celeba.csv",
     .hint = "CelebA's authors ask to download it from their page; see docs/data.md; then --celeba "
             "FOLDER",
     .option = PLACE(celeba)},
    {.name = "civilcomments", .title = "CivilComments", CIVILCOMMENTS},
    {.name = "civilcomments-tuned", .title = "CivilComments, fine-tuned", CIVILCOMMENTS},
};

const gn_paper_dataset *gn_paper_dataset_find(const char *name)
{
    for (size_t i = 0; i < sizeof datasets / sizeof datasets[0]; i++)
        if (strcmp(datasets[i].name, name) == 0)
            return &datasets[i];
    return NULL;
}

/* The first witness that is there, or the folder in which it lies; or NULL. */
static gerne_status look(gerne_ctx *ctx, gn_arena *arena, const char *folder,
                         const gn_paper_dataset *dataset, const char **out)
{
    char word[128];
    for (int i = 0; *gn_choice_word(dataset->witness, i, word, sizeof word); i++) {
        const char *path;
        GN_TRY(gn_path_join(ctx, arena, folder, word, &path));
        if (!gn_path_exists(path))
            continue;
        if (dataset->is_file) {
            *out = path;
            return GERNE_OK;
        }
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
    const char *folder = *(const char *const *)((const char *)places + dataset->option);
    if (!folder)
        GN_TRY(gn_path_join(ctx, arena, places->data ? places->data : "data", dataset->folder,
                            &folder));
    if (dataset->witness[0])
        GN_TRY(look(ctx, arena, folder, dataset, out));
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
    const struct {
        const char *arch, *given, *usual, *hint;
    } known[] = {
        {"resnet18", places->weights18, "resnet18.safetensors",
         "export torchvision's resnet18 (a .pth file will do); then --weights18 FILE"},
        {"bert", places->bert, "bert/model.safetensors",
         "download Hugging Face's bert-base-uncased with its vocab.txt; then --bert FILE"},
        {"resnet50", places->weights, "resnet50.safetensors",
         "export torchvision's resnet50 (a .pth file will do); then --weights FILE"},
    };
    size_t i = 0;
    while (i + 1 < sizeof known / sizeof known[0] && strcmp(known[i].arch, arch) != 0)
        i++;
    const char *path = known[i].given;
    *out = *reason = NULL;
    *hint = known[i].hint;
    if (!path)
        GN_TRY(
            gn_path_join(ctx, arena, places->data ? places->data : "data", known[i].usual, &path));
    if (gn_path_exists(path)) {
        *out = path;
        return GERNE_OK;
    }
    return say(ctx, arena, reason, "no pretrained weights of %s in '%s'", arch, path);
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
