/*
 * Clients that hold a GET /v1/transactions/{hash}?wait= open: one thread, one connection and one query for
 * all of them, woken when a ledger settles leases.
 */
#ifndef FAIRWAY_POOL_WATCH_H
#define FAIRWAY_POOL_WATCH_H

#include "pool/status.h"

struct watch;

/* The submitter's memory until done is called (from the watch's thread, once). status is set when error is
 * ERR_OK. */
struct watch_ticket {
    struct hash hash;
    char client[65];
    int64_t deadline_ms; /* clock_ms(); pending is answered then */
    void (*done)(struct watch_ticket *ticket);
    bool (*gone)(struct watch_ticket *ticket);
    enum err
        error; /* ERR_TRANSACTION_NOT_FOUND, ERR_DATABASE_UNAVAILABLE, ERR_CANCELLED, ERR_SHUTTING_DOWN */
    struct lease_status status;
    struct watch_ticket *next;
};

#define WATCH_MAX 10000

MUST_CHECK enum err watch_start(const char *database_direct_url, struct watch **out, struct detail *detail);
/* ERR_OVERLOADED or ERR_SHUTTING_DOWN: not taken, done is not called. */
MUST_CHECK enum err watch_submit(struct watch *watch, struct watch_ticket *ticket);
void watch_stop(struct watch *watch);

#endif
