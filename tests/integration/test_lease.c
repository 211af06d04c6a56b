/*
 * The grant transaction (DESIGN section 4, point 5) on a real PostgreSQL with a real key process: choosing,
 * signing and recording are one, and whatever fails leaves nothing behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "pool/lease.h"
#include "pool/master_keys.h"
#include "support/keyd.h"
#include "support/ledger_builder.h"
#include "support/pg.h"
#include "support/pool_rows.h"
#include "support/proxy.h"

#define ACCOUNTS 12

struct fixture {
    struct test_db test;
    struct db *db;
    struct keyd *keyd;
    struct public_key accounts[ACCOUNTS];
    struct grant_settings settings;
};

static void store(struct fixture *f, const struct generated_key *key, int32_t slot)
{
    char address[ADDRESS_SIZE];
    struct detail detail = {0};
    address_encode(&key->public_key, address);
    if (db_query(f->db,
            DB_SQL("INSERT INTO fairway.channel_accounts"
                   " (public_key, slot, sealed_seed, key_id, sequence, sequence_ledger, state)"
                   " VALUES ($1, $2, $3, $4, 50, 100, 'active')",
                DB_TEXT(address), DB_I32(slot), DB_BYTEA(BYTES_OF(key->sealed.box)),
                DB_TEXT(key->sealed.key_id)),
            NULL, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
}

static int set_up(void **state)
{
    struct fixture *f = NEW(struct fixture);
    struct generated_key keys[ACCOUNTS];
    struct master_key_row row = {.derived = false};
    struct detail detail = {0};
    f->test = test_db_new(TEST_DB_MIGRATED);
    ledger_row(&f->test, 0);
    f->db = test_db_open(&f->test, DB_DIRECT);
    f->keyd = keyd_loaded(KEYD_SERVE);
    keyd_accounts(keys, ACCOUNTS);
    snprintf(row.key_id, sizeof row.key_id, "%s", keys[0].sealed.key_id);
    assert_int_equal(master_key_store(f->db, &row, &detail), ERR_OK);
    for (int32_t i = 0; i < ACCOUNTS; i++) {
        store(f, &keys[i], i);
        f->accounts[i] = keys[i].public_key;
    }
    const struct keyd_settings known = keyd_test_settings();
    f->settings = (struct grant_settings){.network = known.network,
        .limits = known.limits,
        .max_lease_fee_stroops = known.max_lease_fee_stroops,
        .ledger_seconds = 5};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    keyd_stop(f->keyd);
    db_free(f->db);
    test_db_drop(&f->test);
    free(f);
    return 0;
}

/* A request for one payment-like operation, of its own source unless that is given. */
struct asked {
    struct buf transaction;
    struct lease_request request;
    struct grant grant;
};

