/* Inside rpcs: the questions, the RPCs that are asked, and the judgement of what they answer. */
#ifndef FAIRWAY_RPC_RPCS_PARTS_H
#define FAIRWAY_RPC_RPCS_PARTS_H

#include <pthread.h>

#include "rpc/rpcs.h"

enum rpcs_question_kind {
    RPCS_ASK_LEDGERS,
    RPCS_ASK_NETWORK,
    RPCS_ASK_ACCOUNTS,
    RPCS_ASK_FROZEN,
    RPCS_ASK_TRANSACTION
};

/* Each RPC gets a copy: one that hangs may still read it when the caller has gone on. */
struct rpcs_question {
    enum rpcs_question_kind kind;
    uint32_t start, limit; /* of ledgers */
    struct public_key keys[RPC_ENTRIES_MAX];
    size_t count; /* of keys */
    struct hash hash;
};

struct rpcs_answer {
    enum err e;
    struct detail detail;
    struct rpc_ledgers ledgers;
    struct rpc_network network;
    uint32_t ledger; /* as of which accounts and frozen are */
    struct rpc_account accounts[RPC_ENTRIES_MAX];
    struct frozen_accounts frozen;
    struct rpc_transaction transaction;
};

struct rpcs_source {
    struct rpcs *rpcs;
    struct rpc *rpc; /* owned; NULL: a test's feed */
    struct feed feed;
    unsigned number; /* its place in RPC_URL, from 1 */
    pthread_t thread;
    uint64_t asked, answered; /* numbers of questions; answer is to the second one */
    struct rpcs_answer answer;
    int64_t asked_ms; /* clock_ms() when it was asked what it has not answered yet; 0: nothing */
    int64_t again_ms; /* it has failed: not asked before */
    bool left_out;
};

/* What one RPC alone says: since when. */
struct rpcs_claim {
    uint32_t ledger; /* about which; 0: reads */
    int64_t since_ms, seen_ms;
};

struct rpcs {
    struct rpcs_source sources[RPC_ADDRESSES_MAX];
    size_t count;
    int ledger_ms, tip_ms; /* how long an answer is waited for; RPCS_TIP_MS */
    bool signatures;
    int stop_fd;           /* an eventfd that cancels calls */
    pthread_mutex_t mutex; /* of what follows, and of the sources */
    pthread_cond_t asked, answered;
    bool stopping, open; /* open: the question is being asked */
    struct rpcs_question question;
    uint64_t number; /* of the question */
    int64_t begun_ms;
    bool all_left_out; /* when it began */
    struct rpcs_claim ledger, read;
};

/* The answer to the question, from this RPC; NULL: it has not answered, or with an error. */
static inline struct rpcs_answer *rpcs_source_answer(struct rpcs_source *source)
{
    const bool has = source->answered == source->rpcs->number && source->answer.e == ERR_OK;
    return has ? &source->answer : NULL;
}

/* Whether it has answered the question with this error. */
static inline bool rpcs_source_says(const struct rpcs_source *source, enum err e)
{
    return source->answered == source->rpcs->number && source->answer.e == e;
}

void rpcs_source_leave_out(struct rpcs_source *source);

/* Whether it says that the ledger has not closed yet, and has all ledgers before. */
bool rpcs_source_is_up_to_date(const struct rpcs_source *source);

/* How many ledgers at the beginning of both are the same. */
size_t rpcs_same_ledgers(const struct rpcs_answer *a, const struct rpcs_answer *b);

/*
 * What the answers come to, with the mutex of rpcs locked: ERR_OK, and the RPC whose answer counts, and a
 * second one that says the same, or NULL; ERR_NOT_YET if more answers are waited for (waits) and may decide;
 * or an error of rpcs_feed. *range (may be NULL) is the RPC whose oldest and latest ledgers are returned.
 */
MUST_CHECK enum err rpcs_judge(struct rpcs *rpcs, bool waits, struct rpcs_source **first,
    struct rpcs_source **second, const struct rpcs_source **range, struct detail *detail);

#endif
