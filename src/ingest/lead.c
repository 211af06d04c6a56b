/* Takes and gives up the lead. That only one replica commits is not ensured here but by the term in each
 * ledger transaction. */
#include "lead.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "pool/grants_allowed.h"

#define LOCK_POLL_MS 20

static const char sql_lock[] = "SELECT pg_try_advisory_lock($1), pg_backend_pid()";

static enum err try_lock(struct lead *lead, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(lead->db, DB_SQL(sql_lock, DB_I64(lead->locks.leader)), &rows, detail);
    if (e != ERR_OK)
        return e;
    lead->locked = db_bool(rows, 0, 0);
    lead->backend = db_i32(rows, 0, 1);
    return ERR_OK;
}

static void read_taken(struct lead *lead, const struct db_rows *rows)
{
    lead->cursor = (struct cursor){0};
    settle_search_free(&lead->search);
    lead->term = 0;
    lead->leads = true;
    if (db_count(rows) == 0)
        return;
    lead->cursor.known = true;
    lead->cursor.sequence = (uint32_t)db_i64(rows, 0, 0);
    db_copy(rows, 0, 1, lead->cursor.hash.bytes, sizeof lead->cursor.hash.bytes);
    lead->cursor.close_time_s = (uint64_t)db_i64(rows, 0, 2);
    lead->term = db_i64(rows, 0, 3);
}

/* Once this is committed, no transaction of an earlier term commits a ledger. Waits for one that has locked
 * the row. */
static const char sql_take[] = "SELECT t.sequence, t.hash, t.close_time, t.term FROM fairway.take_lead($1) t";

#define ANY_TERM (-1)

/* seen_term: takes the lead without the lock, if that is still the term. */
static enum err take(struct lead *lead, int64_t seen_term, struct detail *detail)
{
    enum err e = try_lock(lead, detail);
    if (e != ERR_OK)
        return e;
    if (!lead->locked && seen_term == ANY_TERM)
        return detail_set(detail, ERR_NOT_LEADER, "another replica leads ingestion");
    AUTO_ROWS taken = NULL;
    if ((e = db_begin(lead->db, detail)) == ERR_OK &&
        (e = grants_adopt_database(lead->db, lead->synchronous, lead->ledger_ms, detail)) == ERR_OK &&
        (e = db_query(lead->db, DB_SQL(sql_take, DB_I64(seen_term)), &taken, detail)) == ERR_OK)
        e = db_count(taken) == 0 && seen_term != ANY_TERM
                ? detail_set(detail, ERR_NOT_LEADER, "another replica has taken the lead")
                : db_commit(lead->db, detail);
    /* The term shuts out earlier leaders of this server. A standby without it has another identity when it is
     * promoted, and its leader takes a new term. So an operator who cancels waits for the standby does not
     * stop ingestion. */
    if (e != ERR_OK && e != ERR_NOT_REPLICATED)
        return e;
    read_taken(lead, taken);
    return ERR_OK;
}

static enum err take_anew(struct lead *lead, int64_t seen_term, struct detail *detail)
{
    if (lead->leads) /* a session can take its own lock twice, and would have to unlock it twice */
        lead_drop(lead);
    enum err e = take(lead, seen_term, detail);
    if (e != ERR_OK && (e != ERR_NOT_LEADER || seen_term != ANY_TERM))
        lead_drop(lead);
    return e;
}

enum err lead_take(struct lead *lead, struct detail *detail)
{
    return take_anew(lead, ANY_TERM, detail);
}

static enum err await_lock(struct lead *lead, struct detail *detail)
{
    enum err e;
    const int64_t deadline_ms = clock_ms() + LEAD_LOCK_WAIT_MS;
    while ((e = try_lock(lead, detail)) == ERR_OK && !lead->locked && clock_left_ms(deadline_ms) > 0)
        clock_sleep_ms(LOCK_POLL_MS);
    return e;
}

/* Finds the session that has the lock, but only while our term is the newest: else another replica has taken
 * the lead since, and its session must not be ended. */
