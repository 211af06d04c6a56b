/* Whether a ledger is the next one and proves itself by its hashes. What does not is never committed. */
#include "cursor.h"

/* How far the nodes of one address may be apart: less than ten minutes of ledgers. */
#define LEDGERS_APART 100

static enum err mismatch(struct detail *detail, const struct ledger *ledger, const char *what)
{
    return detail_set(detail, ERR_LEDGER_MISMATCH, "ledger %u: %s", ledger->sequence, what);
}

/* Without the checks of results and set, a provider that leaves transactions out could make a confirmed lease
 * expire, and one that invents them could end a live one. */
static enum err check_hashes(
    const struct rpc_ledger *received, const struct ledger *ledger, struct detail *detail)
{
    if (!ledger->hash_proved)
        return mismatch(detail, ledger, "its hash is not the SHA-256 of its header");
    if (ledger->value.times_differ)
        return mismatch(detail, ledger, "its close time in seconds is not the one in milliseconds");
    if (!hash_equal(&received->hash, &ledger->hash))
        return mismatch(detail, ledger, "its hash is not the one in Stellar RPC's answer");
    if (!ledger->results_proved)
        return mismatch(detail, ledger, "its transaction results do not have the hash in its header");
    if (!ledger->set_proved)
        return mismatch(detail, ledger,
            "its transactions do not have the hash in its header, or are not those of its results");
    return ERR_OK;
}

static enum err check_number(
    uint32_t due, const struct rpc_ledger *received, const struct ledger *ledger, struct detail *detail)
{
    if (received->sequence == due && ledger->sequence == due)
        return ERR_OK;
    return detail_set(detail, ERR_LEDGER_MISMATCH,
        "ledger %u is due, but Stellar RPC returned ledger %u with the header of ledger %u. " CURSOR_RESET,
        due, received->sequence, ledger->sequence);
}

enum err cursor_check(const struct cursor *cursor, uint32_t due, const struct rpc_ledger *received,
    const struct ledger *ledger, struct detail *detail)
{
    enum err e = check_number(due, received, ledger, detail);
    if (e == ERR_OK)
        e = check_hashes(received, ledger, detail);
    if (e != ERR_OK || !cursor->known)
        return e;
    if (!hash_equal(&ledger->previous_hash, &cursor->hash))
        return mismatch(detail, ledger,
            "it does not follow from the last committed one: another network, or a reset one. " CURSOR_RESET);
    if (ledger->close_time_s < cursor->close_time_s)
        return mismatch(detail, ledger, "it closed before the last committed one. " CURSOR_RESET);
    return ERR_OK;
}

enum err cursor_check_latest(const struct cursor *cursor, uint32_t latest, struct detail *detail)
{
    if (!cursor->known || latest >= cursor->sequence || cursor->sequence - latest <= LEDGERS_APART)
        return ERR_OK;
    return detail_set(detail, ERR_LEDGER_MISMATCH,
        "Stellar RPC is at ledger %u, far below the last committed one, %u: it lags, or the network was "
        "reset. " CURSOR_RESET,
        latest, cursor->sequence);
}

struct cursor cursor_after(const struct ledger *ledger)
{
    return (struct cursor){.known = true,
        .sequence = ledger->sequence,
        .hash = ledger->hash,
        .close_time_s = ledger->close_time_s};
}

static const char sql_snapshot[] =
    "SELECT c.sequence, floor(extract(epoch FROM clock_timestamp()))::int8 - c.close_time, c.hash, c.term"
    " FROM fairway.cursor c";

enum err cursor_snapshot_read(struct db *db, struct cursor_snapshot *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    *out = (struct cursor_snapshot){0};
    enum err e = db_query(db, DB_SQL0(sql_snapshot), &rows, detail);
    if (e != ERR_OK || db_count(rows) == 0)
        return e;
    *out = (struct cursor_snapshot){.known = true,
        .sequence = (uint32_t)db_i64(rows, 0, 0),
        .lag_s = db_i64(rows, 0, 1),
        .term = db_i64(rows, 0, 3)};
    db_copy(rows, 0, 2, out->hash.bytes, sizeof out->hash.bytes);
    return ERR_OK;
}

bool cursor_went_back(const struct cursor_snapshot *seen, const struct cursor_snapshot *now)
{
    return seen->known && now->known &&
           (now->term < seen->term || now->sequence < seen->sequence ||
               (now->sequence == seen->sequence && now->term == seen->term &&
                   !hash_equal(&now->hash, &seen->hash)));
}
