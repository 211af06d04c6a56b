/* Learns the times of ledgers. What is asked, and what an answer means, is not known here. */
#include "pace.h"

#include <limits.h>
#include <stdbool.h>

/* Requests begin this part of an interval before the ledger is due, and pauses are this part of what has
 * passed since. */
#define EARLY_PARTS 16
#define LATE_PARTS 10
/* An RPC that was so far ahead has named a ledger that the network does not have. */
#define FALSE_LEDGERS 100
/* By this part of an interval requests begin earlier after a ledger that may have been there for some time.
 */
#define UNSURE_PARTS 4

/* The second shortest interval: a late ledger makes the next interval short, once. 0: not known. */
static unsigned usual_ms(const struct pace *pace)
{
    unsigned shortest = UINT_MAX, second = UINT_MAX;
    for (size_t i = 0; i < PACE_INTERVALS; i++) {
        const unsigned interval_ms = pace->intervals_ms[i];
        if (interval_ms == 0)
            continue;
        if (interval_ms < shortest) {
            second = shortest;
            shortest = interval_ms;
        } else if (interval_ms < second) {
            second = interval_ms;
        }
    }
    return second == UINT_MAX ? 0 : second;
}

/* When the RPC had the ledger that a request has found. If the request before is long ago, it had it earlier;
 * how much, the next ledgers show. */
static int64_t had_ms(const struct pace *pace, int64_t asked_ms)
{
    const unsigned interval_ms = usual_ms(pace);
    const int64_t step_ms = asked_ms - interval_ms / UNSURE_PARTS;
    if (asked_ms - pace->missed_ms <= interval_ms / EARLY_PARTS + PACE_SHORT_MS)
        return asked_ms;
    return pace->missed_ms > step_ms ? pace->missed_ms : step_ms;
}

/* Ledgers that come in one answer, after a time without the RPC, say nothing about intervals. */
void pace_note(struct pace *pace, uint32_t latest, int64_t asked_ms)
{
    if (pace->latest > latest && pace->latest - latest > FALSE_LEDGERS)
        *pace = (struct pace){0};
    const int64_t interval_ms = asked_ms - pace->found_ms;
    if (latest <= pace->latest) {
        pace->missed_ms = asked_ms;
        return;
    }
    if (latest == pace->latest + 1 && interval_ms > 0 && interval_ms <= INT_MAX) {
        pace->intervals_ms[pace->next] = (unsigned)interval_ms;
        pace->next = (pace->next + 1) % PACE_INTERVALS;
    }
    pace->latest = latest;
    pace->found_ms = asked_ms;
    pace->had_ms = had_ms(pace, asked_ms);
}

static unsigned within(int64_t ms, unsigned least, unsigned most)
{
    return ms > most ? most : ms < least ? least : (unsigned)ms;
}

unsigned pace_pause_ms(const struct pace *pace, uint32_t after, int64_t now_ms, unsigned poll_ms)
{
    const bool there = pace->latest > after;
    const unsigned interval_ms = usual_ms(pace),
                   shortest_ms = poll_ms < PACE_SHORT_MS ? poll_ms : PACE_SHORT_MS,
                   quiet_ms = poll_ms > PACE_QUIET_MS ? poll_ms : PACE_QUIET_MS;
    if (interval_ms == 0 && !there)
        return poll_ms;
    const int64_t begins_ms = there ? pace->found_ms : pace->had_ms + interval_ms - interval_ms / EARLY_PARTS;
    const int64_t passed_ms = now_ms - begins_ms;
    if (passed_ms < 0)
        return within(-passed_ms, 1, quiet_ms);
    return within(passed_ms / LATE_PARTS, shortest_ms, poll_ms);
}
