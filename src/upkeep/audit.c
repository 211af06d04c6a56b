/* Compares the accounts of the pool with what the RPC says about them. Nothing here changes a sequence number
 * or ends a lease. */
#include "upkeep/audit.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "db/db.h"
#include "pool/account_change.h"

#define PAUSE_MS 15000
#define TICK_MS 1000
#define REACH_MS 60000 /* a ledger is not committed for so long: its accounts are read again */
#define LOG_AGAIN_MS 600000

/* ---- what a read means */

/* As after a gap: the read has the account as of a ledger that is later than the row. */
const char *audit_judge(const struct account_row *row, const struct account_snapshot *read)
{
    struct account_row after = *row;
    if (row->sequence_ledger >= read->ledger)
        return NULL;
    const bool leased = !read->account.removed && row->lease_sequence == read->account.sequence;
    account_state_after_gap(&after, &read->account, read->ledger, leased, false);
    return after.reason;
}

/* ---- the rows */

struct audit {
    struct audit_settings settings; /* but for the URL */
    struct db *db;
    _Atomic uint32_t upgraded; /* as audit_upgraded has set it */
    int64_t log_again_ms;
    char returned[ADDRESS_SIZE]; /* the last account that was looked at to be put back; "": all were */
    pthread_t thread;
};

/* One snapshot of the cursor and of the rows. No row: the ledger is not committed yet, or not any more. Else
 * column 0 is the place in the array, from 1; or one row of NULLs. */
static const char sql_rows[] =
    "SELECT n.place, n.state, n.sequence, n.sequence_ledger, n.lease_sequence FROM fairway.cursor c"
    " LEFT JOIN LATERAL (SELECT k.place, a.state, a.sequence, a.sequence_ledger,"
    "     coalesce(a.lease_sequence, 0) AS lease_sequence"
    "   FROM unnest($1::text[]) WITH ORDINALITY AS k (key, place)"
    "   CROSS JOIN LATERAL fairway.newest_account(k.key) a WHERE a.state IN ('active', 'retiring')) n ON true"
    " WHERE c.sequence >= $2";

static enum err row_of(const struct db_rows *rows, size_t i, struct account_row *out, struct detail *detail)
{
    *out = (struct account_row){.known = true,
        .sequence = db_i64(rows, i, 2),
        .sequence_ledger = db_i64(rows, i, 3),
        .lease_sequence = db_i64(rows, i, 4)};
    if (account_state_parse(db_text(rows, i, 1), &out->state) == ERR_OK)
        return ERR_OK;
    return detail_set(detail, ERR_INTERNAL, "unknown state \"%s\"", db_text(rows, i, 1));
}

/* Judges those of at most RPC_ENTRIES_MAX accounts that are in use: by what was read, or that they are
 * frozen. Each is quarantined in a transaction of its own, which locks one row. */
static enum err check(struct audit *audit, const struct account_snapshot reads[], size_t count,
    uint32_t ledger, bool frozen, struct detail *detail)
{
    char encoded[RPC_ENTRIES_MAX][ADDRESS_SIZE];
    const char *addresses[RPC_ENTRIES_MAX];
    AUTO_ROWS rows = NULL;
    for (size_t i = 0; i < count; i++) {
        address_encode(&reads[i].account.key, encoded[i]);
        addresses[i] = encoded[i];
    }
    enum err e =
        db_query(audit->db, DB_SQL(sql_rows, DB_TEXTS(addresses, count), DB_I64(ledger)), &rows, detail);
    if (e == ERR_OK && db_count(rows) == 0)
        return detail_set(detail, ERR_NOT_YET,
            "Stellar RPC answers as of ledger %" PRIu32 ", which is not committed", ledger);
    for (size_t i = 0; e == ERR_OK && i < db_count_at_most(rows, DB_ANY_COUNT) && !db_is_null(rows, i, 0);
         i++) {
        const struct account_snapshot *read = &reads[db_ordinal(rows, i, 0, count)];
        struct account_row row;
        if ((e = row_of(rows, i, &row, detail)) != ERR_OK)
            return e;
        const bool froze = frozen && account_state_freeze(&row);
        const char *reason = froze ? row.reason : audit_judge(&row, read);
        if (reason != NULL)
            e = accounts_quarantine(audit->db, &read->account.key, 1, reason, detail);
    }
    return e;
}

/* ---- a pass */

