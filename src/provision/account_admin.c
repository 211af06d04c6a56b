/* accounts release and retire: probes an account, and probes it again until the probe is recent enough.
 * Writes no table: account_change does. */
#include "provision/account_admin.h"

#include "base/clock.h"
#include "account_change.h"

/* Repeats the probe until it is as of ledger at_least or a later one, and no older than the cursor. */
static enum err probe_and_change(const struct account_admin *admin, const struct public_key *account,
    enum account_change change, uint32_t at_least, struct account_probe *probe, struct detail *detail)
{
    const int64_t deadline_ms = clock_ms() + (int64_t)admin->timeout_s * 1000;
    for (;;) {
        enum err e = account_probe_take(admin, account, probe, detail);
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
