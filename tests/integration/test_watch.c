/* Clients that wait for the result of a transaction: when each wait ends, with what result, and at what cost.
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../src/ingest/ledger_commit.h"
#include "base/clock.h"
#include "base/mem.h"
#include "pool/accounts.h"
#include "pool/master_keys.h"
#include "stellar/result.h"
#include "support/fee_bump.h"
#include "grant/watch.h"
#include "support/ledger_feed.h"
#include "support/pool_rows.h"
#include "slowness.h"
#include "support/take_lead.h"

#define PATIENCE_MS 10000

static struct test_db database;
static struct watch *watch;
static struct detail detail;

/* A client that waits. */
struct waiter {
    struct watch_ticket ticket; /* must be first: on_done casts it to the waiter */
    _Atomic int64_t answered_us;
    atomic_uint answers;
    int64_t charged_stroops; /* by the status's result; 0: it has none */
};

static void on_done(struct watch_ticket *ticket)
{
    struct waiter *waiter = (struct waiter *)ticket;
    struct lease_status owned = ticket->status;
    waiter->charged_stroops = result_fee_charged(buf_bytes(&owned.result));
    lease_status_free(&owned);
    atomic_store(&waiter->answered_us, clock_us());
    atomic_fetch_add(&waiter->answers, 1);
}

static enum err submit(struct waiter *waiter, struct hash hash, const char *client, int wait_ms)
{
    *waiter = (struct waiter){.ticket = {.hash = hash, .deadline_ms = clock_ms() + wait_ms, .done = on_done}};
    snprintf(waiter->ticket.client, sizeof waiter->ticket.client, "%s", client);
    return watch_submit(watch, &waiter->ticket);
}

static void begin(struct waiter *waiter, unsigned n, int wait_ms)
{
    assert_int_equal(submit(waiter, built_hash(n), "", wait_ms), ERR_OK);
}

static bool answered(const struct waiter *waiter)
{
    return atomic_load(&waiter->answers) > 0;
}

static void await(const struct waiter *waiter)
{
    for (int64_t end_ms = clock_ms() + slower(PATIENCE_MS); !answered(waiter); clock_sleep_ms(1))
        if (clock_left_ms(end_ms) == 0)
            fail_msg("the wait has not ended");
}

static void assert_answer(const struct waiter *waiter, enum err e, const char *status)
{
    await(waiter);
    assert_int_equal(atomic_load(&waiter->answers), 1);
    assert_string_equal(err_code(waiter->ticket.error), err_code(e));
    assert_string_equal(waiter->ticket.status.status, status);
}

/* Reads the status of an open lease. Within WATCH_READ_MS a slow machine may not get it from the database. */
static void read_pending(unsigned n, int within_ms)
{
    struct waiter waiter;
    const int64_t end_ms = clock_ms() + slower(within_ms);
    do {
        begin(&waiter, n, 0);
        await(&waiter);
    } while (waiter.ticket.error == ERR_DATABASE_UNAVAILABLE && clock_left_ms(end_ms) > 0);
    assert_answer(&waiter, ERR_OK, "pending");
}

/* Waits until all earlier tickets have been looked up: the watch does it in their order. */
static void await_looked_up(void)
{
    read_pending(1, PATIENCE_MS);
}

static int start(void **state)
{
    database = test_db_new(TEST_DB_MIGRATED);
    detail = (struct detail){0};
    watch = watch_start(database.url, MASTER_KEYS_SESSION, NULL, NULL, NULL);
    for (unsigned n = 1; n <= 3; n++) {
        account_row(&database, n, "active");
        lease_row(&database, n, "", 0);
    }
    return 0;
}

/* Call it while the waiters still exist, because it ends their waits. */
static void stop_watch(void)
{
    if (watch != NULL)
        watch_stop(watch);
    watch_free(watch);
    watch = NULL;
}

static int stop(void **state)
{
    stop_watch();
    test_db_drop(&database);
    return 0;
}

static void notify(void)
{
    test_db_exec(&database, "NOTIFY " ACCOUNTS_CHANNEL);
}

