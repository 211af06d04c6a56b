#include "ledger_builder.h"

#include <sodium.h>
#include <string.h>

#include "base/mem.h"
#include "ledger_envelopes.h"

#define FEE_STROOPS 100
#define TX_FEE_BUMP_INNER_SUCCESS 1
#define TX_FEE_BUMP_INNER_FAILED (-13)
#define TX_FAILED (-1)

static void add_hash(struct buf *out, const struct hash *hash)
{
    buf_add(out, hash->bytes, sizeof hash->bytes);
}

static void add_zeros(struct buf *out, size_t words)
{
    for (size_t i = 0; i < words; i++)
        buf_add_u32(out, 0);
}

static void add_account_id(struct buf *out, const struct public_key *key)
{
    buf_add_u32(out, 0); /* PUBLIC_KEY_TYPE_ED25519 */
    buf_add(out, key->bytes, sizeof key->bytes);
}

/* From feeCharged to the extension. */
static void add_plain_result(struct buf *out, int32_t code)
{
    buf_add_u64(out, FEE_STROOPS);
    buf_add_u32(out, (uint32_t)code);
    if (code == 0 || code == TX_FAILED)
        buf_add_u32(out, 0); /* no operation results */
    buf_add_u32(out, 0);
}

static void add_result_pair(struct buf *out, const struct built_transaction *transaction)
{
    add_hash(out, &transaction->hash);
    if (!transaction->has_inner) {
        add_plain_result(out, transaction->code);
        return;
    }
    buf_add_u64(out, 2 * FEE_STROOPS);
    buf_add_u32(out, transaction->code == 0 ? TX_FEE_BUMP_INNER_SUCCESS : (uint32_t)TX_FEE_BUMP_INNER_FAILED);
    add_hash(out, &transaction->inner_hash);
    add_plain_result(out, transaction->code);
    buf_add_u32(out, 0);
}

/* TransactionMeta V2, V3 or V4, as stellar-core wrote it with each version of LedgerCloseMeta; without
 * changes, which no hash covers and fairway does not read. */
static void add_meta(struct buf *out, uint32_t ledger_meta_version)
{
    buf_add_u32(out, 2 + ledger_meta_version);
    if (ledger_meta_version > 0)
        buf_add_u32(out, 0); /* ext */
    add_zeros(out, 3);       /* changes before, operations, changes after */
    if (ledger_meta_version == 1)
        add_zeros(out, 1); /* sorobanMeta */
    if (ledger_meta_version == 2)
        add_zeros(out, 3); /* sorobanMeta, events, diagnosticEvents */
}

/* ---- the transaction set */

/* A transaction of the set, and the account that it changes; NULL: none. */
struct member {
    struct built_transaction transaction;
    const struct built_account *changes;
};

static const struct hash *inner_hash_of(const struct built_transaction *transaction)
{
    return transaction->has_inner ? &transaction->inner_hash : &transaction->hash;
}

static bool is_known(const struct built_transaction *transaction)
{
    struct buf found CLEANUP(buf_free) = {0};
    const bool known = transaction->envelope.len != 0 || envelope_find(inner_hash_of(transaction), &found);
    return known;
}

/* The operation without which an account does not change so. Its source is another account's transaction. */
static bool add_operation(struct buf *out, const struct built_account *account)
{
    const struct public_key heir = built_key(UINT64_MAX);
    if (!account->created && !account->removed && !account->foreign_signer)
        return false;
    buf_add_u32(out, !account->created); /* has a source of its own */
    if (account->created) {
        buf_add_u32(out, 0); /* CREATE_ACCOUNT */
        add_account_id(out, &account->key);
        buf_add_u64(out, 1);
        return true;
    }
    add_account_id(out, &account->key);
    buf_add_u32(out, account->removed ? 8 : 5); /* ACCOUNT_MERGE, SET_OPTIONS */
    if (account->removed)
        add_account_id(out, &heir);
    else
        add_zeros(out, 9);
    return true;
}

