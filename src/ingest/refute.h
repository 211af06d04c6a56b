/*
 * When a signed ledger names another one before it than the last committed one, that may have been forged: a
 * lying RPC can change results, which only the next signed set binds, or serve a set that was proposed and
 * lost. It was if an RPC has that other ledger under the same number, which its header has too.
 */
#pragma once

#include "follow.h"
#include "lead.h"

enum refute_outcome {
    REFUTE_CORRECTED, /* lead->cursor is the network's ledger now */
    REFUTE_HELD,      /* grants are on hold; what followed is to be read as after a gap */
};

/*
 * Reads the ledger at the cursor again; named is the hash that the signed one has for it. If it only has
 * other results, the ends that it gave are corrected, and clients get them again (correct_ledger). Else
 * grants are put on hold, and the accounts whose leases it has ended are quarantined. Either is logged; a
 * hold once for each ledger: *logged is the last one; 0: none. ERR_RPC_UNAVAILABLE: no RPC has such a ledger.
 */
MUST_CHECK enum err refute_ledger(struct lead *lead, struct follow *follow, const struct hash *named,
    uint32_t *logged, enum refute_outcome *outcome, struct detail *detail);
