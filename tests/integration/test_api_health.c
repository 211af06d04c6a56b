/* The probes, and the API's replies while the database or the key process is unavailable: 503 with the right
 * code, without internal text, and recovery without a restart (DO5, DX7). */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/recent_speed.h"
#include "base/clock.h"
#include "base/log.h"
#include "support/fixture.h"
#include "slowness.h"

#define PATIENCE_MS 15000

static json_t *check_named(const struct response *response, const char *name)
{
    size_t i;
    json_t *check;
    json_array_foreach(json_object_get(response->json, "checks"), i, check)
    {
        if (strcmp(json_string_value(json_object_get(check, "name")), name) == 0)
            return check;
    }
    fail_msg("no check %s", name);
    return NULL;
}

/* Asserts that these two checks of /readyz fail, and no other. */
static void assert_checks_fail(const char *one, const char *other)
{
    AUTO_RESPONSE response = {0};
    size_t i;
    json_t *check;
    service_get(&service, &response, "/readyz");
    assert_int_equal(response.status, 503);
    assert_string_equal(response_text(&response, "status"), "not ready");
    json_array_foreach(json_object_get(response.json, "checks"), i, check)
    {
        const char *name = json_string_value(json_object_get(check, "name"));
        bool is_it = strcmp(name, one) == 0 || strcmp(name, other) == 0;
        assert_true(json_is_true(json_object_get(check, "ok")) == !is_it);
        assert_true(json_is_string(json_object_get(check, "reason")) == is_it);
    }
    assert_false(json_is_true(json_object_get(check_named(&response, one), "ok")));
}

static void assert_check_fails(const char *name)
{
    assert_checks_fail(name, name);
}

static void assert_passes(const char *path)
{
    AUTO_RESPONSE response = {0};
    service_get(&service, &response, path);
    assert_int_equal(response.status, 200);
}

TEST(at_first_every_check_passes)
{
    static const char *const names[] = {"database", "keys", "ingestion", "ledgers", "grants", "accounts",
        "funds", "disk", "clock", "leases", "bids", "budget", "rpcs", "protocol"};
    AUTO_RESPONSE response = {0};
    service_get(&service, &response, "/readyz");
    assert_int_equal(response.status, 200);
    assert_string_equal(response_text(&response, "status"), "ready");
    assert_int_equal(json_array_size(json_object_get(response.json, "checks")), ARRAY_LEN(names));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_true(json_is_true(json_object_get(check_named(&response, names[i]), "ok")));
    assert_passes("/livez");
    assert_passes("/health");
}

TEST(DO5_failed_ingestion_fails_its_check_without_the_reason_when_leases_are_refused)
{
    AUTO_RESPONSE response = {0};
    service.ingestion_error = (struct detail){"http://user:secret@rpc says no"};
    service.ingestion_works = false;
    assert_passes("/readyz");
    test_db_exec(&service.db, "UPDATE fairway.cursor SET close_time = close_time - 44");
    service_get(&service, &response, "/health");
    assert_int_equal(response.status, 503);
    assert_false(json_is_true(json_object_get(check_named(&response, "ingestion"), "ok")));
    AUTO_FREE char *text = json_dumps(response.json, 0);
    assert_null(strstr(text, "secret"));
    service.ingestion_works = true;
    service_reset(&service);
    assert_passes("/readyz");
}

TEST(DO5_a_clock_far_from_the_last_close_time_in_either_direction_fails_its_check)
{
    test_db_exec(&service.db, "UPDATE fairway.cursor SET close_time = close_time - 34");
    assert_passes("/readyz");
    test_db_exec(&service.db, "UPDATE fairway.cursor SET close_time = close_time - 10");
    assert_checks_fail("ledgers", "grants");
    test_db_exec(&service.db, "UPDATE fairway.cursor SET close_time = close_time + 84");
    assert_checks_fail("ledgers", "grants");
    service_reset(&service);
    assert_passes("/readyz");
}

/* Returns the reason that /readyz gives for a failed check. */
static char *reason_of(const char *name)
{
    AUTO_RESPONSE response = {0};
    assert_check_fails(name);
    service_get(&service, &response, "/readyz");
    return mem_copy_text(json_string_value(json_object_get(check_named(&response, name), "reason")));
}

