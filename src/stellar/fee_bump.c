#include "stellar/envelope.h"

#include "hash.h"
#include "wire.h"

void fee_bump_build(
    const struct envelope *inner, const struct public_key *fee_source, int64_t fee_stroops, struct buf *out)
{
    account_add(out, fee_source);
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
    uint8_t type[4];
    be32_put(type, ENVELOPE_TYPE_TX_FEE_BUMP);
    const struct bytes payload[] = {BYTES_OF(network->bytes), BYTES_OF(type), fee_bump};
    return sha256_parts(payload, 3);
}

void fee_bump_envelope_build(struct bytes fee_bump, const struct public_key *signer,
    const struct signature *signature, struct buf *out)
{
    buf_add_u32(out, ENVELOPE_TYPE_TX_FEE_BUMP);
    buf_add_bytes(out, fee_bump);
    signatures_add(out, signer, signature, 1);
}
