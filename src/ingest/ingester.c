/* One step of ingestion: lead, fetch, commit, or recover a gap. No ledger is skipped. */
#include "ingester.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "gap.h"

static enum err fetch(
    struct ingester *ingester, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    enum err e = ingester->feed.ledgers(ingester->feed.source, start, limit, out, detail);
    if (e == ERR_OK || e == ERR_LEDGER_AHEAD || e == ERR_LEDGER_GAP)
        ingester->latest = out->latest_ledger;
    return e;
}

static enum err upgrade_needed(uint32_t ledger, struct detail *detail)
{
    return detail_set(detail, ERR_XDR_UNKNOWN_ARM,
        "ledger %" PRIu32 " has a type that this version does not know: the network was upgraded, install a "
        "newer fairway",
        ledger);
}

static void note_commit(struct ingester *ingester, const struct ledger_committed *committed)
{
    status_cursor(
        ingester->status, &(struct cursor_snapshot){true, ingester->lead.cursor.sequence, committed->lag_s});
    status_ok(ingester->status);
    funds_watch_ledger(ingester->funds, ingester->lead.cursor.sequence, &committed->funds);
}

static enum err commit(struct ingester *ingester, const struct rpc_ledger *received, struct detail *detail)
{
    struct ledger_committed committed;
    struct account_snapshot distribution;
    const bool first = !ingester->lead.cursor.known, read = funds_watch_take(ingester->funds, &distribution);
    enum err e = ledger_commit(
        &ingester->lead, &ingester->confirm, received, read ? &distribution : NULL, &committed, detail);
    if (e == ERR_XDR_UNKNOWN_ARM)
        return upgrade_needed(received->sequence, detail);
    if (e != ERR_OK)
        return e;
    note_commit(ingester, &committed);
    commit_log_ledger(&ingester->log, &ingester->lead, first, &committed);
    return ERR_OK;
}

/* An empty database begins with the RPC's latest ledger: the answer to a request for a number that cannot
 * exist yet names it. */
static enum err commit_first(struct ingester *ingester, struct detail *detail)
{
    struct rpc_ledgers ledgers CLEANUP(rpc_ledgers_free) = {0}, none CLEANUP(rpc_ledgers_free) = {0};
    enum err e = fetch(ingester, UINT32_MAX, 1, &none, detail);
    if (e == ERR_OK)
        return detail_set(
            detail, ERR_RPC_REFUSED, "Stellar RPC returned ledger %u, which cannot exist yet", UINT32_MAX);
    if (e != ERR_LEDGER_AHEAD)
        return e;
    e = fetch(ingester, none.latest_ledger, 1, &ledgers, detail);
    if (e == ERR_LEDGER_GAP) /* the network has closed no ledger, or the node has dropped it meanwhile */
        return ERR_LEDGER_AHEAD;
    return e != ERR_OK ? e : commit(ingester, &ledgers.items[0], detail);
}

/* What the missing ledgers did is read from the accounts. */
static enum err recover(struct ingester *ingester, uint32_t oldest, struct detail *detail)
{
    struct ledger_committed committed;
    const uint32_t after = ingester->lead.cursor.sequence;
    if (ingester->logged_gap != after) /* logged once, however often the recovery is retried */
        log_warn("ledgers are missing: grants are suspended until all accounts have been read",
            "after_ledger=%" PRIu32 " oldest_ledger=%" PRIu32, after, oldest);
    ingester->logged_gap = after;
    enum err e = gap_recover(&ingester->lead, &ingester->feed, &committed, detail);
    if (e == ERR_XDR_UNKNOWN_ARM)
        return upgrade_needed(after + 1, detail);
    if (e != ERR_OK)
        return e;
    note_commit(ingester, &committed);
    commit_log_gap(&ingester->log, &ingester->lead, after, &committed);
    return ERR_OK;
}

