#include "base/map.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

/* ---- what the signal handler knows ---- */

/* More maps than this are open only by a mistake of ours; the others are not guarded. */
enum { PLACES = 512, PATH_SHOWN = 256 };

typedef struct map_place {
    _Atomic(uintptr_t) start; /* 0: free */
    _Atomic(uintptr_t) end;
    char path[PATH_SHOWN];
} map_place;

static map_place places[PLACES];
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(map_place *) lost; /* the first; its place is never used again */
static uintptr_t page_size;

static void remember(const gn_map *map, const char *path)
{
    pthread_mutex_lock(&places_lock);
    for (size_t i = 0; i < PLACES; i++) {
        map_place *place = &places[i];
        if (atomic_load(&place->start) || place == atomic_load(&lost))
            continue;
        size_t length = strlen(path), skip = length < PATH_SHOWN ? 0 : length - PATH_SHOWN + 1;
        memcpy(place->path, path + skip, length - skip + 1);
        atomic_store(&place->end, (uintptr_t)map->bytes + map->size);
        atomic_store(&place->start, (uintptr_t)map->bytes);
        break;
    }
    pthread_mutex_unlock(&places_lock);
}

static void forget(const gn_map *map)
{
    pthread_mutex_lock(&places_lock);
    for (size_t i = 0; i < PLACES; i++)
        if (atomic_load(&places[i].start) == (uintptr_t)map->bytes)
            atomic_store(&places[i].start, 0);
    pthread_mutex_unlock(&places_lock);
}

/* Zeros take the place of what is gone, up to the end of the map. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    uintptr_t address = (uintptr_t)info->si_addr;
    for (size_t i = 0; i < PLACES; i++) {
        uintptr_t start = atomic_load(&places[i].start), end = atomic_load(&places[i].end);
        uintptr_t page = address & ~(page_size - 1);
        if (!start || address < start || page >= end)
            continue;
        void *zeros = mmap((void *)page, end - page, PROT_READ,
                           MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (zeros == MAP_FAILED)
            break;
        map_place *none = NULL;
        atomic_compare_exchange_strong(&lost, &none, &places[i]);
        return;
    }
    signal(number, SIG_DFL); /* returning meets it again */
}

void gn_map_guard(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    sigaction(SIGBUS, &action, NULL);
}

gerne_status gn_map_check(gerne_ctx *ctx)
{
    const map_place *place = atomic_load(&lost);
    if (!place)
        return GERNE_OK;
    gn_fail(ctx, GERNE_EIO, "'%s' was truncated or became unreadable while it was in use",
            place->path);
    gn_hint(ctx, "restore the file and run the command again; nothing was written after the loss");
    return GERNE_EIO;
}

/* ---- maps ---- */

gerne_status gn_map_open(gerne_ctx *ctx, const char *path, gn_map *out)
{
    *out = (gn_map){0};
    int fd;
    size_t size;
    GN_TRY(gn_file_open(ctx, path, &fd, &size));
    gerne_status status = GERNE_OK;
    if (size > 0) {
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
            status = gn_fail_errno(ctx, GERNE_EIO, "cannot map '%s'", path);
        else
            *out = (gn_map){.bytes = bytes, .size = size};
    }
    close(fd);
    if (out->bytes)
        remember(out, path);
    return status;
}

void gn_map_close(gn_map *map)
{
    if (map->bytes) {
        forget(map);
        munmap((void *)(uintptr_t)map->bytes, map->size);
    }
    *map = (gn_map){0};
}
