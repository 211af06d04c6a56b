/* Judges the preconditions of a client's transaction. Its time bounds are in policy_time.c. */
#include "policy_parts.h"

#include "signer_key.h"
#include "xdr/xdr.h"

enum {
    EXTRA_SIGNERS_MAX = 2
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
    return detail_set(detail, ERR_INVALID_TRANSACTION, /* ours: CAP-21 means another account's */
        "The precondition %s is not supported, because fairway replaces the source account. Remove it.",
        field);
}

/* Adds the key of an extra signer that requires an Ed25519 signature. */
static enum err check_extra_signer(struct bytes xdr, struct named_accounts *named, struct detail *detail)
{
    struct signer_key signer;
    struct public_key key;
    enum err e = signer_key_read(xdr, &signer);
    if (e != ERR_OK)
        return e;
    if (signer.kind == SIGNER_ED25519_SIGNED_PAYLOAD && signer.payload.len == 0)
        return detail_set(detail, ERR_INVALID_TRANSACTION, /* CAP-40: txMALFORMED */
            "The payload of an extra signer is empty.");
    if (signer.kind == SIGNER_PRE_AUTH_TX)
        return detail_set(detail, ERR_INVALID_TRANSACTION, /* ours: CAP-21 takes it, nobody can sign */
            "An extra signer is a pre-authorized transaction, but no transaction contains its own hash. "
            "Remove it.");
    return signer_key_account(&signer, &key) ? named_add(named, &key, detail) : ERR_OK;
}

static enum err check_extra_signers(
    const struct preconditions *given, struct named_accounts *named, struct detail *detail)
{
    if (given->extra_signer_count == 0)
        return ERR_OK;
    struct xdr_reader in = xdr_reader(given->extra_signers);
    struct bytes signers[EXTRA_SIGNERS_MAX];
    const uint32_t count = xdr_count(&in, EXTRA_SIGNERS_MAX);
    enum err e = in.e;
    for (uint32_t i = 0; e == ERR_OK && i < count; i++) {
        signers[i] = xdr_take(&in, XDR_SignerKey);
        e = check_extra_signer(signers[i], named, detail);
    }
    if (e == ERR_OK && count == 2 && bytes_equal(signers[0], signers[1]))
        e = detail_set(detail, ERR_INVALID_TRANSACTION, /* CAP-21: txMALFORMED */
            "The transaction's two extra signers are the same.");
    return e;
}

enum err preconditions_check(
    const struct preconditions *preconditions, struct named_accounts *named, struct detail *detail)
{
    enum err e = check_sequence_conditions(preconditions, detail);
    if (e != ERR_OK)
        return e;
    if (preconditions->max_ledger != 0 && preconditions->min_ledger >= preconditions->max_ledger)
        return detail_set(detail, ERR_INVALID_TRANSACTION, /* CAP-21 */
            "The transaction's ledger bounds admit no ledger (maxLedger is exclusive).");
    return check_extra_signers(preconditions, named, detail);
}
