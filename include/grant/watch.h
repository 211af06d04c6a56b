/*
 * Clients that wait for GET /v1/transactions/{hash}: one connection and one query for all of them, woken when
 * a ledger settles leases. Deadlines are watched by a thread that never waits for the database.
 */
#ifndef FAIRWAY_GRANT_WATCH_H
#define FAIRWAY_GRANT_WATCH_H

#include "grant/grant.h"
#include "pool/lease_lookup.h"

struct watch;

/* How long an answer that nobody waits for may take the database. */
#define WATCH_READ_MS 1800

/*
 * The submitter's memory until done is called (from a thread of the watch, once). It is answered when the
 * lease has ended, or as pending at the deadline (clock_ms()), but not before the lease has been looked up;
 * at once when the deadline is past. status is set when error is ERR_OK; else it is ERR_TRANSACTION_NOT_FOUND
 * (at once), ERR_DATABASE_UNAVAILABLE (at the deadline, or WATCH_READ_MS after watch_submit if that is
 * later), ERR_CANCELLED when gone says that the client has hung up, or ERR_SHUTTING_DOWN.
 */
struct watch_ticket {
    struct hash hash; /* of a lease or a fee bump */
    char client[CLIENT_SIZE];
    int64_t deadline_ms;
    void (*done)(struct watch_ticket *ticket);
    bool (*gone)(struct watch_ticket *ticket);
    enum err error;
    struct lease_status status;
    /* The watch's: */
    uint64_t number;
    int64_t arrived_ms;
    int64_t seen_ms; /* when status was read; 0: never */
    bool failed;     /* the last look at it failed */
};

#define WATCH_MAX 10000

/* Does not connect yet: the database may be unavailable. */
MUST_CHECK enum err watch_start(const char *database_direct_url, struct watch **out, struct detail *detail);
/* ERR_OVERLOADED (WATCH_MAX wait already) or ERR_SHUTTING_DOWN: not taken, done is not called. Never blocks.
 */
MUST_CHECK enum err watch_submit(struct watch *watch, struct watch_ticket *ticket);
/* From now on nobody waits: a ticket with a deadline ahead is answered with ERR_SHUTTING_DOWN, others get
 * what is known now. Returns at once. */
void watch_drain(struct watch *watch);
/* Answers all that are left with ERR_SHUTTING_DOWN. */
void watch_stop(struct watch *watch);

#endif
