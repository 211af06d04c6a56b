/*
 * The ledgers after a known one, as one address serves them: the first of them whole, of those that follow in
 * one line no more than the hash of the last one's header.
 *
 * A set that a trusted validator has signed names the header before it, with all that this covers: number,
 * protocol, results. So the first ledger's set and close time are proved by its own signature, its number by
 * that and its link to the known one, and the whole of it by the first signed set that follows. A signature
 * alone shows that its validator proposed this set: sets that were proposed and lost are public too.
 */
#pragma once

#include "cursor.h"
#include "trust.h"

/* {0} is empty. */
struct chain {
    struct rpc_ledgers answer; /* has the bytes of first, and may have some of those that follow */
    struct rpc_ledgers more;   /* a later answer, with which it goes on after the last one of this */
    size_t at;                 /* the item of first in it */
    bool holds;                /* there is a first one; the rest is about it */
    struct ledger first, next; /* next: the item after first, once it was looked at; else {0} */
    bool is_signed;            /* first: trust_signed */
    bool proved;               /* a signed set after it names it, or what follows from it */
    uint32_t last; /* number and header's hash of the last one that follows in line; at first its own */
    struct hash tip;
    int64_t got_ms, got_us; /* clock_ms() and clock_us() when it came */
    bool contradicts; /* the first one was refused: it is signed, and names this header in the place of the
                         known one's */
    struct hash named;
};

/* Whose ledgers. trust NULL: nothing is proved. */
struct chain_rules {
    const struct network_id *network;
    const struct trust *trust;
};

/*
 * Begins an empty chain with the ledgers of an answer, which it takes over in any case. The first must be
 * number due, and follow from the cursor, unless that is not known. Errors: of cursor_check and
 * ledger_decode; the chain stays empty then, but contradicts and named are set.
 */
MUST_CHECK enum err chain_begin(struct chain *chain, const struct chain_rules *rules,
    const struct cursor *after, uint32_t due, struct rpc_ledgers *answer, struct detail *detail);

/* Looks at the ledgers of another answer, from number last + 1 on, until the first one is proved. Takes it
 * over when the chain can go on with it after the first one; keeps no other. ERR_LEDGER_MISMATCH, or an error
 * of ledger_decode: they do not follow. */
MUST_CHECK enum err chain_extend(
    struct chain *chain, const struct chain_rules *rules, struct rpc_ledgers *answer, struct detail *detail);
/* The same with those that came with the first one. Those that do not follow are dropped. */
MUST_CHECK enum err chain_prove(struct chain *chain, const struct chain_rules *rules, struct detail *detail);

/* The first one is committed: goes on with the next one of its answer, or becomes empty. Errors as of
 * chain_begin. */
MUST_CHECK enum err chain_next(
    struct chain *chain, const struct chain_rules *rules, const struct cursor *after, struct detail *detail);

void chain_free(struct chain *chain); /* it is empty then */
