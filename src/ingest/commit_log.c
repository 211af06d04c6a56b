#include "commit_log.h"

#include <inttypes.h>

#include "base/log.h"

/* A leader logs a missing standby with its first ledger, even when the start of this process has logged it
 * (cmd/fairway/access_steps.c): the standby may have been removed between the two. After that, it logs
 * changes. */
static void log_standby(struct commit_log *log, bool missing)
{
    if (log->synchronous && missing != log->standby_missing)
        log_line(missing ? LOG_WARN : LOG_INFO,
            missing
                ? "DATABASE_FAILOVER=synchronous, but no synchronous standby is configured: a failover may "
                  "lose leases"
                : "a synchronous standby is configured again",
            "synchronous_standby_names=%s", missing ? "empty" : "set");
    log->standby_missing = missing;
}

static void log_database(
    struct commit_log *log, const struct lead *lead, const struct ledger_committed *committed)
{
    if (committed->standby_known)
        log_standby(log, !committed->synchronous_standby);
    if (committed->hold_ended)
        log_info("the hold ended; leases are granted again", "ledger=%" PRIu32, lead->cursor.sequence);
}

#define SETTLED_FORMAT                                                                                       \
    " confirmed=%zu failed=%zu superseded=%zu expired=%zu consumed=%zu created=%zu retired=%zu"              \
    " quarantined=%zu"
#define SETTLED_VALUES(settled)                                                                              \
    (settled)->confirmed, (settled)->failed, (settled)->superseded, (settled)->expired, (settled)->consumed, \
        (settled)->created, (settled)->retired, (settled)->quarantined

void commit_log_ledger(
    struct commit_log *log, const struct lead *lead, bool first, const struct ledger_committed *committed)
{
    const struct settled *settled = &committed->settled;
    const bool changed = settled->released + settled->created + settled->retired + settled->quarantined != 0;
    log_database(log, lead, committed);
    log_line(first || changed ? LOG_INFO : LOG_DEBUG,
        first ? "ingestion begins with this ledger" : "ledger committed",
        "ledger=%" PRIu32 " lag_s=%" PRId64 SETTLED_FORMAT, lead->cursor.sequence, committed->lag_s,
        SETTLED_VALUES(settled));
}

void commit_log_gap(struct commit_log *log, const struct lead *lead, uint32_t after_ledger,
    const struct ledger_committed *committed)
{
    log_database(log, lead, committed);
    log_warn("gap recovered", "after_ledger=%" PRIu32 " ledger=%" PRIu32 SETTLED_FORMAT, after_ledger,
        lead->cursor.sequence, SETTLED_VALUES(&committed->settled));
}

static void log_note(uint32_t ledger, const struct settle_note *note)
{
    switch (note->event) {
    case SETTLE_QUARANTINED:
        log_error("channel account quarantined", "account=%s ledger=%" PRIu32 " reason=\"%s\"", note->address,
            ledger, note->reason);
        return;
    case SETTLE_READ_AGAIN:
        log_info("channel account released: a read shows that it did not change",
            "account=%s ledger=%" PRIu32, note->address, ledger);
        return;
    case SETTLE_REFUTED:
        log_error("ledger metadata reports a change of a channel account that the RPC contradicts; the "
                  "change is ignored",
            "account=%s ledger=%" PRIu32, note->address, ledger);
        return;
    }
}

void commit_log_accounts(uint32_t ledger, const struct settle_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        log_note(ledger, &notes->items[i]);
}

void commit_log_unsure(struct lead *lead, uint32_t cursor)
{
    if (lead->unsure_ledger <= cursor)
        commit_log_accounts(lead->unsure_ledger, &lead->unsure);
    else if (!lead->leads)
        return; /* the session that sent COMMIT may still run it */
    settle_notes_free(&lead->unsure);
}
