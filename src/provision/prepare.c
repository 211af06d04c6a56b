/* Has the next provisioning transaction signed and stores it, in one transaction. Never sends it: outgoing.c
 * sends what is stored. */
#include "prepare.h"

#include <inttypes.h>

#include "base/deadlines.h"
#include "base/mem.h"
#include "pool/account_change.h"
#include "pool/grants_allowed.h"
#include "pool/provisioning.h"

#define IDLE_WAIT_LEDGERS 4 /* nodes drop what is queued for so long: later, the leases are not submitted */

/* What the RPC reports as of one ledger. */
struct network_snapshot {
    uint32_t ledger;
    struct account_entry
        accounts[1 + PROVISIONING_ACCOUNTS_MAX]; /* the distribution account, then the batch */
};

size_t prepare_limit(enum provisioning_kind kind, int64_t max_fee_stroops)
{
    const int64_t affordable =
        (max_fee_stroops / MIN_FEE_STROOPS - 1) / (int64_t)provisioning_tx_operations(kind, 1, false);
    return affordable < PROVISIONING_ACCOUNTS_MAX ? (size_t)affordable : PROVISIONING_ACCOUNTS_MAX;
}

uint32_t prepare_fee(
    enum provisioning_kind kind, size_t accounts, unsigned raises, const struct provision_settings *settings)
{
    int64_t cap = settings->max_fee_stroops < UINT32_MAX ? settings->max_fee_stroops : UINT32_MAX;
    int64_t fee =
        settings->fee_per_operation_stroops * (int64_t)provisioning_tx_operations(kind, accounts, true);
    for (unsigned i = 0; i < raises && fee < cap; i++)
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

static enum err check_funds(const struct provision *provision, enum provisioning_kind kind,
    const struct network_snapshot *snapshot, uint32_t fee, struct detail *detail)
{
    const struct account_entry *distribution = &snapshot->accounts[0];
    char address[ADDRESS_SIZE];
    address_encode(&provision->settings->distribution, address);
    if (distribution->removed)
        return detail_set(detail, ERR_CONFIG,
            "the distribution account %s does not exist on this network: create and fund it", address);
    /* without those that are under way, which the balance may include already */
    const int64_t more =
        (int64_t)provision->wanted - provision->counts.active - provision->counts.creations_pending;
    int64_t needed =
        BASE_RESERVE_STROOPS * (distribution->reserves + 2 * more) + distribution->selling_stroops + fee;
    if (kind == PROVISIONING_CREATION && distribution->balance_stroops < needed)
        return detail_set(detail, ERR_CONFIG,
            "the distribution account %s has " XLM_FORMAT " and needs " XLM_FORMAT " to sponsor %" PRId64
            " more channel accounts: fund it",
            address, XLM(distribution->balance_stroops), XLM(needed), more);
    return ERR_OK;
}

/* What is signed. */
struct preparation {
    struct account_batch batch;
    struct network_snapshot snapshot;
    bool bumped;
    struct account_source source; /* of a transaction that is bumped */
    uint32_t broken; /* the place of an account to be set aside: of the batch, then the source's */
    const char *why;
};

/* If an account exists before its creation, or is missing before its merge, a ledger that changed it has not
 * been ingested yet. ERR_REFUSED: one cannot be merged. */
static enum err check_accounts(
    enum provisioning_kind kind, struct preparation *preparation, struct detail *detail)
{
    const struct account_batch *batch = &preparation->batch;
    const bool merge = kind == PROVISIONING_MERGE;
    char address[ADDRESS_SIZE];
    for (size_t i = 0; i < batch->count; i++) {
        const struct account_entry *account = &preparation->snapshot.accounts[1 + i];
        address_encode(&batch->keys[i], address);
        if (account->removed == merge)
            return detail_set(detail, ERR_NOT_YET,
                "account %s %s on the network; the ledger that changed it is not ingested yet%s", address,
                merge ? "is missing" : "exists",
                merge ? "" : ", or a contract created it: then run fairway accounts release");
        preparation->broken = (uint32_t)i;
        if (merge &&
            (preparation->why = account_refusal(account, false, preparation->snapshot.ledger)) != NULL)
            return ERR_REFUSED;
    }
    preparation->why = ACCOUNTS_SEED_BROKEN;
    return ERR_OK;
}

/* Locks an idle account. When grants are stopped, or there is none for some ledgers, the source is the
 * distribution account, unless it has a transaction already: then ERR_NOT_FOUND. A node refuses its
 * transactions while contract calls that it pays for are queued. ERR_CHANNEL_ACCOUNT_UNAVAILABLE: wait. */
static enum err choose_source(
    struct provision *provision, enum provisioning_kind kind, struct preparation *out, struct detail *detail)
{
    struct db *db = provision->session.db;
    const struct outgoing *outgoing = &provision->outgoing;
    bool all_bumped = true;
    enum err e = grants_enter(db, provision->settings->ledger_ms, detail);
    if (e == ERR_OK)
        e = accounts_claim(db, kind, &out->batch, &out->source, &out->bumped, detail);
    if (e != ERR_OK && e != ERR_GRANTS_SUSPENDED)
        return e;
    const bool none_idle = !out->bumped && e == ERR_OK && provision->counts.active > 0;
    const uint32_t cursor = provision->counts.cursor_sequence, since = provision->none_idle_since;
    provision->none_idle_since = !none_idle ? 0 : since == 0 ? cursor : since;
    if (none_idle && provision->none_idle_since + IDLE_WAIT_LEDGERS > cursor)
        return ERR_CHANNEL_ACCOUNT_UNAVAILABLE;
    for (size_t i = 0; i < outgoing->count; i++)
        all_bumped &= outgoing->items[i].bumped;
    return out->bumped || all_bumped ? ERR_OK : ERR_NOT_FOUND;
}

static struct provisioning_tx build_transaction(const struct provision *provision,
    enum provisioning_kind kind, const struct preparation *preparation, uint64_t now_s)
{
    const struct account_batch *batch = &preparation->batch;
    struct provisioning_tx transaction = {
        .kind = kind,
        .distribution = provision->settings->distribution,
        .bumped = preparation->bumped,
        .source = preparation->source.key,
        .sequence = 1 + (preparation->bumped ? preparation->source.sequence
                                             : preparation->snapshot.accounts[0].sequence),
        .fee_stroops = prepare_fee(kind, batch->count, provision->raises, provision->settings),
        .max_time_s = now_s + PROVISIONING_VALID_S,
        .account_count = batch->count,
    };
    for (size_t i = 0; i < batch->count; i++)
        transaction.accounts[i] = batch->keys[i];
    return transaction;
}

static enum err sign(const struct provision *provision, struct preparation *preparation,
    const struct provisioning_tx *transaction, uint64_t now_s, struct buf *envelope, struct hash *hash,
    struct detail *detail)
{
    struct sealed_seed sealed[PROVISIONING_ACCOUNTS_MAX + 1];
    const struct account_batch *batch = &preparation->batch;
    for (size_t i = 0; i < batch->count; i++)
        sealed[i] = batch->sealed[i];
    sealed[batch->count] = preparation->source.sealed;
    return keyd_sign_provisioning(
        provision->settings->keyd, now_s, transaction, sealed, envelope, hash, &preparation->broken, detail);
}

/* Runs in a transaction. Refuses a snapshot of the RPC that is older than the cursor. The source is locked
 * last, and only if nobody else has locked it, so that no order of locks can deadlock. */
static enum err sign_and_store(struct provision *provision, enum provisioning_kind kind,
    struct preparation *preparation, struct detail *detail)
{
    struct pool_counts now;
    struct buf envelope CLEANUP(buf_free) = {0};
    struct hash hash;
    enum err e = accounts_lock(provision->session.db, kind, &preparation->batch, detail);
    if (e == ERR_OK)
        e = pool_counts_read(provision->session.db, false, &now, detail);
    if (e != ERR_OK)
        return e;
    if (now.grants_on_hold && kind == PROVISIONING_MERGE)
        return detail_set(
            detail, ERR_NOT_YET, "grants are on hold: the accounts may have leases that the database lost");
    if (preparation->snapshot.ledger < now.cursor_sequence)
        return detail_set(detail, ERR_NOT_YET,
            "Stellar RPC is at ledger %u, before the last committed ledger %u", preparation->snapshot.ledger,
            now.cursor_sequence);
    if ((e = choose_source(provision, kind, preparation, detail)) != ERR_OK)
        return e;
    const struct provisioning_tx transaction = build_transaction(provision, kind, preparation, now.now_s);
    if ((e = check_funds(provision, kind, &preparation->snapshot, transaction.fee_stroops, detail)) !=
            ERR_OK ||
        (e = check_accounts(kind, preparation, detail)) != ERR_OK ||
        (e = sign(provision, preparation, &transaction, now.now_s, &envelope, &hash, detail)) != ERR_OK)
        return e;
    return provisioning_store(provision->session.db, &transaction, preparation->source.sequence_ledger,
        buf_bytes(&envelope), &hash, detail);
}

/* Runs in the same transaction if a seed does not open, or an account cannot be merged. The next batch is
 * then picked without this account. */
static enum err quarantine(
    struct provision *provision, const struct preparation *preparation, struct detail *detail)
{
    const struct account_batch *batch = &preparation->batch;
    const struct public_key *account =
        preparation->broken < batch->count ? &batch->keys[preparation->broken] : &preparation->source.key;
    char address[ADDRESS_SIZE];
    address_encode(account, address);
    detail_set(detail, ERR_OK, "account %s was quarantined: %s", address, preparation->why);
    provision->count_again = true;
    return accounts_quarantine(provision->session.db, account, 1, preparation->why, detail);
}

static void note_stored(
    struct provision *provision, enum provisioning_kind kind, const struct preparation *preparation)
{
    const size_t count = preparation->batch.count;
    struct pool_counts *counts = &provision->counts;
    *(kind == PROVISIONING_CREATION ? &counts->creations_pending : &counts->merges_pending) += (int64_t)count;
    outgoing_add(&provision->outgoing, kind, count, preparation->bumped);
}

/* Replicas leave it an account that becomes idle (fairway.share_of_idle). */
static const char sql_wait[] = "SELECT fairway.report_waiting(0, 1, 0)";

enum err prepare(
    struct provision *provision, enum provisioning_kind kind, size_t count, struct detail *detail)
{
    struct preparation preparation = {0};
    const size_t limit = prepare_limit(kind, provision->settings->max_fee_stroops);
    if (limit == 0)
        return detail_set(detail, ERR_CONFIG, "MAX_FEE is below the network's minimum fee for one account");
    enum err e =
        accounts_pick(provision->session.db, kind, count < limit ? count : limit, &preparation.batch, detail);
    if (e != ERR_OK || preparation.batch.count == 0)
        return e;
    if ((e = read_network(provision, &preparation.batch, &preparation.snapshot, detail)) != ERR_OK ||
        (e = session_begin(&provision->session, detail)) != ERR_OK)
        return e;
    const enum err signing = sign_and_store(provision, kind, &preparation, detail);
    e = signing == ERR_SEAL_BROKEN || signing == ERR_REFUSED ? quarantine(provision, &preparation, detail)
        : signing == ERR_CHANNEL_ACCOUNT_UNAVAILABLE
            ? db_query(provision->session.db, DB_SQL0(sql_wait), NULL, detail)
            : signing;
    e = session_end(&provision->session, e, detail);
    if (e == ERR_OK && signing == ERR_OK)
        note_stored(provision, kind, &preparation);
    if (e == ERR_NOT_FOUND || (e == ERR_OK && signing == ERR_CHANNEL_ACCOUNT_UNAVAILABLE))
        return ERR_OK;
    return e == ERR_OK && signing != ERR_OK ? ERR_NOT_YET : e;
}
