#include "preconditions.h"

#include "named.h"
#include "xdr/xdr.h"

enum {
    SIGNER_KEY_ED25519 = 0,
    SIGNER_KEY_ED25519_SIGNED_PAYLOAD = 3,
    EXTRA_SIGNERS_MAX = 2,
};

/* These conditions are about the sequence number of the client's source account, which is replaced. */
static enum err check_sequence_conditions(const struct preconditions *given, struct detail *detail)
{
    const char *field = given->has_min_sequence               ? "minSeqNum"
                        : given->min_sequence_age_s != 0      ? "minSeqAge"
                        : given->min_sequence_ledger_gap != 0 ? "minSeqLedgerGap"
                                                              : NULL;
    if (field == NULL)
        return ERR_OK;
    return detail_set(detail, ERR_INVALID_TRANSACTION,
        "The precondition %s cannot be kept, because the source becomes a channel account. Remove it.",
        field);
}

static enum err check_bounds(const struct preconditions *given, struct detail *detail)
{
    if (given->max_time_s != 0 && given->min_time_s > given->max_time_s)
        return detail_set(
            detail, ERR_INVALID_TRANSACTION, "The transaction's min time is after its max time.");
    if (given->max_ledger != 0 && given->min_ledger >= given->max_ledger)
        return detail_set(detail, ERR_INVALID_TRANSACTION,
            "The transaction's ledger bounds admit no ledger (maxLedger is exclusive).");
    return ERR_OK;
}

/* Adds the key of an extra signer that requires an Ed25519 signature. */
static enum err name_extra_signer(
    struct bytes signer_key, struct named_accounts *named, struct detail *detail)
{
    struct xdr_reader in = xdr_reader(signer_key);
    struct public_key key;
    uint32_t kind, payload_len;
    enum err e;
    if ((e = xdr_u32(&in, &kind)) != ERR_OK || (e = xdr_opaque(&in, key.bytes, sizeof key.bytes)) != ERR_OK)
        return e;
    if (kind == SIGNER_KEY_ED25519)
        return named_add(named, &key, detail);
    if (kind != SIGNER_KEY_ED25519_SIGNED_PAYLOAD)
        return ERR_OK;
    if ((e = xdr_u32(&in, &payload_len)) != ERR_OK)
        return e;
    if (payload_len == 0) /* txMALFORMED */
        return detail_set(detail, ERR_INVALID_TRANSACTION, "The payload of an extra signer is empty.");
    return named_add(named, &key, detail);
}

static enum err check_extra_signers(
    const struct preconditions *given, struct named_accounts *named, struct detail *detail)
{
    if (given->extra_signer_count == 0)
        return ERR_OK;
    struct xdr_reader in = xdr_reader(given->extra_signers);
    struct bytes signers[EXTRA_SIGNERS_MAX];
    uint32_t count;
    enum err e = xdr_count(&in, EXTRA_SIGNERS_MAX, &count);
    for (uint32_t i = 0; e == ERR_OK && i < count; i++)
        if ((e = xdr_take(&in, XDR_SignerKey, &signers[i])) == ERR_OK)
            e = name_extra_signer(signers[i], named, detail);
    if (e == ERR_OK && count == 2 && bytes_equal(signers[0], signers[1])) /* txMALFORMED */
        e = detail_set(detail, ERR_INVALID_TRANSACTION, "The transaction's two extra signers are the same.");
    return e;
}

enum err preconditions_check(
    const struct preconditions *preconditions, struct named_accounts *named, struct detail *detail)
{
    enum err e;
    if ((e = check_sequence_conditions(preconditions, detail)) != ERR_OK ||
        (e = check_bounds(preconditions, detail)) != ERR_OK)
        return e;
    return check_extra_signers(preconditions, named, detail);
}
