/* Accounts in XDR: AccountID, MuxedAccount, and the few fields of an AccountEntry that fairway reads. */
#pragma once

#include "stellar/ids.h"
#include "xdr/xdr.h"

/* The network's since 2019, before a ledger has told it. An account needs two, from its own balance or from
 * its sponsor's. */
#define BASE_RESERVE_STROOPS 5000000
#define MIN_FEE_STROOPS 100 /* for one operation */

/* To be printed as XLM_FORMAT. */
#define XLM_FORMAT "%.12g XLM"
#define XLM(stroops) ((double)(stroops) / 10000000)

enum {
    LEDGER_ENTRY_ACCOUNT = 0, /* LedgerEntryType, of entries and keys */
};

/* An account as its ledger entry has it. */
struct account_entry {
    struct public_key key;
    bool removed; /* there is no entry; the fields below are unset */
    int64_t sequence;
    /* The master key alone can sign everything: there is no other signer, and the master weight is at least 1
     * and no threshold is above it. */
    bool own_authority;
    /* The master key alone does not reach the low threshold: it cannot pay by fee bump (CAP-15). */
    bool cannot_sign;
    int64_t balance_stroops;
    /* Base reserves that the balance must cover: two, one for each sub-entry, plus sponsoring, less
     * sponsored. */
    int64_t reserves;
    int64_t selling_stroops; /* of the balance, reserved for offers */
    bool bare;               /* no sub-entries, and it sponsors nothing */
    bool immutable;          /* AUTH_IMMUTABLE_FLAG. It can be merged if it is bare and not immutable. */
};

/* Reads the key of an AccountID. */
struct public_key account_id_read(struct xdr_reader *reader);

/* Reads the account of a MuxedAccount; *muxed says whether it has an id. */
struct public_key account_muxed_read(struct xdr_reader *reader, bool *muxed);

/* Appends an AccountID, which is also a MuxedAccount without an id: the bytes are the same. */
void account_id_add(struct buf *out, const struct public_key *account);

/* Decodes a LedgerEntryData (`xdr` of getLedgerEntries). ERR_MALFORMED when it is not an account's. */
MUST_CHECK enum err account_entry_decode(struct bytes entry, struct account_entry *out);

/* Appends the LedgerKey of an account, as getLedgerEntries takes it. */
void account_ledger_key(const struct public_key *key, struct buf *out);
