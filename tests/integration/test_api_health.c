/* The probes, and what the API answers while something that it stands on is away: 503 with the right code, no
 * internal text, and recovery by itself (DO5, DX7). */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "support/service.h"
#include "unit/stellar/sample.h"

#define PATIENCE_MS 15000

static struct service service;

static int start(void **state)
{
    test_pg_start_private(state);
    service_start(&service, 2);
    return 0;
}

static int stop(void **state)
{
    service_stop(&service);
    return test_pg_stop(state);
}

static int reset(void **state)
{
    (void)state;
    service_reset(&service);
    return 0;
}

static void post(struct answer *answer)
{
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    service_post(&service, answer, "/v1/transactions", service_body(buf_bytes(&sample.xdr)));
    sample_wipe(&sample);
}

static json_t *check_named(const struct answer *answer, const char *name)
{
    size_t i;
    json_t *check;
    json_array_foreach(json_object_get(answer->json, "checks"), i, check)
    {
        if (strcmp(json_string_value(json_object_get(check, "name")), name) == 0)
            return check;
    }
    fail_msg("no check %s", name);
    return NULL;
}

/* Red, and only for this reason. */
static void assert_red(const char *name)
{
    AUTO_ANSWER answer = {0};
    size_t i;
    json_t *check;
    service_get(&service, &answer, "/readyz");
    assert_int_equal(answer.status, 503);
    assert_string_equal(answer_text(&answer, "status"), "not ready");
    json_array_foreach(json_object_get(answer.json, "checks"), i, check)
    {
        bool is_it = strcmp(json_string_value(json_object_get(check, "name")), name) == 0;
        assert_true(json_is_true(json_object_get(check, "ok")) == !is_it);
        assert_true(json_is_string(json_object_get(check, "reason")) == is_it);
    }
    assert_false(json_is_true(json_object_get(check_named(&answer, name), "ok")));
}

static void assert_green(const char *path)
{
    AUTO_ANSWER answer = {0};
    service_get(&service, &answer, path);
    assert_int_equal(answer.status, 200);
}

static void all_is_well_at_first(void **state)
{
    (void)state;
    static const char *const names[] = {
        "database", "keys", "ingestion", "ledgers", "grants", "accounts", "funds", "disk"};
    AUTO_ANSWER answer = {0};
    service_get(&service, &answer, "/readyz");
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer_text(&answer, "status"), "ready");
    assert_int_equal(json_array_size(json_object_get(answer.json, "checks")), ARRAY_LEN(names));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_true(json_is_true(json_object_get(check_named(&answer, names[i]), "ok")));
    assert_green("/livez");
    assert_green("/health");
}

static void DO5_ingestion_that_is_not_well_is_told_without_its_words(void **state)
{
    (void)state;
    AUTO_ANSWER answer = {0};
    service.ingestion_says = (struct detail){"http://user:secret@rpc says no"};
    service.ingestion_well = false;
    assert_red("ingestion");
    service_get(&service, &answer, "/health");
    assert_int_equal(answer.status, 503);
    AUTO_FREE char *text = json_dumps(answer.json, 0);
    assert_null(strstr(text, "secret"));
    service.ingestion_well = true;
    assert_green("/readyz");
}

static void DO5_a_clock_far_from_the_last_close_time_is_red_in_either_direction(void **state)
{
    (void)state;
    test_db_exec(&service.db, "UPDATE fairway.cursor SET close_time = close_time - 34");
    assert_green("/readyz");
    test_db_exec(&service.db, "UPDATE fairway.cursor SET close_time = close_time - 10");
    assert_red("ledgers");
    test_db_exec(&service.db, "UPDATE fairway.cursor SET close_time = close_time + 84");
    assert_red("ledgers");
    service_reset(&service);
    assert_green("/readyz");
}

static void DO5_suspended_grants_are_red(void **state)
{
    (void)state;
    AUTO_ANSWER answer = {0};
    test_db_exec(
        &service.db, "UPDATE fairway.cursor SET grants_allowed = false, grants_reason = 'for operators'");
    assert_red("grants");
    service_get(&service, &answer, "/readyz");
    AUTO_FREE char *text = json_dumps(answer.json, 0);
    assert_null(strstr(text, "operators"));
}

static void DO5_DR10_held_grants_are_red_and_say_why(void **state)
{
    (void)state;
    AUTO_ANSWER answer = {0};
    test_db_exec(
        &service.db, "UPDATE fairway.cursor SET held_until = close_time + 9, hold_reason = 'for operators'");
    assert_red("grants");
    service_get(&service, &answer, "/readyz");
    const char *reason = json_string_value(json_object_get(check_named(&answer, "grants"), "reason"));
    assert_non_null(strstr(reason, "failed over"));
    assert_null(strstr(reason, "operators"));
    test_db_exec(&service.db, "UPDATE fairway.cursor SET held_until = NULL, hold_reason = NULL");
    assert_green("/readyz");
    test_db_exec(&service.db, "UPDATE fairway.cursor SET timeline = timeline + 1");
    assert_red("grants");
    test_db_exec(&service.db, "UPDATE fairway.cursor SET timeline = timeline - 1");
}

