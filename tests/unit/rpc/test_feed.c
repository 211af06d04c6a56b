/* Rules of rpc/feed.h: how reads of entries fail. */
#include "fake_rpc.h"

#include "base/text.h"
#include "rpc/feed.h"
#include "stellar/account.h"
#include "stellar/ledger.h"

/* An answer of getLedgerEntries with one entry: the key, and the key followed by these words. The caller
 * frees it. */
static char *answer(struct bytes key, const uint32_t words[], size_t count)
{
    struct buf xdr = {0};
    buf_add_bytes(&xdr, key);
    for (size_t i = 0; i < count; i++)
        buf_add_u32(&xdr, words[i]);
    AUTO_FREE char *key_text = base64_encode(key);
    AUTO_FREE char *xdr_text = base64_encode(buf_bytes(&xdr));
    buf_free(&xdr);
    return mem_format(FAKE_RESULT("{\"entries\":[{\"key\":\"%s\",\"xdr\":\"%s\"}],\"latestLedger\":7}"),
        key_text, xdr_text);
}

/* Otherwise an RPC that hangs delays what the others are asked. */
FAKE_TEST(a_call_that_does_not_block_does_not_wait_for_the_version_of_the_node)
{
    struct fake_rpc *fake = *state;
    AUTO_RPC asking = rpc_asking(fake->rpc, &(struct rpc_ask){.done = fake_tell});
    const struct feed feed = feed_of_rpc(asking);
    struct rpc_network network CLEANUP(rpc_network_free) = {0};
    struct detail detail = {0};
    atomic_store(&fake_told, 0);
    fake_set_reply(fake, 0,
        (struct fake_reply){.method = "getNetwork",
            .body = FAKE_RESULT("{\"passphrase\":\"a network\",\"protocolVersion\":27}")});
    fake_set_reply(fake, 1,
        (struct fake_reply){.body = FAKE_RESULT("{\"captiveCoreVersion\":\"stellar-core 28.0.1\"}")});
    assert_int_equal(feed.network(feed.source, &network, &detail), ERR_NOT_YET);
    fake_await_told(1);
    assert_int_equal(feed.network(feed.source, &network, &detail), ERR_NOT_YET);
    fake_await_told(2);
    assert_int_equal(feed.network(feed.source, &network, &detail), ERR_OK);
    assert_string_equal(network.passphrase, "a network");
    assert_int_equal(network.node_protocol, 28);
    rpc_network_free(&network);
    fake_set_reply(fake, 1, (struct fake_reply){.manner = FAKE_SILENT});
    assert_int_equal(feed.network(feed.source, &network, &detail), ERR_NOT_YET);
    fake_await_told(3);
    const int64_t begun_ms = clock_ms();
    assert_int_equal(feed.network(feed.source, &network, &detail), ERR_NOT_YET);
    assert_in_range(clock_ms() - begun_ms, 0, FAKE_TIMEOUT_MS / 2);
    rpc_cancel(fake->rpc);
    fake_await_told(4);
    assert_int_equal(feed.network(feed.source, &network, &detail), ERR_OK); /* without the version */
    assert_int_equal(network.node_protocol, 0);
}

/* An RPC may invent it. A ledger that has it stops ingestion. */
FAKE_TEST(an_entry_of_a_newer_protocol_only_fails_the_read)
{
    struct fake_rpc *fake = *state;
    const struct feed feed = feed_of_rpc(fake->rpc);
    const struct public_key account = {{7}};
    /* balance, sequence number, six empty members with the thresholds 1, and an extension 9 */
    static const uint32_t entry[] = {0, 5, 0, 1, 0, 0, 0, 0, 0x01000000, 0, 9},
                          list[] = {1, 8, 0, 7}; /* an account of key type 7 */
    struct buf key CLEANUP(buf_free) = {0};
    struct account_entry read;
    struct frozen_accounts frozen;
    struct detail detail = {0};
    uint32_t ledger;
    account_ledger_key(&account, &key);
    AUTO_FREE char *with_account = answer(buf_bytes(&key), entry, ARRAY_LEN(entry));
    fake_says(fake, with_account);
    assert_int_equal(feed.accounts(feed.source, &account, 1, &read, &ledger, &detail), ERR_RPC_REFUSED);
    assert_non_null(strstr(detail.text, "newer protocol"));
    buf_clear(&key);
    frozen_ledger_key(&key);
    AUTO_FREE char *with_list = answer(buf_bytes(&key), list, ARRAY_LEN(list));
    fake_says(fake, with_list);
    assert_int_equal(feed.frozen(feed.source, &frozen, &ledger, &detail), ERR_RPC_REFUSED);
    assert_non_null(strstr(detail.text, "frozen keys"));
    fake_says(fake, NULL);
}
