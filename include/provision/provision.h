/*
 * Brings the pool to a size. Transactions create and merge channel accounts; the sources are idle accounts of
 * the pool, so that as many can be pending as a ledger has room for, and the distribution account sponsors
 * and pays. It is itself the source while no account is idle. Three rules make an interrupted run safe to
 * repeat: a key is stored before a transaction that names it is sent; a transaction is stored, signed, before
 * it is sent; only the ledger transaction decides how it ended.
 */
#pragma once

#include "ingest/ingest.h"
#include "keys/keyd.h"

struct provision_settings {
    const char *database_url;
    const char *rpc_url;
    struct network_id network;
    struct public_key distribution;
    struct keyd *keyd;                 /* started as KEYD_PROVISION */
    struct ingest *ingest;             /* running in this process; it only watches if another process leads */
    int64_t fee_per_operation_stroops; /* of the first attempt; doubled while none succeeds */
    int64_t max_fee_stroops;           /* of one transaction */
    unsigned ledger_ms;
    unsigned poll_ms;
    unsigned timeout_s; /* how long database, RPC and ledgers may be unavailable */
    bool only_grows;
};

/*
 * Blocks until exactly *wanted channel accounts are active and none is retiring. Where it only grows a pool,
 * *wanted becomes what is active if that is more. Quarantined accounts do not count. An account whose sealed
 * seed does not open when it is to be created or merged, or that cannot be merged, is quarantined. A surplus
 * account with a lease is merged after its lease has ended. Waits while another process changes the pool's
 * size. May be called again after any error or crash.
 *
 * ERR_CONFIG: the distribution account does not exist or has too little XLM, or max_fee_stroops is below the
 * minimum fee. ERR_RPC_UNAVAILABLE, ERR_DATABASE_UNAVAILABLE: unavailable for longer than timeout_s.
 * ERR_NOT_REPLICATED: the synchronous standby was unavailable for as long; no transaction that it may lack
 * was sent. ERR_NOT_YET: in several ledgers in a row
 * transactions failed, and none succeeded. ERR_KEYD_UNAVAILABLE: the key process failed.
 */
MUST_CHECK enum err provision_ensure(
    const struct provision_settings *settings, size_t *wanted, struct detail *detail);
