/*
 * Limits of clients (DL8), by sessions that race as replicas do: no client ever has more than its limit, and
 * what is counted is what the accounts say, whatever was rolled back, cut off, or ended by a ledger.
 */
#include "support/pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "pool/fee_bump.h"
#include "support/proxy.h"
#include "slowness.h"

#define ACCOUNTS 40
#define REPLICAS 6
#define BATCHES 60
#define BIDS 150
#define BATCH_MAX 8
#define CLIENTS 4
#define OPEN_MAX 7
#define CONTRACT_PERCENT 10
#define CONTRACT_MAX 4 /* that is of the accounts */
#define LEDGER_MS 5
#define KILL_MS 40
#define KILL_BATCHES 6 /* end between two kills at least: on a slow machine too, most are not killed */

/* cmocka's assertions work on the main thread only. */
#define check(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            print_error("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                      \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

static int set_up(void **state)
{
    return test_pool_set_up(state, ACCOUNTS);
}

static void ask_limited(
    const struct test_pool *pool, struct asked *asked, const char *client, int64_t open_max)
{
    ask(pool, asked);
    snprintf(asked->request.client, sizeof asked->request.client, "%s", client);
    asked->request.limits.most[LIMIT_OPEN_LEASES] = open_max;
}

/* The same for a call of this contract. */
static void ask_call(const struct test_pool *pool, struct asked *asked, const char *client, int64_t open_max,
    const char *contract)
{
    ask_limited(pool, asked, client, open_max);
    snprintf(asked->request.contract, sizeof asked->request.contract, "%s", contract);
    asked->request.limits.most[LIMIT_CONTRACT_PERCENT] = CONTRACT_PERCENT;
}

/* Grants one lease of this client or refuses it; returns whether it was granted. */
static bool grant_one(struct test_pool *pool, const char *client, int64_t open_max)
{
    struct asked asked;
    ask_limited(pool, &asked, client, open_max);
    test_pool_decide(pool, &asked, 1);
    const bool done = asked.grant.state == GRANT_DONE;
    if (!done)
        assert_int_equal(asked.grant.error, ERR_LIMIT_EXCEEDED);
    asked_wipe(&asked);
    return done;
}

static void assert_counts_are_true(const struct test_pool *pool)
{
    assert_int_equal(test_db_broken_rules(pool->db), 0);
}

/* ---- open leases, in a storm */

struct storm {
    struct test_pool *pool;
    pthread_mutex_t lock;
    struct lease *leases; /* to be included in the next ledger */
    size_t count, granted, refused, unknown, batches;
    int64_t most, most_of_contract; /* open leases of a client that were ever seen */
    bool kills, done;
};

struct replica {
    struct storm *storm;
    unsigned seed;
    pthread_t thread;
};

static void finish_batch(struct storm *storm, struct asked asked[], size_t count, enum err e)
{
    pthread_mutex_lock(&storm->lock);
    storm->batches++;
    storm->unknown += e == ERR_OUTCOME_UNKNOWN;
    for (size_t i = 0; i < count; i++) {
        const struct grant *grant = &asked[i].grant;
        check(grant->state != GRANT_REFUSED || grant->error == ERR_LIMIT_EXCEEDED);
        storm->refused += grant->state == GRANT_REFUSED;
        if (grant->state == GRANT_DONE)
            storm->leases[storm->count++] = (struct lease){.hash = grant->lease.hash,
                .account = grant->lease.account,
                .sequence = grant->lease.sequence};
    }
    pthread_mutex_unlock(&storm->lock);
}

static void *grant_all(void *context)
{
    struct replica *replica = context;
    struct storm *storm = replica->storm;
    struct test_pool pool = *storm->pool;
    pool.db = db_new(&(struct db_settings){.url = pool.test.url, .name = "racing replica"});
    for (int i = 0; i < BATCHES; i++) {
        struct asked asked[BATCH_MAX];
        struct detail detail = {0};
        const size_t count = 1 + (size_t)rand_r(&replica->seed) % BATCH_MAX;
        for (size_t k = 0; k < count; k++) {
            char client[] = {(char)('a' + rand_r(&replica->seed) % CLIENTS), '\0'};
            ask_call(&pool, &asked[k], client, OPEN_MAX, rand_r(&replica->seed) % 3 == 0 ? "" : "C");
        }
        enum err e = test_pool_grant(&pool, asked, count, &detail);
        if (e != ERR_OK && !(storm->kills && err_status(e) == 503))
            print_error("%s %s\n", err_code(e), detail.text);
        check(e == ERR_OK || (storm->kills && err_status(e) == 503));
        finish_batch(storm, asked, count, e);
        for (size_t k = 0; k < count; k++)
            asked_wipe(&asked[k]);
        clock_sleep_ms(1);
    }
    db_free(pool.db);
    return NULL;
}

