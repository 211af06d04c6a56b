/* A request for a lease, the lease, and a batch of them: what the files that grant share. */
#pragma once

#include "keys/keyd.h"
#include "limits/limits.h"
#include "pool/funds.h"
#include "pool/grants_allowed.h"
#include "stellar/authorization.h"
#include "stellar/policy.h"

#define CLIENT_SIZE 65 /* a client's name (auth/auth.h); '' with AUTH=none */
#define REQUEST_ID_SIZE 65
#define IDEMPOTENCY_KEY_SIZE 256
#define REFERENCE_SIZE 256

/* What a client asks for; decoded, and checked by policy_check, before it gets here. */
struct lease_request {
    struct envelope envelope; /* its spans point into memory that the owner of the request keeps */
    struct named_accounts named;
    uint32_t timeout_s; /* 0: not given */
    /* Of a contract call; else zero. Unless the request is refused, it has only the entries that the network
     * will consume: what the lease claims. If they alone authorize it, the envelope's max ledger is the one
     * after the last in which all of them count, or an earlier one of the client's. */
    struct authorization authorization;
    char client[CLIENT_SIZE];
    char request_id[REQUEST_ID_SIZE];
    char idempotency_key[IDEMPOTENCY_KEY_SIZE]; /* the client's, or "token:" and the token's hash; '': none */
    struct hash digest;                         /* SHA-256 of the body; only with a key */
    char reference[REFERENCE_SIZE];             /* the client's own; '': none */
    char contract[ADDRESS_SIZE];                /* that the envelope calls (C...); '': none */
    bool submits; /* fairway sends the transaction: the lease is granted with a bid, or not at all */
    int64_t max_fee_stroops; /* the client's cap of the whole fee of bids; 0: none */
    struct limits limits;    /* ''s are not counted */
    /* ERR_OK, or why the request gets no new lease. It may still repeat an earlier one, whose lease it gets
     * then. */
    enum err refusal;
    struct detail refusal_detail;
};

/* A granted lease, as the client gets it. */
struct lease {
    struct hash hash;
    struct public_key account;
    int64_t sequence;
    int64_t sequence_ledger; /* the ledger from which sequence - 1 is known */
    uint64_t max_time_s;
    bool first;          /* this request took it; else status tells how it is now */
    char status[16];     /* of an earlier request's lease: pending, or how it ended */
    struct buf envelope; /* the signed TransactionEnvelope; lease_wipe frees it */
    /* Of a lease that this batch has granted to a request that submits: its bid, which is to be sent. */
    int64_t bid_stroops; /* 0: none */
    int64_t max_fee_stroops;
    struct hash bid_hash;
    struct buf bid; /* the fee bump's signed TransactionEnvelope; lease_wipe frees it */
    int64_t sent_ledger;
    int64_t granted_us; /* when it was granted, in microseconds */
};
static inline void lease_wipe(struct lease *lease)
{
    buf_free(&lease->envelope);
    buf_free(&lease->bid);
    *lease = (struct lease){0};
}

enum grant_state {
    GRANT_OPEN,    /* not decided yet: needs an account */
    GRANT_DONE,    /* lease is set and committed */
    GRANT_REFUSED, /* error and detail say why; no account is leased */
};

/* One request in a batch. Those for which no account was idle are GRANT_OPEN after it. */
struct grant {
    const struct lease_request *request;
    enum grant_state state;
    enum {
        OPEN_NO_ACCOUNT,  /* no account was idle, or none was in the replica's share */
        OPEN_KEY_LOCKED,  /* another transaction has its idempotency key or what it claims */
        OPEN_BROKEN_SEED, /* the seed of its account does not open; the account is quarantined now */
    } open;               /* why it is GRANT_OPEN after a batch */
    enum err error;
    struct detail detail;
    enum limit limit;   /* that has refused it; LIMIT_NONE: another error */
    bool is_of_another; /* lease has only the hash of a lease that another request has taken for its call, */
    bool is_unsent;     /* and nobody has submitted that one */
    struct lease lease;
};

struct grant_settings {
    struct network_id network;
    struct policy_limits limits;
    struct funds_limits funds; /* of the distribution account; below them nothing is granted */
    unsigned ledger_ms;        /* expected between two ledgers */
    /* The last ledger that ingestion has seen committed; NULL: not compared. A database that is behind it was
     * set back and may have forgotten leases. */
    const _Atomic uint32_t *seen_ledger;
    /* The master keys that keyd has, in memory of the caller's; none: all. Accounts sealed under another key
     * are not claimed. */
    const char *key_ids[MASTER_KEY_ROWS_MAX + 2];
    size_t key_id_count;
};

#define GRANT_BATCH_MAX SIGN_BATCH_MAX

enum grant_mode {
    GRANT_CLAIM, /* takes idle accounts: as many as it needs, or the replica's share of them while requests
                    wait in other replicas too */
    GRANT_CHECK, /* takes none: returns earlier leases to repeated requests, and refuses requests that
                    cannot be granted */
};

/*
 * While accounts are short, each replica reports how many of its requests wait for one (fairway.waiting), and
 * takes idle accounts in proportion to that number (fairway.share_of_idle). Reports older than 1 s do not
 * count. A replica whose requests wait while an account is idle has a share of at least one.
 */
struct grant_batch {
    struct grant *const *grants;
    size_t count; /* at most GRANT_BATCH_MAX; may be 0 when it reports */
    enum grant_mode mode;
    int64_t replica; /* a random number */
    size_t queued;   /* requests of this replica that wait for an account, without those of the batch */
    bool reports;    /* how many requests wait on; without it only if any do. Only with GRANT_CLAIM */
    /* Set by the batch. */
    size_t claimed; /* accounts */
    int64_t idle;   /* accounts before the claim, at most as many as requests wait; -1: not counted, because
                       no requests wait in other replicas */
    int64_t share;  /* accounts that this replica could take, for the queued requests too */
    size_t left;    /* what was reported: requests of this replica that wait on; 0 when there are enough
                       accounts, so far as the batch could see */
    bool locked_unused; /* accounts were locked, so that other claims skipped them, and not used */
};
