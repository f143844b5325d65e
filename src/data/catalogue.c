/* catalogue.c - where datasets are published, and the checksums of their files. */
#include <string.h>

#include "data/download.h"

#define MB ((uint64_t)1 << 20)

static const gn_published_file mnist[] = {
    {"train-images-idx3-ubyte.gz",
     "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", 16 * MB},
    {"train-labels-idx1-ubyte.gz",
     "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", MB},
    {"t10k-images-idx3-ubyte.gz",
     "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", 4 * MB},
    {"t10k-labels-idx1-ubyte.gz",
     "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", MB},
};

static const gn_published_file fashion[] = {
    {"train-images-idx3-ubyte.gz", NULL, 32 * MB},
    {"train-labels-idx1-ubyte.gz", NULL, MB},
    {"t10k-images-idx3-ubyte.gz", NULL, 8 * MB},
    {"t10k-labels-idx1-ubyte.gz", NULL, MB},
};

static const gn_published_file cifar10[] = {
    {"cifar-10-binary.tar.gz", "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
     200 * MB},
};

static const gn_published_file waterbirds[] = {
    {"waterbird_complete95_forest2water2.tar.gz", NULL, 2048 * MB},
};

static const gn_published_file frost[] = {
    {"frost1.png", "ff9f907860bd7a835d459e32f9d588062b7f61ee267343cc7222b56753a14755", 4 * MB},
    {"frost2.png", "fe211a89b336999c207a852ce05818d4545d0b57c5beadd824b4cc9d9a9b6137", 4 * MB},
    {"frost3.png", "2d0d50b4a9bb213f38b024ef7768731bb83cc08d2f26b5766bbc167cdfa0e504", 4 * MB},
    {"frost4.jpg", "3f8b91ca1a9fa7167b09e773da53f5ae60d0a1fd88f02a783f6e328a72887f6e", 4 * MB},
    {"frost5.jpg", "5fc6a19df4a429ba68abdcc8f8a4278d4c9f81c9ccafd2c92ab0c8cf8992ebd2", 4 * MB},
    {"frost6.jpg", "1f92b2f48408748085b68dd81d816ef239f42cef3029c25d041fcb6760fb4f25", 4 * MB},
};

#define FILES(list) list, sizeof list / sizeof list[0]

static const gn_published published[] = {
    {"mnist", "handwritten digits, for C-MNIST", "https://ossci-datasets.s3.amazonaws.com/mnist/",
     "CC BY-SA 3.0", FILES(mnist), "--data.format c-mnist --data.dir %s"},
    {"fashion-mnist", "articles of clothing in MNIST's format",
     "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", "MIT", FILES(fashion),
     "--data.format c-mnist --data.dir %s"},
    {"cifar10", "small photographs, for C-CIFAR-10", "https://www.cs.toronto.edu/~kriz/",
     "see the authors' page", FILES(cifar10), "--data.format c-cifar10 --data.dir %s"},
    {"waterbirds", "birds on land and water", "https://nlp.stanford.edu/data/dro/",
     "research use (CUB and Places)", FILES(waterbirds),
     "--data.format images --data.preset waterbirds --data.dir "
     "%s/waterbird_complete95_forest2water2"},
    {"frost", "textures for the frost corruption",
     "https://raw.githubusercontent.com/hendrycks/robustness/master/ImageNet-C/create_c/",
     "Apache-2.0", FILES(frost), "--data.format c-cifar10 --data.frost %s"},
};

const gn_published *gn_published_list(size_t *count)
{
    *count = sizeof published / sizeof published[0];
    return published;
}

const gn_published *gn_published_find(const char *name)
{
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++)
        if (strcmp(published[i].name, name) == 0)
            return &published[i];
    return NULL;
}
