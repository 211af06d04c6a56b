/* The table of answers; answer.h says what follows from each. No answer ends a lease: only a ledger does. */
#include "answer.h"

#include "base/mem.h"

/* TransactionResultCodes, innermost, of the status ERROR. A code that is not here rejects. */
static const struct {
    int32_t code;
    enum answer answer;
} codes[] = {
    {-2, ANSWER_OPEN},    /* txTOO_EARLY: a later ledger may take it */
    {-3, ANSWER_OPEN},    /* txTOO_LATE: the ledger that proves it ends the lease soon */
    {-5, ANSWER_OPEN},    /* txBAD_SEQ: a ledger tells who has used the number, perhaps an earlier bid */
    {-7, ANSWER_OPEN},    /* txINSUFFICIENT_BALANCE: of the payer, which is ours; what it owes for other bids
                             passes */
    {-8, ANSWER_OPEN},    /* txNO_ACCOUNT: as txBAD_SEQ */
    {-9, ANSWER_NO_ROOM}, /* txINSUFFICIENT_FEE */
    {-11, ANSWER_OPEN},   /* txINTERNAL_ERROR: of the node */
    {-15, ANSWER_OPEN},   /* txBAD_MIN_SEQ_AGE_OR_GAP */
    {0, ANSWER_OPEN},     /* txSUCCESS is no error: the answer contradicts itself */
};

static enum answer answer_of_code(int32_t code)
{
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (codes[i].code == code)
            return codes[i].answer;
    return ANSWER_REJECTED;
}

enum answer answer_of(enum err e, const struct rpc_sent *sent, int64_t round_ledger)
{
    if (e != ERR_OK) /* unavailable, or "could not submit": the outcome is unknown */
        return ANSWER_OPEN;
    if (sent->status == RPC_SEND_PENDING || sent->status == RPC_SEND_DUPLICATE)
        return ANSWER_TAKEN;
    if (sent->status == RPC_SEND_TRY_AGAIN_LATER) /* banned, in a ledger, or not possible now: all say so */
        return ANSWER_OPEN;
    const enum answer answer = answer_of_code(sent->code);
    return answer == ANSWER_REJECTED && sent->latest_ledger < round_ledger ? ANSWER_OPEN : answer;
}
