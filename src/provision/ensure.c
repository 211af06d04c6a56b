/* The loop that looks at the pool and does the next thing: whatever state a crash has left is one to go on
 * from. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "prepare.h"
#include "pool/submission.h"
#include "stellar/ledger.h"
#include "stellar/result.h"

#define FAILURES_MAX 5
#define SAY_EVERY_MS 10000

static void pause_for_a_poll(const struct provision *provision)
{
    clock_sleep_ms((int)provision->settings->poll_ms);
}

/* Logs what is waited for: at once, not at each poll. */
static void say_waiting(struct provision *provision, const char *why)
{
    if (strcmp(provision->said.text, why) == 0 && clock_left_ms(provision->next_said_ms) > 0)
        return;
    provision->next_said_ms = clock_ms() + SAY_EVERY_MS;
    detail_set(&provision->said, ERR_OK, "%s", why);
    log_info("waiting", "why=\"%s\"", why);
}

/* A transaction of the session around one change. */
static enum err change(struct provision *provision,
    enum err (*work)(struct provision *provision, const struct pool_counts *counts, struct detail *detail),
    const struct pool_counts *counts, struct detail *detail)
{
    enum err e = session_begin(&provision->session, detail);
    if (e == ERR_OK && (e = work(provision, counts, detail)) == ERR_OK)
        return db_commit(provision->session.db, detail);
    db_rollback(provision->session.db);
    return e;
}

/* How many accounts the next creation is for. */
static size_t creation_size(const struct provision *provision, const struct pool_counts *counts)
{
    size_t limit = prepare_limit(PROVISIONING_CREATION, provision->settings->max_fee_stroops);
    size_t missing = provision->wanted - (size_t)counts->active;
    return missing < limit ? missing : limit;
}

/* Keys that an earlier run has stored are used before new ones are made: they may be on their way. */
static enum err store_keys(
    struct provision *provision, const struct pool_counts *counts, struct detail *detail)
{
    struct generated_key keys[PROVISIONING_ACCOUNTS_MAX];
    size_t count = creation_size(provision, counts) - (size_t)counts->creating;
    enum err e = keyd_generate(provision->settings->keyd, count, keys);
    if (e != ERR_OK)
        return detail_set(detail, e, "no keys were made");
    return accounts_store(provision->session.db, keys, count, detail);
}

static enum err create(struct provision *provision, const struct pool_counts *counts, struct detail *detail)
{
    size_t size = creation_size(provision, counts);
    if ((size_t)counts->creating < size) {
        enum err e = change(provision, store_keys, counts, detail);
        if (e != ERR_OK)
            return e;
    }
    return prepare(provision, PROVISIONING_CREATION, size, detail);
}

static enum err retire(struct provision *provision, const struct pool_counts *counts, struct detail *detail)
{
    size_t retired;
    return accounts_retire(
        provision->session.db, counts->active - (int64_t)provision->wanted, &retired, detail);
}

/* Nothing that the RPC answers proves anything; it only tells whether somebody should look. */
static void send(struct provision *provision, const struct signed_submission *submission)
{
    static const char *const names[] = {[RPC_SEND_PENDING] = "PENDING",
        [RPC_SEND_DUPLICATE] = "DUPLICATE",
        [RPC_SEND_TRY_AGAIN_LATER] = "TRY_AGAIN_LATER",
        [RPC_SEND_ERROR] = "ERROR"};
    struct detail detail = {0};
    struct rpc_sent sent;
    char hex[HASH_HEX_SIZE];
    hash_encode(&submission->hash, hex);
    provision->send_due_ms = clock_ms() + (int64_t)provision->settings->ledger_seconds * 1000;
    enum err e = rpc_send(provision->rpc, buf_bytes(&submission->envelope), &sent, &detail);
    if (e != ERR_OK)
        log_warn("not sent, trying again", "hash=%s error=%s detail=\"%s\"", hex, err_code(e), detail.text);
    else if (sent.status == RPC_SEND_ERROR)
        log_warn("the network refuses the transaction for now", "hash=%s code=%s", hex,
            result_code_name(sent.code));
    else
        log_info("transaction sent", "hash=%s status=%s", hex, names[sent.status]);
}

/* Sends the pending submission, again once a ledger: a node forgets it after four. */
static enum err push(struct provision *provision, struct detail *detail)
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
    pause_for_a_poll(provision);
    return ERR_OK;
}

/* Learns how the latest transaction ended; too many that came to nothing end the run. */
static enum err learn(struct provision *provision, const struct pool_counts *counts, struct detail *detail)
{
    struct submission_outcome outcome;
    enum err e = submission_read_outcome(provision->session.db, &outcome, detail);
    if (e != ERR_OK)
        return e;
    if (outcome.pending) { /* a run that was ended left it */
        provision->last_seen = provision->last_seen < 0 ? 0 : provision->last_seen;
        return ERR_OK;
    }
    bool is_new = provision->last_seen >= 0 && outcome.any && outcome.id != provision->last_seen;
    provision->last_seen = outcome.any ? outcome.id : 0;
    if (!is_new)
        return ERR_OK;
    provision->send_due_ms = 0;
    if (outcome.succeeded) {
        provision->failures = 0;
        log_info("channel accounts", "active=%" PRId64 " wanted=%zu retiring=%" PRId64, counts->active,
            provision->wanted, counts->retiring);
        return ERR_OK;
    }
    log_warn("a transaction came to nothing", "kind=%s accounts=%zu outcome=\"%s\"",
        outcome.kind == PROVISIONING_MERGE ? "merge" : "creation", outcome.accounts, outcome.text);
    if (++provision->failures < FAILURES_MAX)
        return ERR_OK;
    provision->exhausted = true;
    return detail_set(detail, ERR_NOT_YET, "%u transactions in a row came to nothing, the last one: %s",
        provision->failures, outcome.text);
}

