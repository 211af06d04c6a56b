/* Makes and frees connections. Statements and transactions are in query.c. */
#include "db/db.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/deadlines.h"
#include "connection.h"

static int or_default(int value, int otherwise)
{
    return value != 0 ? value : otherwise;
}

static struct {
    char who[150], why[200];
} actor;

void db_set_actor(const char *who, const char *why)
{
    snprintf(actor.who, sizeof actor.who, "%s", who);
    snprintf(actor.why, sizeof actor.why, "%s", why);
}

struct db *db_new(const struct db_settings *settings)
{
    struct db *db = NEW(struct db);
    db->url = mem_copy_text(settings->url);
    db->name = settings->name;
    db->connect_timeout_s = or_default(settings->connect_timeout_s, DB_CONNECT_S);
    db->statement_timeout_ms = or_default(settings->statement_timeout_ms, DB_STATEMENT_MS);
    const int limits_ms[DB_LIMITS] = {db->statement_timeout_ms,
        or_default(settings->lock_timeout_ms, DB_LOCK_MS),
        or_default(settings->idle_transaction_timeout_ms, DB_IDLE_TRANSACTION_MS)};
    for (size_t i = 0; i < DB_LIMITS; i++) {
        snprintf(db->limits[i], sizeof db->limits[i], "%d", limits_ms[i]);
        db->session_params[i] = DB_TEXT(db->limits[i]);
    }
    db->session_params[DB_LIMITS] = DB_TEXT(actor.who);
    db->session_params[DB_LIMITS + 1] = DB_TEXT(actor.why);
    return db;
}

void db_free(struct db *db)
{
    if (db == NULL)
        return;
    db_disconnect(db);
    attempt_abandon(db->attempt);
    free(db->listen);
    free(db->url);
    free(db);
}

void db_set_deadline(struct db *db, int64_t deadline_ms)
{
    db->deadline_ms = deadline_ms;
}

int64_t db_deadline_ms(const struct db *db)
{
    return db->deadline_ms;
}
