/* From a batch of accounts to a signed transaction that is stored as under way. */
#ifndef FAIRWAY_PROVISION_PREPARE_H
#define FAIRWAY_PROVISION_PREPARE_H

#include "pool/accounts.h"
#include "provision/provision.h"
#include "rpc/rpc.h"
#include "session.h"

/* What one run of ensure-accounts holds. */
struct provision {
    const struct provision_settings *settings;
    struct session session;
    struct rpc *rpc;
    size_t wanted;
    unsigned failures;   /* transactions in a row that came to nothing */
    int64_t last_seen;   /* id of the latest transaction whose end is known; -1: not looked yet */
    int64_t send_due_ms; /* clock_ms() */
    uint32_t tip;        /* the network's last ledger when the run began; 0: not asked yet */
    struct detail said;  /* of what is waited for */
    int64_t next_said_ms;
    bool behind; /* the last look found that ledgers are still to be ingested */
    bool done;
    bool exhausted; /* trying again has been tried */
};

/* The most accounts that one transaction may have so that max_fee covers the network's minimum; 0: not even
 * one. */
size_t prepare_limit(enum provisioning_kind kind, int64_t max_fee_stroops);

/* Twice as much for each transaction in a row that was not included, within the cap. */
uint32_t prepare_fee(enum provisioning_kind kind, size_t accounts, unsigned failures,
    const struct provision_settings *settings);

/*
 * Picks, signs and stores. Nothing has left the process afterwards. ERR_NOT_YET: ledgers that this process
 * has not seen yet would change the picture, or an account whose seed does not open was quarantined; look
 * again. ERR_CONFIG: the distribution account cannot pay.
 */
MUST_CHECK enum err prepare(
    struct provision *provision, enum provisioning_kind kind, size_t count, struct detail *detail);

#endif
