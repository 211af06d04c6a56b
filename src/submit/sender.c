/* Queues of bytes to send, one for each address of RPC_URL. Nothing is sent that is not committed: the
 * callers have seen that. What the answers mean is in answer.c. */
#include "sender.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"

/* Of each address. A call waits for the whole way to the RPC and back: at 50 ms these send 320 a second. */
#define THREADS 16
#define QUEUE_MAX 4096

struct address {
    struct sender *sender;
    unsigned number; /* in RPC_URL, from 1 */
    struct rpc *rpc;
    pthread_cond_t arrived;
    struct sender_item *queue[QUEUE_MAX]; /* a ring */
    size_t first, count;
    bool failing; /* the last call failed */
    pthread_t threads[THREADS];
};

struct sender {
    void (*answered)(void *context, const struct sender_item *sending);
    void *context;
    char *rpc_url;
    pthread_mutex_t mutex; /* guards what follows, and the sendings */
    bool stopping;
    struct address *addresses;
    size_t count;
};

static void sending_free(struct sender_item *sending)
{
    free((void *)sending->envelope.data);
    free(sending);
}

/* Takes the next one that is not too old. NULL: the sender stops. Calls with the mutex held. */
static struct sender_item *take(struct address *address)
{
    struct sender *sender = address->sender;
    while (!sender->stopping && address->count == 0)
        pthread_cond_wait(&address->arrived, &sender->mutex);
    if (sender->stopping)
        return NULL;
    struct sender_item *sending = address->queue[address->first];
    address->first = (address->first + 1) % QUEUE_MAX;
    address->count--;
    return sending;
}

/* Logs when an address begins to fail, and when it works again. The mutex is held. */
static void note(struct address *address, enum err e, const struct detail *detail)
{
    const bool failed = e != ERR_OK;
    if (failed == address->failing || e == ERR_CANCELLED)
        return;
    address->failing = failed;
    AUTO_FREE char *origin = rpc_origin(address->sender->rpc_url, address->number);
    if (failed)
        log_warn("an RPC does not take transactions; they are sent again after each ledger",
            "rpc=%s error=%s detail=\"%s\"", origin, err_code(e), detail->text);
    else
        log_info("an RPC takes transactions again", "rpc=%s", origin);
}

/* For a result that is too long to be kept: its code alone. */
static void keep_code(struct rpc_sent *sent)
{
    uint8_t *bytes =
        sent->result.bytes; /* zeroed: fee charged, code, no operations (txFAILED), no extension */
    be32_put(bytes + 8, (uint32_t)sent->code);
    sent->result.len = sent->code == -1 ? 20 : 16;
}

/* An answer, the last one when it returns true. The mutex is held. */
static bool note_answer(struct sender_item *sending, enum answer answer, const struct rpc_sent *sent)
{
    if (answer == ANSWER_REJECTED && sending->answer < ANSWER_REJECTED) {
        sending->sent = *sent;
        if (sent->result.len == 0)
            keep_code(&sending->sent);
    }
    if (answer > sending->answer)
        sending->answer = answer;
    return --sending->open == 0;
}

static void *run(void *context)
{
    struct address *address = context;
    struct sender *sender = address->sender;
    pthread_mutex_lock(&sender->mutex);
    for (struct sender_item *sending; (sending = take(address)) != NULL;) {
        const bool late = clock_ms() - sending->queued_ms > SUBMIT_QUEUE_MS;
        struct rpc_sent sent = {0};
        struct detail detail = {0};
        pthread_mutex_unlock(&sender->mutex);
        enum err e = late ? ERR_OVERLOADED : rpc_send(address->rpc, sending->envelope, &sent, &detail);
        const enum answer answer = answer_of(e, &sent, sending->round_ledger);
        pthread_mutex_lock(&sender->mutex);
        if (!late)
            note(address, e, &detail);
        if (!note_answer(sending, answer, &sent))
            continue;
        pthread_mutex_unlock(&sender->mutex);
        sender->answered(sender->context, sending);
        sending_free(sending);
        pthread_mutex_lock(&sender->mutex);
    }
    pthread_mutex_unlock(&sender->mutex);
    return NULL;
}

