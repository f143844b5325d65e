/* augment.h - names of the random changes of pictures: what data.augment and estimators choose. */
#ifndef GN_BASE_AUGMENT_H
#define GN_BASE_AUGMENT_H

typedef enum gn_augment {
    GN_AUGMENT_NONE,
    GN_AUGMENT_FLIP,
    GN_AUGMENT_CROP,
    GN_AUGMENT_CROP_FLIP,
    GN_AUGMENT_AFFINE,
    GN_AUGMENT_COLOR,
    GN_AUGMENT_RANDOM,
    GN_AUGMENT_RESIZED_CROP
} gn_augment;

#define GN_AUGMENT_CHOICES "none|flip|crop|crop-flip|affine|color|random|resized-crop"

#endif
