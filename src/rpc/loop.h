/*
 * The one thread of this process that runs transfers: HTTP POSTs by libcurl, each limited in time and size.
 * It moves bytes only: whoever has handed a transfer over reads the answer on another thread. So no answer
 * that takes long to decode, and no database, delays another one.
 *
 * An address has a number of open transfers at most, of which each class has a share, and connections that
 * stay open between transfers. The classes come in their order; in a class clients take turns. Only http and
 * https are used. Redirects and the proxies of the environment are ignored: a request goes to the configured
 * URL only.
 */
#pragma once

#include <curl/curl.h>
#include <stdatomic.h>

#include "address.h"
#include "base/bytes.h"
#include "base/err.h"

/* The caller's memory, which the loop alone touches from loop_run until it calls done. */
struct loop_transfer {
    struct fair_item item; /* first; deadline_ms: it begins before, or fails with ERR_OVERLOADED */
    struct address *address;
    enum rpc_class class;
    const char *json;             /* what is posted */
    const char *request_id;       /* NULL: no X-Request-Id. Longer than 64 bytes, it is cut */
    unsigned number;              /* of the address in RPC_URL, for its headers; 0: not there */
    size_t max_body;              /* of the answer */
    int64_t not_before_ms;        /* clock_ms() before which it does not begin; 0: at once */
    int timeout_ms;               /* from when it begins */
    const atomic_bool *cancelled; /* once set, and loop_look: it ends with ERR_CANCELLED */
    const atomic_bool *gone;      /* once set: so it does soon, unless it has begun; NULL: never */
    /* Called once, by the loop's thread, which it must not hold up. The memory is the caller's again. */
    void (*done)(struct loop_transfer *transfer);

    /* What came of it. ERR_OK: a whole answer. ERR_RPC_UNAVAILABLE: none, or one that is not HTTP.
     * ERR_OVERLOADED, ERR_CANCELLED. ERR_CONFIG: the URL is not http or https. detail never contains the URL,
     * which may hold an API key. */
    enum err e;
    struct detail detail;
    long status;           /* of HTTP */
    struct buf body;       /* whoever takes the transfer back frees it */
    bool timed_out;        /* no answer came in time */
    int64_t retry_after_s; /* what the answer says; 0: nothing */
    int64_t begun_ms;      /* clock_ms(); 0: it has not begun */
    int64_t took_us;

    /* The loop's: */
    struct loop_transfer *next;
    CURL *easy;
    int64_t begun_us;
    char message[CURL_ERROR_SIZE];
    struct curl_slist *headers;
};

/* Hands a transfer over. Never blocks. */
void loop_run(struct loop_transfer *transfer);
/* Has the loop look which transfers are cancelled. */
void loop_look(void);
