/*
 * The limits of a client, each once: its name, its range in CLIENTS_FILE, how it is refused, and after which
 * time it allows again, in the table of limits.c. auth/clients reads the values. Each limit is counted where
 * its line of enum limit says.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

enum limit {
    LIMIT_NONE,
    LIMIT_OPEN_LEASES,         /* limits/usage, fairway.record_leases: for all replicas together */
    LIMIT_POOL_PERCENT,        /* the same; the accounts of the pool are counted when a batch begins */
    LIMIT_CONTRACT_PERCENT,    /* the same, of the leases of the client that call one contract */
    LIMIT_REQUESTS_PER_SECOND, /* api/client_loads: each replica for itself */
    LIMIT_REQUESTS_IN_FLIGHT,  /* api/client_loads; not in CLIENTS_FILE, follows from MAX_CONNECTIONS */
    LIMIT_WAITS,               /* api/client_loads */
    LIMIT_FEE_BUMPS,           /* fairway.record_fee_bumps: of one lease */
    LIMIT_STROOPS_PER_DAY,     /* fairway.record_fee_bumps: of the leases' highest fee bumps, by day in UTC */
    LIMIT_COUNT
};

/* What a client may have, by enum limit; 0: as much as it likes. */
struct limits {
    int64_t most[LIMIT_COUNT];
};

/* Of a client whose limits are not given: 50 fee bumps of a lease, else none. */
extern const struct limits limits_default;

const char *limit_name(enum limit limit);
/* LIMIT_NONE: no limit of CLIENTS_FILE has this name. */
enum limit limit_of(const char *name);
/* The largest value in CLIENTS_FILE. */
int64_t limit_maximum(enum limit limit);

/* The error of a request that this limit refuses, with a detail that names the limit: ERR_LIMIT_EXCEEDED, or
 * ERR_LIMIT_REACHED when waiting does not help. ERR_OK for LIMIT_NONE. */
MUST_CHECK enum err limit_refuse(enum limit limit, const struct limits *limits, struct detail *detail);
/* Seconds after which the limit may allow again, by this host's clock and the time between two ledgers; 0:
 * waiting does not help. */
int limit_retry_after_s(enum limit limit, int64_t now_s, unsigned ledger_ms);

/*
 * The limit that refuses a fee bump with this fee; LIMIT_NONE: none does. By what its lease has now, and what
 * the client has spent today. The fee of the highest one so far is never refused: it may be the same fee bump
 * again, and only fairway.record_fee_bumps, whose rule this is, compares hashes.
 */
enum limit limit_of_fee_bump(const struct limits *limits, int64_t fee_stroops, int64_t bumps,
    int64_t highest_stroops, int64_t spent_stroops);
