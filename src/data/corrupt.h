/* corrupt.h - the corruptions of the common-corruptions benchmark for 32 x 32 pictures. */
#ifndef GN_DATA_CORRUPT_H
#define GN_DATA_CORRUPT_H

#include "base/rng.h"
#include "data/image.h"

enum { GN_SIDE = 32, GN_PICTURE = GN_SIDE * GN_SIDE * GN_CHANNELS };

/* One list makes the enumeration and the names. */
#define GN_CORRUPTION_LIST(X)                                                                      \
    X(GAUSSIAN_NOISE, "gaussian_noise")                                                            \
    X(SHOT_NOISE, "shot_noise")                                                                    \
    X(IMPULSE_NOISE, "impulse_noise")                                                              \
    X(SPECKLE_NOISE, "speckle_noise")                                                              \
    X(GAUSSIAN_BLUR, "gaussian_blur")                                                              \
    X(DEFOCUS_BLUR, "defocus_blur")                                                                \
    X(GLASS_BLUR, "glass_blur")                                                                    \
    X(MOTION_BLUR, "motion_blur")                                                                  \
    X(ZOOM_BLUR, "zoom_blur")                                                                      \
    X(SNOW, "snow")                                                                                \
    X(FROST, "frost")                                                                              \
    X(FOG, "fog")                                                                                  \
    X(BRIGHTNESS, "brightness")                                                                    \
    X(CONTRAST, "contrast")                                                                        \
    X(ELASTIC, "elastic")                                                                          \
    X(PIXELATE, "pixelate")                                                                        \
    X(JPEG, "jpeg")                                                                                \
    X(SPATTER, "spatter")                                                                          \
    X(SATURATE, "saturate")                                                                        \
    X(ORIGINAL, "original")

typedef enum gn_corruption {
#define GN_CORRUPTION_ENUM(name, text) GN_##name,
    GN_CORRUPTION_LIST(GN_CORRUPTION_ENUM)
#undef GN_CORRUPTION_ENUM
        GN_CORRUPTIONS
} gn_corruption;

const char *gn_corruption_name(gn_corruption kind);

/* GERNE_EUSAGE with the nearest name when there is none of this name. */
GERNE_CHECKED gerne_status gn_corruption_find(gerne_ctx *ctx, const char *name, gn_corruption *out);

/* Random numbers in the order of use. Tests put lists in place of the stream. */
typedef struct gn_noise {
    gn_stream stream;
    const double *uniforms, *normals; /* NULL: the stream */
    size_t uniform_at, normal_at;
} gn_noise;

double gn_noise_uniform(gn_noise *noise); /* in [0, 1) */
double gn_noise_normal(gn_noise *noise);
double gn_noise_between(gn_noise *noise, double low, double high);
size_t gn_noise_below(gn_noise *noise, size_t bound); /* floor(bound * uniform) */

/* Textures for frost: five pictures, already reduced to a fifth of their size. */
enum { GN_FROST_TEXTURES = 5 };
typedef struct gn_frost {
    gn_image textures[GN_FROST_TEXTURES];
} gn_frost;

/* Reads frost1.png, frost2.png, frost3.png, frost4.jpg, frost5.jpg, or makes synthetic textures
 * when directory is NULL. */
GERNE_CHECKED gerne_status gn_frost_open(gerne_ctx *ctx, const char *directory, gn_frost *out);
void gn_frost_close(gn_frost *frost);

/* Corrupts a picture; severity 1..5. frost is used by GN_FROST alone. */
GERNE_CHECKED gerne_status gn_corrupt(gerne_ctx *ctx, gn_scratch *scratch, gn_corruption kind,
                                      int severity, gn_noise *noise, const gn_frost *frost,
                                      const uint8_t *in, uint8_t *out);

/* ---- for the files that hold the corruptions ---- */

/* A picture with values in [0, 1], and room to work. */
typedef struct gn_easel {
    double value[GN_PICTURE]; /* in and out */
    double spare[GN_PICTURE];
    double plane[GN_SIDE * GN_SIDE], other[GN_SIDE * GN_SIDE], third[GN_SIDE * GN_SIDE];
    uint8_t bytes[GN_PICTURE];
} gn_easel;

typedef enum gn_border {
    GN_BORDER_EDGE,    /* a a | a b c | c c */
    GN_BORDER_REFLECT, /* b a | a b c | c b */
    GN_BORDER_MIRROR,  /* c b | a b c | b a */
} gn_border;

/* The index inside 0..n-1 that stands for i. */
size_t gn_border_index(ptrdiff_t i, size_t n, gn_border border);

/* Smooths channels interleaved in values in place; radius floor(truncate * sigma + 0.5). spare has
 * the same size. */
void gn_smooth(double *values, double *spare, size_t channels, double sigma, double truncate,
               gn_border border);

/* Value between the four neighbours of (y, x). */
double gn_bilinear(const double *values, size_t channels, size_t c, double y, double x,
                   gn_border border);

/* ImageMagick's motion blur; from and to have SIDE x SIDE x channels values. angle in degrees. */
void gn_motion_blur(const double *from, size_t channels, double radius, double sigma, double angle,
                    double *to);

/* Enlarges the centre by factor and cuts the picture's size out of it. */
void gn_clipped_zoom(const double *from, size_t channels, double factor, double *to);

/* A diamond-square height map on a torus, side a power of two, scaled to [0, 1]. */
GERNE_CHECKED gerne_status gn_height_map(gerne_ctx *ctx, size_t side, double decay, gn_noise *noise,
                                         double *map);

typedef void gn_corrupter(gn_easel *easel, int severity, gn_noise *noise);
gn_corrupter gn_gaussian_noise, gn_shot_noise, gn_impulse_noise, gn_speckle_noise, gn_gaussian_blur,
    gn_defocus_blur, gn_glass_blur, gn_motion, gn_zoom_blur, gn_snow, gn_brightness, gn_contrast,
    gn_elastic, gn_spatter, gn_saturate;
/* severity counts from 0 in these. */

GERNE_CHECKED gerne_status gn_fog(gerne_ctx *ctx, gn_easel *easel, int severity, gn_noise *noise);
void gn_frost_blend(const gn_frost *frost, gn_easel *easel, int severity, gn_noise *noise,
                    uint8_t *out);

#endif
