/*
 * The rows of submissions (DL16): two replicas never claim one in the same ledger, a row goes with its lease,
 * and recording, raising and rejecting in any order leave what the client submitted last.
 */
#include "support/pool.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "pool/fee_bump.h"
#include "pool/submissions.h"

#define LEASES (2 * GRANT_BATCH_MAX)
#define AGAIN 14
#define ROUND 4

static int set_up(void **state)
{
    return test_pool_set_up(state, LEASES);
}

/* What a client submits, or the next bid after `raised` (0: none). Bids and envelopes are numbers. */
struct bid {
    int64_t number, fee, cap, raised, envelope;
};

static struct hash hash_of(int64_t number)
{
    return sha256((struct bytes){(const uint8_t *)&number, sizeof number});
}

static struct fee_bump_item record(struct test_pool *pool, const struct lease *lease, struct bid bid)
{
    const struct hash raised = hash_of(bid.raised);
    struct fee_bump_item item = {.lease = lease->hash,
        .source = lease->account,
        .sequence = lease->sequence,
        .client = "",
        .hash = hash_of(bid.number),
        .fee_stroops = bid.fee,
        .submits = true,
        .max_fee_stroops = bid.cap,
        .raised = bid.raised == 0 ? NULL : &raised,
        .inner = {(const uint8_t *)&bid.envelope, sizeof bid.envelope},
        .outer = {(const uint8_t *)&bid.number, sizeof bid.number}};
    assert_int_equal(fee_bumps_record(pool->db, &item, 1, NULL), ERR_OK);
    return item;
}

