/* The table of limits: names, refusals, when a limit allows again, and which one refuses a fee bump. */
#include "check.h"

#include <string.h>

#include "base/mem.h"
#include "limits/limits.h"

#define LEDGER_MS 5600
#define MIDNIGHT_S INT64_C(1795478400) /* 2026-11-24 00:00 UTC */

TEST(each_limit_has_a_name_a_refusal_and_a_time_after_which_it_allows_again)
{
    static const struct {
        const char *name;
        enum limit limit;
        enum err error;
        int after_s;
    } cases[] = {
        {"openLeases", LIMIT_OPEN_LEASES, ERR_LIMIT_EXCEEDED, 6},
        {"poolPercent", LIMIT_POOL_PERCENT, ERR_LIMIT_EXCEEDED, 6},
        {"contractPercent", LIMIT_CONTRACT_PERCENT, ERR_LIMIT_EXCEEDED, 6},
        {"requestsPerSecond", LIMIT_REQUESTS_PER_SECOND, ERR_LIMIT_EXCEEDED, 1},
        {"requestsInFlight", LIMIT_REQUESTS_IN_FLIGHT, ERR_LIMIT_EXCEEDED, 1},
        {"waits", LIMIT_WAITS, ERR_LIMIT_EXCEEDED, 1},
        {"feeBumps", LIMIT_FEE_BUMPS, ERR_LIMIT_REACHED, 0},
        {"stroopsPerDay", LIMIT_STROOPS_PER_DAY, ERR_LIMIT_EXCEEDED, 3600},
    };
    assert_int_equal(ARRAY_LEN(cases), LIMIT_COUNT - 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const enum limit limit = cases[i].limit;
        struct limits limits = {0};
        struct detail detail = {0};
        limits.most[limit] = 77;
        assert_string_equal(limit_name(limit), cases[i].name);
        assert_int_equal(limit_of(cases[i].name), limit == LIMIT_REQUESTS_IN_FLIGHT ? LIMIT_NONE : limit);
        assert_int_equal(limit_refuse(limit, &limits, &detail), cases[i].error);
        assert_ptr_equal(strstr(detail.text, cases[i].name), detail.text);
        assert_non_null(strstr(detail.text, ": this client may have 77 "));
        assert_int_equal(limit_retry_after_s(limit, MIDNIGHT_S - 3600, LEDGER_MS), cases[i].after_s);
    }
    assert_int_equal(limit_retry_after_s(LIMIT_STROOPS_PER_DAY, MIDNIGHT_S, LEDGER_MS), 86400);
    assert_int_equal(limit_retry_after_s(LIMIT_STROOPS_PER_DAY, MIDNIGHT_S - 1, LEDGER_MS), 1);
    assert_int_equal(limit_retry_after_s(LIMIT_OPEN_LEASES, 0, 600), 1);
    assert_int_equal(limit_of(""), LIMIT_NONE);
    assert_int_equal(limit_refuse(LIMIT_NONE, &limits_default, NULL), ERR_OK);
}

TEST(a_fee_bump_counts_by_its_number_and_by_what_it_adds_to_the_highest)
{
    const struct limits both = {.most = {[LIMIT_FEE_BUMPS] = 3, [LIMIT_STROOPS_PER_DAY] = 1000}}, none = {0};
    static const struct {
        int64_t fee, bumps, highest, spent;
        enum limit limit;
    } cases[] = {
        {1000, 0, 0, 0, LIMIT_NONE}, {1001, 0, 0, 0, LIMIT_STROOPS_PER_DAY}, {500, 0, 0, 500, LIMIT_NONE},
        {501, 0, 0, 500, LIMIT_STROOPS_PER_DAY}, {900, 1, 400, 500, LIMIT_NONE},
        {901, 1, 400, 500, LIMIT_STROOPS_PER_DAY},
        {300, 2, 400, 1200, LIMIT_NONE}, /* lower: it adds nothing */
        {300, 3, 400, 0, LIMIT_FEE_BUMPS}, {2000, 3, 400, 0, LIMIT_FEE_BUMPS},
        {400, 3, 400, 1200, LIMIT_NONE}, /* perhaps the same one again */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(
            limit_of_fee_bump(&both, cases[i].fee, cases[i].bumps, cases[i].highest, cases[i].spent),
            cases[i].limit);
        assert_int_equal(
            limit_of_fee_bump(&none, cases[i].fee, cases[i].bumps, cases[i].highest, cases[i].spent),
            LIMIT_NONE);
    }
}
