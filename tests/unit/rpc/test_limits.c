/* Limits of responses (rpc/limits.h): counted on the bytes, before a tree is made of them. */
#include <string.h>

#include "check.h"
#include "base/mem.h"
#include "limits.h"

static enum err check(const char *json, size_t values, unsigned depth)
{
    const struct limits limits = {"", 1000, values, depth};
    const struct bytes bytes = {(const uint8_t *)json, strlen(json)};
    struct detail detail = {""};
    enum err e = limits_check(&limits, bytes, &detail);
    assert_int_equal(detail.text[0] != '\0', e != ERR_OK);
    return e;
}

static void values_are_counted_outside_strings(void **state)
{
    static const struct {
        const char *json;
        size_t values;
    } cases[] = {
        {"1", 1}, {"[[],[],[]]", 7}, {"{\"a\":1,\"b\":[2,3]}", 7}, {"{\"a\":\"[,:{}]\\\",,,\\\\\"}", 3},
        {"[\"a,b", 2},   /* ends in a string */
        {"[\"a,b\\", 2}, /* and in an escape */
        {"]]]]],,,", 4}, /* no JSON */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(check(cases[i].json, cases[i].values, 9), ERR_OK);
        assert_int_equal(check(cases[i].json, cases[i].values - 1, 9), ERR_RPC_UNAVAILABLE);
    }
}

static void depth_is_that_of_the_deepest_value(void **state)
{
    assert_int_equal(check("[[{\"a\":\"[[[[\"}],[]]", 99, 3), ERR_OK);
    assert_int_equal(check("[[{\"a\":\"[[[[\"}],[]]", 99, 2), ERR_RPC_UNAVAILABLE);
    assert_int_equal(check("]]]][[", 99, 2), ERR_OK); /* no JSON */
}

/* What a client of getHealth once made 1.2 GB of. */
static void no_method_accepts_24_megabytes_of_empty_arrays(void **state)
{
    static const char *const methods[] = {"getHealth", "getNetwork", "getLedgers", "getLedgerEntries",
        "getTransaction", "sendTransaction", "simulateTransaction"};
    const size_t len = 24 << 20;
    char *body = mem_new(len, 1);
    for (size_t i = 0; i + 3 <= len; i += 3)
        memcpy(body + i, "[],", 3);
    body[0] = '{';
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        const struct limits *limits = limits_of(methods[i]);
        assert_true(limits->values <= 100000 && limits->depth <= 64 && limits->bytes <= 64 << 20);
        assert_int_equal(
            limits_check(limits, (struct bytes){(const uint8_t *)body, len}, NULL), ERR_RPC_UNAVAILABLE);
    }
    mem_free_at(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_counted_outside_strings),
        cmocka_unit_test(depth_is_that_of_the_deepest_value),
        cmocka_unit_test(no_method_accepts_24_megabytes_of_empty_arrays),
    };
    return cmocka_run_group_tests_name("rpc/limits", tests, NULL, NULL);
}
