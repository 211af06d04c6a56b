/* Rules of stellar/named.c: each account once, entries beyond the count ignored. */
#include "check.h"
#include "policy_parts.h"
#include "sample.h"

static void add(struct named_accounts *named, uint8_t n)
{
    struct public_key key = sample_key(n);
    assert_int_equal(named_add(named, &key, NULL), ERR_OK);
}

static bool has(const struct named_accounts *named, uint8_t n)
{
    struct public_key key = sample_key(n);
    return named_has(named, &key);
}

TEST(exactly_the_added_accounts_are_found)
{
    struct named_accounts named = {0};
    assert_false(has(&named, 0));
    for (unsigned i = 0; i < 100; i++)
        add(&named,
            (uint8_t)(2 * (i * 37 % 100) + 1)); /* 37 and 100 have no common divisor: all odd numbers */
    assert_int_equal(named.count, 100);
    for (unsigned n = 0; n < 202; n++)
        assert_int_equal(has(&named, (uint8_t)n), n % 2 == 1 && n < 200);
}

TEST(an_account_is_added_once)
{
    struct named_accounts named = {0};
    add(&named, 1);
    add(&named, 2);
    add(&named, 1);
    add(&named, 2);
    assert_int_equal(named.count, 2);
}

TEST(accounts_beyond_the_count_are_ignored)
{
    struct named_accounts named = {0};
    add(&named, 1);
    add(&named, 2);
    named.count = 1;
    assert_false(has(&named, 2));
    add(&named, 2);
    assert_int_equal(named.count, 2);
    assert_true(has(&named, 2));
}

TEST(a_full_set_still_accepts_accounts_that_it_has)
{
    struct named_accounts named = {0};
    for (unsigned i = 0; i < POLICY_NAMED_MAX; i++)
        add(&named, (uint8_t)i);
    add(&named, 255);
    struct public_key other = {{1, 2, 3}};
    assert_int_equal(named_add(&named, &other, NULL), ERR_INVALID_SOROBAN_TRANSACTION);
    assert_int_equal(named.count, POLICY_NAMED_MAX);
    assert_false(named_has(&named, &other));
}