static enum err next_thing(
    struct provision *provision, const struct pool_counts *counts, struct detail *detail)
{
    int64_t wanted = (int64_t)provision->wanted;
    if (counts->pending)
        return push(provision, detail);
    if (counts->active < wanted)
        return create(provision, counts, detail);
    if (counts->active > wanted)
        return change(provision, retire, counts, detail);
    if (counts->retiring > counts->retiring_leased && counts->held) {
        say_waiting(provision, "retiring accounts may have leases that the database forgot");
        pause_for_a_poll(provision);
        return ERR_OK;
    }
    if (counts->retiring > counts->retiring_leased)
        return prepare(provision, PROVISIONING_MERGE, PROVISIONING_ACCOUNTS_MAX, detail);
    if (counts->retiring > 0) {
        say_waiting(provision, "retiring accounts have open leases");
        pause_for_a_poll(provision);
        return ERR_OK;
    }
    provision->done = true;
    return ERR_OK;
}

/* A pool as of ledgers ago says nothing about how many accounts there are: a restored database has accounts
 * that were merged since, and lacks those that were created. */
static enum err catch_up(struct provision *provision, const struct pool_counts *counts, struct detail *detail)
{
    struct rpc_health health = {0};
    if (provision->tip == 0) {
        enum err e = rpc_health(provision->rpc, &health, detail);
        if (e != ERR_OK)
            return e;
        if (!health.healthy)
            return ERR_RPC_UNAVAILABLE;
        provision->tip = health.latest_ledger;
    }
    if (counts->cursor >= provision->tip)
        return ERR_OK;
    provision->behind = true;
    say_waiting(provision, "ledgers are still to be ingested");
    pause_for_a_poll(provision);
    return ERR_OK;
}

/* One look and one thing done about it. */
static enum err step(struct provision *provision, struct pool_counts *counts, struct detail *detail)
{
    enum err e;
    struct detail why;
    provision->behind = false;
    if ((e = session_take(&provision->session, detail)) != ERR_OK ||
        (e = session_begin(&provision->session, detail)) != ERR_OK)
        return e;
    e = pool_counts_read(provision->session.db, counts, detail);
    db_rollback(provision->session.db);
    if (e == ERR_OK)
        e = learn(provision, counts, detail);
    if (e != ERR_OK)
        return e;
    /* without ledgers nothing ends: not a lease, and not what is under way */
    provision->behind = !ingest_ready(provision->settings->ingest, &why);
    if (provision->behind)
        return detail_set(detail, ERR_RPC_UNAVAILABLE, "%s", why.text);
    e = catch_up(provision, counts, detail);
    return e != ERR_OK || provision->behind ? e : next_thing(provision, counts, detail);
}

static bool is_passing(enum err e)
{
    return e == ERR_DATABASE_UNAVAILABLE || e == ERR_OUTCOME_UNKNOWN || e == ERR_NOT_REPLICATED ||
           e == ERR_RPC_UNAVAILABLE || e == ERR_RPC_REFUSED || e == ERR_SERIALIZATION || e == ERR_NOT_YET;
}

static enum err run(struct provision *provision, struct detail *detail)
{
    const int64_t patience_ms = (int64_t)provision->settings->patience_s * 1000;
    int64_t deadline_ms = clock_ms() + patience_ms;
    struct pool_counts counts = {0};
    while (!provision->done) {
        uint32_t cursor = counts.cursor;
        enum err e = step(provision, &counts, detail);
        /* ledgers close whatever fails: only what waits for them gets ahead with them */
        if (e == ERR_OK || e == ERR_NOT_LEADER || (provision->behind && counts.cursor != cursor))
            deadline_ms = clock_ms() + patience_ms;
        if (e == ERR_OK)
            continue;
        if (e != ERR_NOT_LEADER &&
            (!is_passing(e) || provision->exhausted || clock_left_ms(deadline_ms) == 0))
            return e == ERR_RPC_REFUSED ? ERR_RPC_UNAVAILABLE : e;
        say_waiting(provision, detail->text);
        pause_for_a_poll(provision);
    }
    log_info("channel accounts", "active=%" PRId64 " wanted=%zu quarantined=%" PRId64, counts.active,
        provision->wanted, counts.quarantined);
    return ERR_OK;
}

enum err provision_ensure(const struct provision_settings *settings, size_t wanted, struct detail *detail)
{
    struct provision provision = {
        .settings = settings,
        .session = session_new(settings->database_direct_url, &settings->network),
        .rpc = rpc_new(&(struct rpc_settings){.url = settings->rpc_url, .cancel_fd = -1}),
        .wanted = wanted,
        .last_seen = -1,
    };
    enum err e = run(&provision, detail);
    rpc_free(provision.rpc);
    session_free(&provision.session);
    return e;
}
