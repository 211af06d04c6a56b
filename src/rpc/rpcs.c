/* Asks several RPCs at the same time, each in a thread of its own. What their answers come to is judged in
 * rpcs_judge.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/invariant.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "rpcs_parts.h"

/* ---- one RPC */

static void answer_free(struct rpcs_answer *answer)
{
    rpc_ledgers_free(&answer->ledgers);
    rpc_network_free(&answer->network);
    frozen_accounts_free(&answer->frozen);
    *answer = (struct rpcs_answer){0};
}

static struct rpcs_answer ask(const struct feed *feed, const struct rpcs_question *q)
{
    struct rpcs_answer out = {0};
    switch (q->kind) {
    case RPCS_ASK_LEDGERS:
        out.e = feed->ledgers(feed->source, q->start, q->limit, &out.ledgers, &out.detail);
        break;
    case RPCS_ASK_NETWORK:
        out.e = feed->network(feed->source, &out.network, &out.detail);
        break;
    case RPCS_ASK_ACCOUNTS:
        out.e = feed->accounts(feed->source, q->keys, q->count, out.accounts, &out.ledger, &out.detail);
        break;
    case RPCS_ASK_FROZEN:
        out.e = feed->frozen(feed->source, &out.frozen, &out.ledger, &out.detail);
        break;
    case RPCS_ASK_TRANSACTION:
        out.e = feed->transaction(feed->source, &q->hash, &out.transaction, &out.detail);
        break;
    }
    return out;
}

void rpcs_source_leave_out(struct rpcs_source *source)
{
    if (!source->left_out)
        log_warn(
            "an RPC of RPC_URL is not waited for until it has the latest ledger; one may be believed alone",
            "rpc=%u detail=\"%s\"", source->number,
            source->answered == source->rpcs->number ? source->answer.detail.text : "it does not answer");
    source->left_out = true;
}

static void take_part_again(struct rpcs_source *source)
{
    source->left_out = false;
    log_info("an RPC of RPC_URL has the latest ledger again and takes part again", "rpc=%u", source->number);
}

/* With the mutex. An answer to an earlier question that was another one is too late. */
static void note_answer(struct rpcs_source *source, struct rpcs_answer *answer)
{
    source->asked_ms = 0;
    if (answer->e == ERR_RPC_UNAVAILABLE)
        source->again_ms = clock_ms() + RPCS_AGAIN_MS;
    if (source->asked != source->rpcs->number) {
        answer_free(answer);
        return;
    }
    answer_free(&source->answer);
    source->answer = *answer;
    source->answered = source->asked;
    const bool reads = source->rpcs->question.kind != RPCS_ASK_LEDGERS && answer->e == ERR_OK;
    if (source->left_out && (reads || answer->ledgers.count > 0 || rpcs_source_is_up_to_date(source)))
        take_part_again(source);
    pthread_cond_signal(&source->rpcs->answered);
}

static void *run(void *context)
{
    struct rpcs_source *source = context;
    struct rpcs *rpcs = source->rpcs;
    pthread_mutex_lock(&rpcs->mutex);
    while (!rpcs->stopping) {
        if (!rpcs->open || source->asked == rpcs->number) {
            pthread_cond_wait(&rpcs->asked, &rpcs->mutex);
            continue;
        }
        const struct rpcs_question question = rpcs->question;
        source->asked = rpcs->number;
        source->asked_ms = clock_ms();
        pthread_mutex_unlock(&rpcs->mutex);
        struct rpcs_answer answer = ask(&source->feed, &question);
        pthread_mutex_lock(&rpcs->mutex);
        note_answer(source, &answer);
    }
    pthread_mutex_unlock(&rpcs->mutex);
    return NULL;
}

/* ---- a question to all */

/* Ledgers that it has returned for the same question, and a failure of a moment ago, are its answer. */
static bool has_answer_to(const struct rpcs_source *source, const struct rpcs_question *question)
{
    const struct rpcs_question *before = &source->rpcs->question;
    if (clock_left_ms(source->again_ms) > 0 && source->answer.e == ERR_RPC_UNAVAILABLE)
        return true;
    return rpcs_source_says(source, ERR_OK) && source->answer.ledgers.count > 0 &&
           question->kind == RPCS_ASK_LEDGERS && before->start == question->start;
}

/* Its answer, which may take longer than a question is open, counts for this one. */
static bool is_being_asked(const struct rpcs_source *source, const struct rpcs_question *question)
{
    const struct rpcs_question *before = &source->rpcs->question;
    return source->asked_ms != 0 && source->asked == source->rpcs->number &&
           question->kind == RPCS_ASK_LEDGERS && before->kind == question->kind &&
           before->start == question->start;
}

