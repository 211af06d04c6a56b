/*
 * The addresses of RPC_URL, asked at the same time, by the loop (rpc/loop.h): one that hangs delays no other.
 * One thread uses a struct rpcs, and reads the answers. Whose ledgers are the network's, ingest/follow.c
 * judges by their signatures. Reads have none: there, what two addresses say counts.
 */
#pragma once

#include "rpc/feed.h"

struct rpcs;

struct rpcs_settings {
    const char *url; /* copied; at most RPC_ADDRESSES_MAX addresses */
    int ledger_ms;   /* the expected time between two ledgers: how long an answer to a read is waited for */
};

/* Neither connects nor blocks. With one address, all answers are those of its RPC, and each is waited for. */
struct rpcs *rpcs_start(const struct rpcs_settings *settings);
/* The same with feeds in the place of addresses, for tests. One that returns ERR_NOT_YET hangs: it is called
 * again with each look. */
struct rpcs *rpcs_start_feeds(const struct feed feeds[], size_t count, const struct rpcs_settings *settings);
/* All calls return ERR_CANCELLED soon, those in progress too. Any thread; NULL is fine. */
void rpcs_cancel(struct rpcs *rpcs);
/* Cancels and frees. No call may be in progress. NULL is fine. */
void rpcs_stop(struct rpcs *rpcs);

size_t rpcs_count(const struct rpcs *rpcs);

/* ---- ledgers, each address for itself */

/* What one address has answered to a question for ledgers. */
struct rpcs_ledgers {
    enum err e;
    struct detail detail;
    uint32_t start;             /* the question */
    int64_t asked_ms;           /* clock_ms() when it was asked */
    struct rpc_ledgers ledgers; /* freed by whoever takes the answer */
};

/* Asks an address (0 is the first one), unless it has not answered its last question yet, or has failed less
 * than RPCS_AGAIN_MS ago. */
void rpcs_ask_ledgers(struct rpcs *rpcs, size_t address, uint32_t start, uint32_t limit);
/* Moves its answer, each once. False: there is none. */
bool rpcs_take_ledgers(struct rpcs *rpcs, size_t address, struct rpcs_ledgers *out);
/* Milliseconds since it was asked what it has not answered; 0: its answer is there and was not taken; -1:
 * neither. */
int64_t rpcs_waits_ms(struct rpcs *rpcs, size_t address);
/* Whether calls of this process ask an address after the others: its ledgers are late, or none. */
void rpcs_avoid(struct rpcs *rpcs, size_t address, bool avoided);
/* Whether an address that is not avoided has refused a call of this process in the last minute. */
bool rpcs_are_scarce(const struct rpcs *rpcs);
/* Returns when an answer has come that nobody has taken, or at this clock_ms(). */
void rpcs_wait(struct rpcs *rpcs, int64_t until_ms);

/*
 * ---- reads: a feed without ledgers, which asks all addresses. Beyond the errors of an RPC:
 *
 * accounts, frozen: what two say, as of the earlier one of their ledgers, so that an RPC gains nothing by
 * naming a later one. ERR_RPC_UNAVAILABLE: they differ, or only one has answered; when that has been so for
 * RPCS_ALONE_MS, it is used alone.
 *
 * transaction: not found unless two find it in the same ledger with the same result. Where one is used alone,
 * it is enough.
 *
 * network: the first answer.
 */
struct feed rpcs_feed(struct rpcs *rpcs);
