/*
 * Clients that wait for the end of a lease: of GET /v1/transactions, of one or of any, and of submissions.
 * The process that commits a ledger tells its watch which leases ended; the other processes are notified,
 * without any content that could be false, and look all of their waits up with one query. So they do once a
 * second too; new requests are looked up immediately. The ticker watches deadlines. The watch's session is
 * the one of the process that listens; it tells the engine.
 */
#pragma once

#include "grant/engine.h"

#include "base/deadlines.h"
#include "pool/lease_ends.h"
#include "pool/lease_lookup.h"

struct watch;

/*
 * A request that waits: the submitter's memory, zeroed before. From watch_submit until done is called, the
 * submitter does not touch it. done is called once, from a thread of the watch, from the ticker or from
 * watch_cancel, without any lock: when the lease has ended or its submission is rejected, or with status
 * pending at the deadline (clock_ms()), but not before the lease has been looked up. A deadline in the past
 * asks for the present status.
 *
 * error: ERR_OK (status is set); ERR_TRANSACTION_NOT_FOUND, as soon as that is known;
 * ERR_DATABASE_UNAVAILABLE, at the deadline, or WATCH_READ_MS after watch_submit if that is later;
 * ERR_CANCELLED; ERR_SHUTTING_DOWN.
 */
struct watch_ticket {
    struct hash hash; /* of a lease or a fee bump */
    bool any;      /* waits for the end of any lease instead: see watch_ends. hash, client and status are not
                      used, and nothing is looked up */
    uint64_t ends; /* the same: of watch_ends, before the submitter read what had ended */
    char client[CLIENT_SIZE];
    int64_t deadline_ms;
    bool wants_envelope; /* in the status (pool/lease_lookup.h) */
    bool submitted; /* its request has just had the transaction sent: a rejection ends the wait, also one that
                       the first look-up finds */
    void (*done)(struct watch_ticket *ticket);
    enum err error;
    /* The submitter frees it after done: lease_status_free. hash and granted_us may be set before. */
    struct lease_status status;
    /* The watch's, guarded by its mutex: */
    bool waits, cancelled;
    uint64_t number;
    int64_t arrived_ms;
    int64_t read_ms;      /* when status was read; 0: never */
    bool read_failed;     /* the last lookup failed */
    bool rejected_before; /* since the wait began: it waits for something else */
};

#define WATCH_MAX 10000

/* A number that changes when leases may have ended, in this process or in another. A ticket for `any` ends
 * with ERR_OK when it has changed, or at its deadline; with ERR_SHUTTING_DOWN when the watch drains. */
uint64_t watch_ends(struct watch *watch);

/* Does not connect yet: the database may be unavailable. name is its session's; it and engine (NULL: none)
 * must outlive the watch. ledger (NULL: none) is called whenever a ledger may have been committed, from a
 * thread of the watch; it returns soon. */
struct watch *watch_start(const char *database_url, const char *name, struct engine *engine,
    void (*ledger)(void *context), void *context);
/*
 * ERR_OVERLOADED (WATCH_MAX wait already), ERR_SHUTTING_DOWN, or ERR_CANCELLED when watch_cancel came first:
 * the ticket was not taken and done is not called. Never blocks.
 */
MUST_CHECK enum err watch_submit(struct watch *watch, struct watch_ticket *ticket);
/*
 * The client has left. A ticket that waits is removed and done is called with ERR_CANCELLED, from this
 * function. Never blocks. The ticket's memory: as for engine_cancel.
 */
void watch_cancel(struct watch *watch, struct watch_ticket *ticket);
/* Answers those who wait for these leases, after the COMMIT that ended them: a lease_ends_listener. context
 * is the watch. Whom it misses, because the first lookup is not there yet, the notification wakes. */
void watch_ended(void *context, const struct lease_ends *ends);
/* Ends all waits, also those that begin later: a ticket with a deadline in the future is refused with
 * ERR_SHUTTING_DOWN once it has been looked up, the others get their status. Returns at once. */
void watch_drain(struct watch *watch);
/* Refuses all tickets that are left with ERR_SHUTTING_DOWN and ends the threads. For a ticket that
 * watch_cancel has removed, see engine_stop. A ticket that comes later is refused, too. */
void watch_stop(struct watch *watch);
/* Call it after watch_stop, and after engine_stop: what the engine's last batches have decided becomes a
 * ticket. */
void watch_free(struct watch *watch);
