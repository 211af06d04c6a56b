/* Accounts in XDR: AccountID, MuxedAccount, and the few fields of an AccountEntry that fairway reads. */
#ifndef FAIRWAY_STELLAR_ACCOUNT_H
#define FAIRWAY_STELLAR_ACCOUNT_H

#include "stellar/ledger.h"
#include "xdr/xdr.h"

enum {
    LEDGER_ENTRY_ACCOUNT = 0, /* LedgerEntryType, of entries and keys */
};

/* Reads the key of an AccountID. */
MUST_CHECK enum err account_id_read(struct xdr_reader *reader, struct public_key *out);

/* Reads the account of a MuxedAccount; *muxed says whether it has an id. */
MUST_CHECK enum err account_muxed_read(struct xdr_reader *reader, struct public_key *account, bool *muxed);

/* Appends an AccountID, which is also a MuxedAccount without an id: the bytes are the same. */
void account_id_add(struct buf *out, const struct public_key *account);

/* Reads an AccountEntry that xdr_take has validated. Fields after its reserves are not read. */
MUST_CHECK enum err account_entry_read(struct xdr_reader *reader, struct ledger_account *out);

/* Decodes a LedgerEntryData (`xdr` of getLedgerEntries). ERR_MALFORMED when it is not an account's. */
MUST_CHECK enum err account_entry_decode(struct bytes entry, struct ledger_account *out);

/* Appends the LedgerKey of an account, as getLedgerEntries takes it. */
void account_ledger_key(const struct public_key *key, struct buf *out);

#endif
