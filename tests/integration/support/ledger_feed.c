#include "ledger_feed.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"

#define LEDGERS_MAX 10000

struct kept {
    struct hash hash;
    struct buf meta;
};

/* A change of an account, or of the list of frozen ones. */
struct event {
    uint32_t ledger;
    bool frozen; /* then only the account's key is used */
    struct built_account account;
};

struct included {
    uint32_t ledger;
    struct built_transaction transaction;
};

struct ledger_feed {
    pthread_mutex_t mutex;
    uint32_t first, oldest;
    size_t count;
    uint64_t close_time_s; /* of the last one */
    enum err failure, failure_accounts;
    unsigned requests;
    unsigned fail_in; /* 1: the next request fails with this: */
    enum err failure_once;
    struct event *events;
    size_t event_count;
    uint32_t *frozen_from; /* ledgers that changed the list */
    size_t frozen_count;
    struct included *included;
    size_t included_count;
    unsigned lags[FEED_LAGS_MAX];
    size_t lag_count;
    unsigned reads;
    bool keeps_transactions;
    const char *passphrase;
    uint32_t most; /* ledgers at once; 0: any number */
    void (*hook)(void *context);
    void *hook_context;
    struct kept kept[LEDGERS_MAX]; /* must not move: ledger_feed_ledger returns pointers into it */
};

struct ledger_feed *ledger_feed_new(uint32_t first, unsigned age_s)
{
    struct ledger_feed *feed = NEW(struct ledger_feed);
    pthread_mutex_init(&feed->mutex, NULL);
    feed->first = feed->oldest = first;
    feed->passphrase = BUILT_PASSPHRASE;
    feed->close_time_s = (uint64_t)time(NULL) - age_s - 1;
    ledger_feed_close(feed, NULL);
    return feed;
}

void ledger_feed_free(struct ledger_feed *feed)
{
    for (size_t i = 0; i < feed->count; i++)
        buf_free(&feed->kept[i].meta);
    pthread_mutex_destroy(&feed->mutex);
    free(feed->events);
    free(feed->frozen_from);
    free(feed->included);
    free(feed);
}

static void add_event(struct ledger_feed *feed, const struct event *event)
{
    feed->events = mem_grow(feed->events, feed->event_count + 1, sizeof feed->events[0]);
    feed->events[feed->event_count++] = *event;
}

static void add_history(struct ledger_feed *feed, const struct built_ledger *ledger)
{
    for (size_t i = 0; i < ledger->account_count; i++)
        add_event(feed, &(struct event){ledger->sequence, false, ledger->accounts[i]});
    for (size_t i = 0; i < ledger->frozen_count; i++)
        add_event(feed, &(struct event){ledger->sequence, true, {.key = ledger->frozen[i]}});
    if (ledger->frozen_count > 0 || ledger->frozen_changed) {
        feed->frozen_from = mem_grow(feed->frozen_from, feed->frozen_count + 1, sizeof feed->frozen_from[0]);
        feed->frozen_from[feed->frozen_count++] = ledger->sequence;
    }
    for (size_t i = 0; i < ledger->transaction_count; i++) {
        feed->included = mem_grow(feed->included, feed->included_count + 1, sizeof feed->included[0]);
        feed->included[feed->included_count++] = (struct included){ledger->sequence, ledger->transactions[i]};
    }
}

void ledger_feed_close(struct ledger_feed *feed, const struct built_ledger *what)
{
    pthread_mutex_lock(&feed->mutex);
    if (feed->count == LEDGERS_MAX)
        abort();
    struct built_ledger ledger = {0};
    if (what != NULL)
        ledger = *what;
    struct kept *kept = &feed->kept[feed->count];
    ledger.meta_version = (uint32_t)feed->count % 3;
    ledger.sequence = feed->first + (uint32_t)feed->count;
    if (feed->count > 0)
        ledger.previous_hash = feed->kept[feed->count - 1].hash;
    if (ledger.close_time_s == 0)
        ledger.close_time_s = feed->close_time_s + 1;
    feed->close_time_s = ledger.close_time_s;
    ledger_build(&ledger, &kept->meta, &kept->hash);
    add_history(feed, &ledger);
    feed->count++;
    pthread_mutex_unlock(&feed->mutex);
}

struct buf *ledger_feed_meta(struct ledger_feed *feed, uint32_t sequence)
{
    return &feed->kept[sequence - feed->first].meta;
}

struct rpc_ledger ledger_feed_ledger(struct ledger_feed *feed, uint32_t sequence)
{
    const struct kept *kept = &feed->kept[sequence - feed->first];
    return (struct rpc_ledger){sequence, kept->hash, buf_bytes(&kept->meta)};
}

