/* The pace of requests (ingest/pace.h), on simulated networks. Time is counted here, and nothing sleeps. */
#include <stdlib.h>

#include "check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ingester.h"
#include "pace.h"

#define POLL_MS 500
#define CALL_MS 3 /* a request and its answer */

struct simulation {
    struct pace pace;
    uint32_t closed; /* ledgers */
    int64_t now_ms, closes_ms;
    unsigned requests;
    int64_t found_after_ms; /* of the last ledger, since it closed */
};

/* Asks until the RPC has the ledger that closes at closes_ms. */
static void follow(struct simulation *network, int64_t interval_ms)
{
    const uint32_t due = network->closed + 1;
    network->closes_ms += interval_ms;
    for (network->requests = 0; network->closed < due; network->requests++) {
        const int64_t asked_ms = network->now_ms;
        if (asked_ms >= network->closes_ms) {
            network->closed = due;
            network->found_after_ms = asked_ms - network->closes_ms;
        }
        network->now_ms += CALL_MS;
        pace_note(&network->pace, network->closed, asked_ms);
        network->now_ms += pace_pause_ms(&network->pace, network->closed, network->now_ms, POLL_MS);
    }
}

static struct simulation start(int64_t interval_ms)
{
    struct simulation network = {.closed = 100, .closes_ms = 1000};
    pace_note(&network.pace, network.closed, network.closes_ms);
    for (int i = 0; i < PACE_INTERVALS; i++)
        pace_note(&network.pace, ++network.closed, network.closes_ms += interval_ms);
    network.now_ms = network.closes_ms + PACE_SHORT_MS; /* as long as a ledger takes to commit */
    for (int i = 0; i < 2; i++)
        follow(&network, interval_ms);
    return network;
}

TEST(until_intervals_are_known_the_rpc_is_polled)
{
    struct pace pace = {0};
    assert_int_equal(pace_pause_ms(&pace, 0, 5000, POLL_MS), POLL_MS);
    pace_note(&pace, 100, 5000);
    assert_int_equal(pace_pause_ms(&pace, 100, 5000, POLL_MS), POLL_MS);
    pace_note(&pace, 101, 10000);
    assert_int_equal(pace_pause_ms(&pace, 101, 10000, POLL_MS), POLL_MS); /* one may be an exception */
    pace_note(&pace, 102, 15000);
    assert_in_range(pace_pause_ms(&pace, 102, 15000, POLL_MS), 4900, 5000);
}

TEST(of_two_intervals_a_long_one_is_no_reason_to_ask_late)
{
    struct pace pace = {0};
    pace_note(&pace, 100, 5000);
    pace_note(&pace, 101, 20000); /* nobody asked for 15 s */
    pace_note(&pace, 102, 21000);
    assert_in_range(pace_pause_ms(&pace, 102, 21000, POLL_MS), 1, 1000);
}

TEST(regular_ledgers_are_found_at_once_with_few_requests)
{
    static const int64_t intervals_ms[] = {600, 1000, 2000, 5000};
    for (size_t i = 0; i < 4; i++) {
        struct simulation network = start(intervals_ms[i]);
        unsigned requests = 0;
        for (int ledgers = 0; ledgers < 50; ledgers++) {
            follow(&network, intervals_ms[i]);
            assert_in_range(network.found_after_ms, 0, 40);
            requests += network.requests;
        }
        assert_in_range(requests, 50, 3 * 50);
    }
}

static int compare(const void *a, const void *b)
{
    return (int)(*(const int64_t *)a - *(const int64_t *)b);
}

/* As those of the public network, whose intervals are between the first two of a case; and with close times
 * that differ by so much from a regular one. */
TEST(irregular_ledgers_are_found_soon_with_few_requests)
{
    enum {
        LEDGERS = 500
    };
    static const int64_t cases[][3] = {
        {5000, 6000, 0}, {4600, 5400, 0}, {4800, 5200, 0}, {5000, 5000, 200}, {5000, 5000, 400}};
    srand(1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct simulation network = start(5500);
        const int64_t base_ms = cases[i][0], more_ms = cases[i][1] - base_ms, off_ms = cases[i][2];
        int64_t found_ms[LEDGERS], last_ms = 0;
        unsigned requests = 0;
        for (int n = 0; n < 20 + LEDGERS; n++) {
            const int64_t this_ms = off_ms == 0 ? 0 : rand() % (2 * off_ms) - off_ms;
            network.requests = 0;
            follow(&network, base_ms + (more_ms == 0 ? 0 : rand() % more_ms) + this_ms - last_ms);
            last_ms = this_ms;
            if (n < 20) /* it learns */
                continue;
            found_ms[n - 20] = network.found_after_ms;
            requests += network.requests;
        }
        qsort(found_ms, LEDGERS, sizeof found_ms[0], compare);
        assert_in_range(found_ms[LEDGERS / 2], 0, 60);
        assert_in_range(found_ms[LEDGERS * 95 / 100], 0, 250);
        assert_in_range(requests, LEDGERS, 71 * LEDGERS / 10);
    }
}

