/*
 * The last state of each account in a ledger. Changes are found in the order of the bytes, transaction by
 * transaction; the ledger made them stage by stage.
 */
#ifndef FAIRWAY_STELLAR_LEDGER_CHANGES_H
#define FAIRWAY_STELLAR_LEDGER_CHANGES_H

#include "stellar/ledger.h"
#include "xdr/xdr.h"

/* In the order in which the ledger goes through them, each for all transactions before the next begins. */
enum ledger_stage {
    STAGE_FEES,
    STAGE_APPLY,
    STAGE_FEES_AFTER_APPLY, /* refunds, from protocol 23 */
    STAGE_UPGRADES,
};

struct account_change {
    struct public_key key;
    uint64_t order;                   /* later in the ledger is greater */
    const uint8_t *entry, *entry_end; /* AccountEntry in the metadata; NULL: removed */
};

/* {0} is empty. */
struct ledger_changes {
    struct account_change *list;
    size_t count, cap;
    const uint8_t *frozen, *frozen_end; /* the last FrozenLedgerKeys in the metadata; NULL: none */
};

/* Takes one value of type, whose LedgerEntryChanges belong to the stage. */
MUST_CHECK enum err ledger_changes_read(
    struct ledger_changes *changes, struct xdr_reader *reader, enum xdr_type type, enum ledger_stage stage);

/* Fills ledger->accounts, sorted by key, and ledger->frozen. Leaves the changes in another order. */
MUST_CHECK enum err ledger_changes_settle(struct ledger_changes *changes, struct ledger *ledger);

void ledger_changes_free(struct ledger_changes *changes);

#endif