TEST(DO5_DR10_grants_on_hold_fail_their_check_and_the_operators_reason_is_not_public)
{
    test_db_exec(&service.db,
        "UPDATE fairway.cursor SET held_until = 4102444800, hold_reason = 'the volume was copied'");
    AUTO_FREE char *reason = reason_of("grants");
    assert_string_equal(reason, "grants are on hold");
    test_db_exec(&service.db, "UPDATE fairway.cursor SET held_until = NULL, hold_reason = NULL");
    assert_passes("/readyz");
    test_db_exec(&service.db, "UPDATE fairway.cursor SET timeline = timeline + 1");
    AUTO_FREE char *restored = reason_of("grants");
    test_db_exec(&service.db, "UPDATE fairway.cursor SET timeline = timeline - 1");
    assert_non_null(strstr(restored, "restored or failed over"));
}

/* The lines that were logged since fd 2 was replaced by the file. */
static size_t count_lines(FILE *log, const char *with)
{
    char line[2048];
    size_t count = 0;
    rewind(log);
    while (fgets(line, sizeof line, log) != NULL)
        count += strstr(line, with) != NULL;
    return count;
}

/* Probes come every few seconds, and on both listeners. */
TEST(DO5_a_failed_probe_is_logged_once_with_its_reason_and_so_is_its_recovery)
{
    FILE *log = tmpfile();
    const int stderr_fd = dup(STDERR_FILENO);
    assert_non_null(log);
    assert_passes("/readyz");
    assert_int_equal(log_set_level("info"), ERR_OK);
    dup2(fileno(log), STDERR_FILENO);
    test_db_exec(&service.db,
        "UPDATE fairway.cursor SET held_until = 4102444800, hold_reason = 'the volume was copied'");
    for (int i = 0; i < 3; i++)
        assert_check_fails("grants");
    test_db_exec(&service.db, "UPDATE fairway.cursor SET held_until = NULL, hold_reason = NULL,"
                              " grants_allowed = false, grants_reason = 'the ledgers have a gap'");
    for (int i = 0; i < 3; i++)
        assert_check_fails("grants");
    service_reset(&service);
    for (int i = 0; i < 3; i++)
        assert_passes("/readyz");
    dup2(stderr_fd, STDERR_FILENO);
    close(stderr_fd);
    assert_int_equal(log_set_level("error"), ERR_OK);
    assert_int_equal(
        count_lines(log, "msg=\"a check fails: this replica is not ready\" check=grants"
                         " reason=\"grants are on hold\" detail=\"on hold until a ledger closes after "
                         "2100-01-01T00:00:00Z: the volume was copied\""),
        1);
    assert_int_equal(count_lines(log, "check=grants reason=\"grants are stopped\""), 1);
    assert_int_equal(count_lines(log, "this replica is not ready"), 2);
    assert_int_equal(count_lines(log, "msg=\"a check passes again\" check=grants"), 1);
    assert_int_equal(count_lines(log, "passes again"), 1);
    fclose(log);
}

TEST(DO5_a_pool_without_an_active_account_fails_its_check_and_a_leased_one_does_not)
{
    for (int i = 0; i < FIXTURE_ACCOUNTS; i++) {
        AUTO_RESPONSE response = {0};
        fixture_post_payment(&response);
        assert_int_equal(response.status, 201);
    }
    assert_passes("/readyz");
    test_db_exec(&service.db, "UPDATE fairway.channel_accounts SET state = 'retiring'");
    assert_check_fails("accounts");
}

static const char *warning(const char *name)
{
    static char text[200];
    AUTO_RESPONSE response = {0};
    service_get(&service, &response, "/readyz");
    const char *said = json_string_value(json_object_get(check_named(&response, name), "warning"));
    snprintf(text, sizeof text, "%s", said == NULL ? "" : said);
    assert_true(json_is_true(json_object_get(check_named(&response, name), "ok")));
    return text;
}

TEST(DO5_a_low_balance_is_a_warning_and_one_below_the_minimum_fails_its_check)
{
    assert_non_null(strstr(warning("funds"), "not known"));
    service_set_spendable(&service, 1000 * SERVICE_PAYMENT);
    assert_string_equal(warning("funds"), "");
    service_set_spendable(&service, 1000 * SERVICE_PAYMENT - 1);
    assert_non_null(strstr(warning("funds"), "low"));
    assert_passes("/readyz");
    service_set_spendable(&service, 100 * SERVICE_PAYMENT - 1);
    assert_check_fails("funds");
    service_set_spendable(&service, 100 * SERVICE_PAYMENT);
    assert_passes("/readyz");
}

