/* Asks the addresses of RPC_URL, by the loop, which tells that an answer has arrived; the thread that uses
 * this reads it. What the answers come to is judged in rpcs_reads.c and in ingest/follow.c. */
#include "rpc/rpcs.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "base/thread.h"
#include "call.h"
#include "rpcs_parts.h"

/* ---- one address */

void rpcs_answer_free(struct rpcs_answer *answer)
{
    rpc_ledgers_free(&answer->ledgers);
    rpc_network_free(&answer->network);
    frozen_accounts_free(&answer->frozen);
    *answer = (struct rpcs_answer){0};
}

/* Called by the loop's thread. */
static void arrived(void *context)
{
    struct rpcs_source *source = context;
    pthread_mutex_lock(&source->rpcs->mutex);
    source->arrived = true;
    pthread_cond_signal(&source->rpcs->changed);
    pthread_mutex_unlock(&source->rpcs->mutex);
}

static enum err call_feed(const struct feed *feed, const struct rpcs_question *q, struct rpcs_answer *out)
{
    switch (q->kind) {
    case RPCS_ASK_LEDGERS:
        return feed->ledgers(feed->source, q->start, q->limit, &out->ledgers, &out->detail);
    case RPCS_ASK_NETWORK:
        return feed->network(feed->source, &out->network, &out->detail);
    case RPCS_ASK_ACCOUNTS:
        return feed->accounts(feed->source, q->keys, q->count, out->accounts, &out->ledger, &out->detail);
    case RPCS_ASK_FROZEN:
        return feed->frozen(feed->source, &out->frozen, &out->ledger, &out->detail);
    case RPCS_ASK_TRANSACTION:
        return feed->transaction(feed->source, &q->hash, &out->transaction, &out->detail);
    }
    return ERR_INTERNAL;
}

/* Makes the call: to begin it, or to read the answer that has arrived. */
static void look(struct rpcs_source *source)
{
    struct rpcs_answer *answer = &source->answer;
    pthread_mutex_lock(&source->rpcs->mutex);
    const bool calls = source->asked && (source->arrived || source->asking == NULL);
    source->arrived = false;
    pthread_mutex_unlock(&source->rpcs->mutex);
    if (!calls || (answer->e = call_feed(&source->feed, &source->question, answer)) == ERR_NOT_YET)
        return;
    source->again_ms = answer->e == ERR_RPC_UNAVAILABLE ? clock_ms() + RPCS_AGAIN_MS : 0;
    source->asked = false;
    source->answered = true;
}

/* An address that is alone answers at once; its user decides itself when it repeats what has failed. */
bool rpcs_ask(struct rpcs_source *source, const struct rpcs_question *question)
{
    look(source);
    if (source->asked || (source->rpcs->count > 1 && clock_left_ms(source->again_ms) > 0))
        return false;
    rpcs_answer_free(&source->answer);
    source->question = *question;
    source->asked = source->arrived = true;
    source->answered = false;
    source->asked_ms = clock_ms();
    look(source);
    return true;
}

bool rpcs_take(struct rpcs_source *source, uint64_t id, struct rpcs_answer *out)
{
    look(source);
    const bool is_one = source->answered && source->question.id == id;
    if (is_one) {
        *out = source->answer;
        source->answer = (struct rpcs_answer){0};
    } else if (source->answered) {
        rpcs_answer_free(&source->answer);
    }
    source->answered = false;
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
    struct rpcs_source *source = &rpcs->sources[address];
    look(source);
    return source->asked ? clock_ms() - source->asked_ms : source->answered ? 0 : -1;
}

void rpcs_avoid(struct rpcs *rpcs, size_t address, bool avoided)
{
    if (rpcs->sources[address].rpc != NULL)
        atomic_store(&rpcs->sources[address].rpc->addresses[0]->avoided, avoided);
}

bool rpcs_are_scarce(const struct rpcs *rpcs)
{
    bool any = false;
    for (size_t i = 0; i < rpcs->count; i++) {
        struct rpc *rpc = rpcs->sources[i].rpc;
        any |= rpc != NULL && rpc_is_scarce(rpc) && !atomic_load(&rpc->addresses[0]->avoided);
    }
    return any;
}

/* With the mutex. */
static bool any_answered(const struct rpcs *rpcs)
{
    for (size_t i = 0; i < rpcs->count; i++)
        if (rpcs->sources[i].answered || rpcs->sources[i].arrived)
            return true;
    return false;
}

void rpcs_wait(struct rpcs *rpcs, int64_t until_ms)
{
    const struct timespec until = clock_timespec(until_ms);
    pthread_mutex_lock(&rpcs->mutex);
    while (!any_answered(rpcs) && clock_left_ms(until_ms) > 0)
        pthread_cond_timedwait(&rpcs->changed, &rpcs->mutex, &until);
    pthread_mutex_unlock(&rpcs->mutex);
}

/* ---- start and stop */

static struct rpcs *new_rpcs(const struct rpcs_settings *settings)
{
    struct rpcs *rpcs = NEW(struct rpcs);
    rpcs->ledger_ms = settings->ledger_ms;
    pthread_mutex_init(&rpcs->mutex, NULL);
    thread_cond_init(&rpcs->changed);
    return rpcs;
}

static struct rpcs_source *add_source(struct rpcs *rpcs)
{
    struct rpcs_source *source = &rpcs->sources[rpcs->count++];
    source->rpcs = rpcs;
    return source;
}

struct rpcs *rpcs_start(const struct rpcs_settings *settings)
{
    struct rpcs *rpcs = new_rpcs(settings);
    const size_t named = rpc_address_count(settings->url);
    do {
        struct rpcs_source *source = add_source(rpcs);
        source->rpc = rpc_new(&(struct rpc_settings){.url = settings->url, .only = (unsigned)rpcs->count});
        if (named > 1)
            source->asking = rpc_asking(source->rpc, &(struct rpc_ask){.done = arrived, .context = source});
        source->feed = feed_of_rpc(named > 1 ? source->asking : source->rpc);
    } while (rpcs->count < named && rpcs->count < RPC_ADDRESSES_MAX);
    return rpcs;
}

struct rpcs *rpcs_start_feeds(const struct feed feeds[], size_t count, const struct rpcs_settings *settings)
{
    struct rpcs *rpcs = new_rpcs(settings);
    for (size_t i = 0; i < count; i++)
        add_source(rpcs)->feed = feeds[i];
    return rpcs;
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
    for (size_t i = 0; i < rpcs->count; i++) {
        struct rpcs_source *source = &rpcs->sources[i];
        if (source->rpc != NULL)
            rpc_settle(source->rpc);
        rpc_free(source->asking);
        rpc_free(source->rpc);
        rpcs_answer_free(&source->answer);
    }
    pthread_cond_destroy(&rpcs->changed);
    pthread_mutex_destroy(&rpcs->mutex);
    free(rpcs);
}