/* The envelope of a transaction as submitted. Its hashes become those of the envelope. */
static void add_envelope(struct buf *out, const struct network_id *network, struct member *member)
{
    CLEANUP(buf_free) struct buf inner = {0}, operation = {0};
    struct built_transaction *transaction = &member->transaction;
    struct hash *hash = transaction->has_inner ? &transaction->inner_hash : &transaction->hash;
    if (transaction->envelope.len != 0) {
        buf_add_bytes(&inner, transaction->envelope);
    } else if (!envelope_find(hash, &inner)) {
        struct public_key source = {{0}};
        int64_t sequence = 1;
        if (member->changes != NULL && add_operation(&operation, member->changes))
            memcpy(source.bytes, hash->bytes, sizeof source.bytes);
        else if (member->changes != NULL) {
            source = member->changes->key;
            sequence = member->changes->sequence;
        }
        envelope_make(&source, sequence, hash, buf_bytes(&operation), &inner);
        *hash = envelope_hash_of(network, buf_bytes(&inner));
    }
    size_t start = out->len;
    if (transaction->has_inner)
        envelope_wrap(buf_bytes(&inner), out);
    else
        buf_add_bytes(out, buf_bytes(&inner));
    if (transaction->has_inner)
        transaction->hash = envelope_hash_of(network, (struct bytes){out->data + start, out->len - start});
}

/* A transaction of its own for a change that no other one explains. */
static struct member explanation(const struct built_ledger *ledger, const struct built_account *account)
{
    uint8_t number[4];
    be32_put(number, ledger->sequence);
    const struct bytes parts[] = {BYTES_OF(account->key.bytes), BYTES_OF(number)};
    return (struct member){.transaction = {.hash = sha256_parts(parts, 2)}, .changes = account};
}

static size_t members_of(const struct built_ledger *ledger, struct member members[])
{
    size_t count = ledger->transaction_count;
    for (size_t i = 0; i < count; i++) {
        members[i] = (struct member){.transaction = ledger->transactions[i]};
        if (i < ledger->account_count)
            members[i].changes = &ledger->accounts[i];
    }
    for (size_t i = 0; i < ledger->account_count; i++) {
        const struct built_account *account = &ledger->accounts[i];
        const bool needs_operation = account->created || account->removed || account->foreign_signer,
                   explained = i < ledger->transaction_count &&
                               !(needs_operation && is_known(&ledger->transactions[i]));
        if (!explained)
            members[count++] = explanation(ledger, account);
    }
    return count;
}

/* A classic phase with one component, or a TransactionSet. The hash of the latter leaves out the count. */
static struct buf build_set(
    const struct built_ledger *ledger, struct member members[], size_t count, struct hash *hash)
{
    const struct network_id tests = network_id_of(BUILT_PASSPHRASE);
    const struct network_id *network = ledger->network != NULL ? ledger->network : &tests;
    struct buf set = {0}, envelopes CLEANUP(buf_free) = {0};
    for (size_t i = 0; i < count; i++)
        add_envelope(&envelopes, network, &members[i]);
    if (ledger->meta_version > 0)
        buf_add_u32(&set, 1); /* GeneralizedTransactionSet V1 */
    add_hash(&set, ledger->set_previous != NULL ? ledger->set_previous : &ledger->previous_hash);
    if (ledger->meta_version > 0) {
        buf_add_u32(&set, 1);
        add_zeros(&set, 1); /* V0 components */
        buf_add_u32(&set, 1);
        add_zeros(&set, 2); /* transactions without a base fee */
    }
    const struct bytes head = {set.data, set.len};
    if (ledger->meta_version == 0)
        *hash = sha256_parts((const struct bytes[]){head, buf_bytes(&envelopes)}, 2);
    buf_add_u32(&set, (uint32_t)count);
    buf_add_bytes(&set, buf_bytes(&envelopes));
    if (ledger->meta_version > 0)
        *hash = sha256(buf_bytes(&set));
    if (ledger->invented)
        hash->bytes[0] ^= 1;
    return set;
}

/* ---- the ledger */

