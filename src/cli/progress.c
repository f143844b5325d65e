/* progress.c - one line on the terminal for long work, and Ctrl-C, which stops it cleanly. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command.h"

/* Short work shows nothing; what is shown changes a few times a second. */
static const double patience = 2, interval = 0.1;

enum { LINE_MAX_BYTES = 512, USUAL_COLUMNS = 80 };

static volatile sig_atomic_t interrupted;
static bool caught;

static struct {
    bool started;
    char what[64];
    double since, last;
    uint64_t first; /* done when this work started: the rate counts from there */
    int width;      /* columns of what is shown; 0: nothing */
} line;

static void note_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* What stops a job may say so to the process and to its group: timeout(1) does, at once. */
static const double one_message = 0.5; /* seconds */
static double noted_at;

static void note_or_end(int number)
{
    double now = gn_seconds();
    if (interrupted && now - noted_at > one_message) {
        signal(number, SIG_DFL);
        raise(number); /* when this returns */
    }
    if (!interrupted)
        noted_at = now;
    interrupted = 1;
}

/* From the first report on, Ctrl-C asks the work to stop, and so does a terminal that goes away
 * (unless nohup had it ignored); a second one stops it at once. Batch systems announce the end of a
 * job with SIGUSR1 or SIGTERM, and some of them more than once. SA_ONSTACK: engine/signal_stack.h.
 */
void gn_catch_signals(bool again)
{
    struct sigaction action = {.sa_handler = again ? note_interrupt : note_or_end,
                               .sa_flags = SA_ONSTACK | (again ? SA_RESTART : 0)};
    struct sigaction hangup;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    caught = true;
}

/* ---- the terminal ---- */

static bool is_terminal(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDERR_FILENO) && kind && kind[0] && strcmp(kind, "dumb") != 0;
}

const char *gn_style(const char *code)
{
    const char *off = getenv("NO_COLOR"); /* no-color.org: set and not empty */
    return is_terminal() && !(off && off[0]) ? code : "";
}

/* Asked anew for every line: the window may have been resized. */
static int columns(void)
{
    struct winsize size = {0};
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : USUAL_COLUMNS;
}

void gn_clear_progress(void)
{
    if (!line.width)
        return;
    /* In a window that has become narrower the line takes several rows. */
    int rows = (line.width - 1) / columns();
    if (rows > 0)
        fprintf(stderr, "\033[%dA", rows);
    fprintf(stderr, "\r\033[J");
    line.width = 0;
}

/* ---- the line ---- */

static void add_time(char *text, size_t size, double seconds)
{
    size_t at = strlen(text);
    long whole = seconds < 1e8 ? (long)(seconds + 0.5) : 99999999;
    if (whole >= 3600)
        snprintf(text + at, size - at, ", %ld:%02ld:%02ld left", whole / 3600, whole / 60 % 60,
                 whole % 60);
    else
        snprintf(text + at, size - at, ", %ld:%02ld left", whole / 60, whole % 60);
}

/* "train 43.2 %, 3:20 left" */
static void describe(const gerne_progress *progress, double time, char *text, size_t size)
{
    if (!progress->total) {
        snprintf(text, size, "%s %llu", progress->what, (unsigned long long)progress->done);
        return;
    }
    double gained = (double)(progress->done - line.first);
    snprintf(text, size, "%s %.1f %%", progress->what,
             100 * (double)progress->done / (double)progress->total);
    if (gained > 0 && progress->done < progress->total)
        add_time(text, size,
                 (time - line.since) * (double)(progress->total - progress->done) / gained);
}

/* As many of the parts, which ", " separates, as there is room for. */
static void fit_parts(const char *parts, int room, char *text, size_t size)
{
    size_t fits = 0;
    for (const char *at = parts; *at;) {
        const char *comma = strstr(at, ", ");
        size_t end = comma ? (size_t)(comma - parts) : strlen(parts);
        snprintf(text, size, "%.*s", (int)end, parts);
        if (gn_text_width(text) > room || end >= size)
            break;
        fits = end;
        at = comma ? comma + 2 : parts + end;
    }
    snprintf(text, size, "%.*s", (int)fits, parts);
}

static void print_line(const gerne_progress *progress, double time)
{
    char head[LINE_MAX_BYTES], detail[LINE_MAX_BYTES];
    int width = columns() - 1; /* the last column is left to the cursor */
    describe(progress, time, head, sizeof head);
    if ((int)strlen(head) > width)
        head[width > 0 ? width : 0] = '\0';
    int used = gn_text_width(head);
    gn_text visible = {0};
    if (gn_text_add_visible(NULL, &visible, progress->detail, strlen(progress->detail), false) !=
        GERNE_OK)
        return;
    fit_parts(visible.bytes, width - used - 2, detail, sizeof detail);
    gn_text_free(&visible);
    gn_clear_progress();
    fprintf(stderr, "%s%s%s%s%s", gn_style(GN_BOLD), head, gn_style(GN_PLAIN),
            detail[0] ? "  " : "", detail);
    fflush(stderr);
    line.width = used + (detail[0] ? 2 + gn_text_width(detail) : 0);
    line.last = time;
}

int gn_show_progress(void *user, const gerne_progress *progress)
{
    const gn_cli *cli = user;
    double time = gn_seconds();
    if (!caught)
        gn_catch_signals(false);
    if (!line.started || strcmp(line.what, progress->what) != 0) {
        gn_clear_progress();
        line.started = true;
        snprintf(line.what, sizeof line.what, "%s", progress->what);
        line.since = time;
        line.first = progress->done;
    }
    if (!cli->quiet && gn_speaks(cli) && time - line.since >= patience &&
        time - line.last >= interval && is_terminal())
        print_line(progress, time);
    return interrupted;
}
