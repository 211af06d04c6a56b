#include "engine.h"

#include "base/clock.h"
#include "base/log.h"
#include "pool/master_keys.h"
#include "slowness.h"

static int answers;

void test_engine_start(struct test_engine *engine, const char *database_url, unsigned threads)
{
    const struct engine_settings settings = {.database_url = database_url,
        .threads = threads,
        .grant = engine->pool.settings,
        .keyd = engine->pool.keyd};
    engine->engine = engine_start(&settings);
    engine->watch = watch_start(engine->pool.test.serve_url, MASTER_KEYS_SESSION, engine->engine, NULL, NULL);
}

void test_engine_stop(struct test_engine *engine)
{
    if (engine->engine == NULL)
        return;
    watch_stop(engine->watch);
    engine_stop(engine->engine);
    watch_free(engine->watch);
    engine->engine = NULL;
}

void test_engine_open(struct test_engine *engine, size_t accounts, unsigned threads)
{
    answers = 0;
    if (log_set_level("error") != ERR_OK) /* the tests cause its warnings */
        fail();
    test_pool_open(&engine->pool, accounts);
    ask(&engine->pool, &engine->asked);
    test_engine_start(engine, engine->pool.test.serve_url, threads);
}

void test_engine_close(struct test_engine *engine)
{
    test_engine_stop(engine);
    asked_wipe(&engine->asked);
    test_pool_close(&engine->pool);
}

static void done(struct engine_ticket *ticket)
{
    struct client *client = (struct client *)ticket;
    client->answered_ms = clock_ms();
    client->rank = __atomic_add_fetch(&answers, 1, __ATOMIC_SEQ_CST);
    int takes_ms = client->takes_ms;
    __atomic_add_fetch(&client->answers, 1, __ATOMIC_SEQ_CST);
    if (takes_ms > 0)
        clock_sleep_ms(takes_ms);
}

struct db *block_grants(struct test_engine *engine)
{
    struct detail detail = {0};
    struct db *holder = test_db_open(&engine->pool.test);
    assert_int_equal(db_begin(holder, &detail), ERR_OK);
    assert_int_equal(
        db_query(holder, DB_SQL0("LOCK TABLE fairway.cursor IN ACCESS EXCLUSIVE MODE"), NULL, &detail),
        ERR_OK);
    return holder;
}

void unblock_grants(struct db *holder)
{
    db_rollback(holder);
    db_free(holder);
}

void await_taken(struct test_engine *engine)
{
    for (int64_t end_ms = clock_ms() + slower(3000); engine_waiting(engine->engine) > 0; clock_sleep_ms(1))
        if (clock_left_ms(end_ms) == 0)
            fail_msg("no worker takes the tickets");
}

void await_shortage(struct test_engine *engine, size_t waiting)
{
    const int64_t end_ms = clock_ms() + slower(3000);
    for (; engine_waiting(engine->engine) != waiting || !engine_claim_waits(engine->engine);
         clock_sleep_ms(1))
        if (clock_left_ms(end_ms) == 0)
            fail_msg("%zu tickets wait, not %zu in a shortage", engine_waiting(engine->engine), waiting);
}

enum err client_try_submit(struct test_engine *engine, struct client *client)
{
    if (client->ticket.grant.request == NULL)
        client->ticket.grant.request = &engine->asked.request;
    client->ticket.done = done;
    client->submitted_ms = clock_ms();
    return engine_submit(engine->engine, &client->ticket);
}

void client_submit(struct test_engine *engine, struct client *client)
{
    enum err e = client_try_submit(engine, client);
    if (e != ERR_OK)
        log_fatal(70, "a ticket was not taken", "error=%s", err_code(e));
}

bool client_answered(struct client *client)
{
    return __atomic_load_n(&client->answers, __ATOMIC_SEQ_CST) > 0;
}

void client_wait(struct client *client, int limit_ms)
{
    for (int64_t deadline_ms = clock_ms() + slower(limit_ms); !client_answered(client); clock_sleep_ms(1))
        if (clock_ms() > deadline_ms)
            fail_msg("no answer within %d ms", limit_ms);
    assert_int_equal(client->answers, 1);
}

const struct lease *client_lease(struct client *client, int limit_ms)
{
    client_wait(client, limit_ms);
    if (client->ticket.grant.state != GRANT_DONE)
        fail_msg("%s %s", err_code(client->ticket.grant.error), client->ticket.grant.detail.text);
    return &client->ticket.grant.lease;
}

void client_refused(struct client *client, enum err e, int limit_ms)
{
    client_wait(client, limit_ms);
    assert_int_equal(client->ticket.grant.state, GRANT_REFUSED);
    if (client->ticket.grant.error != e)
        fail_msg("%s instead of %s", err_code(client->ticket.grant.error), err_code(e));
    assert_int_equal(client->ticket.grant.lease.envelope.len, 0);
}

void clients_wipe(struct client clients[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        lease_wipe(&clients[i].ticket.grant.lease);
}
