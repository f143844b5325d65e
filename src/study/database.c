#include "study/database.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { BUSY_MILLISECONDS = 60000, LONGEST_VALUE = 1 << 26 };

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

/* A journal may end with the name of another file, which SQLite removes once the journal has been
 * played back. Ours never do: a transaction of the ledger has one file. */
static gerne_status check_journal(gerne_ctx *ctx, const char *path)
{
    static const unsigned char mark[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    unsigned char end[sizeof mark];
    gn_text journal = {0};
    int file;
    size_t size;
    GN_TRY(gn_text_add(ctx, &journal, "%s-journal", path));
    gerne_status status = GERNE_OK;
    if (gn_path_exists(journal.bytes)) {
        status = gn_file_open(ctx, journal.bytes, &file, &size);
        if (status == GERNE_OK) {
            bool names =
                size >= sizeof end &&
                pread(file, end, sizeof end, (off_t)(size - sizeof end)) == (ssize_t)sizeof end &&
                memcmp(end, mark, sizeof end) == 0;
            close(file);
            if (names) {
                status = gn_fail(ctx, GERNE_EDATA, "'%s' names another file, as none of ours does",
                                 journal.bytes);
                gn_hint(ctx, "SQLite would remove that file: do not use a study of unknown origin");
            }
        }
    }
    gn_text_free(&journal);
    return status;
}

/* The file may be somebody else's: its schema is data. Triggers and views would be code. */
static int distrust(sqlite3 *handle)
{
    static const struct {
        int what, value;
    } settings[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                    {SQLITE_DBCONFIG_ENABLE_VIEW, 0}};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        int code = sqlite3_db_config(handle, settings[i].what, settings[i].value, NULL);
        if (code != SQLITE_OK)
            return code;
    }
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
    return SQLITE_OK;
}

gerne_status gn_database_open(gerne_ctx *ctx, const char *path, gn_database *out)
{
    *out = (gn_database){.ctx = ctx, .path = path};
    GN_TRY(check_journal(ctx, path));
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(path, &out->handle, flags, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(out->handle, BUSY_MILLISECONDS);
    if (code == SQLITE_OK)
        code = distrust(out->handle);
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
