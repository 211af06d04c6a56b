/* How long something may be missing (ingest/outage.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "outage.h"

static void it_ends_when_something_has_been_missing_for_the_limit(void **state)
{
    (void)state;
    struct outage outage = {.limit_ms = 100};
    assert_false(outage_lasts(&outage, 5000));
    assert_false(outage_lasts(&outage, 5099));
    assert_true(outage_lasts(&outage, 5100));
    assert_true(outage_lasts(&outage, 5300)); /* and stays ended */
    outage_end(&outage);
    assert_false(outage_lasts(&outage, 5301));
}

/* A replica that led long ago, and saw it missing once, must wait again. */
static void what_was_missing_long_ago_counts_for_nothing(void **state)
{
    (void)state;
    struct outage outage = {.limit_ms = 100};
    assert_false(outage_lasts(&outage, 5000));
    assert_false(outage_lasts(&outage, 900000));
    assert_true(outage_lasts(&outage, 900100));
    assert_false(outage_lasts(&outage, 900501));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_ends_when_something_has_been_missing_for_the_limit),
        cmocka_unit_test(what_was_missing_long_ago_counts_for_nothing),
    };
    return cmocka_run_group_tests_name("ingest/outage", tests, NULL, NULL);
}
