/* The decisions of the lease engine: the next batch, the next claim, and what becomes of tickets whose batch
 * failed. */
#include "check.h"
#include "base/mem.h"
#include "engine_choice.h"

#define NOW_MS 100000

static struct engine engine;
static struct engine_ticket tickets[3 * GRANT_BATCH_MAX];
static size_t used;

static int clear(void **state)
{
    engine = (struct engine){0};
    used = 0;
    return 0;
}

static struct engine_ticket *add(struct ticket_queue *queue, int64_t waited_ms)
{
    struct engine_ticket *ticket = &tickets[used++];
    *ticket = (struct engine_ticket){
        .kind = queue == &engine.bumps ? TICKET_BUMP : TICKET_LEASE, .arrived_ms = NOW_MS - waited_ms};
    ticket_queue_append(queue, ticket);
    return ticket;
}

static void nothing_is_chosen(void)
{
    struct engine_choice choice;
    assert_false(engine_choose(&engine, NOW_MS, &choice));
}

static void leases_are_chosen(enum grant_mode mode)
{
    struct engine_choice choice;
    assert_true(engine_choose(&engine, NOW_MS, &choice));
    assert_int_equal(choice.kind, TICKET_LEASE);
    assert_int_equal(choice.mode, mode);
}

static void bumps_are_chosen(void)
{
    struct engine_choice choice;
    assert_true(engine_choose(&engine, NOW_MS, &choice));
    assert_int_equal(choice.kind, TICKET_BUMP);
}

/* ---- the next batch */

TEST_WITH(an_idle_engine_takes_a_request_at_once, clear, NULL)
{
    nothing_is_chosen();
    assert_int_equal(engine_choose_again_ms(&engine), 0);
    add(&engine.queue, 0);
    leases_are_chosen(GRANT_CLAIM);
}

TEST_WITH(while_a_batch_runs_requests_are_gathered_for_3_ms_or_until_a_batch_is_full, clear, NULL)
{
    struct ticket_queue *const queues[] = {&engine.queue, &engine.bumps};
    for (size_t i = 0; i < ARRAY_LEN(queues); i++) {
        clear(NULL);
        engine.taken = 1;
        add(queues[i], ENGINE_GATHER_MS - 1);
        nothing_is_chosen();
        assert_int_equal(engine_choose_again_ms(&engine), NOW_MS + 1);
        queues[i]->first->arrived_ms--;
        i == 0 ? leases_are_chosen(GRANT_CLAIM) : bumps_are_chosen();
        clear(NULL);
        engine.taken = 1;
        for (size_t k = 0; k + 1 < GRANT_BATCH_MAX; k++)
            add(queues[i], 0);
        nothing_is_chosen();
        add(queues[i], 0);
        i == 0 ? leases_are_chosen(GRANT_CLAIM) : bumps_are_chosen();
    }
}

TEST_WITH(the_two_queues_take_turns, clear, NULL)
{
    add(&engine.queue, 100);
    add(&engine.bumps, 0);
    engine.last_kind = TICKET_LEASE;
    bumps_are_chosen();
    engine.last_kind = TICKET_BUMP;
    leases_are_chosen(GRANT_CLAIM);
}

TEST_WITH(DL7_in_a_shortage_one_worker_claims_when_it_is_time_and_the_others_check_new_requests, clear, NULL)
{
    engine.is_short = true;
    engine.claim_at_ms = NOW_MS + 1;
    struct engine_ticket *ticket = add(&engine.queue, 100);
    leases_are_chosen(GRANT_CHECK);
    ticket_queue_remove(&engine.queue, ticket);
    ticket->checked = true;
    ticket_queue_append(&engine.queue, ticket);
    nothing_is_chosen();
    assert_int_equal(engine_choose_again_ms(&engine), NOW_MS + 1);
    engine.claim_at_ms = NOW_MS;
    leases_are_chosen(GRANT_CLAIM);
    engine.claiming = true;
    nothing_is_chosen();
    assert_int_equal(engine_choose_again_ms(&engine), 0);
    add(&engine.queue, 0);
    leases_are_chosen(GRANT_CHECK);
}

