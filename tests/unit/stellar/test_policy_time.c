/* How long a lease lasts, and which transactions cannot be included in time. */
#include <string.h>

#include "check.h"
#include "base/mem.h"
#include "stellar/policy.h"

#define NOW 1000000u
#define TIP 5000u
#define REFUSED 0u

struct time_case {
    uint64_t max_time_s;
    uint32_t timeout_s;
    uint64_t expected_s; /* after NOW, or REFUSED */
};

static enum err max_time(
    struct preconditions preconditions, uint64_t now_s, uint32_t timeout_s, uint64_t *max_time_s)
{
    struct detail detail = {0};
    enum err e = policy_max_time(&preconditions, now_s, timeout_s, TIP, max_time_s, &detail);
    assert_true((e == ERR_OK) == (detail.text[0] == '\0'));
    return e;
}

TEST(DL4_max_time_is_the_earliest_of_client_timeout_and_300_s)
{
    static const struct time_case cases[] = {
        {0, 0, 60},
        {0, 20, 20},
        {0, 19, REFUSED},
        {0, 1, REFUSED},
        {0, 300, 300},
        {0, 301, 300},
        {0, UINT32_MAX, 300},
        {NOW + 500, 0, 300},
        {NOW + 300, 0, 300},
        {NOW + 299, 0, 299},
        {NOW + 20, 0, 20},
        {NOW + 19, 0, REFUSED},
        {NOW + 90, 30, 30},
        {NOW + 30, 90, 30},
        {NOW + 90, 90, 90},
        {NOW, 0, REFUSED},
        {NOW - 1, 0, REFUSED},
        {NOW - 1, 60, REFUSED},
        {1, 0, REFUSED},
        {UINT64_MAX, 0, 300},
        {UINT64_MAX, UINT32_MAX, 300},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t chosen_s = 0;
        struct preconditions preconditions = {.max_time_s = cases[i].max_time_s};
        enum err e = max_time(preconditions, NOW, cases[i].timeout_s, &chosen_s);
        assert_int_equal(e, cases[i].expected_s == REFUSED ? ERR_INVALID_TRANSACTION : ERR_OK);
        assert_int_equal(chosen_s, cases[i].expected_s == REFUSED ? 0 : NOW + cases[i].expected_s);
    }
}

TEST(a_max_time_of_now_is_too_near_and_an_earlier_one_past)
{
    for (uint64_t ago_s = 0; ago_s <= 1; ago_s++) {
        uint64_t chosen_s;
        struct detail detail = {0};
        const struct preconditions p = {.max_time_s = NOW - ago_s};
        assert_int_equal(policy_max_time(&p, NOW, 0, TIP, &chosen_s, &detail), ERR_INVALID_TRANSACTION);
        assert_non_null(strstr(detail.text, ago_s == 0 ? "less than 20 s ahead" : "in the past"));
    }
}

