/* Rules of rpc_ledgers: well-formed ledgers, ERR_LEDGER_AHEAD and ERR_LEDGER_GAP. */
#include "fake_rpc.h"

#define HASH_A "434d0000000000000000000000000000000000000000000000000000000000aa"
#define HASH_B "434d0000000000000000000000000000000000000000000000000000000000bb"

static struct detail detail;
static struct rpc_ledgers ledgers;

static enum err ask(struct fake_rpc *fake, uint32_t start, uint32_t limit)
{
    memset(&detail, 0, sizeof detail);
    rpc_ledgers_free(&ledgers);
    return rpc_ledgers(fake->rpc, start, limit, &ledgers, &detail);
}

FAKE_TEST(ledgers_come_with_sequence_hash_and_meta)
{
    struct fake_rpc *fake = *state;
    fake_says(
        fake, FAKE_RESULT("{\"ledgers\":["
                          "{\"hash\":\"" HASH_A "\",\"sequence\":36233,\"ledgerCloseTime\":\"1734032457\","
                          "\"headerXdr\":\"AAAA\",\"metadataXdr\":\"Zm9vYmFy\"},"
                          "{\"hash\":\"" HASH_B "\",\"sequence\":\"36234\",\"metadataXdr\":\"Zg==\"}],"
                          "\"latestLedger\":36379,\"latestLedgerCloseTime\":1734033188,"
                          "\"oldestLedger\":29312,\"cursor\":\"36234\"}"));
    assert_int_equal(ask(fake, 36233, 2), ERR_OK);
    assert_true(fake_heard(fake,
        "\"method\":\"getLedgers\",\"params\":{\"startLedger\":36233,\"pagination\":{\"limit\":2},"
        "\"xdrFormat\":\"base64\"}}"));
    assert_int_equal(ledgers.count, 2);
    assert_int_equal(ledgers.items[0].sequence, 36233);
    assert_int_equal(ledgers.items[1].sequence, 36234);
    assert_int_equal(ledgers.items[0].hash.bytes[0], 0x43);
    assert_int_equal(ledgers.items[1].hash.bytes[31], 0xbb);
    assert_true(bytes_equal(ledgers.items[0].meta, (struct bytes){(const uint8_t *)"foobar", 6}));
    assert_true(bytes_equal(ledgers.items[1].meta, (struct bytes){(const uint8_t *)"f", 1}));
    assert_int_equal(ledgers.latest_ledger, 36379);
}

#define RANGE "must be between the oldest ledger: 29312 and the latest ledger: 36379 for this rpc instance"

FAKE_TEST(a_start_above_the_tip_is_ahead_and_one_below_the_oldest_a_gap)
{
    struct fake_rpc *fake = *state;
    static const char *const bodies[] = {
        FAKE_ERROR(-32600, "start ledger (36380) " RANGE),
        FAKE_ERROR(-32600, "[-32600] start ledger (36380) " RANGE),
        FAKE_ERROR(-32602, "cursor ('36380') " RANGE),
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        fake_says(fake, bodies[i]);
        assert_int_equal(ask(fake, 36380, 1), ERR_LEDGER_AHEAD);
        assert_int_equal(ledgers.latest_ledger, 36379);
        assert_int_equal(ask(fake, 29311, 1), ERR_LEDGER_GAP);
        assert_int_equal(ledgers.latest_ledger, 36379);
        assert_int_equal(fake_requests(fake), 2 * (i + 1)); /* no other method was called */
    }
}

FAKE_TEST(a_refusal_of_a_start_within_the_range_may_be_retried)
{
    struct fake_rpc *fake = *state;
    fake_says(fake, FAKE_ERROR(-32600, "start ledger (29312) " RANGE));
    assert_int_equal(ask(fake, 29312, 1), ERR_LEDGER_AHEAD);
    assert_int_equal(ask(fake, 36379, 1), ERR_LEDGER_AHEAD);
}

