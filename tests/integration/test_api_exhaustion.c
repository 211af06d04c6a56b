/* POST /v1/transactions when every account is leased: who waits, who gets the next one, who leaves (G1, DL7).
 */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/service.h"
#include "unit/stellar/sample.h"
#include "slowness.h"

#define ACCOUNTS 2
#define PATH "/v1/transactions"

static struct service service;
static struct hash held[ACCOUNTS];

static int start(void **state)
{
    test_pg_start(state);
    service_start(&service, ACCOUNTS);
    return 0;
}

static int stop(void **state)
{
    service_stop(&service);
    return test_pg_stop(state);
}

static json_t *body(void)
{
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    json_t *object = service_body(buf_bytes(&sample.xdr));
    sample_wipe(&sample);
    return object;
}

static void await_waiting(size_t count, int within_ms)
{
    for (int64_t end = clock_ms() + within_ms; engine_waiting(service.engine) != count; clock_sleep_ms(2))
        if (clock_left_ms(end) == 0)
            fail_msg("%zu wait, not %zu", engine_waiting(service.engine), count);
}

static int all_leased(void **state)
{
    (void)state;
    service_reset(&service);
    for (size_t i = 0; i < ACCOUNTS; i++) {
        AUTO_ANSWER answer = {0};
        service_post(&service, &answer, PATH, body());
        assert_int_equal(answer.status, 201);
        held[i] = answer_hash(&answer, "hash");
    }
    return 0;
}

static void G1_T2_nobody_waits_longer_than_six_seconds(void **state)
{
    (void)state;
    AUTO_ANSWER answer = {0};
    int64_t begun_ms = clock_ms();
    service_post(&service, &answer, PATH, body());
    assert_in_range(clock_ms() - begun_ms, ENGINE_WAIT_MS, slower(ENGINE_WAIT_MS + 1000));
    assert_answer_refused(&answer, 503, "CHANNEL_ACCOUNT_UNAVAILABLE");
    assert_string_equal(answer_header(&answer, "Retry-After"), "5");
    assert_int_equal(service_leases(&service), ACCOUNTS);
}

/* A slow poll would take up to a second. */
static void DL7_the_ledger_that_releases_an_account_answers_who_waits(void **state)
{
    (void)state;
    AUTO_ANSWER answer = {0};
    int waiting = service_say(&service, "POST", PATH, body());
    await_waiting(1, 2000);
    service_include(&service, &held[0], NULL, 0);
    int64_t committed_ms = clock_ms();
    service_hear(waiting, &answer);
    assert_int_equal(answer.status, 201);
    int took_ms = (int)(clock_ms() - committed_ms);
    print_message("from the ledger's commit to the next lease: %d ms\n", took_ms);
    assert_true(took_ms < 500);
}

static void DL7_who_came_first_is_answered_first(void **state)
{
    (void)state;
    AUTO_ANSWER first = {0}, second = {0};
    int one = service_say(&service, "POST", PATH, body());
    await_waiting(1, 2000);
    int other = service_say(&service, "POST", PATH, body());
    await_waiting(2, 2000);
    service_include(&service, &held[0], NULL, 0);
    service_hear(one, &first);
    assert_int_equal(first.status, 201);
    assert_int_equal(engine_waiting(service.engine), 1);
    service_include(&service, &held[1], NULL, -1);
    service_hear(other, &second);
    assert_int_equal(second.status, 201);
}

static void DL7_a_client_that_hangs_up_leaves_the_queue_and_takes_no_account(void **state)
{
    (void)state;
    close(service_say(&service, "POST", PATH, body()));
    int gone = service_say(&service, "POST", PATH, body());
    for (int64_t end = clock_ms() + 2000; engine_waiting(service.engine) == 0 && clock_left_ms(end) > 0;)
        clock_sleep_ms(2);
    close(gone);
    await_waiting(0, 500);
    service_include(&service, &held[0], NULL, 0);
    clock_sleep_ms(300);
    assert_int_equal(service_leases(&service), ACCOUNTS);
    assert_int_equal(service_leased_accounts(&service), ACCOUNTS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(G1_T2_nobody_waits_longer_than_six_seconds, all_leased),
        cmocka_unit_test_setup(DL7_the_ledger_that_releases_an_account_answers_who_waits, all_leased),
        cmocka_unit_test_setup(DL7_who_came_first_is_answered_first, all_leased),
        cmocka_unit_test_setup(DL7_a_client_that_hangs_up_leaves_the_queue_and_takes_no_account, all_leased),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
