/* What a simulation says, and what is no result. */
#include "fake_rpc.h"

static struct detail detail;

static enum err simulate(struct fake_rpc *fake, const char *body, struct rpc_simulation *out)
{
    memset(&detail, 0, sizeof detail);
    fake_says(fake, body);
    return rpc_simulate(fake->rpc, (struct bytes){(const uint8_t *)"foobar", 6}, true, out, &detail);
}

static void the_fee_of_a_simulation_is_read(void **state)
{
    struct fake_rpc *fake = *state;
    struct rpc_simulation simulation;
    assert_int_equal(simulate(fake,
                         FAKE_RESULT("{\"transactionData\":\"AAAA\",\"minResourceFee\":\"93657\",\"results\":"
                                     "[{\"auth\":[],\"xdr\":\"AAAAAQ==\"}],\"latestLedger\":2552139}"),
                         &simulation),
        ERR_OK);
    assert_true(simulation.succeeds);
    assert_int_equal(simulation.resource_fee_stroops, 93657);
    assert_true(
        fake_heard(fake, "\"method\":\"simulateTransaction\",\"params\":{\"transaction\":\"Zm9vYmFy\","
                         "\"xdrFormat\":\"base64\",\"authMode\":\"enforce\"}}"));
    assert_int_equal(
        rpc_simulate(fake->rpc, (struct bytes){(const uint8_t *)"foobar", 6}, false, &simulation, NULL),
        ERR_OK);
    assert_false(fake_heard(fake, "authMode"));
}

static void a_transaction_that_fails_is_no_error_of_the_call(void **state)
{
    struct fake_rpc *fake = *state;
    struct rpc_simulation simulation;
    assert_int_equal(
        simulate(fake,
            FAKE_RESULT("{\"error\":\"HostError: Error(Auth, \\u0007InvalidAction)\\n\\nEvent log "
                        "(newest first):\",\"latestLedger\":7}"),
            &simulation),
        ERR_OK);
    assert_false(simulation.succeeds);
    assert_string_equal(simulation.error, "HostError: Error(Auth, ?InvalidAction)");
}

static void what_is_no_result_is_an_error(void **state)
{
    struct fake_rpc *fake = *state;
    static const struct {
        const char *body;
        enum err expected;
    } cases[] = {
        {FAKE_RESULT("{\"latestLedger\":7}"), ERR_RPC_UNAVAILABLE},
        {FAKE_RESULT("{\"error\":7}"), ERR_RPC_UNAVAILABLE},
        {FAKE_RESULT("{\"minResourceFee\":\"-1\"}"), ERR_RPC_UNAVAILABLE},
        {FAKE_RESULT("{\"minResourceFee\":\"9223372036854775808\"}"), ERR_RPC_UNAVAILABLE},
        {FAKE_RESULT("{\"minResourceFee\":null}"), ERR_RPC_UNAVAILABLE},
        {FAKE_ERROR(-32603, "internal"), ERR_RPC_UNAVAILABLE},
        {FAKE_ERROR(-32602, "invalid params"), ERR_RPC_REFUSED},
        {"{", ERR_RPC_UNAVAILABLE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rpc_simulation simulation;
        assert_int_equal(simulate(fake, cases[i].body, &simulation), cases[i].expected);
        assert_false(simulation.succeeds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAKE_TEST(the_fee_of_a_simulation_is_read),
        FAKE_TEST(a_transaction_that_fails_is_no_error_of_the_call),
        FAKE_TEST(what_is_no_result_is_an_error),
    };
    return cmocka_run_group_tests_name("rpc/simulate", tests, NULL, NULL);
}
