/* The accounts that a transaction names. The list has a fixed size and never grows. */
#include "policy_parts.h"

bool named_has(const struct named_accounts *named, const struct public_key *account)
{
    for (size_t i = 0; i < named->count; i++)
        if (public_key_equal(&named->keys[i], account))
            return true;
    return false;
}

enum err named_add(struct named_accounts *named, const struct public_key *account, struct detail *detail)
{
    if (named_has(named, account))
        return ERR_OK;
    if (named->count == POLICY_NAMED_MAX)
        return detail_set(detail,
            ERR_INVALID_SOROBAN_TRANSACTION, /* ours: fixed memory. A ledger takes fewer */
            "The transaction names more than %d accounts that authorize it.", POLICY_NAMED_MAX);
    named->keys[named->count++] = *account;
    return ERR_OK;
}
