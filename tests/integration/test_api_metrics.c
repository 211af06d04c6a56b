/* GET /metrics: Prometheus' text format, correct values; unknown values are left out (DO2). */
#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/version.h"
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
    struct api_reply reply CLEANUP(api_reply_wipe) = metrics();
    int64_t found = sample_of(&reply, name);
    return found;
}

static void lease_one(void)
{
    AUTO_RESPONSE response = {0};
    fixture_post_payment(&response);
    assert_int_equal(response.status, 201);
}

/* Whether the text at *at is {name="value",...}; moves past it. */
static bool take_labels(const char **at)
{
    char label[30], value[100];
    for (char close = ','; close == ',';) {
        int end = 0;
        if (sscanf(*at, *(*at) == '{' ? "{%29[a-z]=\"%99[^\"\n]\"%n" : ",%29[a-z]=\"%99[^\"\n]\"%n", label,
                value, &end) != 2 ||
            end == 0)
            return false;
        *at += end;
        close = **at;
    }
    return *(*at)++ == '}';
}

/* What the lines before this one have described. */
struct family {
    char name[100], kind[20];
    size_t samples;
};

/* Checks one line of the text format: "# HELP name text", "# TYPE name kind", or "name{label="value"}
 * number", where a histogram's name has an end. */
static void assert_line(const char *line, struct family *family)
{
    char name[100], kind[20];
    int end = 0;
    if (sscanf(line, "# HELP %99[a-z_] %n", name, &end) == 1 && end > 0) {
        assert_true(strncmp(name, "fairway_", 8) == 0 || strncmp(name, "process_", 8) == 0);
        assert_true(line[end] != '\0' && strcmp(name, family->name) != 0 && family->samples > 0);
        snprintf(family->name, sizeof family->name, "%s", name);
        family->samples = 0;
        return;
    }
    if (sscanf(line, "# TYPE %99[a-z_] %19s", name, kind) == 2) {
        assert_string_equal(name, family->name);
        const size_t len = strlen(name);
        assert_int_equal(len > 6 && strcmp(name + len - 6, "_total") == 0, strcmp(kind, "counter") == 0);
        snprintf(family->kind, sizeof family->kind, "%s", kind);
        return;
    }
    const size_t len = strlen(family->name);
    assert_int_equal(strncmp(line, family->name, len), 0);
    const char *at = line + len;
    if (strcmp(family->kind, "histogram") == 0)
        at += strncmp(at, "_bucket", 7) == 0 ? 7 : strncmp(at, "_sum", 4) == 0 ? 4 : 6;
    if (*at == '{')
        assert_true(take_labels(&at));
    char *rest;
    assert_int_equal(*at, ' ');
    strtod(at + 1, &rest);
    assert_true(rest != at + 1 && *rest == '\0');
    family->samples++;
}

TEST(every_line_has_the_text_format_and_every_sample_has_HELP_and_TYPE)
{
    service_set_spendable(&service, 5000000);
    struct api_reply reply CLEANUP(api_reply_wipe) = metrics();
    struct family family = {.samples = 1};
    AUTO_FREE char *type = api_header(&reply, "Content-Type");
    assert_string_equal(type, "text/plain; version=0.0.4; charset=utf-8");
    size_t len = strlen(reply.body), lines = 0;
    assert_int_equal(reply.body[len - 1], '\n');
    for (char *rest = reply.body, *line; (line = strsep(&rest, "\n")) != NULL && rest != NULL; lines++)
        assert_line(line, &family);
    assert_true(lines > 40 && family.samples > 0);
}

