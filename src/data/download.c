#include "data/download.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <curl/curl.h>

#include "base/file.h"
#include "base/folder.h"

static const uint64_t default_limit = (uint64_t)64 << 30;
enum { STALL_SECONDS = 60, CONNECT_SECONDS = 30, REDIRECTS = 10 };

typedef struct transfer_state {
    gerne_ctx *ctx;
    const gn_download *download;
    int fd;
    uint64_t start, size, limit; /* bytes there at first, bytes there now */
    gerne_status status;         /* why a callback stopped it */
    const char *name;
} transfer_state;

static size_t receive(char *bytes, size_t one, size_t count, void *user)
{
    transfer_state *transfer = user;
    size_t left = one * count;
    if (transfer->size + left > transfer->limit) {
        transfer->status = gn_fail(transfer->ctx, GERNE_EDATA,
                                   "'%s' is larger than the expected maximum of %llu bytes",
                                   transfer->download->url, (unsigned long long)transfer->limit);
        return 0;
    }
    while (left > 0) {
        ssize_t done = write(transfer->fd, bytes, left);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            transfer->status = gn_fail_errno(transfer->ctx, GERNE_EIO, "cannot write '%s.part'",
                                             transfer->download->path);
            return 0;
        }
        bytes += done;
        left -= (size_t)done;
        transfer->size += (size_t)done;
    }
    return one * count;
}

static int watch(void *user, curl_off_t total, curl_off_t now, curl_off_t up, curl_off_t up_now)
{
    (void)up;
    (void)up_now;
    transfer_state *transfer = user;
    gerne_progress progress = {.what = "download",
                               .detail = transfer->name,
                               .done = transfer->start + (uint64_t)now,
                               .total = total ? transfer->start + (uint64_t)total : 0};
    gerne_status status = gn_progress(transfer->ctx, &progress);
    if (status != GERNE_OK)
        transfer->status = status;
    return status != GERNE_OK;
}

static void set_options(CURL *curl, transfer_state *transfer, char *words)
{
    curl_easy_setopt(curl, CURLOPT_URL, transfer->download->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)REDIRECTS);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)STALL_SECONDS);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "gerne");
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, words);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
    if (transfer->start)
        curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)transfer->start);
}

/* One attempt; *again is set when the part cannot be continued and was emptied. */
static gerne_status attempt(gerne_ctx *ctx, transfer_state *transfer, bool *again)
{
    char words[CURL_ERROR_SIZE] = "";
    CURL *curl = curl_easy_init();
    if (!curl)
        return gn_fail(ctx, GERNE_ENOMEM, "no memory to download '%s'", transfer->download->url);
    set_options(curl, transfer, words);
    CURLcode code = curl_easy_perform(curl);
    long answer = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer);
    curl_easy_cleanup(curl);
    if (transfer->status != GERNE_OK)
        return transfer->status;
    if (code == CURLE_OK && answer == 206 && !transfer->start)
        return gn_fail(ctx, GERNE_EDATA, "the server sent a part of '%s' that was not asked for",
                       transfer->download->url);
    if (code == CURLE_OK)
        return GERNE_OK;
    /* The server cannot continue, or says that there is nothing beyond what we have (416). */
    *again = transfer->start && (code == CURLE_RANGE_ERROR || answer == 416);
    if (*again && ftruncate(transfer->fd, 0) == 0)
        return GERNE_OK;
    *again = false;
    gn_fail(ctx, GERNE_EIO, "cannot download '%s': %s", transfer->download->url,
            words[0] ? words : curl_easy_strerror(code));
    if (transfer->size > 0 && transfer->download->sha256)
        gn_hint(ctx, "run the same command again to resume it (%llu bytes are downloaded)",
                (unsigned long long)transfer->size);
    else
        gn_hint(ctx, "--mirror URL downloads the files from another server");
    return GERNE_EIO;
}

/* One process at a time. What is there is continued only when a checksum will tell whether the two
 * parts belong together. */
