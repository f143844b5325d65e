/* Real encoders give the last hidden states that PyTorch computes, on texts of 3 to 512 tokens.
 * tests/golden/real_bert.py made the file. */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/network_weights.h"
#include "nn/transformer.h"

enum { LONGEST = 512, TEXTS = 100, NUMBERS = 4, WIDTH = 384, AT_ONCE = 10 };
static const int64_t numbers[NUMBERS] = {0, 101, 202, 303};
static char folder[4200];

typedef struct golden {
    float *lengths, *ids, *states;
    size_t tokens;
} golden;

static float *take(gerne_ctx *ctx, const gn_weights *file, const char *name, size_t *count)
{
    const gn_weight *w = gn_weights_find(file, name);
    assert_non_null(w);
    float *values = calloc(w->count, sizeof *values);
    assert_ok(ctx, gn_weight_to_f32(ctx, w, 0, values));
    *count = w->count;
    return values;
}

static golden read_golden(gerne_ctx *ctx, const char *name)
{
    gn_weights *file;
    golden g;
    size_t count;
    assert_ok(ctx,
              gn_weights_open(ctx, GERNE_SOURCE_DIR "/tests/golden/real_bert.safetensors", &file));
    g.lengths = take(ctx, file, "lengths", &count);
    assert_int_equal(count, TEXTS);
    g.ids = take(ctx, file, "ids", &g.tokens);
    g.states = take(ctx, file, name, &count);
    assert_int_equal(count, NUMBERS * g.tokens);
    gn_weights_close(file);
    return g;
}

/* The encoder with all places of its last layer, which networks do without. */
typedef struct encoder {
    gn_network *network; /* has read the weights */
    gn_graph *graph;
    gn_store *store;
    gn_memory *memory;
} encoder;

static void copy_weights(gerne_ctx *ctx, const gn_store *from, gn_store *to)
{
    for (int i = 0; i < gn_store_count(to); i++) {
        const gn_parameter *p = gn_store_parameter(to, i);
        assert_string_equal(p->name, gn_store_parameter(from, i)->name);
        float *values = calloc((size_t)p->size, sizeof *values);
        assert_ok(ctx, gn_store_get(ctx, from, i, values));
        assert_ok(ctx, gn_store_set(ctx, to, i, values));
        free(values);
    }
}

static encoder open_encoder(gerne_ctx *ctx, gn_device *device, const char *name)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/%s/model.safetensors", folder, name);
    encoder e;
    gn_sample_shape shape = gn_tokens_shape(LONGEST);
    shape.fields[0].below = 30522;
    const gn_model_options options = {.arch = "bert", .weights = path};
    assert_ok(ctx, gn_network_new(ctx, device, &options, shape, 2, 1, &e.network));
    assert_ok(ctx, gn_network_initialize(ctx, e.network, 0));
    assert_ok(ctx, gn_network_load(ctx, e.network, path, NULL));
    assert_int_equal(gn_network_options(e.network)->transformer.heads, 12); /* of config.json */
    assert_ok(ctx, gn_graph_new(ctx, device, &e.graph));
    gn_value tokens = gn_token_input(e.graph, GN_FIELD_TOKENS, LONGEST);
    assert_ok(ctx,
              gn_graph_finish(ctx, e.graph,
                              gn_bert_all_places(e.graph, gn_network_options(e.network), tokens)));
    assert_ok(ctx, gn_store_new(ctx, device, &e.graph, 1, AT_ONCE, &e.store));
    copy_weights(ctx, gn_network_store(e.network), e.store);
    assert_ok(ctx, gn_memory_new(ctx, &e.memory));
    return e;
}

static void close_encoder(encoder *e)
{
    gn_memory_close(e->memory);
    gn_store_close(e->store);
    gn_graph_close(e->graph);
    gn_network_close(e->network);
}

/* Texts first..first+AT_ONCE-1 packed; start is where their tokens lie among all. */
static double compare(gerne_ctx *ctx, encoder *e, const golden *g, size_t first, size_t *start)
{
    size_t total = 0;
    for (size_t i = 0; i < AT_ONCE; i++)
        total += (size_t)g->lengths[first + i];
    gn_program *program;
    assert_ok(ctx, gn_program_new_packed(ctx, e->graph, e->store, AT_ONCE, (int64_t)total + 7,
                                         GN_MODE_INFER, e->memory, &program));
    int32_t *ids = gn_program_input(program, GN_FIELD_TOKENS);
    int32_t *spans = gn_program_input(program, GN_SPANS);
    int32_t at = 0;
    for (size_t i = 0; i < AT_ONCE; i++) {
        spans[2 * i] = at;
        spans[2 * i + 1] = (int32_t)g->lengths[first + i];
        at += spans[2 * i + 1];
    }
    for (size_t i = 0; i < total; i++)
        ids[i] = (int32_t)g->ids[*start + i];
    assert_ok(ctx, gn_program_forward(ctx, program));
    double worst = 0;
    for (size_t i = 0; i < total; i++)
        for (size_t j = 0; j < NUMBERS; j++) {
            double ours = (double)gn_program_output(program)[(int64_t)i * WIDTH + numbers[j]];
            double difference = fabs(ours - (double)g->states[NUMBERS * (*start + i) + j]);
            worst = difference > worst || isnan(difference) ? difference : worst;
        }
    gn_program_close(program);
    *start += total;
    return worst;
}

static void check(const char *name)
{
    gerne_ctx *ctx = test_ctx();
    gn_device *device;
    assert_ok(ctx, gn_device_new(ctx, 2, GN_FP32, &device));
    golden g = read_golden(ctx, name);
    encoder e = open_encoder(ctx, device, name);
    size_t start = 0;
    for (size_t first = 0; first < TEXTS; first += AT_ONCE) {
        double worst = compare(ctx, &e, &g, first, &start);
        print_message("%s, texts %zu to %zu: worst difference %.2g\n", name, first,
                      first + AT_ONCE - 1, worst);
        assert_true(worst <= 1e-3);
    }
    assert_int_equal(start, g.tokens);
    close_encoder(&e);
    free(g.lengths);
    free(g.ids);
    free(g.states);
    gn_device_close(device);
    gerne_ctx_close(ctx);
}

static void test_minilm(void **state)
{
    (void)state;
    check("minilm-l6");
}

static void test_gte_small(void **state)
{
    (void)state;
    check("gte-small");
}

int main(void)
{
    const char *data = test_real_data(), *given = getenv("GERNE_REAL_BERT");
    snprintf(folder, sizeof folder, "%s%s", given ? given : data ? data : "", given ? "" : "/bert");
    if (access(folder, R_OK) != 0)
        test_skip_all("no folder 'bert' with minilm-l6 and gte-small among real data "
                      "(GERNE_REAL_DATA, or GERNE_REAL_BERT for the folder itself)");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_minilm),
        cmocka_unit_test(test_gte_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
