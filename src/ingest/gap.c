/* Recovery from a gap. Nothing is written here but the stop of grants: the rest is one ledger transaction. */
#include "gap.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "pool/grants_allowed.h"
#include "stellar/result.h"

/* ---- the database */

/*
 * The part of the database that a recovery from a gap compares with the network: the accounts, their open
 * leases, and the provisioning transactions.
 */
struct gap_account {
    struct public_key key;
    bool active;
    int64_t provisioning; /* the id of the one that creates or merges it; 0: none */
    bool leased;          /* it has an open lease: */
    struct hash lease;
    int64_t lease_sequence;
};

struct gap_snapshot {
    struct gap_account *accounts; /* all that are not retired */
    size_t count;
    struct provisioning_list provisioning;
};

static const char sql_snapshot[] = "SELECT a.public_key, a.state = 'active', coalesce(" PROVISIONING_ID
                                   ", 0), a.lease_hash, a.lease_sequence"
                                   " FROM fairway.pool_accounts a ORDER BY a.slot";

static enum err read_row(
    const struct db_rows *rows, size_t row, struct gap_account *out, struct detail *detail)
{
    struct bytes lease = db_bytea(rows, row, 3);
    *out = (struct gap_account){
        .active = db_bool(rows, row, 1), .provisioning = db_i64(rows, row, 2), .leased = lease.data != NULL};
    if (address_decode(db_text(rows, row, 0), &out->key) != ERR_OK ||
        (out->leased && lease.len != sizeof out->lease.bytes))
        return detail_set(detail, ERR_INTERNAL, "malformed row of account %s", db_text(rows, row, 0));
    if (out->leased) {
        memcpy(out->lease.bytes, lease.data, lease.len);
        out->lease_sequence = db_i64(rows, row, 4);
    }
    return ERR_OK;
}

/* Before the call, the caller stops grants and waits for those in flight, so that none commits afterwards.
 * Free the snapshot also after an error. */
static enum err gap_snapshot_read(struct db *db, struct gap_snapshot *out, struct detail *detail)
{
    const struct db_statement statements[] = {provisioning_statement(), DB_SQL0(sql_snapshot)};
    AUTO_ROWS_OF(rows, statements);
    *out = (struct gap_snapshot){0};
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    if (e == ERR_OK)
        e = provisioning_read_pending(rows[0], &out->provisioning, detail);
    if (e == ERR_OK)
        out->accounts = NEW_ARRAY(db_count(rows[1]), struct gap_account);
    for (size_t row = 0; e == ERR_OK && row < db_count(rows[1]); row++)
        e = read_row(rows[1], row, &out->accounts[out->count++], detail);
    return e;
}

static void gap_snapshot_free(struct gap_snapshot *snapshot)
{
    free(snapshot->accounts);
    provisioning_pending_free(&snapshot->provisioning);
}

/* ---- the network */

/* Between two looks for the ledger that proves the new cursor. */
#define PROOF_POLL_MS 50

/* The evidence while it is read. */
struct reading {
    struct feed feed;
    struct follow *follow;
    const struct network_id *network;
    const struct cursor *cursor;
    uint32_t above; /* what is read must be as of a later ledger: the last committed one; 0: that has a false
                       number */
    struct gap_snapshot *snapshot;
    struct gap_evidence *out;
    uint32_t oldest;                  /* ledger as of which something was read; 0: nothing yet */
    struct account_snapshot *sources; /* of the provisioning transactions */
};

static void gap_evidence_free(struct gap_evidence *evidence)
{
    free(evidence->reads.accounts);
    free(evidence->reads.fates);
    provisioning_pending_free(&evidence->provisioning);
    frozen_accounts_free(&evidence->reads.frozen);
}

/* With no link to the last committed ledger, the passphrase alone identifies the network. */
static enum err check_network(struct reading *reading, struct detail *detail)
{
    struct rpc_network served CLEANUP(rpc_network_free) = {0};
    enum err e = reading->feed.network(reading->feed.source, &served, detail);
    if (e != ERR_OK)
        return e;
    struct network_id id = network_id_of(served.passphrase);
    if (memcmp(id.bytes, reading->network->bytes, sizeof id.bytes) != 0)
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
    const struct gap_snapshot *snapshot = reading->snapshot;
    struct gap_reads *reads = &reading->out->reads;
    struct public_key keys[RPC_ENTRIES_MAX];
    enum err e = ERR_OK;
    reads->accounts = NEW_ARRAY(snapshot->count, struct account_snapshot);
    while (e == ERR_OK && reads->account_count < snapshot->count) {
        size_t begin = reads->account_count, count = 0;
        while (count < RPC_ENTRIES_MAX && begin + count < snapshot->count) {
            keys[count] = snapshot->accounts[begin + count].key;
            count++;
        }
        e = read_some(reading, keys, count, &reads->accounts[begin], detail);
        reads->account_count += count;
    }
    for (size_t i = 0; e == ERR_OK && i < snapshot->provisioning.count; i++)
        e = read_some(reading, &snapshot->provisioning.items[i].source, 1, &reading->sources[i], detail);
    return e;
}

