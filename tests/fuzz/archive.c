/* Archives: what is unpacked lies in the folder, and of a refused one nothing stays. */
#include "target.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/folder.h"
#include "data/download.h"

enum { LIMIT = 1 << 16, LEVELS = 64 };

/* Entries of a directory, which are files and directories only. */
static size_t count(const char *path)
{
    size_t found = 0;
    DIR *list = opendir(path);
    fuzz_check(list != NULL);
    for (struct dirent *entry; (entry = readdir(list));) {
        char inner[4096];
        struct stat info;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        found++;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (lstat(inner, &info) == 0)
            fuzz_check(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
    }
    closedir(list);
    return found;
}

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    char outer[96], folder[128];
    snprintf(outer, sizeof outer, "%s/outer", fuzz_directory());
    snprintf(folder, sizeof folder, "%s/inner", outer);
    gn_folder_remove(outer, LEVELS);
    fuzz_check(gn_make_directory(ctx, folder) == GERNE_OK);
    gerne_status status = gn_unpack(ctx, fuzz_put("archive", data, size), folder, LIMIT);
    if (status == GERNE_EIO) /* names that are too long, a file where a folder should be */
        status = GERNE_EDATA;
    if (!fuzz_accepted(ctx, status, GERNE_EDATA) && status == GERNE_EDATA)
        fuzz_check(count(folder) <= 1);
    fuzz_check(count(outer) == 1); /* nothing beside the folder */
    fuzz_check(count(fuzz_directory()) == 2);
}
