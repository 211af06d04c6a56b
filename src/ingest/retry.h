/*
 * Maps the result of a step of ingestion to what follows: how long the thread pauses, whether this replica
 * keeps the lead, and what the status says. And what this needs: pauses that grow, outages that last, and the
 * end of all.
 */
#ifndef FAIRWAY_INGEST_RETRY_H
#define FAIRWAY_INGEST_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Retry pauses: each about twice the one before, up to a limit, with jitter so that replicas that failed
 * together do not retry together. */
struct backoff {
    unsigned pause_ms; /* the last one, without its jitter; 0: no failure since the last success */
};

/* Returns the pause after one more failure. The first is at most first_ms, none is longer than max_ms, and
 * jitter takes off up to half. */
unsigned backoff_next(struct backoff *backoff, unsigned first_ms, unsigned max_ms);

/* A try succeeded: the next pause is a first one again. */
void backoff_reset(struct backoff *backoff);

/* How long something has been unavailable, for what continues without it after a limit. {.limit_ms} is no
 * outage yet. */
struct outage {
    int limit_ms;
    int64_t since_ms, last_ms; /* the first and the last note of it; 0: it is over */
};

/*
 * Notes that something is unavailable now. Returns whether it has been for limit_ms. After four times that
 * without a note, the time begins again: a replica that asks only while it leads may have stopped asking long
 * ago.
 */
bool outage_lasts(struct outage *outage, int64_t now_ms);

/* It is available again. */
void outage_end(struct outage *outage);

enum retry_class {
    RETRY_DONE,        /* a ledger was committed: the next step follows at once */
    RETRY_IDLE,        /* nothing to do: no ledger is due, or another replica leads */
    RETRY_CANCELLED,   /* the process is stopping */
    RETRY_UNAVAILABLE, /* the RPC or the database is unavailable, or the outcome of a COMMIT is unknown */
    RETRY_STOPPED,     /* an operator has to act; retried now and then */
};
enum retry_class retry_class(enum err e);

struct retry {
    unsigned poll_ms;
    struct backoff backoff;
    int64_t failing_since_ms; /* clock_ms(); 0: the last step succeeded */
};

/* Notes the result of a step and returns the milliseconds until the next one. */
unsigned retry_pause_ms(struct retry *retry, enum err e);

/*
 * Returns whether a leader keeps the lead after a step with this result; call retry_pause_ms first. It gives
 * up the lead after every database error, because a new session reads from the cursor what was committed, and
 * after any other error that lasts, because another replica may have a better RPC or a newer version. When it
 * returns false, it forgets the failures so far: they do not count against this replica's next lead.
 */
bool retry_keeps_lead(struct retry *retry, enum err e);

/* Tells all threads of ingestion to end, wherever they wait. */
struct stop {
    int fd; /* readable once stop_tell was called, and from then on */
};

MUST_CHECK enum err stop_open(struct stop *stop, struct detail *detail);
void stop_close(struct stop *stop);

/* Any thread. */
void stop_tell(const struct stop *stop);

/* Waits for ms. Returns false, at once, after stop_tell. Any thread. */
bool stop_wait(const struct stop *stop, unsigned ms);

#endif
