#include "study/ledger.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/lock.h"
#include "study/database.h"

/* Marks the file as ours; the version grows when the tables change. */
enum { APPLICATION = 0x6765726e, VERSION = 1 };

struct gn_ledger {
    gerne_ctx *ctx;
    gn_arena *arena;
    const char *dir, *locks;
    char *lock_path; /* room for any of them */
    size_t lock_path_size;
    gn_database db;
    const char **planned; /* ids */
    size_t count, capacity;
};

static const char *const state_names[] = {"waiting", "running", "done", "failed"};

const char *gn_trial_state_name(gn_trial_state state)
{
    return state_names[state];
}

static gn_trial_state state_of(const char *name)
{
    for (int i = 0; i < GN_TRIAL_STATES; i++)
        if (name && strcmp(name, state_names[i]) == 0)
            return (gn_trial_state)i;
    return GN_TRIAL_WAITING;
}

/* ---- opening ---- */

static const char schema[] = "PRAGMA application_id = 1734701678;"
                             "PRAGMA user_version = 1;"
                             "CREATE TABLE study(key TEXT PRIMARY KEY, value TEXT NOT NULL);"
                             "CREATE TABLE trials(number INTEGER PRIMARY KEY,"
                             " id TEXT NOT NULL UNIQUE, tag TEXT NOT NULL, settings TEXT NOT NULL,"
                             " config TEXT NOT NULL, seed INTEGER NOT NULL, level INTEGER NOT NULL,"
                             " state TEXT NOT NULL DEFAULT 'waiting'"
                             " CHECK(state IN ('waiting', 'running', 'done', 'failed')),"
                             " reason TEXT, results TEXT, seconds REAL NOT NULL DEFAULT 0);";

static gerne_status damaged(gn_ledger *l)
{
    return gn_database_fail(&l->db, SQLITE_CORRUPT);
}

/* A query for one row: which has it as its only parameter, or NULL. */
static gerne_status look_up(gn_ledger *l, const char *sql, const char *which, sqlite3_stmt **query)
{
    bool row;
    GN_TRY(gn_database_prepare(&l->db, sql, query));
    if (which)
        sqlite3_bind_text(*query, 1, which, -1, SQLITE_STATIC);
    GN_TRY(gn_database_next(&l->db, *query, &row));
    return row ? GERNE_OK : damaged(l);
}

static gerne_status number_of(gn_ledger *l, const char *sql, int64_t *out)
{
    GN_LOCAL(sqlite3_stmt) *query = NULL;
    GN_TRY(look_up(l, sql, NULL, &query));
    *out = sqlite3_column_int64(query, 0);
    return GERNE_OK;
}

/* A text of the result, copied; NULL stays NULL. */
static gerne_status column(gn_ledger *l, gn_arena *arena, sqlite3_stmt *query, int index,
                           const char **out)
{
    const char *text = (const char *)sqlite3_column_text(query, index);
    *out = NULL;
    return text ? gn_arena_copy_text(l->ctx, arena, text, out) : GERNE_OK;
}

/* A text that has to be there, in the ledger's arena. */
static gerne_status text_of(gn_ledger *l, const char *sql, const char *which, const char **out)
{
    GN_LOCAL(sqlite3_stmt) *query = NULL;
    GN_TRY(look_up(l, sql, which, &query));
    GN_TRY(column(l, l->arena, query, 0, out));
    return *out ? GERNE_OK : damaged(l);
}

static gerne_status value_of(gn_ledger *l, const char *key, const char **out)
{
    return text_of(l, "SELECT value FROM study WHERE key = ?", key, out);
}

