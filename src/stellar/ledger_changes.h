/*
 * The last state of each account in a ledger. The metadata lists the changes of one transaction after the
 * other, but the ledger applied them stage by stage.
 */
#ifndef FAIRWAY_STELLAR_LEDGER_CHANGES_H
#define FAIRWAY_STELLAR_LEDGER_CHANGES_H

#include "stellar/ledger.h"
#include "xdr/xdr.h"

/* In order. The ledger completes each stage for all transactions before it begins the next. */
enum ledger_stage {
    STAGE_FEES,
    STAGE_APPLY,
    STAGE_FEES_AFTER_APPLY, /* refunds, from protocol 23 */
    STAGE_UPGRADES,
};

struct ledger_change {
    struct public_key key;
    uint64_t order;                   /* ascending in the order in which the ledger applied changes */
    const uint8_t *entry, *entry_end; /* AccountEntry in the metadata; NULL: removed */
};

/* {0} is empty. */
struct ledger_changes {
    struct ledger_change *list;
    size_t count, cap;
    const uint8_t *frozen, *frozen_end; /* the last FrozenLedgerKeys in the metadata; NULL: none */
};

/* Reads one value of type and collects its LedgerEntryChanges as changes of the stage. */
MUST_CHECK enum err ledger_changes_read(
    struct ledger_changes *changes, struct xdr_reader *reader, enum xdr_type type, enum ledger_stage stage);

/* Fills ledger->accounts, sorted by key, and ledger->frozen. Sorts the changes. */
MUST_CHECK enum err ledger_changes_settle(struct ledger_changes *changes, struct ledger *ledger);

void ledger_changes_free(struct ledger_changes *changes);

#endif
