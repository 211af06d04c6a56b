/*
 * The validators whose signatures prove ledgers: those of the file that TRUSTED_VALIDATORS names, or for the
 * public network and testnet those that this program has from docker/validators-*.txt.
 */
#pragma once

#include "base/watched_file.h"
#include "stellar/ledger.h"
#include "stellar/validators.h"

struct trust {
    struct watched_file file;
    struct validators validators;
    struct network_id network;
};

/* option: of TRUSTED_VALIDATORS; NULL: the program's own list, if it has one of this network; "off": none.
 * ERR_CONFIG: the file is wrong. The caller frees *out, also after an error. */
MUST_CHECK enum err trust_open(
    const char *option, const struct network_id *network, struct trust *out, struct detail *detail);
void trust_free(struct trust *trust);

/* False: no list, so what an RPC says is believed. Reads the file again if it has changed; one that cannot be
 * read leaves the validators as they are. */
bool trust_is_on(struct trust *trust);

/*
 * Whether a validator of the list has signed the value of the ledger, and the value comes with a set, which
 * names the ledger before it. Nothing else binds a ledger: the signature of a value whose set was dropped
 * (CAP-83) is over another set and fits any ledger. The ledger's proofs (hash, set) are the caller's.
 */
bool trust_signed(const struct trust *trust, const struct ledger *ledger);