/* Everything else passes: what fairway signs would be txBAD_AUTH. */
TEST(signers_of_the_distribution_account_that_were_changed_fail_its_check_and_stop_leases)
{
    AUTO_RESPONSE response = {0};
    service_set_spendable(&service, 1000 * SERVICE_PAYMENT);
    test_db_exec(&service.db, "UPDATE fairway.funds SET cannot_sign = true");
    assert_check_fails("funds");
    fixture_post_payment(&response);
    assert_refused(&response, 503, "GRANTS_SUSPENDED");
}

/* The lock lets all checks read. */
TEST(batches_that_fail_fail_their_check_although_every_other_passes)
{
    AUTO_RESPONSE refused = {0}, granted = {0}, pool = {0};
    struct db *locker = test_db_open(&service.db);
    static const char sql_lock[] = "LOCK TABLE fairway.channel_accounts IN EXCLUSIVE MODE";
    static const char sql_patient[] = "SET idle_in_transaction_session_timeout = 0";
    assert_int_equal(db_query(locker, DB_SQL0(sql_patient), NULL, NULL), ERR_OK);
    assert_int_equal(db_begin(locker, NULL), ERR_OK);
    assert_int_equal(db_query(locker, DB_SQL0(sql_lock), NULL, NULL), ERR_OK);
    fixture_post_payment(&refused);
    assert_int_equal(refused.status, 503);
    assert_check_fails("leases");
    service_get(&service, &pool, "/v1/pool"); /* as the refusal, without the server's words */
    assert_string_equal(json_string_value(json_object_get(json_object_get(pool.json, "grants"), "reason")),
        response_text(&refused, "detail"));
    db_rollback(locker);
    db_free(locker);
    fixture_post_payment(&granted);
    assert_int_equal(granted.status, 201);
    assert_passes("/readyz");
}

/* As when the schema is updated to a version that this replica is not of. No item of a batch is to blame. */
TEST(a_function_that_the_database_lacks_fails_the_check_of_leases)
{
    test_db_exec(&service.db, "ALTER FUNCTION fairway.record_leases RENAME TO other");
    for (int i = 0; i < 3; i++) {
        AUTO_RESPONSE refused = {0};
        fixture_post_payment(&refused);
        assert_int_equal(refused.status, 500);
    }
    assert_check_fails("leases");
    AUTO_RESPONSE late = {0}; /* its batch is refused, and proves nothing */
    struct sample sample = SAMPLE;
    set_times(&sample, 0, 1);
    add_payment(&sample, PLAIN, SIGNER);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    service_post(&service, &late, "/v1/transactions", service_body(buf_bytes(&sample.xdr)));
    sample_wipe(&sample);
    assert_refused(&late, 400, "INVALID_TRANSACTION");
    assert_check_fails("leases");
    test_db_exec(&service.db, "ALTER FUNCTION fairway.other RENAME TO record_leases");
    AUTO_RESPONSE granted = {0};
    fixture_post_payment(&granted);
    assert_int_equal(granted.status, 201);
    assert_passes("/readyz");
}

static void set_standby_names(const char *names)
{
    AUTO_FREE char *sql = mem_format("ALTER SYSTEM SET synchronous_standby_names = '%s'", names);
    test_db_exec(&service.db, sql);
    test_db_exec(&service.db, "SELECT pg_reload_conf()");
    AUTO_FREE char *set =
        mem_format("SELECT (current_setting('synchronous_standby_names') = '%s')::int::int8", names);
    for (int64_t end = clock_ms() + slower(PATIENCE_MS); test_db_number(&service.db, set) != 1;
         clock_sleep_ms(20))
        assert_int_not_equal(clock_left_ms(end), 0);
}

TEST(DR10_no_synchronous_standby_is_a_warning_and_one_that_is_gone_fails_its_check)
{
    service.synchronous_failover = true;
    service_restart_api(&service, &service_limits);
    assert_non_null(strstr(warning("standby"), "no synchronous standby"));
    assert_passes("/readyz");
    set_standby_names("somebody");
    AUTO_RESPONSE refused = {0}, granted = {0};
    fixture_post_payment(&refused);
    assert_int_equal(refused.status, 503);
    assert_checks_fail("standby", "leases");
    set_standby_names("");
    service_reset(&service);
    fixture_post_payment(&granted);
    assert_int_equal(granted.status, 201);
    assert_non_null(strstr(warning("standby"), "no synchronous standby"));
    service.synchronous_failover = false;
    service_restart_api(&service, &service_limits);
}

/* Drops the partitions of leases after this day. */
static void drop_partitions_after(const char *day)
{
    AUTO_FREE char *sql =
        mem_format("DO $$ DECLARE part text; BEGIN FOR part IN SELECT name FROM fairway.partitions"
                   " WHERE parent = 'leases' AND day > %s LOOP"
                   " EXECUTE format('DROP TABLE fairway.%%I', part); END LOOP; END $$",
            day);
    test_db_exec(&service.db, sql);
}

