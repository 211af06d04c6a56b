/* Recovery from a gap. Nothing is written here but the stop of grants: the rest is one ledger transaction. */
#include "gap.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "pool/grants_allowed.h"
#include "stellar/result.h"

/* An account that is not retired, as the database has it. */
struct gap_account {
    struct public_key key;
    bool active;
    int64_t provisioning; /* the id of the one that creates or merges it; 0: none */
    bool leased;          /* it has an open lease: */
    struct hash lease;
    int64_t lease_sequence;
};

/* What is compared: the database, then the network. */
struct reading {
    struct feed feed;
    struct follow *follow;
    const struct lead *lead;
    uint32_t above; /* what is read must be as of a later ledger: the last committed one; 0: that has a false
                       number */
    struct gap_account *accounts;
    size_t count;
    struct account_snapshot *sources; /* of the provisioning transactions */
    uint32_t oldest;                  /* ledger as of which something was read; 0: nothing yet */
    struct gap_evidence evidence;
};

static void reading_free(struct reading *reading)
{
    free(reading->accounts);
    free(reading->sources);
    free(reading->evidence.reads.accounts);
    free(reading->evidence.reads.fates);
    provisioning_pending_free(&reading->evidence.provisioning);
    frozen_accounts_free(&reading->evidence.reads.frozen);
}

/* ---- the database */

static const char sql_snapshot[] = "SELECT a.public_key, a.state = 'active', coalesce(" PROVISIONING_ID
                                   ", 0), a.lease_hash, a.lease_sequence"
                                   " FROM fairway.pool_accounts a ORDER BY a.slot";

static enum err read_row(
    const struct db_rows *rows, size_t row, struct gap_account *out, struct detail *detail)
{
    *out = (struct gap_account){.active = db_bool(rows, row, 1),
        .provisioning = db_i64(rows, row, 2),
        .leased = !db_is_null(rows, row, 3)};
    if (out->leased) {
        db_copy(rows, row, 3, out->lease.bytes, sizeof out->lease.bytes);
        out->lease_sequence = db_i64(rows, row, 4);
    }
    return address_decode(db_text(rows, row, 0), &out->key) == ERR_OK
               ? ERR_OK
               : detail_set(detail, ERR_INTERNAL, "malformed row of account %s", db_text(rows, row, 0));
}

/* Accounts, their open leases, and the provisioning transactions. */
static enum err read_database(struct reading *reading, struct detail *detail)
{
    const struct db_statement statements[] = {DB_SQL0(provisioning_sql), DB_SQL0(sql_snapshot)};
    AUTO_ROWS_OF(rows, statements);
    enum err e = db_run(reading->lead->db, statements, ARRAY_LEN(statements), rows, detail);
    if (e != ERR_OK)
        return e;
    reading->accounts = NEW_ARRAY(db_count(rows[1]), struct gap_account);
    e = provisioning_read_pending(rows[0], &reading->evidence.provisioning, detail);
    for (size_t row = 0; e == ERR_OK && row < db_count(rows[1]); row++)
        e = read_row(rows[1], row, &reading->accounts[reading->count++], detail);
    return e;
}

/* ---- the network */

/* Between two looks for the ledger that proves the new cursor. */
#define PROOF_POLL_MS 50

/* With no link to the last committed ledger, the passphrase alone identifies the network. */
static enum err check_network(struct reading *reading, struct detail *detail)
{
    struct rpc_network served CLEANUP(rpc_network_free) = {0};
    enum err e = reading->feed.network(reading->feed.source, &served, detail);
    if (e != ERR_OK)
        return e;
    struct network_id id = network_id_of(served.passphrase);
    if (memcmp(id.bytes, reading->lead->network.bytes, sizeof id.bytes) != 0)
        return detail_set(detail, ERR_LEDGER_MISMATCH,
            "Stellar RPC serves another network, \"%.60s\": set RPC_URL to one of this database's network",
            served.passphrase);
    return ERR_OK;
}

/* An answer as of the cursor or an older ledger would undo what later ledgers have written. */
static enum err read_as_of(struct reading *reading, uint32_t ledger, struct detail *detail)
{
    if (ledger <= reading->above)
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "Stellar RPC answers as of ledger %u, which is not after the last committed one, %u", ledger,
            reading->above);
    if (reading->oldest == 0 || ledger < reading->oldest)
        reading->oldest = ledger;
    return ERR_OK;
}

