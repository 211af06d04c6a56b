/*
 * Fee bumps in the lease engine: in batches of their own, each with its own result.
 */
#include "support/engine.h"

#include <signal.h>

#include "base/clock.h"
#include "base/mem.h"
#include "slowness.h"
#include "support/pool_rows.h"
#include "support/proxy.h"

#define SOON_MS 3000
#define FEE 1000

static int64_t count_of(const struct test_engine *engine, const char *sql)
{
    return test_db_number(&engine->pool.test, sql);
}

/* A lease, signed by its client too, and a request for its fee bump. */
struct bumper {
    struct client lease, bump; /* bump is first submitted by bump_submit */
    struct buf xdr;
    struct bump_request request;
};

static const struct policy_limits limits = {.base_fee_stroops = 100,
    .max_resource_fee_stroops = 1000000,
    .bump_base_fee_stroops = FEE,
    .max_bump_fee_stroops = 100000};

/* The engine takes the word of bump_request.authority; keyd verifies the channel account's signature only. */
static void add_signature(struct buf *xdr)
{
    static const uint8_t signature[4 + 64] = {1, 2, 3, 4};
    struct envelope envelope;
    assert_int_equal(envelope_decode(buf_bytes(xdr), &envelope, NULL), ERR_OK);
    be32_put(xdr->data + (envelope.signature_list.data - xdr->data), envelope.signature_count + 1);
    buf_add(xdr, signature, 4);
    buf_add_u32(xdr, sizeof signature - 4);
    buf_add(xdr, signature + 4, sizeof signature - 4);
}

static void bumper_open(struct test_engine *engine, struct bumper *bumper)
{
    *bumper = (struct bumper){0};
    client_submit(engine, &bumper->lease);
    const struct lease *lease = client_lease(&bumper->lease, SOON_MS);
    buf_add_bytes(&bumper->xdr, buf_bytes(&lease->envelope));
    add_signature(&bumper->xdr);
    bumper->request = (struct bump_request){.xdr = buf_bytes(&bumper->xdr),
        .inner_hash = lease->hash,
        .authority = AUTHORITY_PROVED,
        .limits = &limits};
    assert_int_equal(envelope_decode(bumper->request.xdr, &bumper->request.inner, NULL), ERR_OK);
}

static void bump_submit(struct test_engine *engine, struct bumper *bumper)
{
    bump_wipe(&bumper->bump.ticket.bump);
    bumper->bump = (struct client){.ticket.kind = TICKET_BUMP, .ticket.bump.request = &bumper->request};
    client_submit(engine, &bumper->bump);
}

static const struct bump *bump_done(struct bumper *bumper)
{
    const struct bump *bump = &bumper->bump.ticket.bump;
    client_wait(&bumper->bump, SOON_MS);
    if (bump->state != GRANT_DONE)
        fail_msg("%s %s", err_code(bump->item.error), bump->item.detail.text);
    return bump;
}

static void bump_refused(struct bumper *bumper, enum err e)
{
    client_wait(&bumper->bump, SOON_MS);
    assert_int_equal(bumper->bump.ticket.bump.state, GRANT_REFUSED);
    assert_string_equal(err_code(bumper->bump.ticket.bump.item.error), err_code(e));
    assert_int_equal(bumper->bump.ticket.bump.envelope.len, 0);
}

static void bumper_wipe(struct bumper *bumper)
{
    clients_wipe(&bumper->lease, 1);
    bump_wipe(&bumper->bump.ticket.bump);
    buf_free(&bumper->xdr);
}

#define BUMPERS 12

static void open_all(struct test_engine *engine, struct bumper bumpers[BUMPERS], unsigned threads)
{
    test_engine_open(engine, BUMPERS, threads);
    for (size_t i = 0; i < BUMPERS; i++)
        bumper_open(engine, &bumpers[i]);
}

static void close_all(struct test_engine *engine, struct bumper bumpers[BUMPERS])
{
    test_engine_close(engine);
    for (size_t i = 0; i < BUMPERS; i++)
        bumper_wipe(&bumpers[i]);
}

