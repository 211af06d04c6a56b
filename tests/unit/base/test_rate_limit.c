/* Rules of base/rate_limit.h. */
#include "check.h"
#include "base/clock.h"
#include "base/rate_limit.h"

enum {
    LONG_MS = 1 << 30,
    SHORT_MS = 20
};

TEST(no_more_than_the_limit_in_a_period)
{
    struct rate_limit limit = {0};
    unsigned suppressed;
    for (int i = 0; i < 3; i++) {
        assert_true(rate_limit_allows(&limit, 3, LONG_MS, &suppressed));
        assert_int_equal(suppressed, 0);
    }
    for (int i = 0; i < 100; i++)
        assert_false(rate_limit_allows(&limit, 3, LONG_MS, &suppressed));
}

TEST(the_next_period_reports_what_was_suppressed_once)
{
    struct rate_limit limit = {0};
    unsigned suppressed;
    assert_true(rate_limit_allows(&limit, 1, SHORT_MS, &suppressed));
    unsigned refused = 0;
    while (!rate_limit_allows(&limit, 1, SHORT_MS, &suppressed))
        refused++;
    assert_int_equal(suppressed, refused);
    clock_sleep_ms(SHORT_MS + 5);
    assert_true(rate_limit_allows(&limit, 1, SHORT_MS, &suppressed));
    assert_int_equal(suppressed, 0);
}

TEST(a_log_line_is_written_twenty_times_in_ten_seconds)
{
    struct rate_limit limit = {0};
    unsigned not_logged;
    for (int i = 0; i < 20; i++)
        assert_true(rate_limit_line(&limit, &not_logged));
    assert_false(rate_limit_line(&limit, &not_logged));
    assert_in_range(limit.period_end_ms, clock_ms() + 5000, clock_ms() + 10000);
}