static enum err read_some(struct reading *reading, const struct public_key keys[], size_t count,
    struct account_snapshot out[], struct detail *detail)
{
    struct account_entry answers[RPC_ENTRIES_MAX];
    uint32_t ledger;
    enum err e = reading->feed.accounts(reading->feed.source, keys, count, answers, &ledger, detail);
    if (e == ERR_OK)
        e = read_as_of(reading, ledger, detail);
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        out[i] = (struct account_snapshot){answers[i], ledger};
    return e;
}

static enum err read_accounts(struct reading *reading, struct detail *detail)
{
    const struct provisioning_list *provisioning = &reading->evidence.provisioning;
    struct gap_reads *reads = &reading->evidence.reads;
    struct public_key keys[RPC_ENTRIES_MAX];
    enum err e = ERR_OK;
    reads->accounts = NEW_ARRAY(reading->count, struct account_snapshot);
    reading->sources = NEW_ARRAY(provisioning->count, struct account_snapshot);
    while (e == ERR_OK && reads->account_count < reading->count) {
        size_t begin = reads->account_count, count = 0;
        for (; count < RPC_ENTRIES_MAX && begin + count < reading->count; count++)
            keys[count] = reading->accounts[begin + count].key;
        e = read_some(reading, keys, count, &reads->accounts[begin], detail);
        reads->account_count += count;
    }
    for (size_t i = 0; e == ERR_OK && i < provisioning->count; i++)
        e = read_some(reading, &provisioning->items[i].source, 1, &reading->sources[i], detail);
    return e;
}

static enum err read_frozen(struct reading *reading, struct detail *detail)
{
    uint32_t ledger;
    enum err e = reading->feed.frozen(reading->feed.source, &reading->evidence.reads.frozen, &ledger, detail);
    return e != ERR_OK ? e : read_as_of(reading, ledger, detail);
}

/* A network that was reset under the same name has none of the accounts. */
static enum err check_not_reset(const struct reading *reading, struct detail *detail)
{
    size_t active = 0, found = 0;
    for (size_t i = 0; i < reading->count; i++) {
        bool counts = reading->accounts[i].active;
        active += counts;
        found += counts && !reading->evidence.reads.accounts[i].account.removed;
    }
    if (active > 0 && found == 0)
        return detail_set(detail, ERR_LEDGER_MISMATCH,
            "none of the %zu active accounts is on the network: it may have been reset. " CURSOR_RESET,
            active);
    return ERR_OK;
}

/* Waits for the signed ledger that proves the new cursor; nothing of its header is used before. */
static enum err read_ledger(struct reading *reading, struct detail *detail)
{
    static const struct cursor unknown = {0};
    const int64_t deadline_ms = clock_ms() + reading->follow->ledger_ms * FOLLOW_UNSIGNED_MAX;
    struct follow_ledger found;
    enum err e;
    while ((e = follow_next(reading->follow, &unknown, reading->oldest, true, &found, detail)) ==
               ERR_LEDGER_AHEAD &&
           clock_left_ms(deadline_ms) > 0)
        clock_sleep_ms(PROOF_POLL_MS);
    if (e == ERR_LEDGER_GAP || e == ERR_LEDGER_AHEAD)
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "Stellar RPC answers as of ledger %u, which it does not have, or which nothing proves",
            reading->oldest);
    if (e != ERR_OK)
        return e;
    reading->evidence.ledger = found.ledger;
    if (found.ledger->close_time_s >= reading->lead->cursor.close_time_s)
        return ERR_OK;
    return detail_set(detail, ERR_LEDGER_MISMATCH,
        "ledger %u closed before the last committed one. " CURSOR_RESET, reading->oldest);
}

/* Whether each account of the provisioning transaction is as its success would leave it. */
static bool is_done(const struct reading *reading, const struct provisioning_pending *pending)
{
    for (size_t i = 0; i < reading->count; i++) {
        const bool exists = !reading->evidence.reads.accounts[i].account.removed;
        if (reading->accounts[i].provisioning == pending->id &&
            exists != (pending->kind == PROVISIONING_CREATION))
            return false;
    }
    return true;
}

/* Whether what getTransaction says about the pending transaction agrees with the accounts. The ledgers up to
 * the cursor did not have it. */
static enum err check_found(const struct reading *reading, const struct provisioning_pending *pending,
    const struct account_snapshot *source, const struct rpc_transaction *found, struct detail *detail)
{
    if (found->status == RPC_TRANSACTION_NOT_FOUND) {
        if (found->latest_ledger >= source->ledger)
            return ERR_OK;
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "Stellar RPC searched for the provisioning transaction only up to ledger %u, after it had "
            "returned accounts as of ledger %u",
            found->latest_ledger, source->ledger);
    }
    const bool consumed = source->account.removed || found->ledger > source->ledger ||
                          !result_consumes_sequence(found->code) ||
                          source->account.sequence >= pending->sequence;
    if (found->ledger > reading->above && consumed)
        return ERR_OK;
    return detail_set(detail, ERR_RPC_UNAVAILABLE,
        "Stellar RPC says that the provisioning transaction is in ledger %u, which contradicts %s",
        found->ledger, consumed ? "the ledgers that were committed" : "the sequence number of its source");
}

