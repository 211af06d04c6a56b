/*
 * A client of Stellar RPC (JSON-RPC 2.0 over HTTP; stellar-rpc 27 and 28), with the methods that fairway
 * needs. Responses are limited in size and time and are not trusted: callers check that ledgers are
 * those that they asked for. Integers are accepted as number or string. One thread of the process transfers
 * the bytes of all calls (rpc/loop.h); whoever reads an answer decodes it. A struct rpc may be used by
 * several threads. A call blocks until the response or the timeout, but for those of rpc_asking.
 */
#pragma once

#include <stdatomic.h>

#include "stellar/account.h"
#include "stellar/frozen.h"
#include "stellar/ids.h"
#include "stellar/result.h"

struct rpc;

#define RPC_ADDRESSES_MAX 8

struct rpc_settings {
    const char *url; /* copied; one address, or several with commas between them: when one fails, a call uses
                        the next; at most RPC_ADDRESSES_MAX */
    unsigned only;   /* 0: all addresses; else this one alone, counted from 1 */
    int timeout_ms;  /* of a transfer, from its beginning; 0: 15,000 */
    int wait_ms; /* for others of the process that the address answers; then ERR_OVERLOADED. 0: timeout_ms */
};

/*
 * The files of all RPCs of this process; NULL: none. headers has lines "N: Name: value", where N is * or the
 * number of an address of url; it is read again when it changes. Certificates in authorities (PEM) replace
 * the system's. To be called once, before any call. ERR_CONFIG: a file cannot be read,
 * others can read the headers, or a line is wrong; detail says which, and never what it says.
 */
MUST_CHECK enum err rpc_set_files(
    const char *headers, const char *authorities, const char *url, struct detail *detail);

/* Never fails and does not connect. Ignores the proxy variables of the environment and follows no redirects.
 */
struct rpc *rpc_new(const struct rpc_settings *settings);
/* All calls return ERR_CANCELLED soon, those in progress and later ones. */
void rpc_cancel(struct rpc *rpc);
/* Returns when the done of each call that was begun has returned. */
void rpc_settle(struct rpc *rpc);
void rpc_free(struct rpc *rpc); /* rpc_settle, and frees it. NULL is fine */

/* The number of addresses in a url. rpc_new uses the first RPC_ADDRESSES_MAX. */
size_t rpc_address_count(const char *url);
/* Whether an earlier address of the url is the same as this one, counted from 1. A slash at the end makes no
 * difference. */
bool rpc_address_repeats(const char *url, unsigned address);
/* Whether one of them is http, not https, and of another host: anyone on the network path can change its
 * responses. */
bool rpc_is_plain(const char *url);
/* Scheme, host and port of the address of url, counted from 1: the rest may be secret. The caller frees the
 * text. */
char *rpc_origin(const char *url, unsigned address);

/*
 * Errors of all calls. ERR_RPC_UNAVAILABLE, where a retry may help: no connection, timeout, HTTP 429, 5xx or
 * redirect, a response that is not HTTP, a body that is too large, a response that is malformed or to another
 * request, and the JSON-RPC errors of the server itself (-32603, -32099 to -32000). ERR_RPC_REFUSED: any
 * other JSON-RPC error; detail has code and message. ERR_OVERLOADED: the address had no room in time.
 * ERR_CANCELLED. ERR_CONFIG: url is not http or https.
 */

/* How a call ends that does not block. */
struct rpc_ask {
    /* Has another thread make the call again. Called by the thread that transfers, or by that of the call
     * when nobody is asked; must not block. */
    void (*done)(void *context);
    void *context;
    const char *client;     /* whose call it is: clients take turns. NULL: nobody's in particular */
    const char *request_id; /* for X-Request-Id; NULL: none */
    /* Once set, an address that has not been asked yet is not asked: ERR_CANCELLED. NULL: never. All of these
     * live until the call has ended. */
    const atomic_bool *gone;
};
/*
 * For one call that does not block, at the addresses of rpc, which outlives it. The first call begins, and
 * returns ERR_NOT_YET. After done the same function reads the answer; what was sent need not be given again.
 * ERR_NOT_YET then: it is repeated, or another address is asked, and done is called again. Else it has ended;
 * the next call begins another one. To free it drops a call whose done has been called, or is never called
 * after rpc_settle.
 */
struct rpc *rpc_asking(struct rpc *rpc, const struct rpc_ask *ask);

struct rpc_network {
    char *passphrase;
    uint32_t node_protocol; /* of rpc_node_protocol, which a feed asks too; else 0 */
};
/* The caller frees *out with rpc_network_free; {0} on error. */
MUST_CHECK enum err rpc_network(struct rpc *rpc, struct rpc_network *out, struct detail *detail);
void rpc_network_free(struct rpc_network *network);

/* The newest protocol that the node behind the RPC understands, of getVersionInfo; 0: not known. ERR_OK, or
 * ERR_NOT_YET as rpc_asking. */
MUST_CHECK enum err rpc_node_protocol(struct rpc *rpc, uint32_t *protocol);

/* Whether there are all methods that serve calls. ERR_CONFIG: detail names one that is missing. */
MUST_CHECK enum err rpc_check_methods(struct rpc *rpc, struct detail *detail);