FAKE_TEST(getHealth_gives_the_range_when_the_message_does_not)
{
    struct fake_rpc *fake = *state;
    static const char *const refusals[] = {
        FAKE_ERROR(-32600, "start ledger out of range"),
        FAKE_ERROR(-32602, "between the oldest ledger: x and the latest ledger: 9"),
        FAKE_ERROR(-32600, "between the oldest ledger: 5 or the latest ledger: 9"),
        FAKE_ERROR(-32600, "between the oldest ledger: 5 and the latest ledger: 99999999999"),
    };
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        fake_set_reply(fake, 0, (struct fake_reply){.method = "getLedgers", .body = refusals[i]});
        fake_set_reply(fake, 1,
            (struct fake_reply){
                .body = FAKE_RESULT("{\"status\":\"healthy\",\"latestLedger\":200,\"oldestLedger\":100}")});
        assert_int_equal(ask(fake, 201, 1), ERR_LEDGER_AHEAD);
        assert_int_equal(ledgers.latest_ledger, 200);
        assert_int_equal(ask(fake, 99, 1), ERR_LEDGER_GAP);
        assert_int_equal(ask(fake, 150, 1), ERR_RPC_REFUSED); /* 150 is in the range: another reason */
        fake_set_reply(fake, 1, (struct fake_reply){.body = FAKE_ERROR(-32603, "not initialized")});
        assert_int_equal(ask(fake, 201, 1), ERR_RPC_REFUSED);
        assert_non_null(strstr(detail.text, "getLedgers: "));
    }
}

/* Otherwise an RPC that refuses, and then hangs, delays the ledgers of the others. */
FAKE_TEST(a_call_that_does_not_block_does_not_wait_for_getHealth)
{
    struct fake_rpc *fake = *state;
    AUTO_RPC asking = rpc_asking(fake->rpc, &(struct rpc_ask){.done = fake_tell});
    atomic_store(&fake_told, 0);
    fake_set_reply(fake, 0,
        (struct fake_reply){.method = "getLedgers", .body = FAKE_ERROR(-32600, "start ledger out of range")});
    fake_set_reply(fake, 1,
        (struct fake_reply){
            .body = FAKE_RESULT("{\"status\":\"healthy\",\"latestLedger\":200,\"oldestLedger\":100}")});
    assert_int_equal(rpc_ledgers(asking, 201, 1, &ledgers, &detail), ERR_NOT_YET);
    fake_await_told(1);
    assert_int_equal(rpc_ledgers(asking, 201, 1, &ledgers, &detail), ERR_NOT_YET);
    fake_await_told(2);
    assert_int_equal(rpc_ledgers(asking, 201, 1, &ledgers, &detail), ERR_LEDGER_AHEAD);
    assert_int_equal(ledgers.latest_ledger, 200);
    fake_set_reply(fake, 1, (struct fake_reply){.manner = FAKE_SILENT});
    assert_int_equal(rpc_ledgers(asking, 201, 1, &ledgers, &detail), ERR_NOT_YET);
    fake_await_told(3);
    const int64_t begun_ms = clock_ms();
    assert_int_equal(rpc_ledgers(asking, 201, 1, &ledgers, &detail), ERR_NOT_YET);
    assert_in_range(clock_ms() - begun_ms, 0, FAKE_TIMEOUT_MS / 2);
    rpc_cancel(fake->rpc);
    fake_await_told(4);
    assert_int_equal(rpc_ledgers(asking, 201, 1, &ledgers, &detail), ERR_CANCELLED);
}

FAKE_TEST(other_refusals_are_not_mapped)
{
    struct fake_rpc *fake = *state;
    fake_says(fake, FAKE_ERROR(-32601, "method not found"));
    assert_int_equal(ask(fake, 1, 1), ERR_RPC_REFUSED);
    fake_says(fake, FAKE_ERROR(-32603, "start ledger " RANGE)); /* the error code must fit too */
    assert_int_equal(ask(fake, 36380, 1), ERR_RPC_UNAVAILABLE);
}