struct sender *sender_start(
    const char *rpc_url, void (*answered)(void *context, const struct sender_item *sending), void *context)
{
    struct sender *sender = NEW(struct sender);
    const size_t given = rpc_address_count(rpc_url);
    sender->answered = answered;
    sender->context = context;
    sender->rpc_url = mem_copy_text(rpc_url);
    pthread_mutex_init(&sender->mutex, NULL);
    sender->count = given < RPC_ADDRESSES_MAX ? given : RPC_ADDRESSES_MAX;
    sender->addresses = NEW_ARRAY(sender->count, struct address);
    for (unsigned i = 0; i < sender->count; i++) {
        struct address *address = &sender->addresses[i];
        address->sender = sender;
        address->number = i + 1;
        address->rpc = rpc_new(
            &(struct rpc_settings){.url = rpc_url, .only = address->number, .timeout_ms = SUBMIT_CALL_MS});
        pthread_cond_init(&address->arrived, NULL);
        for (size_t t = 0; t < THREADS; t++)
            thread_start(&address->threads[t], "send", run, address);
    }
    return sender;
}

void sender_send(struct sender *sender, const struct sender_item *what)
{
    struct sender_item *sending = mem_copy(what, sizeof *what);
    sending->envelope.data = mem_copy(what->envelope.data, what->envelope.len);
    sending->queued_ms = clock_ms();
    pthread_mutex_lock(&sender->mutex);
    for (size_t i = 0; i < sender->count; i++) {
        struct address *address = &sender->addresses[i];
        if (address->count == QUEUE_MAX)
            continue;
        if (sending->overtakes)
            address->first = (address->first + QUEUE_MAX - 1) % QUEUE_MAX;
        const size_t at = sending->overtakes ? 0 : address->count;
        address->queue[(address->first + at) % QUEUE_MAX] = sending;
        address->count++;
        sending->open++;
        pthread_cond_signal(&address->arrived);
    }
    const bool unused = sending->open == 0;
    pthread_mutex_unlock(&sender->mutex);
    if (unused)
        sending_free(sending);
}

size_t sender_waiting(struct sender *sender)
{
    size_t waiting = SIZE_MAX;
    pthread_mutex_lock(&sender->mutex);
    for (size_t i = 0; i < sender->count; i++)
        if (!sender->addresses[i].failing && sender->addresses[i].count < waiting)
            waiting = sender->addresses[i].count;
    pthread_mutex_unlock(&sender->mutex);
    return waiting;
}

void sender_stop(struct sender *sender)
{
    pthread_mutex_lock(&sender->mutex);
    sender->stopping = true;
    for (size_t i = 0; i < sender->count; i++)
        pthread_cond_broadcast(&sender->addresses[i].arrived);
    pthread_mutex_unlock(&sender->mutex);
    for (size_t i = 0; i < sender->count; i++)
        rpc_cancel(sender->addresses[i].rpc);
    for (size_t i = 0; i < sender->count; i++)
        for (size_t t = 0; t < THREADS; t++)
            pthread_join(sender->addresses[i].threads[t], NULL);
    for (size_t i = 0; i < sender->count; i++) {
        struct address *address = &sender->addresses[i];
        for (; address->count > 0; address->count--, address->first = (address->first + 1) % QUEUE_MAX) {
            struct sender_item *sending = address->queue[address->first];
            if (--sending->open == 0)
                sending_free(sending);
        }
        pthread_cond_destroy(&address->arrived);
        rpc_free(address->rpc);
    }
    pthread_mutex_destroy(&sender->mutex);
    free(sender->addresses);
    free(sender->rpc_url);
    free(sender);
}
