/* Turns batches of accounts into signed transactions that are stored as pending. */
#pragma once

#include "pool/accounts.h"
#include "pool/pool_counts.h"
#include "provision/provision.h"
#include "rpc/rpc.h"
#include "outgoing.h"
#include "session.h"

/* One run of ensure-accounts. */
struct provision {
    const struct provision_settings *settings;
    struct session session;
    struct rpc *rpc;
    size_t wanted;
    struct pool_counts counts; /* as of the last committed ledger, and of what this run has written since */
    bool counted;              /* they were read in this step */
    bool count_again;          /* this run has written something that they do not show */
    uint32_t judged_ledger;   /* how later ledgers decided transactions is not read yet; 0: nothing is read */
    int64_t room;             /* operations that others left in the last ledger; 0: not known */
    uint32_t none_idle_since; /* the last ledger when no account was idle to be a source; 0: one was */
    struct outgoing outgoing;
    unsigned failures;        /* ledgers in a row in which transactions failed and none succeeded */
    unsigned raises;          /* the same, with those in which they expired: how often the fee is doubled */
    uint32_t network_ledger;  /* the network's last ledger when the run began, or more */
    struct detail logged;     /* the last reason for waiting that was logged */
    int64_t next_log_ms;      /* clock_ms(): the same reason is logged again from then on */
    int64_t next_progress_ms; /* clock_ms(): when the counts are logged */
    bool waits_for_ledgers;   /* the last step found that closed ledgers are not ingested yet */
    bool done;
    bool out_of_retries; /* in too many ledgers in a row transactions failed */
};

/* The largest number of accounts in one transaction whose minimum fee max_fee covers; 0: not even one. */
size_t prepare_limit(enum provisioning_kind kind, int64_t max_fee_stroops);

/* The fee in stroops; it doubles with each raise, up to max_fee_stroops. */
uint32_t prepare_fee(
    enum provisioning_kind kind, size_t accounts, unsigned raises, const struct provision_settings *settings);

/*
 * Picks at most count accounts, signs and stores; sends nothing. The source is an idle account of the pool.
 * When there is none for some ledgers, or grants are stopped, it is the distribution account, which can have
 * one transaction. Adds it to outgoing and to counts. Does nothing if there are no accounts to pick, or no
 * source.
 *
 * ERR_NOT_YET: a ledger that is not ingested yet would change the selection, or an account whose seed does
 * not open was quarantined; read the pool again. ERR_CONFIG: the distribution account has too little XLM.
 */
MUST_CHECK enum err prepare(
    struct provision *provision, enum provisioning_kind kind, size_t count, struct detail *detail);
