/* Inside rpcs: the questions, and the addresses that are asked. */
#pragma once

#include <pthread.h>

#include "rpc/rpcs.h"

enum rpcs_question_kind {
    RPCS_ASK_LEDGERS,
    RPCS_ASK_NETWORK,
    RPCS_ASK_ACCOUNTS,
    RPCS_ASK_FROZEN,
    RPCS_ASK_TRANSACTION
};

/* Each address gets a copy: one that hangs may still be read when the caller has gone on. */
struct rpcs_question {
    uint64_t id; /* 0: for ledgers; else another one for each read */
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
    struct account_entry accounts[RPC_ENTRIES_MAX];
    struct frozen_accounts frozen;
    struct rpc_transaction transaction;
};
void rpcs_answer_free(struct rpcs_answer *answer);

struct rpcs_source {
    struct rpcs *rpcs;
    struct rpc *rpc;    /* owned; NULL: a test's feed */
    struct rpc *asking; /* owned; NULL: a test's feed, or an address that is alone: neither calls arrived */
    struct feed feed;
    bool arrived;         /* with the mutex: the feed has an answer, which was not read */
    bool asked, answered; /* it has a question; answer is to the last one */
    int64_t asked_ms;     /* clock_ms() when it was asked */
    int64_t again_ms;     /* it has failed: not asked before */
    struct rpcs_question question;
    struct rpcs_answer answer;
};

/* One thread uses it. The loop's thread sets arrived. */
struct rpcs {
    struct rpcs_source sources[RPC_ADDRESSES_MAX];
    size_t count;
    int ledger_ms;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t reads; /* so far */
    /* One address alone answers reads: since when, and the last time. 0: not so */
    int64_t alone_since_ms, alone_seen_ms;
};

/* False: it is busy, or has just failed. */
bool rpcs_ask(struct rpcs_source *source, const struct rpcs_question *question);
/* Moves the answer to the question with this id; one to another question is dropped. */
bool rpcs_take(struct rpcs_source *source, uint64_t id, struct rpcs_answer *out);
