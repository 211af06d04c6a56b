/*
 * The transactions that fairway itself submits: sponsored creation (CAP-33) and merge of channel accounts.
 * Each has a fixed form: the key process builds it from a few fields, and never has to judge a given one.
 */
#ifndef FAIRWAY_STELLAR_PROVISIONING_TX_H
#define FAIRWAY_STELLAR_PROVISIONING_TX_H

#include "stellar/ids.h"

#define PROVISIONING_ACCOUNTS_MAX 19 /* each account signs, and the distribution account: 20 signatures */

enum provisioning_kind {
    PROVISIONING_CREATION, /* per account: BeginSponsoring and CreateAccount with a balance of 0, whose source
                              is the distribution account; EndSponsoring, whose source is the account */
    PROVISIONING_MERGE,    /* per account: AccountMerge into the distribution account */
};

struct provisioning_tx {
    enum provisioning_kind kind;
    struct public_key distribution; /* source of the transaction, sponsor, destination of merges */
    int64_t sequence;
    uint32_t fee_stroops;
    uint64_t max_time_s;  /* never 0 */
    size_t account_count; /* 1 to PROVISIONING_ACCOUNTS_MAX */
    struct public_key accounts[PROVISIONING_ACCOUNTS_MAX];
};

/* Appends the XDR Transaction. */
void provisioning_tx_build(const struct provisioning_tx *transaction, struct buf *out);

#endif
