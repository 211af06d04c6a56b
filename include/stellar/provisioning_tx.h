/*
 * The only transactions that fairway writes of its own: sponsored creation and merge of channel accounts
 * (CAP-33). A fixed transaction each, so that the key process can recompute and compare instead of judging.
 */
#ifndef FAIRWAY_STELLAR_PROVISIONING_TX_H
#define FAIRWAY_STELLAR_PROVISIONING_TX_H

#include "stellar/envelope.h"

#define PROVISIONING_ACCOUNTS_MAX 19 /* 19 new accounts and the distribution account sign: 20 signatures */

enum provisioning_kind {
    PROVISIONING_CREATION, /* per account: begin sponsoring (distribution), create with 0 (distribution), end
                          (the account) */
    PROVISIONING_MERGE,    /* per account: merge into the distribution account (source: the account) */
};

struct provisioning_tx {
    enum provisioning_kind kind;
    struct public_key distribution; /* source of the transaction, sponsor, merge destination */
    int64_t sequence;
    uint32_t fee_stroops;
    uint64_t max_time_s;  /* never 0 */
    size_t account_count; /* 1 to PROVISIONING_ACCOUNTS_MAX */
    struct public_key accounts[PROVISIONING_ACCOUNTS_MAX];
};

/* Appends the XDR Transaction. */
void provisioning_tx_build(const struct provisioning_tx *transaction, struct buf *out);

/* Appends the V1 envelope with count signatures, in the order given. */
void provisioning_tx_envelope_build(struct bytes transaction, const struct public_key signers[],
    const struct signature signatures[], size_t count, struct buf *out);

#endif
