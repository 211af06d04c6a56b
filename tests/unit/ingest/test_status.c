/* When ingestion is ready, and which failures it logs. */
#include "check.h"

#include <string.h>

#include "base/clock.h"
#include "status.h"

#define LEDGER_SECONDS 5

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
    status_init(&status, LEDGER_SECONDS);
    status_cursor(&status, &(struct cursor_snapshot){true, 7, lag_s});
    return status;
}

static void it_is_not_ready_before_the_first_ledger(void **state)
{
    struct status status;
    status_init(&status, LEDGER_SECONDS);
    assert_not_ready(&status, "no ledger");
    status_cursor(&status, &(struct cursor_snapshot){true, 7, 0});
    assert_true(status_ready(&status, NULL));
    status_wipe(&status);
}

static void it_is_not_ready_when_the_cursor_lags_by_more_than_a_ledger_and_thirty_seconds(void **state)
{
    struct status good = status_at(35), late = status_at(36);
    assert_true(status_ready(&good, NULL));
    assert_not_ready(&late, "7, closed 36 s ago");
    good.read_ms -= 1000; /* as if a second had passed without a ledger */
    assert_not_ready(&good, "closed 36 s ago");
    status_wipe(&good);
    status_wipe(&late);
}

static void it_is_not_ready_from_the_third_failure_in_a_row_to_the_next_success(void **state)
{
    struct status status = status_at(0);
    const struct detail detail = {"connection refused"};
    for (int i = 0; i < 2; i++) {
        status_failed(&status, ERR_RPC_UNAVAILABLE, false, &detail);
        assert_true(status_ready(&status, NULL));
    }
    status_failed(&status, ERR_RPC_UNAVAILABLE, false, &detail);
    assert_not_ready(&status, "connection refused");
    status_ok(&status);
    assert_true(status_ready(&status, NULL));
    status_wipe(&status);
}

static void it_is_not_ready_as_soon_as_it_is_stopped(void **state)
{
    struct status status = status_at(0);
    status_failed(&status, ERR_LEDGER_GAP, true, &(struct detail){"ledger 8 is due"});
    assert_not_ready(&status, "stopped: ledger 8 is due");
    status_ok(&status);
    assert_true(status_ready(&status, NULL));
    status_wipe(&status);
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

static void the_same_problem_with_other_numbers_is_not_logged_again(void **state)
{
    struct status status = status_at(0);
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
    status_ok(&status);
    assert_true(is_logged(&status, ERR_RPC_REFUSED, false, "timeout after 12 ms"));
    status_wipe(&status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_not_ready_before_the_first_ledger),
        cmocka_unit_test(it_is_not_ready_when_the_cursor_lags_by_more_than_a_ledger_and_thirty_seconds),
        cmocka_unit_test(it_is_not_ready_from_the_third_failure_in_a_row_to_the_next_success),
        cmocka_unit_test(it_is_not_ready_as_soon_as_it_is_stopped),
        cmocka_unit_test(the_same_problem_with_other_numbers_is_not_logged_again),
    };
    return cmocka_run_group_tests_name("ingest/status", tests, NULL, NULL);
}
