/* unpack.c - unpacks untrusted archives. */
#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "data/download.h"

enum { BLOCK = 1 << 16, PATH_BYTES = 4096, ENTRIES_MAX = 1 << 23 };

/* Half an archive must not look like a dataset: files are unpacked into this folder inside the one
 * that was asked for, and move up together. */
#define PARTIAL ".unpacking"
enum { LEVELS = 64 };

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
    GN_LOCAL(gn_writer) *writer = NULL;
    GN_TRY(gn_write_open(ctx, path, &writer));
    for (;;) {
        la_ssize_t got = archive_read_data(archive, block, sizeof block);
        const char *words = archive_error_string(archive);
        if (got == 0)
            return gn_write_commit_quick(&writer);
        if (got < 0)
            return gn_fail(ctx, GERNE_EDATA, "'%s' cannot be unpacked: %s", name,
                           words ? words : "it is damaged");
        *written += (uint64_t)got;
        if (*written > limit)
            return gn_fail(ctx, GERNE_EDATA, "'%s' unpacks to more than %llu bytes", name,
                           (unsigned long long)limit);
        GN_TRY(gn_write(writer, block, (size_t)got));
    }
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
    for (size_t entries = 0;; entries++) {
        struct archive_entry *entry;
        int step = archive_read_next_header(archive, &entry);
        if (step == ARCHIVE_EOF)
            return GERNE_OK;
        if (step != ARCHIVE_OK && step != ARCHIVE_WARN)
            return gn_fail(ctx, GERNE_EDATA, "'%s' cannot be unpacked: %s", name,
                           archive_error_string(archive));
        if (entries == ENTRIES_MAX)
            return gn_fail(ctx, GERNE_EDATA, "'%s' holds more than %d files", name, ENTRIES_MAX);
        GN_TRY(unpack_entry(ctx, archive, entry, name, directory, limit, &written));
    }
}

/* Only what libarchive decompresses by itself: for other formats, and for these where it was built
 * without them, it starts programs. */
static gerne_status allow_formats(gerne_ctx *ctx, struct archive *archive, const char *path)
{
    if (archive_read_support_filter_gzip(archive) == ARCHIVE_OK &&
        archive_read_support_filter_bzip2(archive) == ARCHIVE_OK &&
        archive_read_support_filter_xz(archive) == ARCHIVE_OK &&
        archive_read_support_format_tar(archive) == ARCHIVE_OK &&
        archive_read_support_format_zip(archive) == ARCHIVE_OK)
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EUNSUPPORTED,
                   "'%s' cannot be unpacked: this libarchive lacks gzip, bzip2 or xz", path);
}

static gerne_status unpack_into(gerne_ctx *ctx, const char *path, const char *directory,
                                uint64_t limit)
{
    struct archive *archive = archive_read_new();
    if (!archive)
        return gn_fail(ctx, GERNE_ENOMEM, "no memory to unpack '%s'", path);
    gerne_status status = allow_formats(ctx, archive, path);
    if (status == GERNE_OK && archive_read_open_filename(archive, path, BLOCK) != ARCHIVE_OK)
        status = gn_fail(ctx, GERNE_EDATA, "'%s' cannot be unpacked: %s", path,
                         archive_error_string(archive));
    if (status == GERNE_OK)
        status = unpack_all(ctx, archive, path, directory, limit);
    archive_read_free(archive);
    return status;
}

gerne_status gn_unpack(gerne_ctx *ctx, const char *path, const char *directory, uint64_t limit)
{
    int fd; /* says in words what is wrong with the file itself */
    size_t size;
    gn_text partial = {0};
    GN_TRY(gn_file_open(ctx, path, &fd, &size));
    close(fd);
    if (limit == 0)
        limit = 100 * (uint64_t)size + ((uint64_t)64 << 20);
    GN_TRY(gn_text_add(ctx, &partial, "%s/" PARTIAL, directory));
    gn_folder_remove(partial.bytes, LEVELS);
    gerne_status status = gn_folder_make_own(ctx, partial.bytes);
    if (status == GERNE_OK)
        status = unpack_into(ctx, path, partial.bytes, limit);
    if (status == GERNE_OK)
        status = gn_folder_merge(ctx, partial.bytes, directory);
    gn_folder_remove(partial.bytes, LEVELS);
    gn_text_free(&partial);
    return status;
}
