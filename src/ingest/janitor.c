#include "janitor.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "pool/lease.h"
#include "pool/settle.h"

#define EVERY_MS 10000
#define STEP_ROWS 1000

/* From the oldest on, through the primary key; the cursor's own row stays. */
static const char sql_ledgers[] =
    "DELETE FROM fairway.ledgers WHERE sequence = ANY (ARRAY("
    " SELECT l.sequence FROM (SELECT m.sequence, m.committed_at FROM fairway.ledgers m"
    "   ORDER BY m.sequence LIMIT $2) l"
    " WHERE l.committed_at < clock_timestamp() - make_interval(secs => $1::int8)"
    " AND l.sequence < (SELECT c.sequence FROM fairway.cursor c)))";

static enum err forget_ledgers(
    struct db *db, int64_t keep_seconds, int64_t limit, size_t *deleted, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL(sql_ledgers, DB_I64(keep_seconds), DB_I64(limit)), &rows, detail);
    *deleted = e == ERR_OK ? db_affected(rows) : 0;
    return e;
}

enum err janitor_step(struct janitor *janitor, struct db *db, struct detail *detail)
{
    size_t leases = 0, ledgers = 0, keys = 0;
    if (clock_left_ms(janitor->due_ms) > 0)
        return ERR_OK;
    janitor->due_ms = clock_ms() + EVERY_MS;
    enum err e = pool_forget(db, janitor->retention_s, STEP_ROWS, &leases, detail);
    if (e == ERR_OK)
        e = forget_ledgers(db, janitor->retention_s, STEP_ROWS, &ledgers, detail);
    if (e == ERR_OK)
        e = lease_forget_keys(db, STEP_ROWS, &keys, detail);
    if (keys == STEP_ROWS || leases == STEP_ROWS || ledgers == STEP_ROWS)
        janitor->due_ms = clock_ms();
    if (leases + ledgers + keys > 0)
        log_debug("old rows deleted", "leases=%zu ledgers=%zu idempotency_keys=%zu", leases, ledgers, keys);
    return e;
}
