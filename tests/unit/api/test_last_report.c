/* Rules of src/api/last_report.h. */
#include "check.h"

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "last_report.h"

static struct last_report last;
static int status;

static int begin(void **state)
{
    last_report_init(&last);
    return 0;
}

static int end(void **state)
{
    last_report_free(&last);
    return 0;
}

static void assert_report(int wanted, const char *text)
{
    AUTO_FREE char *got = last_report_get(&last, &status);
    assert_non_null(got);
    assert_string_equal(got, text);
    assert_int_equal(status, wanted);
}

TEST(each_request_reads_until_there_is_a_report)
{
    for (int i = 0; i < 100; i++)
        assert_null(last_report_get(&last, &status));
}

TEST(a_report_is_fresh_for_a_tenth_of_a_second_or_as_long_as_it_costs)
{
    last_report_set(&last, 200, "cheap", 0);
    assert_report(200, "cheap");
    clock_sleep_ms(REPORT_FRESH_MS + 1);
    assert_null(last_report_get(&last, &status));
    last_report_set(&last, 503, "costly", 60000);
    clock_sleep_ms(REPORT_FRESH_MS + 1);
    assert_report(503, "costly");
}

/* Not each of them has a worker that waits for a database that hangs. */
TEST(DX7_while_one_request_makes_a_report_the_others_get_the_last)
{
    last_report_set(&last, 200, "last", 0);
    clock_sleep_ms(REPORT_FRESH_MS + 1);
    assert_null(last_report_get(&last, &status));
    for (int i = 0; i < 100; i++)
        assert_report(200, "last");
    last.fresh_until_ms = clock_ms(); /* that request has failed */
    assert_null(last_report_get(&last, &status));
    last.set_ms -= REPORT_AGE_MS + 1;
    assert_null(last_report_get(&last, &status));
}

TEST_FIXTURE(begin, end)