static gerne_status put_value(gn_ledger *l, const char *key, const char *value)
{
    sqlite3_stmt *query;
    GN_TRY(gn_database_prepare(&l->db, "INSERT INTO study VALUES(?, ?)", &query));
    sqlite3_bind_text(query, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(query, 2, value, -1, SQLITE_STATIC);
    return gn_database_finish(&l->db, query);
}

static gerne_status other_study(gn_ledger *l, const char *now, const char *then)
{
    gn_fail(l->ctx, GERNE_EUSAGE, "'%s' holds another study: %s%s%s now, %s then", l->dir,
            now ? "'" : "", now ? now : "nothing of it", now ? "'" : "",
            then ? then : "nothing of it");
    gn_hint(l->ctx, "choose another --out, or restore what was changed");
    return GERNE_EUSAGE;
}

static gerne_status compare(gn_ledger *l, const char *kind, const char *description)
{
    const char *then_kind, *before, *now, *then;
    GN_TRY(value_of(l, "kind", &then_kind));
    if (strcmp(kind, then_kind) != 0)
        return other_study(l, kind, then_kind);
    GN_TRY(value_of(l, "description", &before));
    GN_TRY(gn_first_difference(l->ctx, l->arena, before, description, &now));
    GN_TRY(gn_first_difference(l->ctx, l->arena, description, before, &then));
    return now || then ? other_study(l, now, then) : GERNE_OK;
}

/* Inside a transaction: makes the tables of a new file, or looks whether they are ours. */
static gerne_status settle(gn_ledger *l, const char *kind, const char *description)
{
    int64_t tables, application, version;
    GN_TRY(number_of(l, "SELECT count(*) FROM sqlite_master", &tables));
    GN_TRY(number_of(l, "PRAGMA application_id", &application));
    GN_TRY(number_of(l, "PRAGMA user_version", &version));
    if (tables == 0) {
        GN_TRY(gn_database_run(&l->db, schema));
        GN_TRY(put_value(l, "kind", kind));
        return put_value(l, "description", description);
    }
    if (application != APPLICATION)
        return damaged(l);
    if (version != VERSION) {
        gn_fail(l->ctx, GERNE_EDATA, "'%s' was made by another version of gerne", l->db.path);
        gn_hint(l->ctx, "resume it with that version, or choose another --out");
        return GERNE_EDATA;
    }
    return compare(l, kind, description);
}

static gerne_status check_whole(gn_ledger *l)
{
    GN_LOCAL(sqlite3_stmt) *query = NULL;
    GN_TRY(look_up(l, "PRAGMA quick_check(1)", NULL, &query));
    const char *word = (const char *)sqlite3_column_text(query, 0);
    return word && strcmp(word, "ok") == 0 ? GERNE_OK : damaged(l);
}

static gerne_status open_ledger(gn_ledger *l, const char *dir, const char *kind,
                                const char *description)
{
    const char *trials, *path;
    GN_TRY(gn_arena_new(l->ctx, &l->arena));
    GN_TRY(gn_arena_copy_text(l->ctx, l->arena, dir, &l->dir));
    GN_TRY(gn_path_join(l->ctx, l->arena, dir, "trials", &trials));
    GN_TRY(gn_path_join(l->ctx, l->arena, dir, ".locks", &l->locks));
    GN_TRY(gn_path_join(l->ctx, l->arena, dir, "ledger.sqlite", &path));
    l->lock_path_size = strlen(l->locks) + GN_TRIAL_ID + 1;
    GN_TRY(gn_arena_alloc(l->ctx, l->arena, l->lock_path_size, 1, &l->lock_path));
    GN_TRY(gn_make_directory(l->ctx, dir));
    GN_TRY(gn_folder_make_own(l->ctx, trials));
    GN_TRY(gn_folder_make_own(l->ctx, l->locks));
    GN_TRY(gn_path_check_own_file(l->ctx, path));
    GN_TRY(gn_database_open(l->ctx, path, &l->db));
    GN_TRY(gn_database_begin(&l->db));
    gerne_status status = check_whole(l);
    if (status == GERNE_OK)
        status = settle(l, kind, description);
    return gn_database_end(&l->db, status);
}

gerne_status gn_ledger_open(gerne_ctx *ctx, const char *dir, const char *kind,
                            const char *description, gn_ledger **out)
{
    *out = NULL;
    GN_LOCAL(gn_ledger) *l = NULL;
    GN_TRY(gn_alloc(ctx, 1, sizeof *l, "a ledger", &l));
    l->ctx = ctx;
    GN_TRY(open_ledger(l, dir, kind, description));
    return gn_give(&l, out);
}

void gn_ledger_close(gn_ledger *l)
{
    if (!l)
        return;
    gn_database_close(&l->db);
    gn_free(l->planned);
    gn_arena_close(l->arena);
    gn_free(l);
}

const char *gn_ledger_dir(const gn_ledger *l)
{
    return l->dir;
}

/* ---- planning ---- */

static gerne_status remember(gn_ledger *l, const char *id)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->planned[i], id) == 0)
            return GERNE_OK;
    GN_TRY(gn_grow(l->ctx, &l->planned, &l->capacity, l->count + 1, sizeof *l->planned, "a plan"));
    GN_TRY(gn_arena_copy_text(l->ctx, l->arena, id, &l->planned[l->count]));
    l->count++;
    return GERNE_OK;
}

static gerne_status insert(gn_ledger *l, const gn_trial *trial)
{
    sqlite3_stmt *query;
    GN_TRY(gn_database_prepare(&l->db,
                               "INSERT OR IGNORE INTO trials(id, tag, settings, config, seed, "
                               "level) VALUES(?, ?, ?, ?, ?, ?)",
                               &query));
    sqlite3_bind_text(query, 1, trial->id, -1, SQLITE_STATIC);
    sqlite3_bind_text(query, 2, trial->tag ? trial->tag : "", -1, SQLITE_STATIC);
    sqlite3_bind_text(query, 3, trial->settings, -1, SQLITE_STATIC);
    sqlite3_bind_text(query, 4, trial->config, -1, SQLITE_STATIC);
    sqlite3_bind_int64(query, 5, trial->seed);
    sqlite3_bind_int(query, 6, trial->level);
    return gn_database_finish(&l->db, query);
}

