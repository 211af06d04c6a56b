/* Compares the accounts of the pool with what the RPC says about them. Nothing here changes a sequence number
 * or ends a lease. */
#include "upkeep/audit.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "db/db.h"
#include "pool/accounts.h"

#define PAUSE_MS 15000
#define TICK_MS 1000
#define REACH_MS 60000 /* a ledger is not committed for so long: its accounts are read again */
#define LOG_AGAIN_MS 600000

/* ---- what is next, and what a read means */

enum audit_step audit_plan_next(const struct audit_plan *plan, int64_t now_ms)
{
    if (now_ms < plan->next_ms)
        return AUDIT_WAIT;
    if (plan->read_ledger != 0)
        return AUDIT_COMPARE;
    return plan->frozen_from != 0 ? AUDIT_READ_FROZEN : AUDIT_READ;
}

void audit_plan_note(
    struct audit_plan *plan, enum audit_step step, enum err e, uint32_t ledger, bool complete, int64_t now_ms)
{
    if (step == AUDIT_WAIT)
        return;
    if (step == AUDIT_COMPARE && e == ERR_NOT_YET && now_ms - plan->read_ms < REACH_MS) {
        plan->next_ms = now_ms + TICK_MS;
        return;
    }
    plan->read_ledger = 0;
    plan->next_ms = now_ms + plan->pause_ms;
    if (e != ERR_OK)
        return;
    if (step == AUDIT_READ_FROZEN) {
        plan->frozen_from = 0;
    } else if (step == AUDIT_READ && ledger != 0) {
        plan->read_ledger = ledger;
        plan->read_ms = plan->next_ms = now_ms;
    } else if (complete) {
        plan->frozen_from = 1;
    }
}

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

static const char *judge_frozen(const struct account_row *row, const struct account_snapshot *read)
{
    struct account_row after = *row;
    (void)read;
    account_state_freeze(&after);
    return after.reason;
}

/* ---- the rows */

struct audit {
    struct db *db;
    struct feed feed;
    struct audit_plan plan;
    char after[ADDRESS_SIZE];                       /* the pass has compared the accounts up to this one */
    struct account_snapshot reads[RPC_ENTRIES_MAX]; /* not compared yet */
    size_t count;
    bool led;                  /* as of the last step */
    atomic_bool leads;         /* as audit_lead has set it */
    _Atomic uint32_t upgraded; /* as audit_upgraded has set it */
    int64_t log_again_ms;
    const struct stop *stop;
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

/* Judges those of at most RPC_ENTRIES_MAX accounts that are in use. Each is quarantined in a transaction of
 * its own, which locks one row. */
static enum err check(struct audit *audit, const struct account_snapshot reads[], size_t count,
    uint32_t ledger, const char *(*judge)(const struct account_row *, const struct account_snapshot *),
    struct detail *detail)
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
        const char *reason = NULL;
        if ((e = row_of(rows, i, &row, detail)) == ERR_OK)
            reason = judge(&row, read);
        if (reason != NULL)
            e = accounts_quarantine(audit->db, &read->account.key, 1, reason, detail);
    }
    return e;
}

/* ---- the steps */

static enum err read_frozen(struct audit *audit, struct detail *detail)
{
    struct frozen_accounts frozen CLEANUP(frozen_accounts_free) = {0};
    uint32_t ledger;
    enum err e = audit->feed.frozen(audit->feed.source, &frozen, &ledger, detail);
    if (e != ERR_OK)
        return e;
    if (ledger < audit->plan.frozen_from)
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "Stellar RPC answers as of ledger %" PRIu32 ", but ledger %" PRIu32 " has an upgrade", ledger,
            audit->plan.frozen_from);
    for (size_t i = 0; e == ERR_OK && i < frozen.count; i++)
        e = check(
            audit, &(struct account_snapshot){.account.key = frozen.keys[i]}, 1, 0, judge_frozen, detail);
    return e;
}

/* In the column's own collation, as in pool/account_read.c. */
static const char sql_page[] = "SELECT a.public_key FROM fairway.channel_accounts a WHERE a.public_key > $1"
                               " AND a.state IN ('active', 'retiring') ORDER BY a.public_key LIMIT $2";

static enum err read_page(struct audit *audit, struct public_key keys[], size_t *count, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e =
        db_query(audit->db, DB_SQL(sql_page, DB_TEXT(audit->after), DB_I64(RPC_ENTRIES_MAX)), &rows, detail);
    for (*count = 0; e == ERR_OK && *count < db_count_at_most(rows, RPC_ENTRIES_MAX); (*count)++)
        if (address_decode(db_text(rows, *count, 0), &keys[*count]) != ERR_OK)
            return detail_set(detail, ERR_INTERNAL, "malformed row of account %s", db_text(rows, *count, 0));
    return e;
}

