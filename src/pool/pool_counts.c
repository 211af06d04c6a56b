/* Counts the pool for clients, operators and metrics, in one snapshot. No decision about a lease uses it. */
#include "pool/pool_counts.h"

#include "base/mem.h"
#include "db/server.h"
#include "pool/provisioning.h"

/* One statement, hence one snapshot: a ledger that creates accounts also decides the transaction, and
 * provisioning would count the accounts as missing, or twice, if it saw only one of both. $1: else no account
 * is counted, and idle is whether any is active. */
static const char sql_counts[] =
    "SELECT a.idle, a.leased, a.creating, a.retiring, a.retiring_leased, a.quarantined,"
    " greatest(floor(extract(epoch FROM clock_timestamp() - a.oldest_lease)), 0)::int8,"
    " coalesce(c.sequence, 0), coalesce(c.close_time, 0), t.clock - coalesce(c.close_time, t.clock),"
    " greatest(t.clock, c.close_time), m.creations, m.merges, " SERVER_HAS_SYNCHRONOUS_STANDBY
    ", " SERVER_HAS_CONNECTED_STANDBY ","
    " coalesce((SELECT max(p.day) - (clock_timestamp() AT TIME ZONE 'UTC')::date FROM fairway.partitions p"
    "   WHERE p.parent = 'leases'), -1)::int8, a.pending, a.rejected, " GRANTS_COLUMNS
    " FROM (SELECT CASE WHEN $1 THEN count(*) FILTER (WHERE p.state = 'active' AND p.lease_hash IS NULL)"
    "       ELSE (SELECT count(*) FROM (SELECT FROM fairway.channel_accounts o"
    "         WHERE o.slot IS NOT NULL AND o.state = 'active' ORDER BY o.slot LIMIT 1) one) END AS idle,"
    "     count(*) FILTER (WHERE p.state = 'active' AND p.lease_hash IS NOT NULL) AS leased,"
    "     count(*) FILTER (WHERE p.state = 'creating') AS creating,"
    "     count(*) FILTER (WHERE p.state = 'retiring') AS retiring,"
    "     count(*) FILTER (WHERE p.state = 'retiring' AND p.lease_hash IS NOT NULL) AS retiring_leased,"
    "     count(*) FILTER (WHERE p.state = 'quarantined') AS quarantined, min(p.locked_at) AS oldest_lease,"
    "     count(u.lease_hash) FILTER (WHERE u.rejected IS NULL) AS pending, count(u.rejected) AS rejected"
    "   FROM fairway.pool_accounts p LEFT JOIN fairway.submissions u ON u.lease_hash = p.lease_hash"
    "   WHERE $1) a"
    " CROSS JOIN (SELECT floor(extract(epoch FROM clock_timestamp()))::int8 AS clock) t"
    " CROSS JOIN " PROVISIONING_PENDING " m"
    " LEFT JOIN fairway.cursor c ON true";

static void read_counts(const struct db_rows *rows, struct pool_counts *out)
{
    *out = (struct pool_counts){
        .idle = db_i64(rows, 0, 0),
        .leased = db_i64(rows, 0, 1),
        .active = db_i64(rows, 0, 0) + db_i64(rows, 0, 1),
        .creating = db_i64(rows, 0, 2),
        .retiring = db_i64(rows, 0, 3),
        .retiring_leased = db_i64(rows, 0, 4),
        .quarantined = db_i64(rows, 0, 5),
        .oldest_lease_s = db_i64(rows, 0, 6),
        .cursor_sequence = (uint32_t)db_i64(rows, 0, 7),
        .cursor_close_time_s = db_i64(rows, 0, 8),
        .cursor_lag_s = db_i64(rows, 0, 9),
        .now_s = (uint64_t)db_i64(rows, 0, 10),
        .creations_pending = db_i64(rows, 0, 11),
        .merges_pending = db_i64(rows, 0, 12),
        .synchronous_standby = db_bool(rows, 0, 13),
        .standby_connected = db_bool(rows, 0, 14),
        .partition_days = db_i64(rows, 0, 15),
        .submissions_pending = db_i64(rows, 0, 16),
        .submissions_rejected = db_i64(rows, 0, 17),
        .grants = grants_state_read(rows, 18),
    };
    out->grants_on_hold = out->grants.known && (out->grants.held_until_s != 0 || !out->grants.same_database);
}

enum err pool_counts_read(struct db *db, bool counted, struct pool_counts *out, struct detail *detail)
{
    const struct db_statement statements[] = {DB_SQL(sql_counts, DB_BOOL(counted)), DB_SQL0(funds_sql)};
    AUTO_ROWS_OF(rows, statements);
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    *out = (struct pool_counts){0};
    if (e != ERR_OK)
        return e;
    read_counts(rows[0], out);
    return funds_read(rows[1], &out->funds, detail);
}
