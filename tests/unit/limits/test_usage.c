/* How many leases of a batch a client may still get. */
#include "check.h"
#include "base/mem.h"
#include "limits/usage.h"

#define LIMITS(open, percent)                                                                                \
    ((struct limits){.most = {[LIMIT_OPEN_LEASES] = (open), [LIMIT_POOL_PERCENT] = (percent)}})

static void the_smaller_of_both_limits_counts_and_a_share_is_at_least_one_account(void **state)
{
    static const struct {
        int64_t open, percent, accounts, open_max;
        enum limit limit;
    } cases[] = {
        {3, 0, 40, 3, LIMIT_OPEN_LEASES},
        {0, 10, 40, 4, LIMIT_POOL_PERCENT},
        {0, 10, 49, 4, LIMIT_POOL_PERCENT},
        {0, 1, 40, 1, LIMIT_POOL_PERCENT},
        {0, 100, 0, 1, LIMIT_POOL_PERCENT},
        {3, 10, 40, 3, LIMIT_OPEN_LEASES},
        {4, 10, 40, 4, LIMIT_OPEN_LEASES},
        {5, 10, 40, 4, LIMIT_POOL_PERCENT},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct limits limits = LIMITS(cases[i].open, cases[i].percent);
        struct usage usage = {0};
        usage_add(&usage, 0, "a", &limits);
        usage_found(&usage.clients[0], 0, cases[i].accounts);
        assert_int_equal(usage_open_max(&usage, 0), cases[i].open_max);
        assert_int_equal(usage_limit(&usage, 0), cases[i].limit);
    }
}

static void a_batch_gets_as_many_leases_of_a_client_as_are_left(void **state)
{
    const struct limits three = LIMITS(3, 0), none = LIMITS(0, 0);
    static const char *const clients[] = {"a", "b", "a", "c", "a", ""};
    static const bool allowed[] = {true, false, true, true, false, true};
    struct usage usage = {0};
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        usage_add(&usage, i, clients[i], clients[i][0] == 'c' ? &none : &three);
    assert_int_equal(usage.count, 2);
    usage_found(&usage.clients[0], 1, 40);
    usage_found(&usage.clients[1], 4, 40); /* its limit was lowered */
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        assert_int_equal(usage_allows(&usage, i), allowed[i]);
        if (allowed[i])
            usage_take(&usage, i);
    }
    assert_int_equal(usage_open_max(&usage, 3), 0);
    assert_int_equal(usage_limit(&usage, 5), LIMIT_NONE);
    assert_non_null(usage_statement(&usage).sql);
    assert_null(usage_statement(&(struct usage){0}).sql);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smaller_of_both_limits_counts_and_a_share_is_at_least_one_account),
        cmocka_unit_test(a_batch_gets_as_many_leases_of_a_client_as_are_left),
    };
    return cmocka_run_group_tests_name("limits/usage", tests, NULL, NULL);
}
