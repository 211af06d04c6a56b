/* The submitter's own thread: claims what is due, has the next bids made, reads the answers and writes what
 * they mean. Nothing is sent before it is committed. */
#include "submit/submitter.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "grant/bid_rule.h"
#include "pool/submissions.h"
#include "sender.h"
#include "stellar/envelope_build.h"
#include "stellar/result.h"

/* What is due is claimed this often, also without a notification. */
#define CLAIM_EVERY_MS 1000
/* Claims skip what a stopped replica has locked, until the server ends its session (5 s): so a claim looks
 * back over so many ledgers, and this often over all. */
#define CLAIM_BACK 10
#define CLAIM_ALL_MS 10000
/* A replica whose addresses all fail leaves what is due to the others, for so long more. */
#define CLAIM_FAILING_MS 1000
/* Nothing more is claimed while so many of the last claims are to be sent or raised: what clients submit now
 * would wait behind them, in the queues of the addresses and the engine's. */
#define WAITING_MAX 32

struct submitter {
    struct submitter_settings settings;
    atomic_size_t raising; /* bids that the engine has */
    struct sender *sender;
    pthread_t thread;
    struct db *db;                  /* the thread's */
    int64_t claimed_ledger, all_ms; /* the thread's: the cursor of its last claim; when it claims all again */
    bool failing;                   /* the thread's: its last claim failed */
    bool leaves;                    /* the thread's: it has left what is due to other replicas */
    atomic_bool stopping;
    int64_t claim_ms;      /* the thread's: when it claims without being woken */
    pthread_mutex_t mutex; /* guards the rest */
    pthread_cond_t changed;
    bool woken, answered;
};

void submitter_ledger(void *context)
{
    struct submitter *submitter = context;
    pthread_mutex_lock(&submitter->mutex);
    submitter->woken = true;
    pthread_cond_signal(&submitter->changed);
    pthread_mutex_unlock(&submitter->mutex);
}

void submitter_send(
    struct submitter *submitter, const struct hash *lease, const struct bump *bump, bool is_new)
{
    if (bump->item.sent_ledger == 0)
        return;
    sender_send(submitter->sender,
        &(struct sender_item){.lease = *lease,
            .bid = bump->item.hash,
            .round_ledger = bump->item.sent_ledger,
            .is_new = is_new},
        buf_bytes(&bump->envelope));
}

/* ---- answers */

/* Called by the sender. */
static void answered(void *context)
{
    struct submitter *submitter = context;
    pthread_mutex_lock(&submitter->mutex);
    submitter->answered = true;
    pthread_cond_signal(&submitter->changed);
    pthread_mutex_unlock(&submitter->mutex);
}

/* Takes those that mean something. */
static size_t take_answers(
    struct submitter *submitter, struct sender_item items[], struct submission_answer answers[])
{
    size_t count = 0;
    for (struct sender_item *item; count < SUBMISSIONS_CLAIM;) {
        item = &items[count];
        if (!sender_take(submitter->sender, item))
            break;
        const bool rejected = item->answer == ANSWER_REJECTED;
        if (!rejected && item->answer != ANSWER_NO_ROOM && item->reached)
            continue;
        answers[count++] = (struct submission_answer){.lease = item->lease,
            .bid = item->bid,
            .result = {rejected ? item->sent.result.bytes : NULL, rejected ? item->sent.result.len : 0},
            .asked_stroops = item->answer == ANSWER_NO_ROOM ? item->asked_stroops : 0};
    }
    return count;
}

