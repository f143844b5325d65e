#include "study/database.h"

enum { BUSY_MILLISECONDS = 60000 };

gerne_status gn_database_fail(gn_database *database, int code)
{
    gerne_ctx *ctx = database->ctx;
    const char *path = database->path;
    switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
        gn_fail(ctx, GERNE_EDATA, "'%s' is damaged, or not a ledger", path);
        gn_hint(ctx, "move it elsewhere and run the same command again: finished trials are "
                     "found in their directories and not repeated");
        return GERNE_EDATA;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return gn_fail(ctx, GERNE_EIO, "'%s' was in use by another process for more than %d s",
                       path, BUSY_MILLISECONDS / 1000);
    case SQLITE_FULL:
        return gn_fail(ctx, GERNE_EIO, "cannot write '%s': the disk is full", path);
    case SQLITE_NOMEM:
        return gn_fail(ctx, GERNE_ENOMEM, "no memory for the ledger '%s'", path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        gn_fail(ctx, GERNE_EIO, "cannot write '%s': no permission", path);
        gn_hint(ctx, "choose a directory that you may write to with --out");
        return GERNE_EIO;
    case SQLITE_CANTOPEN:
        return gn_fail(ctx, GERNE_EIO, "cannot open or make '%s'", path);
    default:
        return gn_fail(ctx, GERNE_EIO, "the ledger '%s' failed: %s", path,
                       database->handle ? sqlite3_errmsg(database->handle) : sqlite3_errstr(code));
    }
}

gerne_status gn_database_open(gerne_ctx *ctx, const char *path, gn_database *out)
{
    *out = (gn_database){.ctx = ctx, .path = path};
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(path, &out->handle, flags, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(out->handle, BUSY_MILLISECONDS);
    if (code == SQLITE_OK)
        return GERNE_OK;
    gerne_status status = gn_database_fail(out, code);
    gn_database_close(out);
    return status;
}

void gn_database_close(gn_database *database)
{
    sqlite3_close(database->handle);
    database->handle = NULL;
}

gerne_status gn_database_run(gn_database *database, const char *sql)
{
    int code = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? GERNE_OK : gn_database_fail(database, code);
}

gerne_status gn_database_begin(gn_database *database)
{
    return gn_database_run(database, "BEGIN IMMEDIATE");
}

gerne_status gn_database_end(gn_database *database, gerne_status status)
{
    if (status == GERNE_OK)
        status = gn_database_run(database, "COMMIT");
    if (status != GERNE_OK && !sqlite3_get_autocommit(database->handle))
        sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

gerne_status gn_database_prepare(gn_database *database, const char *sql, sqlite3_stmt **out)
{
    int code = sqlite3_prepare_v2(database->handle, sql, -1, out, NULL);
    return code == SQLITE_OK ? GERNE_OK : gn_database_fail(database, code);
}

gerne_status gn_database_next(gn_database *database, sqlite3_stmt *query, bool *row)
{
    int code = sqlite3_step(query);
    *row = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? GERNE_OK : gn_database_fail(database, code);
}

gerne_status gn_database_finish(gn_database *database, sqlite3_stmt *query)
{
    bool row = true;
    gerne_status status = GERNE_OK;
    while (status == GERNE_OK && row)
        status = gn_database_next(database, query, &row);
    sqlite3_finalize(query);
    return status;
}
