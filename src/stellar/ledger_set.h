/* The transaction set of a ledger: the envelopes that validators agreed on, which the header commits to. */
#pragma once

#include "stellar/ledger.h"
#include "xdr/xdr.h"

struct set_transaction {
    struct hash hash; /* of the envelope as submitted; first: see hash_compare */
    bool fee_bump;
    struct public_key fee_source; /* of a fee bump; else source */
    struct public_key source;     /* of the inner transaction, as sequence and operations */
    int64_t sequence;
    struct bytes operations; /* with their count */
    uint32_t operation_count;
    bool has_result;
};

/* {0} is empty. */
struct ledger_set {
    struct set_transaction *list;
    size_t count, cap;
    size_t operation_count;             /* of all */
    int64_t prices_stroops[LANE_COUNT]; /* by lane, as its components say; 0: none does */
    /* Of the phase that is being read: its number, and the least and the highest price of its components. */
    size_t phase;
    int64_t least_stroops, highest_stroops;
    struct hash hash;          /* what the header must name */
    struct hash previous_hash; /* the ledger on which the set was made */
    const struct network_id *network;
};

/*
 * Reads a TransactionSet (metadata version 0) or a GeneralizedTransactionSet with phases of both kinds. The
 * caller frees *set with ledger_set_free, also after an error. network NULL: no transaction is read.
 */
void ledger_set_read(
    struct xdr_reader *reader, bool generalized, const struct network_id *network, struct ledger_set *set);

/*
 * Whether the set has the hash of the header, and the set and the results of the ledger have the same
 * transactions. If so, each transaction of the ledger gets its sources, sequence and consumed, and the ledger
 * gets the operations of those that succeeded. The set's metadata must still be there. Sorts the set.
 */
bool ledger_set_prove(struct ledger_set *set, const struct hash *tx_set_hash, struct ledger *ledger);

void ledger_set_free(struct ledger_set *set);