/* Blocks the engine's worker with a request for a lease, so that what is submitted next becomes one batch. */
static struct db *block_worker(struct test_engine *engine, struct client *client)
{
    struct db *holder = block_grants(engine);
    client_submit(engine, client);
    await_taken(engine);
    return holder;
}

TEST(DL2_fee_bumps_of_one_batch_are_one_transaction_and_each_has_its_own_result)
{
    struct test_engine engine;
    struct bumper bumpers[BUMPERS];
    struct client blocked = {0};
    open_all(&engine, bumpers, 1);
    bumpers[3].request.max_fee_stroops = 1;                              /* below the least fee */
    bumpers[5].request.inner_hash.bytes[0] ^= 1;                         /* changed */
    bumpers[7].xdr.data[bumpers[7].xdr.len - 2 * (4 + 4 + 64) + 9] ^= 1; /* the channel account's signature */
    struct db *holder = block_worker(&engine, &blocked);
    for (size_t i = 0; i < BUMPERS; i++)
        bump_submit(&engine, &bumpers[i]);
    unblock_grants(holder);
    for (size_t i = 0; i < BUMPERS; i++)
        if (i == 3)
            bump_refused(&bumpers[i], ERR_FEE_BELOW_MINIMUM);
        else if (i == 5)
            bump_refused(&bumpers[i], ERR_TRANSACTION_CHANGED);
        else if (i == 7)
            bump_refused(&bumpers[i], ERR_CHANNEL_SIGNATURE_MISSING);
        else
            assert_int_equal(bump_done(&bumpers[i])->item.fee_stroops, 2 * FEE);
    assert_int_equal(count_of(&engine, "SELECT count(*) FROM fairway.fee_bumps"), BUMPERS - 3);
    assert_int_equal(count_of(&engine, "SELECT count(DISTINCT xmin::text) FROM fairway.fee_bumps"), 1);
    close_all(&engine, bumpers);
    clients_wipe(&blocked, 1);
}

TEST(DL10_the_same_fee_bump_gets_the_same_bytes_each_time)
{
    struct test_engine engine;
    struct bumper bumper, twin;
    struct buf first CLEANUP(buf_free) = {0};
    test_engine_open(&engine, 1, 1);
    bumper_open(&engine, &bumper);
    bump_submit(&engine, &bumper);
    buf_add_bytes(&first, buf_bytes(&bump_done(&bumper)->envelope));
    const struct hash hash = bumper.bump.ticket.bump.item.hash;
    twin = (struct bumper){.request = bumper.request};
    struct db *holder = block_grants(&engine);
    struct client blocked = {0};
    client_submit(&engine, &blocked);
    await_taken(&engine);
    bump_submit(&engine, &bumper); /* both in one batch */
    bump_submit(&engine, &twin);
    unblock_grants(holder);
    assert_true(bytes_equal(buf_bytes(&bump_done(&bumper)->envelope), buf_bytes(&first)));
    assert_true(bytes_equal(buf_bytes(&bump_done(&twin)->envelope), buf_bytes(&first)));
    assert_true(hash_equal(&bump_done(&twin)->item.hash, &hash));
    assert_int_equal(count_of(&engine, "SELECT count(*) FROM fairway.fee_bumps"), 1);
    test_engine_close(&engine);
    bumper_wipe(&bumper);
    bumper_wipe(&twin);
    clients_wipe(&blocked, 1);
}

