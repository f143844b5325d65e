#include "data/corrupt.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {
#define NAME(name, text) text,
    GN_CORRUPTION_LIST(NAME)
#undef NAME
};

const char *gn_corruption_name(gn_corruption kind)
{
    return kind < GN_CORRUPTIONS ? names[kind] : "unknown";
}

gerne_status gn_corruption_find(gerne_ctx *ctx, const char *name, gn_corruption *out)
{
    for (int i = 0; i < GN_CORRUPTIONS; i++)
        if (strcmp(names[i], name) == 0) {
            *out = (gn_corruption)i;
            return GERNE_OK;
        }
    const char *nearest = gn_nearest(name, names, GN_CORRUPTIONS);
    gn_fail(ctx, GERNE_EUSAGE, "there is no corruption '%s'", name);
    if (nearest)
        gn_hint(ctx, "did you mean '%s'?", nearest);
    else
        gn_hint(ctx, "type0, type1, dfa, or ten of: gaussian_noise, shot_noise, impulse_noise, ... "
                     "(docs/data.md lists them)");
    return GERNE_EUSAGE;
}

double gn_noise_uniform(gn_noise *noise)
{
    return noise->uniforms ? noise->uniforms[noise->uniform_at++]
                           : gn_random_uniform(&noise->stream);
}

double gn_noise_normal(gn_noise *noise)
{
    return noise->normals ? noise->normals[noise->normal_at++] : gn_random_normal(&noise->stream);
}

double gn_noise_between(gn_noise *noise, double low, double high)
{
    return low + (high - low) * gn_noise_uniform(noise);
}

size_t gn_noise_below(gn_noise *noise, size_t bound)
{
    return (size_t)(gn_noise_uniform(noise) * (double)bound);
}

/* ---- noise and colour ---- */

void gn_gaussian_noise(gn_easel *easel, int severity, gn_noise *noise)
{
    static const double c[] = {0.04, 0.06, 0.08, 0.09, 0.10};
    for (size_t i = 0; i < GN_PICTURE; i++)
        easel->value[i] += c[severity] * gn_noise_normal(noise);
}

/* Inverts the distribution function; means are at most 500, so its first term does not vanish. */
static double poisson(double mean, double uniform)
{
    double term = exp(-mean), sum = term, k = 0;
    while (uniform > sum && term > 0) {
        k++;
        term *= mean / k;
        sum += term;
    }
    return k;
}

void gn_shot_noise(gn_easel *easel, int severity, gn_noise *noise)
{
    static const double c[] = {500, 250, 100, 75, 50};
    for (size_t i = 0; i < GN_PICTURE; i++)
        easel->value[i] =
            poisson(easel->value[i] * c[severity], gn_noise_uniform(noise)) / c[severity];
}

void gn_impulse_noise(gn_easel *easel, int severity, gn_noise *noise)
{
    static const double c[] = {0.01, 0.02, 0.03, 0.05, 0.07};
    for (size_t i = 0; i < GN_PICTURE; i++) {
        bool hit = gn_noise_uniform(noise) < c[severity];
        bool white = gn_noise_uniform(noise) < 0.5;
        if (hit)
            easel->value[i] = white;
    }
}

void gn_speckle_noise(gn_easel *easel, int severity, gn_noise *noise)
{
    static const double c[] = {0.06, 0.10, 0.12, 0.16, 0.20};
    for (size_t i = 0; i < GN_PICTURE; i++)
        easel->value[i] += easel->value[i] * c[severity] * gn_noise_normal(noise);
}

void gn_contrast(gn_easel *easel, int severity, gn_noise *noise)
{
    (void)noise;
    static const double c[] = {0.75, 0.5, 0.4, 0.3, 0.15};
    for (size_t channel = 0; channel < GN_CHANNELS; channel++) {
        double mean = 0;
        for (size_t i = channel; i < GN_PICTURE; i += GN_CHANNELS)
            mean += easel->value[i];
        mean /= GN_SIDE * GN_SIDE;
        for (size_t i = channel; i < GN_PICTURE; i += GN_CHANNELS)
            easel->value[i] = (easel->value[i] - mean) * c[severity] + mean;
    }
}

