/*
 * Claims: the nonces that the network will consume for a call (stellar/authorization.h), which it does once.
 * A client has one lease for a claim: while that lease is open, and when it ended as confirmed or consumed
 * until the network has forgotten the nonce. fairway.record_leases refuses a claim that another lease has;
 * what is read here, without a lock, says whose it is, before anything is signed.
 */
#pragma once

#include "db/db.h"
#include "grant/lease.h"

struct lease_claim {
    size_t grant; /* in the batch */
    bool found;   /* a lease has it; the next ones are set */
    bool is_unsent;
    struct hash lease, digest;
};

struct lease_claims {
    struct grant *const *grants;
    struct lease_claim *items; /* of each grant in the order of its entries */
    size_t count, first[GRANT_BATCH_MAX];
    bool any_found;
    bool taken[GRANT_BATCH_MAX]; /* by grant: it takes what it claims with this batch */
    /* What parameters of statements point to; places: of the leases to be recorded, from 1; 0: of none. */
    const char **clients;
    struct bytes *keys;
    int64_t *places, *expires;
    struct db_param params[2];
};

/* *claims is zeroed before. A refused request claims nothing; but it may repeat one that does. */
void lease_claims_init(struct lease_claims *claims, struct grant *const grants[], size_t count);
void lease_claims_free(struct lease_claims *claims);
/* For a pipeline; its text is NULL when no grant has a claim. */
struct db_statement lease_claims_statement(const struct lease_claims *claims);
void lease_claims_read(struct lease_claims *claims, const struct db_rows *rows);

/*
 * When a lease has what grant i claims, decides it and returns true: for the same call, a request that
 * submits is done, with that lease's hash; any other is refused with ERR_AUTHORIZATION_LEASED.
 */
bool lease_claims_decide(struct lease_claims *claims, size_t i);
/* Whether an earlier grant of the batch takes a lease with one of these claims; else grant i takes them. */
bool lease_claims_conflict(struct lease_claims *claims, size_t i);
/* The lease of grant i is to be recorded as the one at this place. */
void lease_claims_place(struct lease_claims *claims, size_t i, size_t place);
