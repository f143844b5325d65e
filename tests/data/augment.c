/* Random changes of pictures: within their ranges, a function of the stream, and nothing beside the
 * picture is touched. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/augment.h"

enum { SIDE = 33, BYTES = SIDE * SIDE * 3, GUARD = 64, DRAWS = 400 };

/* A bright square of 9 x 9 around (x, y) on black. */
static void draw_square(int x, int y, uint8_t *bytes)
{
    memset(bytes, 0, BYTES);
    for (int row = y - 4; row <= y + 4; row++)
        for (int column = x - 4; column <= x + 4; column++)
            memset(bytes + (row * SIDE + column) * 3, 200, 3);
}

typedef struct moments {
    double mass, x, y, spread;
} moments;

static moments measure(const uint8_t *bytes)
{
    moments m = {0};
    for (int i = 0; i < SIDE * SIDE; i++) {
        double value = bytes[3 * i] / 200.0;
        m.mass += value;
        m.x += value * (i % SIDE);
        m.y += value * (i / SIDE);
    }
    m.x /= m.mass;
    m.y /= m.mass;
    for (int i = 0; i < SIDE * SIDE; i++)
        m.spread += bytes[3 * i] / 200.0 * (pow(i % SIDE - m.x, 2) + pow(i / SIDE - m.y, 2));
    m.spread /= m.mass;
    return m;
}

static void change(gn_augment kind, uint64_t draw, const uint8_t *from, uint8_t *to)
{
    uint8_t guarded[BYTES + 2 * GUARD];
    memset(guarded, 0xa5, sizeof guarded);
    gn_stream stream = gn_stream_at(5, GN_RNG_AUGMENT, draw, 0);
    gn_augment_picture(kind, &stream, SIDE, SIDE, from, guarded + GUARD);
    for (int i = 0; i < GUARD; i++) {
        assert_int_equal(guarded[i], 0xa5);
        assert_int_equal(guarded[GUARD + BYTES + i], 0xa5);
    }
    memcpy(to, guarded + GUARD, BYTES);
}

static void widen(double value, double range[2])
{
    range[0] = fmin(range[0], value);
    range[1] = fmax(range[1], value);
}

/* The square's centre tells the shift, its mass the scale, and a square beside the centre the
 * angle. */
static void test_affine(void **state)
{
    (void)state;
    uint8_t centre[BYTES], aside[BYTES], moved[BYTES], turned[BYTES];
    double shift[2] = {INFINITY, -INFINITY}, scale[2] = {INFINITY, -INFINITY},
           angle[2] = {INFINITY, -INFINITY};
    draw_square(16, 16, centre);
    draw_square(23, 16, aside);
    for (uint64_t i = 0; i < DRAWS; i++) {
        change(GN_AUGMENT_AFFINE, i, centre, moved);
        change(GN_AUGMENT_AFFINE, i, aside, turned);
        moments m = measure(moved), t = measure(turned);
        widen(m.x - 16, shift);
        widen(m.y - 16, shift);
        widen(sqrt(m.mass / 81), scale);
        widen(atan2(t.y - m.y, t.x - m.x) * 57.29578, angle);
    }
    /* 15 % of 33 pixels, 0.8 to 1.1, 30 degrees; shifts are turned and scaled with the rest. */
    assert_true(shift[0] > -8.5 && shift[0] < -4 && shift[1] < 8.5 && shift[1] > 4);
    assert_true(scale[0] > 0.77 && scale[0] < 0.84 && scale[1] < 1.13 && scale[1] > 1.06);
    assert_true(angle[0] > -33 && angle[0] < -25 && angle[1] < 33 && angle[1] > 25);
}

/* Colours change, places do not: black stays black, and the square keeps its edges. */
static void test_color(void **state)
{
    (void)state;
    uint8_t square[BYTES], changed[BYTES];
    bool darker = false, lighter = false;
    draw_square(16, 16, square);
    for (int i = 0; i < BYTES; i += 3)
        square[i + 1] = (uint8_t)(square[i + 1] / 2); /* not grey */
    for (uint64_t i = 0; i < DRAWS; i++) {
        change(GN_AUGMENT_COLOR, i, square, changed);
        const uint8_t *corner = changed, *inside = changed + (16 * SIDE + 16) * 3;
        for (int p = 0; p < SIDE * SIDE; p++)
            assert_memory_equal(changed + 3 * p, square[3 * p] ? inside : corner, 3);
        assert_true(inside[0] > inside[1]);
        darker = darker || inside[0] < 150;
        lighter = lighter || inside[0] > 240;
    }
    assert_true(darker && lighter);
}

