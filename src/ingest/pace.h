/*
 * When the next ledger is asked for, while all is well. The times at which the RPC had the last ledgers tell
 * when it will have the next one, and how much they differ: until shortly before, it is not asked, then
 * some times, and less often the later the ledger is. No clock but the caller's is read here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACE_INTERVALS 8
/* Between two requests while a ledger is due: at most 40 a second. */
#define PACE_SHORT_MS 25
/* The same while an RPC refuses requests: these may be among those for which it refuses others. */
#define PACE_SCARCE_MS 100
/* At most, while none is due: a ledger that comes early is not found later. */
#define PACE_QUIET_MS 5000

/* {0} knows nothing yet. */
struct pace {
    uint32_t latest;                       /* of the RPC's ledgers */
    int64_t had_ms;                        /* when it had the latest one, as far as is known: */
    int64_t back_ms;                       /* so long before it was asked */
    int64_t found_ms;                      /* when the first request was sent that found it */
    int64_t missed_ms;                     /* the last request that found no new one */
    unsigned intervals_ms[PACE_INTERVALS]; /* between the last ledgers; 0: not known yet */
    size_t next;                           /* interval to be written */
    bool is_scarce;                        /* an RPC refuses requests: the caller's */
};

/* Notes the latest ledger of the RPC, as the answer to a request of asked_ms says. */
void pace_note(struct pace *pace, uint32_t latest, int64_t asked_ms);

/* Returns the pause from now_ms to the next request for the ledger after this one. poll_ms: while it is not
 * known when that is due, and at most when it is late. A ledger that the RPC has, and that cannot be used
 * yet, is due. */
unsigned pace_pause_ms(const struct pace *pace, uint32_t after, int64_t now_ms, unsigned poll_ms);