static int64_t number(struct db *db, const char *sql)
{
    AUTO_ROWS rows = NULL;
    struct detail detail = {0};
    check(db_query(db, (struct db_statement){sql, NULL, 0}, &rows, &detail) == ERR_OK);
    return db_i64(rows, 0, 0);
}

/* Ends the leases that were granted since the last ledger, and looks how many each client has. */
static void *close_ledgers(void *context)
{
    struct storm *storm = context;
    struct db *db = test_db_open(&storm->pool->test);
    for (bool done = false; !done; clock_sleep_ms(LEDGER_MS)) {
        const struct lease *included[ACCOUNTS];
        struct lease copies[ACCOUNTS];
        const int64_t most =
            number(db, "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM fairway.channel_accounts"
                       " WHERE lease_client IS NOT NULL GROUP BY lease_client) c");
        const int64_t of_contract =
            number(db, "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM fairway.channel_accounts"
                       " WHERE lease_contract IS NOT NULL GROUP BY lease_client, lease_contract) c");
        pthread_mutex_lock(&storm->lock);
        const size_t count = storm->count;
        check(count <= ACCOUNTS);
        memcpy(copies, storm->leases, count * sizeof copies[0]);
        storm->granted += count;
        storm->count = 0;
        storm->most = most > storm->most ? most : storm->most;
        storm->most_of_contract =
            of_contract > storm->most_of_contract ? of_contract : storm->most_of_contract;
        done = storm->done;
        pthread_mutex_unlock(&storm->lock);
        for (size_t i = 0; i < count; i++)
            included[i] = &copies[i];
        test_pool_include(db, included, count);
    }
    db_free(db);
    return NULL;
}

static void *kill_sessions(void *context)
{
    struct storm *storm = context;
    struct db *db = test_db_open(&storm->pool->test);
    size_t next = 0;
    for (bool done = false, due = false; !done; clock_sleep_ms(KILL_MS)) {
        if (due)
            number(db, "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity"
                       " WHERE application_name = 'racing replica' AND datname = current_database()"
                       " ORDER BY random() LIMIT 1) s");
        pthread_mutex_lock(&storm->lock);
        done = storm->done;
        due = storm->batches >= next;
        next = due ? storm->batches + KILL_BATCHES : next;
        pthread_mutex_unlock(&storm->lock);
    }
    db_free(db);
    return NULL;
}

static void run_storm(struct storm *storm)
{
    struct replica replicas[REPLICAS];
    pthread_t closer, killer;
    pthread_mutex_init(&storm->lock, NULL);
    storm->leases = NEW_ARRAY(ACCOUNTS, struct lease);
    assert_int_equal(pthread_create(&closer, NULL, close_ledgers, storm), 0);
    if (storm->kills)
        assert_int_equal(pthread_create(&killer, NULL, kill_sessions, storm), 0);
    for (unsigned i = 0; i < REPLICAS; i++) {
        replicas[i] = (struct replica){.storm = storm, .seed = i};
        assert_int_equal(pthread_create(&replicas[i].thread, NULL, grant_all, &replicas[i]), 0);
    }
    for (size_t i = 0; i < REPLICAS; i++)
        pthread_join(replicas[i].thread, NULL);
    pthread_mutex_lock(&storm->lock);
    storm->done = true;
    pthread_mutex_unlock(&storm->lock);
    pthread_join(closer, NULL);
    if (storm->kills)
        pthread_join(killer, NULL);
    pthread_mutex_destroy(&storm->lock);
    free(storm->leases);
    print_message(
        "%zu leases, %zu refusals, at most %d of a client and %d for a contract, %zu outcomes unknown\n",
        storm->granted, storm->refused, (int)storm->most, (int)storm->most_of_contract, storm->unknown);
    assert_in_range(storm->most, 1, OPEN_MAX);
    assert_in_range(storm->most_of_contract, 1, CONTRACT_MAX);
    assert_true(storm->refused > 0);
    assert_counts_are_true(storm->pool);
}