/* The first lease of a day makes its partition. */
TEST(missing_partitions_are_a_warning)
{
    assert_string_equal(warning("database"), "");
    drop_partitions_after("current_date");
    assert_non_null(strstr(warning("database"), "of tomorrow"));
    assert_passes("/readyz");
    drop_partitions_after("current_date - 1");
    assert_non_null(strstr(warning("database"), "of tomorrow"));
    assert_passes("/readyz");
    test_db_exec(&service.db, "SELECT fairway.add_partitions(current_date, current_date + 7)");
    assert_string_equal(warning("database"), "");
}

static void count_calls(const char *method, unsigned result, int64_t calls)
{
    const unsigned name = metric_label_find(METRIC_METHOD, method);
    metric_add(METRIC_RPC_CALLS, 0, METRIC_PAIR(name, result, RESULT), calls);
}

/* Ledgers are asked for all the time, so the other calls are few. */
TEST(an_rpc_that_fails_the_calls_of_one_method_is_a_warning)
{
    recent_speed_keep();
    count_calls("getLedgers", METRIC_CALL_OK, 60);
    count_calls("simulateTransaction", METRIC_CALL_FAILED, 2);
    assert_string_equal(warning("rpcs"), "");
    count_calls("simulateTransaction", METRIC_CALL_FAILED, 5);
    assert_non_null(strstr(warning("rpcs"), "sick"));
    clock_sleep_ms(5000); /* between two samples */
    recent_speed_keep();
    count_calls("simulateTransaction", METRIC_CALL_OK, 2);
    assert_non_null(strstr(warning("rpcs"), "sick"));
    count_calls("simulateTransaction", METRIC_CALL_OK, 1);
    assert_string_equal(warning("rpcs"), "");
}

static void await_ready(void)
{
    for (int64_t end = clock_ms() + slower(PATIENCE_MS);; clock_sleep_ms(20)) {
        AUTO_RESPONSE response = {0};
        service_get(&service, &response, "/readyz");
        if (response.status == 200)
            return;
        if (clock_left_ms(end) == 0)
            fail_msg("/readyz still fails");
    }
}

TEST(DX7_without_the_database_everything_is_503_but_livez_and_the_service_recovers)
{
    static const char *const paths[] = {"/v1/pool", "/v1/channel-accounts",
        "/v1/transactions/0000000000000000000000000000000000000000000000000000000000000000"};
    AUTO_RESPONSE refused = {0}, ready = {0}, granted = {0};
    test_pg_kill();
    fixture_post_payment(&refused);
    assert_refused(&refused, 503, "DATABASE_UNAVAILABLE");
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        AUTO_RESPONSE response = {0};
        service_get(&service, &response, paths[i]);
        assert_refused(&response, 503, "DATABASE_UNAVAILABLE");
    }
    service_get(&service, &ready, "/readyz");
    assert_int_equal(ready.status, 503);
    assert_false(json_is_true(json_object_get(check_named(&ready, "database"), "ok")));
    assert_true(json_is_true(json_object_get(check_named(&ready, "keys"), "ok")));
    assert_passes("/livez");
    test_pg_restart();
    await_ready();
    fixture_post_payment(&granted);
    assert_int_equal(granted.status, 201);
    assert_int_equal(service_leases(&service), 1);
}

/* The last test: the key process is not started again. */
TEST(without_the_key_process_nothing_is_signed)
{
    AUTO_RESPONSE leased = {0}, bumped = {0}, refused = {0}, live = {0};
    fixture_post_payment(&leased);
    assert_int_equal(leased.status, 201);
    assert_int_equal(kill(keyd_pid(service.keyd), SIGKILL), 0);
    fixture_bump(&bumped, &leased);
    assert_refused(&bumped, 503, "SIGNER_UNAVAILABLE");
    assert_false(keyd_runs(service.keyd));
    fixture_post_payment(&refused);
    assert_refused(&refused, 503, "SIGNER_UNAVAILABLE");
    assert_int_equal(service_leases(&service), 1);
    assert_int_equal(service_number(&service, "SELECT count(*) FROM fairway.fee_bumps"), 0);
    assert_check_fails("keys");
    service_get(&service, &live, "/livez");
    assert_int_equal(live.status, 503);
}

TEST_FIXTURE(fixture_reset, NULL)
GROUP_FIXTURE(fixture_start_private, fixture_stop)
