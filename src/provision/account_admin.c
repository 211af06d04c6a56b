/* accounts release and retire: asks the network and the key process about an account, again until what they
 * say is recent enough. Writes no table: account_change does. What the key process signs is never valid. */
#include "provision/account_admin.h"

#include "base/clock.h"
#include "base/mem.h"
#include "pool/account_change.h"
#include "pool/account_read.h"
#include "stellar/envelope_build.h"

/* ---- the probe */

/* A max time in 1970: no network includes the transaction. */
#define EXPIRED_S 60

/* Memo, operations and ext: a bumpSequence to 0, which does nothing. Its source is nobody's key, because an
 * operation needs one that is not an account of fairway. */
static const uint8_t tail[64] = {
    [7] = 1 /* operation */, [11] = 1 /* with a source */, [51] = 11 /* BUMP_SEQUENCE */};

/* The key process signs the transaction if the seed opens. It is never valid: its sequence number is 0, too.
 */
static enum err probe_seed(const struct account_admin *admin, const struct public_key *account,
    const struct sealed_seed *sealed, bool *opens, struct detail *detail)
{
    struct buf transaction CLEANUP(buf_free) = {0};
    transaction_build(&(struct envelope){.tail = BYTES_OF(tail)},
        &(struct transaction_head){.source = *account, .fee_stroops = 100, .max_time_s = EXPIRED_S},
        &transaction);
    struct lease_signing signing = {
        .transaction = buf_bytes(&transaction), .signer = *account, .sealed = *sealed};
    enum err e = keyd_sign_leases(admin->keyd, 0, 0, &signing, 1);
    if (e != ERR_OK)
        return detail_set(detail, e, "the key process is unavailable");
    if (signing.result != ERR_OK && signing.result != ERR_SEAL_BROKEN)
        return detail_set(detail, ERR_INTERNAL, "the key process refused the probe transaction: %s",
            err_code(signing.result));
    *opens = signing.result == ERR_OK;
    return ERR_OK;
}

static enum err probe_network(const struct feed *feed, const struct public_key *account,
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

/* No transaction is open meanwhile. ERR_REFUSED: not an account of this pool. */
static enum err probe_account(const struct account_admin *admin, const struct public_key *account,
    struct account_probe *out, struct detail *detail)
{
    struct sealed_seed sealed;
    *out = (struct account_probe){0};
    enum err e = account_read_seed_of(admin->db, account, &sealed, detail);
    if (e == ERR_OK)
        e = probe_network(&admin->feed, account, out, detail);
    return e != ERR_OK ? e : probe_seed(admin, account, &sealed, &out->opens, detail);
}

/* ---- the commands */

/* Repeats the probe until it is as of ledger at_least or a later one, and no older than the cursor. */
static enum err probe_and_change(const struct account_admin *admin, const struct public_key *account,
    enum account_change change, uint32_t at_least, struct account_probe *probe, struct detail *detail)
{
    const int64_t deadline_ms = clock_ms() + (int64_t)admin->timeout_s * 1000;
    for (;;) {
        enum err e = probe_account(admin, account, probe, detail);
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