/* The claim reports that no request waits any more. */
TEST_WITH(a_shortage_ends_with_a_claim_when_its_requests_have_left, clear, NULL)
{
    engine.is_short = true;
    leases_are_chosen(GRANT_CLAIM);
}

TEST_WITH(a_ticket_with_a_locked_key_is_looked_at_when_its_delay_ends, clear, NULL)
{
    add(&engine.delayed, 10)->not_before_ms = NOW_MS + 7;
    add(&engine.delayed, 10)->not_before_ms = NOW_MS + 5;
    nothing_is_chosen();
    assert_int_equal(engine_choose_again_ms(&engine), NOW_MS + 5);
}

TEST(DL9_a_locked_key_is_tried_less_and_less_often)
{
    static const int expected[] = {5, 10, 20, 40, 80, 160, 320, 500, 500};
    int delay_ms = 0;
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        assert_int_equal(delay_ms = engine_key_delay_ms(delay_ms), expected[i]);
}

/* ---- the next claim */

TEST(DL7_a_claim_that_left_accounts_is_repeated_soon_and_at_once_for_a_large_share)
{
    static const struct {
        struct grant_batch claim;
        int delay_ms;
    } cases[] = {
        {{.count = 4, .claimed = 0, .idle = 0, .share = 0}, ENGINE_CLAIM_MS},
        {{.count = 4, .claimed = 2, .idle = 2, .share = 2}, ENGINE_CLAIM_MS},
        {{.count = 4, .claimed = 2, .idle = 3, .share = 2}, ENGINE_CLAIM_SOON_MS}, /* the share of another */
        {{.count = 4, .claimed = 1, .idle = 2, .share = 2}, ENGINE_CLAIM_SOON_MS}, /* one was locked */
        {{.count = 4, .claimed = 4, .idle = 9, .share = 4}, ENGINE_CLAIM_SOON_MS},
        {{.count = 4, .claimed = 4, .idle = 9, .share = 5}, 0}, /* larger than the batch */
        {{.count = 4, .claimed = 3, .idle = 9, .share = 5}, ENGINE_CLAIM_SOON_MS},
        {{.count = 4, .claimed = 2, .idle = -1, .share = 4}, ENGINE_CLAIM_MS}, /* alone: it took all */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(engine_claim_delay_ms(&cases[i].claim), cases[i].delay_ms);
}

/* ---- after a batch that failed */

TEST(deadlines_are_counted_from_the_arrival)
{
    const struct engine_ticket lease = {.kind = TICKET_LEASE, .arrived_ms = 7, .wait_ms = ENGINE_WAIT_MS},
                               longer = {.arrived_ms = 7, .wait_ms = 60000},
                               bump = {.kind = TICKET_BUMP, .arrived_ms = 7, .wait_ms = ENGINE_BUMP_WAIT_MS};
    assert_int_equal(engine_answer_end_ms(&lease), 7 + ENGINE_ANSWER_MS);
    assert_int_equal(engine_answer_end_ms(&longer), 7 + 60000 + ENGINE_LONG_BATCH_MS);
    assert_int_equal(engine_answer_end_ms(&bump), 7 + ENGINE_BUMP_ANSWER_MS);
}

/* A run that began so long ago, with so much time left. */
static struct engine_run run(int64_t took_ms, int64_t left_ms)
{
    return (struct engine_run){.began_ms = NOW_MS - took_ms, .deadline_ms = NOW_MS + left_ms};
}

static const enum err unavailable[] = {ERR_DATABASE_UNAVAILABLE, ERR_KEYD_UNAVAILABLE};

TEST(after_a_stall_requests_that_have_time_wait_for_another_batch)
{
    const struct engine_run late = run(500, 0), slow = run(ENGINE_AT_ONCE_MS, 5000);
    for (int kind = TICKET_LEASE; kind < TICKET_KINDS; kind++) {
        const struct engine_ticket ticket = {
            .kind = (enum ticket_kind)kind, .arrived_ms = NOW_MS - 999, .wait_ms = 1000};
        for (size_t i = 0; i < ARRAY_LEN(unavailable); i++) {
            assert_true(engine_waits_on(&late, unavailable[i], &ticket, NOW_MS));
            assert_true(engine_waits_on(&slow, unavailable[i], &ticket, NOW_MS));
            assert_false(engine_waits_on(&late, unavailable[i], &ticket, NOW_MS + 1)); /* it has no time */
        }
    }
}

TEST(what_failed_at_once_is_run_again_and_then_refused)
{
    const struct engine_run at_once = run(ENGINE_AT_ONCE_MS - 1, ENGINE_RETRY_LEFT_MS + 1);
    const struct engine_ticket ticket = {.arrived_ms = NOW_MS};
    assert_true(engine_runs_again(&at_once, ERR_DATABASE_UNAVAILABLE, NOW_MS));
    assert_false(engine_runs_again(&at_once, ERR_DATABASE_UNAVAILABLE, NOW_MS + 1));
    assert_false(engine_runs_again(&at_once, ERR_KEYD_UNAVAILABLE, NOW_MS));
    for (size_t i = 0; i < ARRAY_LEN(unavailable); i++)
        assert_false(engine_waits_on(&at_once, unavailable[i], &ticket, NOW_MS));
}

TEST(a_serialization_failure_is_run_again_while_there_is_time)
{
    const struct engine_run slow = run(3000, ENGINE_RETRY_LEFT_MS + 1);
    const struct engine_ticket ticket = {.arrived_ms = NOW_MS - 3000, .wait_ms = ENGINE_WAIT_MS};
    assert_true(engine_runs_again(&slow, ERR_SERIALIZATION, NOW_MS));
    assert_false(engine_runs_again(&slow, ERR_SERIALIZATION, NOW_MS + 1));
    assert_true(engine_waits_on(&slow, ERR_SERIALIZATION, &ticket, NOW_MS + 1));
}

TEST(DX7_what_may_have_been_committed_and_what_is_certain_is_refused)
{
    static const enum err refused[] = {
        ERR_OUTCOME_UNKNOWN, ERR_NOT_REPLICATED, ERR_GRANTS_SUSPENDED, ERR_CONSTRAINT, ERR_INTERNAL};
    const struct engine_run slow = run(3000, 3000);
    const struct engine_ticket ticket = {.arrived_ms = NOW_MS - 3000};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        assert_false(engine_runs_again(&slow, refused[i], NOW_MS));
        assert_false(engine_waits_on(&slow, refused[i], &ticket, NOW_MS));
    }
}

/* A batch that was rolled back may have refused the ticket before, for another reason. */
TEST(a_refusal_without_a_detail_clears_an_earlier_one)
{
    struct engine_ticket ticket = {0};
    engine_set_refused(&ticket, ERR_INTERNAL, &(struct detail){"an earlier reason"});
    assert_string_equal(ticket.grant.detail.text, "an earlier reason");
    engine_set_refused(&ticket, ERR_CHANNEL_ACCOUNT_UNAVAILABLE, NULL);
    assert_int_equal(ticket.grant.state, GRANT_REFUSED);
    assert_int_equal(ticket.grant.error, ERR_CHANNEL_ACCOUNT_UNAVAILABLE);
    assert_string_equal(ticket.grant.detail.text, "");
    ticket.is_unknown = true; /* nobody has looked since */
    engine_set_refused(&ticket, ERR_CHANNEL_ACCOUNT_UNAVAILABLE, NULL);
    assert_int_equal(ticket.grant.error, ERR_OUTCOME_UNKNOWN);
}