/* One that cannot be written is dropped: the next bid gets the same answer. */
static void write_answers(struct submitter *submitter)
{
    struct sender_item items[SUBMISSIONS_CLAIM];
    struct submission_answer answers[SUBMISSIONS_CLAIM];
    for (size_t count; (count = take_answers(submitter, items, answers)) > 0;) {
        struct detail detail = {0};
        db_set_deadline(submitter->db, clock_ms() + SUBMIT_DATABASE_MS);
        const enum err e = submissions_answer(submitter->db, answers, count, &detail);
        if (e != ERR_OK)
            log_warn("cannot write what the RPCs answered to submissions", "count=%zu error=%s detail=\"%s\"",
                count, err_code(e), detail.text);
        for (size_t i = 0; e == ERR_OK && i < count; i++) {
            char hex[HASH_HEX_SIZE];
            hash_encode(&items[i].lease, hex);
            if (items[i].answer == ANSWER_REJECTED)
                log_info("a submission is rejected; it is sent again when its client submits it again",
                    "lease=%s code=%s", hex, result_code_name(items[i].sent.code));
        }
    }
}

/* ---- the next bid */

struct raise {
    struct engine_ticket ticket; /* first: the engine returns it */
    struct submitter *submitter;
    struct bump_request request;
    struct buf xdr; /* the request points into it */
};

static void raise_free(struct raise *raise)
{
    raise->submitter->raising--;
    bump_wipe(&raise->ticket.bump);
    buf_free(&raise->xdr);
    free(raise);
}

/* One that is refused is due again after the next ledger. */
static void raise_done(struct engine_ticket *ticket)
{
    struct raise *raise = (struct raise *)ticket;
    if (ticket->bump.state == GRANT_DONE)
        submitter_send(raise->submitter, &raise->request.inner_hash, &ticket->bump, false);
    else
        log_debug("no higher bid", "error=%s detail=\"%s\"", err_code(ticket->bump.item.error),
            ticket->bump.item.detail.text);
    raise_free(raise);
}

/* The signatures were checked when the client submitted. */
static void raise_bid(struct submitter *submitter, const struct submission_due *due)
{
    struct raise *raise = NEW(struct raise);
    struct bump_request *request = &raise->request;
    raise->submitter = submitter;
    submitter->raising++;
    raise->ticket.kind = TICKET_BUMP;
    raise->ticket.done = raise_done;
    raise->ticket.bump.request = request;
    buf_add_bytes(&raise->xdr, fee_bump_inner(due->outer));
    *request = (struct bump_request){.xdr = buf_bytes(&raise->xdr),
        .inner_hash = due->lease,
        .authority = AUTHORITY_PROVED,
        .limits = submitter->settings.limits,
        .submits = true,
        .raises = true,
        .replaced = due->bid,
        .asked_stroops = due->asked_stroops};
    snprintf(request->client, sizeof request->client, "%s", due->client);
    if (envelope_decode(request->xdr, &request->inner, NULL) != ERR_OK ||
        engine_submit(submitter->settings.engine, &raise->ticket) != ERR_OK)
        raise_free(raise);
}

/* ---- claims */

static void send_or_raise(struct submitter *submitter, const struct submission_due *due)
{
    struct envelope inner = {0};
    if (due->asked_stroops != 0 && envelope_decode(fee_bump_inner(due->outer), &inner, NULL) != ERR_OK)
        return;
    if (bid_is_lost(
            due->tip - due->round_ledger, due->asked_stroops, inner.resource_fee_stroops, due->earlier))
        raise_bid(submitter, due);
    else
        sender_send(submitter->sender,
            &(struct sender_item){.lease = due->lease, .bid = due->bid, .round_ledger = due->round_ledger},
            due->outer);
}

static void wait_for_room(struct submitter *submitter)
{
    for (size_t waiting; !submitter->stopping; clock_sleep_ms(2)) {
        write_answers(submitter);
        waiting = sender_waiting(submitter->sender);
        if (submitter->raising <= WAITING_MAX && (waiting <= WAITING_MAX || waiting == SIZE_MAX))
            break;
    }
}

