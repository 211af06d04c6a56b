/* What follows a step of ingestion, by its result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "retry.h"

#define POLL_MS 100

static void the_next_step_follows_a_commit_at_once_and_an_idle_step_after_a_poll(void **state)
{
    (void)state;
    struct retry retry = {.poll_ms = POLL_MS};
    assert_int_equal(retry_pause_ms(&retry, ERR_OK), 0);
    assert_int_equal(retry_pause_ms(&retry, ERR_LEDGER_AHEAD), POLL_MS);
    assert_int_equal(retry_pause_ms(&retry, ERR_NOT_LEADER), POLL_MS);
}

static void DR6_an_unavailable_rpc_or_database_is_retried_at_least_every_second(void **state)
{
    (void)state;
    static const enum err unavailable[] = {ERR_RPC_UNAVAILABLE, ERR_RPC_REFUSED, ERR_DATABASE_UNAVAILABLE,
        ERR_OUTCOME_UNKNOWN, ERR_NOT_REPLICATED, ERR_SERIALIZATION, ERR_NOT_YET};
    for (size_t i = 0; i < ARRAY_LEN(unavailable); i++) {
        struct retry retry = {.poll_ms = POLL_MS};
        assert_int_equal(retry_class(unavailable[i]), RETRY_UNAVAILABLE);
        assert_in_range(retry_pause_ms(&retry, unavailable[i]), POLL_MS / 2, POLL_MS);
        for (int n = 0; n < 20; n++)
            assert_in_range(retry_pause_ms(&retry, unavailable[i]), POLL_MS / 2, 1000);
    }
}

static void what_an_operator_has_to_fix_is_retried_after_twenty_polls(void **state)
{
    (void)state;
    static const enum err stopped[] = {
        ERR_LEDGER_MISMATCH, ERR_XDR_UNKNOWN_ARM, ERR_CONSTRAINT, ERR_CONFIG, ERR_INTERNAL};
    for (size_t i = 0; i < ARRAY_LEN(stopped); i++) {
        struct retry retry = {.poll_ms = POLL_MS};
        assert_int_equal(retry_class(stopped[i]), RETRY_STOPPED);
        assert_int_equal(retry_pause_ms(&retry, stopped[i]), 20 * POLL_MS);
        assert_false(retry_keeps_lead(&retry, stopped[i]));
    }
}

static bool kept_after(enum err e)
{
    struct retry retry = {.poll_ms = POLL_MS};
    (void)retry_pause_ms(&retry, e);
    return retry_keeps_lead(&retry, e);
}

static void a_leader_gives_up_the_lead_after_every_database_error(void **state)
{
    (void)state;
    assert_true(kept_after(ERR_OK));
    assert_true(kept_after(ERR_LEDGER_AHEAD));
    assert_true(kept_after(ERR_RPC_UNAVAILABLE));
    assert_false(kept_after(ERR_NOT_LEADER));
    assert_false(kept_after(ERR_DATABASE_UNAVAILABLE));
    assert_false(kept_after(ERR_OUTCOME_UNKNOWN));
    assert_false(kept_after(ERR_NOT_REPLICATED));
    assert_false(kept_after(ERR_SERIALIZATION));
    assert_false(kept_after(ERR_NOT_YET));
}

static void DR6_a_leader_gives_up_the_lead_when_its_rpc_has_failed_for_fifteen_polls(void **state)
{
    (void)state;
    struct retry retry = {.poll_ms = POLL_MS};
    (void)retry_pause_ms(&retry, ERR_RPC_UNAVAILABLE);
    retry.failing_since_ms = clock_ms() - 14 * POLL_MS;
    assert_true(retry_keeps_lead(&retry, ERR_RPC_UNAVAILABLE));
    retry.failing_since_ms = clock_ms() - 15 * POLL_MS;
    assert_false(retry_keeps_lead(&retry, ERR_RPC_UNAVAILABLE));
    /* its next lead begins without failures */
    (void)retry_pause_ms(&retry, ERR_RPC_UNAVAILABLE);
    assert_true(retry_keeps_lead(&retry, ERR_RPC_UNAVAILABLE));
}

static void a_success_ends_the_failures(void **state)
{
    (void)state;
    struct retry retry = {.poll_ms = POLL_MS};
    for (int n = 0; n < 10; n++)
        (void)retry_pause_ms(&retry, ERR_RPC_UNAVAILABLE);
    retry.failing_since_ms -= 14 * POLL_MS;
    assert_int_equal(retry_pause_ms(&retry, ERR_OK), 0);
    assert_in_range(retry_pause_ms(&retry, ERR_RPC_UNAVAILABLE), POLL_MS / 2, POLL_MS);
    assert_true(retry_keeps_lead(&retry, ERR_RPC_UNAVAILABLE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_step_follows_a_commit_at_once_and_an_idle_step_after_a_poll),
        cmocka_unit_test(DR6_an_unavailable_rpc_or_database_is_retried_at_least_every_second),
        cmocka_unit_test(what_an_operator_has_to_fix_is_retried_after_twenty_polls),
        cmocka_unit_test(a_leader_gives_up_the_lead_after_every_database_error),
        cmocka_unit_test(DR6_a_leader_gives_up_the_lead_when_its_rpc_has_failed_for_fifteen_polls),
        cmocka_unit_test(a_success_ends_the_failures),
    };
    return cmocka_run_group_tests_name("ingest/retry", tests, NULL, NULL);
}
