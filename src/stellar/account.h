/* AccountEntry: the few fields that fairway reads. */
#ifndef FAIRWAY_STELLAR_ACCOUNT_H
#define FAIRWAY_STELLAR_ACCOUNT_H

#include "stellar/ledger.h"
#include "xdr/xdr.h"

enum {
    LEDGER_ENTRY_ACCOUNT = 0 /* LedgerEntryType, of entries and keys */
};

/* The key of an AccountID, which is a PublicKey. */
MUST_CHECK enum err account_id_read(struct xdr_reader *reader, struct public_key *out);

/* Reads an AccountEntry up to and with its signers; what follows them (reserves, sponsorship) is left. */
MUST_CHECK enum err account_entry_read(struct xdr_reader *reader, struct ledger_account *out);

#endif
