/*
 * The addresses of RPC_URL, asked at the same time, each by a thread of its own: one that hangs delays no
 * other. An RPC alone can invent accounts, and ledgers that nobody has signed; so what one says is used when
 * another one says the same.
 *
 * An RPC that has nothing while another one has the ledger is waited for once, for ledger_ms; then it is left
 * out. One that is left out is not waited for. It takes part again when it has the last ledger in time.
 */
#ifndef FAIRWAY_RPC_RPCS_H
#define FAIRWAY_RPC_RPCS_H

#include "rpc/feed.h"

struct rpcs;

struct rpcs_settings {
    const char *url; /* copied; at most RPC_ADDRESSES_MAX addresses */
    int ledger_ms;   /* the expected time between two ledgers: how long an RPC is waited for */
    bool signatures; /* the caller uses no ledger that no trusted validator has signed */
};

/* Neither connects nor blocks. With one address, all answers are those of its RPC. */
struct rpcs *rpcs_start(const struct rpcs_settings *settings);
/* The same with feeds in the place of addresses, for tests. They are called by other threads; several calls
 * of one feed never overlap. */
struct rpcs *rpcs_start_feeds(const struct feed feeds[], size_t count, const struct rpcs_settings *settings);
/* All calls return ERR_CANCELLED soon, those in progress too. Any thread; NULL is fine. */
void rpcs_cancel(struct rpcs *rpcs);
/* Cancels and frees. No call may be in progress. NULL is fine. */
void rpcs_stop(struct rpcs *rpcs);

/*
 * A feed that asks all RPCs; one thread uses it. Beyond the errors of an RPC:
 *
 * ledgers: those that two RPCs have with the same hashes; out->other has the answer of the second one. If one
 * alone has the ledger, it is used when each other one has had nothing for ledger_ms; one that says that the
 * ledger has not closed yet counts so only with signatures, else after RPCS_ALONE_MS. Until then,
 * ERR_LEDGER_AHEAD. ERR_LEDGER_MISMATCH: all that have the ledger have different hashes for it.
 * ERR_LEDGER_GAP: two have dropped the ledger, or one has for RPCS_ALONE_MS, and no other one says anything
 * about it. One that says that it has not closed yet contradicts that: ERR_RPC_UNAVAILABLE after that time.
 *
 * accounts, frozen: what two RPCs say, as of the earlier one of their ledgers, so that an RPC gains nothing
 * by naming a later one. ERR_RPC_UNAVAILABLE: they differ, or only one has answered; when that has been so
 * for RPCS_ALONE_MS, it is used alone.
 *
 * transaction: not found unless two find it in the same ledger with the same result; if all others are left
 * out, one is enough.
 *
 * network: the first answer.
 */
struct feed rpcs_feed(struct rpcs *rpcs);

#endif
