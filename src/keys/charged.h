/*
 * What has been charged to the budget of fees for each transaction that keyd has signed fee bumps of.
 *
 * The network charges for at most one fee bump of a transaction: that one consumes the transaction's sequence
 * number, and a ledger has at most one transaction of an account (since protocol 20). So the highest bid for
 * a transaction is charged, and not the sum: repeating a bid costs nothing, and a higher bid costs the
 * difference. Otherwise one client could use up the budget of all with the fee bumps of one lease.
 *
 * The table has a fixed size. A transaction that it has forgotten is charged in full again, so what is signed
 * never exceeds what is charged. At 200 fee bumps a second it remembers each for the 300 s of the longest
 * lease.
 */
#pragma once

#include "stellar/ids.h"

#define CHARGED_SETS 8192u /* a power of two */
#define CHARGED_WAYS 8u

struct charged;

/* 2.6 MB. */
struct charged *charged_new(void);
void charged_free(struct charged *charged);

/* How much a bid exceeds what has been charged for the transaction with this hash; 0: nothing is to be
 * charged. */
int64_t charged_missing(const struct charged *charged, const struct hash *transaction, int64_t fee_stroops);

/* Remembers that this bid has been charged. May forget another transaction: the one of its set that was
 * remembered first. */
void charged_note(struct charged *charged, const struct hash *transaction, int64_t fee_stroops);