static void add_transactions(struct buf *out, const struct built_ledger *ledger)
{
    buf_add_u32(out, (uint32_t)ledger->transaction_count);
    for (size_t i = 0; i < ledger->transaction_count; i++) {
        if (ledger->meta_version == 2)
            buf_add_u32(out, 0);
        add_result_pair(out, &ledger->transactions[i]);
        buf_add_u32(out, 0); /* feeProcessing */
        if (ledger->meta_count > 0)
            buf_add_bytes(out, ledger->metas[i % ledger->meta_count]);
        else
            add_meta(out, ledger->meta_version);
        if (ledger->meta_version == 2)
            buf_add_u32(out, 0); /* postTxApplyFeeProcessing */
    }
}

static struct hash result_set_hash(const struct built_ledger *ledger)
{
    struct buf results CLEANUP(buf_free) = {0};
    buf_add_u32(&results, (uint32_t)ledger->transaction_count);
    for (size_t i = 0; i < ledger->transaction_count; i++)
        add_result_pair(&results, &ledger->transactions[i]);
    struct hash hash = sha256(buf_bytes(&results));
    return hash;
}

struct validator {
    struct public_key key;
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
};

static struct validator validator(void)
{
    static const uint8_t seed[crypto_sign_SEEDBYTES] = {7};
    struct validator out;
    crypto_sign_seed_keypair(out.key.bytes, out.secret, seed);
    return out;
}

struct public_key built_validator(void)
{
    return validator().key;
}

static void add_close_time(struct buf *out, const struct built_ledger *ledger)
{
    buf_add_u64(out, ledger->close_time_s * 1000 + ledger->close_ms);
}

/* LedgerCloseValueSignature */
static void add_signature(struct buf *out, const struct built_ledger *ledger, const struct hash *set_hash)
{
    const struct network_id tests = network_id_of(BUILT_PASSPHRASE), *network = ledger->network;
    const struct validator node = validator();
    uint8_t signature[crypto_sign_BYTES];
    struct buf payload = {0};
    buf_add(&payload, network != NULL ? network->bytes : tests.bytes, sizeof tests.bytes);
    buf_add_u32(&payload, 4); /* ENVELOPE_TYPE_SCPVALUE */
    add_hash(&payload, set_hash);
    buf_add_u64(&payload, ledger->close_time_s);
    if (ledger->close_ms != 0)
        add_close_time(&payload, ledger);
    if (ledger->badly_signed)
        buf_add_u32(&payload, 0);
    crypto_sign_detached(signature, NULL, payload.data, payload.len, node.secret);
    buf_free(&payload);
    add_account_id(out, &node.key);
    buf_add_u32(out, sizeof signature);
    buf_add(out, signature, sizeof signature);
}

static bool freezes(const struct built_ledger *ledger)
{
    return ledger->frozen_changed || ledger->frozen_count > 0;
}

/* StellarValue.upgrades: LEDGER_UPGRADE_CONFIG in its opaque, or none. */
static void add_upgrade(struct buf *out, const struct built_ledger *ledger)
{
    buf_add_u32(out, freezes(ledger));
    if (!freezes(ledger))
        return;
    buf_add_u32(out, 4 + 64);
    buf_add_u32(out, 6);
    add_zeros(out, 16); /* ConfigUpgradeSetKey */
}

/* StellarValue */
static void add_value(struct buf *out, const struct built_ledger *ledger, const struct hash *set_hash)
{
    static const struct hash none;
    add_hash(out, ledger->set_dropped ? &none : set_hash);
    buf_add_u64(out, ledger->close_time_s);
    add_upgrade(out, ledger);
    buf_add_u32(out, ledger->value_unsigned ? 0 : ledger->set_dropped ? 2 : ledger->close_ms != 0 ? 3 : 1);
    if (ledger->value_unsigned)
        return;
    if (ledger->set_dropped) { /* StellarValueProposedValue */
        add_hash(out, set_hash);
        add_hash(out, &ledger->previous_hash);
        buf_add_u32(out, BUILT_PROTOCOL);
    }
    if (ledger->close_ms != 0)
        add_close_time(out, ledger);
    add_signature(out, ledger, set_hash);
}

