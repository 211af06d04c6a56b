/* Writes and hashes transactions. Nothing is judged, and what a client wrote is copied as it is. */
#include "stellar/envelope_build.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "operation.h"
#include "stellar/account.h"
#include "wire.h"

static void time_bounds_add(struct buf *out, uint64_t min_time_s, uint64_t max_time_s)
{
    buf_add_u64(out, min_time_s);
    buf_add_u64(out, max_time_s);
}

static void preconditions_add(struct buf *out, const struct preconditions *client, uint64_t max_time_s)
{
    bool ledger_bounds = client->min_ledger != 0 || client->max_ledger != 0;
    if (!ledger_bounds && client->extra_signer_count == 0) {
        buf_add_u32(out, PRECOND_TIME);
        time_bounds_add(out, client->min_time_s, max_time_s);
        return;
    }
    buf_add_u32(out, PRECOND_V2);
    buf_add_u32(out, 1);
    time_bounds_add(out, client->min_time_s, max_time_s);
    buf_add_u32(out, ledger_bounds);
    if (ledger_bounds) {
        buf_add_u32(out, client->min_ledger);
        buf_add_u32(out, client->max_ledger);
    }
    buf_add_u32(out, 0); /* minSeqNum */
    buf_add_u64(out, 0); /* minSeqAge */
    buf_add_u32(out, 0); /* minSeqLedgerGap */
    if (client->extra_signer_count == 0)
        buf_add_u32(out, 0);
    else
        buf_add_bytes(out, client->extra_signers);
}

void transaction_build(const struct envelope *client, const struct transaction_head *head, struct buf *out)
{
    account_id_add(out, &head->source);
    buf_add_u32(out, head->fee_stroops);
    buf_add_u64(out, (uint64_t)head->sequence);
    preconditions_add(out, &client->preconditions, head->max_time_s);
    buf_add_bytes(out, client->tail);
}

void envelope_build_call(const struct public_key *source, struct bytes function, struct bytes entries,
    uint32_t count, struct buf *out)
{
    buf_add_u32(out, ENVELOPE_TYPE_TX);
    account_id_add(out, source);
    buf_add_u32(out, 0); /* fee */
    buf_add_u64(out, 0); /* sequence number */
    buf_add_u32(out, PRECOND_NONE);
    buf_add_u32(out, 0); /* memo */
    buf_add_u32(out, 1); /* operations */
    buf_add_u32(out, 0); /* without a source */
    buf_add_u32(out, INVOKE_HOST_FUNCTION);
    buf_add_bytes(out, function);
    buf_add_u32(out, count);
    buf_add_bytes(out, entries);
    buf_add_u32(out, 0); /* ext */
    buf_add_u32(out, 0); /* signatures */
}

void envelope_build_with_resources(const struct envelope *client, struct bytes data, struct buf *out)
{
    const struct transaction_head head = {
        client->source, client->fee_stroops, client->sequence, client->preconditions.max_time_s};
    const uint8_t *ext = client->operations.data + client->operations.len;
    struct envelope call = *client;
    call.tail.len = (size_t)(ext - client->tail.data);
    buf_add_u32(out, ENVELOPE_TYPE_TX);
    transaction_build(&call, &head, out);
    buf_add_u32(out, 1); /* ext */
    buf_add_bytes(out, data);
    buf_add_u32(out, 0); /* signatures */
}

size_t envelope_built_size(const struct envelope *client, size_t signature_count)
{
    const size_t type = 4, count = 4, decorated = 4 + 4 + 64;
    struct buf transaction CLEANUP(buf_free) = {0};
    transaction_build(client, &(struct transaction_head){0}, &transaction);
    return type + transaction.len + count + signature_count * decorated;
}

/* signatures<20> */
static void signatures_add(
    struct buf *out, const struct public_key signers[], const struct signature signatures[], size_t count)
{
    buf_add_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buf_add(out, public_key_hint(&signers[i]), 4);
        buf_add_u32(out, sizeof signatures[i].bytes);
        buf_add(out, signatures[i].bytes, sizeof signatures[i].bytes);
    }
}

void envelope_build(struct bytes transaction, const struct public_key signers[],
    const struct signature signatures[], size_t count, struct buf *out)
{
    INVARIANT(count <= SIGNATURES_MAX);
    buf_add_u32(out, ENVELOPE_TYPE_TX);
    buf_add_bytes(out, transaction);
    signatures_add(out, signers, signatures, count);
}

/* Of a TransactionSignaturePayload. */
static struct hash payload_hash(const struct network_id *network, struct bytes type, struct bytes transaction)
{
    const struct bytes payload[] = {BYTES_OF(network->bytes), type, transaction};
    return sha256_parts(payload, ARRAY_LEN(payload));
}

struct hash transaction_hash(const struct network_id *network, struct bytes transaction)
{
    static const uint8_t type[] = {0, 0, 0, ENVELOPE_TYPE_TX};
    return payload_hash(network, BYTES_OF(type), transaction);
}

/*
 * A TransactionV0 is hashed as the V1 transaction with the same content, which is the key type of the source
 * and the bytes of the V0. (Absent and present time bounds are encoded as PRECOND_NONE and PRECOND_TIME.)
 */
struct hash envelope_hash(const struct network_id *network, const struct envelope *envelope)
{
    static const uint8_t v0[] = {0, 0, 0, ENVELOPE_TYPE_TX, 0, 0, 0, KEY_TYPE_ED25519};
    return envelope->form == ENVELOPE_V0 ? payload_hash(network, BYTES_OF(v0), envelope->body)
                                         : transaction_hash(network, envelope->body);
}

void fee_bump_build(
    const struct envelope *inner, const struct public_key *fee_source, int64_t fee_stroops, struct buf *out)
{
    account_id_add(out, fee_source);
    buf_add_u64(out, (uint64_t)fee_stroops);
    buf_add_u32(out, ENVELOPE_TYPE_TX);
    if (inner->form == ENVELOPE_V0)
        buf_add_u32(out, KEY_TYPE_ED25519);
    buf_add_bytes(out, inner->body);
    buf_add_bytes(out, inner->signature_list);
    buf_add_u32(out, 0); /* ext */
}

struct hash fee_bump_hash(const struct network_id *network, struct bytes fee_bump)
{
    static const uint8_t type[] = {0, 0, 0, ENVELOPE_TYPE_TX_FEE_BUMP};
    return payload_hash(network, BYTES_OF(type), fee_bump);
}

void fee_bump_envelope_build(struct bytes fee_bump, const struct public_key *signer,
    const struct signature *signature, struct buf *out)
{
    buf_add_u32(out, ENVELOPE_TYPE_TX_FEE_BUMP);
    buf_add_bytes(out, fee_bump);
    signatures_add(out, signer, signature, 1);
}

/* Before it are type, fee source and fee; after it ext and one signature. */
struct bytes fee_bump_inner(struct bytes envelope)
{
    const size_t head = 4 + 36 + 8, tail = 4 + 4 + 72;
    INVARIANT(envelope.len > head + tail);
    return (struct bytes){envelope.data + head, envelope.len - head - tail};
}