static enum err read_frozen(struct reading *reading, struct detail *detail)
{
    uint32_t ledger;
    enum err e = reading->feed.frozen(reading->feed.source, &reading->out->reads.frozen, &ledger, detail);
    return e != ERR_OK ? e : read_as_of(reading, ledger, detail);
}

/* A network that was reset under the same name has none of the accounts. */
static enum err check_not_reset(const struct reading *reading, struct detail *detail)
{
    size_t active = 0, found = 0;
    for (size_t i = 0; i < reading->snapshot->count; i++) {
        bool counts = reading->snapshot->accounts[i].active;
        active += counts;
        found += counts && !reading->out->reads.accounts[i].account.removed;
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
    reading->out->ledger = found.ledger;
    if (found.ledger->close_time_s >= reading->cursor->close_time_s)
        return ERR_OK;
    return detail_set(detail, ERR_LEDGER_MISMATCH,
        "ledger %u closed before the last committed one. " CURSOR_RESET, reading->oldest);
}

/* Whether each account of the provisioning transaction is as its success would leave it. */
static bool is_done(const struct reading *reading, const struct provisioning_pending *pending)
{
    for (size_t i = 0; i < reading->snapshot->count; i++) {
        const bool exists = !reading->out->reads.accounts[i].account.removed;
        if (reading->snapshot->accounts[i].provisioning == pending->id &&
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
    struct provisioning_list *provisioning = &reading->snapshot->provisioning;
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
        pending->fate = provisioning_judge_after_gap(pending, &snapshot, reading->out->ledger);
    }
    reading->out->provisioning = *provisioning;
    *provisioning = (struct provisioning_list){0};
    return e;
}

/* Uses an answer only if its ledger is after the cursor and not after the one as of which the account was
 * read. An RPC that does not support the request, or limits its rate, does not stop the recovery. */
static enum err read_fate(
    struct reading *reading, const struct gap_account *account, uint32_t as_of, struct detail *detail)
{
    struct gap_reads *reads = &reading->out->reads;
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

/* Asks about each lease whose sequence number is consumed. */
static enum err read_fates(struct reading *reading, struct detail *detail)
{
    const int64_t deadline_ms = clock_ms() + GAP_LEASES_MS;
    enum err e = ERR_OK;
    reading->out->reads.fates = NEW_ARRAY(reading->snapshot->count, struct lease_fate);
    for (size_t i = 0; e == ERR_OK && i < reading->snapshot->count; i++) {
        const struct gap_account *account = &reading->snapshot->accounts[i];
        const struct account_snapshot *read = &reading->out->reads.accounts[i];
        bool consumed = read->account.removed || read->account.sequence >= account->lease_sequence;
        if (account->leased && consumed && clock_left_ms(deadline_ms) > 0)
            e = read_fate(reading, account, read->ledger, detail);
    }
    return e;
}

/* No transaction may be open. Everything read is as of ledgers above the cursor. Free the evidence also after
 * an error. */
static enum err gap_evidence_read(struct follow *follow, const struct lead *lead, bool renumbered,
    struct gap_snapshot *snapshot, struct gap_evidence *out, struct detail *detail)
{
    struct account_snapshot *sources AUTO_FREE =
        NEW_ARRAY(snapshot->provisioning.count, struct account_snapshot);
    struct reading reading = {.feed = rpcs_feed(follow->rpcs),
        .follow = follow,
        .network = &lead->network,
        .cursor = &lead->cursor,
        .above = renumbered ? 0 : lead->cursor.sequence,
        .snapshot = snapshot,
        .out = out,
        .sources = sources};
    enum err e;
    *out = (struct gap_evidence){0};
    if ((e = check_network(&reading, detail)) != ERR_OK || (e = read_accounts(&reading, detail)) != ERR_OK ||
        (e = read_frozen(&reading, detail)) != ERR_OK || (e = check_not_reset(&reading, detail)) != ERR_OK ||
        (e = read_ledger(&reading, detail)) != ERR_OK || (e = judge_provisioning(&reading, detail)) != ERR_OK)
        return e;
    return read_fates(&reading, detail); /* last: an RPC that limits rates may refuse everything after it */
}

/* ---- the recovery */

enum err gap_recover(struct lead *lead, struct follow *follow, bool renumbered, struct ledger_committed *out,
    struct detail *detail)
{
    struct gap_snapshot snapshot CLEANUP(gap_snapshot_free) = {0};
    struct gap_evidence evidence CLEANUP(gap_evidence_free) = {0};
    *out = (struct ledger_committed){0};
    enum err e = grants_stop_for_gap(lead->db, lead->term, detail);
    /* A grant that is committed after the snapshot would be missing in it. */
    if (e == ERR_OK)
        e = grants_wait_out(lead->db, detail);
    if (e == ERR_OK)
        e = gap_snapshot_read(lead->db, &snapshot, detail);
    if (e == ERR_OK)
        e = gap_evidence_read(follow, lead, renumbered, &snapshot, &evidence, detail);
    if (e == ERR_OK)
        e = ledger_commit_after_gap(lead, &evidence, out, detail);
    return e;
}
