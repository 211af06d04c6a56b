/* Asks the addresses of RPC_URL, each in a thread of its own. What their answers come to is judged in
 * rpcs_reads.c and in ingest/follow.c. */
#include "rpc/rpcs.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "base/thread.h"
#include "rpcs_parts.h"

/* ---- one address */

void rpcs_answer_free(struct rpcs_answer *answer)
{
    rpc_ledgers_free(&answer->ledgers);
    rpc_network_free(&answer->network);
    frozen_accounts_free(&answer->frozen);
    *answer = (struct rpcs_answer){0};
}

static void call(const struct feed *feed, const struct rpcs_question *q, struct rpcs_answer *out)
{
    switch (q->kind) {
    case RPCS_ASK_LEDGERS:
        out->e = feed->ledgers(feed->source, q->start, q->limit, &out->ledgers, &out->detail);
        break;
    case RPCS_ASK_NETWORK:
        out->e = feed->network(feed->source, &out->network, &out->detail);
        break;
    case RPCS_ASK_ACCOUNTS:
        out->e = feed->accounts(feed->source, q->keys, q->count, out->accounts, &out->ledger, &out->detail);
        break;
    case RPCS_ASK_FROZEN:
        out->e = feed->frozen(feed->source, &out->frozen, &out->ledger, &out->detail);
        break;
    case RPCS_ASK_TRANSACTION:
        out->e = feed->transaction(feed->source, &q->hash, &out->transaction, &out->detail);
        break;
    }
}

/* With the mutex, which is free during the call. While a source is asked, nobody else touches its question
 * and its answer. */
static void answer(struct rpcs_source *source)
{
    pthread_mutex_unlock(&source->rpcs->mutex);
    call(&source->feed, &source->question, &source->answer);
    pthread_mutex_lock(&source->rpcs->mutex);
    source->again_ms = source->answer.e == ERR_RPC_UNAVAILABLE ? clock_ms() + RPCS_AGAIN_MS : 0;
    source->asked = false;
    source->answered = true;
    pthread_cond_signal(&source->rpcs->answered);
}

static void *run(void *context)
{
    struct rpcs_source *source = context;
    struct rpcs *rpcs = source->rpcs;
    pthread_mutex_lock(&rpcs->mutex);
    while (!rpcs->stopping) {
        if (source->asked)
            answer(source);
        else
            pthread_cond_wait(&rpcs->asked, &rpcs->mutex);
    }
    pthread_mutex_unlock(&rpcs->mutex);
    return NULL;
}

/* An address that is alone is called by the caller's thread, which decides itself when it repeats what has
 * failed. */
bool rpcs_ask(struct rpcs_source *source, const struct rpcs_question *question)
{
    struct rpcs *rpcs = source->rpcs;
    pthread_mutex_lock(&rpcs->mutex);
    const bool asks = !source->asked && (rpcs->count == 1 || clock_left_ms(source->again_ms) == 0);
    if (asks) {
        rpcs_answer_free(&source->answer);
        source->question = *question;
        source->asked = true;
        source->answered = false;
        source->asked_ms = clock_ms();
        if (rpcs->count == 1)
            answer(source);
        else
            pthread_cond_broadcast(&rpcs->asked);
    }
    pthread_mutex_unlock(&rpcs->mutex);
    return asks;
}

bool rpcs_take(struct rpcs_source *source, uint64_t id, struct rpcs_answer *out)
{
    struct rpcs *rpcs = source->rpcs;
    pthread_mutex_lock(&rpcs->mutex);
    const bool is_one = source->answered && source->question.id == id;
    if (is_one) {
        *out = source->answer;
        source->answer = (struct rpcs_answer){0};
    } else if (source->answered) {
        rpcs_answer_free(&source->answer);
    }
    source->answered = false;
    pthread_mutex_unlock(&rpcs->mutex);
    return is_one;
}

/* ---- ledgers, and the wait for an answer */

size_t rpcs_count(const struct rpcs *rpcs)
{
    return rpcs->count;
}

void rpcs_ask_ledgers(struct rpcs *rpcs, size_t address, uint32_t start, uint32_t limit)
{
    const struct rpcs_question question = {.kind = RPCS_ASK_LEDGERS, .start = start, .limit = limit};
    (void)rpcs_ask(&rpcs->sources[address], &question);
}

