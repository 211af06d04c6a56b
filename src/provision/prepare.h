/* Turns a batch of accounts into a signed transaction that is stored as pending. */
#ifndef FAIRWAY_PROVISION_PREPARE_H
#define FAIRWAY_PROVISION_PREPARE_H

#include "pool/accounts.h"
#include "pool/pool_counts.h"
#include "provision/provision.h"
#include "rpc/rpc.h"
#include "session.h"

/* One run of ensure-accounts. */
struct provision {
    const struct provision_settings *settings;
    struct session session;
    struct rpc *rpc;
    size_t wanted;
    unsigned failures;       /* transactions in a row that failed */
    int64_t last_decided;    /* id of the latest transaction whose outcome is known; -1: not read yet */
    int64_t send_due_ms;     /* clock_ms() */
    uint32_t network_ledger; /* the network's last ledger when the run began; 0: not read yet */
    struct detail logged;    /* the last reason for waiting that was logged */
    int64_t next_log_ms;     /* clock_ms(): the same reason is logged again from then on */
    bool waits_for_ledgers;  /* the last step found that closed ledgers are not ingested yet */
    bool done;
    bool out_of_retries; /* too many transactions in a row failed */
};

/* The largest number of accounts in one transaction whose minimum fee max_fee covers; 0: not even one. */
size_t prepare_limit(enum provisioning_kind kind, int64_t max_fee_stroops);

/* The fee in stroops; it doubles with each transaction in a row that failed, up to max_fee_stroops. */
uint32_t prepare_fee(enum provisioning_kind kind, size_t accounts, unsigned failures,
    const struct provision_settings *settings);

/*
 * Picks accounts, signs and stores; sends nothing. ERR_NOT_YET: a ledger that is not ingested yet would
 * change the selection, or an account whose seed does not open was quarantined; read the pool again.
 * ERR_CONFIG: the distribution account has too little XLM.
 */
MUST_CHECK enum err prepare(
    struct provision *provision, enum provisioning_kind kind, size_t count, struct detail *detail);

#endif
