/* One step of ingestion: lead, fetch, commit, or recover a gap. No ledger is skipped. */
#include "ingester.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metric.h"
#include "pool/grants_allowed.h"
#include "gap.h"
#include "refute.h"

static enum err fetch(
    struct ingester *ingester, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    const int64_t asked_ms = clock_ms();
    enum err e = ingester->feed.ledgers(ingester->feed.source, start, limit, out, detail);
    if (e == ERR_OK || e == ERR_LEDGER_AHEAD || e == ERR_LEDGER_GAP) {
        ingester->latest = out->latest_ledger;
        ingester->fetched_us = clock_us();
        pace_note(&ingester->pace, out->latest_ledger, asked_ms);
    }
    return e;
}

/* detail has the type and value that no ledger of a known protocol has. */
static enum err upgrade_needed(uint32_t ledger, struct detail *detail)
{
    const struct detail unknown = *detail;
    return detail_set(detail, ERR_XDR_UNKNOWN_ARM,
        "ledger %" PRIu32 " is of a protocol newer than this build, install a newer fairway: %s", ledger,
        unknown.text);
}

static void note_seen(struct ingester *ingester, const struct cursor_snapshot *now)
{
    ingester->seen = *now;
    if (ingester->seen_ledger != NULL)
        atomic_store(ingester->seen_ledger, now->sequence);
}

static void count_commit(const struct ingester *ingester, const struct ledger_committed *committed)
{
    const struct settled *settled = &committed->settled;
    metric_add(METRIC_ENDS, METRIC_CONFIRMED, 0, (int64_t)settled->confirmed);
    metric_add(METRIC_ENDS, METRIC_FAILED, 0, (int64_t)settled->failed);
    metric_add(METRIC_ENDS, METRIC_EXPIRED, 0, (int64_t)settled->expired);
    metric_add(METRIC_ENDS, METRIC_SUPERSEDED, 0, (int64_t)settled->superseded);
    metric_add(METRIC_ENDS, METRIC_CONSUMED, 0, (int64_t)settled->consumed);
    metric_observe(METRIC_LEDGER_DELAY, 0, 0, committed->lag_s > 0 ? committed->lag_s * 1000000 : 0);
    metric_observe(METRIC_LEDGER_ANSWER, 0, 0, committed->told_us - ingester->fetched_us);
}

static void note_commit(struct ingester *ingester, const struct ledger_committed *committed)
{
    const struct lead *lead = &ingester->lead;
    count_commit(ingester, committed);
    note_seen(ingester, &(struct cursor_snapshot){.known = true,
                            .sequence = lead->cursor.sequence,
                            .lag_s = committed->lag_s,
                            .hash = lead->cursor.hash,
                            .term = lead->term});
    status_committed(ingester->status, &ingester->seen);
    if (committed->may_freeze)
        audit_upgraded(ingester->audit, lead->cursor.sequence);
    funds_watch_ledger(ingester->funds, &committed->funds);
}

