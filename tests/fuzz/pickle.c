/* The unpickler without the archive around it, so that every mutation reaches it. */
#include "target.h"

#include "nn/pickle.h"

/* The first byte of every text in the value's reach is inside the pickle. */
static void look_at(const gn_pickle_value *value, const uint8_t *data, size_t size)
{
    if (value->kind != GN_PICKLE_TEXT)
        return;
    const uint8_t *text = (const uint8_t *)value->as.text.bytes;
    fuzz_check(text >= data && value->as.text.size <= size - (size_t)(text - data));
}

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    gn_arena *arena;
    const gn_pickle_value *top;
    if (gn_arena_new(ctx, &arena) != GERNE_OK)
        return;
    if (fuzz_accepted(ctx, gn_pickle_parse(ctx, arena, data, size, &top), GERNE_EDATA)) {
        look_at(top, data, size);
        if (top->kind == GN_PICKLE_DICT) {
            for (const gn_pickle_pair *p = top->as.dict.first; p; p = p->next) {
                look_at(p->key, data, size);
                look_at(p->value, data, size);
            }
        }
    }
    gn_arena_close(arena);
}
