/* The sorted list of accounts that a transaction names. It has a fixed size and never grows. */
#include "policy_parts.h"

#include <string.h>

/* The index at which account is or would be inserted. */
static size_t position(const struct named_accounts *named, const struct public_key *account)
{
    size_t low = 0, high = named->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (public_key_compare(&named->keys[middle], account) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool named_has(const struct named_accounts *named, const struct public_key *account)
{
    size_t at = position(named, account);
    return at < named->count && public_key_equal(&named->keys[at], account);
}

enum err named_add(struct named_accounts *named, const struct public_key *account, struct detail *detail)
{
    size_t at = position(named, account);
    if (at < named->count && public_key_equal(&named->keys[at], account))
        return ERR_OK;
    if (named->count == POLICY_NAMED_MAX)
        return detail_set(detail,
            ERR_INVALID_SOROBAN_TRANSACTION, /* ours: fixed memory. A ledger takes fewer */
            "The transaction names more than %d accounts that authorize it.", POLICY_NAMED_MAX);
    memmove(&named->keys[at + 1], &named->keys[at], (named->count - at) * sizeof named->keys[0]);
    named->keys[at] = *account;
    named->count++;
    return ERR_OK;
}
