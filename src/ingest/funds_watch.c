/* Follows the distribution account's balance. Whether it is enough, pool/funds.c decides. */
#include "funds_watch.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/thread.h"
#include "retry.h"

/* ---- the balance after a ledger */

static void take(struct funds *funds, const struct ledger_account *account, uint32_t ledger)
{
    funds->known = true;
    funds->ledger = ledger;
    funds->balance_stroops = account->removed ? 0 : account->balance_stroops;
    funds->reserves = account->removed ? 0 : account->reserves;
    funds->selling_stroops = account->removed ? 0 : account->selling_stroops;
}

static bool counts(const struct account_snapshot *read, const struct funds *before, uint32_t cursor)
{
    return read != NULL && read->ledger >= cursor && (!before->known || read->ledger >= before->ledger) &&
           public_key_equal(&read->account.key, &before->account);
}

/* Takes over what the metadata claims. */
static void take_claim(struct funds *funds, const struct ledger_account *account, uint32_t ledger,
    const struct funds_limits *limits)
{
    struct funds claimed = *funds;
    take(&claimed, account, ledger);
    claimed.spendable_stroops = funds_spendable(&claimed);
    if (limits != NULL && funds_level(&claimed, limits) == FUNDS_TOO_LOW)
        funds->doubted_ledger = ledger;
    else
        *funds = claimed;
}

bool funds_step(const struct funds *before, const struct ledger *ledger, const struct account_snapshot *read,
    uint32_t cursor, const struct funds_limits *limits, struct funds *after)
{
    *after = *before;
    if (!before->bound)
        return false;
    after->base_reserve_stroops = ledger->base_reserve_stroops;
    if (counts(read, before, cursor))
        take(after, &read->account, read->ledger);
    /* A read as of this ledger or a later one already has this ledger's changes. */
    const struct ledger_account *changed = ledger_account(ledger, &before->account);
    if (changed != NULL && (!after->known || ledger->sequence > after->ledger))
        take_claim(after, changed, ledger->sequence, limits);
    if (!after->known)
        return false;
    after->spendable_stroops = funds_spendable(after);
    return !before->known || after->ledger != before->ledger ||
           after->base_reserve_stroops != before->base_reserve_stroops;
}

/* ---- the thread that reads the account */

#define PAUSE_FIRST_MS 500
#define PAUSE_MAX_MS 30000
#define LOG_AGAIN_MS 300000

static enum err read_one(const struct feed *feed, const struct funds_request *request, bool only,
    struct account_snapshot *out, struct detail *detail)
{
    struct rpc_account account;
    uint32_t ledger;
    enum err e = feed->accounts(feed->source, &request->account, 1, &account, &ledger, detail);
    if (e != ERR_OK)
        return e;
    *out = feed_snapshot(&request->account, &account, ledger);
    if (!only && ledger < request->ledger) /* it may have more than now, and would not be used */
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "Stellar RPC answers as of ledger %" PRIu32 ", but ledger %" PRIu32 " is committed", ledger,
            request->ledger);
    return ERR_OK;
}

static int64_t spendable(const struct account_snapshot *read, const struct funds_request *request)
{
    return funds_spendable(&(struct funds){.balance_stroops = read->account.balance_stroops,
        .selling_stroops = read->account.selling_stroops,
        .reserves = read->account.reserves,
        .base_reserve_stroops = request->base_reserve_stroops});
}

/* Asks another address first each time, so that with three of them no two decide forever. */
static enum err read_account(struct funds_watch *watch, const struct funds_request *request,
    struct account_snapshot *out, struct detail *detail)
{
    const size_t needed = watch->count > 1 ? 2 : 1, first = watch->next++;
    size_t answers = 0;
    enum err e = ERR_OK;
    *out = (struct account_snapshot){0};
    for (size_t i = 0; i < watch->count && answers < needed && e != ERR_CANCELLED; i++) {
        struct account_snapshot read;
        e = read_one(&watch->feeds[(first + i) % watch->count], request, needed == 1, &read, detail);
        if (e == ERR_OK && (answers++ == 0 || spendable(&read, request) > spendable(out, request)))
            *out = read;
    }
    if (answers == needed)
        outage_end(&watch->unconfirmed);
    if (answers == needed || e == ERR_CANCELLED || answers == 0)
        return e;
    return outage_lasts(&watch->unconfirmed, clock_ms())
               ? ERR_OK
               : detail_set(detail, ERR_RPC_UNAVAILABLE, "no other RPC of RPC_URL has answered yet");
}

