/*
 * Stellar RPC over HTTP (JSON-RPC 2.0; stellar-rpc 27, 28), the few methods that fairway needs. Every answer
 * is bounded in size and time and is not trusted: integers are read as number or string, ids and sequences
 * are checked by who uses them. One struct rpc belongs to one thread; calls block until the answer or the
 * timeout.
 */
#ifndef FAIRWAY_RPC_RPC_H
#define FAIRWAY_RPC_RPC_H

#include "stellar/ids.h"
#include "stellar/ledger.h"

struct rpc;

struct rpc_settings {
    const char *url; /* copied */
    int timeout_ms;  /* 0: 15,000 */
    size_t max_body; /* 0: 256 MiB */
    int cancel_fd;   /* becomes readable when the process stops: calls end with ERR_CANCELLED; -1: none */
};

/* Never fails and does not connect. Proxy variables of the environment are ignored, redirects not followed.
 */
struct rpc *rpc_new(const struct rpc_settings *settings);
void rpc_free(struct rpc *rpc); /* NULL is fine */

/*
 * Errors of all calls: ERR_RPC_UNAVAILABLE (no connection, timeout, HTTP 429, 5xx or redirect, body too
 * large, not an answer to this request, and the JSON-RPC errors with which a server speaks of itself, -32603
 * and -32099 to -32000: trying again may help), ERR_RPC_REFUSED (any other JSON-RPC error; detail has code
 * and message), ERR_CANCELLED, ERR_CONFIG (url is not http or https).
 */

struct rpc_health {
    bool healthy;
    uint32_t latest_ledger, oldest_ledger;
};
/* Unhealthy is an answer, not an error; detail then has the reason. */
MUST_CHECK enum err rpc_health(struct rpc *rpc, struct rpc_health *out, struct detail *detail);

/* passphrase: new memory. friendbot: new memory or NULL. */
struct rpc_network {
    char *passphrase, *friendbot_url;
    uint32_t protocol;
};
MUST_CHECK enum err rpc_network(struct rpc *rpc, struct rpc_network *out, struct detail *detail);
void rpc_network_free(struct rpc_network *network);

/* One ledger as getLedgers gives it. */
struct rpc_ledger {
    uint32_t sequence;
    struct hash hash;
    struct bytes meta; /* LedgerCloseMeta, decoded from base64 */
};
struct rpc_ledgers {
    struct rpc_ledger *items;
    size_t count;
    uint32_t latest_ledger, oldest_ledger;
    struct buf storage; /* what items' meta points into */
};
/*
 * Ledgers from start on, at most limit. ERR_LEDGER_AHEAD: start is above the tip (wait; also when a load
 * balancer's other node is behind); ERR_LEDGER_GAP: start is below what this RPC keeps. latest and oldest are
 * set in both cases. On success there is at least one; that they are the ones asked for is for the caller to
 * check.
 */
MUST_CHECK enum err rpc_ledgers(
    struct rpc *rpc, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail);
void rpc_ledgers_free(struct rpc_ledgers *ledgers);

/* Account entries: out[i].found tells whether keys[i] exists as of *ledger. 1 to 200 keys a call.
 * ERR_RPC_REFUSED also for an entry that is another's or no account. */
#define RPC_ENTRIES_MAX 200
struct rpc_account {
    bool found;
    int64_t sequence;
    bool own_authority; /* see stellar/ledger.h */
    int64_t balance_stroops;
    int64_t reserves, selling_stroops; /* see stellar/ledger.h */
};
MUST_CHECK enum err rpc_accounts(struct rpc *rpc, const struct public_key keys[], size_t count,
    struct rpc_account out[], uint32_t *ledger, struct detail *detail);

/* The accounts that the network has frozen as of *ledger; frozen_accounts_free. None before protocol 26. */
MUST_CHECK enum err rpc_frozen(
    struct rpc *rpc, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail);

enum rpc_send_status {
    RPC_SEND_PENDING,
    RPC_SEND_DUPLICATE,
    RPC_SEND_TRY_AGAIN_LATER,
    RPC_SEND_ERROR
};
struct rpc_sent {
    enum rpc_send_status status;
    int32_t code; /* with RPC_SEND_ERROR: the TransactionResultCode, innermost; else 0 */
};
/* None of the outcomes proves that the transaction will not be included. */
MUST_CHECK enum err rpc_send(
    struct rpc *rpc, struct bytes envelope, struct rpc_sent *out, struct detail *detail);

enum rpc_transaction_status {
    RPC_TRANSACTION_NOT_FOUND,
    RPC_TRANSACTION_SUCCESS,
    RPC_TRANSACTION_FAILED
};
struct rpc_transaction {
    enum rpc_transaction_status status;
    int32_t code; /* found: the TransactionResultCode, innermost */
    uint32_t ledger, latest_ledger, oldest_ledger;
    uint64_t latest_close_time_s;
};
/* By outer or inner hash. Not found says no more than: in no ledger from oldest to latest. */
MUST_CHECK enum err rpc_transaction(
    struct rpc *rpc, const struct hash *hash, struct rpc_transaction *out, struct detail *detail);

#endif