static void ask(struct fixture *f, struct asked *asked, const struct public_key *operation_source)
{
    struct detail detail = {0};
    const struct public_key nobody = built_key(77);
    *asked = (struct asked){0};
    lease_transaction(&nobody, 1, &asked->transaction);
    assert_int_equal(
        transaction_decode(buf_bytes(&asked->transaction), &asked->request.envelope, &detail), ERR_OK);
    asked->request.envelope.preconditions.max_time_s = 0; /* as if none were given */
    if (policy_check(&asked->request.envelope, &f->settings.limits, &asked->request.named, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    if (operation_source != NULL) { /* as if the transaction named it */
        asked->request.named.keys[0] = *operation_source;
        asked->request.named.count = 1;
    }
    snprintf(asked->request.request_id, sizeof asked->request.request_id, "request");
    asked->grant.request = &asked->request;
}

static void forget(struct asked *asked)
{
    lease_wipe(&asked->grant.lease);
    buf_free(&asked->transaction);
}

static enum err grant_all(struct fixture *f, struct asked asked[], size_t count, struct detail *detail)
{
    struct grant *grants[GRANT_BATCH_MAX];
    for (size_t i = 0; i < count; i++)
        grants[i] = &asked[i].grant;
    return lease_grant(f->db, f->keyd, &f->settings, grants, count, detail);
}

static enum err grant_one(struct fixture *f, struct asked *asked)
{
    struct detail detail = {0};
    return grant_all(f, asked, 1, &detail);
}

#define LEASED "SELECT count(*) FROM fairway.channel_accounts WHERE lease_hash IS NOT NULL"
#define LEASES "SELECT count(*) FROM fairway.leases"

static void assert_nothing_leased(struct fixture *f)
{
    assert_int_equal(test_db_number(&f->test, LEASED), 0);
    assert_int_equal(test_db_number(&f->test, LEASES), 0);
}

static void G6_a_lease_is_signed_for_its_account_and_both_rows_name_each_other(void **state)
{
    struct fixture *f = *state;
    struct asked asked;
    struct envelope envelope;
    struct detail detail = {0};
    ask(f, &asked, NULL);
    assert_int_equal(grant_one(f, &asked), ERR_OK);
    assert_int_equal(asked.grant.state, GRANT_DONE);
    const struct lease *lease = &asked.grant.lease;
    assert_int_equal(envelope_decode(buf_bytes(&lease->envelope), &envelope, &detail), ERR_OK);
    const struct hash hash = envelope_hash(&f->settings.network, &envelope);
    assert_true(hash_equal(&hash, &lease->hash));
    assert_true(public_key_equal(&envelope.source, &lease->account));
    assert_false(envelope.source_muxed);
    assert_int_equal(envelope.signature_count, 1);
    assert_true(envelope_signed_by(&envelope, &lease->account, &hash));
    assert_int_equal(envelope.sequence, 51);
    assert_int_equal(lease->sequence, 51);
    assert_int_equal(lease->sequence_ledger, 100);
    assert_true(envelope.preconditions.max_time_s == lease->max_time_s);
    assert_int_equal(
        test_db_number(&f->test,
            "SELECT count(*) FROM fairway.leases l JOIN fairway.channel_accounts a ON a.lease_hash = l.hash"
            " AND a.public_key = l.account AND l.sequence = a.sequence + 1 AND l.settled_at IS NULL"
            " AND extract(epoch FROM a.locked_until) = l.max_time AND l.max_ledger IS NULL"
            " AND l.max_time BETWEEN extract(epoch FROM now()) + 50 AND extract(epoch FROM now()) + 61"
            " AND l.request_id = 'request'"),
        1);
    forget(&asked);
}

static void H16_a_batch_takes_exactly_what_it_needs_and_each_account_once(void **state)
{
    struct fixture *f = *state;
    struct asked asked[8];
    struct detail detail = {0};
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        ask(f, &asked[i], NULL);
    assert_int_equal(grant_all(f, asked, ARRAY_LEN(asked), &detail), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        assert_int_equal(asked[i].grant.state, GRANT_DONE);
        forget(&asked[i]);
    }
    assert_int_equal(test_db_number(&f->test, LEASED), ARRAY_LEN(asked));
    assert_int_equal(
        test_db_number(&f->test, "SELECT count(DISTINCT account) FROM fairway.leases"), ARRAY_LEN(asked));
}

static void S1_what_finds_no_idle_account_stays_open_and_the_first_ones_are_served(void **state)
{
    struct fixture *f = *state;
    struct asked asked[ACCOUNTS + 3];
    struct detail detail = {0};
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        ask(f, &asked[i], NULL);
    assert_int_equal(grant_all(f, asked, ARRAY_LEN(asked), &detail), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        assert_int_equal(asked[i].grant.state, i < ACCOUNTS ? GRANT_DONE : GRANT_OPEN);
        forget(&asked[i]);
    }
    assert_int_equal(test_db_number(&f->test, LEASED), ACCOUNTS);
}

static void accounts_are_taken_in_random_order(void **state)
{
    struct fixture *f = *state;
    char first[ADDRESS_SIZE] = "";
    bool differs = false;
    for (int round = 0; round < 20 && !differs; round++) { /* all equal by chance: 12 to the power of -19 */
        struct asked asked;
        char address[ADDRESS_SIZE];
        ask(f, &asked, NULL);
        assert_int_equal(grant_one(f, &asked), ERR_OK);
        address_encode(&asked.grant.lease.account, address);
        differs = first[0] != '\0' && strcmp(first, address) != 0;
        memcpy(first, address, sizeof first);
        test_db_exec(&f->test,
            "BEGIN; DELETE FROM fairway.leases; UPDATE fairway.channel_accounts SET lease_hash = NULL,"
            " locked_at = NULL, locked_until = NULL; COMMIT");
        forget(&asked);
    }
    assert_true(differs);
}

static void T3_a_bad_item_is_refused_alone_and_its_account_stays_idle(void **state)
{
    struct fixture *f = *state;
    struct asked asked[4];
    struct detail detail = {0};
    ask(f, &asked[0], NULL);
    ask(f, &asked[1], &f->accounts[3]); /* an account of the pool would authorize it */
    ask(f, &asked[2], NULL);
    asked[2].request.envelope.preconditions.max_time_s = 1000; /* dead on arrival */
    ask(f, &asked[3], NULL);
    assert_int_equal(grant_all(f, asked, ARRAY_LEN(asked), &detail), ERR_OK);
    assert_int_equal(asked[0].grant.state, GRANT_DONE);
    assert_int_equal(asked[1].grant.state, GRANT_REFUSED);
    assert_int_equal(asked[1].grant.error, ERR_FORBIDDEN_SIGNER);
    assert_int_equal(asked[2].grant.error, ERR_INVALID_TRANSACTION);
    assert_int_equal(asked[3].grant.state, GRANT_DONE);
    assert_int_equal(test_db_number(&f->test, LEASED), 2);
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        forget(&asked[i]);
}

static void DS2_a_seed_that_does_not_open_quarantines_its_account_and_fails_no_request(void **state)
{
    struct fixture *f = *state;
    struct asked asked[ACCOUNTS];
    struct detail detail = {0};
    test_db_exec(&f->test,
        "UPDATE fairway.channel_accounts SET sealed_seed = decode(repeat('00', 72), 'hex') WHERE slot = 4");
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        ask(f, &asked[i], NULL);
    assert_int_equal(grant_all(f, asked, ARRAY_LEN(asked), &detail), ERR_OK);
    size_t done = 0;
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        assert_int_not_equal(asked[i].grant.state, GRANT_REFUSED);
        done += asked[i].grant.state == GRANT_DONE;
        forget(&asked[i]);
    }
    assert_int_equal(done, ACCOUNTS - 1);
    assert_int_equal(test_db_number(&f->test, "SELECT count(*) FROM fairway.channel_accounts WHERE slot = 4"
                                              " AND state = 'quarantined' AND lease_hash IS NULL"),
        1);
}

static void DL6_a_lost_key_process_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    struct asked asked;
    ask(f, &asked, NULL);
    struct keyd *alive = f->keyd;
    f->keyd = keyd_loaded(KEYD_PROVISION); /* it ends at the first message that is not for its mode */
    assert_int_equal(grant_one(f, &asked), ERR_KEYD_UNAVAILABLE);
    assert_int_equal(asked.grant.state, GRANT_OPEN);
    assert_nothing_leased(f);
    keyd_stop(f->keyd);
    f->keyd = alive;
    assert_int_equal(grant_one(f, &asked), ERR_OK);
    assert_int_equal(asked.grant.state, GRANT_DONE);
    forget(&asked);
}

