/*
 * Accounts on the network's list of frozen ledger keys (CAP-77). No transaction that touches a frozen account
 * is valid; such a transaction consumes neither fee nor sequence number.
 */
#pragma once

#include "stellar/ids.h"

enum {
    LEDGER_ENTRY_CONFIG_SETTING = 8, /* LedgerEntryType */
    CONFIG_SETTING_FROZEN_LEDGER_KEYS = 17,
};

/* Sorted. {0} is empty. */
struct frozen_accounts {
    struct public_key *keys;
    size_t count;
};

/* Decodes a LedgerEntryData that holds the list, else ERR_MALFORMED. *out is empty on error; else
 * frozen_accounts_free. */
MUST_CHECK enum err frozen_entry_decode(struct bytes entry, struct frozen_accounts *out);

/* Appends the LedgerKey of the list, as getLedgerEntries takes it. */
void frozen_ledger_key(struct buf *out);

bool frozen_has(const struct frozen_accounts *frozen, const struct public_key *key);
void frozen_accounts_free(struct frozen_accounts *frozen);