TEST(what_set_the_max_time_follows_from_the_request_and_the_result)
{
    static const struct {
        uint64_t own_s;
        uint32_t timeout_s;
        const char *set_by;
    } cases[] = {
        {0, 0, "default"},
        {NOW + 90, 0, "transaction"},
        {NOW + 300, 0, "transaction"},
        {NOW + 301, 0, "limit"},
        {0, 20, "timeoutSeconds"},
        {0, 300, "timeoutSeconds"},
        {0, 301, "limit"},
        {0, UINT32_MAX, "limit"},
        {NOW + 90, 30, "timeoutSeconds"},
        {NOW + 30, 90, "transaction"},
        {NOW + 90, 90, "transaction"},
        {NOW + 90, 3600, "transaction"},
        {UINT64_MAX, 3600, "limit"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t chosen_s;
        const struct preconditions preconditions = {.max_time_s = cases[i].own_s};
        assert_int_equal(max_time(preconditions, NOW, cases[i].timeout_s, &chosen_s), ERR_OK);
        assert_string_equal(
            policy_max_time_set_by(&preconditions, cases[i].timeout_s, chosen_s), cases[i].set_by);
    }
}

TEST(a_min_time_after_the_chosen_max_time_is_refused)
{
    uint64_t chosen_s;
    struct preconditions p = {.min_time_s = NOW + 61};
    assert_int_equal(max_time(p, NOW, 0, &chosen_s), ERR_INVALID_TRANSACTION);
    assert_int_equal(max_time(p, NOW, 61, &chosen_s), ERR_OK);
    p.min_time_s = NOW + 60;
    assert_int_equal(max_time(p, NOW, 0, &chosen_s), ERR_OK);
    p = (struct preconditions){.min_time_s = UINT64_MAX, .max_time_s = UINT64_MAX};
    assert_int_equal(max_time(p, NOW, 0, &chosen_s), ERR_INVALID_TRANSACTION);
}

TEST(no_value_of_now_overflows)
{
    static const uint64_t edges[] = {0, 1, 299, 300, UINT64_MAX - 301, UINT64_MAX - 300, UINT64_MAX - 60,
        UINT64_MAX - 20, UINT64_MAX - 19, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(edges); i++)
        for (size_t k = 0; k < ARRAY_LEN(edges); k++) {
            uint64_t now_s = edges[i], chosen_s = 0;
            enum err e = max_time((struct preconditions){.max_time_s = edges[k]}, now_s, 0, &chosen_s);
            if (e != ERR_OK)
                continue;
            assert_true(chosen_s >= now_s && chosen_s - now_s >= LEASE_SECONDS_MIN);
            assert_true(chosen_s - now_s <= LEASE_SECONDS_MAX);
            assert_true(edges[k] == 0 || chosen_s <= edges[k]);
        }
    uint64_t chosen_s;
    struct preconditions none = {0};
    assert_int_equal(max_time(none, UINT64_MAX, 0, &chosen_s), ERR_INVALID_TRANSACTION);
    assert_int_equal(max_time(none, UINT64_MAX - 20, 0, &chosen_s), ERR_OK);
    assert_int_equal(chosen_s, UINT64_MAX);
}

TEST(a_max_ledger_that_is_reached_too_soon_is_refused)
{
    static const struct {
        uint32_t max_ledger;
        enum err expected;
    } cases[] = {
        {1, ERR_INVALID_TRANSACTION},
        {TIP, ERR_INVALID_TRANSACTION},
        {TIP + 1, ERR_INVALID_TRANSACTION},
        {TIP + 2, ERR_INVALID_TRANSACTION}, /* exclusive: only TIP + 1 is allowed */
        {TIP + 3, ERR_OK},
        {UINT32_MAX, ERR_OK},
        {0, ERR_OK},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t chosen_s;
        struct preconditions p = {.max_ledger = cases[i].max_ledger};
        assert_int_equal(max_time(p, NOW, 0, &chosen_s), cases[i].expected);
    }
    uint64_t chosen_s;
    struct preconditions last = {.max_ledger = UINT32_MAX};
    assert_int_equal(policy_max_time(&last, NOW, 0, UINT32_MAX, &chosen_s, NULL), ERR_INVALID_TRANSACTION);
}

TEST(a_min_ledger_out_of_reach_is_refused)
{
    uint64_t chosen_s;
    struct preconditions p = {.min_ledger = TIP + 60};
    assert_int_equal(max_time(p, NOW, 0, &chosen_s), ERR_OK);
    p.min_ledger = TIP + 61;
    assert_int_equal(max_time(p, NOW, 0, &chosen_s), ERR_INVALID_TRANSACTION);
    assert_int_equal(max_time(p, NOW, 300, &chosen_s), ERR_OK);
    for (uint32_t passed = 1; passed <= TIP; passed += TIP - 1) {
        p.min_ledger = passed;
        assert_int_equal(max_time(p, NOW, 0, &chosen_s), ERR_OK);
    }
    p.min_ledger = TIP - 1;
    assert_int_equal(max_time(p, NOW, 0, &chosen_s), ERR_OK);
    p.min_ledger = UINT32_MAX;
    assert_int_equal(max_time(p, NOW, 300, &chosen_s), ERR_INVALID_TRANSACTION);
}
