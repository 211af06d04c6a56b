/* Rules of own_clock.h. */
#include <string.h>
#include <time.h>

#include "check.h"
#include "own_clock.h"

TEST(the_latest_time_is_120_seconds_after_the_clock_of_this_host)
{
    const uint64_t before_s = (uint64_t)time(NULL), latest_s = own_clock_latest_s();
    assert_in_range(latest_s, before_s + 120, (uint64_t)time(NULL) + 121);
}

TEST(a_later_time_is_refused_and_an_earlier_one_is_not)
{
    struct detail detail = {0};
    const uint64_t latest_s = own_clock_latest_s(), earlier[] = {0, 1, latest_s - 121, latest_s};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(own_clock_check(earlier[i], &detail), ERR_OK);
    const uint64_t later[] = {latest_s + 600, 4102444800 /* 2100 */, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(own_clock_check(later[i], &detail), ERR_KEYD_CLOCK);
        assert_non_null(strstr(detail.text, "more than 120 s ahead of the key process's clock"));
    }
}
