/* Rules of src/api/last_report.h. */
#include "check.h"

#include <stdlib.h>

#include "base/deadlines.h"
#include "base/mem.h"
#include "last_report.h"

TEST(checks_run_until_there_is_a_report)
{
    struct last_report last CLEANUP(last_report_free);
    int status = 0;
    last_report_init(&last);
    for (int i = 0; i < 100; i++)
        assert_null(last_report_get(&last, 1, &status));
}

TEST(above_the_limit_requests_get_a_copy_of_the_last_report)
{
    struct last_report last CLEANUP(last_report_free);
    int status = 0;
    char *text = NULL;
    last_report_init(&last);
    last_report_set(&last, 200, "first", 0);
    last_report_set(&last, 503, "second", 0);
    for (unsigned tries = 0; text == NULL; tries++) {
        assert_true(tries < 100);
        text = last_report_get(&last, 1, &status);
    }
    assert_string_equal(text, "second");
    assert_int_equal(status, 503);
    last_report_set(&last, 200, "third", 0);
    assert_string_equal(text, "second");
    free(text);
}

TEST(a_costly_report_is_not_made_again_while_it_is_fresh)
{
    struct last_report last CLEANUP(last_report_free);
    int status = 0;
    last_report_init(&last);
    last_report_set(&last, 200, "costly", 60000);
    char *text = last_report_get(&last, UINT32_MAX, &status);
    assert_string_equal(text, "costly");
    free(text);
    last_report_set(&last, 200, "cheap", 0);
    assert_null(last_report_get(&last, UINT32_MAX, &status));
}

TEST(no_report_is_used_after_a_failure_or_a_long_time)
{
    struct last_report last CLEANUP(last_report_free);
    int status = 0;
    last_report_init(&last);
    last_report_set(&last, 200, "old", 0);
    last.set_ms -= REPORT_AGE_MS + 1;
    for (int i = 0; i < 10; i++)
        assert_null(last_report_get(&last, 1, &status));
    last_report_set(&last, 200, "new", 0);
    last_report_set(&last, 200, NULL, 0);
    for (int i = 0; i < 10; i++)
        assert_null(last_report_get(&last, 1, &status));
}
