/* The entry that libFuzzer calls, and what targets share. */
#include "target.h"

#include <stdio.h>
#include <stdlib.h>

void fuzz_fail(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: '%s' does not hold\n", file, line, condition);
    abort();
}

bool fuzz_accepted(const gerne_ctx *ctx, gerne_status status, gerne_status refusal)
{
    if (status == GERNE_OK)
        return true;
    fuzz_check(status == refusal);
    fuzz_check(gerne_message(ctx)[0] != '\0');
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gerne_ctx *ctx;
    if (gerne_ctx_new(&ctx) != GERNE_OK)
        return 0;
    fuzz_target(ctx, data, size);
    gerne_ctx_close(ctx);
    return 0;
}
