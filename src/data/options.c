#include "data/options.h"

#include <stdlib.h>
#include <string.h>

#include "debias/missing.h"

#define FIELD(name) offsetof(gn_data_options, name)

static const char *const format_names[] = {"synthetic", "c-mnist",  "c-cifar10",
                                           "images",    "features", "text"};

/* Whom an option is for. */
#define MADE   "format synthetic|c-mnist|c-cifar10"
#define BUILT  "format c-mnist|c-cifar10"
#define PIXELS "format images|synthetic|c-mnist|c-cifar10"
#define READ   "format images|features|text"

static const gn_option options[] = {
    {"format", GN_CHOICE, FIELD(format), .fallback = "synthetic",
     .choices = "synthetic|c-mnist|c-cifar10|images|features|text",
     .help = "kind of dataset: generated, or read from files"},
    {"dir", GN_TEXT, FIELD(dir), .when = "format images|c-mnist|c-cifar10",
     .help = "folder of the images, or of the MNIST or CIFAR-10 files", .flags = GN_NO_HASH},
    {"file", GN_TEXT, FIELD(file), .when = "format features|images|text",
     .help = "file of features (.npz, .npy, .csv, raw .f32), of texts (.csv, .tsv, .jsonl), or "
             "metadata CSV of images (default: DIR/metadata.csv)",
     .flags = GN_NO_HASH},
    {"labels", GN_TEXT, FIELD(labels), .when = "format features",
     .help = "CSV with y, a and split for a feature matrix without labels", .flags = GN_NO_HASH},
    {"construction", GN_CHOICE, FIELD(construction), .fallback = "dfa", .choices = "dfa|lff",
     .when = BUILT,
     .help = "how attributes are assigned: dfa redraws with probability ratio and holds out a "
             "validation split, lff uses exact counts"},
    {"ratio", GN_REAL, FIELD(ratio), .fallback = "0.01", .min = 0, .max = 1, .when = MADE,
     .help = "share of bias-conflicting training samples, whose attribute does not follow the "
             "class"},
    {"severity", GN_INT, FIELD(severity), .min = 1, .max = 5, .when = BUILT,
     .help = "c-mnist: noise of the colours, from strong 1 to weak 5 (default 4); c-cifar10: "
             "strength of the corruptions (default 5)"},
    {"corruptions", GN_TEXT, FIELD(corruptions), .fallback = "dfa", .when = "format c-cifar10",
     .help = "type0, type1, dfa, or ten names such as snow,frost,... (see docs/data.md)"},
    {"frost", GN_TEXT, FIELD(frost), .when = "format c-cifar10",
     .help = "folder with frost1.png ... frost5.jpg (default: a synthetic texture)",
     .flags = GN_NO_HASH},
    {"seed", GN_INT, FIELD(seed), .fallback = "0", .min = 0, .max = 9e15,
     .help = "seed of the data: hold-out, attributes, noise (the run has its own seed)"},
    {"val", GN_INT, FIELD(val), .min = 0, .max = 1e9,
     .help = "training samples to hold out for validation, if the data has no validation split "
             "(default: construction dfa 5000, else none)"},
    {"classes", GN_INT, FIELD(classes), .fallback = "4", .min = 2, .max = 100,
     .when = "format synthetic", .help = "number of classes"},
    {"attributes", GN_INT, FIELD(attributes), .fallback = "4", .min = 2, .max = 100,
     .when = "format synthetic", .help = "number of attributes"},
    {"size", GN_INT, FIELD(size), .fallback = "16", .min = 8, .max = 512,
     .when = "format synthetic", .help = "height and width of the images"},
    {"n", GN_INT, FIELD(n), .fallback = "6000", .min = 8, .max = 1e8, .when = "format synthetic",
     .help = "training samples (validation and test have a quarter each)"},
    {"layout", GN_CHOICE, FIELD(layout), .fallback = "auto",
     .choices = "auto|metadata|folders|dfa|celeba|plain", .when = "format images",
     .help = "where the labels of the images are; auto looks at the folder"},
    {"preset", GN_CHOICE, FIELD(preset), .fallback = "none",
     .choices = "none|waterbirds|celeba|bffhq|civilcomments|civilcomments-coarse|"
                "civilcomments-wilds|multinli",
     .when = "format images|text",
     .help = "transforms of a known dataset of images, or columns and groups of one of texts; "
             "other keys override it"},
    {"text", GN_TEXTS, FIELD(text), .when = "format text",
     .help = "column of the text (default: text, comment_text, comment, sentence), or two "
             "columns of a sentence pair"},
    {"max_tokens", GN_INT, FIELD(max_tokens), .fallback = "220", .min = 5, .max = 65536,
     .when = "format text",
     .help = "longest text in tokens, with [CLS] and [SEP]; the rest is cut off"},
    {"a_words", GN_TEXT, FIELD(a_words), .when = "format text",
     .help = "file of words that make the attribute: a term a line, or 'name: term, term'; see "
             "docs/text.md",
     .flags = GN_NO_HASH},
    {"x", GN_TEXTS, FIELD(x), .when = "format features",
     .help = "array of the features in an .npz file (default: x), or feature columns of a CSV, "
             "also as patterns such as 'emb_*' (default: all columns that are not labels)"},
    {"y", GN_TEXT, FIELD(y), .when = READ,
     .help = "column, array or CelebA attribute of the class (default: y); none for unlabelled "
             "data"},
    {"a", GN_TEXT, FIELD(a), .when = READ,
     .help = "column, array or CelebA attribute of the spurious attribute (default: a, place); "
             "none for unknown attributes"},
    {"split", GN_TEXT, FIELD(split), .alias = "split_column", .when = READ,
     .help = "column or array of the split, 0/1/2 or train/val/test (default: split)"},
    {"filename_column", GN_TEXT, FIELD(filename_column), .when = "format images",
     .help = "column of the file names (default: filename, img_filename, image, file, path)"},
    {"resize", GN_INTS, FIELD(resize), .min = 1, .max = 8192, .when = "format images",
     .help = "resize to N x N, or to HEIGHT,WIDTH"},
    {"crop", GN_INTS, FIELD(crop), .min = 1, .max = 8192, .when = "format images",
     .help = "crop N x N, or HEIGHT,WIDTH, from the centre"},
    {"crop_first", GN_BOOL, FIELD(crop_first), .fallback = "false", .when = "format images",
     .help = "crop before resizing"},
    {"normalize", GN_CHOICE, FIELD(normalize), .fallback = "auto", .choices = GN_NORMALIZE_CHOICES,
     .when = PIXELS,
     .help = "mean and standard deviation to normalise with; none divides by 255; auto is "
             "imagenet for images, cifar for c-cifar10, else none"},
    {"augment", GN_CHOICE, FIELD(augment), .fallback = "none", .choices = GN_AUGMENT_CHOICES,
     .when = PIXELS,
     .help = "random changes of training images: horizontal flip, crop (4 pixels of zero padding), "
             "affine (rotation, scale, shift), color (brightness, contrast, saturation), random "
             "(one operation of these kinds), resized-crop (70 to 100 % of the area at full size, "
             "and flip)"},
    {"standardize", GN_BOOL, FIELD(standardize), .fallback = "false", .when = "format features",
     .help = "scale features to mean 0 and variance 1 on the training split"},
    {"skip_bad", GN_BOOL, FIELD(skip_bad), .fallback = "false", .when = "format images|features",
     .help = "skip samples that cannot be read, with a warning, instead of stopping"},
    {"missing", GN_CHOICE, FIELD(missing), .fallback = "error", .choices = GN_MISSING_CHOICES,
     .when = READ, .help = GN_MISSING_HELP},
    {"memory_limit", GN_TEXT, FIELD(memory_limit), .fallback = "2G",
     .help = "keep samples in memory up to this size, stream them from disk above (K, M, G)",
     .flags = GN_NO_HASH},
    {"train_on", GN_CHOICE, FIELD(train_on), .fallback = "train", .choices = "train|val",
     .help = "split to train on; val ignores the training split"},
    {"fold", GN_TEXT, FIELD(fold),
     .help = "i/n with train_on val: validate on fold i of n, stratified by group"},
};