TEST(DL8_in_all_replicas_together_a_client_never_has_more_open_leases_than_its_limit)
{
    struct storm storm = {.pool = *state};
    run_storm(&storm);
    assert_int_equal(leased_accounts(storm.pool), 0);
}

TEST(DL8_sessions_that_are_killed_leave_no_wrong_count)
{
    struct test_pool *pool = *state;
    struct storm storm = {.pool = pool, .kills = true};
    run_storm(&storm);
    /* the leases of unknown outcome expire */
    const struct built_ledger late = {.close_time_s = (uint64_t)test_db_number(&pool->test,
                                          "SELECT extract(epoch FROM clock_timestamp())::int8 + 1000")};
    test_pool_close_ledger(pool->db, &late);
    assert_int_equal(leased_accounts(pool), 0);
    assert_counts_are_true(pool);
}

/* ---- another session, which holds a lock */

/* It has run this and not committed, as another replica. */
static struct db *open_writer(struct test_pool *pool, const char *sql)
{
    struct db *db = test_db_open(&pool->test);
    struct detail detail = {0};
    assert_int_equal(db_begin(db, NULL), ERR_OK);
    if (db_query(db, (struct db_statement){sql, NULL, 0}, NULL, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    return db;
}

/* As soon as another session waits, it needs a lock on a client's row, and commits. */
struct holder {
    const struct test_db *test;
    struct db *db;
    const char *needs; /* SQL */
    enum err error;    /* of that */
};

static void *take_and_commit(void *context)
{
    struct holder *holder = context;
    if (!test_db_await_lock_wait(holder->test, slower(2000)))
        print_error("no session waits for a lock\n");
    const struct db_statement statements[] = {
        DB_SQL0("SET LOCAL lock_timeout = 400"), {holder->needs, NULL, 0}};
    struct detail detail = {0};
    holder->error = db_run(holder->db, statements, 2, NULL, &detail);
    if (holder->error == ERR_OK)
        holder->error = db_commit(holder->db, &detail);
    else
        db_rollback(holder->db);
    return NULL;
}

/* Grants in one try, while the holder has its lock. */
static void grant_beside(struct holder *holder, struct test_pool *pool, struct asked asked[], size_t count)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, take_and_commit, holder), 0);
    test_pool_decide(pool, asked, count);
    pthread_join(thread, NULL);
    assert_int_equal(holder->error, ERR_OK);
    db_free(holder->db);
}

/* The holder makes the row of "new", and has read the clients' rows before "seen" had one. */
TEST(DL8_who_waits_for_a_new_client_holds_no_other)
{
    struct test_pool *pool = *state;
    struct holder holder = {.test = &pool->test,
        .db = open_writer(pool, "SELECT fairway.lock_clients('{new}')"),
        .needs = "SELECT fairway.lock_clients('{seen}')"};
    assert_true(grant_one(pool, "seen", 3));
    struct asked asked[2];
    ask_limited(pool, &asked[0], "seen", 3);
    ask_limited(pool, &asked[1], "new", 3);
    grant_beside(&holder, pool, asked, 2);
    asked_wipe_all(asked, 2);
    assert_counts_are_true(pool);
}

