/* database.h - the little of SQLite that the ledger needs, with failures as sentences. */
#ifndef GN_STUDY_DATABASE_H
#define GN_STUDY_DATABASE_H

#include <sqlite3.h>

#include "base/status.h"

typedef struct gn_database {
    gerne_ctx *ctx;
    sqlite3 *handle;
    const char *path; /* lent */
} gn_database;

/* Opens or makes the file. Others may use it at the same time: calls wait for each other. */
GERNE_CHECKED gerne_status gn_database_open(gerne_ctx *ctx, const char *path, gn_database *out);
void gn_database_close(gn_database *database);

/* What a result code of SQLite means, as a failure. */
gerne_status gn_database_fail(gn_database *database, int code);

/* Statements without results. */
GERNE_CHECKED gerne_status gn_database_run(gn_database *database, const char *sql);

/* A transaction that keeps other writers out; ended by a commit when status is GERNE_OK, else
 * undone. Returns the first failure. */
GERNE_CHECKED gerne_status gn_database_begin(gn_database *database);
GERNE_CHECKED gerne_status gn_database_end(gn_database *database, gerne_status status);

/* A query: prepare, bind with sqlite3_bind_..., next until *row is false, sqlite3_finalize. */
GERNE_CHECKED gerne_status gn_database_prepare(gn_database *database, const char *sql,
                                               sqlite3_stmt **out);
GERNE_CHECKED gerne_status gn_database_next(gn_database *database, sqlite3_stmt *query, bool *row);

GN_LOCAL_HANDLE(sqlite3_stmt, sqlite3_finalize)

/* Runs a query to its end and finalizes it. */
GERNE_CHECKED gerne_status gn_database_finish(gn_database *database, sqlite3_stmt *query);

#endif
