#include "api/api.h"

#include <string.h>

void gerne_free(void *text)
{
    gn_free(text);
}

gerne_status gn_take_struct(gerne_ctx *ctx, const char *name, const void *given, void *own,
                            size_t own_size)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > own_size) {
        gn_fail(ctx, GERNE_EUSAGE, "%s.size is %zu, outside %zu..%zu", name, size, sizeof size,
                own_size);
        gn_hint(ctx,
                "set it to sizeof(%s); a program may not be newer than the library, which is "
                "version %s",
                name, gerne_version());
        return GERNE_EUSAGE;
    }
    memset(own, 0, own_size);
    memcpy(own, given, size);
    return GERNE_OK;
}

gerne_status gn_give_struct(gerne_ctx *ctx, const char *name, const void *own, size_t own_size,
                            void *given)
{
    size_t size, head = sizeof size;
    memcpy(&size, given, head);
    if (size < head || size > own_size) {
        gn_fail(ctx, GERNE_EUSAGE, "%s.size is %zu, outside %zu..%zu", name, size, head, own_size);
        gn_hint(ctx, "set it to sizeof(%s) before the call", name);
        return GERNE_EUSAGE;
    }
    memcpy((char *)given + head, (const char *)own + head, size - head);
    return GERNE_OK;
}

gerne_status gn_check_form(gerne_ctx *ctx, gerne_form form)
{
    return form == GERNE_JSON || form == GERNE_TEXT
               ? GERNE_OK
               : gn_fail(ctx, GERNE_EUSAGE, "form %d is neither GERNE_JSON nor GERNE_TEXT",
                         (int)form);
}

gerne_status gn_give_text(gerne_ctx *ctx, gn_text *text, char **out)
{
    if (out) {
        GN_TRY(gn_text_add(ctx, text, "%s", "")); /* never NULL */
        *out = text->bytes;
        *text = (gn_text){0};
    }
    gn_text_free(text);
    return GERNE_OK;
}

gerne_status gn_give_json(gerne_ctx *ctx, json_t *json, char **out)
{
    gn_text text = {0};
    gerne_status status = out ? gn_json_print(ctx, json, &text) : GERNE_OK;
    json_decref(json);
    if (status == GERNE_OK)
        status = gn_give_text(ctx, &text, out);
    gn_text_free(&text);
    return status;
}