static uint32_t latest_of(const struct ledger_feed *feed)
{
    return feed->first + (uint32_t)feed->count - 1;
}

/* Counts the request and returns the injected error. */
static enum err next_result(struct ledger_feed *feed)
{
    feed->requests++;
    if (feed->fail_in > 0 && --feed->fail_in == 0)
        return feed->failure_once;
    return feed->failure;
}

static enum err with_detail(struct detail *detail, enum err e)
{
    return e == ERR_OK ? e : detail_set(detail, e, "the feed says %s", err_code(e));
}

static enum err read_ledgers(
    struct ledger_feed *feed, uint32_t start, uint32_t limit, struct rpc_ledgers *out)
{
    uint32_t latest = latest_of(feed);
    *out = (struct rpc_ledgers){.latest_ledger = latest};
    if (start > latest)
        return ERR_LEDGER_AHEAD;
    if (start < feed->oldest)
        return ERR_LEDGER_GAP;
    uint32_t left = latest - start + 1, count = left < limit ? left : limit;
    size_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += ledger_feed_meta(feed, start + i)->len;
    buf_reserve(&out->storage, total); /* items point into it, so it must not move */
    out->items = NEW_ARRAY(count, struct rpc_ledger);
    for (; out->count < count; out->count++) {
        struct rpc_ledger *item = &out->items[out->count];
        *item = ledger_feed_ledger(feed, start + (uint32_t)out->count);
        size_t offset = out->storage.len;
        buf_add_bytes(&out->storage, item->meta);
        item->meta.data = out->storage.data + offset;
    }
    return ERR_OK;
}

static enum err ledgers(
    void *source, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    struct ledger_feed *feed = source;
    pthread_mutex_lock(&feed->mutex);
    *out = (struct rpc_ledgers){.latest_ledger = latest_of(feed)};
    enum err e = next_result(feed);
    if (e == ERR_OK)
        e = feed->most != 0 && limit > feed->most ? ERR_RPC_REFUSED : read_ledgers(feed, start, limit, out);
    pthread_mutex_unlock(&feed->mutex);
    return with_detail(detail, e);
}

static enum err network(void *source, struct rpc_network *out, struct detail *detail)
{
    struct ledger_feed *feed = source;
    *out = (struct rpc_network){0};
    pthread_mutex_lock(&feed->mutex);
    enum err e = next_result(feed);
    if (e == ERR_OK)
        out->passphrase = mem_copy_text(feed->passphrase);
    pthread_mutex_unlock(&feed->mutex);
    return with_detail(detail, e);
}

static uint32_t read_ledger(struct ledger_feed *feed)
{
    unsigned lag = feed->lag_count == 0 ? 0 : feed->lags[feed->reads++ % feed->lag_count];
    return latest_of(feed) - lag;
}

static struct account_entry state_of(
    const struct ledger_feed *feed, const struct public_key *key, uint32_t ledger)
{
    struct account_entry account = {.key = *key, .removed = true};
    for (size_t i = 0; i < feed->event_count; i++) {
        const struct event *event = &feed->events[i];
        if (event->frozen || event->ledger > ledger || !public_key_equal(&event->account.key, key))
            continue;
        account = (struct account_entry){.key = *key,
            .removed = event->account.removed,
            .sequence = event->account.sequence,
            .own_authority = !event->account.foreign_signer,
            .balance_stroops = event->account.balance_stroops,
            .reserves = 2,
            .bare = true};
    }
    return account;
}

static enum err accounts(void *source, const struct public_key keys[], size_t count,
    struct account_entry out[], uint32_t *ledger, struct detail *detail)
{
    struct ledger_feed *feed = source;
    if (feed->hook != NULL)
        feed->hook(feed->hook_context);
    pthread_mutex_lock(&feed->mutex);
    enum err e = next_result(feed);
    if (e == ERR_OK)
        e = feed->failure_accounts;
    *ledger = read_ledger(feed);
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        out[i] = state_of(feed, &keys[i], *ledger);
    pthread_mutex_unlock(&feed->mutex);
    return with_detail(detail, count > RPC_ENTRIES_MAX ? ERR_RPC_REFUSED : e);
}

