/*
 * Bringing the pool to a size (DESIGN section 9): channel accounts are created and merged through real
 * transactions of the distribution account, one at a time, at most 19 accounts each. A key is stored before
 * anything that names it is sent; what is sent is stored, signed, before it leaves; and only the ledger
 * transaction says what became of it. So the work can be ended at any instruction and taken up again.
 */
#ifndef FAIRWAY_PROVISION_PROVISION_H
#define FAIRWAY_PROVISION_PROVISION_H

#include "ingest/ingest.h"
#include "keys/keyd.h"

struct provision_settings {
    const char *database_direct_url;
    const char *rpc_url;
    struct network_id network;
    struct public_key distribution;
    struct keyd *keyd;                 /* of KEYD_PROVISION */
    struct ingest *ingest;             /* running in this process; stands by if another one leads */
    int64_t fee_per_operation_stroops; /* offered first; doubled when a transaction was not included */
    int64_t max_fee_stroops;           /* of one transaction */
    unsigned ledger_seconds;
    unsigned poll_ms;
    unsigned patience_s; /* how long database, RPC and ledgers may be away */
};

/*
 * Blocks until exactly wanted channel accounts are active and none is retiring; accounts in quarantine do not
 * count, and one whose sealed seed does not open when it is to be created or merged goes there. Leased
 * accounts that are too many are merged when their leases have ended. Waits while another process does the
 * same. Any number of calls may follow an error or a crash.
 *
 * ERR_CONFIG: the distribution account does not exist or has too little. ERR_RPC_UNAVAILABLE,
 * ERR_DATABASE_UNAVAILABLE: away for longer than patience, as was the synchronous standby on
 * ERR_NOT_REPLICATED: what it may lack was not sent. ERR_NOT_YET: the network did not include what was
 * sent, several times. ERR_KEYD_UNAVAILABLE.
 */
MUST_CHECK enum err provision_ensure(
    const struct provision_settings *settings, size_t wanted, struct detail *detail);

#endif