static gerne_status start_part(transfer_state *transfer, const char *part)
{
    struct stat info;
    if (flock(transfer->fd, LOCK_EX | LOCK_NB) != 0)
        return gn_fail(transfer->ctx, GERNE_EIO, "'%s' is being downloaded by another process",
                       transfer->download->path);
    if (!transfer->download->sha256 && ftruncate(transfer->fd, 0) != 0)
        return gn_fail_errno(transfer->ctx, GERNE_EIO, "cannot write '%s'", part);
    if (fstat(transfer->fd, &info) != 0)
        return gn_fail_errno(transfer->ctx, GERNE_EIO, "cannot inspect '%s'", part);
    transfer->start = transfer->size = (uint64_t)info.st_size;
    return GERNE_OK;
}

static gerne_status fill_part(gerne_ctx *ctx, const gn_download *download, const char *part)
{
    const char *slash = strrchr(download->path, '/');
    transfer_state transfer = {.ctx = ctx,
                               .download = download,
                               .name = slash ? slash + 1 : download->path,
                               .limit = download->limit ? download->limit : default_limit};
    bool again = false;
    GN_TRY(gn_folder_open_file(ctx, part, O_WRONLY | O_APPEND, &transfer.fd));
    gerne_status status = start_part(&transfer, part);
    if (status == GERNE_OK)
        status = attempt(ctx, &transfer, &again);
    if (status == GERNE_OK && again) {
        transfer.start = transfer.size = 0;
        status = attempt(ctx, &transfer, &again);
    }
    if (status == GERNE_OK && fsync(transfer.fd) != 0)
        status = gn_fail_errno(ctx, GERNE_EIO, "cannot sync '%s'", part);
    /* What cannot be continued is removed. */
    if (status == GERNE_EDATA || (status != GERNE_OK && (!download->sha256 || !transfer.size)))
        gn_folder_remove(part, 0);
    close(transfer.fd);
    return status;
}

static gerne_status check_sum(gerne_ctx *ctx, const gn_download *download, const char *path,
                              char hex[GN_SHA256_HEX])
{
    unsigned char digest[GN_SHA256_SIZE];
    GN_TRY(gn_sha256_file(ctx, path, digest));
    gn_sha256_hex(digest, hex);
    if (!download->sha256 || strcmp(hex, download->sha256) == 0)
        return GERNE_OK;
    return gn_fail(ctx, GERNE_EDATA, "'%s' has sha256 %s, expected %s", download->url, hex,
                   download->sha256);
}

gerne_status gn_download_file(gerne_ctx *ctx, const gn_download *download, char hex[GN_SHA256_HEX])
{
    hex[0] = '\0';
    char part[4096];
    int length = snprintf(part, sizeof part, "%s.part", download->path);
    if (length < 0 || (size_t)length >= sizeof part)
        return gn_fail(ctx, GERNE_EUSAGE, "the path '%s' is too long", download->path);
    /* A file that is complete and correct is not downloaded again. */
    if (gn_path_exists(download->path)) {
        if (check_sum(ctx, download, download->path, hex) == GERNE_OK && download->sha256) {
            gn_log(ctx, GERNE_LOG_INFO, "%s is already downloaded", download->path);
            return GERNE_OK;
        }
    }
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return gn_fail(ctx, GERNE_EIO, "the network library cannot start");
    gerne_status status = fill_part(ctx, download, part);
    curl_global_cleanup();
    GN_TRY(status);
    status = check_sum(ctx, download, part, hex);
    if (status == GERNE_EDATA) {
        gn_folder_remove(part, 0); /* it will not get better */
        gn_hint(ctx, "the file was removed; try another server with --mirror URL");
    }
    GN_TRY(status);
    GN_TRY(gn_path_replace(ctx, part, download->path));
    if (!download->sha256)
        gn_log(ctx, GERNE_LOG_WARNING, "%s: no checksum is known; its sha256 is %s", download->path,
               hex);
    return GERNE_OK;
}
