/* Pieces of the transaction types that more than one file reads or writes. */
#ifndef FAIRWAY_SRC_STELLAR_WIRE_H
#define FAIRWAY_SRC_STELLAR_WIRE_H

#include "stellar/envelope.h"
#include "xdr/xdr.h"

enum {
    KEY_TYPE_ED25519 = 0,
    KEY_TYPE_MUXED_ED25519 = 0x100,
};

enum {
    ENVELOPE_TYPE_TX_V0 = 0,
    ENVELOPE_TYPE_TX = 2,
    ENVELOPE_TYPE_TX_FEE_BUMP = 5,
};

enum {
    PRECOND_NONE = 0,
    PRECOND_TIME = 1,
    PRECOND_V2 = 2,
};

/* MuxedAccount: the account, whatever the form. */
MUST_CHECK enum err muxed_account_read(struct xdr_reader *reader, struct public_key *account, bool *muxed);

/* AccountID, and MuxedAccount of a plain account: the bytes are the same. */
void account_add(struct buf *out, const struct public_key *account);

/* signatures<20>: of each signer one, its hint the key's last four bytes. */
void signatures_add(
    struct buf *out, const struct public_key signers[], const struct signature signatures[], size_t count);

#endif
