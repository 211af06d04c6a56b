/* What follows a step of ingestion, by its result, and pauses between retries. */
#include "check.h"
#include "base/mem.h"
#include "retry.h"

#define POLL_MS 100

TEST(a_step_that_finds_another_leader_is_followed_by_the_next_one_after_a_poll)
{
    struct retry retry = {.poll_ms = POLL_MS};
    assert_int_equal(retry_class(ERR_NOT_LEADER), RETRY_FINE);
    assert_int_equal(retry_pause_ms(&retry, ERR_NOT_LEADER), POLL_MS);
}

TEST(DR6_an_unavailable_rpc_or_database_is_retried_at_least_every_second)
{
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

TEST(what_an_operator_has_to_fix_is_retried_after_twenty_polls)
{
    static const enum err stopped[] = {
        ERR_LEDGER_MISMATCH, ERR_XDR_UNKNOWN_ARM, ERR_CONSTRAINT, ERR_CONFIG, ERR_INTERNAL};
    for (size_t i = 0; i < ARRAY_LEN(stopped); i++) {
        struct retry retry = {.poll_ms = POLL_MS};
        assert_int_equal(retry_class(stopped[i]), RETRY_STOPPED);
        assert_int_equal(retry_pause_ms(&retry, stopped[i]), 20 * POLL_MS);
    }
}

/* What fails here probably fails in the other replicas too. */
TEST(an_error_of_any_kind_is_no_reason_to_give_up_the_lead)
{
    static const enum err errors[] = {ERR_OK, ERR_LEDGER_AHEAD, ERR_CANCELLED, ERR_RPC_UNAVAILABLE,
        ERR_RPC_REFUSED, ERR_DATABASE_UNAVAILABLE, ERR_SERIALIZATION, ERR_NOT_YET, ERR_NOT_REPLICATED,
        ERR_LEDGER_GAP, ERR_LEDGER_MISMATCH, ERR_XDR_UNKNOWN_ARM, ERR_CONSTRAINT, ERR_INTERNAL};
    for (size_t i = 0; i < ARRAY_LEN(errors); i++)
        assert_true(retry_keeps_lead(errors[i], true));
}

TEST(H14_the_lead_is_given_up_when_it_or_the_outcome_of_a_commit_is_lost)
{
    assert_false(retry_keeps_lead(ERR_NOT_LEADER, true));
    assert_false(retry_keeps_lead(ERR_OUTCOME_UNKNOWN, true));
    assert_false(retry_keeps_lead(ERR_DATABASE_UNAVAILABLE, false));
    assert_false(retry_keeps_lead(ERR_LEDGER_AHEAD, false));
}

TEST(a_ledger_ends_the_failures_and_the_loss_of_the_lead_does_not)
{
    static const enum err good[] = {ERR_OK, ERR_LEDGER_AHEAD};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct retry retry = {.poll_ms = POLL_MS};
        for (int n = 0; n < 10; n++)
            (void)retry_pause_ms(&retry, ERR_DATABASE_UNAVAILABLE);
        (void)retry_pause_ms(&retry, ERR_NOT_LEADER);
        assert_in_range(retry_pause_ms(&retry, ERR_DATABASE_UNAVAILABLE), 500, 1000);
        (void)retry_pause_ms(&retry, good[i]);
        assert_in_range(retry_pause_ms(&retry, ERR_DATABASE_UNAVAILABLE), POLL_MS / 2, POLL_MS);
    }
}

#define FIRST_MS 100
#define MAX_MS 1000

TEST(pauses_double_up_to_the_limit_and_jitter_takes_off_up_to_half)
{
    for (int round = 0; round < 1000; round++) {
        struct backoff backoff = {0};
        for (unsigned whole_ms = FIRST_MS, i = 0; i < 8; i++) {
            unsigned pause_ms = backoff_next(&backoff, FIRST_MS, MAX_MS);
            assert_in_range(pause_ms, whole_ms / 2, whole_ms);
            whole_ms = 2 * whole_ms < MAX_MS ? 2 * whole_ms : MAX_MS;
        }
    }
}

TEST(two_replicas_that_fail_together_do_not_retry_together)
{
    unsigned equal = 0;
    for (int round = 0; round < 100; round++) {
        struct backoff one = {MAX_MS}, other = {MAX_MS};
        equal += backoff_next(&one, FIRST_MS, MAX_MS) == backoff_next(&other, FIRST_MS, MAX_MS);
    }
    assert_true(equal < 20);
}

TEST(after_a_success_the_pause_is_a_first_one)
{
    struct backoff backoff = {0};
    for (int i = 0; i < 8; i++)
        (void)backoff_next(&backoff, FIRST_MS, MAX_MS);
    backoff_reset(&backoff);
    assert_in_range(backoff_next(&backoff, FIRST_MS, MAX_MS), FIRST_MS / 2, FIRST_MS);
}

TEST(a_first_pause_above_the_limit_is_cut_to_it)
{
    struct backoff backoff = {0};
    assert_in_range(backoff_next(&backoff, 5 * MAX_MS, MAX_MS), MAX_MS / 2, MAX_MS);
}
