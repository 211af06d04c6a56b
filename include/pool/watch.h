/*
 * Clients that hold a GET /v1/transactions/{hash}?wait= open: one thread, one connection and one query for
 * all of them, woken when a ledger settles leases.
 */
#ifndef FAIRWAY_POOL_WATCH_H
#define FAIRWAY_POOL_WATCH_H

#include "pool/lease.h"
#include "pool/status.h"

struct watch;

/*
 * The submitter's memory until done is called (from the watch's thread, once). It is answered when the lease
 * has ended, or as pending at the deadline (clock_ms()); at once when that is past. status is set when error
 * is ERR_OK; else it is ERR_TRANSACTION_NOT_FOUND (at once), ERR_DATABASE_UNAVAILABLE (at the deadline),
 * ERR_CANCELLED when gone says that the client has hung up, or ERR_SHUTTING_DOWN.
 */
struct watch_ticket {
    struct hash hash; /* of a lease or a fee bump */
    char client[CLIENT_SIZE];
    int64_t deadline_ms;
    void (*done)(struct watch_ticket *ticket);
    bool (*gone)(struct watch_ticket *ticket);
    enum err error;
    struct lease_status status;
    struct watch_ticket *next;
};

#define WATCH_MAX 10000

/* Does not connect yet: the database may be away. */
MUST_CHECK enum err watch_start(const char *database_direct_url, struct watch **out, struct detail *detail);
/* ERR_OVERLOADED (WATCH_MAX wait already) or ERR_SHUTTING_DOWN: not taken, done is not called. Never blocks.
 */
MUST_CHECK enum err watch_submit(struct watch *watch, struct watch_ticket *ticket);
/* From now on nobody waits: who would is answered with ERR_SHUTTING_DOWN, who asks for what is known now gets
 * that. Returns at once. */
void watch_drain(struct watch *watch);
/* Answers all that are left with ERR_SHUTTING_DOWN. */
void watch_stop(struct watch *watch);

#endif