static void DL6_a_statement_that_fails_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    struct asked asked;
    ask(f, &asked, NULL);
    test_db_exec(&f->test, "ALTER TABLE fairway.leases ADD CONSTRAINT refused CHECK (sequence <> 51)");
    assert_int_equal(grant_one(f, &asked), ERR_CONFLICT);
    assert_int_equal(asked.grant.state, GRANT_OPEN);
    assert_nothing_leased(f);
    test_db_exec(&f->test, "ALTER TABLE fairway.leases DROP CONSTRAINT refused");
    assert_int_equal(grant_one(f, &asked), ERR_OK);
    assert_int_equal(test_db_number(&f->test, LEASED), 1);
    forget(&asked);
}

/* Grants through a proxy that breaks the connection at the COMMIT. */
static enum err grant_through(struct fixture *f, struct asked *asked, enum proxy_fault fault)
{
    struct detail detail = {0};
    struct proxy *proxy = proxy_new(test_pg_port());
    const char *at = strchr(f->test.url, '@'), *path = strchr(at, '/');
    AUTO_FREE char *url =
        mem_format("%.*s@127.0.0.1:%u%s", (int)(at - f->test.url), f->test.url, proxy_port(proxy), path);
    struct db *through = db_new(&(struct db_settings){.url = url, .kind = DB_POOLED, .name = "lease test"});
    assert_int_equal(db_connect(through, &detail), ERR_OK);
    proxy_arm(proxy, fault, "INSERT INTO fairway.leases"); /* in one packet with COMMIT */
    struct grant *grants[] = {&asked->grant};
    enum err e = lease_grant(through, f->keyd, &f->settings, grants, 1, &detail);
    db_free(through);
    proxy_free(proxy);
    return e;
}

