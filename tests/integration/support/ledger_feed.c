#include "ledger_feed.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"

#define LEDGERS_MAX 1000

struct kept {
    struct hash hash;
    struct buf meta;
};

struct ledger_feed {
    pthread_mutex_t mutex;
    uint32_t first, oldest;
    size_t count;
    uint64_t close_time_s; /* of the last one */
    enum err failure;
    unsigned requests;
    struct kept kept[LEDGERS_MAX]; /* never moves: meta is handed out */
};

struct ledger_feed *ledger_feed_new(uint32_t first, unsigned age_s)
{
    struct ledger_feed *feed = NEW(struct ledger_feed);
    pthread_mutex_init(&feed->mutex, NULL);
    feed->first = feed->oldest = first;
    feed->close_time_s = (uint64_t)time(NULL) - age_s - 1;
    ledger_feed_close(feed, NULL);
    return feed;
}

void ledger_feed_free(struct ledger_feed *feed)
{
    for (size_t i = 0; i < feed->count; i++)
        buf_free(&feed->kept[i].meta);
    pthread_mutex_destroy(&feed->mutex);
    free(feed);
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
    feed->count++;
    pthread_mutex_unlock(&feed->mutex);
}

struct buf *ledger_feed_meta(struct ledger_feed *feed, uint32_t sequence)
{
    return &feed->kept[sequence - feed->first].meta;
}

struct rpc_ledger ledger_feed_named(struct ledger_feed *feed, uint32_t sequence)
{
    const struct kept *kept = &feed->kept[sequence - feed->first];
    return (struct rpc_ledger){sequence, kept->hash, buf_bytes(&kept->meta)};
}

static enum err answer(struct ledger_feed *feed, uint32_t start, uint32_t limit, struct rpc_ledgers *out)
{
    uint32_t latest = feed->first + (uint32_t)feed->count - 1;
    *out = (struct rpc_ledgers){.latest_ledger = latest, .oldest_ledger = feed->oldest};
    if (feed->failure != ERR_OK)
        return feed->failure;
    if (start > latest)
        return ERR_LEDGER_AHEAD;
    if (start < feed->oldest)
        return ERR_LEDGER_GAP;
    uint32_t left = latest - start + 1, count = left < limit ? left : limit;
    size_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += ledger_feed_meta(feed, start + i)->len;
    buf_reserve(&out->storage, total); /* so that it does not move under the items */
    out->items = NEW_ARRAY(count, struct rpc_ledger);
    for (; out->count < count; out->count++) {
        struct rpc_ledger *item = &out->items[out->count];
        *item = ledger_feed_named(feed, start + (uint32_t)out->count);
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
    feed->requests++;
    enum err e = answer(feed, start, limit, out);
    pthread_mutex_unlock(&feed->mutex);
    return e == ERR_OK ? e : detail_set(detail, e, "the feed says %s", err_code(e));
}

struct feed ledger_feed_source(struct ledger_feed *feed)
{
    return (struct feed){ledgers, feed};
}

void ledger_feed_forget_below(struct ledger_feed *feed, uint32_t oldest)
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

unsigned ledger_feed_requests(struct ledger_feed *feed)
{
    pthread_mutex_lock(&feed->mutex);
    unsigned requests = feed->requests;
    pthread_mutex_unlock(&feed->mutex);
    return requests;
}
