/* The few fields of accounts in XDR. Which account may do what is not decided here. */
#include "stellar/account.h"

#include "wire.h"

#define SIGNERS_MAX 20 /* of the protocol */
#define AUTH_IMMUTABLE_FLAG 4

enum err account_id_read(struct xdr_reader *reader, struct public_key *out)
{
    uint32_t type;
    enum err e = xdr_u32(reader, &type);
    if (e == ERR_OK && type != KEY_TYPE_ED25519)
        e = ERR_XDR_UNKNOWN_ARM;
    return e != ERR_OK ? e : xdr_opaque(reader, out->bytes, sizeof out->bytes);
}

enum err account_muxed_read(struct xdr_reader *reader, struct public_key *account, bool *muxed)
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

void account_id_add(struct buf *out, const struct public_key *account)
{
    buf_add_u32(out, KEY_TYPE_ED25519);
    buf_add(out, account->bytes, sizeof account->bytes);
}

/*
 * Weights as in stellar-core's SignatureChecker. An operation needs the low, medium or high threshold;
 * SetOptions may put these in any order. At least one signature is needed whatever the threshold. Sponsored
 * signers are in the same list as the others.
 */
static bool master_key_rules(const uint8_t thresholds[4], uint32_t signer_count)
{
    uint8_t master = thresholds[0];
    return signer_count == 0 && master >= 1 && master >= thresholds[1] && master >= thresholds[2] &&
           master >= thresholds[3];
}

/* Reads AccountEntry.ext: liabilities and sponsorship. Reserves are counted as in stellar-core's
 * getMinBalance (TransactionUtils.cpp). */
static enum err read_reserves(struct xdr_reader *reader, uint32_t sub_entries, struct account_entry *out)
{
    uint32_t version, sponsored, sponsoring;
    int64_t buying;
    enum err e;
    out->reserves = 2 + (int64_t)sub_entries;
    out->bare = sub_entries == 0;
    if ((e = xdr_u32(reader, &version)) != ERR_OK || version == 0)
        return e;
    if ((e = xdr_i64(reader, &buying)) != ERR_OK || (e = xdr_i64(reader, &out->selling_stroops)) != ERR_OK ||
        (e = xdr_u32(reader, &version)) != ERR_OK || version == 0)
        return e;
    if ((e = xdr_u32(reader, &sponsored)) != ERR_OK || (e = xdr_u32(reader, &sponsoring)) != ERR_OK)
        return e;
    out->reserves += (int64_t)sponsoring - (int64_t)sponsored;
    out->bare &= sponsoring == 0;
    return ERR_OK;
}

/* Fields after the reserves are not read. */
static enum err entry_read(struct xdr_reader *reader, struct account_entry *out)
{
    uint32_t sub_entries, flags, signers;
    uint8_t thresholds[4];
    bool has_inflation_destination;
    struct public_key inflation_destination;
    enum err e;
    *out = (struct account_entry){0};
    if ((e = account_id_read(reader, &out->key)) != ERR_OK ||
        (e = xdr_i64(reader, &out->balance_stroops)) != ERR_OK ||
        (e = xdr_i64(reader, &out->sequence)) != ERR_OK || (e = xdr_u32(reader, &sub_entries)) != ERR_OK ||
        (e = xdr_bool(reader, &has_inflation_destination)) != ERR_OK ||
        (has_inflation_destination && (e = account_id_read(reader, &inflation_destination)) != ERR_OK) ||
        (e = xdr_u32(reader, &flags)) != ERR_OK || (e = xdr_take(reader, XDR_String32, NULL)) != ERR_OK ||
        (e = xdr_opaque(reader, thresholds, sizeof thresholds)) != ERR_OK ||
        (e = xdr_take_array(reader, XDR_Signer, SIGNERS_MAX, &signers, NULL)) != ERR_OK)
        return e;
    out->own_authority = master_key_rules(thresholds, signers);
    out->cannot_sign = thresholds[0] < 1 || thresholds[0] < thresholds[1];
    out->immutable = (flags & AUTH_IMMUTABLE_FLAG) != 0;
    return read_reserves(reader, sub_entries, out);
}

enum err account_entry_decode(struct bytes entry, struct account_entry *out)
{
    uint32_t type;
    enum err e = xdr_check(XDR_LedgerEntryData, entry);
    if (e != ERR_OK)
        return e;
    struct xdr_reader reader = xdr_reader(entry);
    if ((e = xdr_u32(&reader, &type)) != ERR_OK)
        return e;
    return type != LEDGER_ENTRY_ACCOUNT ? ERR_MALFORMED : entry_read(&reader, out);
}

void account_ledger_key(const struct public_key *key, struct buf *out)
{
    buf_add_u32(out, LEDGER_ENTRY_ACCOUNT);
    account_id_add(out, key);
}