TEST(without_a_wait_a_pending_lease_is_reported_at_once)
{
    struct waiter waiter;
    await_looked_up(); /* the watch has connected */
    int64_t begun_us = clock_us();
    begin(&waiter, 1, 0);
    assert_answer(&waiter, ERR_OK, "pending");
    assert_in_range(atomic_load(&waiter.answered_us) - begun_us, 0, slower(1000) * 1000);
    assert_int_equal(waiter.ticket.status.sequence, 51);
}

TEST(an_unknown_hash_is_reported_at_once_whatever_the_deadline)
{
    struct waiter waiter, stranger;
    begin(&waiter, 99, 60000);
    assert_int_equal(submit(&stranger, built_hash(1), "somebody else", 60000), ERR_OK);
    assert_answer(&waiter, ERR_TRANSACTION_NOT_FOUND, "");
    assert_answer(&stranger, ERR_TRANSACTION_NOT_FOUND, "");
}

TEST(a_lease_that_has_ended_is_reported_at_once)
{
    struct waiter waiter;
    const struct lease_status *status = &waiter.ticket.status;
    const struct hash hash = built_hash(1);
    const struct public_key account = built_key(1);
    char address[ADDRESS_SIZE];
    address_encode(&account, address);
    ledger_row(&database, 10);
    lease_row_end(&database, 1, "failed", "txFAILED");
    begin(&waiter, 1, 60000);
    assert_answer(&waiter, ERR_OK, "failed");
    assert_true(hash_equal(&status->hash, &hash));
    assert_string_equal(status->account, address);
    assert_int_equal(status->sequence, 51);
    assert_string_equal(status->result_code, "txFAILED");
    assert_int_equal(status->ledger, POOL_ROWS_LEDGER);
    assert_int_equal(status->closed_at_s, test_db_number(&database, "SELECT close_time FROM fairway.cursor"));
    assert_int_equal(status->max_time_s,
        test_db_number(&database, "SELECT max_time FROM fairway.lease_history WHERE settled_at IS NOT NULL"));
}

TEST(a_result_without_its_ledgers_row_is_still_a_result)
{
    struct waiter waiter;
    lease_row_end(&database, 1, "consumed", NULL);
    begin(&waiter, 1, 60000);
    assert_answer(&waiter, ERR_OK, "consumed");
    assert_string_equal(waiter.ticket.status.result_code, "");
    assert_int_equal(waiter.ticket.status.ledger, POOL_ROWS_LEDGER);
    assert_int_equal(waiter.ticket.status.closed_at_s, 0);
}

TEST(a_notification_ends_only_the_waits_whose_lease_has_ended)
{
    struct waiter ended, other;
    begin(&ended, 1, 60000);
    begin(&other, 2, 60000);
    await_looked_up();
    lease_row_end(&database, 1, "expired", NULL);
    notify();
    assert_answer(&ended, ERR_OK, "expired");
    clock_sleep_ms(200);
    assert_false(answered(&other));
    stop_watch();
}

TEST(a_wait_for_a_fee_bump_reports_its_lease)
{
    struct waiter waiter;
    struct hash lease = built_hash(1), bump = built_hash(100);
    const struct public_key account = built_key(1);
    struct db *db = test_db_open(&database);
    assert_int_equal(fee_bump_record_one(db, &bump, &lease, &account, 400), ERR_OK);
    db_free(db);
    begin(&waiter, 100, 60000);
    lease_row_end(&database, 1, "confirmed", "txSUCCESS");
    notify();
    assert_answer(&waiter, ERR_OK, "confirmed");
    assert_true(hash_equal(&waiter.ticket.status.hash, &lease));
}

#define MANY 5000