static void log_failure(int64_t *next_ms, enum err e, const struct detail *detail)
{
    if (clock_left_ms(*next_ms) > 0 || e == ERR_CANCELLED)
        return;
    log_warn("cannot read the distribution account's balance; retrying", "error=%s detail=\"%s\"",
        err_code(e), detail->text);
    *next_ms = clock_ms() + LOG_AGAIN_MS;
}

/* With the mutex. */
static void pause_for(struct funds_watch *watch, unsigned ms)
{
    const struct timespec until = clock_timespec(clock_ms() + ms);
    while (!watch->stopping && pthread_cond_timedwait(&watch->changed, &watch->mutex, &until) == 0)
        ;
}

static void *run(void *context)
{
    struct funds_watch *watch = context;
    struct backoff backoff = {0};
    int64_t log_again_ms = 0;
    pthread_mutex_lock(&watch->mutex);
    while (!watch->stopping) {
        if (!watch->wanted) {
            pthread_cond_wait(&watch->changed, &watch->mutex);
            continue;
        }
        const struct funds_request request = watch->request;
        struct account_snapshot snapshot;
        struct detail detail = {0};
        pthread_mutex_unlock(&watch->mutex);
        enum err e = read_account(watch, &request, &snapshot, &detail);
        if (e != ERR_OK)
            log_failure(&log_again_ms, e, &detail);
        pthread_mutex_lock(&watch->mutex);
        if (e != ERR_OK) {
            pause_for(watch, backoff_next(&backoff, PAUSE_FIRST_MS, PAUSE_MAX_MS));
            continue;
        }
        watch->snapshot = snapshot;
        watch->ready = true;
        watch->wanted = false;
        backoff_reset(&backoff);
        log_again_ms = 0;
    }
    pthread_mutex_unlock(&watch->mutex);
    return NULL;
}

void funds_watch_start(
    struct funds_watch *watch, const struct feed feeds[], size_t count, const struct funds_limits *limits)
{
    *watch = (struct funds_watch){.limits = *limits,
        .count = count,
        .unconfirmed = {.limit_ms = FUNDS_WATCH_GIVE_UP_MS},
        .level = FUNDS_OK};
    memcpy(watch->feeds, feeds, count * sizeof feeds[0]);
    pthread_mutex_init(&watch->mutex, NULL);
    thread_cond_init(&watch->changed);
    thread_start(&watch->thread, run, watch);
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

static void want(struct funds_watch *watch, const struct funds_request *request)
{
    pthread_mutex_lock(&watch->mutex);
    if (!watch->ready) { /* else the next ledger uses what was read, and then asks again if it has to */
        watch->request = *request;
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
    };
    const enum funds_level level = funds_level(funds, &watch->limits);
    if (level == FUNDS_UNKNOWN || level == watch->level)
        return;
    char address[ADDRESS_SIZE];
    address_encode(&funds->account, address);
    log_line(level == FUNDS_OK        ? LOG_INFO
             : level == FUNDS_TOO_LOW ? LOG_ERROR
                                      : LOG_WARN,
        messages[level],
        "account=%s ledger=%" PRIu32 " spendable_stroops=%" PRId64 " payments_left=%" PRId64
        " low_balance_payments=%" PRId64 " min_balance_payments=%" PRId64,
        address, funds->ledger, funds->spendable_stroops, funds_payments(funds, &watch->limits),
        watch->limits.low_payments, watch->limits.min_payments);
    watch->level = level;
}

void funds_watch_ledger(struct funds_watch *watch, uint32_t ledger, const struct funds *funds)
{
    log_level(watch, funds);
    if (funds->doubted_ledger != 0)
        watch->doubted_ledger = funds->doubted_ledger;
    const bool known = funds->known && funds->ledger >= watch->doubted_ledger;
    if (!funds->bound || (known && clock_left_ms(watch->reread_ms) > 0))
        return;
    want(watch, &(struct funds_request){funds->account, funds->base_reserve_stroops, ledger});
    const bool too_low = funds_level(funds, &watch->limits) == FUNDS_TOO_LOW;
    watch->reread_ms = clock_ms() + (too_low ? FUNDS_REREAD_TOO_LOW_MS : FUNDS_REREAD_MS);
}