static void a_COMMIT_whose_answer_was_lost_is_looked_up_and_answered(void **state)
{
    struct fixture *f = *state;
    struct asked asked;
    ask(f, &asked, NULL);
    assert_int_equal(grant_through(f, &asked, PROXY_CUT_AFTER), ERR_OK);
    assert_int_equal(asked.grant.state, GRANT_DONE);
    assert_int_equal(test_db_number(&f->test, LEASED), 1);
    assert_int_equal(test_db_number(&f->test, LEASES), 1);
    forget(&asked);
}

static void a_COMMIT_that_never_arrived_leaves_nothing_and_is_not_guessed(void **state)
{
    struct fixture *f = *state;
    struct asked asked;
    ask(f, &asked, NULL);
    assert_int_equal(grant_through(f, &asked, PROXY_CUT_BEFORE), ERR_TRY_AGAIN);
    assert_int_equal(asked.grant.state, GRANT_OPEN);
    assert_nothing_leased(f);
    forget(&asked);
}

static void assert_suspended(struct fixture *f, const char *why)
{
    struct asked asked;
    struct detail detail = {0};
    ask(f, &asked, NULL);
    assert_int_equal(grant_all(f, &asked, 1, &detail), ERR_GRANTS_SUSPENDED);
    if (strstr(detail.text, why) == NULL)
        fail_msg("%s", detail.text);
    assert_nothing_leased(f);
    forget(&asked);
}

static void grants_stop_when_the_cursor_row_says_so(void **state)
{
    struct fixture *f = *state;
    test_db_exec(
        &f->test, "UPDATE fairway.cursor SET grants_allowed = false, grants_reason = 'because of a test'");
    assert_suspended(f, "because of a test");
}

static void grants_stop_while_gap_recovery_holds_its_lock(void **state)
{
    struct fixture *f = *state;
    struct detail detail = {0};
    struct db *recovery = test_db_open(&f->test, DB_DIRECT);
    assert_int_equal(
        db_query(recovery, DB_SQL0("SELECT pg_advisory_lock(hashtext('fairway grants'))"), NULL, &detail),
        ERR_OK);
    assert_suspended(f, "gap");
    db_free(recovery);
}

static void H18_grants_stop_when_clock_and_close_time_are_far_apart(void **state)
{
    struct fixture *f = *state;
    test_db_exec(&f->test, "UPDATE fairway.cursor SET close_time = extract(epoch FROM now())::int8 - 60");
    assert_suspended(f, "apart");
    test_db_exec(&f->test, "UPDATE fairway.cursor SET close_time = extract(epoch FROM now())::int8 + 60");
    assert_suspended(f, "apart");
}