static bool all_left_out(const struct rpcs *rpcs)
{
    for (size_t i = 0; i < rpcs->count; i++)
        if (!rpcs->sources[i].left_out)
            return false;
    return true;
}

static void begin(struct rpcs *rpcs, const struct rpcs_question *question)
{
    const uint64_t number = rpcs->number + 1;
    for (size_t i = 0; i < rpcs->count; i++) {
        struct rpcs_source *source = &rpcs->sources[i];
        if (is_being_asked(source, question))
            source->asked = number;
        else if (has_answer_to(source, question))
            source->asked = source->answered = number;
        else
            answer_free(&source->answer);
    }
    rpcs->number = number;
    rpcs->question = *question;
    rpcs->begun_ms = clock_ms();
    rpcs->all_left_out = all_left_out(rpcs);
    rpcs->open = true;
    pthread_cond_broadcast(&rpcs->asked);
}

/* Whether an answer is still waited for. One that has not come for ledger_ms has its RPC left out. When all
 * were, each is waited for again: the first one to answer is not believed alone. */
static bool waits(struct rpcs *rpcs)
{
    bool any = false;
    for (size_t i = 0; i < rpcs->count; i++) {
        struct rpcs_source *source = &rpcs->sources[i];
        if ((source->left_out && !rpcs->all_left_out) || source->answered == rpcs->number)
            continue;
        if (source->asked_ms != 0 && clock_ms() - source->asked_ms >= rpcs->ledger_ms)
            rpcs_source_leave_out(source);
        else
            any = true;
    }
    return any;
}

/* Between two looks at how long an answer has been waited for. */
#define LOOK_MS 50

/* Returns with the mutex locked, also after an error: the caller unlocks it when it has used the answers. */
static enum err ask_all(struct rpcs *rpcs, const struct rpcs_question *question, struct rpcs_source **first,
    struct rpcs_source **second, const struct rpcs_source **range, struct detail *detail)
{
    enum err e;
    pthread_mutex_lock(&rpcs->mutex);
    begin(rpcs, question);
    while ((e = rpcs_judge(rpcs, waits(rpcs), first, second, range, detail)) == ERR_NOT_YET) {
        const struct timespec until = clock_timespec(clock_ms() + LOOK_MS);
        pthread_cond_timedwait(&rpcs->answered, &rpcs->mutex, &until);
    }
    rpcs->open = false;
    return e;
}

static void unlock_at(struct rpcs **rpcs)
{
    pthread_mutex_unlock(&(*rpcs)->mutex);
}

/* Moves the first ledgers of the answer to *out. */
static void take_ledgers(struct rpcs_source *source, size_t count, struct rpc_ledgers *out)
{
    *out = source->answer.ledgers;
    out->count = count;
    source->answer.ledgers = (struct rpc_ledgers){0};
    source->answered = 0;
}

static enum err ledgers(
    void *context, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    struct rpcs *rpcs CLEANUP(unlock_at) = context;
    const struct rpcs_question question = {.kind = RPCS_ASK_LEDGERS, .start = start, .limit = limit};
    struct rpcs_source *first, *second;
    const struct rpcs_source *range = NULL;
    *out = (struct rpc_ledgers){0};
    const enum err e = ask_all(rpcs, &question, &first, &second, &range, detail);
    if (range != NULL) {
        out->oldest_ledger = range->answer.ledgers.oldest_ledger;
        out->latest_ledger = range->answer.ledgers.latest_ledger;
    }
    if (e != ERR_OK)
        return e;
    /* In turn, so that an RPC that changes ledgers is noticed whatever its place. */
    if (second != NULL && start % 2 == 0) {
        struct rpcs_source *other = first;
        first = second;
        second = other;
    }
    const size_t same =
        second != NULL ? rpcs_same_ledgers(&first->answer, &second->answer) : first->answer.ledgers.count;
    take_ledgers(first, same, out);
    if (second != NULL) {
        out->other = NEW(struct rpc_ledgers);
        take_ledgers(second, same, out->other);
    }
    return ERR_OK;
}

static enum err network(void *context, struct rpc_network *out, struct detail *detail)
{
    struct rpcs *rpcs CLEANUP(unlock_at) = context;
    struct rpcs_source *first, *second;
    *out = (struct rpc_network){0};
    const enum err e =
        ask_all(rpcs, &(struct rpcs_question){.kind = RPCS_ASK_NETWORK}, &first, &second, NULL, detail);
    if (e == ERR_OK) {
        *out = first->answer.network;
        first->answer.network = (struct rpc_network){0};
    }
    return e;
}

/* Of two that say the same, the one that gains nothing by naming a later ledger. */
static struct rpcs_answer *earlier(struct rpcs_source *first, struct rpcs_source *second)
{
    return second != NULL && second->answer.ledger < first->answer.ledger ? &second->answer : &first->answer;
}

