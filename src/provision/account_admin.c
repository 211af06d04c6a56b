/* accounts release and retire: asks the network about an account, again until what it says is recent enough.
 * Writes no table: account_change does. */
#include "provision/account_admin.h"

#include "base/clock.h"
#include "base/mem.h"
#include "pool/account_change.h"

/* No transaction is open meanwhile. */
static enum err probe_account(const struct feed *feed, const struct public_key *account,
    struct account_probe *out, struct detail *detail)
{
    struct frozen_accounts frozen CLEANUP(frozen_accounts_free) = {0};
    uint32_t frozen_ledger = 0;
    enum err e = feed->accounts(feed->source, account, 1, &out->account, &out->ledger, detail);
    if (e == ERR_OK)
        e = feed->frozen(feed->source, &frozen, &frozen_ledger, detail);
    if (e != ERR_OK)
        return e;
    out->oldest = frozen_ledger < out->ledger ? frozen_ledger : out->ledger;
    out->frozen = frozen_has(&frozen, account);
    return ERR_OK;
}

/* Repeats the probe until it is as of ledger at_least or a later one, and no older than the cursor. */
static enum err probe_and_change(const struct account_admin *admin, const struct public_key *account,
    enum account_change change, uint32_t at_least, struct account_probe *probe, struct detail *detail)
{
    const int64_t deadline_ms = clock_ms() + (int64_t)admin->timeout_s * 1000;
    for (;;) {
        enum err e = probe_account(&admin->feed, account, probe, detail);
        if (e != ERR_OK)
            return e;
        e = probe->oldest >= at_least
                ? account_change_apply(admin->db, account, change, probe, detail)
                : detail_set(detail, ERR_LEDGER_AHEAD,
                      "not yet: Stellar RPC has not reached ledger %u, which a second probe needs", at_least);
        if (e != ERR_LEDGER_AHEAD)
            return e;
        if (clock_left_ms(deadline_ms) == 0)
            return ERR_NOT_YET;
        clock_sleep_ms((int)admin->poll_ms);
    }
}

enum err account_admin_release(
    const struct account_admin *admin, const struct public_key *account, struct detail *detail)
{
    struct account_probe probe;
    return probe_and_change(admin, account, CHANGE_RELEASE, 0, &probe, detail);
}

/* Two probes: one node that lags, or fails once, must not cost an account (Z6). */
enum err account_admin_retire(
    const struct account_admin *admin, const struct public_key *account, struct detail *detail)
{
    struct account_probe probe;
    enum err e = probe_and_change(admin, account, CHANGE_RETIRE_IF_FOUND, 0, &probe, detail);
    if (e != ERR_NOT_FOUND)
        return e;
    return probe_and_change(admin, account, CHANGE_RETIRE, probe.ledger + 1, &probe, detail);
}
