/* Undoes the trust in a committed ledger that a signed one contradicts. Ends and reopens no lease. */
#include "refute.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "pool/grants_allowed.h"

#define REASON "a ledger that ended its lease was not the network's"

/* The signed ledger does not name a number. Its predecessor, which has the hash that it names, does. */
static enum err has_predecessor(const struct lead *lead, const struct feed *feed, const struct hash *named,
    bool *has, struct detail *detail)
{
    struct rpc_ledgers fetched CLEANUP(rpc_ledgers_free) = {0};
    struct ledger ledger CLEANUP(ledger_free) = {0};
    enum err e = feed->ledgers(feed->source, lead->cursor.sequence, 1, &fetched, detail);
    if (e == ERR_OK)
        e = ledger_decode(fetched.items[0].meta, &lead->network, &ledger, detail);
    *has = e == ERR_OK && ledger.hash_proved && ledger.sequence == lead->cursor.sequence &&
           hash_equal(&ledger.hash, named);
    return e;
}

static const char sql_refute[] = "SELECT cardinality(fairway.refute_ledger($1, $2, $3))";

static enum err hold_and_quarantine(
    struct lead *lead, int64_t *until_s, int64_t *accounts, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = grants_hold_begin(
        lead->db, "a committed ledger was not the network's", lead->ledger_ms, until_s, detail);
    if (e == ERR_OK)
        e = db_query(lead->db,
            DB_SQL(sql_refute, DB_I64(lead->term), DB_I64(lead->cursor.sequence), DB_TEXT(REASON)), &rows,
            detail);
    *accounts = e == ERR_OK ? db_i32(rows, 0, 0) : 0;
    return e;
}

enum err refute_ledger(struct lead *lead, const struct feed *feed, const struct hash *named, uint32_t *logged,
    bool *refuted, struct detail *detail)
{
    int64_t until_s, accounts;
    struct detail why = {""};
    *refuted = *logged == lead->cursor.sequence;
    if (*refuted || has_predecessor(lead, feed, named, refuted, &why) != ERR_OK || !*refuted)
        return ERR_OK;
    enum err e = hold_and_quarantine(lead, &until_s, &accounts, detail);
    if (e != ERR_OK)
        return e;
    log_error(
        "a trusted validator's ledger contradicts the last committed one: an RPC has lied, find out which; "
        "grants are on hold, and the accounts whose leases it ended are quarantined",
        "ledger=%" PRIu32 " accounts=%" PRId64 " held_until=%" PRId64, lead->cursor.sequence, accounts,
        until_s);
    *logged = lead->cursor.sequence;
    return ERR_OK;
}