bool rpcs_take_ledgers(struct rpcs *rpcs, size_t address, struct rpcs_ledgers *out)
{
    struct rpcs_source *source = &rpcs->sources[address];
    struct rpcs_answer *taken AUTO_FREE = NEW(struct rpcs_answer);
    if (!rpcs_take(source, 0, taken))
        return false;
    *out = (struct rpcs_ledgers){.e = taken->e,
        .detail = taken->detail,
        .start = source->question.start,
        .asked_ms = source->asked_ms,
        .ledgers = taken->ledgers};
    return true;
}

int64_t rpcs_waits_ms(struct rpcs *rpcs, size_t address)
{
    const struct rpcs_source *source = &rpcs->sources[address];
    pthread_mutex_lock(&rpcs->mutex);
    const int64_t waits_ms = source->asked ? clock_ms() - source->asked_ms : source->answered ? 0 : -1;
    pthread_mutex_unlock(&rpcs->mutex);
    return waits_ms;
}

/* With the mutex. */
static bool any_answered(const struct rpcs *rpcs)
{
    for (size_t i = 0; i < rpcs->count; i++)
        if (rpcs->sources[i].answered)
            return true;
    return false;
}

void rpcs_wait(struct rpcs *rpcs, int64_t until_ms)
{
    const struct timespec until = clock_timespec(until_ms);
    pthread_mutex_lock(&rpcs->mutex);
    while (!any_answered(rpcs) && clock_left_ms(until_ms) > 0)
        pthread_cond_timedwait(&rpcs->answered, &rpcs->mutex, &until);
    pthread_mutex_unlock(&rpcs->mutex);
}

/* ---- start and stop */

static struct rpcs *new_rpcs(const struct rpcs_settings *settings)
{
    struct rpcs *rpcs = NEW(struct rpcs);
    rpcs->ledger_ms = settings->ledger_ms;
    pthread_mutex_init(&rpcs->mutex, NULL);
    pthread_cond_init(&rpcs->asked, NULL);
    thread_cond_init(&rpcs->answered);
    return rpcs;
}

static struct rpcs_source *add_source(struct rpcs *rpcs)
{
    struct rpcs_source *source = &rpcs->sources[rpcs->count++];
    source->rpcs = rpcs;
    return source;
}

static struct rpcs *start_threads(struct rpcs *rpcs)
{
    for (size_t i = 0; i < rpcs->count && rpcs->count > 1; i++)
        thread_start(&rpcs->sources[i].thread, "ledgers", run, &rpcs->sources[i]);
    return rpcs;
}

struct rpcs *rpcs_start(const struct rpcs_settings *settings)
{
    struct rpcs *rpcs = new_rpcs(settings);
    const size_t named = rpc_address_count(settings->url);
    do {
        struct rpcs_source *source = add_source(rpcs);
        source->rpc = rpc_new(&(struct rpc_settings){.url = settings->url, .only = (unsigned)rpcs->count});
        source->feed = feed_of_rpc(source->rpc);
    } while (rpcs->count < named && rpcs->count < RPC_ADDRESSES_MAX);
    return start_threads(rpcs);
}

struct rpcs *rpcs_start_feeds(const struct feed feeds[], size_t count, const struct rpcs_settings *settings)
{
    struct rpcs *rpcs = new_rpcs(settings);
    for (size_t i = 0; i < count; i++)
        add_source(rpcs)->feed = feeds[i];
    return start_threads(rpcs);
}

void rpcs_cancel(struct rpcs *rpcs)
{
    for (size_t i = 0; rpcs != NULL && i < rpcs->count; i++)
        if (rpcs->sources[i].rpc != NULL)
            rpc_cancel(rpcs->sources[i].rpc);
}

void rpcs_stop(struct rpcs *rpcs)
{
    if (rpcs == NULL)
        return;
    rpcs_cancel(rpcs);
    pthread_mutex_lock(&rpcs->mutex);
    rpcs->stopping = true;
    pthread_cond_broadcast(&rpcs->asked);
    pthread_mutex_unlock(&rpcs->mutex);
    for (size_t i = 0; i < rpcs->count; i++) {
        if (rpcs->count > 1)
            pthread_join(rpcs->sources[i].thread, NULL);
        rpc_free(rpcs->sources[i].rpc);
        rpcs_answer_free(&rpcs->sources[i].answer);
    }
    pthread_cond_destroy(&rpcs->answered);
    pthread_cond_destroy(&rpcs->asked);
    pthread_mutex_destroy(&rpcs->mutex);
    free(rpcs);
}