TEST(a_fee_bump_that_the_database_refuses_fails_alone)
{
    struct test_engine engine;
    struct bumper bumpers[BUMPERS];
    struct client blocked = {0};
    open_all(&engine, bumpers, 1);
    test_db_exec(
        &engine.pool.test, "ALTER TABLE fairway.fee_bumps ADD CONSTRAINT planted CHECK (fee <> 4711)");
    bumpers[5].request.max_fee_stroops = 4711;
    struct db *holder = block_worker(&engine, &blocked);
    for (size_t i = 0; i < BUMPERS; i++)
        bump_submit(&engine, &bumpers[i]);
    unblock_grants(holder);
    for (size_t i = 0; i < BUMPERS; i++)
        if (i == 5)
            bump_refused(&bumpers[i], ERR_CONSTRAINT);
        else
            bump_done(&bumpers[i]);
    assert_int_equal(count_of(&engine, "SELECT count(*) FROM fairway.fee_bumps"), BUMPERS - 1);
    close_all(&engine, bumpers);
    clients_wipe(&blocked, 1);
}

/* A shortage of accounts delays requests for leases only. */
TEST(fee_bumps_do_not_wait_for_accounts)
{
    struct test_engine engine;
    struct bumper bumpers[BUMPERS];
    struct client short_of_accounts[8] = {0};
    open_all(&engine, bumpers, 2);
    for (size_t i = 0; i < ARRAY_LEN(short_of_accounts); i++)
        client_submit(&engine, &short_of_accounts[i]);
    clock_sleep_ms(50);
    for (size_t i = 0; i < BUMPERS; i++) {
        bump_submit(&engine, &bumpers[i]);
        bump_done(&bumpers[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(short_of_accounts); i++)
        assert_false(client_answered(&short_of_accounts[i]));
    close_all(&engine, bumpers);
    for (size_t i = 0; i < ARRAY_LEN(short_of_accounts); i++)
        client_refused(&short_of_accounts[i], ERR_SHUTTING_DOWN, 0);
}

TEST(H9_a_fee_bump_of_a_client_that_left_is_not_signed)
{
    struct test_engine engine;
    struct bumper bumpers[BUMPERS];
    struct client blocked = {0};
    open_all(&engine, bumpers, 1);
    struct db *holder = block_worker(&engine, &blocked);
    for (size_t i = 0; i < BUMPERS; i++)
        bump_submit(&engine, &bumpers[i]);
    engine_cancel(engine.engine, &bumpers[4].bump.ticket);
    bump_refused(&bumpers[4], ERR_CANCELLED);
    unblock_grants(holder);
    for (size_t i = 0; i < BUMPERS; i++)
        if (i != 4)
            bump_done(&bumpers[i]);
    assert_int_equal(count_of(&engine, "SELECT count(*) FROM fairway.fee_bumps"), BUMPERS - 1);
    close_all(&engine, bumpers);
    clients_wipe(&blocked, 1);
}

/* The first statement of its text goes out with COMMIT; the engine connects again and records the same rows
 * again. */
static void repeat_a_COMMIT(const char *statement, bool submits)
{
    struct test_engine engine;
    struct bumper bumpers[BUMPERS];
    open_all(&engine, bumpers, 1);
    test_engine_stop(&engine);
    struct proxy *proxy = proxy_new(test_pg_port());
    AUTO_FREE char *through = test_db_url_through(&engine.pool.test, proxy_port(proxy));
    test_engine_start(&engine, through, 1);
    proxy_arm(proxy, PROXY_SILENT_AFTER, statement);
    for (size_t i = 0; i < BUMPERS; i++) {
        bumpers[i].request.submits = submits;
        bump_submit(&engine, &bumpers[i]);
    }
    for (size_t i = 0; i < BUMPERS; i++) {
        client_wait(&bumpers[i].bump, ENGINE_BUMP_ANSWER_MS + 500);
        bump_done(&bumpers[i]);
        assert_in_range(bumpers[i].bump.answered_ms - bumpers[i].bump.submitted_ms, 0,
            slower(ENGINE_BUMP_ANSWER_MS + 500));
    }
    assert_int_equal(count_of(&engine, "SELECT count(*) FROM fairway.fee_bumps"), BUMPERS);
    assert_int_equal(count_of(&engine, "SELECT count(*) FROM fairway.submissions"), submits ? BUMPERS : 0);
    test_engine_stop(&engine);
    proxy_free(proxy);
    close_all(&engine, bumpers);
}

TEST(DX7_a_COMMIT_of_fee_bumps_without_a_reply_is_repeated_in_time)
{
    repeat_a_COMMIT("fairway.record_fee_bumps", false);
}

TEST(DX7_a_COMMIT_of_submissions_without_a_reply_is_repeated_in_time)
{
    repeat_a_COMMIT("fairway.record_bids", true);
}

TEST(DL16_the_balance_bounds_a_bid_down_to_the_least_fee)
{
    static const struct {
        int64_t balance, bid;
    } cases[] = {{120002, 100000}, {50000, 50000}, {2 * FEE, 2 * FEE}};
    struct test_engine engine;
    struct bumper bumpers[BUMPERS];
    open_all(&engine, bumpers, 1);
    test_db_exec(&engine.pool.test, "UPDATE fairway.ledgers SET prices = '{60000,0,0}'");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        test_db_execf(
            &engine.pool.test, "SELECT fairway.write_funds(1, 0, 0, 0, 0, %d)", (int)cases[i].balance);
        bumpers[i].request.submits = true;
        bumpers[i].request.max_fee_stroops = 100000;
        bump_submit(&engine, &bumpers[i]);
        bump_done(&bumpers[i]);
        assert_int_equal(bumpers[i].bump.ticket.bump.item.fee_stroops, cases[i].bid);
    }
    close_all(&engine, bumpers);
}

TEST(DX7_fee_bumps_wait_for_the_key_process_until_their_deadline)
{
    struct test_engine engine;
    struct bumper bumper;
    struct detail detail = {0};
    test_engine_open(&engine, 1, 1);
    bumper_open(&engine, &bumper);
    struct bump bump = {.request = &bumper.request}, *const bumps[] = {&bump};
    assert_int_equal(kill(keyd_pid(engine.pool.keyd), SIGSTOP), 0);
    const int64_t begun_ms = clock_ms();
    db_set_deadline(engine.pool.db, begun_ms + 1000);
    const enum err e = bump_batch_run(engine.pool.db, engine.pool.keyd, bumps, 1, &detail);
    assert_in_range(clock_ms() - begun_ms, 500, slower(1000));
    assert_int_equal(kill(keyd_pid(engine.pool.keyd), SIGCONT), 0);
    assert_int_equal(e, ERR_KEYD_UNAVAILABLE);
    assert_string_equal(detail.text, "the key process does not answer");
    assert_int_equal(count_of(&engine, "SELECT count(*) FROM fairway.fee_bumps"), 0);
    db_set_deadline(engine.pool.db, 0);
    assert_int_equal(bump_batch_run(engine.pool.db, engine.pool.keyd, bumps, 1, &detail), ERR_OK);
    assert_int_equal(bump.state, GRANT_DONE);
    bump_wipe(&bump);
    test_engine_close(&engine);
    bumper_wipe(&bumper);
}

TEST(DO1_stopping_decides_each_fee_bump_once_and_those_done_are_recorded)
{
    for (int round = 0; round < 8; round++) {
        struct test_engine engine;
        struct bumper bumpers[BUMPERS];
        int64_t done = 0;
        open_all(&engine, bumpers, 2);
        for (size_t i = 0; i < BUMPERS; i++)
            bump_submit(&engine, &bumpers[i]);
        clock_sleep_ms(round); /* after another time in each round */
        test_engine_stop(&engine);
        for (size_t i = 0; i < BUMPERS; i++) {
            assert_int_equal(bumpers[i].bump.answers, 1);
            if (bumpers[i].bump.ticket.bump.state == GRANT_DONE)
                done++;
            else
                bump_refused(&bumpers[i], ERR_SHUTTING_DOWN);
        }
        assert_int_equal(count_of(&engine, "SELECT count(*) FROM fairway.fee_bumps"), done);
        close_all(&engine, bumpers);
    }
}

GROUP_FIXTURE(test_pg_start, test_pg_stop)