static enum err claim(struct submitter *submitter, struct detail *detail)
{
    struct submission_due due[SUBMISSIONS_CLAIM];
    size_t count = SUBMISSIONS_CLAIM;
    enum err e = ERR_OK;
    const bool all = clock_ms() >= submitter->all_ms;
    const int64_t since = all ? 0 : submitter->claimed_ledger - CLAIM_BACK;
    int64_t until = INT64_MAX; /* the cursor of the first claim */
    if (all)
        submitter->all_ms = clock_ms() + CLAIM_ALL_MS;
    while (e == ERR_OK && count == SUBMISSIONS_CLAIM && !submitter->stopping) {
        AUTO_ROWS rows = NULL;
        wait_for_room(submitter);
        db_set_deadline(submitter->db, clock_ms() + SUBMIT_DATABASE_MS);
        e = submissions_claim(submitter->db, since, until, due, &count, &rows, detail);
        for (size_t i = 0; i < count; i++)
            send_or_raise(submitter, &due[i]);
        if (count > 0 && until == INT64_MAX)
            until = due[0].tip;
        /* what no address takes is due at once: it would be claimed again, and again before the rest */
        if (sender_waiting(submitter->sender) == SIZE_MAX)
            break;
    }
    if (e == ERR_OK && until != INT64_MAX)
        submitter->claimed_ledger = until;
    return e;
}

/* Blocks until there may be something to do. *claims: to claim, and not only to read answers. False: the
 * submitter stops. */
static bool wait_for_work(struct submitter *submitter, bool *claims)
{
    const struct timespec until = clock_timespec(submitter->claim_ms);
    pthread_mutex_lock(&submitter->mutex);
    while (!submitter->woken && !submitter->answered &&
           pthread_cond_timedwait(&submitter->changed, &submitter->mutex, &until) == 0)
        ;
    *claims = submitter->woken || clock_left_ms(submitter->claim_ms) == 0;
    submitter->answered = false;
    if (*claims)
        submitter->woken = false;
    pthread_mutex_unlock(&submitter->mutex);
    return !submitter->stopping;
}

static void log_outcome(struct submitter *submitter, enum err e, const struct detail *detail)
{
    if (e != ERR_OK && !submitter->failing)
        log_warn("cannot read which submissions are due; retrying", "error=%s detail=\"%s\"", err_code(e),
            detail->text);
    if (e == ERR_OK && submitter->failing)
        log_info("submissions are sent again", NULL);
    submitter->failing = e != ERR_OK;
}

static void *run(void *context)
{
    struct submitter *submitter = context;
    for (bool claims; wait_for_work(submitter, &claims);) {
        struct detail detail = {0};
        write_answers(submitter);
        if (!claims)
            continue;
        submitter->claim_ms = clock_ms() + CLAIM_EVERY_MS;
        submitter->leaves = !submitter->leaves && sender_waiting(submitter->sender) == SIZE_MAX;
        if (submitter->leaves)
            submitter->claim_ms += CLAIM_FAILING_MS;
        else
            log_outcome(submitter, claim(submitter, &detail), &detail);
    }
    return NULL;
}

/* ---- */

struct submitter *submitter_start(const struct submitter_settings *settings)
{
    struct submitter *submitter = NEW(struct submitter);
    submitter->settings = *settings;
    pthread_mutex_init(&submitter->mutex, NULL);
    thread_cond_init(&submitter->changed);
    submitter->sender = sender_start(settings->rpc_url, answered, submitter);
    submitter->db = db_new(&(struct db_settings){.url = settings->database_url, .name = "fairway submit"});
    thread_start(&submitter->thread, "submit", run, submitter);
    return submitter;
}

void submitter_stop(struct submitter *submitter)
{
    submitter->stopping = true;
    submitter_ledger(submitter);
    pthread_join(submitter->thread, NULL);
}

void submitter_free(struct submitter *submitter)
{
    sender_stop(submitter->sender);
    db_free(submitter->db);
    pthread_cond_destroy(&submitter->changed);
    pthread_mutex_destroy(&submitter->mutex);
    free(submitter);
}