static void H18_now_is_the_later_of_clock_and_last_close_time(void **state)
{
    struct fixture *f = *state;
    struct asked asked;
    test_db_exec(&f->test, "UPDATE fairway.cursor SET close_time = extract(epoch FROM now())::int8 + 20");
    ask(f, &asked, NULL);
    assert_int_equal(grant_one(f, &asked), ERR_OK);
    assert_int_equal(
        test_db_number(&f->test, "SELECT l.max_time - c.close_time FROM fairway.leases l, fairway.cursor c"),
        60);
    forget(&asked);
}

/* A role with every default against us grants the same, and its COMMIT is synchronous all the same. */
static void DL12_H3_hostile_defaults_change_nothing(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *hostile = mem_format(
        "CREATE TABLE public.seen (setting text);"
        "CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.seen "
        "VALUES"
        " (current_setting('synchronous_commit') || ' ' || current_setting('transaction_isolation')); RETURN "
        "NULL; END $$;"
        "CREATE TRIGGER see AFTER INSERT ON fairway.leases FOR EACH STATEMENT EXECUTE FUNCTION public.see();"
        "ALTER DATABASE %1$s SET synchronous_commit = off;"
        "ALTER DATABASE %1$s SET default_transaction_isolation = 'serializable';"
        "ALTER DATABASE %1$s SET search_path = 'nowhere'; ALTER DATABASE %1$s SET timezone = "
        "'America/New_York';"
        "ALTER DATABASE %1$s SET datestyle = 'German'; ALTER DATABASE %1$s SET statement_timeout = 1;"
        "ALTER DATABASE %1$s SET bytea_output = 'escape'",
        f->test.name);
    test_db_exec(&f->test, hostile);
    for (int kind = DB_POOLED; kind <= DB_DIRECT; kind++) {
        struct db *before = f->db;
        struct asked asked;
        f->db = test_db_open(&f->test, (enum db_kind)kind);
        ask(f, &asked, NULL);
        assert_int_equal(grant_one(f, &asked), ERR_OK);
        assert_int_equal(asked.grant.state, GRANT_DONE);
        forget(&asked);
        db_free(f->db);
        f->db = before;
    }
    struct detail detail = {0};
    AUTO_ROWS rows = NULL;
    assert_int_equal(
        db_query(f->db,
            DB_SQL0("SELECT (SELECT count(*) FROM public.seen WHERE setting = 'on read committed'),"
                    " (SELECT count(*) FROM fairway.channel_accounts a JOIN fairway.leases l"
                    "   ON a.lease_hash = l.hash AND extract(epoch FROM a.locked_until) = l.max_time)"),
            &rows, &detail),
        ERR_OK);
    assert_int_equal(db_i64(rows, 0, 0), 2);
    assert_int_equal(db_i64(rows, 0, 1), 2);
}

#define WORKERS 4
#define ROUNDS 300

struct worker {
    struct fixture *fixture;
    size_t granted;
};

static void *work(void *context)
{
    struct worker *worker = context;
    struct fixture mine = *worker->fixture;
    mine.db = test_db_open(&mine.test, DB_POOLED);
    mine.keyd = keyd_loaded(KEYD_SERVE);
    for (int round = 0; round < ROUNDS; round++) {
        struct asked asked[3];
        struct detail detail = {0};
        for (size_t i = 0; i < ARRAY_LEN(asked); i++)
            ask(&mine, &asked[i], NULL);
        if (grant_all(&mine, asked, ARRAY_LEN(asked), &detail) != ERR_OK)
            abort();
        for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
            worker->granted += asked[i].grant.state == GRANT_DONE;
            forget(&asked[i]);
        }
    }
    keyd_stop(mine.keyd);
    db_free(mine.db);
    return NULL;
}

