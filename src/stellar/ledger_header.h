#ifndef FAIRWAY_STELLAR_LEDGER_HEADER_H
#define FAIRWAY_STELLAR_LEDGER_HEADER_H

#include "stellar/ledger.h"
#include "xdr/xdr.h"

/* Reads a LedgerHeaderHistoryEntry: the header's fields of *ledger, its proof, and the txSetResultHash. */
MUST_CHECK enum err ledger_header_read(
    struct xdr_reader *reader, struct ledger *ledger, struct hash *result_set_hash);

#endif
