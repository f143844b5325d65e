/* gate.c - somebody else's model: group metrics, a comparison, and a gate for a release. Needs the
 * small library alone.
 *
 *     cc gate.c $(pkg-config --cflags --libs gerne-core)
 */
#include <stdio.h>
#include <stdlib.h>

#include <gerne.h>

enum { N = 400 };

int main(void)
{
    static int32_t y[N], a[N], old_pred[N];
    static double probabilities[N][2];
    const char *const classes[] = {"landbird", "waterbird"}, *const places[] = {"land", "water"};
    for (int i = 0; i < N; i++) {
        y[i] = i % 2;
        a[i] = i % 7 ? y[i] : 1 - y[i];
        old_pred[i] = a[i]; /* the old model looks at the background */
        probabilities[i][1] = i % 40 == 9 ? 0.5 : y[i] ? 0.9 : 0.2;
        probabilities[i][0] = 1 - probabilities[i][1];
    }
    gerne_predicted new = {.size = sizeof new,
                           .n = N,
                           .classes = 2,
                           .attributes = 2,
                           .y = y,
                           .a = a,
                           .probabilities = probabilities[0],
                           .class_names = classes,
                           .attribute_names = places,
                           .name = "new"};
    gerne_predicted old = new;
    old.name = "old";
    old.probabilities = NULL;
    old.pred = old_pred;

    gerne_ctx *ctx;
    gerne_metrics metrics = {.size = sizeof metrics};
    gerne_differences gain = {.size = sizeof gain};
    char *text = NULL;
    if (gerne_ctx_new(&ctx) != GERNE_OK)
        return EXIT_FAILURE;
    gerne_status status = gerne_evaluate(ctx, &new, &metrics, GERNE_JSON, &text);
    if (status == GERNE_OK) {
        printf("%s\n", text); /* what 'gerne eval --json' prints */
        gerne_free(text);
        status = gerne_compare(ctx, &new, &old, 1000, GERNE_TEXT, &text);
    }
    if (status == GERNE_OK)
        status = gerne_differences_of(ctx, &new, &old, 1000, &gain); /* the same in figures */
    if (status == GERNE_OK)
        printf("%s\nthe worst group gains at least %.2f\n", text, gain.wga_ci95[0]);
    else
        fprintf(stderr, "%s\n", gerne_message(ctx));
    gerne_free(text);
    gerne_ctx_close(ctx);
    bool better = metrics.wga >= 0.85 && gain.wga_ci95[0] > 0;
    return status == GERNE_OK && better ? EXIT_SUCCESS : EXIT_FAILURE;
}