/* Otherwise one client that waits many times delays everybody's reads until they fail. */
TEST(many_waits_for_fee_bumps_do_not_delay_a_read)
{
    static const unsigned different[] = {1, MANY};
    struct db *db = test_db_open(&database);
    struct hash lease = built_hash(1), *hashes AUTO_FREE = NEW_ARRAY(MANY, struct hash);
    struct bytes *bumps AUTO_FREE = NEW_ARRAY(MANY, struct bytes);
    for (unsigned n = 0; n < MANY; n++) {
        hashes[n] = built_hash(100 + n);
        bumps[n] = BYTES_OF(hashes[n].bytes);
    }
    assert_int_equal(db_query(db,
                         DB_SQL("INSERT INTO fairway.fee_bumps (hash, lease_hash, granted_at, fee)"
                                " SELECT u.hash, l.hash, l.granted_at, 400 + u.n FROM fairway.leases l,"
                                " unnest($1::bytea[]) WITH ORDINALITY u (hash, n) WHERE l.hash = $2",
                             DB_BYTEAS(bumps, MANY), DB_BYTEA(BYTES_OF(lease.bytes))),
                         NULL, NULL),
        ERR_OK);
    db_free(db);
    for (size_t i = 0; i < ARRAY_LEN(different); i++) {
        struct waiter *waiters AUTO_FREE = NEW_ARRAY(MANY, struct waiter);
        for (unsigned n = 0; n < MANY; n++)
            begin(&waiters[n], 100 + n % different[i], 60000);
        for (int reads = 0; reads < 3; reads++) {
            read_pending(2, WATCH_READ_MS);
            clock_sleep_ms(700);
        }
        for (unsigned n = 0; n < MANY; n++)
            watch_cancel(watch, &waiters[n].ticket);
        for (unsigned n = 0; n < MANY; n++)
            await(&waiters[n]);
    }
}

TEST(a_missed_notification_delays_a_wait_by_about_a_second)
{
    struct waiter waiter;
    begin(&waiter, 1, 60000);
    await_looked_up();
    int64_t ended_us = clock_us();
    lease_row_end(&database, 1, "expired", NULL);
    assert_answer(&waiter, ERR_OK, "expired");
    assert_in_range(atomic_load(&waiter.answered_us) - ended_us, 0, slower(2000) * 1000);
}

TEST(a_cancelled_ticket_is_given_back_at_once)
{
    struct waiter waiters[5];
    for (unsigned i = 0; i < ARRAY_LEN(waiters); i++)
        begin(&waiters[i], 1 + i % 3, 60000);
    await_looked_up();
    watch_cancel(watch, &waiters[1].ticket);
    watch_cancel(watch, &waiters[4].ticket);
    for (unsigned i = 0; i < ARRAY_LEN(waiters); i++) {
        assert_int_equal(atomic_load(&waiters[i].answers), i == 1 || i == 4);
        assert_int_equal(waiters[i].ticket.error, i == 1 || i == 4 ? ERR_CANCELLED : ERR_OK);
    }
    lease_row_end(&database, 3, "expired", NULL);
    notify();
    assert_answer(&waiters[2], ERR_OK, "expired"); /* the others still wait in order */
    stop_watch();
}

TEST(a_ticket_that_was_cancelled_before_is_not_taken)
{
    struct waiter waiter = {.ticket = {.hash = built_hash(1), .done = on_done}};
    watch_cancel(watch, &waiter.ticket);
    assert_int_equal(watch_submit(watch, &waiter.ticket), ERR_CANCELLED);
    stop_watch();
    assert_int_equal(atomic_load(&waiter.answers), 0);
}

/* Cancels tickets while their leases are looked up and end. */
static void *cancel_all(void *context)
{
    struct waiter *waiters = context;
    for (unsigned i = 0; i < 500; i++) {
        watch_cancel(watch, &waiters[i].ticket);
        if (i % 50 == 0)
            clock_sleep_ms(1);
    }
    return NULL;
}

TEST(each_ticket_ends_once_whether_it_is_cancelled_or_its_lease_ends)
{
    struct waiter *waiters AUTO_FREE = NEW_ARRAY(500, struct waiter);
    unsigned cancelled = 0;
    pthread_t thread;
    for (unsigned i = 0; i < 500; i++)
        begin(&waiters[i], 1 + i % 3, 60000);
    lease_row_end(&database, 1, "expired", NULL);
    notify();
    assert_int_equal(pthread_create(&thread, NULL, cancel_all, waiters), 0);
    lease_row_end(&database, 2, "expired", NULL);
    notify();
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < 500; i++) {
        await(&waiters[i]);
        assert_int_equal(atomic_load(&waiters[i].answers), 1);
        cancelled += waiters[i].ticket.error == ERR_CANCELLED;
    }
    print_message("%u of 500 tickets were cancelled in time\n", cancelled);
}

