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
    return rpc_simulate(fake->rpc, (struct bytes){(const uint8_t *)"foobar", 6}, true, 0, out, &detail);
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
        rpc_simulate(fake->rpc, (struct bytes){(const uint8_t *)"foobar", 6}, false, 0, &simulation, NULL),
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

/* ---- several addresses */

#define FEE FAKE_RESULT("{\"minResourceFee\":1,\"latestLedger\":9}")

static enum err ask(struct rpc *rpc, struct rpc_simulation *out)
{
    return rpc_simulate(rpc, (struct bytes){(const uint8_t *)"foobar", 6}, true, 9, out, &detail);
}

/* With both addresses. */
static struct rpc *client_of(const struct fake_rpc *first, const struct fake_rpc *second)
{
    AUTO_FREE char *one = fake_url(first), *two = fake_url(second), *url = mem_format("%s,%s", one, two);
    return rpc_new(&(struct rpc_settings){.url = url, .timeout_ms = 1000});
}

FAKE_TEST(a_fault_of_the_node_is_asked_of_the_next_address)
{
    struct fake_rpc *first = *state, *second;
    static const char *const faults[] = {
        FAKE_RESULT("{\"error\":\"HostError: Error(Storage, MissingValue)\",\"latestLedger\":8}"),
        FAKE_RESULT("{\"error\":\"[-32603] ledger is not present in the snapshot\",\"latestLedger\":9}"),
        FAKE_RESULT("{\"error\":\"missing config setting\",\"latestLedger\":9}"),
        FAKE_ERROR(-32603, "internal"),
    };
    fake_start((void **)&second);
    struct rpc *rpc = client_of(first, second);
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        AUTO_SIMULATION simulation = {0}, failed = {0};
        fake_says(first, faults[i]);
        fake_says(second, FEE);
        assert_int_equal(ask(rpc, &simulation), ERR_OK);
        assert_true(simulation.succeeds);
        assert_int_equal(rpc->last, 2);
        fake_says(second, faults[i]);
        assert_int_equal(ask(rpc, &failed), ERR_RPC_UNAVAILABLE);
        assert_null(failed.report);
    }
    AUTO_SIMULATION final = {0};
    fake_says(first, FAKE_RESULT("{\"error\":\"HostError: setting of the contract\",\"latestLedger\":9}"));
    assert_int_equal(ask(rpc, &final), ERR_OK);
    assert_false(final.succeeds);
    assert_int_equal(rpc->last, 1);
    rpc_free(rpc);
    fake_stop((void **)&second);
}

/* Else one client's simulations use up the quota of every address. */
FAKE_TEST(a_refusal_is_not_repeated_elsewhere_and_rests_its_address)
{
    struct fake_rpc *first = *state, *second;
    static const struct fake_reply refusals[] = {{.status = 429, .header = "Retry-After: 20\r\n"},
        {.status = 503, .body = "<html>busy</html>", .header = "Retry-After: 20\r\n"}};
    fake_start((void **)&second);
    struct rpc *rpc = client_of(first, second);
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        AUTO_SIMULATION refused = {0}, elsewhere = {0}, again = {0}, nowhere = {0};
        const unsigned asked = fake_requests(first);
        address_forget();
        fake_set_reply(first, 0, refusals[i]);
        fake_says(second, FEE);
        assert_int_equal(ask(rpc, &refused), ERR_RPC_UNAVAILABLE);
        assert_int_equal(rpc->last, 1);
        assert_int_equal(ask(rpc, &elsewhere), ERR_OK);
        assert_int_equal(rpc->last, 2);
        fake_set_reply(second, 0, refusals[i]);
        assert_int_equal(ask(rpc, &again), ERR_RPC_UNAVAILABLE);
        const unsigned requests = fake_requests(second);
        assert_int_equal(ask(rpc, &nowhere), ERR_RPC_UNAVAILABLE);
        assert_in_range(nowhere.retry_after_s, 10, 20);
        struct call_error error = {.code = CALL_METHOD_NOT_FOUND}; /* of an earlier call */
        json_t *none;
        assert_int_equal(call(rpc, "simulateTransaction", NULL, &none, &error, &detail), ERR_RPC_UNAVAILABLE);
        assert_int_equal(error.code, 0);
        assert_int_equal(fake_requests(second), requests);
        assert_int_equal(fake_requests(first), asked + 1);
    }
    rpc_free(rpc);
    fake_stop((void **)&second);
}

/* One client's simulation may take long by itself: that is no reason to refuse those of others. */
FAKE_TEST(a_slow_simulation_rests_no_address_and_a_slow_read_does)
{
    struct fake_rpc *fake = *state;
    struct rpc_network network;
    AUTO_FREE char *url = fake_url(fake);
    AUTO_RPC rpc = rpc_new(&(struct rpc_settings){.url = url, .timeout_ms = 300, .wait_ms = 100});
    AUTO_SIMULATION slow = {0}, next = {0}, refused = {0};
    fake_set_reply(fake, 0, (struct fake_reply){.manner = FAKE_SILENT});
    assert_int_equal(ask(rpc, &slow), ERR_RPC_UNAVAILABLE);
    fake_says(fake, FEE);
    assert_int_equal(ask(rpc, &next), ERR_OK);
    fake_set_reply(fake, 0, (struct fake_reply){.manner = FAKE_SILENT});
    assert_int_equal(rpc_network(rpc, &network, &detail), ERR_RPC_UNAVAILABLE);
    const unsigned requests = fake_requests(fake);
    assert_int_equal(ask(rpc, &refused), ERR_RPC_UNAVAILABLE);
    assert_int_equal(fake_requests(fake), requests);
}

FAKE_TEST(an_address_that_hangs_is_asked_once_and_then_the_next_one)
{
    struct fake_rpc *first = *state, *second;
    struct rpc_network network;
    fake_start((void **)&second);
    struct rpc *rpc = client_of(first, second);
    fake_set_reply(first, 0, (struct fake_reply){.manner = FAKE_SILENT});
    fake_set_reply(second, 0, (struct fake_reply){.method = "simulateTransaction", .body = FEE});
    fake_set_reply(second, 1, (struct fake_reply){.method = "getNetwork", .body = FAKE_ERROR(-32601, "m")});
    for (unsigned i = 0; i < 5; i++) {
        AUTO_SIMULATION simulation = {0};
        assert_int_equal(ask(rpc, &simulation), ERR_OK);
    }
    assert_int_equal(fake_requests(first), 1);
    assert_int_equal(fake_requests(second), 5);
    assert_int_equal(rpc_network(rpc, &network, &detail), ERR_RPC_REFUSED); /* so do the other classes */
    assert_int_equal(fake_requests(second), 6);
    rpc_free(rpc);
    fake_stop((void **)&second);
}