gerne_status gn_data_options_add(gerne_ctx *ctx, gn_config *config, gn_data_options *target)
{
    return gn_config_add(ctx, config, "data", "Data", options, sizeof options / sizeof options[0],
                         target);
}

gerne_status gn_data_options_default(gerne_ctx *ctx, gn_data_options *out)
{
    *out = (gn_data_options){0};
    return gn_options_default(ctx, NULL, options, sizeof options / sizeof options[0], out);
}

gerne_status gn_parse_size(gerne_ctx *ctx, const char *text, size_t *out)
{
    *out = 0;
    char digits[32];
    size_t length = strlen(text);
    static const char units[] = "KMG";
    const char *unit = length ? strchr(units, text[length - 1]) : NULL;
    if (length && unit && *unit)
        length--;
    else
        unit = NULL;
    double value = 0;
    bool fine = length && length < sizeof digits;
    if (fine) {
        memcpy(digits, text, length);
        digits[length] = '\0';
        fine = gn_parse_double(digits, &value) && value >= 0;
    }
    for (ptrdiff_t i = unit ? unit - units : -1; i >= 0; i--)
        value *= 1024;
    if (!fine || value > 1e18) {
        gn_fail(ctx, GERNE_EUSAGE, "'%s' is not a size", text);
        gn_hint(ctx, "write a number of bytes, or one with K, M or G, such as 512M");
        return GERNE_EUSAGE;
    }
    *out = (size_t)value;
    return GERNE_OK;
}

const char *gn_data_format_name(int format)
{
    return format >= 0 && (size_t)format < sizeof format_names / sizeof format_names[0]
               ? format_names[format]
               : "unknown";
}
