/* The header of a ledger in its LedgerCloseMeta. */
#ifndef FAIRWAY_STELLAR_LEDGER_HEADER_H
#define FAIRWAY_STELLAR_LEDGER_HEADER_H

#include "stellar/ledger.h"
#include "xdr/xdr.h"

/* What the header says about the other parts of the metadata. */
struct ledger_commitments {
    struct hash transaction_set; /* scpValue.txSetHash */
    struct hash result_set;      /* txSetResultHash */
};

/* Reads a LedgerHeaderHistoryEntry into the header fields of *ledger and hash_proved. */
MUST_CHECK enum err ledger_header_read(
    struct xdr_reader *reader, struct ledger *ledger, struct ledger_commitments *commitments);

#endif
