/* The rules for Soroban operations. No contract is run and no entry is read: a simulation does that. */
#include "soroban.h"

#include <inttypes.h>

#include "base/mem.h"
#include "stellar/strkey.h"
#include "policy_parts.h"

/*
 * Credentials 0 are those of the operation's source, which is named if it has one; 1 and 2 (CAP-71-02) have
 * an address; 3 (CAP-71-01) has an address and delegates. Host functions are 0 invoke, 1 and 3 create
 * contract, 2 upload Wasm; authorized functions 0 invoke, 1 and 2 create contract. A contract id comes from
 * an address (0), whose authority is needed, or from an asset (1).
 */
const struct soroban_union soroban_unions[SOROBAN_UNION_COUNT] = {
    {XDR_SorobanCredentials, 4, "credentials"},
    {XDR_HostFunction, 4, "host function"},
    {XDR_SorobanAuthorizedFunction, 3, "authorized function"},
    {XDR_ContractIdPreimage, 2, "contract id"},
    {XDR_ContractExecutable, 3, "executable"},
};

/* CAP-84: the host takes it as a destination only. XDR has the number first, strkey last. */
static enum err refuse_muxed_contract(struct xdr_reader *in, struct detail *detail)
{
    uint8_t value[40];
    char text[STRKEY_SIZE(sizeof value)];
    enum err e;
    if ((e = xdr_opaque(in, value + 32, 8)) != ERR_OK || (e = xdr_opaque(in, value, 32)) != ERR_OK)
        return e;
    strkey_encode(STRKEY_MUXED_CONTRACT, value, sizeof value, text);
    return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION,
        "The transaction is authorized by %s, a muxed contract. Such an address can only be paid.", text);
}

enum err soroban_address_account(
    struct bytes address, bool *is_account, struct public_key *account, struct detail *detail)
{
    struct xdr_reader in = xdr_reader(address);
    uint32_t kind, key_type;
    uint64_t id;
    enum err e = xdr_u32(&in, &kind);
    if (e != ERR_OK)
        return e;
    *is_account = kind == SC_ADDRESS_ACCOUNT || kind == SC_ADDRESS_MUXED_ACCOUNT;
    switch (kind) {
    case SC_ADDRESS_ACCOUNT:
        e = xdr_u32(&in, &key_type);
        break;
    case SC_ADDRESS_MUXED_ACCOUNT:
        e = xdr_u64(&in, &id);
        break;
    case SC_ADDRESS_CONTRACT:
    case SC_ADDRESS_CLAIMABLE_BALANCE:
    case SC_ADDRESS_LIQUIDITY_POOL:
        return ERR_OK;
    case SC_ADDRESS_MUXED_CONTRACT:
        return refuse_muxed_contract(&in, detail);
    default:
        return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION,
            "The transaction is authorized by an address of the unknown kind %" PRIu32 ".", kind);
    }
    return e != ERR_OK ? e : xdr_opaque(&in, account->bytes, sizeof account->bytes);
}

enum err soroban_check_arm(const struct soroban_union *covered, struct bytes value, struct detail *detail)
{
    struct xdr_reader in = xdr_reader(value);
    uint32_t arm;
    enum err e = xdr_u32(&in, &arm);
    if (e != ERR_OK || arm < covered->arms)
        return e;
    return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION,
        "The transaction has a value (%s) of the unknown kind %" PRIu32 ".", covered->name, arm);
}

struct found {
    const struct soroban_union *covered;
    struct named_accounts *named;
    struct detail *detail;
};

static enum err found_union(struct bytes value, void *context)
{
    const struct found *found = context;
    return soroban_check_arm(found->covered, value, found->detail);
}

/* Each type whose address is named begins with it. */
static enum err found_address(struct bytes span, void *context)
{
    const struct found *found = context;
    struct public_key account;
    bool is_account;
    enum err e = soroban_address_account(span, &is_account, &account, found->detail);
    return e != ERR_OK || !is_account ? e : named_add(found->named, &account, found->detail);
}

/*
 * Finds values by type anywhere in the operation: unions of which an arm may be unknown, authorization
 * entries, their delegates at every depth, and the deployer in a contract id, whose authority is needed to
 * create the contract. In one walk, because a transaction can have 30,000 values.
 */
