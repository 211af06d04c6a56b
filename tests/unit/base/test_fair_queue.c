/* A queue in which clients take turns. */
#include "check.h"
#include "base/mem.h"
#include "base/fair_queue.h"

#define MAX 8
#define OF(name)                                                                                             \
    {                                                                                                        \
        .client = name                                                                                       \
    }

static void assert_taken(
    struct fair_queue *queue, struct fair_item items[], const size_t order[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_ptr_equal(fair_queue_take(queue), &items[order[i]]);
    assert_null(fair_queue_take(queue));
    assert_int_equal(queue->count, 0);
}

TEST(clients_take_turns_in_the_order_in_which_they_came)
{
    struct fair_item items[MAX] = {OF("a"), OF("a"), OF("a"), OF("b"), OF(NULL), OF("b"), OF(NULL),
        OF("c")}; /* those of no client count as one */
    static const size_t order[] = {0, 3, 4, 7, 1, 5, 6, 2};
    struct fair_queue queue = {.max = MAX};
    for (size_t i = 0; i < MAX; i++)
        assert_int_equal(fair_queue_add(&queue, &items[i]), ERR_OK);
    assert_taken(&queue, items, order, ARRAY_LEN(order));
}

/* Also when it comes again as soon as its item has been taken, it takes no turn of others. */
TEST(DX4_a_client_that_comes_later_waits_for_one_turn)
{
    struct fair_item items[6] = {OF("a"), OF("a"), OF("a"), OF("a"), OF("b"), OF("b")};
    static const size_t order[] = {5, 3};
    struct fair_queue queue = {.max = MAX};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(fair_queue_add(&queue, &items[i]), ERR_OK);
    assert_ptr_equal(fair_queue_take(&queue), &items[0]);
    assert_int_equal(fair_queue_add(&queue, &items[4]), ERR_OK);
    assert_ptr_equal(fair_queue_take(&queue), &items[1]);
    assert_ptr_equal(fair_queue_take(&queue), &items[4]);
    assert_int_equal(fair_queue_add(&queue, &items[5]), ERR_OK);
    assert_ptr_equal(fair_queue_take(&queue), &items[2]);
    assert_taken(&queue, items, order, ARRAY_LEN(order));
}

TEST(a_client_may_fill_half_of_a_queue_and_all_together_the_whole)
{
    struct fair_item items[MAX] = {OF("a"), OF("a"), OF("a"), OF("a"), OF("b"), OF(NULL), OF(NULL), OF("c")};
    struct fair_item more = {.client = "a"};
    struct fair_queue queue = {.max = MAX};
    for (size_t i = 0; i < MAX / 2; i++)
        assert_int_equal(fair_queue_add(&queue, &items[i]), ERR_OK);
    assert_int_equal(fair_queue_add(&queue, &more), ERR_OVERLOADED);
    for (size_t i = MAX / 2; i < MAX; i++)
        assert_int_equal(fair_queue_add(&queue, &items[i]), ERR_OK);
    for (size_t i = 0; i < 2; i++) {
        more.client = i == 0 ? "d" : NULL;
        assert_int_equal(fair_queue_add(&queue, &more), ERR_OVERLOADED);
    }
    assert_int_equal(queue.count, MAX);
}

TEST(items_of_no_client_may_fill_the_queue)
{
    struct fair_item items[MAX + 1] = {0};
    struct fair_queue queue = {.max = MAX};
    for (size_t i = 0; i < MAX; i++)
        assert_int_equal(fair_queue_add(&queue, &items[i]), ERR_OK);
    assert_int_equal(fair_queue_add(&queue, &items[MAX]), ERR_OVERLOADED);
}

static void assert_list(
    const struct fair_item *list, struct fair_item items[], const size_t order[], size_t count)
{
    for (size_t i = 0; i < count; i++, list = list->next)
        assert_ptr_equal(list, &items[order[i]]);
    assert_null(list);
}

TEST(late_items_are_taken_as_a_list)
{
    struct fair_item items[4] = {
        {.deadline_ms = 100}, {.deadline_ms = 101}, {.deadline_ms = 50}, {.deadline_ms = 300}};
    static const size_t late[] = {0, 2}, rest[] = {1, 3};
    struct fair_queue queue = {.max = MAX};
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        assert_int_equal(fair_queue_add(&queue, &items[i]), ERR_OK);
    assert_list(fair_queue_take_late(&queue, 49), items, late, 0);
    assert_list(fair_queue_take_late(&queue, 100), items, late, ARRAY_LEN(late));
    assert_int_equal(queue.count, 2);
    assert_list(fair_queue_take_late(&queue, INT64_MAX), items, rest, ARRAY_LEN(rest));
    assert_null(fair_queue_take(&queue));
    assert_int_equal(queue.count, 0);
}
