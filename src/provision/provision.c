/* A loop that reads the pool and takes the next action. It keeps no state that matters, so it continues from
 * whatever a crash left. How a transaction ended is never decided here: only the ledger transaction does
 * that. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "prepare.h"
#include "pool/submission.h"
#include "stellar/result.h"

#define FAILURES_MAX 5
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

/* Runs work in a transaction of the session. */
static enum err in_transaction(struct provision *provision,
    enum err (*work)(struct provision *provision, const struct pool_counts *counts, struct detail *detail),
    const struct pool_counts *counts, struct detail *detail)
{
    enum err e = session_begin(&provision->session, detail);
    if (e == ERR_OK && (e = work(provision, counts, detail)) == ERR_OK)
        return db_commit(provision->session.db, detail);
    db_rollback(provision->session.db);
    return e;
}

/* How many accounts the next transaction creates. */
static size_t creation_size(const struct provision *provision, const struct pool_counts *counts)
{
    size_t limit = prepare_limit(PROVISIONING_CREATION, provision->settings->max_fee_stroops);
    size_t missing = provision->wanted - (size_t)counts->active;
    return missing < limit ? missing : limit;
}

/* Keys that an earlier run stored are used first: a transaction with them may have been sent. */
static enum err store_keys(
    struct provision *provision, const struct pool_counts *counts, struct detail *detail)
{
    struct generated_key keys[PROVISIONING_ACCOUNTS_MAX];
    size_t count = creation_size(provision, counts) - (size_t)counts->creating;
    enum err e = keyd_generate(provision->settings->keyd, count, keys);
    if (e != ERR_OK)
        return detail_set(detail, e, "the key process generated no keys");
    return accounts_store(provision->session.db, keys, count, detail);
}

static enum err create(struct provision *provision, const struct pool_counts *counts, struct detail *detail)
{
    size_t size = creation_size(provision, counts);
    if ((size_t)counts->creating < size) {
        enum err e = in_transaction(provision, store_keys, counts, detail);
        if (e != ERR_OK)
            return e;
    }
    return prepare(provision, PROVISIONING_CREATION, size, detail);
}

static enum err retire(struct provision *provision, const struct pool_counts *counts, struct detail *detail)
{
    return accounts_retire(provision->session.db, counts->active - (int64_t)provision->wanted, detail);
}

/* The RPC's answer decides nothing, only a ledger does; it is logged for the operator. */
static void send(struct provision *provision, const struct signed_submission *submission)
{
    struct detail detail = {0};
    struct rpc_sent sent;
    char hex[HASH_HEX_SIZE];
    hash_encode(&submission->hash, hex);
    provision->send_due_ms = clock_ms() + (int64_t)provision->settings->ledger_ms;
    enum err e = rpc_send(provision->rpc, buf_bytes(&submission->envelope), &sent, &detail);
    if (e != ERR_OK)
        log_warn("sending the transaction failed; retrying", "hash=%s error=%s detail=\"%s\"", hex,
            err_code(e), detail.text);
    else if (sent.status == RPC_SEND_ERROR)
        log_warn("Stellar RPC refused the transaction; retrying", "hash=%s code=%s", hex,
            result_code_name(sent.code));
    else
        log_info("transaction sent", "hash=%s status=%s", hex, sent.name);
}

/* Sends the pending submission again for each ledger: a node drops it from its queue after four ledgers. */
static enum err resend(struct provision *provision, struct detail *detail)
{
    struct signed_submission submission CLEANUP(signed_submission_wipe) = {0};
    bool any;
    if (clock_left_ms(provision->send_due_ms) == 0) {
        enum err e = session_read_submission(&provision->session, &any, &submission, detail);
        if (e != ERR_OK)
            return e;
        if (any)
            send(provision, &submission);
    }
    pause_one_poll(provision);
    return ERR_OK;
}

/* Reads how the latest transaction ended. Too many failures in a row end the run. */
static enum err read_outcome(
    struct provision *provision, const struct pool_counts *counts, struct detail *detail)
{
    struct submission_outcome outcome;
    enum err e = submission_read_outcome(provision->session.db, &outcome, detail);
    if (e != ERR_OK)
        return e;
    if (outcome.pending) { /* an earlier run left it */
        provision->last_decided = provision->last_decided < 0 ? 0 : provision->last_decided;
        return ERR_OK;
    }
    bool is_new = provision->last_decided >= 0 && outcome.any && outcome.id != provision->last_decided;
    provision->last_decided = outcome.any ? outcome.id : 0;
    if (!is_new)
        return ERR_OK;
    provision->send_due_ms = 0;
    if (outcome.succeeded) {
        provision->failures = 0;
        log_info("provisioning transaction succeeded", "active=%" PRId64 " wanted=%zu retiring=%" PRId64,
            counts->active, provision->wanted, counts->retiring);
        return ERR_OK;
    }
    log_warn("provisioning transaction failed", "kind=%s accounts=%zu outcome=\"%s\"",
        outcome.kind == PROVISIONING_MERGE ? "merge" : "creation", outcome.accounts, outcome.text);
    if (++provision->failures < FAILURES_MAX)
        return ERR_OK;
    provision->out_of_retries = true;
    return detail_set(detail, ERR_NOT_YET, "%u provisioning transactions in a row failed, the last one: %s",
        provision->failures, outcome.text);
}