/* One ledger of getLedgers. */
struct rpc_ledger {
    uint32_t sequence;
    struct hash hash;
    struct bytes meta; /* LedgerCloseMeta, decoded from base64 */
};
struct rpc_ledgers {
    struct rpc_ledger *items;
    size_t count;
    uint32_t latest_ledger;
    struct buf storage; /* has the bytes of all meta */
};
/*
 * Reads at most limit ledgers from start on; at least one on ERR_OK. The caller checks that they are the
 * requested ones, and frees *out with rpc_ledgers_free. ERR_LEDGER_AHEAD: start is above the tip of this
 * node; retry later. ERR_LEDGER_GAP: start is below the oldest ledger of this node. latest_ledger is set in
 * both cases.
 */
MUST_CHECK enum err rpc_ledgers(
    struct rpc *rpc, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail);
void rpc_ledgers_free(struct rpc_ledgers *ledgers);

/* Reads the account entries of 1 to RPC_ENTRIES_MAX keys. out[i].removed says whether keys[i] is missing
 * as of *ledger. ERR_RPC_REFUSED also when an entry is not of a requested account, or of a newer protocol.
 * Retries an internal error of the server for up to two seconds. */
#define RPC_ENTRIES_MAX 200
MUST_CHECK enum err rpc_accounts(struct rpc *rpc, const struct public_key keys[], size_t count,
    struct account_entry out[], uint32_t *ledger, struct detail *detail);

/* The same, with the LedgerEntryData of each account in entries[i], empty when it does not exist. The caller
 * has zeroed entries, and frees each. */
MUST_CHECK enum err rpc_account_entries(struct rpc *rpc, const struct public_key keys[], size_t count,
    struct buf entries[], uint32_t *ledger, struct detail *detail);

/* Reads the accounts that are frozen as of *ledger; none before protocol 26. The caller frees *out with
 * frozen_accounts_free. Retries as rpc_accounts. */
MUST_CHECK enum err rpc_frozen(
    struct rpc *rpc, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail);

/* What a contract call may declare at most: instructions, bytes read from disk, bytes written. The network
 * votes on these settings (CONFIG_SETTING entries). 0: not told. */
#define RPC_LIMITS 3
MUST_CHECK enum err rpc_limits(struct rpc *rpc, uint32_t out[RPC_LIMITS], struct detail *detail);

enum rpc_send_status {
    RPC_SEND_PENDING,
    RPC_SEND_DUPLICATE,
    RPC_SEND_TRY_AGAIN_LATER,
    RPC_SEND_ERROR
};
struct rpc_sent {
    enum rpc_send_status status;
    const char *name;          /* of the status; a constant */
    int32_t code;              /* with RPC_SEND_ERROR: the TransactionResultCode, innermost; else 0 */
    struct result_kept result; /* the same */
    uint32_t latest_ledger;    /* of the RPC's store; 0: not known */
};
/* No status proves that the transaction will not be included. */
MUST_CHECK enum err rpc_send(
    struct rpc *rpc, struct bytes envelope, struct rpc_sent *out, struct detail *detail);

enum rpc_transaction_status {
    RPC_TRANSACTION_NOT_FOUND,
    RPC_TRANSACTION_SUCCESS,
    RPC_TRANSACTION_FAILED
};
struct rpc_transaction {
    enum rpc_transaction_status status;
    int32_t code;    /* found: the TransactionResultCode, innermost */
    uint32_t ledger; /* found: the one that has it */
    struct result_kept result;
    uint32_t latest_ledger;
};
/* Looks up a transaction by its outer or inner hash. Not found means: in no ledger up to latest_ledger that
 * the server still has. */
MUST_CHECK enum err rpc_transaction(
    struct rpc *rpc, const struct hash *hash, struct rpc_transaction *out, struct detail *detail);

/* Whether an address has refused a call in the last minute. Those that are avoided (rpc/rpcs.h) count when
 * all are. */
bool rpc_is_scarce(struct rpc *rpc);

/* When it succeeds all but the last two members are set, else only these. What the server does not tell is
 * empty. */
struct rpc_simulation {
    uint32_t ledger; /* the state was that of this ledger; 0: the server does not say */
    bool succeeds;
    bool emits;                   /* it has events of contracts */
    bool restores;                /* entries have to be restored by another transaction before */
    int64_t resource_fee_stroops; /* the least that the transaction has to declare */
    struct buf data;              /* SorobanTransactionData, validated */
    struct buf returned;          /* SCVal, validated */
    char error[120];              /* why it does not: the server's words, the first line, cut to fit */
    bool nonce_used;              /* an entry's nonce is stored already, as its log says */
    char *report;      /* a JSON object of at most 4 KiB with more of them: "simulationError" and "events" */
    int retry_after_s; /* after an error: when an address may be asked again; 0: not known */
};
void rpc_simulation_free(struct rpc_simulation *simulation);
/*
 * Runs the one Soroban operation of the envelope on the server's latest ledger. Signatures of the envelope
 * are not needed. enforce_auth: authorization entries are checked as on the network, where the default would
 * be to record the missing ones; the server takes it for InvokeHostFunction only. ERR_OK also when the
 * operation fails. The caller frees *out with rpc_simulation_free, also on error.
 *
 * newest: the last ledger that is known. A failure as of an earlier one, or for want of what every node has,
 * is the node's: another address is asked, then ERR_RPC_UNAVAILABLE. An address that has refused (HTTP 429,
 * 503, no answer in time) is asked for no simulation for some time; its refusal is not repeated elsewhere.
 */
MUST_CHECK enum err rpc_simulate(struct rpc *rpc, struct bytes envelope, bool enforce_auth, uint32_t newest,
    struct rpc_simulation *out, struct detail *detail);
