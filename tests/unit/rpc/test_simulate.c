/* What a simulation says, and what is no result. */
#include "fake_rpc.h"

static struct detail detail;

#define AUTO_SIMULATION CLEANUP(rpc_simulation_free) struct rpc_simulation

/* SorobanTransactionData without entries: 32 zeros. */
#define DATA "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

static enum err simulate(struct fake_rpc *fake, const char *body, struct rpc_simulation *out)
{
    memset(&detail, 0, sizeof detail);
    fake_says(fake, body);
    return rpc_simulate(fake->rpc, (struct bytes){(const uint8_t *)"foobar", 6}, true, out, &detail);
}

FAKE_TEST(the_fee_of_a_simulation_is_read)
{
    struct fake_rpc *fake = *state;
    AUTO_SIMULATION simulation = {0};
    assert_int_equal(
        simulate(fake,
            FAKE_RESULT("{\"transactionData\":\"" DATA "\",\"minResourceFee\":\"93657\",\"results\":"
                        "[{\"auth\":[],\"xdr\":\"AAAAAQ==\"}],\"latestLedger\":2552139}"),
            &simulation),
        ERR_OK);
    assert_true(simulation.succeeds);
    assert_int_equal(simulation.resource_fee_stroops, 93657);
    assert_int_equal(simulation.data.len, 32);
    assert_int_equal(simulation.returned.len, 4);
    assert_false(simulation.restores);
    assert_true(
        fake_heard(fake, "\"method\":\"simulateTransaction\",\"params\":{\"transaction\":\"Zm9vYmFy\","
                         "\"xdrFormat\":\"base64\",\"authMode\":\"enforce\"}}"));
    rpc_simulation_free(&simulation);
    assert_int_equal(
        rpc_simulate(fake->rpc, (struct bytes){(const uint8_t *)"foobar", 6}, false, &simulation, NULL),
        ERR_OK);
    assert_false(fake_heard(fake, "authMode"));
}

FAKE_TEST(a_transaction_that_fails_is_no_error_of_the_call)
{
    struct fake_rpc *fake = *state;
    AUTO_SIMULATION simulation = {0};
    assert_int_equal(
        simulate(fake,
            FAKE_RESULT("{\"error\":\"HostError: Error(Auth, \\u0007InvalidAction)\\u000a\\u000aEvent log "
                        "(newest first):\",\"latestLedger\":7}"),
            &simulation),
        ERR_OK);
    assert_false(simulation.succeeds);
    assert_string_equal(simulation.error, "HostError: Error(Auth, ?InvalidAction)");
    assert_string_equal(simulation.report, "{\"simulationError\":\"HostError: Error(Auth, "
                                           "?InvalidAction)\\u000a\\u000aEvent log (newest first):\","
                                           "\"events\":[]}");
}

FAKE_TEST(events_that_are_no_text)
{
    struct fake_rpc *fake = *state;
    AUTO_SIMULATION simulation = {0};
    assert_int_equal(simulate(fake, FAKE_RESULT("{\"error\":\"x\",\"events\":[null]}"), &simulation), ERR_OK);
    assert_string_equal(simulation.report, "{\"simulationError\":\"x\",\"events\":[]}");
}

/* Whatever is in it: a quotation mark takes two bytes, a newline six. */
FAKE_TEST(a_report_has_at_most_4_kib)
{
    struct fake_rpc *fake = *state;
    static const char *const units[] = {"\\n", "\\\"", "\\u0001", "x", "\xc3\xa4"};
    char event[1001];
    memset(event, 'A', sizeof event - 1);
    event[sizeof event - 1] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        for (size_t count = 10; count <= 3000; count += 299) {
            AUTO_SIMULATION simulation = {0};
            AUTO_FREE char *words = mem_new(count * 8 + 1, 1);
            for (size_t k = 0; k < count; k++)
                strcat(words + k * strlen(units[i]), units[i]);
            AUTO_FREE char *body =
                mem_format(FAKE_RESULT("{\"error\":\"%s\",\"events\":[\"%s\",\"%s\",\"%s\",\"%s\",\"%s\"]}"),
                    words, event, event, event, event, event);
            assert_int_equal(simulate(fake, body, &simulation), ERR_OK);
            assert_in_range(strlen(simulation.report), 2900, 4096);
        }
}

FAKE_TEST(what_is_no_result_is_an_error)
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
        {FAKE_RESULT("{\"minResourceFee\":1,\"transactionData\":\"AAAA\"}"), ERR_RPC_UNAVAILABLE},
        {FAKE_RESULT("{\"minResourceFee\":1,\"transactionData\":7}"), ERR_RPC_UNAVAILABLE},
        {FAKE_RESULT("{\"minResourceFee\":1,\"transactionData\":\"" DATA "AAAA\"}"), ERR_RPC_UNAVAILABLE},
        {FAKE_RESULT("{\"minResourceFee\":1,\"results\":[{\"xdr\":\"AAAA/w==\"}]}"), ERR_RPC_UNAVAILABLE},
        {FAKE_ERROR(-32603, "internal"), ERR_RPC_UNAVAILABLE},
        {FAKE_ERROR(-32602, "invalid params"), ERR_RPC_REFUSED},
        {"{", ERR_RPC_UNAVAILABLE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_SIMULATION simulation = {0};
        assert_int_equal(simulate(fake, cases[i].body, &simulation), cases[i].expected);
        assert_false(simulation.succeeds);
    }
}
