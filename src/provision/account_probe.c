/* What the network and the key process know of an account. Writes nothing, and what it has signed is never
 * valid. */
#include "account_change.h"

#include "base/mem.h"
#include "pool/account_read.h"
#include "stellar/account.h"

enum {
    PRECOND_TIME = 1,   /* PreconditionType */
    MEMO_NONE = 0,      /* MemoType */
    BUMP_SEQUENCE = 11, /* OperationType */
};

/* A max time in 1970: no network includes the transaction. */
#define EXPIRED_S 60

/* The operation needs a source of its own, which is not an account of fairway. This is nobody's key. */
static const struct public_key nobody = {0};

/* A transaction that the key process signs if the seed opens, and that is never valid: its max time is in
 * 1970, its sequence number is 0, and its operation does nothing. */
static void build_invalid(const struct public_key *account, struct buf *out)
{
    account_id_add(out, account);
    buf_add_u32(out, 100); /* fee */
    buf_add_u64(out, 0);   /* sequence */
    buf_add_u32(out, PRECOND_TIME);
    buf_add_u64(out, 0);
    buf_add_u64(out, EXPIRED_S);
    buf_add_u32(out, MEMO_NONE);
    buf_add_u32(out, 1); /* operations */
    buf_add_u32(out, 1); /* with a source */
    account_id_add(out, &nobody);
    buf_add_u32(out, BUMP_SEQUENCE);
    buf_add_u64(out, 0); /* bump to 0: no effect */
    buf_add_u32(out, 0); /* ext */
}

static enum err probe_seed(const struct account_admin *admin, const struct public_key *account,
    const struct sealed_seed *sealed, bool *opens, struct detail *detail)
{
    struct buf transaction CLEANUP(buf_free) = {0};
    build_invalid(account, &transaction);
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

enum err account_probe_take(const struct account_admin *admin, const struct public_key *account,
    struct account_probe *out, struct detail *detail)
{
    struct sealed_seed sealed;
    *out = (struct account_probe){0};
    enum err e = account_read_seed_of(admin->db, account, &sealed, detail);
    if (e == ERR_OK)
        e = probe_network(&admin->feed, account, out, detail);
    return e != ERR_OK ? e : probe_seed(admin, account, &sealed, &out->opens, detail);
}
