/*
 * Promises 1, 2 and 6: many replicas grant from one pool while ledgers end leases. The results are checked
 * independently of the service: by a network in this test that applies the rule of sequence numbers, and by
 * an exclusion constraint in another database on the history of granted and included transactions.
 */
#include "support/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "stellar/envelope_build.h"

#define ACCOUNTS 100
#define GRANTERS 8
#define BATCHES 100
#define BATCH_MAX 8
#define ANSWERS_MAX (GRANTERS * BATCHES * BATCH_MAX)
#define LEDGER_MS 5
#define TX_FAILED (-1)

/* A signed transaction: live from its grant until just before the ledger that includes it is committed. */
struct answer {
    struct hash hash;
    int64_t slot, sequence, begun_us, ended_us;
};

/* What the clients have submitted, and the sequence numbers on the network. */
struct network {
    pthread_mutex_t lock;
    int64_t sequences[ACCOUNTS];
    struct answer *answers;
    size_t count, included;
    bool granters_done;
};

struct race {
    struct test_pool pool;
    struct network network;
};

static int64_t slot_of(const struct test_pool *pool, const struct public_key *account)
{
    for (size_t slot = 0; slot < ACCOUNTS; slot++)
        if (public_key_equal(&pool->accounts[slot], account))
            return (int64_t)slot;
    return -1;
}

/* Submits a lease as a client does, which knows only the envelope. */
static void submit(struct race *race, const struct lease *lease)
{
    struct network *network = &race->network;
    struct envelope envelope;
    struct detail detail = {0};
    check(envelope_decode(buf_bytes(&lease->envelope), &envelope, &detail) == ERR_OK);
    const struct hash hash = envelope_hash(&race->pool.settings.network, &envelope);
    check(envelope_signed_by(&envelope, &envelope.source, &hash));
    const int64_t slot = slot_of(&race->pool, &envelope.source);
    check(slot >= 0);
    pthread_mutex_lock(&network->lock);
    check(network->count < ANSWERS_MAX);
    network->answers[network->count++] = (struct answer){hash, slot, envelope.sequence, clock_us(), 0};
    pthread_mutex_unlock(&network->lock);
}

/* Requests count leases in one batch. Returns how many were granted. */
static size_t grant_batch(struct race *race, struct test_pool *replica, size_t count)
{
    struct asked asked[BATCH_MAX];
    struct detail detail = {0};
    size_t granted = 0;
    for (size_t i = 0; i < count; i++)
        ask(replica, &asked[i]);
    check(test_pool_grant(replica, asked, count, &detail) == ERR_OK);
    for (size_t i = 0; i < count; i++) {
        if (asked[i].grant.state == GRANT_DONE) {
            submit(race, &asked[i].grant.lease);
            granted++;
        } else
            check(asked[i].grant.state == GRANT_OPEN);
        asked_wipe(&asked[i]);
    }
    return granted;
}

struct granter {
    struct race *race;
    unsigned seed;
    pthread_t thread;
};

static void *grant_all(void *context)
{
    struct granter *granter = context;
    struct test_pool replica = granter->race->pool;
    replica.db = db_new(&(struct db_settings){.url = replica.test.url, .name = "racing replica"});
    for (int i = 0; i < BATCHES; i++)
        if (grant_batch(granter->race, &replica, 1 + (size_t)rand_r(&granter->seed) % BATCH_MAX) == 0)
            clock_sleep_ms(LEDGER_MS);
    db_free(replica.db);
    return NULL;
}

/* Includes the transactions that were submitted since the last ledger. A wrong sequence number would be the
 * service's fault: nothing else uses these accounts. */
static void close_ledger(struct race *race, struct db *db)
{
    struct network *network = &race->network;
    struct built_transaction transactions[ACCOUNTS];
    struct built_account accounts[ACCOUNTS];
    size_t count = 0;
    pthread_mutex_lock(&network->lock);
    for (; network->included < network->count; network->included++, count++) {
        struct answer *answer = &network->answers[network->included];
        check(count < ACCOUNTS);
        check(answer->sequence == network->sequences[answer->slot] + 1);
        network->sequences[answer->slot]++;
        answer->ended_us = clock_us();
        transactions[count] =
            (struct built_transaction){.hash = answer->hash, .code = count % 3 == 0 ? TX_FAILED : 0};
        accounts[count] =
            (struct built_account){.key = race->pool.accounts[answer->slot], .sequence = answer->sequence};
    }
    pthread_mutex_unlock(&network->lock);
    struct settled settled = test_pool_close_ledger(db, &(struct built_ledger){.transactions = transactions,
                                                            .transaction_count = count,
                                                            .accounts = accounts,
                                                            .account_count = count});
    check(settled.confirmed + settled.failed == count && settled.released == count);
    check(settled.quarantined + settled.superseded == 0);
}