TEST(stopping_refuses_all_waits_and_takes_no_more)
{
    struct waiter *waiters AUTO_FREE = NEW_ARRAY(100, struct waiter);
    for (unsigned i = 0; i < 100; i++)
        begin(&waiters[i], 1 + i % 3, 60000);
    stop_watch();
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(atomic_load(&waiters[i].answers), 1);
        assert_int_equal(waiters[i].ticket.error, ERR_SHUTTING_DOWN);
    }
}

TEST(waits_beyond_the_maximum_are_refused_until_others_end)
{
    struct waiter *waiters AUTO_FREE = NEW_ARRAY(WATCH_MAX, struct waiter), extra;
    for (unsigned i = 0; i < WATCH_MAX; i++)
        begin(&waiters[i], 1 + i % 3, 60000);
    assert_int_equal(submit(&extra, built_hash(1), "", 0), ERR_OVERLOADED);
    lease_row_end(&database, 1, "expired", NULL);
    notify();
    for (unsigned i = 0; i < WATCH_MAX; i += 3)
        assert_answer(&waiters[i], ERR_OK, "expired");
    read_pending(2, PATIENCE_MS);
    assert_false(answered(&waiters[1]));
    stop_watch();
}

/* When the watch's session last sent a statement, by the server's clock. */
static int64_t last_statement_us(void)
{
    return test_db_number(&database,
        "SELECT coalesce(max((extract(epoch FROM query_start) * 1000000)::int8), 0)"
        " FROM pg_stat_activity WHERE application_name = 'fairway watch' AND datname = current_database()");
}

TEST(without_waits_no_query_is_sent)
{
    struct waiter waiter;
    begin(&waiter, 1, 0);
    await(&waiter);
    clock_sleep_ms(100);
    int64_t before = last_statement_us();
    assert_true(before > 0);
    clock_sleep_ms(2500);
    assert_int_equal(last_statement_us(), before);
}

/* What commits the ledgers of the next test. */
struct ledger_chain {
    struct ledger_feed *feed;
    struct lead lead;
    uint32_t sequence;
};

