/* From the engine or the watch to the reply. What is asked of them is in call_lease.c and call_bump.c. */
#include "call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "base/text.h"

struct call *call_new(
    struct api *api, struct http_request *http, bool leases, void (*done)(struct engine_ticket *ticket))
{
    struct call *call = NEW(struct call);
    call->api = api;
    call->http = http;
    call->ticket.done = done;
    call->lease = leases ? NEW(struct lease_request) : NULL;
    return call;
}

struct call *call_of(struct watch_ticket *ticket)
{
    return (struct call *)((char *)ticket - offsetof(struct call, watch));
}

struct call *call_of_job(struct worker_job *job)
{
    return (struct call *)((char *)job - offsetof(struct call, job));
}

/*
 * Printable ASCII of the client's choice (draft-ietf-httpapi-idempotency-key-header, as plain text). Without
 * it, the token's hash is the key: a request that is captured and sent again has the same token. (With one,
 * the token names it.) The token itself is neither stored nor logged.
 */
static enum err read_key(struct call *call, struct detail *detail)
{
    const struct auth_client *client = call->http->kept;
    const char *key = http_header(call->http, "Idempotency-Key");
    struct lease_request *request = call->lease;
    char token[HASH_HEX_SIZE];
    size_t len = 0;
    while (key != NULL && key[len] >= ' ' && key[len] <= '~')
        len++;
    if (key != NULL && (key[len] != '\0' || len == 0 || len >= sizeof request->idempotency_key))
        return detail_set(detail, ERR_INVALID_REQUEST,
            "Idempotency-Key must be 1 to %d printable ASCII characters.", IDEMPOTENCY_KEY_SIZE - 1);
    call->has_key = key != NULL;
    if (key == NULL && client == NULL)
        return ERR_OK;
    if (client != NULL)
        hash_encode(&client->token, token);
    snprintf(request->idempotency_key, sizeof request->idempotency_key, "%s%s",
        key != NULL ? "" : "token:", key != NULL ? key : token);
    /* The hash of a client's body has been compared with its token, so it is not computed twice. */
    request->digest = client != NULL ? client->body_hash : sha256(buf_bytes(&call->http->body));
    return ERR_OK;
}

void call_begin(struct call *call, void (*begin)(struct call *call, bool submits, const json_t *body))
{
    AUTO_JSON json_t *body = NULL;
    struct detail detail = {0};
    enum err e = call_begin_wait(call, &detail);
    if (e == ERR_OK && call->lease != NULL)
        e = read_key(call, &detail);
    if (e == ERR_OK)
        e = api_read_body(call->http, &body, &detail);
    if (e == ERR_OK)
        begin(call, false, body);
    else
        call_refuse(call, e, &detail);
}

enum err call_read_max_fee(const json_t *body, int64_t *fee_stroops, struct detail *detail)
{
    uint64_t fee = 0;
    enum err e = json_read_has(body, "maxFee") ? json_read_decimal(body, "maxFee", 1, INT64_MAX, &fee, detail)
                                               : ERR_OK;
    *fee_stroops = (int64_t)fee;
    return e;
}

static void call_cancel(void *context)
{
    struct call *call = context;
    atomic_store(&call->gone, true);
    if (atomic_load(&call->watched))
        watch_cancel(call->api->settings.watch, &call->watch);
    else
        engine_cancel(call->api->settings.engine, &call->ticket);
}

void call_on_client_gone(struct call *call)
{
    http_on_client_gone(call->http, call_cancel, call);
}

enum err call_take_share(struct call *call, enum connection_share share)
{
    enum err e = connection_shares_take(&call->api->shares, share);
    call->shares[share] = e == ERR_OK;
    return e;
}

static void give_share(struct call *call, enum connection_share share)
{
    if (call->shares[share])
        connection_shares_give(&call->api->shares, share);
    call->shares[share] = false;
}

