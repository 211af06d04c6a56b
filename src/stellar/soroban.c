#include "soroban.h"

#include <inttypes.h>

#include "named.h"
#include "policy_fee.h"

enum {
    SC_ADDRESS_ACCOUNT = 0,
    SC_ADDRESS_CONTRACT = 1,
    SC_ADDRESS_MUXED_ACCOUNT = 2,
    SC_ADDRESS_CLAIMABLE_BALANCE = 3,
    SC_ADDRESS_LIQUIDITY_POOL = 4,
};

enum {
    CREDENTIALS_SOURCE_ACCOUNT = 0,
    CREDENTIALS_ADDRESS = 1,
    CREDENTIALS_ADDRESS_V2 = 2,             /* CAP-71-02 */
    CREDENTIALS_ADDRESS_WITH_DELEGATES = 3, /* CAP-71-01 */
};

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
    default:
        return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION,
            "The transaction is authorized by an address of the unknown kind %" PRIu32 ".", kind);
    }
    return e != ERR_OK ? e : xdr_opaque(&in, account->bytes, sizeof account->bytes);
}

enum err soroban_credentials_check(
    struct bytes credentials, const struct operation *operation, struct detail *detail)
{
    struct xdr_reader in = xdr_reader(credentials);
    uint32_t kind;
    enum err e = xdr_u32(&in, &kind);
    if (e != ERR_OK)
        return e;
    switch (kind) {
    case CREDENTIALS_SOURCE_ACCOUNT:
        /* The operation's source authorizes: it is named when it is set, else it is the channel account. */
        if (operation->has_source)
            return ERR_OK;
        return detail_set(detail, ERR_FORBIDDEN_SIGNER,
            "operations[%" PRIu32
            "] has an authorization entry with source-account credentials but no source, "
            "so that the channel account would authorize it.",
            operation->index);
    case CREDENTIALS_ADDRESS:
    case CREDENTIALS_ADDRESS_V2:
    case CREDENTIALS_ADDRESS_WITH_DELEGATES:
        return ERR_OK;
    default:
        return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION,
            "operations[%" PRIu32 "] has an authorization entry with credentials of the unknown kind %" PRIu32
            ".",
            operation->index, kind);
    }
}

struct search {
    const struct operation *operation;
    struct named_accounts *named;
    struct detail *detail;
};

static enum err found_credentials(struct bytes credentials, void *context)
{
    const struct search *search = context;
    return soroban_credentials_check(credentials, search->operation, search->detail);
}

/* Each type that name_authorizers searches for begins with its address. */
static enum err found_address(struct bytes span, void *context)
{
    const struct search *search = context;
    struct public_key account;
    bool is_account;
    enum err e = soroban_address_account(span, &is_account, &account, search->detail);
    return e != ERR_OK || !is_account ? e : named_add(search->named, &account, search->detail);
}

/*
 * Finds values by type anywhere in the operation: authorization entries, their delegates at every depth, and
 * the deployer in a contract id, whose authority is needed to create the contract.
 */
static enum err name_authorizers(
    const struct operation *operation, struct named_accounts *named, struct detail *detail)
{
    static const struct {
        enum xdr_type type;
        xdr_found found;
    } wanted[] = {
        {XDR_SorobanCredentials, found_credentials},
        {XDR_SorobanAddressCredentials, found_address},
        {XDR_SorobanDelegateSignature, found_address},
        {XDR_ContractIdPreimageFromAddress, found_address},
    };
    struct search search = {operation, named, detail};
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < sizeof wanted / sizeof wanted[0]; i++) {
        struct xdr_reader in = xdr_reader(operation->span);
        e = xdr_each(&in, XDR_Operation, wanted[i].type, wanted[i].found, &search);
    }
    return e;
}

/* From protocol 25 on a memo or muxed source on InvokeHostFunction is txSOROBAN_INVALID. */
static enum err check_invocation(
    const struct envelope *envelope, const struct operation *operation, struct detail *detail)
{
    if (envelope->has_memo)
        return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION,
            "A transaction that invokes a host function must not have a memo.");
    if (operation->has_source && operation->source_muxed)
        return detail_set(detail, ERR_INVALID_SOROBAN_TRANSACTION,
            "operations[%" PRIu32 "] invokes a host function; its source cannot be a muxed account.",
            operation->index);
    return ERR_OK;
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
    if ((e = policy_fee_check_resource(envelope, limits, detail)) != ERR_OK)
        return e;
    return name_authorizers(operation, named, detail);
}
