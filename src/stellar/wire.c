#include "wire.h"

enum err muxed_account_read(struct xdr_reader *reader, struct public_key *account, bool *muxed)
{
    uint32_t type;
    uint64_t id;
    enum err e = xdr_u32(reader, &type);
    if (e != ERR_OK)
        return e;
    if (type != KEY_TYPE_ED25519 && type != KEY_TYPE_MUXED_ED25519)
        return ERR_XDR_UNKNOWN_ARM;
    *muxed = type == KEY_TYPE_MUXED_ED25519;
    if (*muxed && (e = xdr_u64(reader, &id)) != ERR_OK)
        return e;
    return xdr_opaque(reader, account->bytes, sizeof account->bytes);
}

void account_add(struct buf *out, const struct public_key *account)
{
    buf_add_u32(out, KEY_TYPE_ED25519);
    buf_add(out, account->bytes, sizeof account->bytes);
}

void signatures_add(
    struct buf *out, const struct public_key signers[], const struct signature signatures[], size_t count)
{
    buf_add_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buf_add(out, signers[i].bytes + sizeof signers[i].bytes - 4, 4);
        buf_add_u32(out, sizeof signatures[i].bytes);
        buf_add(out, signatures[i].bytes, sizeof signatures[i].bytes);
    }
}