gerne_status gn_ledger_plan(gn_ledger *l, const gn_trial *trials, size_t count)
{
    GN_TRY(gn_database_begin(&l->db));
    gerne_status status = GERNE_OK;
    for (size_t i = 0; i < count && status == GERNE_OK; i++)
        status = insert(l, &trials[i]);
    GN_TRY(gn_database_end(&l->db, status));
    for (size_t i = 0; i < count; i++)
        GN_TRY(remember(l, trials[i].id));
    return GERNE_OK;
}

/* ---- claims ---- */

static gerne_status state_in_ledger(gn_ledger *l, const char *id, gn_trial_state *out)
{
    GN_LOCAL(sqlite3_stmt) *query = NULL;
    GN_TRY(look_up(l, "SELECT state FROM trials WHERE id = ?", id, &query));
    *out = state_of((const char *)sqlite3_column_text(query, 0));
    return GERNE_OK;
}

static gerne_status set_state(gn_ledger *l, const char *id, gn_trial_state state,
                              const char *reason, const char *results, double seconds)
{
    sqlite3_stmt *query;
    GN_TRY(gn_database_prepare(&l->db,
                               "UPDATE trials SET state = ?, reason = ?, results = ?, "
                               "seconds = ? WHERE id = ?",
                               &query));
    sqlite3_bind_text(query, 1, state_names[state], -1, SQLITE_STATIC);
    sqlite3_bind_text(query, 2, reason, -1, SQLITE_STATIC);
    sqlite3_bind_text(query, 3, results, -1, SQLITE_STATIC);
    sqlite3_bind_double(query, 4, seconds);
    sqlite3_bind_text(query, 5, id, -1, SQLITE_STATIC);
    return gn_database_finish(&l->db, query);
}

/* With the lock in hand nobody else can change an unfinished trial; it may have been finished just
 * before the lock was had. */
static gerne_status claim_locked(gn_ledger *l, gn_claim *claim, bool *ours)
{
    gn_trial_state state;
    *ours = false;
    GN_TRY(state_in_ledger(l, claim->id, &state));
    if (state == GN_TRIAL_DONE || state == GN_TRIAL_FAILED)
        return GERNE_OK;
    GN_TRY(text_of(l, "SELECT config FROM trials WHERE id = ?", claim->id, &claim->config));
    GN_TRY(set_state(l, claim->id, GN_TRIAL_RUNNING, NULL, NULL, 0));
    *ours = true;
    return GERNE_OK;
}

/* DIR/.locks/ID, in a buffer of the ledger. */
static const char *lock_path(gn_ledger *l, const char *id)
{
    snprintf(l->lock_path, l->lock_path_size, "%s/%s", l->locks, id);
    return l->lock_path;
}

gerne_status gn_ledger_claim(gn_ledger *l, gn_claim *out, size_t *others)
{
    *out = (gn_claim){.lock = -1};
    *others = 0;
    for (size_t i = 0; i < l->count; i++) {
        gn_claim claim = {.id = l->planned[i], .lock = -1};
        gn_trial_state state;
        GN_TRY(state_in_ledger(l, claim.id, &state));
        if (state == GN_TRIAL_DONE || state == GN_TRIAL_FAILED)
            continue;
        GN_TRY(gn_lock_try(l->ctx, lock_path(l, claim.id), &claim.lock));
        if (claim.lock < 0) {
            ++*others;
            continue;
        }
        bool ours;
        gerne_status status = claim_locked(l, &claim, &ours);
        if (status == GERNE_OK && ours) {
            claim.started = gn_seconds();
            *out = claim;
            return GERNE_OK;
        }
        gn_lock_release(lock_path(l, claim.id), claim.lock, false);
        GN_TRY(status);
    }
    return GERNE_OK;
}

static gerne_status end_claim(gn_ledger *l, gn_claim *claim, gn_trial_state state,
                              const char *reason, const char *results)
{
    double seconds = gn_seconds() - claim->started;
    gerne_status status = set_state(l, claim->id, state, reason, results, seconds);
    bool finished = status == GERNE_OK && state != GN_TRIAL_WAITING;
    gn_lock_release(lock_path(l, claim->id), claim->lock, finished);
    *claim = (gn_claim){.lock = -1};
    return status;
}

gerne_status gn_ledger_done(gn_ledger *l, gn_claim *claim, const json_t *results)
{
    GN_LOCAL(gn_text) text = {0};
    gerne_status status = gn_json_print_line(l->ctx, results, &text);
    if (status == GERNE_OK)
        return end_claim(l, claim, GN_TRIAL_DONE, NULL, text.bytes);
    gn_lock_release(lock_path(l, claim->id), claim->lock, false);
    return status;
}

