/* Has the next provisioning transaction signed and stores it, in one transaction. Never sends it: provision.c
 * sends what is stored. */
#include "prepare.h"

#include <inttypes.h>

#include "base/deadlines.h"
#include "base/mem.h"
#include "pool/submission.h"

#define MIN_FEE_STROOPS 100 /* the network's minimum for one operation */
/* The network's. An account needs two, from its own balance or from its sponsor's. */
#define BASE_RESERVE_STROOPS 5000000
#define STROOPS_PER_XLM 10000000

/* What the RPC reports as of one ledger. */
struct network_snapshot {
    uint32_t ledger;
    struct rpc_account accounts[1 + PROVISIONING_ACCOUNTS_MAX]; /* the distribution account, then the batch */
};

static size_t operations(enum provisioning_kind kind, size_t accounts)
{
    return kind == PROVISIONING_CREATION ? 3 * accounts : accounts;
}

size_t prepare_limit(enum provisioning_kind kind, int64_t max_fee_stroops)
{
    int64_t affordable = max_fee_stroops / (MIN_FEE_STROOPS * (int64_t)operations(kind, 1));
    return affordable < PROVISIONING_ACCOUNTS_MAX ? (size_t)affordable : PROVISIONING_ACCOUNTS_MAX;
}

uint32_t prepare_fee(enum provisioning_kind kind, size_t accounts, unsigned failures,
    const struct provision_settings *settings)
{
    int64_t cap = settings->max_fee_stroops < UINT32_MAX ? settings->max_fee_stroops : UINT32_MAX;
    int64_t fee = settings->fee_per_operation_stroops * (int64_t)operations(kind, accounts);
    for (unsigned i = 0; i < failures && fee < cap; i++)
        fee *= 2;
    return (uint32_t)(fee < cap ? fee : cap);
}

static enum err read_network(struct provision *provision, const struct account_batch *batch,
    struct network_snapshot *out, struct detail *detail)
{
    struct public_key keys[1 + PROVISIONING_ACCOUNTS_MAX];
    keys[0] = provision->settings->distribution;
    for (size_t i = 0; i < batch->count; i++)
        keys[1 + i] = batch->keys[i];
    return rpc_accounts(provision->rpc, keys, 1 + batch->count, out->accounts, &out->ledger, detail);
}

/* If an account exists before its creation, or is missing before its merge, a ledger that changed it has not
 * been ingested yet. */
static enum err check_accounts(enum provisioning_kind kind, const struct account_batch *batch,
    const struct network_snapshot *snapshot, struct detail *detail)
{
    char address[ADDRESS_SIZE];
    for (size_t i = 0; i < batch->count; i++) {
        if (snapshot->accounts[1 + i].found == (kind == PROVISIONING_MERGE))
            continue;
        address_encode(&batch->keys[i], address);
        return detail_set(detail, ERR_NOT_YET,
            "account %s %s on the network; the ledger that changed it is not ingested yet%s", address,
            kind == PROVISIONING_MERGE ? "is missing" : "exists",
            kind == PROVISIONING_MERGE ? ""
                                       : ", or a contract created it: then run fairway accounts release");
    }
    return ERR_OK;
}

static enum err check_funds(const struct provision *provision, const struct pool_counts *counts,
    enum provisioning_kind kind, const struct network_snapshot *snapshot, uint32_t fee, struct detail *detail)
{
    const struct rpc_account *distribution = &snapshot->accounts[0];
    char address[ADDRESS_SIZE];
    address_encode(&provision->settings->distribution, address);
    if (!distribution->found)
        return detail_set(detail, ERR_CONFIG,
            "the distribution account %s does not exist on this network: create and fund it", address);
    int64_t more = kind == PROVISIONING_CREATION ? (int64_t)provision->wanted - counts->active : 0;
    int64_t needed =
        BASE_RESERVE_STROOPS * (distribution->reserves + 2 * more) + distribution->selling_stroops + fee;
    if (kind == PROVISIONING_CREATION && distribution->balance_stroops < needed)
        return detail_set(detail, ERR_CONFIG,
            "the distribution account %s has %" PRId64 " XLM and needs %" PRId64 " XLM to sponsor %" PRId64
            " more channel accounts: fund it",
            address, distribution->balance_stroops / STROOPS_PER_XLM,
            (needed + STROOPS_PER_XLM - 1) / STROOPS_PER_XLM, more);
    return ERR_OK;
}