static enum err accounts(void *context, const struct public_key keys[], size_t count,
    struct rpc_account out[], uint32_t *ledger, struct detail *detail)
{
    struct rpcs *rpcs CLEANUP(unlock_at) = context;
    struct rpcs_question question = {.kind = RPCS_ASK_ACCOUNTS, .count = count};
    struct rpcs_source *first, *second;
    INVARIANT(count <= RPC_ENTRIES_MAX);
    memcpy(question.keys, keys, count * sizeof keys[0]);
    const enum err e = ask_all(rpcs, &question, &first, &second, NULL, detail);
    if (e != ERR_OK)
        return e;
    *ledger = earlier(first, second)->ledger;
    memcpy(out, first->answer.accounts, count * sizeof out[0]);
    return ERR_OK;
}

static enum err frozen(void *context, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail)
{
    struct rpcs *rpcs CLEANUP(unlock_at) = context;
    struct rpcs_source *first, *second;
    *out = (struct frozen_accounts){0};
    const enum err e =
        ask_all(rpcs, &(struct rpcs_question){.kind = RPCS_ASK_FROZEN}, &first, &second, NULL, detail);
    if (e != ERR_OK)
        return e;
    *ledger = earlier(first, second)->ledger;
    *out = first->answer.frozen;
    first->answer.frozen = (struct frozen_accounts){0};
    return ERR_OK;
}

static enum err transaction(
    void *context, const struct hash *hash, struct rpc_transaction *out, struct detail *detail)
{
    struct rpcs *rpcs CLEANUP(unlock_at) = context;
    const struct rpcs_question question = {.kind = RPCS_ASK_TRANSACTION, .hash = *hash};
    struct rpcs_source *first, *second;
    const enum err e = ask_all(rpcs, &question, &first, &second, NULL, detail);
    if (e != ERR_OK)
        return e;
    *out = first->answer.transaction;
    bool confirmed = true;
    for (size_t i = 0; i < rpcs->count && second == NULL; i++)
        confirmed &= &rpcs->sources[i] == first || rpcs->sources[i].left_out;
    if (!confirmed)
        out->status = RPC_TRANSACTION_NOT_FOUND;
    return ERR_OK;
}

struct feed rpcs_feed(struct rpcs *rpcs)
{
    if (rpcs->count == 1)
        return rpcs->sources[0].feed;
    return (struct feed){ledgers, network, accounts, frozen, transaction, rpcs};
}

/* ---- start and stop */

/* A busy machine must not leave an RPC out. */
#define WAIT_MIN_MS 1000

static struct rpcs *new_rpcs(const struct rpcs_settings *settings)
{
    struct rpcs *rpcs = NEW(struct rpcs);
    rpcs->ledger_ms = settings->ledger_ms > WAIT_MIN_MS ? settings->ledger_ms : WAIT_MIN_MS;
    rpcs->tip_ms = RPCS_TIP_MS;
    rpcs->signatures = settings->signatures;
    rpcs->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (rpcs->stop_fd < 0)
        log_fatal(EX_OSERR, "cannot create an eventfd", "reason=\"%s\"", strerror(errno));
    pthread_mutex_init(&rpcs->mutex, NULL);
    pthread_cond_init(&rpcs->asked, NULL);
    thread_cond_init(&rpcs->answered);
    return rpcs;
}

static struct rpcs_source *add_source(struct rpcs *rpcs)
{
    struct rpcs_source *source = &rpcs->sources[rpcs->count++];
    source->rpcs = rpcs;
    source->number = (unsigned)rpcs->count;
    return source;
}

/* An RPC that is alone is called by the caller's thread. */
static struct rpcs *start_threads(struct rpcs *rpcs)
{
    for (size_t i = 0; i < rpcs->count && rpcs->count > 1; i++)
        thread_start(&rpcs->sources[i].thread, run, &rpcs->sources[i]);
    return rpcs;
}

struct rpcs *rpcs_start(const struct rpcs_settings *settings)
{
    struct rpcs *rpcs = new_rpcs(settings);
    const size_t named = rpc_address_count(settings->url);
    do {
        struct rpcs_source *source = add_source(rpcs);
        source->rpc = rpc_new(
            &(struct rpc_settings){.url = settings->url, .only = source->number, .cancel_fd = rpcs->stop_fd});
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
    if (rpcs != NULL && eventfd_write(rpcs->stop_fd, 1) != 0)
        log_error("cannot cancel calls of Stellar RPC; waiting for them", NULL);
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
        answer_free(&rpcs->sources[i].answer);
    }
    pthread_cond_destroy(&rpcs->answered);
    pthread_cond_destroy(&rpcs->asked);
    pthread_mutex_destroy(&rpcs->mutex);
    close(rpcs->stop_fd);
    free(rpcs);
}