static enum err take_client_wait(struct call *call, struct detail *detail)
{
    const struct api_sender *sender = call->http->kept;
    struct limits limits = *api_limits(call->http);
    if (sender == NULL) /* AUTH=none */
        return ERR_OK;
    if (sender->client.others && limits.most[LIMIT_WAITS] == 0) /* half of what may wait */
        limits.most[LIMIT_WAITS] = call->api->shares.connections < 4 ? 1 : call->api->shares.connections / 4;
    call->refused_by = client_loads_begin_wait(&call->api->loads, sender->load, &limits);
    if (call->refused_by == LIMIT_NONE)
        call->load = sender->load;
    return limit_refuse(call->refused_by, &limits, detail);
}

enum err call_begin_wait(struct call *call, struct detail *detail)
{
    const char *text = http_query(call->http, "wait"), *unknown = http_query_unread(call->http);
    uint64_t wait_s = 0;
    if (unknown != NULL)
        return detail_set(
            detail, ERR_INVALID_REQUEST, "The query has an unknown parameter \"%.64s\".", unknown);
    if (text != NULL && text_to_u64(text, TRANSACTION_WAIT_MAX_S, &wait_s) != ERR_OK)
        return detail_set(
            detail, ERR_INVALID_REQUEST, "wait must be whole seconds from 0 to %d.", TRANSACTION_WAIT_MAX_S);
    call->watch.deadline_ms = clock_ms() + (int64_t)wait_s * 1000;
    if (wait_s == 0)
        return ERR_OK;
    enum err e = take_client_wait(call, detail);
    return e != ERR_OK ? e : call_take_share(call, SHARE_WAIT);
}

/* Before the reply, which lets the client send its next request. */
static void give_all(struct call *call)
{
    give_share(call, SHARE_WAIT);
    give_share(call, SHARE_LEASE);
    if (call->load != NULL)
        client_loads_end_wait(&call->api->loads, call->load);
}

bool call_granted(struct call *call)
{
    const bool bumps = call->ticket.kind == TICKET_BUMP;
    const struct grant *grant = &call->ticket.grant;
    const struct bump *bump = &call->ticket.bump;
    give_share(call, SHARE_LEASE);
    if ((bumps ? bump->state : grant->state) == GRANT_DONE)
        return true;
    call_refuse(call, bumps ? bump->item.error : grant->error, bumps ? &bump->item.detail : &grant->detail);
    return false;
}

void call_watch(struct call *call, const struct hash *hash)
{
    struct watch_ticket *ticket = &call->watch;
    ticket->hash = *hash;
    snprintf(ticket->client, sizeof ticket->client, "%s", api_client(call->http));
    atomic_store(&call->watched, true);
    if (atomic_load(&call->gone)) /* call_cancel may not have seen it */
        ticket->deadline_ms = 0;
    enum err e = watch_submit(call->api->settings.watch, ticket);
    if (e != ERR_OK)
        call_refuse(call, e, NULL);
}

/* The RPC has answered. Workers that stop take no job: its run then ends the call here. */
static void answered(void *context)
{
    struct call *call = context;
    call->job.item =
        (struct fair_item){.client = api_sharer(call->http), .deadline_ms = clock_ms() + API_ANSWER_MS};
    const enum err e = workers_submit(call->api->workers, &call->job);
    if (e != ERR_OK)
        call->job.run(&call->job, e, NULL);
}

struct rpc *call_ask(struct call *call, void (*run)(struct worker_job *job, enum err e, struct db *db))
{
    call->job = (struct worker_job){.queue = WORKER_ANSWERS, .run = run};
    call->asked = rpc_asking(call->api->rpc, &(struct rpc_ask){.done = answered,
                                                 .context = call,
                                                 .client = api_sharer(call->http),
                                                 .request_id = call->http->id,
                                                 .gone = &call->gone});
    return call->asked;
}