static struct provisioning_tx build_transaction(const struct provision *provision,
    enum provisioning_kind kind, const struct account_batch *batch, const struct network_snapshot *snapshot,
    uint64_t now_s)
{
    struct provisioning_tx transaction = {
        .kind = kind,
        .distribution = provision->settings->distribution,
        .sequence = snapshot->accounts[0].sequence + 1,
        .fee_stroops = prepare_fee(kind, batch->count, provision->failures, provision->settings),
        .max_time_s = now_s + SUBMISSION_VALID_S,
        .account_count = batch->count,
    };
    for (size_t i = 0; i < batch->count; i++)
        transaction.accounts[i] = batch->keys[i];
    return transaction;
}

/* Runs in a transaction. Refuses a snapshot of the RPC that is older than the cursor. */
static enum err sign_and_store(struct provision *provision, enum provisioning_kind kind,
    const struct account_batch *batch, const struct network_snapshot *snapshot, uint32_t *broken,
    struct detail *detail)
{
    struct pool_counts counts;
    struct buf envelope CLEANUP(buf_free) = {0};
    struct hash hash;
    enum err e = accounts_lock(provision->session.db, kind, batch, detail);
    if (e == ERR_OK)
        e = pool_counts_read(provision->session.db, &counts, detail);
    if (e != ERR_OK)
        return e;
    if (counts.grants_on_hold && kind == PROVISIONING_MERGE)
        return detail_set(
            detail, ERR_NOT_YET, "grants are on hold: the accounts may have leases that the database lost");
    if (counts.submission_pending)
        return detail_set(detail, ERR_NOT_YET, "another provisioning transaction is pending");
    if (snapshot->ledger < counts.cursor_sequence)
        return detail_set(detail, ERR_NOT_YET,
            "Stellar RPC is at ledger %u, before the last committed ledger %u", snapshot->ledger,
            counts.cursor_sequence);
    struct provisioning_tx transaction = build_transaction(provision, kind, batch, snapshot, counts.now_s);
    if ((e = check_funds(provision, &counts, kind, snapshot, transaction.fee_stroops, detail)) != ERR_OK ||
        (e = check_accounts(kind, batch, snapshot, detail)) != ERR_OK ||
        (e = keyd_sign_provisioning(provision->settings->keyd, counts.now_s, &transaction, batch->sealed,
             &envelope, &hash, broken, detail)) != ERR_OK)
        return e;
    return submission_store(provision->session.db, &transaction, buf_bytes(&envelope), &hash, detail);
}

/* Runs in the same transaction if a seed does not open. The next batch is then picked without this account.
 */
static enum err quarantine(struct db *db, const struct public_key *account, struct detail *detail)
{
    char address[ADDRESS_SIZE];
    address_encode(account, address);
    detail_set(detail, ERR_OK, "account %s was quarantined: " ACCOUNTS_SEED_BROKEN, address);
    return accounts_quarantine(db, account, 1, ACCOUNTS_SEED_BROKEN, detail);
}

enum err prepare(
    struct provision *provision, enum provisioning_kind kind, size_t count, struct detail *detail)
{
    struct account_batch batch;
    struct network_snapshot snapshot;
    uint32_t broken = 0;
    size_t limit = prepare_limit(kind, provision->settings->max_fee_stroops);
    if (limit == 0)
        return detail_set(detail, ERR_CONFIG, "MAX_FEE is below the network's minimum fee for one account");
    enum err e = accounts_pick(provision->session.db, kind, count < limit ? count : limit, &batch, detail);
    if (e != ERR_OK || batch.count == 0)
        return e;
    if ((e = read_network(provision, &batch, &snapshot, detail)) != ERR_OK ||
        (e = session_begin(&provision->session, detail)) != ERR_OK)
        return e;
    const enum err signing = sign_and_store(provision, kind, &batch, &snapshot, &broken, detail);
    e = signing == ERR_SEAL_BROKEN ? quarantine(provision->session.db, &batch.keys[broken], detail) : signing;
    if (e == ERR_OK)
        e = db_commit(provision->session.db, detail);
    else
        db_rollback(provision->session.db);
    return e == ERR_OK && signing != ERR_OK ? ERR_NOT_YET : e;
}
