/*
 * The StellarValue of a ledger's header: what the validators agreed on, signed by the one that proposed it.
 *
 * Of a ledger with a set (kinds 1 and 3) the signature binds set and close time, and through the set's own
 * previousLedgerHash all ledgers before. Of a ledger whose set was dropped (kinds 2 and 4; CAP-83) it does
 * not: the signed hash is that of the set that was dropped, which nobody sees. Whoever has a signed value can
 * put its signature into an empty ledger on top of any other one. Only the next ledger that has a set proves
 * such a ledger.
 */
#pragma once

#include "stellar/ids.h"

/* StellarValueType. Those with milliseconds are mandatory in each ledger that follows one of protocol 30. */
enum stellar_value_kind {
    STELLAR_VALUE_BASIC = 0, /* unsigned; not on public networks */
    STELLAR_VALUE_SIGNED = 1,
    STELLAR_VALUE_EMPTY_TX_SET = 2,
    STELLAR_VALUE_SIGNED_MS = 3,
    STELLAR_VALUE_EMPTY_TX_SET_MS = 4,
};

struct stellar_value {
    enum stellar_value_kind kind;
    struct hash tx_set_hash; /* zero: the set was dropped */
    uint64_t close_time_s;
    uint64_t close_time_ms; /* as signed; kinds without: close_time_s * 1000 */
    bool times_differ;      /* close_time_s is not close_time_ms in whole seconds: the value is invalid */
    /* Of the value's upgrades; what this version does not know is left out, as validators do. */
    bool upgrades_config;
    uint32_t upgrades_protocol; /* to this version; 0: no such upgrade */
    /* The rest is unset without a signature. */
    bool has_signature;
    struct public_key node;
    struct signature signature;
    struct hash signed_set_hash; /* tx_set_hash, or the hash of the set that was dropped */
};

/* Decodes exactly one StellarValue. Errors: those of xdr.h. */
MUST_CHECK enum err stellar_value_decode(struct bytes xdr, struct stellar_value *out);

/* Whether the value is signed by its node. Whether the node is to be trusted, the caller knows. */
bool stellar_value_verify(const struct stellar_value *value, const struct network_id *network);