FAKE_TEST(an_empty_list_above_the_tip_is_ahead)
{
    struct fake_rpc *fake = *state;
    fake_says(fake, FAKE_RESULT("{\"ledgers\":[],\"latestLedger\":9,\"oldestLedger\":1}"));
    assert_int_equal(ask(fake, 10, 1), ERR_LEDGER_AHEAD);
    assert_int_equal(ledgers.latest_ledger, 9);
    assert_int_equal(ask(fake, 9, 1), ERR_RPC_UNAVAILABLE);
}

FAKE_TEST(ledger_numbers_out_of_range_are_refused)
{
    struct fake_rpc *fake = *state;
    static const char *const numbers[] = {"4294967296", "-1", "2.0", "\"0x2\"", "\"\"", "null"};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        AUTO_FREE char *body = mem_format(FAKE_RESULT("{\"ledgers\":[],\"latestLedger\":%s}"), numbers[i]);
        fake_says(fake, body);
        assert_int_equal(ask(fake, 9, 1), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "latestLedger is missing or malformed"));
    }
}

FAKE_TEST(malformed_ledgers_are_unavailable)
{
    struct fake_rpc *fake = *state;
#define ONE(item) FAKE_RESULT("{\"ledgers\":" item ",\"latestLedger\":9,\"oldestLedger\":1}")
    static const char *const bodies[] = {
        ONE("{}"),
        ONE("null"),
        ONE("[7]"),
        ONE("[{\"hash\":\"" HASH_A "\",\"sequence\":9}]"),
        ONE("[{\"hash\":\"" HASH_A "\",\"sequence\":9,\"metadataXdr\":\"\\n\"}]"),
        ONE("[{\"hash\":\"" HASH_A "\",\"sequence\":9,\"metadataXdr\":\"Zg\"}]"),
        ONE("[{\"hash\":\"" HASH_A "\",\"sequence\":9,\"metadataXdr\":\"\"}]"),
        ONE("[{\"hash\":\"" HASH_A "\",\"sequence\":9,\"metadataXdr\":\"0\"}]"),
        ONE("[{\"hash\":\"" HASH_A "\",\"sequence\":9,\"metadataXdr\":0}]"),
        ONE("[{\"hash\":\"" HASH_A "\",\"sequence\":9,\"metadataXdr\":\"Zg==\",\"metadataXdr\":\"Zg==\"}]"),
        ONE("[{\"hash\":\"" HASH_A
            "\",\"sequence\":9,\"x\":{\"metadataXdr\":\"Zg==\"},\"metadataXdr\":\"Zg==\"}]"),
        ONE("[{\"hash\":\"43\",\"sequence\":9,\"metadataXdr\":\"Zg==\"}]"),
        ONE("[{\"sequence\":9,\"metadataXdr\":\"Zg==\"}]"),
        ONE("[{\"hash\":\"" HASH_A "\",\"metadataXdr\":\"Zg==\"}]"),
        ONE("[{\"hash\":\"" HASH_A "\",\"sequence\":9,\"metadataXdr\":\"Zg==\"},"
            "{\"hash\":\"" HASH_A "\",\"sequence\":10,\"metadataXdr\":\"Zg==\"}]"), /* more than requested */
        FAKE_RESULT("{\"ledgers\":[{\"hash\":\"" HASH_A "\",\"sequence\":9,\"metadataXdr\":\"Zg==\"}]}"),
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        fake_says(fake, bodies[i]);
        assert_int_equal(ask(fake, 9, 1), ERR_RPC_UNAVAILABLE);
        assert_int_equal(ledgers.count, 0);
        assert_null(ledgers.items);
    }
    fake_says(fake, ONE("[{\"hash\":\"" HASH_A "\",\"sequence\":9,\"metadataXdr\":\"Zg==\"}]"));
    assert_int_equal(ask(fake, 9, 1), ERR_OK);
}

static int clean_up(void **state)
{
    rpc_ledgers_free(&ledgers);
    return 0;
}

GROUP_FIXTURE(NULL, clean_up)