static void assert_there(const struct api_reply *reply, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void assert_there(const struct api_reply *reply, const char *format, ...)
{
    char name[200];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    if (sample_of(reply, name) == ABSENT)
        fail_msg("there is no %s", name);
}

/* An alert on a series that begins with its first event misses that event. */
TEST(every_series_is_there_before_its_first_event)
{
    static const char *const routes[] = {"POST /v1/transactions", "GET /v1/transactions",
        "GET /v1/transactions/{hash}", "POST /v1/fee-bumps", "POST /v1/submissions", "GET /v1/info",
        "GET /v1/pool", "GET /v1/channel-accounts", "GET /openapi.json", "GET /livez", "GET /readyz",
        "GET /health", "GET /metrics", "other"};
    static const char *const clients[] = {"none", "other"}, *const listeners[] = {"api", "admin"};
    static const char *const others[] = {"fairway_leases_granted_total", "fairway_fee_bumps_total",
        "fairway_submissions_accepted_total", "fairway_lease_wait_seconds_bucket{le=\"0.001\"}",
        "fairway_batch_size_bucket{kind=\"lease\",le=\"64\"}", "fairway_batch_size_count{kind=\"fee_bump\"}",
        "fairway_ledger_commit_delay_seconds_count", "fairway_ledger_answer_seconds_sum",
        "fairway_ingestion_leader", "fairway_ingestion_lead_taken_total",
        "fairway_keyd_round_trip_seconds_count{kind=\"lease\"}",
        "fairway_keyd_round_trip_seconds_count{kind=\"fee_bump\"}", "fairway_keyd_fee_budget_stroops",
        "fairway_keyd_fee_budget_left_stroops", "fairway_grants_held_until_seconds",
        "fairway_provisioning_pending"};
    struct api_reply reply CLEANUP(api_reply_wipe) = metrics();
    for (enum err e = ERR_OK; e < ERR_COUNT; e++) {
        for (size_t i = 0; i < ARRAY_LEN(routes); i++)
            assert_there(
                &reply, "fairway_http_requests_total{route=\"%s\",code=\"%s\"}", routes[i], err_code(e));
        for (size_t i = 0; i < ARRAY_LEN(clients); i++)
            assert_there(
                &reply, "fairway_client_requests_total{client=\"%s\",code=\"%s\"}", clients[i], err_code(e));
    }
    for (size_t i = 0; i < ARRAY_LEN(routes); i++)
        assert_there(
            &reply, "fairway_http_request_duration_seconds_bucket{route=\"%s\",le=\"+Inf\"}", routes[i]);
    for (size_t i = 0; i < ARRAY_LEN(listeners); i++) {
        assert_there(&reply, "fairway_http_connections{listener=\"%s\"}", listeners[i]);
        assert_there(&reply, "fairway_http_connections_max{listener=\"%s\"}", listeners[i]);
    }
    static const char *const ends[] = {"confirmed", "failed", "expired", "superseded", "consumed"},
                             *const methods[] = {"getHealth", "getNetwork", "getVersionInfo", "getLedgers",
                                 "getLedgerEntries", "getTransaction", "sendTransaction",
                                 "simulateTransaction"},
                             *const results[] = {"ok", "error", "failed", "cancelled"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        assert_there(&reply, "fairway_leases_ended_total{end=\"%s\"}", ends[i]);
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        for (size_t k = 0; k < ARRAY_LEN(results); k++)
            assert_there(&reply, "fairway_rpc_calls_total{rpc=\"1\",method=\"%s\",result=\"%s\"}", methods[i],
                results[k]);
        assert_there(&reply, "fairway_rpc_call_duration_seconds_count{rpc=\"1\",method=\"%s\"}", methods[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_there(&reply, "%s", others[i]);
}

TEST(the_process_is_reported)
{
    struct api_reply reply CLEANUP(api_reply_wipe) = metrics();
    const int64_t open = sample_of(&reply, "process_open_fds"),
                  rss = sample_of(&reply, "process_resident_memory_bytes");
    assert_true(open > 10 && open <= sample_of(&reply, "process_max_fds"));
    assert_true(rss > (1 << 20) && rss <= sample_of(&reply, "process_virtual_memory_bytes"));
    assert_true(sample_of(&reply, "process_cpu_seconds_total") >= 0);
    const int64_t started_s = sample_of(&reply, "process_start_time_seconds");
    assert_true(started_s <= time(NULL) && started_s > time(NULL) - 3600);
}

TEST(DO2_the_counts_of_the_pool_equal_those_of_the_database)
{
    assert_int_equal(value("fairway_channel_accounts{state=\"idle\"}"), FIXTURE_ACCOUNTS);
    lease_one();
    test_db_exec(&service.db,
        "UPDATE fairway.channel_accounts SET state = 'quarantined', quarantine_reason = 'x' WHERE"
        " public_key = (SELECT min(public_key) FROM fairway.channel_accounts WHERE lease_hash IS"
        " NULL);" TEST_UNCHECKED("UPDATE fairway.channel_accounts SET locked_at = locked_at -"
                                 " interval '70 s'"));
    struct api_reply reply CLEANUP(api_reply_wipe) = metrics();
    assert_int_equal(sample_of(&reply, "fairway_channel_accounts{state=\"idle\"}"), FIXTURE_ACCOUNTS - 2);
    assert_int_equal(sample_of(&reply, "fairway_channel_accounts{state=\"leased\"}"), 1);
    assert_int_equal(sample_of(&reply, "fairway_channel_accounts{state=\"quarantined\"}"), 1);
    assert_int_equal(sample_of(&reply, "fairway_channel_accounts{state=\"creating\"}"), 0);
    assert_int_equal(sample_of(&reply, "fairway_channel_accounts{state=\"retiring\"}"), 0);
    const int64_t age_s = sample_of(&reply, "fairway_oldest_lease_seconds");
    assert_true(age_s >= 70 && age_s < 100);
    assert_int_equal(sample_of(&reply, "fairway_check{check=\"database\"}"), 0);
}

/* Waits until a value is so: a request is counted when it has ended, which is after its reply has arrived. */
static void await_value(const char *name, int64_t wanted)
{
    for (int64_t end_ms = clock_ms() + slower(10000); value(name) != wanted; clock_sleep_ms(5))
        if (clock_left_ms(end_ms) == 0)
            fail_msg("%s is %lld, not %lld", name, (long long)value(name), (long long)wanted);
}

/* Also those that the log leaves out. */
TEST(every_request_is_counted_once_by_route_client_and_code)
{
    enum {
        REFUSED = 50
    };
    static const char unknown[] = "fairway_http_requests_total{route=\"other\",code=\"NOT_FOUND\"}",
                      of_none[] = "fairway_client_requests_total{client=\"none\",code=\"NOT_FOUND\"}",
                      pool[] = "fairway_http_requests_total{route=\"GET /v1/pool\",code=\"OK\"}",
                      took[] = "fairway_http_request_duration_seconds_count{route=\"GET /v1/pool\"}";
    const int64_t before = value(unknown), none = value(of_none), fine = value(pool), timed = value(took);
    AUTO_RESPONSE response = {0};
    service_get(&service, &response, "/v1/pool");
    for (int i = 0; i < REFUSED; i++) {
        struct api_reply reply CLEANUP(api_reply_wipe) = api_get(http_server_port(service.http), "/nothing");
        assert_int_equal(reply.status, 404);
    }
    await_value(unknown, before + REFUSED);
    await_value(of_none, none + REFUSED);
    await_value(pool, fine + 1);
    await_value(took, timed + 1);
}

static void post_with_key(struct response *response, const char *key)
{
    AUTO_FREE char *head = mem_format("Content-Type: application/json\r\nIdempotency-Key: %s\r\n", key);
    json_t *body = fixture_payment();
    AUTO_FREE char *text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    service_request(&service, response, "POST", "/v1/transactions", head,
        (struct bytes){(const uint8_t *)text, strlen(text)});
}

TEST(leases_and_fee_bumps_are_counted_but_no_repeated_lease)
{
    static const char granted[] = "fairway_leases_granted_total", bumped[] = "fairway_fee_bumps_total",
                      waited[] = "fairway_lease_wait_seconds_count",
                      leases[] = "fairway_batch_size_sum{kind=\"lease\"}",
                      bumps[] = "fairway_batch_size_sum{kind=\"fee_bump\"}";
    const int64_t before[] = {value(granted), value(bumped), value(waited), value(leases), value(bumps)};
    AUTO_RESPONSE first = {0}, repeat = {0}, bump = {0};
    post_with_key(&first, "k");
    assert_int_equal(first.status, 201);
    post_with_key(&repeat, "k");
    assert_int_equal(repeat.status, 200);
    fixture_bump(&bump, &first);
    assert_int_equal(bump.status, 200);
    assert_int_equal(value(granted), before[0] + 1);
    assert_int_equal(value(bumped), before[1] + 1);
    assert_int_equal(value(waited), before[2] + 1);
    assert_int_equal(value(leases), before[3] + 2);
    assert_int_equal(value(bumps), before[4] + 1);
    assert_int_equal(value("fairway_submissions_accepted_total"), 0);
    assert_true(value("fairway_keyd_round_trip_seconds_count{kind=\"lease\"}") >= 1);
    assert_true(value("fairway_keyd_round_trip_seconds_count{kind=\"fee_bump\"}") >= 1);
    const int64_t left = value("fairway_keyd_fee_budget_left_stroops");
    assert_true(left > 0 && left < value("fairway_keyd_fee_budget_stroops"));
}

TEST(open_connections_are_counted_by_listener)
{
    static const char api[] = "fairway_http_connections{listener=\"api\"}";
    await_value(api, 0);
    assert_int_equal(value("fairway_http_connections_max{listener=\"api\"}"), HTTP_MAX_CONNECTIONS);
    const int waiting = service_send(&service, "GET", "/v1/pool", NULL);
    await_value(api, 1);
    assert_int_equal(value("fairway_http_connections{listener=\"admin\"}"), 1);
    close(waiting);
    await_value(api, 0);
}

TEST(DO2_the_cursor_is_the_last_ledger)
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
    assert_int_equal(sample_of(&reply, "fairway_check{check=\"ingestion\"}"), 0);
    api_reply_wipe(&reply);
    test_db_exec(&service.db, "UPDATE fairway.cursor SET grants_allowed = false, grants_reason = 'x'");
    service.ingestion_works = false;
    assert_int_equal(value("fairway_grants_allowed"), 0);
    assert_int_equal(value("fairway_check{check=\"ingestion\"}"), 1);
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

TEST(DO2_grants_are_allowed_when_a_request_is_told_so)
{
    static const char *const suspending[] = {"UPDATE fairway.cursor SET close_time = close_time - 60",
        "UPDATE fairway.cursor SET close_time = close_time + 60",
        "UPDATE fairway.cursor SET grants_allowed = false, grants_reason = 'x'",
        "UPDATE fairway.cursor SET held_until = 4102444800, hold_reason = 'x'"};
    assert_lease_refused(NULL);
    for (size_t i = 0; i < sizeof suspending / sizeof suspending[0]; i++) {
        test_db_exec(&service.db, suspending[i]);
        assert_lease_refused("GRANTS_SUSPENDED");
        assert_int_equal(value("fairway_grants_held_until_seconds"), i == 3 ? 4102444800 : 0);
        service_reset(&service);
    }
    service_set_spendable(&service, 99 * SERVICE_PAYMENT);
    assert_lease_refused("DISTRIBUTION_ACCOUNT_UNDERFUNDED");
    service_set_spendable(&service, 100 * SERVICE_PAYMENT);
    assert_lease_refused(NULL);
    test_db_exec(
        &service.db, "UPDATE fairway.channel_accounts SET state = 'quarantined', quarantine_reason = 'x'");
    assert_lease_refused("CHANNEL_ACCOUNT_UNAVAILABLE");
}

TEST(the_balance_of_the_distribution_account_is_left_out_until_it_is_known)
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

TEST(DR10_the_configured_standby_and_the_failover_option_are_reported)
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

TEST(DX9_the_age_of_the_oldest_snapshot_is_reported)
{
    AUTO_DB old = test_db_open(&service.db);
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
}

TEST(the_version_and_commit_of_the_build_are_reported)
{
    struct api_reply reply CLEANUP(api_reply_wipe) = metrics();
    const char *build = strstr(reply.body, "\nfairway_build_info{version=\"" FAIRWAY_VERSION "\",commit=\"");
    assert_non_null(build);
    assert_true(isalnum(
        (unsigned char)build[strlen("\nfairway_build_info{version=\"" FAIRWAY_VERSION "\",commit=\"")]));
}

static void *read_status(void *context)
{
    struct api_reply reply = api_get(http_server_port(service.admin_http), "/status.json");
    api_reply_wipe(&reply);
    return context;
}

/* Another request has the only session of the listener until it is too late for this one. */
TEST(DX7_metrics_that_wait_for_the_database_in_vain_say_so)
{
    AUTO_DB holder = test_db_open(&service.db);
    pthread_t thread;
    assert_int_equal(db_begin(holder, NULL), ERR_OK);
    assert_int_equal(db_query(holder, DB_SQL0("LOCK TABLE fairway.channel_accounts"), NULL, NULL), ERR_OK);
    assert_int_equal(pthread_create(&thread, NULL, read_status, NULL), 0);
    clock_sleep_ms(DB_WORKERS_BEGIN_MS / 3);
    assert_int_equal(value("fairway_check{check=\"database\"}"), 2);
    db_rollback(holder);
    pthread_join(thread, NULL);
    assert_int_equal(value("fairway_check{check=\"database\"}"), 0);
}

/* The last test: it kills the server. */
TEST(without_the_database_the_other_metrics_are_reported)
{
    test_pg_kill();
    struct api_reply reply = metrics();
    assert_int_equal(sample_of(&reply, "fairway_check{check=\"database\"}"), 2);
    assert_int_equal(sample_of(&reply, "fairway_cursor_ledger"), ABSENT);
    api_reply_wipe(&reply);
    test_pg_restart();
}

TEST_FIXTURE(fixture_reset, NULL)
GROUP_FIXTURE(fixture_start_private, fixture_stop)
