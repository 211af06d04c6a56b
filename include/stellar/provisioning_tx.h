/*
 * The transactions that fairway itself submits: sponsored creation (CAP-33) and merge of channel accounts.
 * Each has a fixed form: the key process builds it from a few fields, and never has to judge a given one.
 */
#pragma once

#include "stellar/ids.h"

/* Each signs, the source, and the distribution account: 20 signatures. */
#define PROVISIONING_ACCOUNTS_MAX 18

enum provisioning_kind {
    PROVISIONING_CREATION, /* per account: BeginSponsoring and CreateAccount with a balance of 0, whose source
                              is the distribution account; EndSponsoring, whose source is the account */
    PROVISIONING_MERGE,    /* per account: AccountMerge into the distribution account */
};

struct provisioning_tx {
    enum provisioning_kind kind;
    struct public_key distribution; /* sponsor, destination of merges, and pays the fee */
    bool bumped; /* the source is a channel account, and a fee bump pays; else it is the distribution account
                  */
    struct public_key source;
    int64_t sequence;     /* of the source */
    uint32_t fee_stroops; /* of the fee bump, if there is one */
    uint64_t max_time_s;  /* never 0 */
    size_t account_count; /* 1 to PROVISIONING_ACCOUNTS_MAX */
    struct public_key accounts[PROVISIONING_ACCOUNTS_MAX];
};

/* How many operations it has, and pays for: a fee bump counts as one. */
size_t provisioning_tx_operations(enum provisioning_kind kind, size_t accounts, bool bumped);

/* Appends the XDR Transaction, without its fee bump. */
void provisioning_tx_build(const struct provisioning_tx *transaction, struct buf *out);
