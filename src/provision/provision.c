/* A loop that reads the pool and takes the next action. It keeps no state that matters, so it continues from
 * whatever a crash left. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "prepare.h"
#include "pool/provisioning.h"

#define FAILURES_MAX 5 /* ledgers in a row */
#define IDLE_SHARE 4   /* of the idle accounts, at most one in so many is a source: the others serve */
#define LOG_EVERY_MS 10000

static void pause_one_poll(const struct provision *provision)
{
    clock_sleep_ms((int)provision->settings->poll_ms);
}

/* Logs a new reason at once, and the same one, with whatever numbers, every 10 s. */
static void log_waiting(struct provision *provision, const char *reason)
{
    if (text_equal_but_digits(provision->logged.text, reason) && clock_left_ms(provision->next_log_ms) > 0)
        return;
    provision->next_log_ms = clock_ms() + LOG_EVERY_MS;
    detail_set(&provision->logged, ERR_OK, "%s", reason);
    log_info("ensure-accounts is waiting", "reason=\"%s\"", reason);
}

/* Keys that an earlier run stored are used first: a transaction with them may have been sent. */
static enum err store_keys(struct provision *provision, size_t count, struct detail *detail)
{
    struct generated_key keys[KEYD_IMPORT_BATCH];
    enum err e = keyd_generate(provision->settings->keyd, count, keys);
    if (e != ERR_OK)
        return detail_set(detail, e, "the key process generated no keys");
    if ((e = session_begin(&provision->session, detail)) == ERR_OK)
        e = accounts_store(provision->session.db, keys, NULL, count, 0, detail);
    e = session_end(&provision->session, e, detail);
    if (e == ERR_OK)
        provision->counts.creating += (int64_t)count;
    return e;
}