/* All ten operations occur: pictures that stay, that change colour, place, size or form. */
static void test_random(void **state)
{
    (void)state;
    uint8_t square[BYTES], changed[BYTES];
    int same = 0, moved = 0, resized = 0, recolored = 0;
    draw_square(16, 16, square);
    for (uint64_t i = 0; i < DRAWS; i++) {
        change(GN_AUGMENT_RANDOM, i, square, changed);
        moments m = measure(changed);
        uint8_t middle = changed[((size_t)lround(m.y) * SIDE + (size_t)lround(m.x)) * 3];
        same += memcmp(changed, square, BYTES) == 0;
        moved += fabs(m.x - 16) > 0.5 || fabs(m.y - 16) > 0.5;
        recolored += abs(middle - 200) > 10;
        resized += fabs(m.spread / measure(square).spread - 1) > 0.1;
    }
    assert_in_range(same, DRAWS / 40, DRAWS / 2);
    assert_in_range(moved, DRAWS / 10, DRAWS / 2);
    assert_in_range(recolored, DRAWS / 20, DRAWS / 2);
    assert_in_range(resized, DRAWS / 40, DRAWS / 2);
}

/* Where pixels of the result come from is what their colours say: 7 x in the first channel, 7 y in
 * the second. */
static void test_resized_crop(void **state)
{
    (void)state;
    enum { STEP = 7, LAST = SIDE - 1 };
    uint8_t ramp[BYTES], changed[BYTES];
    double area[2] = {INFINITY, -INFINITY}, ratio[2] = {INFINITY, -INFINITY};
    double left[2] = {INFINITY, -INFINITY};
    int mirrored = 0;
    for (int i = 0; i < SIDE * SIDE; i++)
        memcpy(ramp + 3 * i,
               (uint8_t[]){(uint8_t)(STEP * (i % SIDE)), (uint8_t)(STEP * (i / SIDE)), 1}, 3);
    for (uint64_t i = 0; i < DRAWS; i++) {
        change(GN_AUGMENT_RESIZED_CROP, i, ramp, changed);
        const uint8_t *end = changed + ((size_t)LAST * SIDE + LAST) * 3;
        double width = (end[0] - changed[0]) / (double)(STEP * LAST);
        double height = (end[1] - changed[1]) / (double)(STEP * LAST);
        mirrored += width < 0;
        widen(fabs(width) * height, area);
        widen(fabs(width) / height, ratio);
        widen(fmin(changed[0], end[0]) / (STEP * LAST), left);
        for (int p = 0; p < SIDE * SIDE; p++)
            assert_int_equal(changed[3 * p + 2], 1); /* nothing from beyond the border */
    }
    assert_true(area[0] > 0.68 && area[0] < 0.75 && area[1] > 0.95 && area[1] < 1.01);
    assert_true(ratio[0] > 0.72 && ratio[0] < 0.8 && ratio[1] > 1.25 && ratio[1] < 1.38);
    assert_true(left[0] < 0.02 && left[1] > 0.15 && left[1] < 0.32);
    assert_in_range(mirrored, DRAWS * 2 / 5, DRAWS * 3 / 5);
}

static void test_function_of_the_stream(void **state)
{
    (void)state;
    uint8_t square[BYTES], one[BYTES], two[BYTES];
    draw_square(16, 16, square);
    for (int kind = GN_AUGMENT_FLIP; kind <= GN_AUGMENT_RESIZED_CROP; kind++) {
        int different = 0;
        for (uint64_t i = 0; i < 20; i++) {
            change((gn_augment)kind, i, square, one);
            change((gn_augment)kind, i, square, two);
            assert_memory_equal(one, two, BYTES);
            change((gn_augment)kind, i + 1, square, two);
            different += memcmp(one, two, BYTES) != 0;
        }
        if (kind != GN_AUGMENT_FLIP) /* which maps the square to itself */
            assert_true(different > 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_affine),
        cmocka_unit_test(test_color),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_resized_crop),
        cmocka_unit_test(test_function_of_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
