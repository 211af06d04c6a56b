#include "funds_step.h"

static void take(struct funds *funds, const struct ledger_account *account, uint32_t ledger)
{
    funds->known = true;
    funds->ledger = ledger;
    funds->balance_stroops = account->removed ? 0 : account->balance_stroops;
    funds->reserves = account->removed ? 0 : account->reserves;
    funds->selling_stroops = account->removed ? 0 : account->selling_stroops;
}

/* Neither an older state than is known, nor one that ledgers since then may have changed. */
static bool counts(const struct account_snapshot *seen, const struct funds *before, uint32_t cursor)
{
    return seen != NULL && seen->ledger >= cursor && (!before->known || seen->ledger >= before->ledger) &&
           public_key_equal(&seen->account.key, &before->account);
}

bool funds_step(const struct funds *before, const struct ledger *ledger, const struct account_snapshot *seen,
    uint32_t cursor, struct funds *after)
{
    *after = *before;
    if (!before->bound)
        return false;
    if (counts(seen, before, cursor))
        take(after, &seen->account, seen->ledger);
    /* What was read as of this ledger, or of one that is still to come, has this one's changes in it. */
    const struct ledger_account *changed = ledger_account(ledger, &before->account);
    if (changed != NULL && (!after->known || ledger->sequence > after->ledger))
        take(after, changed, ledger->sequence);
    if (!after->known)
        return false;
    after->base_reserve_stroops = ledger->base_reserve_stroops;
    after->spendable_stroops = funds_spendable(after);
    return !before->known || after->ledger != before->ledger ||
           after->base_reserve_stroops != before->base_reserve_stroops;
}
