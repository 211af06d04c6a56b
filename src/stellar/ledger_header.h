/* The header of a ledger in its LedgerCloseMeta. */
#ifndef FAIRWAY_STELLAR_LEDGER_HEADER_H
#define FAIRWAY_STELLAR_LEDGER_HEADER_H

#include "stellar/ledger.h"
#include "xdr/xdr.h"

/* Reads a LedgerHeaderHistoryEntry into the header fields of *ledger and hash_proved. *result_set_hash is the
 * txSetResultHash. */
MUST_CHECK enum err ledger_header_read(
    struct xdr_reader *reader, struct ledger *ledger, struct hash *result_set_hash);

#endif
