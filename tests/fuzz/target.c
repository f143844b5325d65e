/* The entry that libFuzzer calls, and what targets share. */
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"

enum { LEVELS = 64 };
static char directory[64], path[128];

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

static void remove_directory(void)
{
    gn_folder_remove(directory, LEVELS);
}

const char *fuzz_directory(void)
{
    if (!directory[0]) {
        snprintf(directory, sizeof directory, "/dev/shm/gerne-fuzz-%ld", (long)getpid());
        atexit(remove_directory);
    }
    fuzz_check(gn_make_directory(NULL, directory) == GERNE_OK);
    return directory;
}

const char *fuzz_put(const char *name, const void *bytes, size_t size)
{
    snprintf(path, sizeof path, "%s/%s", fuzz_directory(), name);
    FILE *file = fopen(path, "wb");
    fuzz_check(file != NULL);
    fuzz_check(fwrite(bytes, 1, size, file) == size);
    fclose(file);
    return path;
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
