#include "gap.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "gap_snapshot.h"
#include "pool/grants_allowed.h"

/* How leases ended is asked one by one, for no longer than this: the rest settles as consumed. */
#define QUESTIONS_MS 20000
#define FROZEN_KEYS_SINCE 26 /* CAP-77; an RPC of an older network does not know their list's key */

struct recovery {
    struct lead *lead;
    const struct feed *feed;
    uint32_t protocol;
    struct gap_snapshot snapshot;
    struct gap_reads reads; /* accounts[i] is snapshot.accounts[i] */
    struct account_snapshot distribution;
    uint32_t target; /* the new cursor: the oldest ledger as of which something was read */
    struct ledger ledger;
    struct submission_fate fate;
};

static void recovery_free(struct recovery *recovery)
{
    gap_snapshot_free(&recovery->snapshot);
    free(recovery->reads.accounts);
    free(recovery->reads.fates);
    frozen_accounts_free(&recovery->reads.frozen);
    ledger_free(&recovery->ledger);
}

/* Without a link to the last ledger, only its name tells the network. */
static enum err check_network(
    struct recovery *recovery, const struct network_id *network, struct detail *detail)
{
    struct rpc_network served CLEANUP(rpc_network_free) = {0};
    enum err e = recovery->feed->network(recovery->feed->source, &served, detail);
    if (e != ERR_OK)
        return e;
    recovery->protocol = served.protocol;
    struct network_id id = network_id_of(served.passphrase);
    if (memcmp(id.bytes, network->bytes, sizeof id.bytes) != 0)
        return detail_set(detail, ERR_LEDGER_MISMATCH,
            "Stellar RPC serves another network, \"%.60s\": set RPC_URL to one of this database's network",
            served.passphrase);
    return ERR_OK;
}

/* What was read as of a ledger at or below the cursor would undo what is known. */
static enum err read_as_of(struct recovery *recovery, uint32_t ledger, struct detail *detail)
{
    if (ledger <= recovery->lead->at.sequence)
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "Stellar RPC answers as of ledger %u, which is not after the last committed one, %u", ledger,
            recovery->lead->at.sequence);
    if (recovery->target == 0 || ledger < recovery->target)
        recovery->target = ledger;
    return ERR_OK;
}

static enum err read_some(struct recovery *recovery, const struct public_key keys[], size_t count,
    struct account_snapshot out[], struct detail *detail)
{
    struct rpc_account answers[RPC_ENTRIES_MAX];
    uint32_t ledger;
    enum err e = recovery->feed->accounts(recovery->feed->source, keys, count, answers, &ledger, detail);
    if (e == ERR_OK)
        e = read_as_of(recovery, ledger, detail);
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        out[i] = (struct account_snapshot){.account = {.key = keys[i],
                                               .removed = !answers[i].found,
                                               .sequence = answers[i].sequence,
                                               .own_authority = answers[i].own_authority,
                                               .balance_stroops = answers[i].balance_stroops},
            .ledger = ledger};
    return e;
}

static enum err read_accounts(struct recovery *recovery, struct detail *detail)
{
    const struct gap_snapshot *snapshot = &recovery->snapshot;
    struct public_key keys[RPC_ENTRIES_MAX];
    enum err e = ERR_OK;
    recovery->reads.accounts = NEW_ARRAY(snapshot->count, struct account_snapshot);
    while (e == ERR_OK && recovery->reads.account_count < snapshot->count) {
        size_t begin = recovery->reads.account_count, count = 0;
        while (count < RPC_ENTRIES_MAX && begin + count < snapshot->count) {
            keys[count] = snapshot->accounts[begin + count].key;
            count++;
        }
        e = read_some(recovery, keys, count, &recovery->reads.accounts[begin], detail);
        recovery->reads.account_count += count;
    }
    if (e == ERR_OK && snapshot->submission.any)
        e = read_some(recovery, &snapshot->submission.source, 1, &recovery->distribution, detail);
    return e;
}

static enum err read_frozen(struct recovery *recovery, struct detail *detail)
{
    uint32_t ledger;
    if (recovery->protocol < FROZEN_KEYS_SINCE)
        return ERR_OK;
    enum err e = recovery->feed->frozen(recovery->feed->source, &recovery->reads.frozen, &ledger, detail);
    return e != ERR_OK ? e : read_as_of(recovery, ledger, detail);
}

/* A network that begins anew under the same name has none of the accounts. */
static enum err check_not_reset(const struct recovery *recovery, struct detail *detail)
{
    size_t active = 0, found = 0;
    for (size_t i = 0; i < recovery->snapshot.count; i++) {
        bool counts = recovery->snapshot.accounts[i].active;
        active += counts;
        found += counts && !recovery->reads.accounts[i].account.removed;
    }
    if (active > 0 && found == 0)
        return detail_set(detail, ERR_LEDGER_MISMATCH,
            "none of the %zu active accounts is on the network any more: was it reset? " NEW_DATABASE,
            active);
    return ERR_OK;
}

