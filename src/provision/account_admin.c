/* Release and retirement by hand: look at the network, change the account, and look again when ledgers have
 * overtaken the look. */
#include "provision/account_admin.h"

#include "base/clock.h"
#include "account_change.h"

/* Looks until the answer is of at_least and no older than the cursor. */
static enum err look_and_change(const struct account_admin *manual, const struct public_key *account,
    enum account_change change, uint32_t at_least, struct account_probe *sight, struct detail *detail)
{
    const int64_t deadline_ms = clock_ms() + (int64_t)manual->patience_s * 1000;
    for (;;) {
        enum err e = account_probe_take(manual, account, sight, detail);
        if (e != ERR_OK)
            return e;
        e = sight->oldest >= at_least
                ? account_change_apply(manual->db, account, change, sight, detail)
                : detail_set(detail, ERR_LEDGER_AHEAD,
                      "not now: Stellar RPC has not got to ledger %u for a second look", at_least);
        if (e != ERR_LEDGER_AHEAD)
            return e;
        if (clock_left_ms(deadline_ms) == 0)
            return ERR_NOT_YET;
        clock_sleep_ms((int)manual->poll_ms);
    }
}

enum err account_admin_release(
    const struct account_admin *manual, const struct public_key *account, struct detail *detail)
{
    struct account_probe sight;
    return look_and_change(manual, account, CHANGE_RELEASE, 0, &sight, detail);
}

/* One node that lags, or errs once, must not cost an account (Z6). */
enum err account_admin_retire(
    const struct account_admin *manual, const struct public_key *account, struct detail *detail)
{
    struct account_probe sight;
    enum err e = look_and_change(manual, account, CHANGE_LOOK, 0, &sight, detail);
    if (e != ERR_NOT_FOUND)
        return e;
    return look_and_change(manual, account, CHANGE_RETIRE, sight.ledger + 1, &sight, detail);
}