static enum err judge_provisioning(struct reading *reading, struct detail *detail)
{
    struct provisioning_list *provisioning = &reading->evidence.provisioning;
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < provisioning->count; i++) {
        struct provisioning_pending *pending = &provisioning->items[i];
        const struct account_snapshot *source = &reading->sources[i];
        struct rpc_transaction found;
        if ((e = reading->feed.transaction(reading->feed.source, &pending->hash, &found, detail)) != ERR_OK ||
            (e = check_found(reading, pending, source, &found, detail)) != ERR_OK)
            return e;
        const bool included = found.status != RPC_TRANSACTION_NOT_FOUND;
        const struct provisioning_snapshot snapshot = {.found_ledger = included ? found.ledger : 0,
            .code = found.code,
            .source = &source->account,
            .done = is_done(reading, pending)};
        pending->fate = provisioning_judge_after_gap(pending, &snapshot, reading->evidence.ledger);
    }
    return e;
}

/* Uses an answer only if its ledger is after the cursor and not after the one as of which the account was
 * read. An RPC that does not support the request, or limits its rate, does not stop the recovery. */
static enum err read_fate(
    struct reading *reading, const struct gap_account *account, uint32_t as_of, struct detail *detail)
{
    struct gap_reads *reads = &reading->evidence.reads;
    struct rpc_transaction found;
    enum err e = reading->feed.transaction(reading->feed.source, &account->lease, &found, detail);
    if (e == ERR_RPC_REFUSED || e == ERR_RPC_UNAVAILABLE)
        return ERR_OK;
    if (e != ERR_OK || found.status == RPC_TRANSACTION_NOT_FOUND || found.ledger <= reading->above ||
        found.ledger > as_of)
        return e;
    reads->fates[reads->fate_count++] = (struct lease_fate){.hash = account->lease,
        .account = account->key,
        .sequence = account->lease_sequence,
        .code = found.code,
        .ledger = found.ledger,
        .result = found.result};
    return ERR_OK;
}

/* Asks about each lease whose sequence number is consumed. The last read: an RPC that limits rates may refuse
 * everything after it. */
static enum err read_fates(struct reading *reading, struct detail *detail)
{
    const int64_t deadline_ms = clock_ms() + GAP_LEASES_MS;
    enum err e = ERR_OK;
    reading->evidence.reads.fates = NEW_ARRAY(reading->count, struct lease_fate);
    for (size_t i = 0; e == ERR_OK && i < reading->count; i++) {
        const struct gap_account *account = &reading->accounts[i];
        const struct account_snapshot *read = &reading->evidence.reads.accounts[i];
        bool consumed = read->account.removed || read->account.sequence >= account->lease_sequence;
        if (account->leased && consumed && clock_left_ms(deadline_ms) > 0)
            e = read_fate(reading, account, read->ledger, detail);
    }
    return e;
}

/* ---- the recovery */

enum err gap_recover(struct lead *lead, struct follow *follow, bool renumbered, struct ledger_committed *out,
    struct detail *detail)
{
    struct reading reading CLEANUP(reading_free) = {.feed = rpcs_feed(follow->rpcs),
        .follow = follow,
        .lead = lead,
        .above = renumbered ? 0 : lead->cursor.sequence};
    enum err e;
    *out = (struct ledger_committed){0};
    /* A grant that is committed after the database was read would be missing. */
    if ((e = grants_stop_for_gap(lead->db, lead->term, detail)) != ERR_OK ||
        (e = grants_wait_out(lead->db, detail)) != ERR_OK || (e = read_database(&reading, detail)) != ERR_OK)
        return e;
    if ((e = check_network(&reading, detail)) != ERR_OK || (e = read_accounts(&reading, detail)) != ERR_OK ||
        (e = read_frozen(&reading, detail)) != ERR_OK || (e = check_not_reset(&reading, detail)) != ERR_OK ||
        (e = read_ledger(&reading, detail)) != ERR_OK ||
        (e = judge_provisioning(&reading, detail)) != ERR_OK || (e = read_fates(&reading, detail)) != ERR_OK)
        return e;
    return ledger_commit_after_gap(lead, &reading.evidence, out, detail);
}
