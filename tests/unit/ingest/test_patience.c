/* How long something may be missing (ingest/patience.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "patience.h"

static void it_ends_when_something_has_been_missing_for_the_limit(void **state)
{
    (void)state;
    struct patience patience = {.limit_ms = 100};
    assert_false(patience_ended(&patience, 5000));
    assert_false(patience_ended(&patience, 5099));
    assert_true(patience_ended(&patience, 5100));
    assert_true(patience_ended(&patience, 5300)); /* and stays ended */
    patience_restore(&patience);
    assert_false(patience_ended(&patience, 5301));
}

/* A replica that led long ago, and saw it missing once, must wait again. */
static void what_was_missing_long_ago_counts_for_nothing(void **state)
{
    (void)state;
    struct patience patience = {.limit_ms = 100};
    assert_false(patience_ended(&patience, 5000));
    assert_false(patience_ended(&patience, 900000));
    assert_true(patience_ended(&patience, 900100));
    assert_false(patience_ended(&patience, 900501));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_ends_when_something_has_been_missing_for_the_limit),
        cmocka_unit_test(what_was_missing_long_ago_counts_for_nothing),
    };
    return cmocka_run_group_tests_name("ingest/patience", tests, NULL, NULL);
}
