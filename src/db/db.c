#include "db/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "connection.h"
#include "session.h"

/* Pauses between the tries of db_connect_patiently, and how often a failure is logged. */
#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS 2000
#define LOG_EVERY_MS 5000

static int or_default(int value, int otherwise)
{
    return value != 0 ? value : otherwise;
}

struct db *db_new(const struct db_settings *settings)
{
    struct db *db = NEW(struct db);
    db->url = mem_copy_text(settings->url);
    db->kind = settings->kind;
    db->name = settings->name;
    db->connect_timeout_s = or_default(settings->connect_timeout_s, 5);
    db->statement_timeout_ms = or_default(settings->statement_timeout_ms, 5000);
    const int limits_ms[DB_LIMITS] = {db->statement_timeout_ms, or_default(settings->lock_timeout_ms, 2000),
        or_default(settings->idle_transaction_timeout_ms, 5000)};
    for (size_t i = 0; i < DB_LIMITS; i++) {
        snprintf(db->limits[i], sizeof db->limits[i], "%d", limits_ms[i]);
        db->limit_params[i] = DB_TEXT(db->limits[i]);
    }
    return db;
}

void db_free(struct db *db)
{
    if (db == NULL)
        return;
    connection_close(db);
    attempt_abandon(db->attempt);
    for (size_t i = 0; i < db->listen_count; i++)
        free(db->listens[i]);
    free(db->listens);
    free(db->url);
    free(db);
}

void db_disconnect(struct db *db)
{
    connection_close(db);
}

enum err db_connect(struct db *db, struct detail *detail)
{
    return session_ready(db, detail);
}

void db_set_deadline(struct db *db, int64_t deadline_ms)
{
    db->deadline_ms = deadline_ms;
}

int64_t db_deadline_ms(const struct db *db)
{
    return db->deadline_ms;
}

enum err db_connect_patiently(struct db *db, int seconds, struct detail *detail)
{
    struct detail own;
    detail = detail != NULL ? detail : &own;
    int64_t deadline_ms = clock_ms() + (int64_t)seconds * 1000, next_log_ms = 0;
    for (int pause_ms = PAUSE_FIRST_MS;;
         pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS) {
        enum err e = db_connect(db, detail);
        if (e != ERR_DATABASE_UNAVAILABLE || clock_left_ms(deadline_ms) == 0)
            return e;
        if (clock_ms() >= next_log_ms) {
            log_warn(
                "database unavailable; retrying", "connection=\"%s\" detail=\"%s\"", db->name, detail->text);
            next_log_ms = clock_ms() + LOG_EVERY_MS;
        }
        int left_ms = clock_left_ms(deadline_ms);
        clock_sleep_ms(pause_ms < left_ms ? pause_ms : left_ms);
    }
}