/* Waits. Returns false when the pass is over: at the stop, without the lead, and after an upgrade. */
static bool wait_in_pass(struct audit *audit, unsigned ms)
{
    const int64_t end_ms = clock_ms() + ms;
    bool goes_on = true;
    while (goes_on && clock_left_ms(end_ms) > 0)
        goes_on = stop_wait(audit->settings.stop, ms < TICK_MS ? ms : TICK_MS) &&
                  atomic_load(audit->settings.leads) && atomic_load(&audit->upgraded) == 0;
    return goes_on;
}

/* Quarantines what was frozen by ledger `since` at the latest. */
static enum err check_frozen(struct audit *audit, uint32_t since, struct detail *detail)
{
    struct frozen_accounts frozen CLEANUP(frozen_accounts_free) = {0};
    uint32_t ledger;
    const struct feed *feed = &audit->settings.feed;
    enum err e = feed->frozen(feed->source, &frozen, &ledger, detail);
    if (e != ERR_OK)
        return e;
    if (ledger < since)
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "Stellar RPC answers as of ledger %" PRIu32 ", but ledger %" PRIu32 " has an upgrade", ledger,
            since);
    for (size_t i = 0; e == ERR_OK && i < frozen.count; i++)
        e = check(audit, &(struct account_snapshot){.account.key = frozen.keys[i]}, 1, 0, true, detail);
    return e;
}

/* In the column's own collation, as in pool/account_read.c. */
#define PAGE_SQL(condition)                                                                                  \
    "SELECT a.public_key FROM fairway.channel_accounts a WHERE a.public_key > $1 AND " condition             \
    " ORDER BY a.public_key LIMIT $2"
static const char sql_page[] = PAGE_SQL("a.state IN ('active', 'retiring')");
static const char sql_moved[] =
    PAGE_SQL("a.quarantine_reason = '" ACCOUNT_MOVED "' AND a.lease_hash IS NULL");

static enum err read_page(struct audit *audit, const char *sql, const char *after, struct public_key keys[],
    size_t *count, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(audit->db, DB_SQL(sql, DB_TEXT(after), DB_I64(RPC_ENTRIES_MAX)), &rows, detail);
    for (*count = 0; e == ERR_OK && *count < db_count_at_most(rows, RPC_ENTRIES_MAX); (*count)++)
        if (address_decode(db_text(rows, *count, 0), &keys[*count]) != ERR_OK)
            return detail_set(detail, ERR_INTERNAL, "malformed row of account %s", db_text(rows, *count, 0));
    return e;
}

/* Checks the accounts that follow `after`, which becomes the last of them. *complete: none follows. */
static enum err check_page(
    struct audit *audit, char after[static ADDRESS_SIZE], bool *complete, struct detail *detail)
{
    struct public_key keys[RPC_ENTRIES_MAX];
    struct account_entry answers[RPC_ENTRIES_MAX];
    struct account_snapshot reads[RPC_ENTRIES_MAX];
    size_t count;
    uint32_t ledger = 0;
    const struct feed *feed = &audit->settings.feed;
    enum err e = read_page(audit, sql_page, after, keys, &count, detail);
    if (e == ERR_OK && count > 0)
        e = feed->accounts(feed->source, keys, count, answers, &ledger, detail);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < count; i++)
        reads[i] = (struct account_snapshot){answers[i], ledger};
    const int64_t end_ms = clock_ms() + REACH_MS;
    while (
        (e = check(audit, reads, count, ledger, false, detail)) == ERR_NOT_YET && clock_left_ms(end_ms) > 0)
        if (!wait_in_pass(audit, TICK_MS))
            return ERR_CANCELLED;
    *complete = e == ERR_OK && count < RPC_ENTRIES_MAX;
    if (e == ERR_OK && count > 0)
        address_encode(&keys[count - 1], after);
    return e;
}

static void log_failure(struct audit *audit, enum err e, const struct detail *detail)
{
    if (e == ERR_OK || e == ERR_CANCELLED || e == ERR_LEDGER_AHEAD || clock_left_ms(audit->log_again_ms) > 0)
        return;
    log_warn("cannot compare the channel accounts with the network; retrying", "error=%s detail=\"%s\"",
        err_code(e), detail->text);
    audit->log_again_ms = clock_ms() + LOG_AGAIN_MS;
}

/* Checks the frozen keys, as of ledger `since` or a later one, and then, if it is to, all accounts. Repeats
 * what failed. Returns whether it came to its end: a lost lead and an upgrade stop it. */
