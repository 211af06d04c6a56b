#include "account_probe.h"

#include <string.h>

#include "base/mem.h"

static const char sql_sealed[] =
    "SELECT a.sealed_seed, a.key_id FROM fairway.channel_accounts a WHERE a.public_key = $1";

enum {
    KEY_ED25519 = 0,    /* PublicKeyType */
    PRECOND_TIME = 1,   /* PreconditionType */
    MEMO_NONE = 0,      /* MemoType */
    BUMP_SEQUENCE = 11, /* OperationType */
};

static void add_account(struct buf *out, const struct public_key *key)
{
    buf_add_u32(out, KEY_ED25519);
    buf_add(out, key->bytes, sizeof key->bytes);
}

/* Seconds after 1970 began: whatever it says, no network includes it. */
#define LONG_PAST_S 60

/* A transaction that the key process signs when it can, and that nobody can use: too late by half a century,
 * with a sequence number that no account is ever at, to do nothing. */
static void build_dead(
    const struct public_key *account, const struct public_key *distribution, struct buf *out)
{
    add_account(out, account);
    buf_add_u32(out, 100); /* fee */
    buf_add_u64(out, 0);   /* sequence */
    buf_add_u32(out, PRECOND_TIME);
    buf_add_u64(out, 0);
    buf_add_u64(out, LONG_PAST_S);
    buf_add_u32(out, MEMO_NONE);
    buf_add_u32(out, 1); /* operations */
    buf_add_u32(out, 1); /* with a source */
    add_account(out, distribution);
    buf_add_u32(out, BUMP_SEQUENCE);
    buf_add_u64(out, 0); /* to nothing */
    buf_add_u32(out, 0); /* ext */
}

/* A plain read: a row that a grant or a ledger holds has its seed all the same (Z3). */
static enum err read_sealed(
    struct db *db, const struct public_key *account, struct sealed_seed *out, struct detail *detail)
{
    char address[ADDRESS_SIZE];
    AUTO_ROWS rows = NULL;
    address_encode(account, address);
    enum err e = db_query(db, DB_SQL(sql_sealed, DB_TEXT(address)), &rows, detail);
    if (e != ERR_OK)
        return e;
    if (db_count(rows) == 0)
        return detail_set(detail, ERR_REFUSED, "refused: not an account of this pool");
    struct bytes box = db_bytea(rows, 0, 0);
    const char *key_id = db_text(rows, 0, 1);
    if (box.len != sizeof out->box || strlen(key_id) != sizeof out->key_id - 1)
        return detail_set(detail, ERR_INTERNAL, "the row of account %s is malformed", address);
    memcpy(out->box, box.data, box.len);
    memcpy(out->key_id, key_id, sizeof out->key_id);
    return ERR_OK;
}

static enum err try_seed(const struct account_admin *manual, const struct public_key *account,
    const struct sealed_seed *sealed, bool *opens, struct detail *detail)
{
    struct buf transaction CLEANUP(buf_free) = {0};
    build_dead(account, &manual->distribution, &transaction);
    struct lease_signing signing = {
        .transaction = buf_bytes(&transaction), .signer = *account, .sealed = *sealed};
    enum err e = keyd_sign_leases(manual->keyd, 0, &signing, 1);
    if (e != ERR_OK)
        return detail_set(detail, e, "the key process does not answer");
    if (signing.result != ERR_OK && signing.result != ERR_SEAL_BROKEN)
        return detail_set(
            detail, ERR_INTERNAL, "the key process refused the trial: %s", err_code(signing.result));
    *opens = signing.result == ERR_OK;
    return ERR_OK;
}

static enum err ask_network(
    struct rpc *rpc, const struct public_key *account, struct account_probe *out, struct detail *detail)
{
    struct rpc_account seen;
    struct frozen_accounts frozen CLEANUP(frozen_accounts_free) = {0};
    uint32_t frozen_ledger = 0;
    enum err e = rpc_accounts(rpc, account, 1, &seen, &out->ledger, detail);
    if (e == ERR_OK)
        e = rpc_frozen(rpc, &frozen, &frozen_ledger, detail);
    if (e != ERR_OK)
        return e;
    out->oldest = frozen_ledger < out->ledger ? frozen_ledger : out->ledger;
    out->found = seen.found;
    out->own_authority = seen.own_authority;
    out->sequence = seen.sequence;
    out->frozen = frozen_has(&frozen, account);
    return ERR_OK;
}

enum err account_probe_take(const struct account_admin *manual, const struct public_key *account,
    struct account_probe *out, struct detail *detail)
{
    struct sealed_seed sealed;
    *out = (struct account_probe){0};
    enum err e = read_sealed(manual->db, account, &sealed, detail);
    if (e == ERR_OK)
        e = ask_network(manual->rpc, account, out, detail);
    return e != ERR_OK ? e : try_seed(manual, account, &sealed, &out->opens, detail);
}
