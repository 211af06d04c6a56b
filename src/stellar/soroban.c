/* The rules for Soroban operations. No contract is run and no entry is read: a simulation does that. */
#include "soroban.h"

#include <inttypes.h>

#include "base/mem.h"
#include "policy_parts.h"

enum err soroban_address_account(struct bytes address, bool *is_account, struct public_key *account)
{
    struct xdr_reader in = xdr_reader(address);
    const uint32_t kind = xdr_u32(&in);
    *is_account = kind == SC_ADDRESS_ACCOUNT || kind == SC_ADDRESS_MUXED_ACCOUNT;
    if (!*is_account)
        return in.e;
    if (kind == SC_ADDRESS_ACCOUNT)
        xdr_u32(&in); /* the type of the key */
    else
        xdr_u64(&in); /* the id */
    xdr_opaque(&in, account->bytes, sizeof account->bytes);
    return in.e;
}

struct found {
    struct named_accounts *named;
    struct detail *detail;
};

/* Each type whose address is named begins with it. */
static enum err found_address(struct bytes span, void *context)
{
    const struct found *found = context;
    struct public_key account;
    bool is_account;
    enum err e = soroban_address_account(span, &is_account, &account);
    return e != ERR_OK || !is_account ? e : named_add(found->named, &account, found->detail);
}

/*
 * Finds addresses by the type that holds them, anywhere in the operation: authorization entries, their
 * delegates at every depth, and the deployer in a contract id, whose authority is needed to create the
 * contract. In one walk, because a transaction can have 30,000 values.
 */
static enum err check_values(
    const struct operation *operation, struct named_accounts *named, struct detail *detail)
{
    struct found found = {named, detail};
    const struct xdr_search searches[] = {{XDR_SorobanAddressCredentials, found_address, &found},
        {XDR_SorobanDelegateSignature, found_address, &found},
        {XDR_ContractIdPreimageFromAddress, found_address, &found}};
    struct xdr_reader in = xdr_reader(operation->span);
    return xdr_search(&in, XDR_Operation, searches, ARRAY_LEN(searches));
}

static enum err refuse_source_account(struct bytes credentials, void *context)
{
    (void)context;
    return be32_get(credentials.data) == SOROBAN_CREDENTIALS_SOURCE_ACCOUNT
               ? ERR_SOURCE_CREDENTIALS_NOT_ALLOWED
               : ERR_OK;
}

enum err soroban_check_without_source(const struct operation *operation, struct detail *detail)
{
    struct xdr_reader in = xdr_reader(operation->span);
    if (operation->kind != INVOKE_HOST_FUNCTION)
        return detail_set(detail, ERR_INVALID_OPERATION_STRUCTURE, /* ours: promise 1 */
            "operations[%" PRIu32 "] has no source account; it would act for the channel account.",
            operation->index);
    enum err e = xdr_each(&in, XDR_Operation, XDR_SorobanCredentials, refuse_source_account, NULL);
    if (e == ERR_SOURCE_CREDENTIALS_NOT_ALLOWED)
        return detail_set(detail, e, /* CAP-46-11: they are the transaction's source's */
            "operations[%" PRIu32
            "] has no source account, and an authorization entry with the credentials of "
            "the source account. Have the user sign an entry by address.",
            operation->index);
    return e;
}

static enum err check_invocation(
    const struct envelope *envelope, const struct operation *operation, struct detail *detail)
{
    if (envelope->has_memo)
        return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION, /* stellar-core 25: validateSorobanMemo */
            "A transaction that invokes a host function must not have a memo.");
    if (operation->source_muxed)
        return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION, /* the same */
            "operations[%" PRIu32 "] invokes a host function; its source cannot be a muxed account.",
            operation->index);
    return ERR_OK;
}

/* To extend entries is to read them, to restore them is to write them. */
static enum err check_footprint(
    const struct envelope *envelope, const struct operation *operation, struct detail *detail)
{
    const bool extends = operation->kind == EXTEND_FOOTPRINT_TTL;
    const uint32_t wrong = extends ? envelope->read_write_count : envelope->read_only_count;
    if (operation->kind == INVOKE_HOST_FUNCTION || wrong == 0)
        return ERR_OK;
    return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION, /* CAP-46-12: malformed */
        "operations[%" PRIu32 "] %s entries; its footprint must not have %s entries.", operation->index,
        extends ? "extends" : "restores", extends ? "read-write" : "read-only");
}

enum err soroban_check(const struct envelope *envelope, const struct operation *operation,
    const struct policy_limits *limits, struct named_accounts *named, struct detail *detail)
{
    enum err e;
    if (envelope->operation_count != 1)
        return detail_set(detail,
            ERR_INVALID_SOROBAN_TRANSACTION, /* stellar-core: validateSorobanOpsConsistency */
            "operations[%" PRIu32
            "] is a Soroban operation; its transaction must have exactly one operation.",
            operation->index);
    if (!envelope->soroban)
        return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION, /* stellar-core: commonValidPreSeqNum */
            "The transaction lacks the SorobanTransactionData that its operation needs.");
    if (operation->kind == INVOKE_HOST_FUNCTION &&
        (e = check_invocation(envelope, operation, detail)) != ERR_OK)
        return e;
    if ((e = check_footprint(envelope, operation, detail)) != ERR_OK ||
        (e = policy_fee_check_resource(envelope, limits, detail)) != ERR_OK)
        return e;
    return check_values(operation, named, detail);
}