static bool running(struct network *network)
{
    pthread_mutex_lock(&network->lock);
    bool more = !network->granters_done || network->included < network->count;
    pthread_mutex_unlock(&network->lock);
    return more;
}

static void *close_ledgers(void *context)
{
    struct race *race = context;
    AUTO_DB db = test_db_open(&race->pool.test);
    for (; running(&race->network); clock_sleep_ms(LEDGER_MS))
        close_ledger(race, db);
    return NULL;
}

/* ---- the check of the history */

static const char sql_history[] =
    "CREATE EXTENSION btree_gist;"
    "CREATE TABLE public.history (slot int8, sequence int8, live int8range, UNIQUE (slot, sequence),"
    " EXCLUDE USING gist (slot WITH =, live WITH &&))";

static enum err remember(struct db *db, const struct answer answers[], size_t count)
{
    int64_t *columns AUTO_FREE = NEW_ARRAY(4 * count, int64_t);
    struct detail detail = {0};
    for (size_t i = 0; i < count; i++) {
        columns[i] = answers[i].slot;
        columns[count + i] = answers[i].sequence;
        columns[2 * count + i] = answers[i].begun_us;
        columns[3 * count + i] = answers[i].ended_us;
    }
    return db_query(db,
        DB_SQL("INSERT INTO public.history SELECT h.slot, h.sequence, int8range(h.begun, h.ended)"
               " FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[])"
               " AS h (slot, sequence, begun, ended) WHERE h.begun < h.ended",
            DB_I64S(columns, count), DB_I64S(columns + count, count), DB_I64S(columns + 2 * count, count),
            DB_I64S(columns + 3 * count, count)),
        NULL, &detail);
}

static void judge(const struct network *network)
{
    struct test_db test = test_db_new(TEST_DB_EMPTY);
    struct db *db = test_db_open(&test);
    test_db_exec(&test, sql_history);
    assert_int_equal(remember(db, network->answers, network->count), ERR_OK);
    /* the constraint works: it refuses a second transaction of an account within the life of another */
    struct answer twice = network->answers[network->count / 2];
    for (size_t i = 0; i < network->count && twice.ended_us <= twice.begun_us; i++)
        twice = network->answers[i];
    twice.sequence += (int64_t)1 << 40;
    assert_int_equal(remember(db, &twice, 1), ERR_CONSTRAINT);
    db_free(db);
    test_db_drop(&test);
}

static void run_race(struct race *race)
{
    struct network *network = &race->network;
    struct granter granters[GRANTERS];
    pthread_t closer;
    pthread_mutex_init(&network->lock, NULL);
    network->answers = NEW_ARRAY(ANSWERS_MAX, struct answer);
    test_pool_open(&race->pool, ACCOUNTS);
    for (size_t slot = 0; slot < ACCOUNTS; slot++)
        network->sequences[slot] = (int64_t)1000 << 32;
    for (unsigned i = 0; i < GRANTERS; i++) {
        granters[i] = (struct granter){.race = race, .seed = i};
        assert_int_equal(pthread_create(&granters[i].thread, NULL, grant_all, &granters[i]), 0);
    }
    assert_int_equal(pthread_create(&closer, NULL, close_ledgers, race), 0);
    for (size_t i = 0; i < GRANTERS; i++)
        pthread_join(granters[i].thread, NULL);
    pthread_mutex_lock(&network->lock);
    network->granters_done = true;
    pthread_mutex_unlock(&network->lock);
    pthread_join(closer, NULL);
    print_message("%zu leases by %d replicas over %d accounts\n", network->count, GRANTERS, ACCOUNTS);
}

TEST(promise_1_many_replicas_never_have_two_live_transactions_of_one_account)
{
    struct race race = {0};
    struct network *network = &race.network;
    int64_t granted = 0;
    run_race(&race);
    assert_true(network->count > 10 * ACCOUNTS);
    judge(network);
    assert_int_equal(leased_accounts(&race.pool), 0); /* no account leaked */
    assert_int_equal(lease_rows(&race.pool), network->count);
    for (size_t slot = 0; slot < ACCOUNTS; slot++)
        granted += network->sequences[slot] - ((int64_t)1000 << 32);
    assert_int_equal(test_db_number(&race.pool.test,
                         "SELECT sum(sequence - (1000::int8 << 32))::int8 FROM fairway.channel_accounts"),
        granted);
    test_pool_close(&race.pool);
    pthread_mutex_destroy(&network->lock);
    free(network->answers);
}

GROUP_FIXTURE(test_pg_start, test_pg_stop)
