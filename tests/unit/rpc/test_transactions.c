/* Rules of rpc_send and rpc_transaction. */
#include "fake_rpc.h"

#include "base/text.h"

static struct detail detail;

static enum err send_one(struct fake_rpc *fake, struct rpc_sent *sent)
{
    memset(&detail, 0, sizeof detail);
    return rpc_send(fake->rpc, (struct bytes){(const uint8_t *)"foobar", 6}, sent, &detail);
}

FAKE_TEST(each_status_of_sendTransaction_is_read)
{
    struct fake_rpc *fake = *state;
    static const struct {
        const char *body;
        enum rpc_send_status status;
    } cases[] = {
        {FAKE_RESULT("{\"status\":\"PENDING\",\"hash\":\"d8ec\",\"latestLedger\":2553978}"),
            RPC_SEND_PENDING},
        {FAKE_RESULT("{\"status\":\"DUPLICATE\"}"), RPC_SEND_DUPLICATE},
        {FAKE_RESULT("{\"status\":\"TRY_AGAIN_LATER\"}"), RPC_SEND_TRY_AGAIN_LATER},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rpc_sent sent;
        fake_says(fake, cases[i].body);
        assert_int_equal(send_one(fake, &sent), ERR_OK);
        assert_int_equal(sent.status, cases[i].status);
        assert_int_equal(sent.code, 0);
    }
    assert_true(fake_heard(fake, "\"method\":\"sendTransaction\",\"params\":{\"transaction\":"
                                 "\"Zm9vYmFy\",\"xdrFormat\":\"base64\"}}"));
}

/* TransactionResult; inner_code counts for the two arms of a fee bump. */
static char *result_of(int32_t code, bool fee_bump, int32_t inner_code)
{
    static const uint8_t inner_hash[32];
    struct buf xdr CLEANUP(buf_free) = {0};
    buf_add_u64(&xdr, 100);
    buf_add_u32(&xdr, (uint32_t)code);
    if (fee_bump) {
        buf_add(&xdr, inner_hash, sizeof inner_hash);
        buf_add_u64(&xdr, 0);
        buf_add_u32(&xdr, (uint32_t)inner_code);
        buf_add_u32(&xdr, 0);
    }
    buf_add_u32(&xdr, 0);
    char *text = base64_encode(buf_bytes(&xdr));
    return text;
}

static enum err send_refused(struct fake_rpc *fake, const char *error_result, struct rpc_sent *sent)
{
    AUTO_FREE char *body =
        mem_format(FAKE_RESULT("{\"status\":\"ERROR\",\"errorResultXdr\":\"%s\"}"), error_result);
    fake_says(fake, body);
    return send_one(fake, sent);
}

FAKE_TEST(an_ERROR_status_has_the_innermost_result_code)
{
    struct fake_rpc *fake = *state;
    static const struct {
        int32_t code;
        bool fee_bump;
        int32_t inner_code, expected;
    } cases[] = {{-5, false, 0, -5}, {-9, false, 0, -9}, {-13, true, -3, -3}, {-13, true, -5, -5}};
    struct rpc_sent sent;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *result = result_of(cases[i].code, cases[i].fee_bump, cases[i].inner_code);
        assert_int_equal(send_refused(fake, result, &sent), ERR_OK);
        assert_int_equal(sent.status, RPC_SEND_ERROR);
        assert_int_equal(sent.code, cases[i].expected);
    }
    assert_int_equal(
        send_refused(fake, "AAAAAAAAAGT////7AAAAAA==", &sent), ERR_OK); /* recorded from stellar-rpc */
    assert_int_equal(sent.code, -5);
}

FAKE_TEST(an_ERROR_status_with_a_malformed_result_is_unavailable)
{
    struct fake_rpc *fake = *state;
    static const char *const results[] = {
        "", "AAAA", "AAAAAAAAAGT////7", "AAAAAAAAAGT////7AAAAAAAA", "?", "AAAAAAAAAGQAAAF7AAAAAA=="};
    for (size_t i = 0; i < ARRAY_LEN(results); i++) {
        struct rpc_sent sent;
        assert_int_equal(send_refused(fake, results[i], &sent), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "errorResultXdr"));
    }
    struct rpc_sent sent;
    fake_says(fake, FAKE_RESULT("{\"status\":\"ERROR\"}"));
    assert_int_equal(send_one(fake, &sent), ERR_RPC_UNAVAILABLE);
}

