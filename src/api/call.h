/*
 * A request that waits for the lease engine, for a ledger, or for one after the other: what the endpoints of
 * leases, fee bumps, submissions and statuses share. Whoever replies to it ends it: it is freed after the
 * reply, because until then its client may leave.
 */
#pragma once

#include <stdatomic.h>

#include "context.h"
#include "reply.h"
#include "rpc/rpc.h"

struct call {
    struct engine_ticket ticket; /* first: the engine returns it. The endpoint sets its done */
    struct watch_ticket watch;   /* the endpoint sets its done */
    struct worker_job job;       /* reads the RPC's answer, or a list of ends */
    struct rpc *asked;           /* for its one call of the RPC */
    int retry_after_s;           /* when the RPC may be asked again; 0: not known */
    struct api *api;
    struct http_request *http;
    struct client_load *load;  /* of its client, among whose waits it is counted; NULL: it is not */
    enum limit refused_by;     /* of its client, which has refused its wait or its simulation */
    bool shares[2];            /* of the connections: by enum connection_share */
    atomic_bool watched, gone; /* it is the watch's; the client has left */
    struct buf xdr;            /* the client's transaction, as it has sent it */
    struct bump_request bump;  /* points into xdr */
    /* Of a list of ends: */
    int64_t after; /* the cursor */
    size_t limit;  /* 0: after=now, only the cursor is wanted */
    /* Of a lease: */
    struct lease_request *lease; /* its envelope points into xdr or prepared; NULL: another call */
    bool has_key;                /* an Idempotency-Key, not just a token */
    bool prepares;               /* it is a contract call that entries alone authorize */
    bool reads_limits; /* the RPC has been asked for the network's limits, not for a simulation yet */
    /* Of a submission: */
    bool first;             /* no other request had submitted it, or a request with the same key */
    bool is_repeat;         /* of a call: its lease is of an earlier request, which this one may raise */
    int64_t wait_until_ms;  /* of such a repeat */
    struct envelope client; /* of xdr */
    struct buf prepared;    /* the transaction with the resource data that was found */
    char *members;          /* of the problem of a refusal: the text of a JSON object; NULL: none */
};

/* leases: it may become a lease. */
struct call *call_new(
    struct api *api, struct http_request *http, bool leases, void (*done)(struct engine_ticket *ticket));
struct call *call_of(struct watch_ticket *ticket);
struct call *call_of_job(struct worker_job *job);
/* Reads the request's wait, and refuses what of the query was not read. Unless the wait is 0, takes a share
 * of the connections and one of its client's waits. */
MUST_CHECK enum err call_begin_wait(struct call *call, struct detail *detail);
/* Takes a share of the connections, until the reply or an earlier end. */
MUST_CHECK enum err call_take_share(struct call *call, enum connection_share share);
/* When the client leaves, the engine or the watch ends the call. */
void call_on_client_gone(struct call *call);

/* 0: not given. */
MUST_CHECK enum err call_read_max_fee(const json_t *body, int64_t *fee_stroops, struct detail *detail);
/* Reads the wait, of a call that may become a lease its idempotency key, and the body, which one of the next
 * two takes; or refuses the call. */
void call_begin(struct call *call, void (*begin)(struct call *call, bool submits, const json_t *body));
/* Both read the request and hand it to the engine, or refuse it: a transaction to be leased, after checks and
 * a simulation; a leased transaction to be bumped, after a look at its signers if that is needed. */
void call_lease(struct call *call, bool submits, const json_t *body);
void call_bump(struct call *call, bool submits, const json_t *body);
/* Whether the engine has done what was asked; else the call is refused. */
bool call_granted(struct call *call);
/* Hands the call to the watch: its done is called with the status of this transaction. */
void call_watch(struct call *call, const struct hash *hash);

/* Sets call->asked, and returns it: when the RPC has answered, a worker runs this, which frees it, unless the
 * call goes on. */
struct rpc *call_ask(struct call *call, void (*run)(struct worker_job *job, enum err e, struct db *db));
/* The error of a request that the RPC has not answered: it never lets one pass. The cause is in the detail,
 * which is logged; nothing about it is the client's fault. ERR_NOT_YET stays. */
enum err call_no_result(enum err e);

void call_reply(struct call *call, int status, struct json_write *object);
/* With what the client needs to know about the error. */
void call_refuse(struct call *call, enum err e, const struct detail *detail);
