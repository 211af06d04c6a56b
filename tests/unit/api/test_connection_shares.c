/* How many connections requests that wait may hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "slots.h"

/* How many more of a kind are taken. */
static unsigned fill(struct slots *slots, enum slot slot)
{
    unsigned count = 0;
    while (slots_take(slots, slot) == ERR_OK)
        count++;
    assert_int_equal(slots_take(slots, slot), ERR_OVERLOADED);
    return count;
}

static void empty(struct slots *slots, enum slot slot, unsigned count)
{
    while (count-- > 0)
        slots_give(slots, slot);
}

static void each_kind_has_its_share_and_a_quarter_stays_free(void **state)
{
    (void)state;
    struct slots slots = {.connections = 1024};
    assert_int_equal(fill(&slots, SLOT_WAIT), 512);
    assert_int_equal(fill(&slots, SLOT_LEASE), 256);
    empty(&slots, SLOT_WAIT, 512);
    assert_int_equal(fill(&slots, SLOT_LEASE), 640 - 256);
    assert_int_equal(fill(&slots, SLOT_WAIT), 128);
    empty(&slots, SLOT_WAIT, 128);
    empty(&slots, SLOT_LEASE, 640);
    assert_int_equal(fill(&slots, SLOT_WAIT), 512);
}

static void of_few_connections_one_may_wait(void **state)
{
    (void)state;
    for (unsigned connections = 1; connections < 4; connections++) {
        struct slots slots = {.connections = connections};
        assert_int_equal(slots_take(&slots, SLOT_WAIT), ERR_OK);
        slots_give(&slots, SLOT_WAIT);
        assert_int_equal(slots_take(&slots, SLOT_LEASE), ERR_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_its_share_and_a_quarter_stays_free),
        cmocka_unit_test(of_few_connections_one_may_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
