/* How many leases of a batch a client may still get. */
#include "check.h"
#include "base/mem.h"
#include "limits/usage.h"

#define LIMITS(open, percent)                                                                                \
    ((struct limits){.most = {[LIMIT_OPEN_LEASES] = (open), [LIMIT_POOL_PERCENT] = (percent)}})

TEST(the_smaller_of_both_limits_counts_and_a_share_is_at_least_one_account)
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
        usage_add(&usage, 0, "a", "", &limits);
        usage_found(&usage.rows[0], 0, cases[i].accounts);
        assert_int_equal(usage_most(usage.of_client[0]), cases[i].open_max);
        assert_int_equal(usage.of_client[0]->limit, cases[i].limit);
    }
}

TEST(a_batch_gets_as_many_leases_of_a_client_as_are_left)
{
    const struct limits three = LIMITS(3, 0), none = LIMITS(0, 0);
    static const char *const clients[] = {"a", "b", "a", "c", "a", ""};
    static const bool allowed[] = {true, false, true, true, false, true};
    struct usage usage = {0};
    for (size_t i = 0; i < ARRAY_LEN(clients); i++)
        usage_add(&usage, i, clients[i], "C", clients[i][0] == 'c' ? &none : &three);
    assert_int_equal(usage.count, 2);
    usage_found(&usage.rows[0], 1, 40);
    usage_found(&usage.rows[1], 4, 40); /* its limit was lowered */
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        assert_int_equal(usage_refuses(&usage, i), allowed[i] ? LIMIT_NONE : LIMIT_OPEN_LEASES);
        if (allowed[i])
            usage_take(&usage, i);
    }
    assert_int_equal(usage_most(usage.of_client[3]), 0);
    assert_non_null(usage_statement(&usage).sql);
    assert_null(usage_statement(&(struct usage){0}).sql);
}

TEST(each_contract_of_a_client_has_its_share_and_all_leases_count_for_the_client)
{
    struct limits share = LIMITS(4, 0), only = LIMITS(0, 0);
    static const struct {
        const char *client, *contract;
        enum limit refused;
    } items[] = {
        {"a", "C1", LIMIT_NONE},
        {"a", "C1", LIMIT_CONTRACT_PERCENT},
        {"a", "C2", LIMIT_NONE}, /* another contract */
        {"b", "C1", LIMIT_NONE}, /* another client */
        {"b", "C1", LIMIT_NONE},
        {"b", "C1", LIMIT_CONTRACT_PERCENT},
        {"b", "", LIMIT_NONE}, /* no contract */
        {"a", "C2", LIMIT_OPEN_LEASES},
        {"", "C1", LIMIT_NONE},
    };
    struct usage usage = {0};
    share.most[LIMIT_CONTRACT_PERCENT] = only.most[LIMIT_CONTRACT_PERCENT] = 5; /* of 40 accounts */
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        usage_add(&usage, i, items[i].client, items[i].contract, items[i].client[0] == 'a' ? &share : &only);
    assert_int_equal(usage.count, 4);
    usage_found(&usage.rows[0], 2, 40); /* a */
    usage_found(&usage.rows[1], 1, 40); /* a/C1 */
    usage_found(&usage.rows[2], 1, 40); /* a/C2 */
    usage_found(&usage.rows[3], 0, 40); /* b/C1 */
    for (size_t i = 0; i < ARRAY_LEN(items); i++) {
        assert_int_equal(usage_refuses(&usage, i), items[i].refused);
        if (items[i].refused == LIMIT_NONE)
            usage_take(&usage, i);
    }
    assert_int_equal(usage_most(usage.of_client[0]), 4);
    assert_int_equal(usage_most(usage.of_contract[0]), 2);
    assert_int_equal(usage_most(usage.of_client[3]), 0);
    assert_int_equal(usage_most(usage.of_contract[3]), 2);
    assert_int_equal(usage_most(usage.of_contract[6]), 0);
}
