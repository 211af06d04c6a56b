/* The few fields of accounts in XDR. Which account may do what is not decided here. */
#include "stellar/account.h"

#include "wire.h"

#define SIGNERS_MAX 20 /* of the protocol */
#define AUTH_IMMUTABLE_FLAG 4

struct public_key account_id_read(struct xdr_reader *reader)
{
    struct public_key key;
    if (xdr_u32(reader) != KEY_TYPE_ED25519)
        xdr_fail(reader, ERR_XDR_UNKNOWN_ARM);
    xdr_opaque(reader, key.bytes, sizeof key.bytes);
    return key;
}

struct public_key account_muxed_read(struct xdr_reader *reader, bool *muxed)
{
    struct public_key key;
    const uint32_t type = xdr_u32(reader);
    if (type != KEY_TYPE_ED25519 && type != KEY_TYPE_MUXED_ED25519)
        xdr_fail(reader, ERR_XDR_UNKNOWN_ARM);
    *muxed = type == KEY_TYPE_MUXED_ED25519;
    if (*muxed)
        xdr_u64(reader); /* the id */
    xdr_opaque(reader, key.bytes, sizeof key.bytes);
    return key;
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
static void read_reserves(struct xdr_reader *reader, uint32_t sub_entries, struct account_entry *out)
{
    out->reserves = 2 + (int64_t)sub_entries;
    out->bare = sub_entries == 0;
    if (xdr_u32(reader) == 0)
        return;
    xdr_i64(reader); /* buying */
    out->selling_stroops = xdr_i64(reader);
    if (xdr_u32(reader) == 0)
        return;
    const uint32_t sponsored = xdr_u32(reader), sponsoring = xdr_u32(reader);
    out->reserves += (int64_t)sponsoring - (int64_t)sponsored;
    out->bare &= sponsoring == 0;
}

/* Fields after the reserves are not read. */
static void entry_read(struct xdr_reader *reader, struct account_entry *out)
{
    uint8_t thresholds[4];
    uint32_t signers;
    out->key = account_id_read(reader);
    out->balance_stroops = xdr_i64(reader);
    out->sequence = xdr_i64(reader);
    const uint32_t sub_entries = xdr_u32(reader);
    if (xdr_bool(reader))
        account_id_read(reader); /* the inflation destination */
    out->immutable = (xdr_u32(reader) & AUTH_IMMUTABLE_FLAG) != 0;
    xdr_take(reader, XDR_String32); /* the home domain */
    xdr_opaque(reader, thresholds, sizeof thresholds);
    xdr_take_array(reader, XDR_Signer, SIGNERS_MAX, &signers);
    out->own_authority = master_key_rules(thresholds, signers);
    out->cannot_sign = thresholds[0] < 1 || thresholds[0] < thresholds[1];
    read_reserves(reader, sub_entries, out);
}

enum err account_entry_decode(struct bytes entry, struct account_entry *out)
{
    enum err e = xdr_check(XDR_LedgerEntryData, entry);
    if (e != ERR_OK)
        return e;
    struct xdr_reader reader = xdr_reader(entry);
    if (xdr_u32(&reader) != LEDGER_ENTRY_ACCOUNT)
        return ERR_MALFORMED;
    *out = (struct account_entry){0};
    entry_read(&reader, out);
    return reader.e;
}

void account_ledger_key(const struct public_key *key, struct buf *out)
{
    buf_add_u32(out, LEDGER_ENTRY_ACCOUNT);
    account_id_add(out, key);
}
