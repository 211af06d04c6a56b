/* When ingestion is ready, and which failures it logs. */
#include "check.h"

#include <string.h>

#include "base/clock.h"
#include "status.h"

#define LEDGER_MS 5000

static void assert_not_ready(struct status *status, const char *word)
{
    struct detail why = {0};
    assert_false(status_ready(status, &why));
    if (strstr(why.text, word) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", why.text, word);
}

static struct status status_at(int64_t lag_s)
{
    struct status status;
    status_init(&status, LEDGER_MS);
    status_cursor(&status, &(struct cursor_snapshot){.known = true, .sequence = 7, .lag_s = lag_s}, false);
    return status;
}

TEST(it_is_not_ready_before_the_first_ledger)
{
    struct status status CLEANUP(status_wipe);
    status_init(&status, LEDGER_MS);
    assert_not_ready(&status, "has not read the database");
    status_failed(&status, ERR_RPC_UNAVAILABLE, false, &(struct detail){"connection refused"});
    assert_not_ready(&status, "connection refused");
    status_idle(&status, ERR_NOT_LEADER, &(struct detail){""});
    status_cursor(&status, &(struct cursor_snapshot){.known = false}, false);
    assert_not_ready(&status, "no ledger");
    status_cursor(&status, &(struct cursor_snapshot){.known = true, .sequence = 7}, false);
    assert_true(status_ready(&status, NULL));
}

TEST(it_is_not_ready_when_the_cursor_lags_by_more_than_a_ledger_and_thirty_seconds)
{
    CLEANUP(status_wipe) struct status good = status_at(35), late = status_at(36);
    assert_true(status_ready(&good, NULL));
    assert_not_ready(&late, "7, closed 36 s ago");
    good.read_ms -= 1000; /* as if a second had passed without a ledger */
    assert_not_ready(&good, "closed 36 s ago");
}

TEST(a_cursor_that_stands_still_has_its_reason)
{
    struct status status CLEANUP(status_wipe) = status_at(36);
    assert_not_ready(&status, "Stellar RPC has returned no later one");
    status_idle(&status, ERR_NOT_LEADER, &(struct detail){""});
    assert_not_ready(&status, "another process leads");
    status_failed(&status, ERR_RPC_UNAVAILABLE, false, &(struct detail){"connection refused"});
    assert_not_ready(&status, "7, closed 36 s ago: connection refused");
}

/* The clock of the database is fast, or ledgers are caught up with. */
TEST(a_cursor_that_moves_is_ready_however_old_its_ledger_is)
{
    struct status status CLEANUP(status_wipe) = status_at(300);
    assert_not_ready(&status, "7, closed 300 s ago");
    status_cursor(&status, &(struct cursor_snapshot){.known = true, .sequence = 8, .lag_s = 300}, false);
    assert_true(status_ready(&status, NULL));
    status.moved_ms -= 36000; /* as if so much time had passed */
    assert_not_ready(&status, "8, closed 300 s ago");
}

TEST(it_is_not_ready_from_the_third_failure_in_a_row_to_the_next_ledger)
{
    struct status status CLEANUP(status_wipe) = status_at(0);
    const struct detail detail = {"connection refused"};
    for (int i = 0; i < 2; i++) {
        status_failed(&status, ERR_RPC_UNAVAILABLE, false, &detail);
        assert_true(status_ready(&status, NULL));
    }
    status_idle(&status, ERR_LEDGER_AHEAD, &(struct detail){""}); /* they were no outage */
    for (int i = 0; i < 2; i++)
        status_failed(&status, ERR_RPC_UNAVAILABLE, false, &detail);
    assert_true(status_ready(&status, NULL));
    status_failed(&status, ERR_RPC_UNAVAILABLE, false, &detail);
    assert_not_ready(&status, "connection refused");
    status_cursor(&status, &(struct cursor_snapshot){.known = true, .sequence = 8}, true);
    assert_true(status_ready(&status, NULL));
}

/* Otherwise it would be ready for a moment whenever the lead changes, or the RPC answers once. */
TEST(nothing_but_a_ledger_makes_it_ready_again)
{
    struct status status CLEANUP(status_wipe) = status_at(0);
    for (int i = 0; i < 3; i++)
        status_failed(&status, ERR_DATABASE_UNAVAILABLE, false, &(struct detail){"disk full"});
    status_idle(&status, ERR_NOT_LEADER, &(struct detail){""});
    status_idle(&status, ERR_LEDGER_AHEAD, &(struct detail){""});
    status_cursor(&status, &(struct cursor_snapshot){.known = true, .sequence = 7}, false);
    assert_not_ready(&status, "disk full");
    status_cursor(&status, &(struct cursor_snapshot){.known = true, .sequence = 8}, false); /* by another */
    assert_true(status_ready(&status, NULL));
}

TEST(the_first_look_at_the_cursor_ends_no_outage)
{
    struct status status CLEANUP(status_wipe);
    status_init(&status, LEDGER_MS);
    for (int i = 0; i < 3; i++)
        status_failed(&status, ERR_DATABASE_UNAVAILABLE, false, &(struct detail){"disk full"});
    status_cursor(&status, &(struct cursor_snapshot){.known = true, .sequence = 7}, false);
    assert_not_ready(&status, "disk full");
    status_cursor(&status, &(struct cursor_snapshot){.known = true, .sequence = 6}, false); /* restored */
    assert_not_ready(&status, "disk full");
    status_cursor(&status, &(struct cursor_snapshot){.known = true, .sequence = 7}, false);
    assert_true(status_ready(&status, NULL));
}

TEST(it_is_not_ready_as_soon_as_it_is_stopped)
{
    struct status status CLEANUP(status_wipe) = status_at(0);
    status_failed(&status, ERR_LEDGER_GAP, true, &(struct detail){"ledger 8 is due"});
    assert_not_ready(&status, "stopped: ledger 8 is due");
    status_cursor(&status, &(struct cursor_snapshot){.known = true, .sequence = 8}, true);
    assert_true(status_ready(&status, NULL));
}

/* Whether this failure is logged, when the one before was logged just now. */
static bool is_logged(struct status *status, enum err e, bool stopped, const char *text)
{
    struct detail detail = {0};
    const int64_t before_ms = clock_ms() + 50000;
    detail_set(&detail, e, "%s", text);
    status->log_again_ms = before_ms;
    status_failed(status, e, stopped, &detail);
    return status->log_again_ms != before_ms;
}

TEST(the_same_problem_with_other_numbers_is_not_logged_again)
{
    struct status status CLEANUP(status_wipe) = status_at(0);
    assert_true(is_logged(&status, ERR_RPC_UNAVAILABLE, false, "no connection to port 80 after 3 ms"));
    assert_false(is_logged(&status, ERR_RPC_UNAVAILABLE, false, "no connection to port 80 after 3 ms"));
    assert_false(is_logged(&status, ERR_RPC_UNAVAILABLE, false, "no connection to port 80 after 12 ms"));
    assert_true(is_logged(&status, ERR_RPC_UNAVAILABLE, false, "no connection to port 80 after 12 m"));
    assert_true(is_logged(&status, ERR_RPC_UNAVAILABLE, false, "no connection to port 80 after 12 ms, 7"));
    assert_true(is_logged(&status, ERR_RPC_UNAVAILABLE, false, "timeout after 12 ms"));
    assert_true(is_logged(&status, ERR_RPC_REFUSED, false, "timeout after 12 ms"));
    assert_true(is_logged(&status, ERR_RPC_REFUSED, true, "timeout after 12 ms"));
    assert_false(is_logged(&status, ERR_RPC_REFUSED, true, "timeout after 0 ms"));
    status.log_again_ms = 0; /* as if a minute had passed */
    status_failed(&status, ERR_RPC_REFUSED, true, &(struct detail){"timeout after 0 ms"});
    assert_true(status.log_again_ms != 0);
    status_cursor(&status, &(struct cursor_snapshot){.known = true, .sequence = 8}, true);
    assert_true(is_logged(&status, ERR_RPC_REFUSED, false, "timeout after 12 ms"));
}