static enum err check_values(
    const struct operation *operation, struct named_accounts *named, struct detail *detail)
{
    static const enum xdr_type addresses[] = {
        XDR_SorobanAddressCredentials, XDR_SorobanDelegateSignature, XDR_ContractIdPreimageFromAddress};
    struct found contexts[SOROBAN_UNION_COUNT + ARRAY_LEN(addresses)];
    struct xdr_search searches[ARRAY_LEN(contexts)];
    struct xdr_reader in = xdr_reader(operation->span);
    for (size_t i = 0; i < ARRAY_LEN(searches); i++) {
        const bool is_union = i < SOROBAN_UNION_COUNT;
        contexts[i] = (struct found){is_union ? &soroban_unions[i] : NULL, named, detail};
        searches[i] =
            is_union ? (struct xdr_search){soroban_unions[i].type, found_union, &contexts[i]}
                     : (struct xdr_search){addresses[i - SOROBAN_UNION_COUNT], found_address, &contexts[i]};
    }
    return xdr_search(&in, XDR_Operation, searches, ARRAY_LEN(searches));
}

static enum err refuse_source_account(struct bytes credentials, void *context)
{
    (void)context;
    return be32_get(credentials.data) == SOROBAN_CREDENTIALS_SOURCE_ACCOUNT
               ? ERR_SOURCE_CREDENTIALS_NOT_ALLOWED
               : ERR_OK;
}

enum err soroban_check_credentials(const struct operation *operation, struct detail *detail)
{
    struct xdr_reader in = xdr_reader(operation->span);
    if (operation->kind != INVOKE_HOST_FUNCTION)
        return detail_set(detail, ERR_INVALID_OPERATION_STRUCTURE,
            "operations[%" PRIu32 "] has no source account; it would act for the channel account.",
            operation->index);
    enum err e = xdr_each(&in, XDR_Operation, XDR_SorobanCredentials, refuse_source_account, NULL);
    if (e == ERR_SOURCE_CREDENTIALS_NOT_ALLOWED)
        return detail_set(detail, e,
            "operations[%" PRIu32
            "] has no source account, and an authorization entry with the credentials of "
            "the source account. Have the user sign an entry by address.",
            operation->index);
    return e;
}

/* From protocol 25 on a memo or muxed source on InvokeHostFunction is txSOROBAN_INVALID. */
static enum err check_invocation(
    const struct envelope *envelope, const struct operation *operation, struct detail *detail)
{
    if (envelope->has_memo)
        return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION,
            "A transaction that invokes a host function must not have a memo.");
    if (operation->source_muxed)
        return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION,
            "operations[%" PRIu32 "] invokes a host function; its source cannot be a muxed account.",
            operation->index);
    return ERR_OK;
}

/* What stellar-core calls malformed (ExtendFootprintTTLOpFrame and RestoreFootprintOpFrame,
 * doCheckValidForSoroban): to extend entries is to read them, to restore them is to write them. */
static enum err check_footprint(
    const struct envelope *envelope, const struct operation *operation, struct detail *detail)
{
    const bool extends = operation->kind == EXTEND_FOOTPRINT_TTL;
    const uint32_t wrong = extends ? envelope->read_write_count : envelope->read_only_count;
    if (operation->kind == INVOKE_HOST_FUNCTION || wrong == 0)
        return ERR_OK;
    return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION,
        "operations[%" PRIu32 "] %s entries; its footprint must not have %s entries.", operation->index,
        extends ? "extends" : "restores", extends ? "read-write" : "read-only");
}

enum err soroban_check(const struct envelope *envelope, const struct operation *operation,
    const struct policy_limits *limits, struct named_accounts *named, struct detail *detail)
{
    enum err e;
    if (envelope->operation_count != 1)
        return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION,
            "operations[%" PRIu32
            "] is a Soroban operation; its transaction must have exactly one operation.",
            operation->index);
    if (!envelope->soroban)
        return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION,
            "The transaction lacks the SorobanTransactionData that its operation needs.");
    if (operation->kind == INVOKE_HOST_FUNCTION &&
        (e = check_invocation(envelope, operation, detail)) != ERR_OK)
        return e;
    if ((e = check_footprint(envelope, operation, detail)) != ERR_OK ||
        (e = policy_fee_check_resource(envelope, limits, detail)) != ERR_OK)
        return e;
    return check_values(operation, named, detail);
}