/* Sets *ledger to 0 when there is none. */
static enum err read_accounts(struct audit *audit, uint32_t *ledger, struct detail *detail)
{
    struct public_key keys[RPC_ENTRIES_MAX];
    struct rpc_account answers[RPC_ENTRIES_MAX];
    enum err e = read_page(audit, keys, &audit->count, detail);
    *ledger = 0;
    if (e == ERR_OK && audit->count > 0)
        e = audit->feed.accounts(audit->feed.source, keys, audit->count, answers, ledger, detail);
    for (size_t i = 0; e == ERR_OK && i < audit->count; i++)
        audit->reads[i] = snapshot_of(&keys[i], &answers[i], *ledger);
    return e;
}

static enum err run_step(struct audit *audit, enum audit_step step, uint32_t *ledger, struct detail *detail)
{
    switch (step) {
    case AUDIT_READ_FROZEN:
        return read_frozen(audit, detail);
    case AUDIT_READ:
        return read_accounts(audit, ledger, detail);
    case AUDIT_COMPARE:
        return check(audit, audit->reads, audit->count, audit->plan.read_ledger, audit_judge, detail);
    case AUDIT_WAIT:
        break;
    }
    return ERR_OK;
}

static void log_failure(struct audit *audit, enum err e, const struct detail *detail)
{
    const bool waits = e == ERR_NOT_YET && audit->plan.read_ledger != 0;
    if (e == ERR_OK || e == ERR_CANCELLED || waits || clock_left_ms(audit->log_again_ms) > 0)
        return;
    log_warn("cannot compare the channel accounts with the network; retrying", "error=%s detail=\"%s\"",
        err_code(e), detail->text);
    audit->log_again_ms = clock_ms() + LOG_AGAIN_MS;
}

static void work(struct audit *audit)
{
    struct detail detail = {0};
    uint32_t ledger = 0;
    const enum audit_step step = audit_plan_next(&audit->plan, clock_ms());
    enum err e = run_step(audit, step, &ledger, &detail);
    const bool complete = audit->count < RPC_ENTRIES_MAX;
    if (step == AUDIT_COMPARE && e == ERR_OK) {
        audit->after[0] = '\0';
        if (!complete)
            address_encode(&audit->reads[audit->count - 1].account.key, audit->after);
    }
    if (step == AUDIT_READ && e == ERR_OK && ledger == 0) /* the last page was full */
        audit->after[0] = '\0';
    audit_plan_note(&audit->plan, step, e, ledger, complete, clock_ms());
    log_failure(audit, e, &detail);
}

/* A new leader begins a pass too: the one before may have ended before it had used an upgrade. */
static void begin(struct audit *audit, uint32_t frozen_from, int64_t at_ms)
{
    audit->plan =
        (struct audit_plan){.pause_ms = audit->plan.pause_ms, .next_ms = at_ms, .frozen_from = frozen_from};
    audit->after[0] = '\0';
}

static void *run(void *context)
{
    struct audit *audit = context;
    const unsigned tick_ms = audit->plan.pause_ms < TICK_MS ? audit->plan.pause_ms : TICK_MS;
    while (stop_wait(audit->stop, tick_ms)) {
        const bool leads = atomic_load(&audit->leads);
        const uint32_t upgraded = atomic_exchange(&audit->upgraded, 0);
        if (upgraded != 0 || !audit->led)
            begin(
                audit, upgraded != 0 ? upgraded : 1, clock_ms() + (upgraded != 0 ? 0 : audit->plan.pause_ms));
        audit->led = leads;
        if (leads)
            work(audit);
        else
            db_disconnect(audit->db);
    }
    return NULL;
}

struct audit *audit_start(const struct audit_settings *settings)
{
    struct audit *audit = NEW(struct audit);
    *audit = (struct audit){
        .db = db_new(&(struct db_settings){.url = settings->database_url, .name = "fairway audit"}),
        .feed = settings->feed,
        .plan = {.pause_ms = settings->pause_ms != 0 ? settings->pause_ms : PAUSE_MS},
        .stop = settings->stop};
    thread_start(&audit->thread, run, audit);
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

void audit_lead(struct audit *audit, bool leads)
{
    atomic_store(&audit->leads, leads);
}

void audit_upgraded(struct audit *audit, uint32_t ledger)
{
    atomic_store(&audit->upgraded, ledger);
}
