/* Tickets wait first come, first served, whatever comes back; the dead and the late leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "ticket_queue.h"

static bool is_gone(struct engine_ticket *ticket)
{
    return ticket->grant.lease.sequence == -1;
}

static uint64_t arrivals;

static void fill(struct queue *queue, struct engine_ticket tickets[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tickets[i] = (struct engine_ticket){.gone = is_gone, .arrived_ms = 100, .arrival = arrivals++};
        queue_append(queue, &tickets[i]);
    }
}

static void what_comes_first_leaves_first(void **state)
{
    (void)state;
    struct queue queue = {0};
    struct engine_ticket tickets[3];
    fill(&queue, tickets, ARRAY_LEN(tickets));
    for (size_t i = 0; i < ARRAY_LEN(tickets); i++)
        assert_ptr_equal(queue_take(&queue), &tickets[i]);
    assert_null(queue_take(&queue));
    assert_int_equal(queue.count, 0);
}

static void DL7_what_returns_stands_where_it_arrived_whoever_comes_back_first(void **state)
{
    (void)state;
    struct queue queue = {0}, one = {0}, other = {0};
    struct engine_ticket early[2], middle[2], late[2];
    fill(&one, early, ARRAY_LEN(early));
    fill(&other, middle, ARRAY_LEN(middle));
    fill(&queue, late, ARRAY_LEN(late));
    queue_return(&queue, &one);
    queue_return(&queue, &other); /* later, and yet not in front of the first two */
    queue_return(&queue, &other);
    assert_int_equal(queue.count, 6);
    assert_int_equal(other.count, 0);
    struct engine_ticket *const expected[] = {
        &early[0], &early[1], &middle[0], &middle[1], &late[0], &late[1]};
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        assert_ptr_equal(queue_take(&queue), expected[i]);
}

static void what_returns_to_an_empty_queue_can_be_followed(void **state)
{
    (void)state;
    struct queue queue = {0}, chain = {0};
    struct engine_ticket first, second;
    fill(&chain, &first, 1);
    queue_return(&queue, &chain);
    fill(&queue, &second, 1);
    assert_ptr_equal(queue_take(&queue), &first);
    assert_ptr_equal(queue_take(&queue), &second);
}

static void H9_dead_and_late_tickets_leave_and_the_rest_keeps_its_order(void **state)
{
    (void)state;
    struct queue queue = {0}, out = {0};
    struct engine_ticket tickets[5];
    fill(&queue, tickets, ARRAY_LEN(tickets));
    tickets[1].grant.lease.sequence = -1;
    tickets[3].arrived_ms = 50;
    queue_sweep(&queue, 50, ERR_CHANNEL_ACCOUNT_UNAVAILABLE, &out);
    assert_int_equal(out.count, 2);
    assert_int_equal(tickets[1].grant.error, ERR_CANCELLED);
    assert_int_equal(tickets[3].grant.error, ERR_CHANNEL_ACCOUNT_UNAVAILABLE);
    assert_int_equal(queue.count, 3);
    assert_ptr_equal(queue_take(&queue), &tickets[0]);
    assert_ptr_equal(queue_take(&queue), &tickets[2]);
    assert_ptr_equal(queue_take(&queue), &tickets[4]);
}

static void tickets_that_no_batch_has_judged_are_taken_alone_in_their_order(void **state)
{
    (void)state;
    struct queue queue = {0}, out = {0};
    struct engine_ticket tickets[6];
    fill(&queue, tickets, ARRAY_LEN(tickets));
    for (size_t i = 0; i < ARRAY_LEN(tickets); i += 2) {
        struct engine_ticket *ticket = queue_take(&queue);
        ticket->judged = true;
        queue_append(&queue, ticket);
        queue_append(&queue, queue_take(&queue));
    }
    assert_int_equal(queue.unjudged, 3);
    queue_take_unjudged(&queue, 2, &out);
    assert_int_equal(queue.unjudged, 1);
    assert_int_equal(queue.count, 4);
    assert_ptr_equal(queue_take(&out), &tickets[1]);
    assert_ptr_equal(queue_take(&out), &tickets[3]);
    assert_null(queue_take(&out));
    struct engine_ticket *const left[] = {&tickets[0], &tickets[2], &tickets[4], &tickets[5]};
    for (size_t i = 0; i < ARRAY_LEN(left); i++)
        assert_ptr_equal(queue_take(&queue), left[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_first_leaves_first),
        cmocka_unit_test(DL7_what_returns_stands_where_it_arrived_whoever_comes_back_first),
        cmocka_unit_test(what_returns_to_an_empty_queue_can_be_followed),
        cmocka_unit_test(tickets_that_no_batch_has_judged_are_taken_alone_in_their_order),
        cmocka_unit_test(H9_dead_and_late_tickets_leave_and_the_rest_keeps_its_order),
    };
    return cmocka_run_group_tests_name("pool/queue", tests, NULL, NULL);
}