static enum err fetch_target(struct recovery *recovery, struct detail *detail)
{
    struct rpc_ledgers ledgers CLEANUP(rpc_ledgers_free) = {0};
    enum err e = recovery->feed->ledgers(recovery->feed->source, recovery->target, 1, &ledgers, detail);
    if (e == ERR_LEDGER_GAP || e == ERR_LEDGER_AHEAD)
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "Stellar RPC answers as of ledger %u, which it does not have", recovery->target);
    if (e == ERR_OK)
        e = ledger_decode(ledgers.items[0].meta, &recovery->ledger, detail);
    if (e != ERR_OK)
        return e;
    return cursor_check_after_gap(
        &recovery->lead->at, recovery->target, &ledgers.items[0], &recovery->ledger, detail);
}

/* An answer counts only where it explains what was read. An RPC that does not know this question, or answers
 * no more of them, is no reason to wait. */
static enum err ask_fate(
    struct recovery *recovery, const struct gap_account *asked, uint32_t as_of, struct detail *detail)
{
    struct rpc_transaction found;
    enum err e = recovery->feed->transaction(recovery->feed->source, &asked->lease, &found, detail);
    if (e == ERR_RPC_REFUSED || e == ERR_RPC_UNAVAILABLE)
        return ERR_OK;
    if (e != ERR_OK || found.status == RPC_TRANSACTION_NOT_FOUND ||
        found.ledger <= recovery->lead->at.sequence || found.ledger > as_of)
        return e;
    recovery->reads.fates[recovery->reads.fate_count++] =
        (struct lease_fate){.hash = asked->lease, .code = found.code, .ledger = found.ledger};
    return ERR_OK;
}

static enum err ask_fates(struct recovery *recovery, struct detail *detail)
{
    const int64_t deadline_ms = clock_ms() + QUESTIONS_MS;
    enum err e = ERR_OK;
    recovery->reads.fates = NEW_ARRAY(recovery->snapshot.count, struct lease_fate);
    for (size_t i = 0; e == ERR_OK && i < recovery->snapshot.count; i++) {
        const struct gap_account *asked = &recovery->snapshot.accounts[i];
        const struct account_snapshot *read = &recovery->reads.accounts[i];
        bool consumed = read->account.removed || read->account.sequence >= asked->lease_sequence;
        if (asked->leased && consumed && clock_left_ms(deadline_ms) > 0)
            e = ask_fate(recovery, asked, read->ledger, detail);
    }
    return e;
}

/* Whether each account is as the pending submission would leave it. */
static bool submission_done(const struct recovery *recovery)
{
    for (size_t i = 0; i < recovery->snapshot.count; i++) {
        const struct gap_account *account = &recovery->snapshot.accounts[i];
        bool there = !recovery->reads.accounts[i].account.removed;
        if (account->submitted && there != (account->kind == PROVISIONING_CREATION))
            return false;
    }
    return true;
}

static enum err judge_submission(struct recovery *recovery, struct detail *detail)
{
    const struct submission *submission = &recovery->snapshot.submission;
    struct rpc_transaction found;
    if (!submission->any)
        return ERR_OK;
    enum err e = recovery->feed->transaction(recovery->feed->source, &submission->hash, &found, detail);
    if (e != ERR_OK)
        return e;
    bool there = found.status != RPC_TRANSACTION_NOT_FOUND;
    if (!there && found.latest_ledger < recovery->distribution.ledger)
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "Stellar RPC looked a transaction up in ledgers to %u, having read accounts as of %u",
            found.latest_ledger, recovery->distribution.ledger);
    const struct submission_snapshot sight = {.found_ledger = there ? found.ledger : 0,
        .code = found.code,
        .source = &recovery->distribution.account,
        .done = submission_done(recovery)};
    recovery->fate = submission_judge_after_gap(submission, &sight, &recovery->ledger);
    return ERR_OK;
}

/* No transaction is open meanwhile: this takes as long as the network does. */
static enum err look(struct recovery *recovery, const struct network_id *network, struct detail *detail)
{
    enum err e;
    if ((e = check_network(recovery, network, detail)) != ERR_OK ||
        (e = read_accounts(recovery, detail)) != ERR_OK || (e = read_frozen(recovery, detail)) != ERR_OK ||
        (e = check_not_reset(recovery, detail)) != ERR_OK || (e = fetch_target(recovery, detail)) != ERR_OK ||
        (e = judge_submission(recovery, detail)) != ERR_OK)
        return e;
    return ask_fates(recovery, detail); /* last: so many questions that the RPC may answer nothing more */
}

enum err gap_recover(struct lead *lead, const struct feed *feed, const struct network_id *network,
    struct ledger_committed *out, struct detail *detail)
{
    struct recovery recovery CLEANUP(recovery_free) = {.lead = lead, .feed = feed};
    *out = (struct ledger_committed){0};
    enum err e = grants_stop_for_gap(lead->db, lead->term, detail);
    if (e == ERR_OK)
        e = gap_snapshot_take(lead->db, &recovery.snapshot, detail);
    if (e == ERR_OK)
        e = look(&recovery, network, detail);
    if (e != ERR_OK)
        return e;
    const struct gap_evidence gap = {
        .reads = &recovery.reads, .provisioning = recovery.snapshot.submission.id, .fate = recovery.fate};
    return lead_commit_after_gap(lead, &recovery.ledger, &gap, out, detail);
}
