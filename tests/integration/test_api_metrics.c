/* GET /metrics: Prometheus' text format, correct values; unknown values are left out (DO2). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "support/api_client.h"
#include "support/fixture.h"
#include "slowness.h"

#define ABSENT INT64_MIN

static struct api_reply metrics(void)
{
    struct api_reply reply = api_get(http_server_port(service.admin_http), "/metrics");
    assert_int_equal(reply.status, 200);
    return reply;
}

/* The value of a sample, named with its labels; ABSENT when there is none. */
static int64_t sample_of(const struct api_reply *reply, const char *name)
{
    const size_t len = strlen(name);
    for (const char *line = reply->body; line != NULL && *line != '\0';) {
        if (strncmp(line, name, len) == 0 && line[len] == ' ')
            return strtoll(line + len + 1, NULL, 10);
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return ABSENT;
}

static int64_t value(const char *name)
{
    struct api_reply reply = metrics();
    int64_t found = sample_of(&reply, name);
    api_reply_wipe(&reply);
    return found;
}

static void lease_one(void)
{
    AUTO_RESPONSE response = {0};
    fixture_post_payment(&response);
    assert_int_equal(response.status, 201);
}

/* Checks one line of the text format: "# HELP name text", "# TYPE name gauge", or
 * "name{label="value"} number". */
static void assert_line(const char *line, char *described)
{
    char name[100], kind[20];
    int end = 0;
    if (sscanf(line, "# HELP %99[a-z_] %n", name, &end) == 1 && end > 0) {
        assert_true(strncmp(name, "fairway_", 8) == 0 && line[end] != '\0');
        snprintf(described, 100, "%s", name);
        return;
    }
    if (sscanf(line, "# TYPE %99[a-z_] %19s", name, kind) == 2) {
        assert_string_equal(name, described);
        const size_t len = strlen(name);
        const bool counts = len > 6 && strcmp(name + len - 6, "_total") == 0;
        assert_string_equal(kind, counts ? "counter" : "gauge");
        return;
    }
    assert_int_equal(sscanf(line, "%99[a-z_]%n", name, &end), 1);
    assert_string_equal(name, described);
    if (line[end] == '{') {
        const char *close = strchr(line, '}');
        assert_non_null(close);
        end = (int)(close + 1 - line);
    }
    char *rest;
    assert_int_equal(line[end], ' ');
    strtoll(line + end + 1, &rest, 10);
    assert_true(rest != line + end + 1 && *rest == '\0');
}

static void every_line_has_the_text_format_and_every_sample_has_HELP_and_TYPE(void **state)
{
    service_set_spendable(&service, 5000000);
    struct api_reply reply = metrics();
    char described[100] = "";
    AUTO_FREE char *type = api_header(&reply, "Content-Type");
    assert_string_equal(type, "text/plain; version=0.0.4; charset=utf-8");
    size_t len = strlen(reply.body), lines = 0;
    assert_int_equal(reply.body[len - 1], '\n');
    for (char *rest = reply.body, *line; (line = strsep(&rest, "\n")) != NULL && rest != NULL; lines++)
        assert_line(line, described);
    assert_true(lines > 40);
    api_reply_wipe(&reply);
}

static void DO2_the_counts_of_the_pool_equal_those_of_the_database(void **state)
{
    assert_int_equal(value("fairway_channel_accounts{state=\"idle\"}"), FIXTURE_ACCOUNTS);
    lease_one();
    test_db_exec(&service.db,
        "UPDATE fairway.channel_accounts SET state = 'quarantined', quarantine_reason = 'x' WHERE"
        " public_key = (SELECT min(public_key) FROM fairway.channel_accounts WHERE lease_hash IS"
        " NULL);" TEST_UNCHECKED("UPDATE fairway.channel_accounts SET locked_at = locked_at -"
                                 " interval '70 s'"));
    struct api_reply reply = metrics();
    assert_int_equal(sample_of(&reply, "fairway_channel_accounts{state=\"idle\"}"), FIXTURE_ACCOUNTS - 2);
    assert_int_equal(sample_of(&reply, "fairway_channel_accounts{state=\"leased\"}"), 1);
    assert_int_equal(sample_of(&reply, "fairway_channel_accounts{state=\"quarantined\"}"), 1);
    assert_int_equal(sample_of(&reply, "fairway_channel_accounts{state=\"creating\"}"), 0);
    assert_int_equal(sample_of(&reply, "fairway_channel_accounts{state=\"retiring\"}"), 0);
    const int64_t age_s = sample_of(&reply, "fairway_oldest_lease_seconds");
    assert_true(age_s >= 70 && age_s < 100);
    assert_int_equal(sample_of(&reply, "fairway_database_up"), 1);
    assert_int_equal(sample_of(&reply, "fairway_database_disk_ok"), 1);
    api_reply_wipe(&reply);
}

/* Also those that the log leaves out. */
static void every_request_is_counted_by_the_code_of_its_problem(void **state)
{
    enum {
        REFUSED = 50
    };
    static const char unknown[] = "fairway_http_requests_total{code=\"NOT_FOUND\"}";
    const int64_t before = value(unknown), fine = value("fairway_http_requests_total{code=\"OK\"}");
    for (int i = 0; i < REFUSED; i++) {
        struct api_reply reply = api_get(http_server_port(service.http), "/nothing");
        assert_int_equal(reply.status, 404);
        api_reply_wipe(&reply);
    }
    /* A request is counted when it has ended, which is after its reply has arrived. */
    int64_t now = 0;
    for (int64_t end_ms = clock_ms() + slower(10000); now != REFUSED && clock_ms() < end_ms;)
        now = value(unknown) - (before == ABSENT ? 0 : before);
    assert_int_equal(now, REFUSED);
    assert_true(value("fairway_http_requests_total{code=\"OK\"}") > fine);
}

static void DO2_the_cursor_is_the_last_ledger(void **state)
{
    test_db_exec(&service.db, "UPDATE fairway.cursor SET close_time = close_time - 25");
    struct api_reply reply = metrics();
    assert_int_equal(sample_of(&reply, "fairway_cursor_ledger"),
        service_number(&service, "SELECT sequence FROM fairway.cursor"));
    assert_int_equal(sample_of(&reply, "fairway_cursor_close_time_seconds"),
        service_number(&service, "SELECT close_time FROM fairway.cursor"));
    const int64_t lag_s = sample_of(&reply, "fairway_cursor_lag_seconds");
    assert_true(lag_s >= 20 && lag_s < 60);
    assert_int_equal(sample_of(&reply, "fairway_grants_allowed"), 1);
    assert_int_equal(sample_of(&reply, "fairway_ingestion_ok"), 1);
    api_reply_wipe(&reply);
    test_db_exec(&service.db, "UPDATE fairway.cursor SET grants_allowed = false, grants_reason = 'x'");
    service.ingestion_works = false;
    assert_int_equal(value("fairway_grants_allowed"), 0);
    assert_int_equal(value("fairway_ingestion_ok"), 0);
}

/* What a request for a lease is told, /metrics, /v1/pool and, unless it is about funds, /readyz. */
static void assert_lease_refused(const char *refusal)
{
    AUTO_RESPONSE lease = {0}, pool = {0}, ready = {0};
    json_t *check;
    size_t i;
    fixture_post_payment(&lease);
    if (refusal == NULL)
        assert_int_equal(lease.status, 201);
    else
        assert_refused(&lease, 503, refusal);
    assert_int_equal(value("fairway_grants_allowed"), refusal == NULL);
    service_get(&service, &pool, "/v1/pool");
    const json_t *grants = json_object_get(pool.json, "grants");
    assert_int_equal(json_is_true(json_object_get(grants, "allowed")), refusal == NULL);
    assert_int_equal(json_is_string(json_object_get(grants, "reason")), refusal != NULL);
    service_get(&service, &ready, "/readyz");
    json_array_foreach(json_object_get(ready.json, "checks"), i, check)
    {
        const char *name = json_string_value(json_object_get(check, "name"));
        if (strcmp(name, "grants") == 0)
            assert_int_equal(json_is_true(json_object_get(check, "ok")),
                refusal == NULL || strcmp(refusal, "GRANTS_SUSPENDED") != 0);
    }
}

static void DO2_grants_are_allowed_when_a_request_is_told_so(void **state)
{
    static const char *const suspending[] = {"UPDATE fairway.cursor SET close_time = close_time - 60",
        "UPDATE fairway.cursor SET close_time = close_time + 60",
        "UPDATE fairway.cursor SET grants_allowed = false, grants_reason = 'x'",
        "UPDATE fairway.cursor SET held_until = 4102444800, hold_reason = 'x'"};
    assert_lease_refused(NULL);
    for (size_t i = 0; i < sizeof suspending / sizeof suspending[0]; i++) {
        test_db_exec(&service.db, suspending[i]);
        assert_lease_refused("GRANTS_SUSPENDED");
        service_reset(&service);
    }
    service_set_spendable(&service, 99 * SERVICE_PAYMENT);
    assert_lease_refused("DISTRIBUTION_ACCOUNT_UNDERFUNDED");
    service_set_spendable(&service, 100 * SERVICE_PAYMENT);
    assert_lease_refused(NULL);
}

static void the_balance_of_the_distribution_account_is_left_out_until_it_is_known(void **state)
{
    struct api_reply reply = metrics();
    assert_int_equal(sample_of(&reply, "fairway_distribution_known"), 0);
    assert_int_equal(sample_of(&reply, "fairway_distribution_balance_stroops"), ABSENT);
    assert_int_equal(sample_of(&reply, "fairway_distribution_spendable_stroops"), ABSENT);
    assert_int_equal(sample_of(&reply, "fairway_distribution_payments_left"), ABSENT);
    api_reply_wipe(&reply);
    service_set_spendable(&service, 5 * SERVICE_PAYMENT + 1);
    reply = metrics();
    assert_int_equal(sample_of(&reply, "fairway_distribution_known"), 1);
    assert_int_equal(
        sample_of(&reply, "fairway_distribution_balance_stroops"), 5 * SERVICE_PAYMENT + 1 + 10000000);
    assert_int_equal(sample_of(&reply, "fairway_distribution_spendable_stroops"), 5 * SERVICE_PAYMENT + 1);
    assert_int_equal(sample_of(&reply, "fairway_distribution_payments_left"), 5);
    assert_int_equal(sample_of(&reply, "fairway_distribution_payments_low"), 1000);
    assert_int_equal(sample_of(&reply, "fairway_distribution_payments_min"), 100);
    api_reply_wipe(&reply);
}

static void DR10_the_configured_standby_and_the_failover_option_are_reported(void **state)
{
    assert_int_equal(value("fairway_database_failover_synchronous"), 0);
    assert_int_equal(value("fairway_database_synchronous_standby_configured"), 0);
    service.synchronous_failover = true;
    service_restart_api(&service, &service_limits);
    test_db_exec(&service.db, "ALTER SYSTEM SET synchronous_standby_names = 'somebody'");
    test_db_exec(&service.db, "SELECT pg_reload_conf()");
    for (int64_t end = clock_ms() + slower(10000);
         value("fairway_database_synchronous_standby_configured") != 1; clock_sleep_ms(20))
        assert_int_not_equal(clock_left_ms(end), 0);
    assert_int_equal(value("fairway_database_failover_synchronous"), 1);
    test_db_exec(&service.db, "ALTER SYSTEM RESET synchronous_standby_names");
    test_db_exec(&service.db, "SELECT pg_reload_conf()");
    for (int64_t end = clock_ms() + slower(10000);
         value("fairway_database_synchronous_standby_configured") != 0; clock_sleep_ms(20))
        assert_int_not_equal(clock_left_ms(end), 0);
    service.synchronous_failover = false;
    service_restart_api(&service, &service_limits);
}

static void DX9_the_age_of_the_oldest_snapshot_is_reported(void **state)
{
    struct db *old = test_db_open(&service.db);
    assert_int_equal(value("fairway_oldest_snapshot_seconds"), 0);
    assert_int_equal(db_begin(old, NULL), ERR_OK);
    assert_int_equal(
        db_query(old, DB_SQL0("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"), NULL, NULL), ERR_OK);
    assert_int_equal(
        db_query(old, DB_SQL0("SELECT count(*) FROM fairway.channel_accounts"), NULL, NULL), ERR_OK);
    service_close_ledger(&service);
    test_db_exec(&service.db, "UPDATE fairway.ledgers SET committed_at = now() - interval '400 s' WHERE"
                              " sequence = (SELECT c.sequence FROM fairway.cursor c)");
    const int64_t age_s = value("fairway_oldest_snapshot_seconds");
    assert_true(age_s >= 400 && age_s < 440);
    db_rollback(old);
    assert_int_equal(value("fairway_oldest_snapshot_seconds"), 0);
    db_free(old);
}

static void the_commit_of_the_build_is_reported(void **state)
{
    struct api_reply reply = metrics();
    const char *build = strstr(reply.body, "\nfairway_build_info{commit=\"");
    assert_non_null(build);
    assert_true(isalnum((unsigned char)build[strlen("\nfairway_build_info{commit=\"")]));
    api_reply_wipe(&reply);
}

/* The last test: it kills the server. */
static void without_the_database_the_other_metrics_are_reported(void **state)
{
    test_pg_kill();
    struct api_reply reply = metrics();
    assert_int_equal(sample_of(&reply, "fairway_database_up"), 0);
    assert_int_equal(sample_of(&reply, "fairway_ingestion_ok"), 1);
    assert_int_equal(sample_of(&reply, "fairway_cursor_ledger"), ABSENT);
    assert_int_equal(sample_of(&reply, "fairway_database_disk_ok"), ABSENT);
    api_reply_wipe(&reply);
    test_pg_restart();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fixture_reset)
    const struct CMUnitTest tests[] = {
        TEST(every_line_has_the_text_format_and_every_sample_has_HELP_and_TYPE),
        TEST(DO2_the_counts_of_the_pool_equal_those_of_the_database),
        TEST(every_request_is_counted_by_the_code_of_its_problem),
        TEST(DO2_the_cursor_is_the_last_ledger),
        TEST(DO2_grants_are_allowed_when_a_request_is_told_so),
        TEST(the_balance_of_the_distribution_account_is_left_out_until_it_is_known),
        TEST(DR10_the_configured_standby_and_the_failover_option_are_reported),
        TEST(DX9_the_age_of_the_oldest_snapshot_is_reported),
        TEST(the_commit_of_the_build_is_reported),
        TEST(without_the_database_the_other_metrics_are_reported),
    };
    return cmocka_run_group_tests(tests, fixture_start_private, fixture_stop);
}