static enum err frozen(void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail)
{
    struct ledger_feed *feed = source;
    uint32_t from = 0;
    *out = (struct frozen_accounts){0};
    pthread_mutex_lock(&feed->mutex);
    enum err e = next_result(feed);
    *ledger = read_ledger(feed);
    for (size_t i = 0; i < feed->frozen_count; i++)
        if (feed->frozen_from[i] <= *ledger)
            from = feed->frozen_from[i];
    for (size_t i = 0; e == ERR_OK && i < feed->event_count; i++)
        if (feed->events[i].frozen && feed->events[i].ledger == from) {
            out->keys = mem_grow(out->keys, out->count + 1, sizeof out->keys[0]);
            out->keys[out->count++] = feed->events[i].account.key;
        }
    pthread_mutex_unlock(&feed->mutex);
    if (out->count > 0)
        qsort(out->keys, out->count, sizeof out->keys[0], public_key_compare);
    return with_detail(detail, e);
}

static enum err transaction(
    void *source, const struct hash *hash, struct rpc_transaction *out, struct detail *detail)
{
    struct ledger_feed *feed = source;
    pthread_mutex_lock(&feed->mutex);
    enum err e = next_result(feed);
    *out = (struct rpc_transaction){.latest_ledger = latest_of(feed)};
    for (size_t i = 0; i < feed->included_count; i++) {
        const struct included *included = &feed->included[i];
        bool kept = feed->keeps_transactions || included->ledger >= feed->oldest;
        if (!kept ||
            !(hash_equal(&included->transaction.hash, hash) ||
                (included->transaction.has_inner && hash_equal(&included->transaction.inner_hash, hash))))
            continue;
        out->status = included->transaction.code == 0 ? RPC_TRANSACTION_SUCCESS : RPC_TRANSACTION_FAILED;
        out->code = included->transaction.code;
        out->ledger = included->ledger;
        out->result = (struct result_kept){20, {[7] = 100}};
        be32_put(out->result.bytes + 8, (uint32_t)out->code);
    }
    pthread_mutex_unlock(&feed->mutex);
    return with_detail(detail, e);
}

struct feed ledger_feed_source(struct ledger_feed *feed)
{
    return (struct feed){ledgers, network, accounts, frozen, transaction, feed};
}

void ledger_feed_fail_once(struct ledger_feed *feed, unsigned nth, enum err e)
{
    pthread_mutex_lock(&feed->mutex);
    feed->fail_in = nth;
    feed->failure_once = e;
    pthread_mutex_unlock(&feed->mutex);
}

void ledger_feed_put(struct ledger_feed *feed, const struct built_account *account)
{
    pthread_mutex_lock(&feed->mutex);
    add_event(feed, &(struct event){feed->first, false, *account});
    pthread_mutex_unlock(&feed->mutex);
}

void ledger_feed_lag(struct ledger_feed *feed, const unsigned lags[], size_t count)
{
    pthread_mutex_lock(&feed->mutex);
    for (size_t i = 0; i < count && i < FEED_LAGS_MAX; i++)
        feed->lags[i] = lags[i];
    feed->lag_count = count;
    feed->reads = 0;
    pthread_mutex_unlock(&feed->mutex);
}

void ledger_feed_keep_transactions(struct ledger_feed *feed)
{
    feed->keeps_transactions = true;
}

void ledger_feed_passphrase(struct ledger_feed *feed, const char *passphrase)
{
    pthread_mutex_lock(&feed->mutex);
    feed->passphrase = passphrase;
    pthread_mutex_unlock(&feed->mutex);
}

void ledger_feed_on_read(struct ledger_feed *feed, void (*hook)(void *context), void *context)
{
    feed->hook = hook;
    feed->hook_context = context;
}

void ledger_feed_drop_below(struct ledger_feed *feed, uint32_t oldest)
{
    pthread_mutex_lock(&feed->mutex);
    feed->oldest = oldest;
    pthread_mutex_unlock(&feed->mutex);
}

void ledger_feed_fail(struct ledger_feed *feed, enum err e)
{
    pthread_mutex_lock(&feed->mutex);
    feed->failure = e;
    pthread_mutex_unlock(&feed->mutex);
}

void ledger_feed_fail_accounts(struct ledger_feed *feed, enum err e)
{
    pthread_mutex_lock(&feed->mutex);
    feed->failure_accounts = e;
    pthread_mutex_unlock(&feed->mutex);
}

unsigned ledger_feed_requests(struct ledger_feed *feed)
{
    pthread_mutex_lock(&feed->mutex);
    unsigned requests = feed->requests;
    pthread_mutex_unlock(&feed->mutex);
    return requests;
}

uint32_t ledger_feed_latest(struct ledger_feed *feed)
{
    pthread_mutex_lock(&feed->mutex);
    uint32_t latest = latest_of(feed);
    pthread_mutex_unlock(&feed->mutex);
    return latest;
}

void ledger_feed_limit(struct ledger_feed *feed, uint32_t most)
{
    pthread_mutex_lock(&feed->mutex);
    feed->most = most;
    pthread_mutex_unlock(&feed->mutex);
}
