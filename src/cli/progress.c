/* progress.c - a line on the terminal for long work, and Ctrl-C that ends it in good order. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"

/* Short work shows nothing; what is shown changes a few times a second. */
static const double patience = 2, interval = 0.1;

static volatile sig_atomic_t interrupted;

static struct {
    bool started, shown;
    char what[64];
    double since, last;
    uint64_t first; /* done when this work started: the rate counts from there */
} line;

static void note_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* From the first report on, Ctrl-C asks the work to stop; a second one stops it at once. */
static void catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void gn_clear_progress(void)
{
    if (line.shown)
        fprintf(stderr, "\r\033[K");
    line.shown = false;
}

static void print_line(const gerne_progress *progress, double time)
{
    fprintf(stderr, "\r\033[K%s", progress->what);
    if (progress->total) {
        double share = (double)progress->done / (double)progress->total;
        double spent = time - line.since, gained = (double)(progress->done - line.first);
        fprintf(stderr, " %5.1f %%", 100 * share);
        if (gained > 0 && progress->done < progress->total)
            fprintf(stderr, ", %.0f s left",
                    spent * (double)(progress->total - progress->done) / gained);
    } else {
        fprintf(stderr, " %llu", (unsigned long long)progress->done);
    }
    if (progress->detail[0])
        fprintf(stderr, "  %.60s", progress->detail);
    fflush(stderr);
    line.shown = true;
    line.last = time;
}

int gn_show_progress(void *user, const gerne_progress *progress)
{
    const gn_cli *cli = user;
    double time = now();
    if (!line.started)
        catch_interrupts();
    if (!line.started || strcmp(line.what, progress->what) != 0) {
        gn_clear_progress();
        line.started = true;
        snprintf(line.what, sizeof line.what, "%s", progress->what);
        line.since = time;
        line.first = progress->done;
    }
    if (!cli->quiet && isatty(STDERR_FILENO) && time - line.since >= patience &&
        time - line.last >= interval)
        print_line(progress, time);
    return interrupted;
}