enum err call_no_result(enum err e)
{
    return e == ERR_CANCELLED                        ? ERR_SHUTTING_DOWN
           : e == ERR_NOT_YET || e == ERR_OVERLOADED ? e
                                                     : ERR_RPC_UNAVAILABLE;
}

static void call_free(struct call *call)
{
    if (call->ticket.kind == TICKET_BUMP)
        bump_wipe(&call->ticket.bump);
    else
        lease_wipe(&call->ticket.grant.lease);
    lease_status_free(&call->watch.status);
    buf_free(&call->xdr);
    buf_free(&call->prepared);
    free(call->members);
    if (call->lease != NULL)
        authorization_free(&call->lease->authorization);
    free(call->lease);
    free(call);
}

/* For the log: the transaction that was leased, or is to be bumped. */
static void name_transaction(const struct call *call)
{
    static const struct hash none;
    char hex[HASH_HEX_SIZE];
    const struct hash *hash =
        call->ticket.kind == TICKET_BUMP ? &call->bump.inner_hash : &call->ticket.grant.lease.hash;
    hash_encode(hash, hex);
    http_set_transaction(call->http, hash_equal(hash, &none) ? "" : hex);
}

void call_reply(struct call *call, int status, struct json_write *object)
{
    name_transaction(call);
    give_all(call);
    api_reply(call->http, status, object);
    call_free(call);
}

/* Of the problem: a text that is freed; NULL: none. */
static char *take_members(struct call *call, enum err e, enum limit limit)
{
    const bool bumps = call->ticket.kind == TICKET_BUMP;
    char hex[HASH_HEX_SIZE], *members = call->members;
    int64_t least;
    if (limit != LIMIT_NONE)
        return mem_format("{\"limit\":\"%s\"}", limit_name(limit));
    if (bumps && e == ERR_FEE_EXCEEDS_MAXIMUM)
        return mem_format("{\"maximumFee\":\"%" PRId64 "\"}", bump_fee_maximum(&call->bump));
    if (bumps && e == ERR_FEE_BELOW_MINIMUM && bump_fee(&call->bump, 0, &least, NULL) == ERR_OK)
        return mem_format("{\"minimumFee\":\"%" PRId64 "\"}", least);
    if (e == ERR_AUTHORIZATION_LEASED || e == ERR_IDEMPOTENCY_CONFLICT) {
        hash_encode(&call->ticket.grant.lease.hash, hex);
        return mem_format("{\"hash\":\"%s\"}", hex);
    }
    if (call->lease == NULL || e != call->lease->refusal)
        return NULL;
    call->members = NULL;
    return members;
}

/* When a request may be repeated; 0: as after any other with this error. */
static int retry_after_s(const struct call *call, enum err e, enum limit limit)
{
    const unsigned ledger_ms = call->api->settings.ledger_ms;
    const size_t short_s = call->ticket.ledgers * ledger_ms / 1000;
    if (limit != LIMIT_NONE)
        return limit_retry_after_s(limit, time(NULL), ledger_ms);
    if (e == ERR_CHANNEL_ACCOUNT_UNAVAILABLE)
        return short_s < TRANSACTION_WAIT_MAX_S ? (int)short_s : TRANSACTION_WAIT_MAX_S;
    return e == ERR_RPC_UNAVAILABLE ? call->retry_after_s : 0;
}

void call_refuse(struct call *call, enum err e, const struct detail *detail)
{
    const bool bumps = call->ticket.kind == TICKET_BUMP;
    if (atomic_load(&call->gone))
        e = ERR_CANCELLED;
    enum limit limit = bumps ? call->ticket.bump.item.limit : call->ticket.grant.limit;
    if (e == ERR_LIMIT_EXCEEDED && call->refused_by != LIMIT_NONE)
        limit = call->refused_by;
    name_transaction(call);
    give_all(call);
    api_refuse_with(call->http, e, detail, retry_after_s(call, e, limit), take_members(call, e, limit));
    call_free(call);
}
