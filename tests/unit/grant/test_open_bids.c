/* The sum of open bids that a replica keeps: read once a ledger, and never less than what the replica knows.
 */
#include "check.h"

#include "open_bids.h"

static struct open_bids all;
static _Atomic uint32_t seen;
static const struct grant_settings settings = {.open_bids = &all, .seen_ledger = &seen};

static void read_at(uint32_t ledger, int64_t stroops)
{
    struct open_bids_batch batch;
    seen = ledger;
    open_bids_begin(&batch, &settings);
    assert_true(batch.reads);
    open_bids_found(&batch, stroops);
    open_bids_end(&batch);
}

TEST(it_is_read_with_each_ledger_and_own_bids_are_added)
{
    struct open_bids_batch batch;
    (void)state;
    read_at(7, 1000);
    for (int i = 0; i < 3; i++) {
        open_bids_begin(&batch, &settings);
        assert_false(batch.reads);
        open_bids_add(&batch, 10);
        assert_int_equal(open_bids_sum(&batch), 1000 + 10 * (i + 1));
        open_bids_end(&batch);
        assert_int_equal(open_bids_sum(&batch), 1000 + 10 * (i + 1));
    }
    read_at(8, 500);
    assert_int_equal(open_bids_sum(&batch), 500);
}

/* The reader's snapshot may have the bids of a batch that commits meanwhile, or not. */
TEST(bids_of_batches_that_run_beside_the_reading_are_not_lost)
{
    struct open_bids_batch before, during, reader;
    (void)state;
    read_at(9, 0);
    open_bids_begin(&before, &settings);
    open_bids_add(&before, 10);
    open_bids_begin(&during, &settings);
    seen = 10;
    open_bids_begin(&reader, &settings);
    open_bids_add(&during, 100);
    open_bids_end(&during);
    open_bids_found(&reader, 1000);
    assert_int_equal(open_bids_sum(&reader), 1110);
    open_bids_end(&before);
    open_bids_end(&reader);
    assert_int_equal(open_bids_sum(&reader), 1110);
    read_at(11, 1110);
    assert_int_equal(open_bids_sum(&reader), 1110);
}

TEST(without_a_place_to_keep_it_each_batch_reads)
{
    struct open_bids_batch batch;
    (void)state;
    for (int i = 0; i < 2; i++) {
        open_bids_begin(&batch, &(const struct grant_settings){0});
        assert_true(batch.reads);
        open_bids_found(&batch, 5);
        assert_int_equal(open_bids_sum(&batch), 5);
        open_bids_end(&batch);
    }
}