/* The oracle's own table and constraint: two leases of one account may not overlap in time. Leases end while
 * others begin. */
static void promise_1_many_replicas_never_lease_an_account_twice(void **state)
{
    struct fixture *f = *state;
    struct worker workers[WORKERS] = {0};
    pthread_t threads[WORKERS];
    size_t granted = 0;
    test_db_exec(&f->test,
        "CREATE EXTENSION btree_gist;"
        "CREATE TABLE public.oracle (hash bytea PRIMARY KEY, account text, span tstzrange,"
        " EXCLUDE USING gist (account WITH =, span WITH &&));"
        "CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF TG_OP = 'INSERT' THEN INSERT INTO public.oracle VALUES (NEW.hash, NEW.account,"
        "   tstzrange(clock_timestamp(), 'infinity'));"
        " ELSE UPDATE public.oracle SET span = tstzrange(lower(span), clock_timestamp()) WHERE hash = "
        "NEW.hash;"
        " END IF; RETURN NULL; END $$;"
        "CREATE TRIGGER note AFTER INSERT OR UPDATE ON fairway.leases FOR EACH ROW EXECUTE FUNCTION "
        "public.note()");
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i].fixture = f;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 80; i++)
        test_db_exec(&f->test,
            "BEGIN; UPDATE fairway.leases SET settled_at = clock_timestamp(), result = 'confirmed', ledger = "
            "101"
            " WHERE settled_at IS NULL; UPDATE fairway.channel_accounts a SET sequence = a.sequence + 1, "
            "lease_hash = NULL,"
            " locked_at = NULL, locked_until = NULL WHERE a.lease_hash IN (SELECT hash FROM fairway.leases"
            " WHERE settled_at IS NOT NULL); COMMIT");
    for (size_t i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        granted += workers[i].granted;
    }
    print_message("%zu leases by %d workers over %d accounts\n", granted, WORKERS, ACCOUNTS);
    assert_true(granted > ACCOUNTS);
    assert_int_equal(test_db_number(&f->test, LEASES), granted);
    assert_int_equal(test_db_number(&f->test, "SELECT count(*) FROM public.oracle"), granted);
    assert_int_equal(test_db_number(&f->test, "SELECT count(*) FROM (SELECT account, sequence FROM "
                                              "fairway.leases GROUP BY 1, 2 HAVING count(*) > 1) d"),
        0);
}

int main(void)
{
#define GRANTS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        GRANTS(G6_a_lease_is_signed_for_its_account_and_both_rows_name_each_other),
        GRANTS(H16_a_batch_takes_exactly_what_it_needs_and_each_account_once),
        GRANTS(S1_what_finds_no_idle_account_stays_open_and_the_first_ones_are_served),
        GRANTS(accounts_are_taken_in_random_order),
        GRANTS(T3_a_bad_item_is_refused_alone_and_its_account_stays_idle),
        GRANTS(DS2_a_seed_that_does_not_open_quarantines_its_account_and_fails_no_request),
        GRANTS(DL6_a_lost_key_process_leaves_nothing),
        GRANTS(DL6_a_statement_that_fails_leaves_nothing),
        GRANTS(a_COMMIT_whose_answer_was_lost_is_looked_up_and_answered),
        GRANTS(a_COMMIT_that_never_arrived_leaves_nothing_and_is_not_guessed),
        GRANTS(grants_stop_when_the_cursor_row_says_so),
        GRANTS(grants_stop_while_gap_recovery_holds_its_lock),
        GRANTS(H18_grants_stop_when_clock_and_close_time_are_far_apart),
        GRANTS(H18_now_is_the_later_of_clock_and_last_close_time),
        GRANTS(DL12_H3_hostile_defaults_change_nothing),
        GRANTS(promise_1_many_replicas_never_lease_an_account_twice),
    };
    return cmocka_run_group_tests_name("pool/lease", tests, test_pg_start, test_pg_stop);
}