static bool pass(struct audit *audit, uint32_t since)
{
    char after[ADDRESS_SIZE] = "";
    bool frozen_checked = false, complete = false;
    do {
        struct detail detail = {0};
        const enum err e = frozen_checked ? check_page(audit, after, &complete, &detail)
                                          : check_frozen(audit, since, &detail);
        frozen_checked |= e == ERR_OK;
        complete |= frozen_checked && audit->settings.every_ms == 0;
        log_failure(audit, e, &detail);
    } while (!complete && wait_in_pass(audit, audit->settings.pause_ms));
    return complete;
}

/* ---- accounts that come back */

static enum err put_back(struct audit *audit, const struct public_key *key, const struct account_probe *probe,
    struct detail *detail)
{
    enum err e = account_change_apply(audit->db, key, CHANGE_RETURN, probe, detail);
    if (e != ERR_OK && e != ERR_REFUSED && e != ERR_NOT_YET)
        return e;
    address_encode(key, audit->returned);
    if (e == ERR_OK)
        log_warn("channel account put back", "account=%s", audit->returned);
    return ERR_OK;
}

/* Looks at the accounts that follow the last one. When it fails, with the ones after those that it did. */
static enum err put_back_page(struct audit *audit, struct detail *detail)
{
    struct public_key keys[RPC_ENTRIES_MAX];
    struct account_entry answers[RPC_ENTRIES_MAX];
    struct frozen_accounts frozen CLEANUP(frozen_accounts_free) = {0};
    struct account_probe probe = {0};
    size_t count;
    const struct feed *feed = &audit->settings.feed;
    enum err e = read_page(audit, sql_moved, audit->returned, keys, &count, detail);
    if (e == ERR_OK && count > 0)
        e = feed->frozen(feed->source, &frozen, &probe.oldest, detail);
    if (e == ERR_OK && count > 0)
        e = feed->accounts(feed->source, keys, count, answers, &probe.ledger, detail);
    if (probe.ledger < probe.oldest)
        probe.oldest = probe.ledger;
    for (size_t i = 0; e == ERR_OK && i < count; i++) {
        probe.account = answers[i];
        probe.frozen = frozen_has(&frozen, &keys[i]);
        e = put_back(audit, &keys[i], &probe, detail);
    }
    if (e == ERR_OK && count < RPC_ENTRIES_MAX)
        audit->returned[0] = '\0';
    return e;
}

/* A new leader begins a pass too: the one before may have ended before it had used an upgrade. */
static void *run(void *context)
{
    struct audit *audit = context;
    int64_t due_ms = 0, return_ms = 0;
    while (stop_wait(
        audit->settings.stop, audit->settings.pause_ms < TICK_MS ? audit->settings.pause_ms : TICK_MS)) {
        const uint32_t upgraded = atomic_exchange(&audit->upgraded, 0);
        if (!atomic_load(audit->settings.leads)) {
            db_disconnect(audit->db);
            due_ms = clock_ms() + audit->settings.pause_ms;
            return_ms = clock_ms() + audit->settings.return_ms;
        } else if (upgraded != 0 || clock_left_ms(due_ms) == 0) {
            const unsigned again_ms = pass(audit, upgraded != 0 ? upgraded : 1) ? audit->settings.every_ms
                                                                                : audit->settings.pause_ms;
            due_ms = again_ms != 0 ? clock_ms() + again_ms : INT64_MAX;
        } else if (clock_left_ms(return_ms) == 0) {
            struct detail detail = {0};
            const enum err e = put_back_page(audit, &detail);
            log_failure(audit, e, &detail);
            return_ms = clock_ms() + (e == ERR_OK ? audit->settings.return_ms : audit->settings.pause_ms);
        }
    }
    return NULL;
}

struct audit *audit_start(const struct audit_settings *settings)
{
    struct audit *audit = NEW(struct audit);
    audit->settings = *settings;
    if (settings->pause_ms == 0)
        audit->settings.pause_ms = PAUSE_MS;
    audit->db = db_new(&(struct db_settings){.url = settings->database_url, .name = "fairway audit"});
    thread_start(&audit->thread, "audit", run, audit);
    return audit;
}

void audit_join(struct audit *audit)
{
    if (audit == NULL)
        return;
    pthread_join(audit->thread, NULL);
    db_free(audit->db);
    free(audit);
}

void audit_upgraded(struct audit *audit, uint32_t ledger)
{
    atomic_store(&audit->upgraded, ledger);
}
