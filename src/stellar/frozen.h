/* The network's list of frozen ledger keys (CAP-77), as far as it names accounts. */
#ifndef FAIRWAY_STELLAR_FROZEN_H
#define FAIRWAY_STELLAR_FROZEN_H

#include "stellar/ledger.h"
#include "xdr/xdr.h"

enum {
    LEDGER_ENTRY_CONFIG_SETTING = 8, /* LedgerEntryType */
    CONFIG_SETTING_FROZEN_LEDGER_KEYS = 17,
};

/* Reads a FrozenLedgerKeys. out must be empty; on error it is. */
MUST_CHECK enum err frozen_read(struct xdr_reader *reader, struct frozen_accounts *out);

#endif
