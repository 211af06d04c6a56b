/* The queue of the lease engine: ordered by arrival, also after tickets have been taken out and put back. */
#include "check.h"
#include "base/mem.h"
#include "ticket_queue.h"

static uint64_t arrivals;

static void fill(struct ticket_queue *queue, struct engine_ticket tickets[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tickets[i] = (struct engine_ticket){.arrived_ms = 100, .arrival = arrivals++};
        ticket_queue_append(queue, &tickets[i]);
    }
}

TEST(the_first_ticket_is_taken_first)
{
    struct ticket_queue queue = {0};
    struct engine_ticket tickets[3];
    fill(&queue, tickets, ARRAY_LEN(tickets));
    for (size_t i = 0; i < ARRAY_LEN(tickets); i++)
        assert_ptr_equal(ticket_queue_take(&queue), &tickets[i]);
    assert_null(ticket_queue_take(&queue));
    assert_int_equal(queue.count, 0);
}

TEST(clients_take_turns_by_what_they_have_had)
{
    static const unsigned clients[] = {0, 0, 0, 0, 2, 2, 1}, expected[] = {0, 4, 1, 5, 2, 6, 3};
    uint64_t had[] = {1, 3, 1, 5}, least;
    struct ticket_queue queue = {0};
    struct engine_ticket tickets[ARRAY_LEN(clients)], others[GRANT_BATCH_MAX], *out[GRANT_BATCH_MAX];
    fill(&queue, others, ARRAY_LEN(others));
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        others[i].had = &had[3];
    fill(&queue, tickets, ARRAY_LEN(tickets));
    for (size_t i = 0; i < ARRAY_LEN(tickets); i++)
        tickets[i].had = &had[clients[i]];
    assert_int_equal(ticket_queue_take_in_turn(&queue, out, &least), GRANT_BATCH_MAX);
    assert_int_equal(least, 1);
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        assert_ptr_equal(out[i], &tickets[expected[i]]);
    for (size_t i = ARRAY_LEN(expected); i < GRANT_BATCH_MAX; i++)
        assert_ptr_equal(out[i], &others[i - ARRAY_LEN(expected)]);
    assert_int_equal(queue.count, ARRAY_LEN(expected));
    assert_int_equal(had[0], 5);
    assert_int_equal(had[1], 4);
    assert_int_equal(had[2], 3);
    assert_int_equal(had[3], 5 + GRANT_BATCH_MAX - ARRAY_LEN(expected));
}

TEST(DL7_returned_tickets_are_ordered_by_arrival)
{
    struct ticket_queue queue = {0}, one = {0}, other = {0};
    struct engine_ticket early[2], middle[2], late[2];
    fill(&one, early, ARRAY_LEN(early));
    fill(&other, middle, ARRAY_LEN(middle));
    fill(&queue, late, ARRAY_LEN(late));
    ticket_queue_merge(&queue, &one);
    ticket_queue_merge(&queue, &other); /* later, and still after the first two */
    ticket_queue_merge(&queue, &other);
    assert_int_equal(queue.count, 6);
    assert_int_equal(other.count, 0);
    struct engine_ticket *const expected[] = {
        &early[0], &early[1], &middle[0], &middle[1], &late[0], &late[1]};
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        assert_ptr_equal(ticket_queue_take(&queue), expected[i]);
}

TEST(tickets_can_be_appended_after_a_return_to_an_empty_queue)
{
    struct ticket_queue queue = {0}, chain = {0};
    struct engine_ticket first, second;
    fill(&chain, &first, 1);
    ticket_queue_merge(&queue, &chain);
    fill(&queue, &second, 1);
    assert_ptr_equal(ticket_queue_take(&queue), &first);
    assert_ptr_equal(ticket_queue_take(&queue), &second);
}

TEST(late_tickets_are_taken_and_the_others_keep_their_order)
{
    struct ticket_queue queue = {0}, out = {0};
    struct engine_ticket tickets[5];
    fill(&queue, tickets, ARRAY_LEN(tickets));
    static const int64_t waits_ms[] = {51, 50, 90, 10, 52}, most_ms[] = {INT64_MAX, 51};
    static const size_t late[] = {1, 3, 0, 2, 4};
    for (size_t i = 0; i < ARRAY_LEN(tickets); i++)
        tickets[i].wait_ms = waits_ms[i];
    ticket_queue_take_late(&queue, 150, most_ms[0], &out);
    assert_int_equal(out.count, 2);
    ticket_queue_take_late(&queue, 151, most_ms[1], &out);
    assert_int_equal(queue.count, 0);
    for (size_t i = 0; i < ARRAY_LEN(tickets); i++)
        assert_ptr_equal(ticket_queue_take(&out), &tickets[late[i]]);
}

TEST(H9_any_ticket_can_be_removed_and_knows_where_it_waits)
{
    struct ticket_queue queue = {.is_shared = true}, delayed = {.is_shared = true};
    struct engine_ticket tickets[5];
    static const size_t order[] = {1, 0, 4, 2, 3}; /* from the middle, the beginning and the end */
    fill(&queue, tickets, ARRAY_LEN(tickets));
    ticket_queue_merge(&delayed, &queue);
    for (size_t i = 0; i < ARRAY_LEN(tickets); i++)
        assert_ptr_equal(tickets[i].queue, &delayed);
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        ticket_queue_remove(&delayed, &tickets[order[i]]);
        assert_null(tickets[order[i]].queue);
        assert_int_equal(delayed.count, ARRAY_LEN(order) - 1 - i);
    }
    assert_null(delayed.first);
    assert_null(delayed.last);
}

TEST(unchecked_tickets_are_taken_in_order)
{
    struct ticket_queue queue = {0}, out = {0};
    struct engine_ticket tickets[6];
    fill(&queue, tickets, ARRAY_LEN(tickets));
    for (size_t i = 0; i < ARRAY_LEN(tickets); i += 2) {
        struct engine_ticket *ticket = ticket_queue_take(&queue);
        ticket->checked = true;
        ticket_queue_append(&queue, ticket);
        ticket_queue_append(&queue, ticket_queue_take(&queue));
    }
    assert_int_equal(queue.unchecked, 3);
    ticket_queue_take_unchecked(&queue, 2, &out);
    assert_int_equal(queue.unchecked, 1);
    assert_int_equal(queue.count, 4);
    assert_ptr_equal(ticket_queue_take(&out), &tickets[1]);
    assert_ptr_equal(ticket_queue_take(&out), &tickets[3]);
    assert_null(ticket_queue_take(&out));
    struct engine_ticket *const left[] = {&tickets[0], &tickets[2], &tickets[4], &tickets[5]};
    for (size_t i = 0; i < ARRAY_LEN(left); i++)
        assert_ptr_equal(ticket_queue_take(&queue), left[i]);
}
