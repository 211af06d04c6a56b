/* Follows the distribution account's balance. Whether it is enough, pool/funds.c decides. */
#include "upkeep/funds_watch.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/thread.h"
#include "stellar/protocol.h"

#define LOG_AGAIN_MS 300000
#define PROTOCOL_AGAIN_MS 300000

/* An RPC's node is updated days before the validators vote. Nothing else asks for its version regularly. */
static void note_protocol(const struct feed *feed, int64_t *next_ms)
{
    struct rpc_network network CLEANUP(rpc_network_free) = {0};
    if (feed->network == NULL || clock_left_ms(*next_ms) > 0)
        return;
    if (feed->network(feed->source, &network, NULL) == ERR_OK)
        protocol_note(network.node_protocol, "the node behind RPC_URL");
    *next_ms = clock_ms() + PROTOCOL_AGAIN_MS;
}

static void log_failure(int64_t *next_ms, enum err e, const struct detail *detail)
{
    if (clock_left_ms(*next_ms) > 0 || e == ERR_CANCELLED)
        return;
    log_warn("cannot read the distribution account's balance; retrying", "error=%s detail=\"%s\"",
        err_code(e), detail->text);
    *next_ms = clock_ms() + LOG_AGAIN_MS;
}

static void *run(void *context)
{
    struct funds_watch *watch = context;
    int64_t log_again_ms = 0, protocol_ms = 0;
    pthread_mutex_lock(&watch->mutex);
    while (!watch->stopping) {
        if (!watch->wanted) {
            pthread_cond_wait(&watch->changed, &watch->mutex);
            continue;
        }
        const struct public_key account = watch->account;
        struct account_snapshot snapshot;
        struct detail detail = {0};
        pthread_mutex_unlock(&watch->mutex);
        enum err e = watch->feed.accounts(
            watch->feed.source, &account, 1, &snapshot.account, &snapshot.ledger, &detail);
        if (e == ERR_OK)
            note_protocol(&watch->feed, &protocol_ms);
        else
            log_failure(&log_again_ms, e, &detail);
        pthread_mutex_lock(&watch->mutex);
        watch->wanted = false; /* after an error a later ledger asks again */
        if (e != ERR_OK)
            continue;
        watch->snapshot = snapshot;
        watch->ready = true;
        log_again_ms = 0;
    }
    pthread_mutex_unlock(&watch->mutex);
    return NULL;
}

void funds_watch_start(struct funds_watch *watch, const struct feed *feed, const struct funds_limits *limits)
{
    *watch = (struct funds_watch){.limits = *limits, .feed = *feed, .level = FUNDS_OK};
    pthread_mutex_init(&watch->mutex, NULL);
    pthread_cond_init(&watch->changed, NULL);
    thread_start(&watch->thread, "funds", run, watch);
}

void funds_watch_stop(struct funds_watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    watch->stopping = true;
    pthread_cond_signal(&watch->changed);
    pthread_mutex_unlock(&watch->mutex);
    pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->mutex);
}

bool funds_watch_take(struct funds_watch *watch, struct account_snapshot *out)
{
    pthread_mutex_lock(&watch->mutex);
    const bool ready = watch->ready;
    if (ready)
        *out = watch->snapshot;
    watch->ready = false;
    pthread_mutex_unlock(&watch->mutex);
    return ready;
}

static void want(struct funds_watch *watch, const struct public_key *account)
{
    pthread_mutex_lock(&watch->mutex);
    if (!watch->ready) { /* else the next ledger uses what was read, and then asks again if it has to */
        watch->account = *account;
        watch->wanted = true;
        pthread_cond_signal(&watch->changed);
    }
    pthread_mutex_unlock(&watch->mutex);
}

static void log_level(struct funds_watch *watch, const struct funds *funds)
{
    static const char *const messages[] = {
        [FUNDS_OK] = "the distribution account's balance is sufficient again",
        [FUNDS_LOW] = "the distribution account's balance is low: fund it",
        [FUNDS_TOO_LOW] =
            "the distribution account cannot pay for more leases; none is granted until it is funded",
        [FUNDS_CANNOT_SIGN] = "the distribution account's signers were changed; its own key cannot sign",
    };
    const enum funds_level level = funds_level(funds, &watch->limits);
    if (level == FUNDS_UNKNOWN || level == watch->level)
        return;
    char address[ADDRESS_SIZE];
    address_encode(&funds->account, address);
    log_line(level == FUNDS_OK    ? LOG_INFO
             : level == FUNDS_LOW ? LOG_WARN
                                  : LOG_ERROR,
        messages[level],
        "account=%s ledger=%" PRIu32 " spendable_stroops=%" PRId64 " payments_left=%" PRId64
        " low_balance_payments=%" PRId64 " min_balance_payments=%" PRId64,
        address, funds->ledger, funds->spendable_stroops, funds_payments(funds, &watch->limits),
        watch->limits.low_payments, watch->limits.min_payments);
    watch->level = level;
}

void funds_watch_ledger(struct funds_watch *watch, const struct funds *funds)
{
    log_level(watch, funds);
    if (!funds->bound || (funds->known && clock_left_ms(watch->reread_ms) > 0))
        return;
    want(watch, &funds->account);
    watch->reread_ms = clock_ms() + FUNDS_REREAD_MS;
}
