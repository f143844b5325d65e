/* waiting.c - how threads of the network wait for each other.
 *
 * libgomp lets them spin for milliseconds before they sleep. On a machine with other work the one
 * they wait for is often not running, and the spinning takes its processor: training was 30 times
 * slower there. A short spin costs nothing measurable on a quiet machine. libgomp reads its
 * variables when it is loaded, before main, so the program starts itself anew with them. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"

void gn_shorten_waiting(char **argv)
{
    char path[PATH_MAX];
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT"))
        return; /* the user's choice, or ours already */
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (size <= 0)
        return;
    path[size] = '\0';
    if (setenv("GOMP_SPINCOUNT", "1000", 1) == 0)
        execv(path, argv);
    /* Not possible here: slower, not wrong. */
}
