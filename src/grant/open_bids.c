/* Keeps the sum of all open bids. Nothing is read here. */
#include "open_bids.h"

#include <stdatomic.h>

#include "base/clock.h"

/* It is read again after this time, too: a replica whose ingestion hangs sees no ledger. */
#define READ_MS 10000

void open_bids_begin(struct open_bids_batch *batch, const struct grant_settings *settings)
{
    *batch = (struct open_bids_batch){.own.mutex = PTHREAD_MUTEX_INITIALIZER,
        .ledger = settings->seen_ledger != NULL ? atomic_load(settings->seen_ledger) : 0};
    batch->all = settings->open_bids != NULL ? settings->open_bids : &batch->own;
    pthread_mutex_lock(&batch->all->mutex);
    batch->reads = batch->all->read_ms == 0 || batch->all->ledger != batch->ledger ||
                   clock_ms() >= batch->all->read_ms + READ_MS;
    batch->ended_before = batch->all->ended;
    pthread_mutex_unlock(&batch->all->mutex);
}

/* What was read has all that ended before. What ended since may be in it or not; it counts once more. */
void open_bids_found(struct open_bids_batch *batch, int64_t stroops)
{
    struct open_bids *all = batch->all;
    pthread_mutex_lock(&all->mutex);
    all->stroops = stroops + all->ended - batch->ended_before;
    all->ledger = batch->ledger;
    all->read_ms = clock_ms();
    pthread_mutex_unlock(&all->mutex);
}

int64_t open_bids_sum(struct open_bids_batch *batch)
{
    pthread_mutex_lock(&batch->all->mutex);
    const int64_t sum = batch->all->stroops + batch->all->running;
    pthread_mutex_unlock(&batch->all->mutex);
    return sum;
}

void open_bids_add(struct open_bids_batch *batch, int64_t stroops)
{
    pthread_mutex_lock(&batch->all->mutex);
    batch->all->running += stroops;
    batch->bids += stroops;
    pthread_mutex_unlock(&batch->all->mutex);
}

void open_bids_end(struct open_bids_batch *batch)
{
    pthread_mutex_lock(&batch->all->mutex);
    batch->all->running -= batch->bids;
    batch->all->stroops += batch->bids;
    batch->all->ended += batch->bids;
    pthread_mutex_unlock(&batch->all->mutex);
}