TEST(a_late_ledger_is_asked_for_less_and_less_often)
{
    struct simulation network = start(1000);
    follow(&network, 61000);
    assert_in_range(network.requests, 60 * 1000 / POLL_MS, 60 * 1000 / POLL_MS + 70);
    assert_in_range(network.found_after_ms, 0, POLL_MS + CALL_MS);
    follow(&network, 1000); /* and the next one on time */
    assert_in_range(network.found_after_ms, 0, 500);
    follow(&network, 1000);
    assert_in_range(network.found_after_ms, 0, 40);
}

/* After a slow commit, for example. */
TEST(after_one_that_was_asked_for_late_the_next_ones_are_found_soon)
{
    struct simulation network = start(2000);
    network.now_ms = network.closes_ms + 2900;
    follow(&network, 2000);
    assert_in_range(network.found_after_ms, 800, 1000);
    follow(&network, 2000);
    assert_in_range(network.found_after_ms, 0, 400);
    follow(&network, 2000);
    assert_in_range(network.found_after_ms, 0, 40);
}

TEST(an_early_ledger_is_found_when_it_would_have_been_due)
{
    struct simulation network = start(5000);
    follow(&network, 1300);
    assert_in_range(network.found_after_ms, 0, 5000 - 1300);
    follow(&network, 5000); /* one exception changes nothing */
    assert_in_range(network.requests, 1, 25);
}

TEST(at_most_forty_requests_a_second_or_ten_while_rpcs_refuse_some)
{
    struct simulation network = start(600);
    for (int scarce = 0; scarce < 2; scarce++) {
        const unsigned least_ms = scarce ? PACE_SCARCE_MS : PACE_SHORT_MS;
        network.pace.is_scarce = scarce;
        for (int64_t now_ms = network.pace.found_ms + 600; now_ms < network.now_ms + 2600; now_ms += 10)
            assert_true(pace_pause_ms(&network.pace, network.closed, now_ms, POLL_MS) >= least_ms);
        assert_int_equal(
            pace_pause_ms(&network.pace, network.closed - 1, network.pace.found_ms, POLL_MS), least_ms);
    }
}

/* Another RPC has to confirm it, for example. */
TEST(a_ledger_that_cannot_be_used_yet_is_due)
{
    struct simulation network = start(5000);
    pace_note(&network.pace, network.closed + 1, network.now_ms);
    assert_int_equal(
        pace_pause_ms(&network.pace, network.closed, network.now_ms + 10, POLL_MS), PACE_SHORT_MS);
    assert_int_equal(pace_pause_ms(&network.pace, network.closed, network.now_ms + 3000, POLL_MS), 300);
    assert_int_equal(pace_pause_ms(&network.pace, network.closed, network.now_ms + 9000, POLL_MS), POLL_MS);
}

TEST(ledgers_that_come_together_are_no_interval)
{
    struct simulation network = start(5000);
    for (int i = 0; i < PACE_INTERVALS; i++) {
        network.closed += 7;
        pace_note(&network.pace, network.closed, network.now_ms += 10);
    }
    assert_in_range(pace_pause_ms(&network.pace, network.closed, network.now_ms, POLL_MS), 3700, 5000);
}

/* Only a commit is followed by the next request at once: what cannot be committed would be asked for without
 * pauses. */
TEST(after_a_commit_the_next_ledger_that_is_there_follows_at_once)
{
    const struct simulation network = start(5000);
    struct ingester ingester = {.follow.latest = network.closed, .pace = network.pace};
    ingester.lead.cursor.sequence = network.closed - 1;
    assert_int_equal(ingester_pause_ms(&ingester, ERR_OK, POLL_MS), 0);
    assert_in_range(ingester_pause_ms(&ingester, ERR_LEDGER_AHEAD, POLL_MS), PACE_SHORT_MS, POLL_MS);
    ingester.lead.cursor.sequence = network.closed;
    ingester.pace.had_ms = clock_ms();
    assert_in_range(ingester_pause_ms(&ingester, ERR_OK, POLL_MS), 4900, 5000);
}

TEST(a_shorter_poll_is_kept)
{
    struct simulation network = start(1000);
    assert_int_equal(pace_pause_ms(&network.pace, network.closed, network.now_ms + 1000, 5), 5);
}
