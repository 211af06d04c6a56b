/* One step of ingestion: lead, fetch, commit, or recover a gap. No ledger is skipped. */
#include "ingester.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/metric.h"
#include "pool/grants_allowed.h"
#include "gap.h"
#include "refute.h"

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

static void count_commit(const struct ledger_committed *committed)
{
    const struct settled *settled = &committed->settled;
    metric_add(METRIC_ENDS, METRIC_CONFIRMED, 0, (int64_t)settled->confirmed);
    metric_add(METRIC_ENDS, METRIC_FAILED, 0, (int64_t)settled->failed);
    metric_add(METRIC_ENDS, METRIC_EXPIRED, 0, (int64_t)settled->expired);
    metric_add(METRIC_ENDS, METRIC_SUPERSEDED, 0, (int64_t)settled->superseded);
    metric_add(METRIC_ENDS, METRIC_CONSUMED, 0, (int64_t)settled->consumed);
    metric_observe(METRIC_LEDGER_DELAY, 0, 0, committed->lag_s > 0 ? committed->lag_s * 1000000 : 0);
}

static void note_commit(struct ingester *ingester, const struct ledger_committed *committed)
{
    const struct lead *lead = &ingester->lead;
    count_commit(committed);
    note_seen(ingester, &(struct cursor_snapshot){.known = true,
                            .sequence = lead->cursor.sequence,
                            .lag_s = committed->lag_s,
                            .hash = lead->cursor.hash,
                            .term = lead->term});
    status_cursor(ingester->status, &ingester->seen, true);
    if (committed->may_freeze)
        audit_upgraded(ingester->audit, lead->cursor.sequence);
    funds_watch_ledger(ingester->funds, &committed->funds);
}

/* Commits what follow_next has returned. */
static enum err commit(struct ingester *ingester, const struct follow_ledger *found, struct detail *detail)
{
    struct ledger_committed committed;
    struct account_snapshot distribution;
    const bool read = funds_watch_take(ingester->funds, &distribution);
    pace_note(&ingester->pace, ingester->follow.latest, found->asked_ms);
    enum err e =
        ledger_commit(&ingester->lead, found->ledger, read ? &distribution : NULL, &committed, detail);
    if (e != ERR_OK && e != ERR_NOT_REPLICATED)
        return e;
    metric_observe(METRIC_LEDGER_ANSWER, 0, 0, committed.told_us - found->got_us);
    follow_committed(&ingester->follow, &ingester->lead.cursor);
    note_commit(ingester, &committed);
    return e;
}

static const struct cursor unknown = {0};

/* An empty database begins with the latest ledger, or, where signatures prove ledgers, with the one before,
 * which the latest proves. The answer to a request for a number that cannot exist yet names it. */
static enum err commit_first(struct ingester *ingester, struct detail *detail)
{
    struct follow *follow = &ingester->follow;
    struct follow_ledger found = {0};
    enum err e;
    if (ingester->first == 0) {
        e = follow_next(follow, &unknown, UINT32_MAX, true, &found, detail);
        if (e == ERR_OK)
            return detail_set(detail, ERR_RPC_REFUSED,
                "Stellar RPC returned ledger %u, which cannot exist yet", UINT32_MAX);
        if (e != ERR_LEDGER_AHEAD || follow->pending || follow->latest < 2)
            return e;
        ingester->first = follow->signatures ? follow->latest - 1 : follow->latest;
    }
    e = follow_next(follow, &unknown, ingester->first, true, &found, detail);
    if (e == ERR_OK)
        return commit(ingester, &found, detail);
    if (e != ERR_LEDGER_AHEAD || follow->latest + 1 < ingester->first)
        ingester->first = 0; /* looks again */
    return e == ERR_LEDGER_GAP ? ERR_LEDGER_AHEAD
                               : e; /* the network has closed no ledger, or it is dropped */
}

/* What the missing ledgers did is read from the accounts. */
static enum err recover(struct ingester *ingester, bool renumbered, struct detail *detail)
{
    struct ledger_committed committed;
    const uint32_t after = ingester->lead.cursor.sequence;
    if (ingester->logged_gap != after) /* logged once, however often the recovery is retried */
        log_warn("ledgers are missing: grants are suspended until all accounts have been read",
            "after_ledger=%" PRIu32, after);
    ingester->logged_gap = after;
    enum err e = gap_recover(&ingester->lead, &ingester->follow, renumbered, &committed, detail);
    if (e == ERR_XDR_UNKNOWN_ARM)
        return upgrade_needed(after + 1, detail);
    if (e != ERR_OK && e != ERR_NOT_REPLICATED)
        return e;
    follow_committed(&ingester->follow, &ingester->lead.cursor);
    note_commit(ingester, &committed);
    return e;
}