static void DO5_G2_a_pool_without_an_active_account_is_red_and_one_that_is_leased_is_not(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        AUTO_ANSWER answer = {0};
        post(&answer);
        assert_int_equal(answer.status, 201);
    }
    assert_green("/readyz");
    test_db_exec(&service.db, "UPDATE fairway.channel_accounts SET state = 'retiring'");
    assert_red("accounts");
}

static const char *warning(const char *name)
{
    static char text[200];
    AUTO_ANSWER answer = {0};
    service_get(&service, &answer, "/readyz");
    const char *said = json_string_value(json_object_get(check_named(&answer, name), "warning"));
    snprintf(text, sizeof text, "%s", said == NULL ? "" : said);
    assert_true(json_is_true(json_object_get(check_named(&answer, name), "ok")));
    return text;
}

static void DO5_a_distribution_account_that_runs_low_is_a_warning_and_an_empty_one_is_red(void **state)
{
    (void)state;
    assert_non_null(strstr(warning("funds"), "not known"));
    service_set_spendable(&service, 1000 * SERVICE_PAYMENT);
    assert_string_equal(warning("funds"), "");
    service_set_spendable(&service, 1000 * SERVICE_PAYMENT - 1);
    assert_non_null(strstr(warning("funds"), "low"));
    assert_green("/readyz");
    service_set_spendable(&service, 100 * SERVICE_PAYMENT - 1);
    assert_red("funds");
    service_set_spendable(&service, 100 * SERVICE_PAYMENT);
    assert_green("/readyz");
}

static void below_the_floor_a_lease_is_503_before_it_takes_an_account(void **state)
{
    (void)state;
    AUTO_ANSWER refused = {0}, granted = {0};
    service_set_spendable(&service, 100 * SERVICE_PAYMENT - 1);
    post(&refused);
    assert_answer_refused(&refused, 503, "DISTRIBUTION_ACCOUNT_UNDERFUNDED");
    assert_non_null(strstr(answer_text(&refused, "detail"), "fund"));
    assert_string_equal(answer_header(&refused, "Retry-After"), "30");
    assert_int_equal(service_leases(&service), 0);
    assert_int_equal(service_leased_accounts(&service), 0);
    service_set_spendable(&service, 100 * SERVICE_PAYMENT);
    post(&granted);
    assert_int_equal(granted.status, 201);
}

static void set_standby_names(const char *names)
{
    AUTO_FREE char *sql = mem_format("ALTER SYSTEM SET synchronous_standby_names = '%s'", names);
    test_db_exec(&service.db, sql);
    test_db_exec(&service.db, "SELECT pg_reload_conf()");
    AUTO_FREE char *set =
        mem_format("SELECT (current_setting('synchronous_standby_names') = '%s')::int::int8", names);
    for (int64_t end = clock_ms() + PATIENCE_MS; test_db_number(&service.db, set) != 1; clock_sleep_ms(20))
        assert_int_not_equal(clock_left_ms(end), 0);
}

static void DR10_synchronous_failover_without_a_synchronous_standby_is_a_warning(void **state)
{
    (void)state;
    service.synchronous_failover = true;
    service_restart_api(&service, &service_limits);
    assert_non_null(strstr(warning("standby"), "no synchronous standby"));
    assert_green("/readyz");
    set_standby_names("somebody");
    assert_string_equal(warning("standby"), "");
    set_standby_names("");
    assert_non_null(strstr(warning("standby"), "no synchronous standby"));
    service.synchronous_failover = false;
    service_restart_api(&service, &service_limits);
}

static void await_ready(void)
{
    for (int64_t end = clock_ms() + PATIENCE_MS;; clock_sleep_ms(20)) {
        AUTO_ANSWER answer = {0};
        service_get(&service, &answer, "/readyz");
        if (answer.status == 200)
            return;
        if (clock_left_ms(end) == 0)
            fail_msg("not ready again");
    }
}

