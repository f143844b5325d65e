/* unpack.c - unpacks untrusted archives. */
#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "data/download.h"

enum { BLOCK = 1 << 16, PATH_BYTES = 4096 };

bool gn_is_archive(const char *path)
{
    static const char *const endings[] = {".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tar.xz", ".zip"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(path + length - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

/* Below the directory, whatever it says: not absolute, and no part is "..". */
static bool is_inside(const char *path)
{
    if (!path[0] || path[0] == '/')
        return false;
    for (const char *part = path; part;) {
        const char *slash = strchr(part, '/');
        size_t length = slash ? (size_t)(slash - part) : strlen(part);
        if (length == 2 && part[0] == '.' && part[1] == '.')
            return false;
        part = slash ? slash + 1 : NULL;
    }
    return true;
}

static gerne_status copy_file(gerne_ctx *ctx, struct archive *archive, const char *name,
                              const char *path, uint64_t limit, uint64_t *written)
{
    char folder[2 * PATH_BYTES], block[BLOCK];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    GN_TRY(gn_make_directory(ctx, folder));
    gn_writer *writer;
    GN_TRY(gn_write_open(ctx, path, &writer));
    gerne_status status = GERNE_OK;
    while (status == GERNE_OK) {
        la_ssize_t got = archive_read_data(archive, block, sizeof block);
        if (got == 0)
            break;
        if (got < 0) {
            const char *words = archive_error_string(archive);
            status = gn_fail(ctx, GERNE_EDATA, "'%s' cannot be unpacked: %s", name,
                             words ? words : "it is damaged");
            break;
        }
        *written += (uint64_t)got;
        if (*written > limit)
            status = gn_fail(ctx, GERNE_EDATA, "'%s' unpacks to more than %llu bytes", name,
                             (unsigned long long)limit);
        else
            status = gn_write(writer, block, (size_t)got);
    }
    if (status == GERNE_OK)
        status = gn_write_commit_quick(&writer);
    gn_write_abort(writer);
    return status;
}

static gerne_status unpack_entry(gerne_ctx *ctx, struct archive *archive,
                                 struct archive_entry *entry, const char *name,
                                 const char *directory, uint64_t limit, uint64_t *written)
{
    const char *inner = archive_entry_pathname(entry);
    char path[2 * PATH_BYTES];
    if (!inner || !is_inside(inner) || strlen(inner) >= PATH_BYTES ||
        strlen(directory) >= PATH_BYTES)
        return gn_fail(ctx, GERNE_EDATA, "'%s' holds the path '%s', which leaves the folder", name,
                       inner ? inner : "");
    snprintf(path, sizeof path, "%s/%s", directory, inner);
    if (archive_entry_filetype(entry) == AE_IFDIR)
        return gn_make_directory(ctx, path);
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
        return gn_fail(ctx, GERNE_EDATA, "'%s' holds '%s', which is a link or a special file", name,
                       inner);
    gerne_progress progress = {.what = "unpack", .done = *written, .detail = inner};
    GN_TRY(gn_progress(ctx, &progress));
    return copy_file(ctx, archive, name, path, limit, written);
}

static gerne_status unpack_all(gerne_ctx *ctx, struct archive *archive, const char *name,
                               const char *directory, uint64_t limit)
{
    uint64_t written = 0;
    for (;;) {
        struct archive_entry *entry;
        int step = archive_read_next_header(archive, &entry);
        if (step == ARCHIVE_EOF)
            return GERNE_OK;
        if (step != ARCHIVE_OK && step != ARCHIVE_WARN)
            return gn_fail(ctx, GERNE_EDATA, "'%s' cannot be unpacked: %s", name,
                           archive_error_string(archive));
        GN_TRY(unpack_entry(ctx, archive, entry, name, directory, limit, &written));
    }
}

gerne_status gn_unpack(gerne_ctx *ctx, const char *path, const char *directory, uint64_t limit)
{
    gn_map map; /* says in words what is wrong with the file itself */
    GN_TRY(gn_map_open(ctx, path, &map));
    if (limit == 0)
        limit = 100 * (uint64_t)map.size + ((uint64_t)64 << 20);
    gn_map_close(&map);
    struct archive *archive = archive_read_new();
    if (!archive)
        return gn_fail(ctx, GERNE_ENOMEM, "no memory to unpack '%s'", path);
    archive_read_support_filter_all(archive);
    archive_read_support_format_tar(archive);
    archive_read_support_format_zip(archive);
    gerne_status status;
    if (archive_read_open_filename(archive, path, BLOCK) != ARCHIVE_OK)
        status = gn_fail(ctx, GERNE_EDATA, "'%s' cannot be unpacked: %s", path,
                         archive_error_string(archive));
    else
        status = unpack_all(ctx, archive, path, directory, limit);
    archive_read_free(archive);
    return status;
}
