/* Rows of a study's ledger as another program may have left them: settings, results and reason of a
 * trial, separated by NULs. */
#include "target.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "study/ledger.h"
#include "study/result.h"
#include "study/trial.h"

enum { COLUMNS = 3 };
static char directory[64];

static void remove_directory(void)
{
    gn_folder_remove(directory, 2);
}

static gn_ledger *open_ledger(gerne_ctx *ctx)
{
    gn_ledger *ledger;
    fuzz_check(gn_ledger_open(ctx, directory, "tune", "fuzz\n", &ledger) == GERNE_OK);
    return ledger;
}

/* Once: a study of one trial. */
static void make_study(gerne_ctx *ctx)
{
    const gn_trial trial = {.id = "t", .tag = "", .settings = "{}", .config = "seed: 0\n"};
    if (directory[0])
        return;
    snprintf(directory, sizeof directory, "/dev/shm/gerne-ledger-%ld", (long)getpid());
    atexit(remove_directory);
    gn_ledger *ledger = open_ledger(ctx);
    fuzz_check(gn_ledger_plan(ledger, &trial, 1) == GERNE_OK);
    gn_ledger_close(ledger);
}

static void put_row(const uint8_t *data, size_t size)
{
    char path[128];
    sqlite3 *database;
    sqlite3_stmt *update;
    snprintf(path, sizeof path, "%s/ledger.sqlite", directory);
    fuzz_check(sqlite3_open(path, &database) == SQLITE_OK);
    sqlite3_exec(database, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    fuzz_check(sqlite3_prepare_v2(database,
                                  "UPDATE trials SET settings = ?, results = ?, reason = ?, "
                                  "state = 'done'",
                                  -1, &update, NULL) == SQLITE_OK);
    for (int i = 1; i <= COLUMNS; i++) {
        const uint8_t *end = size ? memchr(data, 0, size) : NULL;
        size_t part = end && i < COLUMNS ? (size_t)(end - data) : size;
        sqlite3_bind_text(update, i, (const char *)data, (int)part, SQLITE_TRANSIENT);
        data += part;
        size -= part;
        if (size) {
            data++;
            size--;
        }
    }
    fuzz_check(sqlite3_step(update) == SQLITE_DONE);
    sqlite3_finalize(update);
    sqlite3_close(database);
}

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    gn_trial_list list = {0};
    gn_result_selection by;
    char words[256];
    make_study(ctx);
    put_row(data, size);
    gn_ledger *ledger = open_ledger(ctx);
    if (fuzz_accepted(ctx, gn_ledger_find(ledger, "t", &list), GERNE_EDATA)) {
        fuzz_check(list.count == 1);
        gn_trial_words(&list.items[0], words, sizeof words);
        fuzz_check(strlen(words) < sizeof words);
        if (gn_result_selection_of(list.items[0].results, &by))
            (void)gn_result_figure(gn_result_splits(list.items[0].results, false), by.split,
                                   by.metric);
    }
    gn_trial_list_free(&list);
    gn_ledger_close(ledger);
}
