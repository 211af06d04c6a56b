/* Keeps the sum of all open bids. Nothing is read here. */
#include "open_bids.h"

#include "base/clock.h"

/* It is read again after this time, too: a replica whose ingestion hangs sees no ledger. */
#define READ_MS 10000

void open_bids_begin(struct open_bids_batch *batch, const struct grant_settings *settings)
{
    *batch = (struct open_bids_batch){.ledger = settings->seen_ledger != NULL ? *settings->seen_ledger : 0};
    batch->all = settings->open_bids != NULL ? settings->open_bids : &batch->own;
    batch->reads = batch->all->read_ms == 0 || batch->all->ledger != batch->ledger ||
                   clock_ms() >= batch->all->read_ms + READ_MS;
    batch->ended_before = batch->all->ended;
}

/* What was read has all that ended before. What ended since may be in it or not; it counts once more. */
void open_bids_found(struct open_bids_batch *batch, int64_t stroops)
{
    batch->all->before = stroops - batch->ended_before;
    batch->all->ledger = batch->ledger;
    batch->all->read_ms = clock_ms();
}

int64_t open_bids_sum(const struct open_bids_batch *batch)
{
    return batch->all->before + batch->all->made;
}

void open_bids_add(struct open_bids_batch *batch, int64_t stroops)
{
    batch->all->made += stroops;
    batch->bids += stroops;
}

void open_bids_end(struct open_bids_batch *batch)
{
    batch->all->ended += batch->bids;
}