gerne_status gn_ledger_failed(gn_ledger *l, gn_claim *claim, const char *reason)
{
    return end_claim(l, claim, GN_TRIAL_FAILED, reason, NULL);
}

gerne_status gn_ledger_release(gn_ledger *l, gn_claim *claim)
{
    return end_claim(l, claim, GN_TRIAL_WAITING, NULL, NULL);
}

gerne_status gn_ledger_retry(gn_ledger *l)
{
    GN_TRY(gn_database_begin(&l->db));
    gerne_status status = GERNE_OK;
    for (size_t i = 0; i < l->count && status == GERNE_OK; i++) {
        gn_trial_state state;
        status = state_in_ledger(l, l->planned[i], &state);
        if (status == GERNE_OK && state == GN_TRIAL_FAILED)
            status = set_state(l, l->planned[i], GN_TRIAL_WAITING, NULL, NULL, 0);
    }
    return gn_database_end(&l->db, status);
}

/* ---- listing ---- */

static gerne_status read_row(gn_ledger *l, gn_arena *arena, sqlite3_stmt *query, gn_trial *out)
{
    const char *state, *results;
    GN_TRY(column(l, arena, query, 0, &out->tag));
    GN_TRY(column(l, arena, query, 1, &out->settings));
    GN_TRY(column(l, arena, query, 2, &out->config));
    out->seed = sqlite3_column_int64(query, 3);
    out->level = sqlite3_column_int(query, 4);
    GN_TRY(column(l, arena, query, 5, &state));
    GN_TRY(column(l, arena, query, 6, &out->reason));
    GN_TRY(column(l, arena, query, 7, &results));
    out->seconds = sqlite3_column_double(query, 8);
    out->state = state_of(state);
    bool good = out->tag && out->settings && out->config;
    if (!good || (out->state == GN_TRIAL_DONE && !results) ||
        (out->state == GN_TRIAL_FAILED && !out->reason))
        return damaged(l);
    if (results)
        return gn_json_parse(l->ctx, results, strlen(results), l->db.path, &out->results);
    return GERNE_OK;
}

static gerne_status read_trial(gn_ledger *l, gn_arena *arena, const char *id, gn_trial *out)
{
    GN_LOCAL(sqlite3_stmt) *query = NULL;
    snprintf(out->id, sizeof out->id, "%s", id);
    GN_TRY(look_up(l,
                   "SELECT tag, settings, config, seed, level, state, reason, results, seconds "
                   "FROM trials WHERE id = ?",
                   id, &query));
    return read_row(l, arena, query, out);
}

gerne_status gn_ledger_count(gn_ledger *l, size_t *planned, size_t *finished)
{
    *planned = l->count;
    *finished = 0;
    for (size_t i = 0; i < l->count; i++) {
        gn_trial_state state;
        GN_TRY(state_in_ledger(l, l->planned[i], &state));
        *finished += state == GN_TRIAL_DONE || state == GN_TRIAL_FAILED;
    }
    return GERNE_OK;
}

static gerne_status read_trials(gn_ledger *l, const char *const *ids, size_t count,
                                gn_trial_list *out)
{
    GN_LOCAL(gn_trial_list) list = {0};
    *out = list;
    GN_TRY(gn_arena_new(l->ctx, &list.arena));
    GN_TRY(gn_alloc(l->ctx, count + 1, sizeof *list.items, "trials", &list.items));
    GN_TRY(gn_database_run(&l->db, "BEGIN")); /* one moment's picture */
    gerne_status status = GERNE_OK;
    for (; list.count < count && status == GERNE_OK; list.count++)
        status = read_trial(l, list.arena, ids[list.count], &list.items[list.count]);
    GN_TRY(gn_database_end(&l->db, status));
    *out = list;
    list = (gn_trial_list){0};
    return GERNE_OK;
}

gerne_status gn_ledger_find(gn_ledger *l, const char *id, gn_trial_list *out)
{
    return read_trials(l, &id, 1, out);
}

gerne_status gn_ledger_list(gn_ledger *l, gn_trial_list *out)
{
    return read_trials(l, l->planned, l->count, out);
}

void gn_trial_list_count(const gn_trial_list *list, size_t counts[GN_TRIAL_STATES])
{
    memset(counts, 0, GN_TRIAL_STATES * sizeof counts[0]);
    for (size_t i = 0; i < list->count; i++)
        counts[list->items[i].state]++;
}

void gn_trial_list_free(gn_trial_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        json_decref(list->items[i].results);
    gn_free(list->items);
    gn_arena_close(list->arena);
    *list = (gn_trial_list){0};
}
