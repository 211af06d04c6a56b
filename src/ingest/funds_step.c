#include "funds_step.h"

static void take(struct funds *funds, const struct ledger_account *account, uint32_t ledger)
{
    funds->known = true;
    funds->ledger = ledger;
    funds->balance_stroops = account->removed ? 0 : account->balance_stroops;
    funds->reserves = account->removed ? 0 : account->reserves;
    funds->selling_stroops = account->removed ? 0 : account->selling_stroops;
}

static bool counts(const struct account_snapshot *read, const struct funds *before, uint32_t cursor)
{
    return read != NULL && read->ledger >= cursor && (!before->known || read->ledger >= before->ledger) &&
           public_key_equal(&read->account.key, &before->account);
}

/* Takes over what the metadata claims. */
static void take_claim(struct funds *funds, const struct ledger_account *account, uint32_t ledger,
    const struct funds_limits *limits)
{
    struct funds claimed = *funds;
    take(&claimed, account, ledger);
    claimed.spendable_stroops = funds_spendable(&claimed);
    if (limits != NULL && funds_level(&claimed, limits) == FUNDS_TOO_LOW)
        funds->doubted_ledger = ledger;
    else
        *funds = claimed;
}

bool funds_step(const struct funds *before, const struct ledger *ledger, const struct account_snapshot *read,
    uint32_t cursor, const struct funds_limits *limits, struct funds *after)
{
    *after = *before;
    if (!before->bound)
        return false;
    after->base_reserve_stroops = ledger->base_reserve_stroops;
    if (counts(read, before, cursor))
        take(after, &read->account, read->ledger);
    /* A read as of this ledger or a later one already has this ledger's changes. */
    const struct ledger_account *changed = ledger_account(ledger, &before->account);
    if (changed != NULL && (!after->known || ledger->sequence > after->ledger))
        take_claim(after, changed, ledger->sequence, limits);
    if (!after->known)
        return false;
    after->spendable_stroops = funds_spendable(after);
    return !before->known || after->ledger != before->ledger ||
           after->base_reserve_stroops != before->base_reserve_stroops;
}