static void add_header(
    struct buf *out, const struct built_ledger *ledger, const struct hash *set_hash, struct hash *hash)
{
    const struct hash replaced = {{9}};
    struct buf header CLEANUP(buf_free) = {0};
    struct hash results = result_set_hash(ledger);
    buf_add_u32(&header, ledger->protocol != 0 ? ledger->protocol : BUILT_PROTOCOL);
    add_hash(&header, &ledger->previous_hash);
    add_value(&header, ledger, ledger->set_replaced ? &replaced : set_hash);
    add_hash(&header, &results);
    add_zeros(&header, 8); /* bucketListHash */
    buf_add_u32(&header, ledger->sequence);
    /* totalCoins, feePool, inflationSeq, idPool, baseFee, baseReserve, maxTxSetSize, skipList, ext */
    add_zeros(&header, 2 + 2 + 1 + 2 + 1);
    buf_add_u32(&header, BUILT_BASE_RESERVE);
    add_zeros(&header, 1 + 4 * 8 + 1);
    *hash = sha256(buf_bytes(&header));
    add_hash(out, hash);
    buf_add_bytes(out, buf_bytes(&header));
    buf_add_u32(out, 0); /* LedgerHeaderHistoryEntry.ext */
}

static void build(const struct built_ledger *ledger, struct bytes set, const struct hash *set_hash,
    struct buf *out, struct hash *hash)
{
    buf_add_u32(out, ledger->meta_version);
    if (ledger->meta_version > 0)
        buf_add_u32(out, 0); /* ext */
    add_header(out, ledger, set_hash, hash);
    buf_add_bytes(out, set);
    add_transactions(out, ledger);
    add_zeros(out, 2); /* upgradesProcessing, scpInfo */
    if (ledger->meta_version > 0)
        add_zeros(out, 3); /* totalByteSizeOfLiveSorobanState, evictedKeys */
    if (ledger->meta_version == 1)
        add_zeros(out, 1); /* unused */
}

void ledger_build(const struct built_ledger *ledger, struct buf *out, struct hash *hash)
{
    struct built_ledger whole = *ledger;
    const size_t most = ledger->transaction_count + ledger->account_count;
    struct member *members AUTO_FREE = NEW_ARRAY(most, struct member);
    struct built_transaction *transactions AUTO_FREE = NEW_ARRAY(most, struct built_transaction);
    struct hash set_hash;
    whole.transaction_count = members_of(ledger, members);
    struct buf set CLEANUP(buf_free) = build_set(ledger, members, whole.transaction_count, &set_hash);
    for (size_t i = 0; i < whole.transaction_count; i++)
        transactions[i] = members[i].transaction;
    whole.transactions = transactions;
    build(&whole, buf_bytes(&set), &set_hash, out, hash);
}

static struct hash hash_of_number(uint64_t number)
{
    uint8_t bytes[8];
    be64_put(bytes, number);
    return sha256(BYTES_OF(bytes));
}

struct public_key built_key(uint64_t number)
{
    struct public_key key;
    struct hash hash = hash_of_number(~number);
    for (size_t i = 0; i < sizeof key.bytes; i++)
        key.bytes[i] = hash.bytes[i];
    return key;
}

struct hash built_foreign(uint64_t number)
{
    return hash_of_number(number ^ 1ULL << 60); /* else its made envelope would be that of built_hash */
}

struct hash built_hash(uint64_t number)
{
    const struct network_id network = network_id_of(BUILT_PASSPHRASE);
    const struct public_key source = built_key(number);
    const struct hash salt = hash_of_number(number);
    struct buf envelope CLEANUP(buf_free) = {0};
    envelope_make(&source, BUILT_SEQUENCE, &salt, (struct bytes){0}, &envelope);
    const struct hash hash = envelope_hash_of(&network, buf_bytes(&envelope));
    envelope_add(&hash, buf_bytes(&envelope));
    return hash;
}