static void record_all(struct test_pool *pool, const struct asked asked[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        record(pool, &asked[i].grant.lease, (struct bid){.number = (int64_t)i + 1, .fee = 200});
}

static int64_t number(struct test_pool *pool, const char *sql)
{
    return test_db_number(&pool->test, sql);
}

static size_t claim_until(struct db *db, int64_t until, struct submission_due due[])
{
    size_t count;
    AUTO_ROWS rows = NULL;
    assert_int_equal(submissions_claim(db, AGAIN, 0, until, due, &count, &rows, NULL), ERR_OK);
    return count;
}

static size_t claim(struct db *db, struct submission_due due[])
{
    return claim_until(db, INT64_MAX, due);
}

struct claimer {
    struct test_pool *pool;
    struct hash claimed[LEASES];
    size_t count;
    pthread_t thread;
};

static void *claim_all(void *context)
{
    struct claimer *claimer = context;
    struct db *db = test_db_open(&claimer->pool->test);
    struct submission_due due[SUBMISSIONS_CLAIM];
    for (size_t count = SUBMISSIONS_CLAIM; count == SUBMISSIONS_CLAIM && claimer->count < LEASES;) {
        count = claim(db, due);
        for (size_t i = 0; i < count && claimer->count < LEASES; i++)
            claimer->claimed[claimer->count++] = due[i].lease;
    }
    db_free(db);
    return NULL;
}

static void DL16_of_all_replicas_one_claims_a_submission_in_a_ledger(void **state)
{
    struct test_pool *pool = *state;
    static struct asked asked[LEASES];
    struct submission_due due[SUBMISSIONS_CLAIM];
    test_pool_grant_all(pool, asked, GRANT_BATCH_MAX);
    test_pool_grant_all(pool, &asked[GRANT_BATCH_MAX], GRANT_BATCH_MAX);
    record_all(pool, asked, LEASES);
    assert_int_equal(claim(pool->db, due), 0); /* they have just been sent */
    for (int ledger = 0; ledger < 10; ledger++) {
        static struct claimer claimers[4];
        struct hash all[LEASES];
        size_t count = 0;
        test_pool_close_ledger(pool->db, NULL);
        for (size_t i = 0; i < ARRAY_LEN(claimers); i++) {
            claimers[i] = (struct claimer){.pool = pool};
            pthread_create(&claimers[i].thread, NULL, claim_all, &claimers[i]);
        }
        for (size_t i = 0; i < ARRAY_LEN(claimers); i++) {
            pthread_join(claimers[i].thread, NULL);
            assert_true(count + claimers[i].count <= LEASES);
            memcpy(&all[count], claimers[i].claimed, claimers[i].count * sizeof all[0]);
            count += claimers[i].count;
        }
        while (count < LEASES && claim(pool->db, due) > 0) /* locked by a claim that has ended since */
            fail_msg("a submission was left out");
        assert_int_equal(count, LEASES);
        qsort(all, count, sizeof all[0], hash_compare);
        for (size_t i = 1; i < count; i++)
            assert_false(hash_equal(&all[i - 1], &all[i]));
    }
    asked_wipe_all(asked, LEASES);
}

static void DL16_what_was_claimed_first_waits_for_the_rest_when_ledgers_close_meanwhile(void **state)
{
    struct test_pool *pool = *state;
    static struct asked asked[LEASES];
    struct submission_due first[SUBMISSIONS_CLAIM], rest[SUBMISSIONS_CLAIM];
    test_pool_grant_all(pool, asked, GRANT_BATCH_MAX);
    test_pool_grant_all(pool, &asked[GRANT_BATCH_MAX], GRANT_BATCH_MAX);
    record_all(pool, asked, LEASES);
    test_pool_close_ledger(pool->db, NULL);
    assert_int_equal(claim(pool->db, first), SUBMISSIONS_CLAIM);
    test_pool_close_ledger(pool->db, NULL);
    assert_int_equal(claim_until(pool->db, first[0].tip, rest), SUBMISSIONS_CLAIM);
    for (size_t i = 0; i < SUBMISSIONS_CLAIM; i++)
        for (size_t k = 0; k < SUBMISSIONS_CLAIM; k++)
            assert_false(hash_equal(&first[i].lease, &rest[k].lease));
    assert_int_equal(claim_until(pool->db, first[0].tip, rest), 0);
    asked_wipe_all(asked, LEASES);
}

static void DL16_the_ledger_that_ends_a_lease_deletes_its_submission(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked[3];
    test_pool_grant_all(pool, asked, 3);
    record_all(pool, asked, 3);
    const struct lease *const included[] = {&asked[0].grant.lease, &asked[1].grant.lease};
    test_pool_include(pool->db, included, 2);
    assert_int_equal(number(pool, "SELECT count(*) FROM fairway.submissions"), 1);
    test_pool_close_ledger(
        pool->db, &(struct built_ledger){.close_time_s = asked[2].grant.lease.max_time_s + 1});
    assert_int_equal(number(pool, "SELECT count(*) FROM fairway.submissions"), 0);
    asked_wipe_all(asked, 3);
}

static void assert_row(struct test_pool *pool, int64_t bid, int64_t cap)
{
    assert_int_equal(number(pool, "SELECT bid FROM fairway.submissions"), bid);
    assert_int_equal(number(pool, "SELECT coalesce(max_fee, 0) FROM fairway.submissions"), cap);
}

/* As after a COMMIT whose reply was lost, or when a client repeats its request. */
static void DR2_recording_a_bid_again_changes_nothing(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked;
    const struct bid first = {.number = 1, .fee = 284, .cap = 300},
                     next = {.number = 2, .fee = 285, .cap = 300, .raised = 1};
    test_pool_grant_all(pool, &asked, 1);
    const struct lease *lease = &asked.grant.lease;
    struct fee_bump_item item = record(pool, lease, first);
    assert_true(item.first && item.sent_ledger > 0);
    item = record(pool, lease, first);
    assert_false(item.first || item.sent_ledger > 0);
    assert_row(pool, 284, 300);
    assert_true(record(pool, lease, next).sent_ledger > 0);
    assert_int_equal(record(pool, lease, next).sent_ledger, 0);
    assert_int_equal(record(pool, lease, first).sent_ledger, 0);
    assert_row(pool, 285, 300);
    assert_int_equal(number(pool, "SELECT count(*) FROM fairway.fee_bumps"), 2);
    asked_wipe(&asked);
}

static void DL16_a_raise_does_not_replace_what_the_client_has_submitted_since(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked;
    test_pool_grant_all(pool, &asked, 1);
    const struct lease *lease = &asked.grant.lease;
    record(pool, lease, (struct bid){.number = 1, .fee = 284, .cap = 300});
    struct fee_bump_item item =
        record(pool, lease, (struct bid){.number = 2, .fee = 284, .cap = 300, .envelope = 1});
    assert_true(item.sent_ledger > 0 && !item.first);
    item = record(pool, lease, (struct bid){.number = 3, .fee = 285, .cap = 300, .raised = 1});
    assert_int_equal(item.sent_ledger, 0);
    assert_row(pool, 284, 300);
    record(pool, lease, (struct bid){.number = 4, .fee = 984, .cap = 1000, .envelope = 1});
    assert_row(pool, 984, 1000);
    record(
        pool, lease, (struct bid){.number = 5, .fee = 200, .cap = 2000, .envelope = 1}); /* funds are short */
    assert_row(pool, 984, 2000);
    record(pool, lease, (struct bid){.number = 6, .fee = 200, .envelope = 2}); /* another signature, no cap */
    assert_row(pool, 200, 2000);
    asked_wipe(&asked);
}

static void DL16_a_rejection_stops_claims_until_the_client_submits_something_else(void **state)
{
    static const uint8_t result[] = {1, 2, 3};
    struct test_pool *pool = *state;
    struct asked asked;
    struct submission_due due[SUBMISSIONS_CLAIM];
    const struct hash bid = hash_of(1), other = hash_of(9);
    test_pool_grant_all(pool, &asked, 1);
    const struct lease *lease = &asked.grant.lease;
    record(pool, lease, (struct bid){.number = 1, .fee = 200});
    assert_int_equal(
        submissions_answer(pool->db, &lease->hash, &other, BYTES_OF(result), ROUND, NULL), ERR_OK);
    test_pool_close_ledger(pool->db, NULL);
    assert_int_equal(claim(pool->db, due), 1);
    assert_int_equal(submissions_answer(pool->db, &lease->hash, &bid, BYTES_OF(result), ROUND, NULL), ERR_OK);
    test_pool_close_ledger(pool->db, NULL);
    assert_int_equal(claim(pool->db, due), 0);
    assert_int_equal(record(pool, lease, (struct bid){.number = 1, .fee = 200}).sent_ledger, 0);
    assert_true(record(pool, lease, (struct bid){.number = 2, .fee = 200, .envelope = 1}).sent_ledger > 0);
    test_pool_close_ledger(pool->db, NULL);
    assert_int_equal(claim(pool->db, due), 1);
    asked_wipe(&asked);
}

static void DL16_a_bid_without_room_is_followed_by_the_next_one_after_a_ledger(void **state)
{
    struct test_pool *pool = *state;
    struct asked asked;
    struct submission_due due[SUBMISSIONS_CLAIM];
    const struct hash bid = hash_of(1);
    test_pool_grant_all(pool, &asked, 1);
    record(pool, &asked.grant.lease, (struct bid){.number = 1, .fee = 200, .cap = 200});
    assert_int_equal(
        submissions_answer(pool->db, &asked.grant.lease.hash, &bid, (struct bytes){0}, ROUND, NULL), ERR_OK);
    test_pool_close_ledger(pool->db, NULL);
    assert_int_equal(claim(pool->db, due), 1);
    assert_int_equal(due[0].tip - due[0].round_ledger, ROUND);
    assert_int_equal(due[0].max_fee_stroops, 200);
    for (int ledger = ROUND; ledger < AGAIN; ledger++) { /* it cannot be raised: the same bytes once more */
        test_pool_close_ledger(pool->db, NULL);
        assert_int_equal(claim(pool->db, due), 1);
    }
    assert_int_equal(due[0].tip, due[0].round_ledger);
    asked_wipe(&asked);
}

int main(void)
{
#define SUBMISSIONS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, test_pool_tear_down)
    const struct CMUnitTest tests[] = {
        SUBMISSIONS_TEST(DL16_of_all_replicas_one_claims_a_submission_in_a_ledger),
        SUBMISSIONS_TEST(DL16_what_was_claimed_first_waits_for_the_rest_when_ledgers_close_meanwhile),
        SUBMISSIONS_TEST(DL16_the_ledger_that_ends_a_lease_deletes_its_submission),
        SUBMISSIONS_TEST(DR2_recording_a_bid_again_changes_nothing),
        SUBMISSIONS_TEST(DL16_a_raise_does_not_replace_what_the_client_has_submitted_since),
        SUBMISSIONS_TEST(DL16_a_rejection_stops_claims_until_the_client_submits_something_else),
        SUBMISSIONS_TEST(DL16_a_bid_without_room_is_followed_by_the_next_one_after_a_ledger),
    };
    return cmocka_run_group_tests_name("submissions", tests, test_pg_start, test_pg_stop);
}