/* The leases of another replica are seen only under the lock of the row, when all are signed. */
static void record_what_is_left(struct test_pool *pool)
{
    struct holder holder = {.test = &pool->test,
        .db = open_writer(pool, "SELECT fairway.count_leases('{full,full}', 1)"),
        .needs = "SELECT"};
    struct asked asked[4];
    for (size_t i = 0; i < 4; i++)
        ask_limited(pool, &asked[i], i % 2 == 0 ? "full" : "other", i % 2 == 0 ? 3 : 0);
    grant_beside(&holder, pool, asked, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(asked[i].grant.state, i == 2 ? GRANT_REFUSED : GRANT_DONE);
    assert_int_equal(asked[2].grant.error, ERR_LIMIT_EXCEEDED);
    assert_int_equal(asked[2].grant.limit, LIMIT_OPEN_LEASES);
    assert_int_equal(asked[2].grant.lease.envelope.len, 0);
    assert_int_equal(lease_rows(pool), 3);
    assert_int_equal(leased_accounts(pool), 3);
    assert_int_equal(
        test_db_number(&pool->test, "SELECT open_leases FROM fairway.client_usage WHERE client = 'full'"), 3);
    asked_wipe_all(asked, 4);
}

TEST(DL8_a_batch_records_what_is_left_of_a_limit_and_all_of_other_clients)
{
    record_what_is_left(*state);
}

/* ---- by contract */

static int64_t counted(const struct test_pool *pool, const char *client, const char *contract)
{
    AUTO_FREE char *sql = mem_format("SELECT coalesce((SELECT open_leases FROM fairway.client_usage"
                                     " WHERE client = fairway.contract_row('%s', '%s')), -1)",
        client, contract);
    return test_db_number(&pool->test, sql);
}

/* What a replica reads before its batch is old when it records: the row of the contract, and how many leases
 * the client has, which those that the contract refuses do not take. */
TEST(DL8_of_two_batches_at_once_a_contract_gets_its_share_only)
{
    static const struct {
        const char *contract;
        enum limit refused;
    } items[] = {{"C1", LIMIT_NONE}, {"C1", LIMIT_CONTRACT_PERCENT}, {"C2", LIMIT_NONE}, {"", LIMIT_NONE},
        {"C3", LIMIT_OPEN_LEASES}};
    struct test_pool *pool = *state;
    struct holder holder = {.test = &pool->test,
        .db = open_writer(pool, "SELECT fairway.count_leases('{a,a,a,a/C1,a/C1,a/C1}', 1)"),
        .needs = "SELECT"};
    struct asked asked[ARRAY_LEN(items)];
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        ask_call(pool, &asked[i], "a", 6, items[i].contract);
    grant_beside(&holder, pool, asked, ARRAY_LEN(items));
    for (size_t i = 0; i < ARRAY_LEN(items); i++) {
        assert_int_equal(asked[i].grant.limit, items[i].refused);
        assert_int_equal(asked[i].grant.state, items[i].refused == LIMIT_NONE ? GRANT_DONE : GRANT_REFUSED);
    }
    assert_int_equal(counted(pool, "a", "C1"), CONTRACT_MAX);
    assert_int_equal(counted(pool, "a", "C2"), 1);
    assert_int_equal(counted(pool, "a", "C3"), -1); /* no row stays behind */
    test_db_exec(&pool->test, "SELECT fairway.count_leases('{a,a,a,a/C1,a/C1,a/C1}', -1)");
    assert_counts_are_true(pool);
    asked_wipe_all(asked, ARRAY_LEN(items));
}

TEST(DL8_after_a_COMMIT_without_a_reply_those_above_a_limit_are_refused)
{
    const struct test_pool *pool = *state;
    struct test_pool replica = *pool;
    struct proxy *proxy = proxy_new(test_pg_port());
    replica.db = test_db_open_through(&pool->test, proxy_port(proxy));
    proxy_arm(proxy, PROXY_CUT_AFTER, "fairway.record_leases"); /* in one packet with COMMIT */
    record_what_is_left(&replica);
    db_free(replica.db);
    proxy_free(proxy);
}

/* ---- an account above a limit is leased by another replica, for an equal request */

#define LOST_REPLY_MS 2500

struct rival {
    struct holder holder;
    struct test_pool *pool;
    struct asked asked;
};

/* Grants to another client as soon as the batch is committed, before that knows it. */
static void *grant_what_is_idle(void *context)
{
    struct rival *rival = context;
    take_and_commit(&rival->holder);
    while (number(rival->pool->db, "SELECT count(*) FROM fairway.leases") < 3)
        clock_sleep_ms(2);
    struct detail detail = {0};
    check(test_pool_grant(rival->pool, &rival->asked, 1, &detail) == ERR_OK);
    return NULL;
}

static void ask_until(struct test_pool *pool, struct asked *asked, const char *client, uint64_t max_time_s)
{
    ask_limited(pool, asked, client, strcmp(client, "full") == 0 ? 3 : 0);
    asked->request.envelope.preconditions.max_time_s = max_time_s;
}

TEST(DL8_Z1_after_a_lost_COMMIT_an_equal_lease_of_another_is_not_its_own)
{
    static const char *const clients[] = {"full", "other", "full", "other"};
    struct test_pool *pool = *state, replica = *pool;
    struct asked asked[4];
    struct rival rival = {.pool = pool,
        .holder = {.test = &pool->test,
            .db = open_writer(pool, "SELECT fairway.count_leases('{full,full}', 1)"),
            .needs = "SELECT"}};
    pthread_t thread;
    struct proxy *proxy = proxy_new(test_pg_port());
    const uint64_t max_time_s =
        (uint64_t)test_db_number(&pool->test, "SELECT extract(epoch FROM clock_timestamp())::int8 + 200");
    test_db_exec(&pool->test, "UPDATE fairway.channel_accounts SET state = 'quarantined',"
                              " quarantine_reason = 'not of this test' WHERE slot >= 4");
    for (size_t i = 0; i < 4; i++)
        ask_until(pool, &asked[i], clients[i], max_time_s);
    ask_until(pool, &rival.asked, "rival", max_time_s);
    replica.db = test_db_open_through(&pool->test, proxy_port(proxy));
    db_set_deadline(replica.db, clock_ms() + slower(LOST_REPLY_MS));
    proxy_arm(proxy, PROXY_SILENT_AFTER, "fairway.record_leases");
    assert_int_equal(pthread_create(&thread, NULL, grant_what_is_idle, &rival), 0);
    test_pool_decide(&replica, asked, 4);
    pthread_join(thread, NULL);
    assert_int_equal(rival.asked.grant.state, GRANT_DONE);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(asked[i].grant.state, i == 2 ? GRANT_REFUSED : GRANT_DONE);
    assert_int_equal(lease_rows(pool), 4);
    asked_wipe(&rival.asked);
    asked_wipe_all(asked, 4);
    db_free(rival.holder.db);
    db_free(replica.db);
    proxy_free(proxy);
}

/* ---- fee bumps */

/* A fee bump of a lease of `client`; number makes its hash unlike others'. */
static struct fee_bump_item bump_item(
    const struct lease *lease, const char *client, int64_t number, int64_t fee, struct limits limits)
{
    return (struct fee_bump_item){.lease = lease->hash,
        .source = lease->account,
        .sequence = lease->sequence,
        .client = client,
        .limits = limits,
        .hash = sha256((struct bytes){(const uint8_t *)&number, sizeof number}),
        .fee_stroops = fee};
}

/* As a batch does it, without signing. Errors of the call are the item's. */
static void find_and_record(struct db *db, struct fee_bump_item *item)
{
    const struct hash hash = item->hash;
    const int64_t fee = item->fee_stroops;
    enum err e;
    do { /* as the engine does */
        e = fee_bumps_find(db, item, 1, NULL);
        item->hash = hash;
        item->fee_stroops = fee;
        if (e == ERR_OK && item->error == ERR_OK) {
            item->limit = limit_of_fee_bump(
                &item->limits, fee, item->bumps, item->highest_stroops, item->spent_stroops);
            item->error = limit_refuse(item->limit, &item->limits, &item->detail);
        }
        if (e == ERR_OK && item->error == ERR_OK)
            e = fee_bumps_record(db, item, 1, NULL);
    } while (e == ERR_SERIALIZATION);
    if (e != ERR_OK)
        item->error = e;
}

#define BUMPS_MAX(n) ((struct limits){.most = {[LIMIT_FEE_BUMPS] = (n)}})
#define DAY_MAX(n) ((struct limits){.most = {[LIMIT_STROOPS_PER_DAY] = (n)}})

struct bidder {
    struct test_pool *pool;
    const struct lease *leases;
    size_t lease_count;
    struct limits limits;
    unsigned seed;
    pthread_t thread;
};

static char client_of(size_t lease)
{
    return (char)('a' + lease % CLIENTS);
}

static void lease_to_clients(struct test_pool *pool, struct asked asked[], size_t count)
{
    struct detail detail = {0};
    for (size_t i = 0; i < count; i++) {
        ask(pool, &asked[i]);
        asked[i].request.client[0] = client_of(i);
    }
    if (test_pool_grant(pool, asked, count, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
}

static void *bid(void *context)
{
    struct bidder *bidder = context;
    struct db *db = test_db_open(&bidder->pool->test);
    int64_t next = (int64_t)bidder->seed << 32;
    for (int i = 0; i < BIDS; i++) {
        const size_t at = (size_t)rand_r(&bidder->seed) % bidder->lease_count;
        const int64_t fee = 20000 + rand_r(&bidder->seed) % 50000;
        const char client[] = {client_of(at), '\0'};
        struct fee_bump_item item = bump_item(&bidder->leases[at], client, next++, fee, bidder->limits);
        find_and_record(db, &item);
        if (item.error != ERR_OK && item.limit == LIMIT_NONE)
            abort(); /* cmocka's assertions work on the main thread only */
    }
    db_free(db);
    return NULL;
}

/* Bids of many replicas for leases of CLIENTS clients. */
static void run_bidders(
    struct test_pool *pool, struct asked asked[], size_t lease_count, struct limits limits)
{
    struct bidder bidders[REPLICAS];
    struct lease *leases AUTO_FREE = NEW_ARRAY(lease_count, struct lease);
    lease_to_clients(pool, asked, lease_count);
    for (size_t i = 0; i < lease_count; i++)
        leases[i] = asked[i].grant.lease;
    for (unsigned i = 0; i < REPLICAS; i++) {
        bidders[i] = (struct bidder){pool, leases, lease_count, limits, i, 0};
        assert_int_equal(pthread_create(&bidders[i].thread, NULL, bid, &bidders[i]), 0);
    }
    for (size_t i = 0; i < REPLICAS; i++)
        pthread_join(bidders[i].thread, NULL);
}

TEST(DL8_in_all_replicas_together_a_lease_gets_no_more_fee_bumps_than_its_limit)
{
    struct test_pool *pool = *state;
    struct asked asked[2];
    run_bidders(pool, asked, 2, BUMPS_MAX(9));
    assert_int_equal(test_db_number(&pool->test, "SELECT sum((n = 9)::int)::int8 FROM (SELECT count(*) AS n"
                                                 " FROM fairway.fee_bumps GROUP BY lease_hash) b"),
        2);
    asked_wipe_all(asked, 2);
}

TEST(DL8_in_all_replicas_together_a_bid_waits_for_one_that_is_being_recorded)
{
    struct test_pool *pool = *state;
    struct asked asked;
    test_pool_grant_all(pool, &asked, 1);
    struct holder holder = {.test = &pool->test,
        .db = open_writer(pool,
            "SELECT count(*) FROM fairway.channel_accounts a CROSS JOIN LATERAL"
            " fairway.record_fee_bumps(ARRAY[sha256('other')], ARRAY[a.lease_hash], ARRAY[20000],"
            " ARRAY[a.public_key], ARRAY[a.lease_client], ARRAY[1], ARRAY[0])"
            " WHERE a.lease_hash IS NOT NULL"),
        .needs = "SELECT"};
    pthread_t thread;
    struct fee_bump_item item = bump_item(&asked.grant.lease, "", 1, 40000, BUMPS_MAX(1));
    assert_int_equal(pthread_create(&thread, NULL, take_and_commit, &holder), 0);
    find_and_record(pool->db, &item);
    pthread_join(thread, NULL);
    assert_int_equal(item.limit, LIMIT_FEE_BUMPS);
    assert_int_equal(item.error, ERR_LIMIT_REACHED);
    db_free(holder.db);
    asked_wipe(&asked);
}

TEST(DL8_in_all_replicas_together_the_fee_bumps_of_a_client_cost_no_more_than_its_limit)
{
    struct test_pool *pool = *state;
    struct asked asked[ACCOUNTS];
    run_bidders(pool, asked, ACCOUNTS, DAY_MAX(300000));
    /* of each lease the highest */
    assert_int_equal(test_db_number(&pool->test,
                         "SELECT count(*) FROM fairway.client_fees c WHERE c.stroops > 300000 OR c.stroops <>"
                         " (SELECT sum(f.highest) FROM (SELECT max(b.fee) AS highest FROM fairway.fee_bumps b"
                         "   JOIN fairway.leases l ON l.hash = b.lease_hash WHERE l.client = c.client"
                         "   GROUP BY b.lease_hash) f)"),
        0);
    assert_int_equal(test_db_number(&pool->test, "SELECT count(*) FROM fairway.client_fees"), CLIENTS);
    assert_int_equal(test_db_number(&pool->test, "SELECT deadlocks::int8 FROM pg_stat_database"
                                                 " WHERE datname = current_database()"),
        0);
    asked_wipe_all(asked, ACCOUNTS);
}

int main(void)
{
    return check_run(set_up, test_pool_tear_down, test_pg_start, test_pg_stop);
}
