/* Runs files, or all files of folders, through a fuzz target: for any compiler, without libFuzzer.
 */
#include "target.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { INPUT_MAX = 1 << 20 };

static bool replay_file(const char *path)
{
    gn_text text = {0};
    gerne_ctx *ctx;
    if (gerne_ctx_new(&ctx) != GERNE_OK)
        return false;
    gerne_status status = gn_file_read(ctx, path, INPUT_MAX, &text);
    if (status != GERNE_OK)
        fprintf(stderr, "%s\n", gerne_message(ctx));
    gerne_ctx_close(ctx);
    if (status == GERNE_OK) {
        uint8_t *exact = malloc(text.size ? text.size : 1); /* so that a sanitizer sees its end */
        if (exact && text.size)
            memcpy(exact, text.bytes, text.size);
        if (exact)
            LLVMFuzzerTestOneInput(exact, text.size);
        free(exact);
    }
    gn_text_free(&text);
    return status == GERNE_OK;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Returns how many files ran, or -1. */
static int replay_folder(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_visible, alphasort), ran = 0;
    if (count < 0)
        return -1;
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        ran = ran >= 0 && replay_file(path) ? ran + 1 : -1;
        free(entries[i]);
    }
    free(entries);
    return ran;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int ran = gn_is_directory(argv[i]) ? replay_folder(argv[i]) : replay_file(argv[i]);
        printf("%s: %d inputs\n", argv[i], ran);
        if (ran <= 0) /* a corpus that went missing is no success */
            return 1;
    }
    return argc > 1 ? 0 : 2;
}
