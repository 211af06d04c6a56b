/* Undoes the trust in a committed ledger that a signed one contradicts. Ends and reopens no lease. */
#include "refute.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "pool/grants_allowed.h"
#include "pool/settle_evidence.h"
#include "stellar/return_value.h"

static const char sql_correct[] =
    "SELECT c.corrected, c.quarantined FROM fairway.correct_ledger($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,"
    " $11) c";

/* *changed: ends that were corrected, or accounts that were quarantined; then more than results differ. */
static enum err correct(struct lead *lead, const struct ledger *ledger, enum refute_outcome *outcome,
    int64_t *changed, struct detail *detail)
{
    struct settle_evidence evidence CLEANUP(settle_evidence_free) = settle_evidence_of_ledger(ledger, NULL);
    const size_t count = evidence.transaction_count;
    struct bytes *hashes AUTO_FREE = NEW_ARRAY(count, struct bytes),
                         *outer AUTO_FREE = NEW_ARRAY(count, struct bytes),
                         *xdrs AUTO_FREE = NEW_ARRAY(count, struct bytes),
                         *values AUTO_FREE = NEW_ARRAY(count, struct bytes);
    const char **codes AUTO_FREE = NEW_ARRAY(count, const char *);
    for (size_t i = 0; i < count; i++) {
        const struct ledger_transaction *found = evidence.transactions[i].found;
        hashes[i] = BYTES_OF(evidence.transactions[i].hash.bytes);
        outer[i] = BYTES_OF(found->hash.bytes);
        xdrs[i] = found->result;
        values[i] = return_value(found->result, found->meta);
        codes[i] = evidence.transactions[i].code;
    }
    AUTO_ROWS rows = NULL;
    enum err e = db_query(lead->db,
        DB_SQL(sql_correct, DB_I64(lead->term), DB_I64(ledger->sequence),
            DB_BYTEA(BYTES_OF(ledger->hash.bytes)), DB_I64((int64_t)ledger->close_time_s),
            DB_I32((int32_t)ledger->protocol), DB_I32((int32_t)ledger->transaction_count),
            DB_BYTEAS(hashes, count), DB_TEXTS(codes, count), DB_BYTEAS(outer, count), DB_BYTEAS(xdrs, count),
            DB_BYTEAS(values, count)),
        &rows, detail);
    if (e != ERR_OK)
        return e;
    *outcome = db_is_null(rows, 0, 0) ? REFUTE_HELD : REFUTE_CORRECTED;
    if (*outcome == REFUTE_HELD && db_is_null(rows, 0, 1))
        return ERR_NOT_LEADER;
    *changed = db_i64(rows, 0, *outcome == REFUTE_HELD);
    return ERR_OK;
}

enum err refute_ledger(struct lead *lead, struct follow *follow, const struct hash *named, uint32_t *logged,
    enum refute_outcome *outcome, struct detail *detail)
{
    struct rpc_ledgers answer CLEANUP(rpc_ledgers_free) = {0};
    struct ledger ledger CLEANUP(ledger_free) = {0};
    int64_t until_s, changed = 0;
    *outcome = REFUTE_HELD;
    if (*logged == lead->cursor.sequence)
        return ERR_OK;
    enum err e = follow_fetch(follow, lead->cursor.sequence, named, &answer, &ledger, detail);
    if (e == ERR_OK)
        e = correct(lead, &ledger, outcome, &changed, detail);
    if (e != ERR_OK)
        return e;
    if (*outcome == REFUTE_CORRECTED) {
        lead->cursor = cursor_after(&ledger);
        lead->term++;
        log_error(
            "the last committed ledger had false results: an RPC has lied, find out which; the ends that it "
            "gave are corrected, and clients get them again",
            "ledger=%" PRIu32 " ends=%" PRId64, lead->cursor.sequence, changed);
        return ERR_OK;
    }
    e = grants_hold_begin(
        lead->db, "a committed ledger was not the network's", lead->ledger_ms, &until_s, detail);
    if (e != ERR_OK)
        return e;
    log_error(
        "a trusted validator's ledger contradicts the last committed one: an RPC has lied, find out which; "
        "grants are on hold, and the accounts whose leases it ended are quarantined",
        "ledger=%" PRIu32 " accounts=%" PRId64 " held_until=%" PRId64, lead->cursor.sequence, changed,
        until_s);
    *logged = lead->cursor.sequence;
    return ERR_OK;
}
