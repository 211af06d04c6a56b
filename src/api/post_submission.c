/* POST /v1/submissions?wait=SECONDS: fairway sends a transaction until a ledger ends its lease: a leased one
 * that the user has signed, or, in one call, one that authorization entries alone ask for, which is prepared,
 * leased and sent. The reply is its status. An end is never an HTTP error. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "call.h"
#include "status.h"
#include "submit/submitter.h"

static void done(struct engine_ticket *ticket);
static void watched(struct watch_ticket *ticket);

/* A call whose transaction is leased already is submitted as if the client had brought that. */
static void resubmit(struct call *call)
{
    struct engine_ticket *ticket = &call->ticket;
    struct lease_status *status = &call->watch.status;
    struct detail detail = {0};
    call->is_repeat = false;
    lease_wipe(&ticket->grant.lease);
    buf_free(&call->xdr);
    call->xdr = status->envelope;
    status->envelope = (struct buf){0};
    call->bump = (struct bump_request){.xdr = buf_bytes(&call->xdr),
        .inner_hash = status->hash,
        .max_fee_stroops = call->lease->max_fee_stroops,
        .limits = &call->api->settings.limits,
        .client_limits = *api_limits(call->http),
        .submits = true};
    snprintf(call->bump.client, sizeof call->bump.client, "%s", api_client(call->http));
    lease_status_free(status);
    *ticket = (struct engine_ticket){.kind = TICKET_BUMP, .done = done, .bump.request = &call->bump};
    call->watch = (struct watch_ticket){
        .done = watched, .deadline_ms = call->wait_until_ms, .wants_envelope = true, .submitted = true};
    atomic_store(&call->watched, false); /* from here on, whoever cancels it asks the engine */
    enum err e = atomic_load(&call->gone) ? ERR_CANCELLED : ERR_OK;
    if (e == ERR_OK)
        e = envelope_decode(call->bump.xdr, &call->bump.inner, &detail);
    if (e == ERR_OK) {
        call->bump.authority = authority_of(&call->bump.inner, &call->bump.inner_hash);
        e = engine_submit(call->api->settings.engine, ticket);
    }
    if (e != ERR_OK)
        call_refuse(call, e, &detail);
}

/* A retry under the key that took the lease is the first request again. */
static void watched(struct watch_ticket *ticket)
{
    struct call *call = call_of(ticket);
    struct json_write object = {0};
    if (ticket->error == ERR_TRANSACTION_NOT_FOUND && call->is_repeat && !call->first) {
        struct detail detail = {0};
        call_refuse(call,
            detail_set(&detail, ERR_AUTHORIZATION_LEASED,
                "A transaction of yours had this authorization, and its status is no longer kept: see hash."),
            &detail);
        return;
    }
    if (ticket->error != ERR_OK) {
        call_refuse(call, ticket->error, NULL);
        return;
    }
    const bool pending = strcmp(ticket->status.status, "pending") == 0;
    if (call->is_repeat && pending &&
        (ticket->status.rejected.len > 0 || call->lease->max_fee_stroops != 0 ||
            call->ticket.grant.is_unsent)) {
        resubmit(call);
        return;
    }
    api_begin_status(&object, &ticket->status);
    json_write_bool(&object, "first", call->first);
    call_reply(call, pending ? 202 : 200, &object);
}

/* What a look-up of a lease would return that has just been granted with its bid. */
static struct lease_status status_of(const struct grant *grant)
{
    const struct lease *lease = &grant->lease;
    struct lease_status status = {.hash = lease->hash,
        .sequence = lease->sequence,
        .max_time_s = (int64_t)lease->max_time_s,
        .granted_us = lease->granted_us,
        .bids = NEW(struct lease_bid),
        .bid_count = 1};
    address_encode(&lease->account, status.account);
    snprintf(status.status, sizeof status.status, "%s", lease->status);
    if (grant->request->reference[0] != '\0')
        status.reference = mem_copy_text(grant->request->reference);
    *status.bids = (struct lease_bid){lease->bid_hash, lease->bid_stroops};
    buf_add_bytes(&status.envelope, buf_bytes(&lease->envelope));
    return status;
}

/* Sends the bid, which is committed. Of a lease that has ended, or of another request, there is none. */
static void done(struct engine_ticket *ticket)
{
    struct call *call = (struct call *)ticket;
    struct submitter *submitter = call->api->settings.submitter;
    const struct lease *lease = &ticket->grant.lease;
    const struct bump *bump = &ticket->bump;
    const bool bumps = ticket->kind == TICKET_BUMP;
    const struct hash *hash = bumps ? &call->bump.inner_hash : &lease->hash;
    if (bumps && (bump->item.error == ERR_LEASE_SETTLED || bump->item.error == ERR_LEASE_EXPIRED)) {
        call_watch(call, hash);
        return;
    }
    if (!call_granted(call))
        return;
    if (bumps) {
        submitter_send(submitter, hash, bump, true);
        call->first |= bump->item.first;
        call_watch(call, hash);
        return;
    }
    call->watch.wants_envelope = true;
    call->is_repeat = lease->bid_stroops == 0;
    call->first = !ticket->grant.is_of_another;
    call->wait_until_ms = call->watch.deadline_ms;
    if (call->is_repeat && (call->lease->max_fee_stroops != 0 || ticket->grant.is_unsent))
        call->watch.deadline_ms = clock_ms(); /* its transaction is wanted at once */
    if (lease->bid_stroops != 0) {
        submitter_send(submitter, hash,
            &(struct bump){
                .item = {.hash = lease->bid_hash, .sent_ledger = lease->sent_ledger}, .envelope = lease->bid},
            true);
        call->watch.status = status_of(&ticket->grant);
        if (clock_ms() >= call->watch.deadline_ms) {
            watched(&call->watch);
            return;
        }
    }
    call_watch(call, hash);
}

/* Whether the body is a call that nobody but the user's authorization entries has to sign. */
static bool is_one_call(const json_t *body)
{
    struct buf xdr CLEANUP(buf_free) = {0};
    struct envelope envelope;
    if (json_read_has(body, "func") || json_read_has(body, "auth"))
        return true;
    return api_read_envelope(body, &xdr, NULL) == ERR_OK &&
           envelope_decode(buf_bytes(&xdr), &envelope, NULL) == ERR_OK &&
           envelope.form != ENVELOPE_FEE_BUMP && envelope.signature_count == 0 &&
           envelope.preconditions.extra_signer_count == 0 && policy_invokes_for_entries(&envelope);
}

static void begin(struct call *call, bool submits, const json_t *body)
{
    (void)submits;
    (is_one_call(body) ? call_lease : call_bump)(call, true, body);
}

void api_post_submission(struct http_request *request, void *api)
{
    struct call *call = call_new(api, request, true, done);
    call->watch.done = watched;
    call->watch.submitted = true;
    call_begin(call, begin);
}
