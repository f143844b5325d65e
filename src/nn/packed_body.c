#include "nn/packed_body.h"

#include "base/memory.h"

typedef struct sized {
    gn_mode mode;
    int64_t tokens;
    gn_program *program;
} sized;

struct gn_packed_body {
    gn_graph *graph;
    gn_store *store;
    int64_t batch;
    gn_memory *memory;
    sized *programs;
    size_t count, capacity;
};

gerne_status gn_packed_body_new(gerne_ctx *ctx, gn_graph *graph, gn_store *store, int64_t batch,
                                gn_memory *memory, gn_packed_body **out)
{
    GN_TRY(gn_alloc(ctx, 1, sizeof **out, "a network", out));
    **out = (gn_packed_body){.graph = graph, .store = store, .batch = batch, .memory = memory};
    return GERNE_OK;
}

void gn_packed_body_close(gn_packed_body *body)
{
    if (!body)
        return;
    for (size_t i = 0; i < body->count; i++)
        gn_program_close(body->programs[i].program);
    gn_free(body->programs);
    gn_free(body);
}

/* Eight sizes from one power of two to the next, so that at most an eighth is padding, and never
 * less than 32 apart. */
static int64_t rounded_up(int64_t tokens)
{
    int64_t step = 32;
    while (16 * step < tokens)
        step *= 2;
    return (tokens + step - 1) / step * step;
}

gerne_status gn_packed_body_program(gerne_ctx *ctx, gn_packed_body *body, gn_mode mode,
                                    int64_t tokens, gn_program **out)
{
    int64_t size = rounded_up(tokens > 0 ? tokens : 1);
    for (size_t i = 0; i < body->count; i++)
        if (body->programs[i].mode == mode && body->programs[i].tokens == size) {
            *out = body->programs[i].program;
            return GERNE_OK;
        }
    GN_TRY(gn_grow(ctx, &body->programs, &body->capacity, body->count + 1, sizeof *body->programs,
                   "a network"));
    GN_TRY(gn_program_new_packed(ctx, body->graph, body->store, body->batch, size, mode,
                                 body->memory, out));
    body->programs[body->count++] = (sized){mode, size, *out};
    return GERNE_OK;
}