FAKE_TEST(an_unknown_status_of_sendTransaction_is_unavailable)
{
    struct fake_rpc *fake = *state;
    static const char *const bodies[] = {FAKE_RESULT("{\"status\":\"pending\"}"),
        FAKE_RESULT("{\"status\":\"\"}"), FAKE_RESULT("{}"),
        FAKE_ERROR(-32603, "could not submit transaction to stellar-core")};
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct rpc_sent sent;
        fake_says(fake, bodies[i]);
        assert_int_equal(send_one(fake, &sent), ERR_RPC_UNAVAILABLE);
    }
    struct rpc_sent sent;
    fake_says(fake, FAKE_ERROR(-32602, "invalid_xdr"));
    assert_int_equal(send_one(fake, &sent), ERR_RPC_REFUSED);
}

/* TransactionResult: txSUCCESS; a fee bump whose inner transaction is txFAILED. */
#define RESULT_SUCCESS "AAAAAAAAAGQAAAAAAAAAAAAAAAA="
#define RESULT_BUMPED_FAILED                                                                                 \
    "AAAAAAAAAMj////zAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP////8AAAAAAAAAAAAAAAA="

FAKE_TEST(a_transaction_is_found_or_not)
{
    struct fake_rpc *fake = *state;
    struct rpc_transaction found;
    struct hash hash = {{0xab}};
    fake_says(fake,
        FAKE_RESULT("{\"status\":\"SUCCESS\",\"latestLedger\":20,\"latestLedgerCloseTime\":\"1700159337\","
                    "\"oldestLedger\":7,\"ledger\":12,\"createdAt\":\"1700159300\",\"feeBump\":false,"
                    "\"resultXdr\":\"" RESULT_SUCCESS "\"}"));
    assert_int_equal(rpc_transaction(fake->rpc, &hash, &found, &detail), ERR_OK);
    assert_int_equal(found.status, RPC_TRANSACTION_SUCCESS);
    assert_int_equal(found.ledger, 12);
    assert_int_equal(found.code, 0);
    assert_int_equal(found.latest_ledger, 20);
    assert_int_equal(found.result.len, 20);
    assert_int_equal(result_fee_charged((struct bytes){found.result.bytes, found.result.len}), 100);
    assert_true(fake_heard(
        fake, "\"params\":{\"hash\":\"ab00000000000000000000000000000000000000000000000000000000000000\","));
    fake_says(
        fake, FAKE_RESULT(
                  "{\"status\":\"FAILED\",\"latestLedger\":20,\"oldestLedger\":7,\"latestLedgerCloseTime\":9,"
                  "\"ledger\":\"12\",\"resultXdr\":\"" RESULT_BUMPED_FAILED "\"}"));
    assert_int_equal(rpc_transaction(fake->rpc, &hash, &found, &detail), ERR_OK);
    assert_int_equal(found.status, RPC_TRANSACTION_FAILED);
    assert_int_equal(found.code, -1); /* innermost */
    assert_int_equal(found.ledger, 12);
    fake_says(fake, FAKE_RESULT("{\"status\":\"NOT_FOUND\",\"latestLedger\":20,\"oldestLedger\":7,"
                                "\"latestLedgerCloseTime\":\"9\",\"applicationOrder\":0,\"feeBump\":false,"
                                "\"ledger\":0,\"createdAt\":\"0\"}"));
    assert_int_equal(rpc_transaction(fake->rpc, &hash, &found, &detail), ERR_OK);
    assert_int_equal(found.status, RPC_TRANSACTION_NOT_FOUND);
    assert_int_equal(found.ledger, 0);
}

#define HOLED(members) FAKE_RESULT("{\"oldestLedger\":7," members "}")
#define XDR(base64) "\"resultXdr\":\"" base64 "\""

FAKE_TEST(a_getTransaction_response_with_missing_members_is_unavailable)
{
    struct fake_rpc *fake = *state;
    static const char *const bodies[] = {
        HOLED("\"status\":\"SUCCESS\",\"latestLedger\":20," XDR(RESULT_SUCCESS)),
        HOLED("\"status\":\"SUCCESS\",\"ledger\":12," XDR(RESULT_SUCCESS)),
        HOLED("\"status\":\"SUCCESS\",\"latestLedger\":20,\"ledger\":12"),
        HOLED("\"status\":\"SUCCESS\",\"latestLedger\":20,\"ledger\":12," XDR(RESULT_BUMPED_FAILED)),
        HOLED("\"status\":\"FAILED\",\"latestLedger\":20,\"ledger\":12," XDR(RESULT_SUCCESS)),
        HOLED("\"status\":\"NOT_FOUND\",\"latestLedger\":-1"),
        HOLED("\"status\":\"NOT_FOUND\""),
        HOLED("\"status\":\"MAYBE\",\"latestLedger\":20,\"ledger\":12"),
        HOLED("\"latestLedger\":20"),
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct rpc_transaction found;
        struct hash hash = {{1}};
        fake_says(fake, bodies[i]);
        assert_int_equal(rpc_transaction(fake->rpc, &hash, &found, &detail), ERR_RPC_UNAVAILABLE);
    }
}