static enum err next_action(
    struct provision *provision, const struct pool_counts *counts, struct detail *detail)
{
    int64_t wanted = (int64_t)provision->wanted;
    if (counts->submission_pending)
        return resend(provision, detail);
    if (counts->active < wanted)
        return create(provision, counts, detail);
    if (counts->active > wanted)
        return in_transaction(provision, retire, counts, detail);
    if (counts->retiring > counts->retiring_leased && counts->grants_on_hold) {
        log_waiting(
            provision, "grants are on hold: retiring accounts may have leases that the database lost");
        pause_one_poll(provision);
        return ERR_OK;
    }
    if (counts->retiring > counts->retiring_leased)
        return prepare(provision, PROVISIONING_MERGE, PROVISIONING_ACCOUNTS_MAX, detail);
    if (counts->retiring > 0) {
        log_waiting(provision, "retiring accounts have open leases");
        pause_one_poll(provision);
        return ERR_OK;
    }
    provision->done = true;
    return ERR_OK;
}

/* Waits until the ledgers that had closed when the run began are ingested. Without them the counts are stale:
 * a restored database still has the accounts that were merged after the backup, and lacks those created after
 * it. */
static enum err catch_up(struct provision *provision, const struct pool_counts *counts, struct detail *detail)
{
    struct rpc_health health = {0};
    struct detail why;
    if (provision->network_ledger == 0) {
        enum err e = rpc_health(provision->rpc, &health, detail);
        if (e != ERR_OK)
            return e;
        if (!health.healthy)
            return ERR_RPC_UNAVAILABLE;
        provision->network_ledger = health.latest_ledger;
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

/* Reads the pool and takes one action. */
static enum err step(struct provision *provision, struct pool_counts *counts, struct detail *detail)
{
    enum err e;
    struct detail why;
    provision->waits_for_ledgers = false;
    if ((e = session_take(&provision->session, detail)) != ERR_OK ||
        (e = session_begin(&provision->session, detail)) != ERR_OK)
        return e;
    e = pool_counts_read(provision->session.db, counts, detail);
    db_rollback(provision->session.db);
    if (e == ERR_OK)
        e = read_outcome(provision, counts, detail);
    if (e != ERR_OK)
        return e;
    /* without ledgers no lease ends and no submission is decided */
    provision->waits_for_ledgers = !ingest_ready(provision->settings->ingest, &why);
    if (provision->waits_for_ledgers)
        return detail_set(detail, ERR_RPC_UNAVAILABLE, "%s", why.text);
    e = catch_up(provision, counts, detail);
    return e != ERR_OK || provision->waits_for_ledgers ? e : next_action(provision, counts, detail);
}

static enum err run(struct provision *provision, struct detail *detail)
{
    const int64_t timeout_ms = (int64_t)provision->settings->timeout_s * 1000;
    int64_t deadline_ms = clock_ms() + timeout_ms;
    struct pool_counts counts = {0};
    while (!provision->done) {
        uint32_t cursor = counts.cursor_sequence;
        *detail = (struct detail){0}; /* no reason of an earlier step */
        enum err e = step(provision, &counts, detail);
        /* A new ledger is progress only for a run that waits for ledgers: they close whatever else fails. */
        if (e == ERR_OK || e == ERR_NOT_LEADER ||
            (provision->waits_for_ledgers && counts.cursor_sequence != cursor))
            deadline_ms = clock_ms() + timeout_ms;
        if (e == ERR_OK)
            continue;
        if (e != ERR_NOT_LEADER &&
            (!err_is_transient(e) || provision->out_of_retries || clock_left_ms(deadline_ms) == 0))
            return e == ERR_RPC_REFUSED ? ERR_RPC_UNAVAILABLE : e;
        log_waiting(provision, detail->text[0] != '\0' ? detail->text : err_text(e));
        pause_one_poll(provision);
    }
    log_info("the pool has the wanted size", "active=%" PRId64 " wanted=%zu quarantined=%" PRId64,
        counts.active, provision->wanted, counts.quarantined);
    return ERR_OK;
}

enum err provision_ensure(const struct provision_settings *settings, size_t wanted, struct detail *detail)
{
    struct provision provision = {
        .settings = settings,
        .session = session_new(settings->database_url, &settings->network),
        .rpc = rpc_new(&(struct rpc_settings){.url = settings->rpc_url, .cancel_fd = -1}),
        .wanted = wanted,
        .last_decided = -1,
    };
    enum err e = run(&provision, detail);
    rpc_free(provision.rpc);
    session_free(&provision.session);
    return e;
}
