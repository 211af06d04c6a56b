/* What follows from the answers of sendTransaction (DL16). */
#include "check.h"

#include "answer.h"
#include "base/mem.h"

#define ROUND 100

static enum answer answer(enum rpc_send_status status, int32_t code, uint32_t latest_ledger)
{
    const struct rpc_sent sent = {.status = status, .code = code, .latest_ledger = latest_ledger};
    return answer_of(ERR_OK, &sent, ROUND);
}

TEST(DL16_no_status_but_ERROR_rejects)
{
    assert_int_equal(answer(RPC_SEND_PENDING, 0, ROUND), ANSWER_TAKEN);
    assert_int_equal(answer(RPC_SEND_DUPLICATE, 0, ROUND), ANSWER_TAKEN);
    assert_int_equal(answer(RPC_SEND_TRY_AGAIN_LATER, 0, ROUND), ANSWER_OPEN);
}

TEST(DL16_each_code_of_ERROR_has_its_consequence)
{
    static const enum answer by_code[] = {
        /* from txSUCCESS down to txFROZEN_KEY_ACCESSED and an unknown one */
        ANSWER_OPEN, ANSWER_REJECTED, ANSWER_OPEN, ANSWER_OPEN, ANSWER_REJECTED, ANSWER_OPEN, ANSWER_REJECTED,
        ANSWER_OPEN, ANSWER_OPEN, ANSWER_NO_ROOM, ANSWER_REJECTED, ANSWER_OPEN, ANSWER_REJECTED,
        ANSWER_REJECTED, ANSWER_REJECTED, ANSWER_OPEN, ANSWER_REJECTED, ANSWER_REJECTED, ANSWER_REJECTED,
        ANSWER_REJECTED};
    for (size_t i = 0; i < ARRAY_LEN(by_code); i++)
        assert_int_equal(answer(RPC_SEND_ERROR, -(int32_t)i, ROUND), by_code[i]);
}

TEST(DL16_a_node_that_lags_rejects_nothing)
{
    assert_int_equal(answer(RPC_SEND_ERROR, -6, ROUND - 1), ANSWER_OPEN);
    assert_int_equal(answer(RPC_SEND_ERROR, -6, 0), ANSWER_OPEN);
    assert_int_equal(answer(RPC_SEND_ERROR, -9, ROUND - 1), ANSWER_NO_ROOM);
}

TEST(DL16_an_unknown_outcome_changes_nothing)
{
    const struct rpc_sent sent = {.status = RPC_SEND_ERROR, .code = -6, .latest_ledger = ROUND};
    assert_int_equal(answer_of(ERR_RPC_UNAVAILABLE, &sent, ROUND), ANSWER_OPEN);
    assert_int_equal(answer_of(ERR_CANCELLED, &sent, ROUND), ANSWER_OPEN);
}
