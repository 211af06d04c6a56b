/* Learns the times of ledgers. What is asked, and what an answer means, is not known here. */
#include "pace.h"

#include <limits.h>
#include <stdlib.h>

/* Requests come this many times in the time by which intervals differ; they begin this part of it, and one
 * request, before the shortest interval is over. */
#define SPREAD_STEPS 6
#define EARLY_PARTS 4
/* Pauses are this part of the time for which a ledger is late. */
#define LATE_PARTS 10
/* An RPC that was so far ahead has named a ledger that the network does not have. */
#define FALSE_LEDGERS 100
/* By this part of an interval at most requests begin earlier after a ledger that may have been there for some
 * time. */
#define UNSURE_PARTS 4

/* What the last intervals tell of the next one. */
struct expected {
    unsigned interval_ms; /* the shortest; 0: not known */
    unsigned spread_ms;   /* by which others are longer */
    unsigned step_ms;     /* between two requests */
};

static int compare(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static unsigned short_ms(const struct pace *pace)
{
    return pace->is_scarce ? PACE_SCARCE_MS : PACE_SHORT_MS;
}

/* Without the shortest and the longest one: a late ledger makes one interval long and the next one short. Of
 * two, the longer one may be a time in which nobody asked. */
static struct expected expect(const struct pace *pace)
{
    unsigned known[PACE_INTERVALS];
    size_t count = 0;
    struct expected expected = {.step_ms = short_ms(pace)};
    for (size_t i = 0; i < PACE_INTERVALS; i++)
        if (pace->intervals_ms[i] != 0)
            known[count++] = pace->intervals_ms[i];
    if (count < 2)
        return expected;
    qsort(known, count, sizeof known[0], compare);
    expected.interval_ms = known[count > 2];
    expected.spread_ms = known[count - (count > 3 ? 2 : 1)] - expected.interval_ms;
    if (expected.spread_ms / SPREAD_STEPS > expected.step_ms)
        expected.step_ms = expected.spread_ms / SPREAD_STEPS;
    return expected;
}

/* Notes when the RPC had the ledger that a request has found. If the request before is long ago, it had it
 * earlier: by how much, the next ledgers show; when that was so of the last one, too, by more. */
static void note_had(struct pace *pace, int64_t asked_ms)
{
    const struct expected expected = expect(pace);
    const int64_t late_ms = asked_ms - (pace->had_ms + expected.interval_ms),
                  most_ms = expected.interval_ms / UNSURE_PARTS;
    int64_t back_ms = expected.spread_ms / EARLY_PARTS + 2 * expected.step_ms;
    if (asked_ms - pace->missed_ms <= 2 * expected.step_ms + PACE_SHORT_MS)
        back_ms = 0;
    else if (late_ms > back_ms || 2 * pace->back_ms > back_ms)
        back_ms = late_ms > 2 * pace->back_ms ? late_ms : 2 * pace->back_ms;
    pace->back_ms = back_ms < most_ms ? back_ms : most_ms;
    const int64_t had_ms = asked_ms - pace->back_ms;
    pace->had_ms = pace->missed_ms > had_ms ? pace->missed_ms : had_ms;
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
    note_had(pace, asked_ms);
}

static unsigned within(int64_t ms, unsigned least, unsigned most)
{
    return ms > most ? most : ms < least ? least : (unsigned)ms;
}

unsigned pace_pause_ms(const struct pace *pace, uint32_t after, int64_t now_ms, unsigned poll_ms)
{
    const bool there = pace->latest > after;
    const struct expected expected = expect(pace);
    if (expected.interval_ms == 0 && !there)
        return poll_ms;
    const unsigned early_ms = expected.spread_ms / EARLY_PARTS + expected.step_ms,
                   step_ms = there ? short_ms(pace) : expected.step_ms;
    const int64_t passed_ms =
        now_ms - (there ? pace->found_ms : pace->had_ms + expected.interval_ms - early_ms);
    if (passed_ms < 0)
        return within(-passed_ms, 1, poll_ms > PACE_QUIET_MS ? poll_ms : PACE_QUIET_MS);
    const int64_t late_ms = there ? passed_ms : passed_ms - 2 * (int64_t)expected.spread_ms;
    return within(late_ms / LATE_PARTS, step_ms < poll_ms ? step_ms : poll_ms, poll_ms);
}