static void DX7_without_the_database_all_is_503_but_the_process_lives_and_recovers(void **state)
{
    (void)state;
    static const char *const paths[] = {"/v1/pool", "/v1/channel-accounts",
        "/v1/transactions/0000000000000000000000000000000000000000000000000000000000000000"};
    AUTO_ANSWER refused = {0}, ready = {0}, granted = {0};
    test_pg_kill();
    post(&refused);
    assert_answer_refused(&refused, 503, "DATABASE_UNAVAILABLE");
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        AUTO_ANSWER answer = {0};
        service_get(&service, &answer, paths[i]);
        assert_answer_refused(&answer, 503, "DATABASE_UNAVAILABLE");
    }
    service_get(&service, &ready, "/readyz");
    assert_int_equal(ready.status, 503);
    assert_false(json_is_true(json_object_get(check_named(&ready, "database"), "ok")));
    assert_true(json_is_true(json_object_get(check_named(&ready, "keys"), "ok")));
    assert_green("/livez");
    test_pg_restart();
    await_ready();
    post(&granted);
    assert_int_equal(granted.status, 201);
    assert_int_equal(service_leases(&service), 1);
}

/* Who waits through an outage gets the truth after it, not the last that was known. */
static void DX7_a_wait_outlives_an_outage_and_ends_with_the_truth(void **state)
{
    (void)state;
    AUTO_ANSWER leased = {0}, answer = {0};
    post(&leased);
    AUTO_FREE char *path = mem_format("/v1/transactions/%s?wait=20", answer_text(&leased, "hash"));
    const struct hash hash = answer_hash(&leased, "hash");
    int waiting = service_say(&service, "GET", path, NULL);
    clock_sleep_ms(200);
    test_pg_kill();
    clock_sleep_ms(500);
    test_pg_restart();
    await_ready();
    service_include(&service, &hash, NULL, 0);
    service_hear(waiting, &answer);
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer_text(&answer, "status"), "confirmed");
}

static void DX7_a_wait_that_ends_in_an_outage_does_not_say_pending(void **state)
{
    (void)state;
    AUTO_ANSWER leased = {0}, answer = {0};
    post(&leased);
    AUTO_FREE char *path = mem_format("/v1/transactions/%s?wait=2", answer_text(&leased, "hash"));
    int waiting = service_say(&service, "GET", path, NULL);
    clock_sleep_ms(200);
    test_pg_kill();
    service_hear(waiting, &answer);
    test_pg_restart();
    await_ready();
    assert_answer_refused(&answer, 503, "DATABASE_UNAVAILABLE");
}

static void fee_bump(struct answer *answer, const struct answer *leased)
{
    service_post(&service, answer, "/v1/fee-bumps",
        json_pack("{s:s}", "transactionXdr", answer_text(leased, "transactionXdr")));
}

/* Last: nothing brings the key process back but a new start. */
static void without_the_key_process_nothing_is_signed_and_the_owner_is_told(void **state)
{
    (void)state;
    AUTO_ANSWER leased = {0}, bumped = {0}, refused = {0}, live = {0};
    struct sample sample = SAMPLE;
    add_invoke(&sample, NO_SOURCE, 0, 0, NULL);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    service_post(&service, &leased, "/v1/transactions", service_body(buf_bytes(&sample.xdr)));
    sample_wipe(&sample);
    assert_int_equal(leased.status, 201);
    assert_int_equal(syscall(SYS_pidfd_send_signal, keyd_pidfd(service.keyd), SIGKILL, NULL, 0), 0);
    fee_bump(&bumped, &leased);
    assert_answer_refused(&bumped, 503, "SIGNER_UNAVAILABLE");
    struct pollfd lost = {.fd = keyd_lost_fd(service.keyd), .events = POLLIN};
    assert_int_equal(poll(&lost, 1, 0), 1);
    post(&refused);
    assert_answer_refused(&refused, 503, "SIGNER_UNAVAILABLE");
    assert_int_equal(service_leases(&service), 1);
    assert_int_equal(service_number(&service, "SELECT count(*) FROM fairway.fee_bumps"), 0);
    assert_red("keys");
    service_get(&service, &live, "/livez");
    assert_int_equal(live.status, 503);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, reset)
    const struct CMUnitTest tests[] = {
        TEST(all_is_well_at_first),
        TEST(DO5_ingestion_that_is_not_well_is_told_without_its_words),
        TEST(DO5_a_clock_far_from_the_last_close_time_is_red_in_either_direction),
        TEST(DO5_suspended_grants_are_red),
        TEST(DO5_DR10_held_grants_are_red_and_say_why),
        TEST(DO5_G2_a_pool_without_an_active_account_is_red_and_one_that_is_leased_is_not),
        TEST(DO5_a_distribution_account_that_runs_low_is_a_warning_and_an_empty_one_is_red),
        TEST(below_the_floor_a_lease_is_503_before_it_takes_an_account),
        TEST(DR10_synchronous_failover_without_a_synchronous_standby_is_a_warning),
        TEST(DX7_without_the_database_all_is_503_but_the_process_lives_and_recovers),
        TEST(DX7_a_wait_outlives_an_outage_and_ends_with_the_truth),
        TEST(DX7_a_wait_that_ends_in_an_outage_does_not_say_pending),
        TEST(without_the_key_process_nothing_is_signed_and_the_owner_is_told),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
