/* Rules of rpc_health and rpc_network. */
#include "fake_rpc.h"

static struct detail detail;

FAKE_TEST(health_is_read_with_numbers_in_either_form)
{
    struct fake_rpc *fake = *state;
    static const char *const bodies[] = {
        FAKE_RESULT(
            "{\"status\":\"healthy\",\"latestLedger\":3730763,\"latestLedgerCloseTime\":\"1784671485\","
            "\"oldestLedger\":3609804,\"ledgerRetentionWindow\":120960}"),
        FAKE_RESULT("{\"status\":\"healthy\",\"latestLedger\":\"3730763\",\"oldestLedger\":\"3609804\"}"),
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct rpc_health health;
        fake_says(fake, bodies[i]);
        assert_int_equal(rpc_health(fake->rpc, &health, &detail), ERR_OK);
        assert_true(health.healthy);
        assert_int_equal(health.latest_ledger, 3730763);
        assert_int_equal(health.oldest_ledger, 3609804);
    }
}

FAKE_TEST(an_unhealthy_server_is_not_an_error_and_gives_its_reason)
{
    struct fake_rpc *fake = *state;
    struct rpc_health health;
    fake_says(
        fake, FAKE_ERROR(-32603, "[-32603] latency (45s) since last known ledger closed is too high (>30s)"));
    assert_int_equal(rpc_health(fake->rpc, &health, &detail), ERR_OK);
    assert_false(health.healthy);
    assert_int_equal(health.latest_ledger, 0);
    assert_non_null(strstr(detail.text, "latency (45s)"));
    fake_says(fake, FAKE_RESULT("{\"status\":\"catching up\",\"latestLedger\":7,\"oldestLedger\":1}"));
    assert_int_equal(rpc_health(fake->rpc, &health, &detail), ERR_OK);
    assert_false(health.healthy);
    assert_int_equal(health.latest_ledger, 7);
}

FAKE_TEST(an_unreachable_server_is_an_error)
{
    struct fake_rpc *fake = *state;
    struct rpc_health health;
    fake_says(fake, FAKE_ERROR(-32601, "method not found"));
    assert_int_equal(rpc_health(fake->rpc, &health, &detail), ERR_RPC_REFUSED);
    fake_set_reply(fake, 0, (struct fake_reply){.status = 503});
    assert_int_equal(rpc_health(fake->rpc, &health, &detail), ERR_RPC_UNAVAILABLE);
}

FAKE_TEST(ledger_numbers_out_of_range_are_refused)
{
    struct fake_rpc *fake = *state;
    static const char *const bodies[] = {
        FAKE_RESULT("{\"status\":\"healthy\",\"latestLedger\":4294967296,\"oldestLedger\":1}"),
        FAKE_RESULT("{\"status\":\"healthy\",\"latestLedger\":-1,\"oldestLedger\":1}"),
        FAKE_RESULT("{\"status\":\"healthy\",\"latestLedger\":2.0,\"oldestLedger\":1}"),
        FAKE_RESULT("{\"status\":\"healthy\",\"latestLedger\":\"0x2\",\"oldestLedger\":1}"),
        FAKE_RESULT("{\"status\":\"healthy\",\"latestLedger\":\"\",\"oldestLedger\":1}"),
        FAKE_RESULT("{\"status\":\"healthy\",\"latestLedger\":null,\"oldestLedger\":1}"),
        FAKE_RESULT("{\"status\":\"healthy\",\"oldestLedger\":1}"),
        FAKE_RESULT("{\"latestLedger\":2,\"oldestLedger\":1}"),
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct rpc_health health;
        fake_says(fake, bodies[i]);
        assert_int_equal(rpc_health(fake->rpc, &health, &detail), ERR_RPC_UNAVAILABLE);
        assert_false(health.healthy);
    }
}

FAKE_TEST(the_network_passphrase_is_read)
{
    struct fake_rpc *fake = *state;
    struct rpc_network network;
    fake_says(
        fake, FAKE_RESULT("{\"passphrase\":\"Test SDF Network ; September 2015\",\"protocolVersion\":27}"));
    assert_int_equal(rpc_network(fake->rpc, &network, &detail), ERR_OK);
    assert_string_equal(network.passphrase, "Test SDF Network ; September 2015");
    rpc_network_free(&network);
    fake_says(fake, FAKE_RESULT("{\"protocolVersion\":28}"));
    assert_int_equal(rpc_network(fake->rpc, &network, &detail), ERR_RPC_UNAVAILABLE);
    assert_non_null(strstr(detail.text, "passphrase"));
}

FAKE_TEST(the_protocol_of_the_node_is_the_first_number_of_its_version)
{
    static const struct {
        const char *version;
        uint32_t protocol;
    } cases[] = {{"stellar-core 28.0.1 (dedd7ce)", 28}, {"stellar-core 31.0.0.rc2 (a)", 31},
        {"stellar-core 26.0.1-3021.dedd7ce.jammy", 26}, {"stellar-core 28", 0}, {"stellar-core v28.0", 0},
        {"stellar-core 99999999999.0", 0}, {"localnet", 0}, {"", 0}};
    struct fake_rpc *fake = *state;
    uint32_t protocol;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *body = mem_format(
            FAKE_RESULT("{\"captiveCoreVersion\":\"%s\",\"protocolVersion\":27}"), cases[i].version);
        fake_says(fake, body);
        assert_int_equal(rpc_node_protocol(fake->rpc, &protocol), ERR_OK);
        assert_int_equal(protocol, cases[i].protocol);
    }
    fake_says(fake, FAKE_RESULT("{\"protocolVersion\":28}"));
    assert_int_equal(rpc_node_protocol(fake->rpc, &protocol), ERR_OK);
    assert_int_equal(protocol, 0);
}
