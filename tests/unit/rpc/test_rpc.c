/* Rules of rpc_network and rpc_node_protocol. */
#include "fake_rpc.h"

static struct detail detail;

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