static double clip(double value)
{
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

/* Hue in sixths of the circle. */
static void to_hsv(const double *rgb, double *h, double *s, double *v)
{
    double high = fmax(rgb[0], fmax(rgb[1], rgb[2])), low = fmin(rgb[0], fmin(rgb[1], rgb[2]));
    double range = high - low;
    *v = high;
    *s = high > 0 ? range / high : 0;
    *h = 0;
    if (range == 0)
        return;
    if (rgb[0] == high)
        *h = (rgb[1] - rgb[2]) / range;
    if (rgb[1] == high)
        *h = 2 + (rgb[2] - rgb[0]) / range;
    if (rgb[2] == high)
        *h = 4 + (rgb[0] - rgb[1]) / range;
    if (*h < 0)
        *h += 6;
}

static void from_hsv(double h, double s, double v, double *rgb)
{
    double whole = floor(h), part = h - whole;
    double p = v * (1 - s), q = v * (1 - part * s), t = v * (1 - (1 - part) * s);
    const double sixths[6][GN_CHANNELS] = {{v, t, p}, {q, v, p}, {p, v, t},
                                           {p, q, v}, {t, p, v}, {v, p, q}};
    memcpy(rgb, sixths[(int)whole % 6], sizeof sixths[0]);
}

void gn_brightness(gn_easel *easel, int severity, gn_noise *noise)
{
    (void)noise;
    static const double c[] = {0.05, 0.1, 0.15, 0.2, 0.3};
    for (double *pixel = easel->value; pixel < easel->value + GN_PICTURE; pixel += GN_CHANNELS) {
        double h, s, v;
        to_hsv(pixel, &h, &s, &v);
        from_hsv(h, s, clip(v + c[severity]), pixel);
    }
}

void gn_saturate(gn_easel *easel, int severity, gn_noise *noise)
{
    (void)noise;
    static const double c[][2] = {{0.3, 0}, {0.1, 0}, {1.5, 0}, {2, 0.1}, {2.5, 0.2}};
    for (double *pixel = easel->value; pixel < easel->value + GN_PICTURE; pixel += GN_CHANNELS) {
        double h, s, v;
        to_hsv(pixel, &h, &s, &v);
        from_hsv(h, clip(s * c[severity][0] + c[severity][1]), v, pixel);
    }
}

/* ---- by way of other files ---- */

/* Down to a part of the size and back, with the box filter. */
static gerne_status pixelate(gerne_ctx *ctx, gn_scratch *scratch, int severity, const uint8_t *in,
                             gn_easel *easel, uint8_t *out)
{
    static const double c[] = {0.95, 0.9, 0.85, 0.75, 0.65};
    size_t small = (size_t)(GN_SIDE * c[severity]);
    gn_image picture = {GN_SIDE, GN_SIDE, (uint8_t *)in}, reduced = {small, small, easel->bytes};
    gn_resize down = {.height = GN_SIDE,
                      .width = GN_SIDE,
                      .out_height = small,
                      .out_width = small,
                      .part_height = small,
                      .part_width = small,
                      .box = true};
    gn_resize up = {.height = small,
                    .width = small,
                    .out_height = GN_SIDE,
                    .out_width = GN_SIDE,
                    .part_height = GN_SIDE,
                    .part_width = GN_SIDE,
                    .box = true};
    GN_TRY(gn_image_resize(ctx, scratch, &picture, &down, easel->bytes));
    return gn_image_resize(ctx, scratch, &reduced, &up, out);
}

static gerne_status compress(gerne_ctx *ctx, gn_scratch *scratch, int severity, const uint8_t *in,
                             uint8_t *out)
{
    static const int quality[] = {80, 65, 58, 50, 40};
    gn_image picture = {GN_SIDE, GN_SIDE, (uint8_t *)in}, decoded;
    GN_LOCAL(gn_text) bytes = {0};
    GN_TRY(gn_jpeg_encode(ctx, &picture, quality[severity], &bytes));
    GN_TRY(gn_image_decode(ctx, scratch, "a corrupted picture", bytes.bytes, bytes.size, &decoded));
    memcpy(out, decoded.pixels, GN_PICTURE);
    return GERNE_OK;
}

static gn_corrupter *const corrupters[GN_CORRUPTIONS] = {
    [GN_GAUSSIAN_NOISE] = gn_gaussian_noise,
    [GN_SHOT_NOISE] = gn_shot_noise,
    [GN_IMPULSE_NOISE] = gn_impulse_noise,
    [GN_SPECKLE_NOISE] = gn_speckle_noise,
    [GN_GAUSSIAN_BLUR] = gn_gaussian_blur,
    [GN_DEFOCUS_BLUR] = gn_defocus_blur,
    [GN_GLASS_BLUR] = gn_glass_blur,
    [GN_MOTION_BLUR] = gn_motion,
    [GN_ZOOM_BLUR] = gn_zoom_blur,
    [GN_SNOW] = gn_snow,
    [GN_BRIGHTNESS] = gn_brightness,
    [GN_CONTRAST] = gn_contrast,
    [GN_ELASTIC] = gn_elastic,
    [GN_SPATTER] = gn_spatter,
    [GN_SATURATE] = gn_saturate,
};

static gerne_status paint(gerne_ctx *ctx, gn_corruption kind, int severity, gn_noise *noise,
                          gn_easel *easel, const uint8_t *in, uint8_t *out)
{
    for (size_t i = 0; i < GN_PICTURE; i++)
        easel->value[i] = in[i] / 255.0;
    if (kind == GN_FOG)
        GN_TRY(gn_fog(ctx, easel, severity, noise));
    else
        corrupters[kind](easel, severity, noise);
    for (size_t i = 0; i < GN_PICTURE; i++)
        out[i] = (uint8_t)(clip(easel->value[i]) * 255); /* cut, not rounded */
    return GERNE_OK;
}

gerne_status gn_corrupt(gerne_ctx *ctx, gn_scratch *scratch, gn_corruption kind, int severity,
                        gn_noise *noise, const gn_frost *frost, const uint8_t *in, uint8_t *out)
{
    gn_easel *easel;
    GN_TRY(gn_scratch_take(ctx, scratch, GN_SCRATCH_A, sizeof *easel, &easel));
    if (severity < 1 || severity > 5)
        return gn_fail(ctx, GERNE_EUSAGE, "severity %d is outside 1..5", severity);
    int s = severity - 1;
    switch (kind) {
    case GN_ORIGINAL:
        memcpy(out, in, GN_PICTURE);
        return GERNE_OK;
    case GN_PIXELATE:
        return pixelate(ctx, scratch, s, in, easel, out);
    case GN_JPEG:
        return compress(ctx, scratch, s, in, out);
    case GN_FROST:
        memcpy(easel->bytes, in, GN_PICTURE);
        gn_frost_blend(frost, easel, s, noise, out);
        return GERNE_OK;
    default:
        return paint(ctx, kind, s, noise, easel, in, out);
    }
}
