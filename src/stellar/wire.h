/* Values of XDR enums that more than one file uses. */
#pragma once

enum {
    KEY_TYPE_ED25519 = 0, /* CryptoKeyType, PublicKeyType */
    KEY_TYPE_MUXED_ED25519 = 0x100,
};

enum {
    ENVELOPE_TYPE_TX_V0 = 0,
    ENVELOPE_TYPE_TX = 2,
    ENVELOPE_TYPE_SCPVALUE = 4,
    ENVELOPE_TYPE_TX_FEE_BUMP = 5,
};

enum {
    PRECOND_NONE = 0, /* PreconditionType */
    PRECOND_TIME = 1,
    PRECOND_V2 = 2,
};
