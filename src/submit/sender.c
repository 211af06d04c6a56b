/* Bytes on their way to the addresses of RPC_URL. Nothing is sent that is not committed: the callers have
 * seen that. What the answers mean is in answer.c. */
#include "sender.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/deadlines.h"
#include "base/log.h"
#include "base/mem.h"

struct sending;

/* Of a sending, to one address. */
struct part {
    struct sending *sending;
    size_t to;       /* index of the address */
    struct rpc *rpc; /* its one call */
    struct part *next;
};

struct sending {
    struct sender *sender;
    struct sender_item item;
    size_t open; /* the reader's: parts that it has not taken */
    struct part parts[RPC_ADDRESSES_MAX];
};

struct sender {
    void (*told)(void *context);
    void *context;
    char *rpc_url;
    struct rpc *rpcs[RPC_ADDRESSES_MAX]; /* one for each address */
    size_t count;
    bool failing[RPC_ADDRESSES_MAX]; /* the reader's: the last call failed */
    pthread_mutex_t mutex;           /* guards the rest */
    struct part *arrived, **arrived_end;
    size_t waiting[RPC_ADDRESSES_MAX]; /* parts that the loop has and that are not new */
};

/* Logs when an address begins to fail, and when it works again. */
static void note(struct sender *sender, size_t at, enum err e, const struct detail *detail)
{
    const bool failed = e != ERR_OK;
    if (failed == sender->failing[at] || e == ERR_CANCELLED || e == ERR_OVERLOADED)
        return;
    sender->failing[at] = failed;
    AUTO_FREE char *origin = rpc_origin(sender->rpc_url, (unsigned)at + 1);
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

/* The TransactionResult of txINSUFFICIENT_FEE begins with the least fee that would do. */
static void note_asked(struct sender_item *item, const struct result_kept *result)
{
    const int64_t fee = result->len < 8 ? 0 : (int64_t)be64_get(result->bytes), asked = fee > 0 ? fee : 1;
    if (item->asked_stroops == 0 || asked < item->asked_stroops)
        item->asked_stroops = asked;
}

static void note_answer(struct sender_item *item, enum err e, const struct rpc_sent *sent)
{
    const enum answer answer = answer_of(e, sent, item->round_ledger);
    item->reached |= e == ERR_OK;
    if (answer == ANSWER_NO_ROOM)
        note_asked(item, &sent->result);
    if (answer == ANSWER_REJECTED && item->answer < ANSWER_REJECTED) {
        item->sent = *sent;
        if (sent->result.len == 0)
            keep_code(&item->sent);
    }
    if (answer > item->answer)
        item->answer = answer;
}

struct sender *sender_start(const char *rpc_url, void (*arrived)(void *context), void *context)
{
    struct sender *sender = NEW(struct sender);
    const size_t given = rpc_address_count(rpc_url);
    sender->told = arrived;
    sender->context = context;
    sender->rpc_url = mem_copy_text(rpc_url);
    sender->count = given < RPC_ADDRESSES_MAX ? given : RPC_ADDRESSES_MAX;
    sender->arrived_end = &sender->arrived;
    pthread_mutex_init(&sender->mutex, NULL);
    for (unsigned i = 0; i < sender->count; i++)
        sender->rpcs[i] = rpc_new(&(struct rpc_settings){
            .url = rpc_url, .only = i + 1, .timeout_ms = SUBMIT_CALL_MS, .wait_ms = SUBMIT_QUEUE_MS});
    return sender;
}

/* Called by the loop's thread. */
static void part_arrived(void *context)
{
    struct part *part = context;
    struct sender *sender = part->sending->sender;
    pthread_mutex_lock(&sender->mutex);
    sender->waiting[part->to] -= !part->sending->item.is_new;
    part->next = NULL;
    *sender->arrived_end = part;
    sender->arrived_end = &part->next;
    pthread_mutex_unlock(&sender->mutex);
    sender->told(sender->context);
}

void sender_send(struct sender *sender, const struct sender_item *item, struct bytes envelope)
{
    struct sending *sending = NEW(struct sending);
    const size_t count = sender->count; /* once all have begun, the reader may free the sending */
    sending->sender = sender;
    sending->item = *item;
    sending->open = count;
    pthread_mutex_lock(&sender->mutex);
    for (size_t i = 0; i < count; i++)
        sender->waiting[i] += !item->is_new;
    pthread_mutex_unlock(&sender->mutex);
    for (size_t i = 0; i < count; i++) {
        struct part *part = &sending->parts[i];
        part->sending = sending;
        part->to = i;
        part->rpc = rpc_asking(sender->rpcs[i],
            &(struct rpc_ask){
                .done = part_arrived, .context = part, .client = item->is_new ? "new" : "again"});
        struct rpc_sent begun;
        (void)!rpc_send(part->rpc, envelope, &begun, NULL);
    }
}

static struct part *take_part(struct sender *sender)
{
    pthread_mutex_lock(&sender->mutex);
    struct part *part = sender->arrived;
    if (part != NULL && (sender->arrived = part->next) == NULL)
        sender->arrived_end = &sender->arrived;
    pthread_mutex_unlock(&sender->mutex);
    return part;
}

bool sender_take(struct sender *sender, struct sender_item *out)
{
    for (struct part *part; (part = take_part(sender)) != NULL;) {
        struct sending *sending = part->sending;
        struct rpc_sent sent = {0};
        struct detail detail = {0};
        const enum err e = rpc_send(part->rpc, (struct bytes){0}, &sent, &detail);
        rpc_free(part->rpc);
        note(sender, part->to, e, &detail);
        note_answer(&sending->item, e, &sent);
        if (--sending->open > 0)
            continue;
        *out = sending->item;
        free(sending);
        return true;
    }
    return false;
}

size_t sender_waiting(struct sender *sender)
{
    size_t waiting = SIZE_MAX;
    pthread_mutex_lock(&sender->mutex);
    for (size_t i = 0; i < sender->count; i++)
        if (!sender->failing[i] && sender->waiting[i] < waiting)
            waiting = sender->waiting[i];
    pthread_mutex_unlock(&sender->mutex);
    return waiting;
}

void sender_stop(struct sender *sender)
{
    struct sender_item unused;
    for (size_t i = 0; i < sender->count; i++)
        rpc_cancel(sender->rpcs[i]);
    for (size_t i = 0; i < sender->count; i++)
        rpc_settle(sender->rpcs[i]);
    while (sender_take(sender, &unused))
        ;
    for (size_t i = 0; i < sender->count; i++)
        rpc_free(sender->rpcs[i]);
    pthread_mutex_destroy(&sender->mutex);
    free(sender->rpc_url);
    free(sender);
}