static enum err commit(
    struct ingester *ingester, const struct rpc_ledger received[], size_t count, struct detail *detail)
{
    struct ledger_committed committed;
    struct account_snapshot distribution;
    const bool first = !ingester->lead.cursor.known, read = funds_watch_take(ingester->funds, &distribution);
    enum err e =
        ledger_commit(&ingester->lead, received, count, read ? &distribution : NULL, &committed, detail);
    if (committed.contradicts) {
        ingester->contradicted = true;
        ingester->named = committed.named;
    }
    if (e == ERR_XDR_UNKNOWN_ARM)
        return upgrade_needed(received->sequence, detail);
    if (e != ERR_OK && e != ERR_NOT_REPLICATED)
        return e;
    note_commit(ingester, &committed);
    commit_log_ledger(&ingester->log, &ingester->lead, first, &committed);
    return e;
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
    return e != ERR_OK ? e : commit(ingester, &ledgers.items[0], 1, detail);
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
    if (e != ERR_OK && e != ERR_NOT_REPLICATED)
        return e;
    note_commit(ingester, &committed);
    commit_log_gap(&ingester->log, &ingester->lead, after, &committed);
    return e;
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

/* Another RPC, which named the same hash, may have the ledger with everything that proves it. */
static enum err commit_fetched(
    struct ingester *ingester, const struct rpc_ledgers *fetched, size_t i, struct detail *detail)
{
    struct detail why = {""};
    enum err e = commit(ingester, &fetched->items[i], fetched->count - i, detail);
    if (!does_not_prove_itself(e) || fetched->other == NULL)
        return e;
    const enum err other = commit(ingester, &fetched->other->items[i], fetched->count - i, &why);
    if (other == ERR_OK) {
        metric_add(METRIC_RPC_REFUTED, fetched->items[i].rpc - 1, 0, 1);
        log_warn("a ledger does not prove itself; another RPC's was used", "rpc=%u detail=\"%s\"",
            fetched->items[i].rpc, detail->text);
    }
    return does_not_prove_itself(other) ? e : detail_set(detail, other, "%s", why.text);
}

/* What the ledgers after a forged one did is read from the accounts, as after a gap. */
static enum err refute(struct ingester *ingester, struct detail *detail)
{
    bool refuted;
    enum err e = refute_ledger(
        &ingester->lead, &ingester->feed, &ingester->named, &ingester->refuted, &refuted, detail);
    if (e != ERR_OK)
        return e;
    return refuted ? recover(ingester, ingester->lead.cursor.sequence + 1, detail) : ERR_LEDGER_MISMATCH;
}

static enum err commit_next(struct ingester *ingester, struct detail *detail)
{
    struct rpc_ledgers ledgers CLEANUP(rpc_ledgers_free) = {0};
    const uint32_t due = ingester->lead.cursor.sequence + 1;
    const uint32_t behind = ingester->latest > due ? ingester->latest - due : 0;
    const uint32_t limit = behind < ingester->fetch_limit ? behind + 1 : ingester->fetch_limit;
    ingester->watch.led = due - 1;
    ingester->contradicted = false;
    enum err e = fetch(ingester, due, limit, &ledgers, detail);
    adapt_fetch(ingester, e, limit);
    if (e == ERR_LEDGER_GAP)
        return recover(ingester, ledgers.oldest_ledger, detail);
    if (e == ERR_LEDGER_AHEAD &&
        cursor_check_latest(&ingester->lead.cursor, ingester->latest, detail) != ERR_OK)
        return ERR_LEDGER_MISMATCH;
    for (size_t i = 0; e == ERR_OK && i < ledgers.count; i++)
        e = commit_fetched(ingester, &ledgers, i, detail);
    return e == ERR_LEDGER_MISMATCH && ingester->contradicted ? refute(ingester, detail) : e;
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

/* A copy of the database that was put in its place has the same identity, but not what we have seen. cursor:
 * as of after lead_take, which raises the term. */
static enum err check_not_set_back(
    struct ingester *ingester, const struct cursor_snapshot *cursor, struct detail *detail)
{
    const struct cursor_snapshot seen = ingester->seen;
    struct cursor_snapshot now = *cursor;
    int64_t until_s;
    now.term -= ingester->lead.leads;
    if (!cursor_went_back(&seen, &now)) {
        if (now.known)
            note_seen(ingester, &now);
        return ERR_OK;
    }
    enum err e = grants_hold_begin(
        ingester->lead.db, GRANTS_SET_BACK_REASON, ingester->lead.ledger_ms, &until_s, detail);
    if (e != ERR_OK)
        return e;
    log_error("the database was set back and may have forgotten leases; grants are on hold",
        "seen_ledger=%" PRIu32 " seen_term=%" PRId64 " cursor=%" PRIu32 " term=%" PRId64
        " held_until=%" PRId64,
        seen.sequence, seen.term, now.sequence, now.term, until_s);
    note_seen(ingester, &now);
    return ERR_OK;
}

static enum err begin_lead(struct ingester *ingester, struct detail *detail)
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
    if ((read = check_not_set_back(ingester, &cursor, detail)) != ERR_OK)
        return read;
    if (e == ERR_NOT_LEADER)
        e = watch_leader(ingester, &cursor, detail);
    if (e == ERR_OK) {
        ingester->watch.since_ms = 0;
        metric_add(METRIC_LEAD_TAKEN, 0, 0, 1);
        log_info("this replica leads ingestion", "after_ledger=%" PRIu32 " term=%" PRId64,
            ingester->lead.cursor.sequence, ingester->lead.term);
    }
    return e;
}

/* A lead begins whole or not at all: else the next step would commit although grants are not on hold. */
static enum err take_lead(struct ingester *ingester, struct detail *detail)
{
    enum err e = begin_lead(ingester, detail);
    if (e != ERR_OK && ingester->lead.leads)
        lead_drop(&ingester->lead);
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

unsigned ingester_pause_ms(const struct ingester *ingester, enum err e, unsigned poll_ms)
{
    const uint32_t cursor = ingester->lead.cursor.sequence;
    if (e == ERR_OK && ingester->latest > cursor)
        return 0;
    return pace_pause_ms(&ingester->pace, cursor, clock_ms(), poll_ms);
}