static enum err retire(struct provision *provision, struct detail *detail)
{
    provision->count_again = true;
    enum err e = session_begin(&provision->session, detail);
    if (e == ERR_OK)
        e = accounts_retire(
            provision->session.db, provision->counts.active - (int64_t)provision->wanted, detail);
    return session_end(&provision->session, e, detail);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many transactions of a kind may be pending: as many as fit into nine tenths of the operations that
 * others leave in a ledger, and as there are sources for; but always one. Those of merges are retiring
 * accounts; those of creations only a share of the idle ones. */
static size_t limit(const struct provision *provision, enum provisioning_kind kind)
{
    const struct pool_counts *counts = &provision->counts;
    const int64_t each = (int64_t)provisioning_tx_operations(kind, PROVISIONING_ACCOUNTS_MAX, true),
                  fit = provision->room * 9 / 10 / each,
                  sources = kind == PROVISIONING_MERGE ? (counts->retiring - counts->merges_pending) /
                                                             (PROVISIONING_ACCOUNTS_MAX + 1)
                                                       : counts->idle / IDLE_SHARE;
    const size_t most = (size_t)(fit < sources ? fit : sources);
    return most == 0 ? 1 : smaller(most, OUTGOING_MAX);
}

/* Stores transactions for up to this many accounts, as long as more may be pending. */
static enum err prepare_all(
    struct provision *provision, enum provisioning_kind kind, size_t accounts, struct detail *detail)
{
    const size_t first = provision->outgoing.count, most = limit(provision, kind);
    enum err e = ERR_OK;
    for (size_t before = SIZE_MAX; e == ERR_OK && accounts > 0 && provision->outgoing.count != before &&
                                   provision->outgoing.count < most;) {
        before = provision->outgoing.count;
        e = prepare(provision, kind, accounts, detail);
        if (provision->outgoing.count > before)
            accounts -= provision->outgoing.items[before].accounts;
    }
    if (e == ERR_OK && provision->none_idle_since > 0 && provision->outgoing.count == 0)
        log_waiting(provision, "no channel account is idle, and one must be the source of the transaction");
    return e == ERR_NOT_YET && provision->outgoing.count > first ? ERR_OK : e;
}

static enum err create(struct provision *provision, size_t missing, struct detail *detail)
{
    const struct pool_counts *counts = &provision->counts;
    const size_t pending = provision->outgoing.count, most = limit(provision, PROVISIONING_CREATION),
                 free = most > pending ? most - pending : 0,
                 next = smaller(missing, free * PROVISIONING_ACCOUNTS_MAX);
    enum err e = ERR_OK;
    for (int64_t keys;
         e == ERR_OK && (keys = counts->creations_pending + (int64_t)next - counts->creating) > 0;)
        e = store_keys(provision, smaller((size_t)keys, KEYD_IMPORT_BATCH), detail);
    return e == ERR_OK ? prepare_all(provision, PROVISIONING_CREATION, next, detail) : e;
}

/* Merges retiring accounts that are free, or logs why it cannot yet. */
static enum err merge(struct provision *provision, int64_t free, struct detail *detail)
{
    if (provision->counts.grants_on_hold)
        log_waiting(
            provision, "grants are on hold: retiring accounts may have leases that the database lost");
    else if (free > 0)
        return prepare_all(provision, PROVISIONING_MERGE, (size_t)free, detail);
    else if (provision->counts.retiring == provision->counts.retiring_leased)
        log_waiting(provision, "retiring accounts have open leases");
    return ERR_OK;
}

/* Sends what is due, stores what may be pending beside it, and waits when there was nothing to do. */
static enum err next_action(struct provision *provision, struct detail *detail)
{
    const struct pool_counts *counts = &provision->counts;
    struct outgoing *outgoing = &provision->outgoing;
    const int64_t wanted = (int64_t)provision->wanted;
    enum err e =
        outgoing_send(outgoing, &provision->session, provision->rpc, provision->settings->ledger_ms, detail);
    if (e != ERR_OK)
        return e;
    if (counts->active + counts->creations_pending < wanted)
        e = create(provision, (size_t)(wanted - counts->active - counts->creations_pending), detail);
    else if (counts->active > wanted)
        e = retire(provision, detail);
    else if (counts->retiring > 0)
        e = merge(provision, counts->retiring - counts->retiring_leased - counts->merges_pending, detail);
    else if (outgoing->count == 0) {
        provision->done = provision->counted; /* else they are counted once more */
        provision->count_again = true;
        return ERR_OK;
    }
    if (e == ERR_OK && !outgoing->changed && !provision->count_again)
        pause_one_poll(provision);
    return e;
}

/* How ledgers have decided transactions since it was read. */
static enum err read_outcomes(struct provision *provision, struct detail *detail)
{
    struct provisioning_outcomes outcomes;
    enum err e =
        provisioning_read_outcomes(provision->session.db, provision->judged_ledger, &outcomes, detail);
    if (e != ERR_OK)
        return e;
    provision->judged_ledger = provision->counts.cursor_sequence;
    if (outcomes.text[0] != '\0')
        log_warn("provisioning transaction failed", "outcome=\"%s\" failed=%zu expired=%zu succeeded=%zu",
            outcomes.text, outcomes.failed, outcomes.expired, outcomes.succeeded);
    if (outcomes.succeeded > 0)
        provision->failures = provision->raises = 0;
    else if (outcomes.failed + outcomes.expired > 0)
        provision->raises++;
    if (outcomes.succeeded > 0 || outcomes.failed == 0 || ++provision->failures < FAILURES_MAX)
        return ERR_OK;
    provision->out_of_retries = true;
    return detail_set(detail, ERR_NOT_YET,
        "in %u ledgers in a row provisioning transactions failed, the last one: %s", provision->failures,
        outcomes.text);
}

static void log_progress(struct provision *provision)
{
    const struct pool_counts *counts = &provision->counts;
    if (clock_left_ms(provision->next_progress_ms) > 0 ||
        ((int64_t)provision->wanted == counts->active && counts->retiring == 0))
        return;
    provision->next_progress_ms = clock_ms() + LOG_EVERY_MS;
    log_info("the pool is changing",
        "active=%" PRId64 " wanted=%zu retiring=%" PRId64 " creations_pending=%" PRId64
        " merges_pending=%" PRId64,
        counts->active, provision->wanted, counts->retiring, counts->creations_pending,
        counts->merges_pending);
}

/* Counts the pool only after a ledger and after what this run has written: that reads each account. */
static enum err read_pool(struct provision *provision, struct detail *detail)
{
    struct db *db = provision->session.db;
    struct pool_counts *counts = &provision->counts, now;
    enum err e = pool_counts_read(db, false, &now, detail);
    provision->counted = false;
    if (e != ERR_OK)
        return e;
    if (now.cursor_sequence == counts->cursor_sequence && !provision->count_again) {
        counts->grants_on_hold = now.grants_on_hold;
        return ERR_OK;
    }
    if ((e = pool_counts_read(db, true, counts, detail)) != ERR_OK)
        return e;
    if (provision->settings->only_grows && counts->active > (int64_t)provision->wanted)
        provision->wanted = (size_t)counts->active;
    if (provision->judged_ledger == 0) /* what an earlier run has sent, and was decided, is its own affair */
        provision->judged_ledger = counts->cursor_sequence;
    provision->counted = true;
    provision->count_again = false;
    provision->outgoing.changed = true;
    e = read_outcomes(provision, detail);
    if (e == ERR_OK)
        e = provisioning_read_room(db, &provision->room, detail);
    if (e == ERR_OK)
        log_progress(provision);
    return e;
}

/* Waits until the ledgers that had closed when the run began are ingested. Without them the counts are stale:
 * a restored database still has the accounts that were merged after the backup, and lacks those created after
 * it. */
static enum err catch_up(struct provision *provision, struct detail *detail)
{
    const struct pool_counts *counts = &provision->counts;
    struct account_entry distribution;
    struct detail why;
    if (counts->cursor_sequence < provision->network_ledger) {
        uint32_t ledger; /* an answer that is refused has one too; a later one corrects a false one */
        enum err e = rpc_accounts(
            provision->rpc, &provision->settings->distribution, 1, &distribution, &ledger, detail);
        if (e != ERR_OK)
            return e;
        if (ledger < provision->network_ledger)
            provision->network_ledger = ledger;
    }
    if (counts->cursor_sequence >= provision->network_ledger)
        return ERR_OK;
    provision->waits_for_ledgers = true;
    detail_write(&why,
        "ledger %" PRIu32 " has closed, and the process that leads ingestion has committed ledger %" PRIu32,
        provision->network_ledger, counts->cursor_sequence);
    log_waiting(provision, why.text);
    pause_one_poll(provision);
    return ERR_OK;
}

/* Without them no lease ends and no transaction is decided. Old ones that are caught up with do not count. */
static bool has_recent_ledgers(const struct provision *provision, struct detail *why)
{
    const struct pool_counts *counts = &provision->counts;
    if (!ingest_ready(provision->settings->ingest, why))
        return false;
    if (counts->cursor_lag_s <= grants_clock_slack_s(provision->settings->ledger_ms))
        return true;
    detail_write(why, "the last ledger committed, %" PRIu32 ", closed %" PRId64 " s ago; later ones come in",
        counts->cursor_sequence, counts->cursor_lag_s);
    return false;
}

/* Reads the pool and takes one action. */
static enum err step(struct provision *provision, struct detail *detail)
{
    enum err e;
    struct detail why;
    provision->waits_for_ledgers = false;
    if ((e = session_take(&provision->session, detail)) != ERR_OK ||
        (e = session_begin(&provision->session, detail)) != ERR_OK)
        return e;
    e = read_pool(provision, detail);
    db_rollback(provision->session.db);
    if (e != ERR_OK)
        return e;
    provision->waits_for_ledgers = !has_recent_ledgers(provision, &why);
    if (provision->waits_for_ledgers)
        return detail_set(detail, ERR_RPC_UNAVAILABLE, "%s", why.text);
    e = catch_up(provision, detail);
    return e != ERR_OK || provision->waits_for_ledgers ? e : next_action(provision, detail);
}

static enum err run(struct provision *provision, struct detail *detail)
{
    const int64_t timeout_ms = (int64_t)provision->settings->timeout_s * 1000;
    int64_t deadline_ms = clock_ms() + timeout_ms;
    const struct pool_counts *counts = &provision->counts;
    while (!provision->done) {
        const uint32_t cursor = counts->cursor_sequence;
        *detail = (struct detail){0}; /* no reason of an earlier step */
        enum err e = step(provision, detail);
        /* A new ledger is progress only for a run that waits for ledgers: they close whatever else fails. */
        if (e == ERR_OK || e == ERR_NOT_LEADER ||
            (provision->waits_for_ledgers && counts->cursor_sequence != cursor))
            deadline_ms = clock_ms() + timeout_ms;
        if (e == ERR_OK)
            continue;
        provision->count_again = true; /* what failed may have been committed */
        if (e != ERR_NOT_LEADER &&
            (!err_is_transient(e) || provision->out_of_retries || clock_left_ms(deadline_ms) == 0))
            return e == ERR_RPC_REFUSED ? ERR_RPC_UNAVAILABLE : e;
        log_waiting(provision, detail->text[0] != '\0' ? detail->text : err_text(e));
        pause_one_poll(provision);
    }
    log_info("the pool has the wanted size", "active=%" PRId64 " wanted=%zu quarantined=%" PRId64,
        counts->active, provision->wanted, counts->quarantined);
    return ERR_OK;
}

enum err provision_ensure(const struct provision_settings *settings, size_t *wanted, struct detail *detail)
{
    struct provision provision = {
        .settings = settings,
        .session = session_new(settings->database_url, &settings->network),
        .rpc = rpc_new(&(struct rpc_settings){.url = settings->rpc_url}),
        .wanted = *wanted,
        .network_ledger = UINT32_MAX,
        .next_progress_ms = clock_ms() + LOG_EVERY_MS,
    };
    enum err e = run(&provision, detail);
    *wanted = provision.wanted;
    rpc_free(provision.rpc);
    session_free(&provision.session);
    return e;
}