/* The RPC may return fewer ledgers at once, or in time, than we request. */
static void adapt_fetch(struct ingester *ingester, enum err e, uint32_t requested)
{
    if (e == ERR_OK && ingester->fetch_limit < INGESTER_FETCH_MAX)
        ingester->fetch_limit++;
    else if (e == ERR_RPC_UNAVAILABLE || e == ERR_RPC_REFUSED)
        ingester->fetch_limit = requested > 1 ? requested / 2 : 1;
}

static bool does_not_prove_itself(enum err e)
{
    switch (e) {
    case ERR_LEDGER_MISMATCH:
    case ERR_XDR_TRUNCATED:
    case ERR_XDR_TRAILING:
    case ERR_XDR_INVALID:
    case ERR_XDR_UNKNOWN_ARM:
    case ERR_XDR_TOO_DEEP:
        return true;
    default:
        return false;
    }
}

/* Another RPC may have the ledger with everything that proves it. */
static enum err commit_fetched(
    struct ingester *ingester, const struct rpc_ledger *received, struct detail *detail)
{
    enum err e = commit(ingester, received, detail);
    if (does_not_prove_itself(e) && ingester->feed.distrust != NULL)
        ingester->feed.distrust(ingester->feed.source);
    return e;
}

static enum err commit_next(struct ingester *ingester, struct detail *detail)
{
    struct rpc_ledgers ledgers CLEANUP(rpc_ledgers_free) = {0};
    const uint32_t due = ingester->lead.cursor.sequence + 1;
    const uint32_t behind = ingester->latest > due ? ingester->latest - due : 0;
    const uint32_t limit = behind < ingester->fetch_limit ? behind + 1 : ingester->fetch_limit;
    enum err e = fetch(ingester, due, limit, &ledgers, detail);
    adapt_fetch(ingester, e, limit);
    if (e == ERR_LEDGER_GAP)
        return recover(ingester, ledgers.oldest_ledger, detail);
    if (e == ERR_LEDGER_AHEAD &&
        cursor_check_latest(&ingester->lead.cursor, ingester->latest, detail) != ERR_OK)
        return ERR_LEDGER_MISMATCH;
    for (size_t i = 0; e == ERR_OK && i < ledgers.count; i++)
        e = commit_fetched(ingester, &ledgers.items[i], detail);
    return e;
}

/* Another session has the lock. */
static enum err watch_leader(
    struct ingester *ingester, const struct cursor_snapshot *cursor, struct detail *detail)
{
    if (!leader_watch_stalled(&ingester->watch, cursor, &ingester->feed))
        return ERR_NOT_LEADER;
    enum err e = lead_take_over(&ingester->lead, detail);
    if (e == ERR_OK)
        log_warn("took over: the leader committed no ledger although one was due",
            "cursor=%" PRIu32 " waited_ms=%" PRId64, cursor->sequence, clock_ms() - ingester->watch.since_ms);
    return e;
}

static enum err take_lead(struct ingester *ingester, struct detail *detail)
{
    struct cursor_snapshot cursor;
    enum err e = lead_take(&ingester->lead, detail);
    if (e != ERR_OK && e != ERR_NOT_LEADER)
        return e;
    enum err read = cursor_snapshot_read(ingester->lead.db, &cursor, detail);
    if (read != ERR_OK)
        return read;
    status_cursor(ingester->status, &cursor);
    commit_log_unsure(&ingester->lead, cursor.sequence);
    if (e == ERR_NOT_LEADER)
        e = watch_leader(ingester, &cursor, detail);
    if (e == ERR_OK) {
        ingester->watch.since_ms = 0;
        log_info("this replica leads ingestion", "after_ledger=%" PRIu32 " term=%" PRId64,
            ingester->lead.cursor.sequence, ingester->lead.term);
    }
    return e;
}

enum err ingester_step(struct ingester *ingester, struct detail *detail)
{
    enum err e = ERR_OK;
    if (!ingester->lead.leads)
        e = take_lead(ingester, detail);
    if (e != ERR_OK)
        return e;
    return ingester->lead.cursor.known ? commit_next(ingester, detail) : commit_first(ingester, detail);
}