/* A signed ledger names another header in the place of the last committed one. Whether that is the network's,
 * refute_ledger finds out; until then the addresses that have a ledger due are followed. */
static enum err contradicted(struct ingester *ingester, struct detail *detail)
{
    const struct hash named = ingester->follow.named;
    enum refute_outcome outcome;
    struct detail why = {""};
    enum err e =
        refute_ledger(&ingester->lead, &ingester->follow, &named, &ingester->refuted, &outcome, &why);
    if (e == ERR_RPC_UNAVAILABLE && rpcs_count(ingester->follow.rpcs) > 1)
        return ERR_LEDGER_AHEAD;
    if (e == ERR_RPC_UNAVAILABLE)
        return ERR_LEDGER_MISMATCH;
    if (e != ERR_OK)
        return detail_set(detail, e, "%s", why.text);
    follow_refuted(&ingester->follow);
    if (outcome == REFUTE_CORRECTED)
        note_seen(ingester, &(struct cursor_snapshot){.known = true,
                                .sequence = ingester->lead.cursor.sequence,
                                .hash = ingester->lead.cursor.hash,
                                .term = ingester->lead.term});
    return outcome == REFUTE_CORRECTED ? ERR_OK : recover(ingester, false, detail);
}

/* All RPCs are far below the cursor. If a proved ledger closed after it, the cursor's number is false: what
 * the network did since is read from the accounts. */
static enum err judge_number(struct ingester *ingester, struct detail *detail)
{
    struct follow *follow = &ingester->follow;
    const struct cursor *cursor = &ingester->lead.cursor;
    struct follow_ledger found = {0};
    struct detail why = {""};
    enum err e = cursor_check_latest(cursor, follow->latest, detail);
    if (e == ERR_OK || !follow->signatures || follow->latest < 2)
        return e == ERR_OK ? ERR_LEDGER_AHEAD : e;
    const bool is_later = follow_next(follow, &unknown, follow->latest - 1, true, &found, &why) == ERR_OK &&
                          found.ledger->close_time_s > cursor->close_time_s;
    if (!is_later)
        return e;
    log_error(
        "the last committed ledger has a number that the network has not reached: an RPC has lied, find "
        "out which",
        "cursor=%" PRIu32 " latest_ledger=%" PRIu32, cursor->sequence, follow->latest);
    return recover(ingester, true, detail);
}

static enum err commit_next(struct ingester *ingester, struct detail *detail)
{
    const struct cursor *cursor = &ingester->lead.cursor;
    struct follow *follow = &ingester->follow;
    struct follow_ledger found = {0};
    const int64_t asked_ms = clock_ms();
    ingester->watch.led = cursor->sequence;
    ingester->pace.is_scarce = rpcs_are_scarce(follow->rpcs);
    const enum err e = follow_next(follow, cursor, cursor->sequence + 1, false, &found, detail);
    if (e == ERR_OK)
        return commit(ingester, &found, detail);
    if (e == ERR_LEDGER_MISMATCH && follow->contradicts)
        return contradicted(ingester, detail);
    if (e == ERR_LEDGER_GAP)
        return recover(ingester, false, detail);
    if (e == ERR_XDR_UNKNOWN_ARM)
        return upgrade_needed(cursor->sequence + 1, detail);
    if (e != ERR_LEDGER_AHEAD)
        return e;
    if (follow->pending)
        return e;
    pace_note(&ingester->pace, follow->latest, asked_ms);
    return judge_number(ingester, detail);
}

/* Another session has the lock. */
static enum err watch_leader(
    struct ingester *ingester, const struct cursor_snapshot *cursor, struct detail *detail)
{
    if (!leader_watch_stalled(&ingester->watch, cursor, &ingester->follow))
        return ERR_NOT_LEADER;
    enum err e = lead_take_over(&ingester->lead, cursor->term, detail);
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
    status_cursor(ingester->status, &cursor, false);
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
    if (e == ERR_OK && ingester->follow.latest > cursor)
        return 0;
    return pace_pause_ms(&ingester->pace, cursor, clock_ms(), poll_ms);
}