static const char sql_locker[] =
    "SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
    " WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.pid <> pg_backend_pid()"
    " AND l.classid::int8 = ($1 >> 32) & 4294967295 AND l.objid::int8 = $1 & 4294967295"
    " AND d.datname = current_database()"
    " AND EXISTS (SELECT FROM fairway.cursor c WHERE c.term = $2)";

static enum err find_locker(struct lead *lead, int32_t *pid, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e =
        db_query(lead->db, DB_SQL(sql_locker, DB_I64(lead->locks.leader), DB_I64(lead->term)), &rows, detail);
    *pid = e == ERR_OK && db_count(rows) > 0 ? db_i32(rows, 0, 0) : 0;
    return e;
}

static const char sql_end_session[] = "SELECT pg_terminate_backend($1)";

/* Ends the session that has the lock, and takes the lock. ERR_OK without the lock if the role may not end it.
 */
static enum err replace_locker(struct lead *lead, struct detail *detail)
{
    int32_t pid;
    enum err e = find_locker(lead, &pid, detail);
    if (e != ERR_OK)
        return e;
    if (pid != 0)
        e = db_query(lead->db, DB_SQL(sql_end_session, DB_I32(pid)), NULL, detail);
    if (e == ERR_INTERNAL) { /* insufficient_privilege: a session of another role */
        log_warn(
            "the previous leader's session still has the ingestion lock and this role may not end it; end "
            "it by hand",
            "pid=%" PRId32 " sql=\"SELECT pg_terminate_backend(%" PRId32 ")\" detail=\"%s\"", pid, pid,
            detail->text);
        return ERR_OK;
    }
    if (e == ERR_OK && pid != 0)
        log_warn("ended the session of the previous leader", "pid=%" PRId32, pid);
    return e != ERR_OK ? e : await_lock(lead, detail);
}

enum err lead_take_over(struct lead *lead, int64_t seen_term, struct detail *detail)
{
    enum err e = take_anew(lead, seen_term, detail);
    if (e != ERR_OK || lead->locked)
        return e;
    struct detail own = {0};
    e = replace_locker(lead, &own);
    if (e != ERR_OK) {
        detail_set(detail, e, "%s", own.text);
        lead_drop(lead);
    }
    return e;
}

void lead_drop(struct lead *lead)
{
    lead->leads = lead->locked = false;
    db_rollback(lead->db);
    db_disconnect(lead->db);
}

void lead_free(struct lead *lead)
{
    settle_search_free(&lead->search);
    db_free(lead->db);
}

/* ---- the watch of another leader */

#define GAP_FACTOR 10
#define LED_FACTOR 3

bool leader_watch_note(struct leader_watch *watch, const struct cursor_snapshot *cursor, int64_t now_ms)
{
    if (!cursor->known || cursor->sequence != watch->sequence || cursor->term != watch->term ||
        watch->since_ms == 0) {
        watch->sequence = cursor->sequence;
        watch->term = cursor->term;
        watch->since_ms = now_ms;
    }
    return cursor->known && now_ms - watch->since_ms >= watch->look_ms;
}

bool leader_watch_decide(const struct leader_watch *watch, enum err due, uint32_t latest, int64_t now_ms)
{
    if (due == ERR_OK && latest >= watch->sequence + 2 && watch->led != watch->sequence)
        return true;
    const int64_t factor = due == ERR_LEDGER_GAP           ? GAP_FACTOR
                           : watch->led == watch->sequence ? LED_FACTOR
                                                           : 1;
    return (due == ERR_OK || due == ERR_LEDGER_GAP) && now_ms - watch->since_ms >= watch->stale_ms * factor;
}

bool leader_watch_stalled(
    struct leader_watch *watch, const struct cursor_snapshot *cursor, struct follow *follow)
{
    struct follow_ledger found;
    struct detail ignored;
    const struct cursor after = {.known = true, .sequence = cursor->sequence, .hash = cursor->hash};
    if (!leader_watch_note(watch, cursor, clock_ms()))
        return false;
    const enum err due = follow_next(follow, &after, cursor->sequence + 1, false, &found, &ignored);
    return leader_watch_decide(watch, due, follow->latest, clock_ms());
}