static void commit_next(struct ledger_chain *chain)
{
    struct ledger_committed committed;
    struct rpc_ledger ledger = ledger_feed_ledger(chain->feed, chain->sequence++);
    if (commit_received(&chain->lead, &ledger, &committed, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
}

static struct ledger_chain chain_new(void)
{
    const struct network_id network = network_id_of(BUILT_PASSPHRASE);
    struct ledger_chain chain = {.feed = ledger_feed_new(POOL_ROWS_LEDGER, 0), .sequence = POOL_ROWS_LEDGER};
    chain.lead =
        (struct lead){.db = test_db_open(&database), .network = network, .locks = lock_numbers_of(&network)};
    take_lead(&chain.lead);
    commit_next(&chain);
    return chain;
}

static void ledger_chain_free(struct ledger_chain *chain)
{
    lead_free(&chain->lead);
    ledger_feed_free(chain->feed);
}

#define CROWD 1000

/* What another session saw when the watch was told. */
static int64_t told_us, told_ends;

static void tell(void *context, const struct lease_ends *ends)
{
    told_us = clock_us();
    told_ends = test_db_number(&database, "SELECT count(*) FROM fairway.lease_results");
    watch_ended(context, ends);
}

/* Stops the server's side of the watch's session. */
static pid_t freeze_watch(void)
{
    const pid_t pid = (pid_t)test_db_number(&database,
        "SELECT pid::int8 FROM pg_stat_activity WHERE application_name = 'fairway watch'"
        " AND datname = current_database()");
    assert_int_equal(kill(pid, SIGSTOP), 0);
    return pid;
}

/* Each lease of the ledger has a client that waits. told: by the ledger transaction, and by nobody else. */
static void answer_a_crowd(bool told)
{
    struct ledger_chain chain = chain_new();
    struct waiter *waiters AUTO_FREE = NEW_ARRAY(CROWD, struct waiter);
    struct built_transaction *transactions AUTO_FREE = NEW_ARRAY(CROWD, struct built_transaction);
    struct built_account *accounts AUTO_FREE = NEW_ARRAY(CROWD, struct built_account);
    unsigned answers = 0;
    int64_t last_us = 0;
    pid_t frozen = 0;
    leased_rows(&database, 10, CROWD);
    for (unsigned i = 0; i < CROWD; i++) {
        begin(&waiters[i], 10 + i, 60000);
        transactions[i] = (struct built_transaction){.hash = built_hash(10 + i), .code = i % 2 == 0 ? 0 : -1};
        accounts[i] = (struct built_account){.key = built_key(10 + i), .sequence = 51};
    }
    await_looked_up();
    if (told) {
        chain.lead.listener = (struct lease_ends_listener){tell, watch};
        frozen = freeze_watch();
    }
    ledger_feed_close(chain.feed, &(struct built_ledger){.transactions = transactions,
                                      .transaction_count = CROWD,
                                      .accounts = accounts,
                                      .account_count = CROWD});
    commit_next(&chain);
    const int64_t committed_us = told ? told_us : clock_us();
    if (told) {
        for (unsigned i = 0; i < CROWD; i++)
            answers += answered(&waiters[i]);
        assert_int_equal(kill(frozen, SIGCONT), 0);
        assert_int_equal(answers, CROWD);
        assert_int_equal(told_ends, CROWD);
    }
    for (unsigned i = 0; i < CROWD; i++) {
        assert_answer(&waiters[i], ERR_OK, i % 2 == 0 ? "confirmed" : "failed");
        assert_string_equal(waiters[i].ticket.status.result_code, i % 2 == 0 ? "txSUCCESS" : "txFAILED");
        assert_int_equal(waiters[i].ticket.status.ledger, chain.sequence - 1);
        assert_true(waiters[i].ticket.status.closed_at_s > 0);
        assert_true(hash_equal(&waiters[i].ticket.status.ledger_hash, &transactions[i].hash));
        assert_int_equal(waiters[i].charged_stroops, 100);
        if (atomic_load(&waiters[i].answered_us) > last_us)
            last_us = atomic_load(&waiters[i].answered_us);
    }
    print_message(
        "%d waits, commit to last answer: %.2f ms\n", CROWD, (double)(last_us - committed_us) / 1000);
    assert_true(last_us - committed_us < slower(100) * 1000);
    ledger_chain_free(&chain);
}

TEST(the_process_that_commits_a_ledger_answers_its_waits_after_the_commit)
{
    answer_a_crowd(true);
}

TEST(a_notification_answers_a_thousand_waits_at_once)
{
    answer_a_crowd(false);
}

TEST(without_the_database_nothing_is_guessed_and_waits_go_on_when_it_is_back)
{
    struct waiter patient, at_once, brief;
    begin(&patient, 1, 60000);
    begin(&brief, 2, 2500); /* read as pending before the database was lost */
    await_looked_up();
    test_pg_kill();
    begin(&at_once, 1, 0);
    assert_answer(&at_once, ERR_DATABASE_UNAVAILABLE, "");
    assert_answer(&brief, ERR_DATABASE_UNAVAILABLE, "");
    assert_false(answered(&patient));
    test_pg_restart();
    lease_row_end(&database, 1, "expired", NULL);
    assert_answer(&patient, ERR_OK, "expired");
    read_pending(2, PATIENCE_MS);
}

TEST(DO1_a_drain_ends_waits_at_once_and_still_reports_known_results)
{
    struct waiter waiting[3], asking, late, unknown;
    for (unsigned i = 0; i < ARRAY_LEN(waiting); i++)
        begin(&waiting[i], 1 + i, 60000);
    await_looked_up();
    int64_t begun_ms = clock_ms();
    watch_drain(watch);
    for (unsigned i = 0; i < ARRAY_LEN(waiting); i++)
        assert_answer(&waiting[i], ERR_SHUTTING_DOWN, "pending");
    assert_in_range(clock_ms() - begun_ms, 0, slower(1500));
    begin(&asking, 1, 0);
    assert_answer(&asking, ERR_OK, "pending");
    begin(&late, 2, 60000);
    assert_answer(&late, ERR_SHUTTING_DOWN, "pending");
    begin(&unknown, 99, 60000);
    assert_answer(&unknown, ERR_TRANSACTION_NOT_FOUND, "");
    stop_watch();
}

TEST_FIXTURE(start, stop)
GROUP_FIXTURE(test_pg_start_private, test_pg_stop)
