/* POST /v1/transactions while every account is leased: requests wait, in order, until a ledger releases an
 * account or their client leaves (DL7). */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/metric.h"
#include "support/engine_waiting.h"
#include "support/fixture.h"
#include "slowness.h"

#define PATH "/v1/transactions"

static struct hash leases[FIXTURE_ACCOUNTS];

static void await_waiting(size_t count, int within_ms)
{
    for (int64_t end = clock_ms() + slower(within_ms); engine_waiting(service.engine) != count;
         clock_sleep_ms(2))
        if (clock_left_ms(end) == 0)
            fail_msg("%zu requests wait, not %zu", engine_waiting(service.engine), count);
}

static int all_leased(void **state)
{
    service_reset(&service);
    for (size_t i = 0; i < FIXTURE_ACCOUNTS; i++) {
        AUTO_RESPONSE response = {0};
        fixture_post_payment(&response);
        assert_int_equal(response.status, 201);
        leases[i] = response_hash(&response, "hash");
    }
    return 0;
}

TEST(no_request_waits_longer_than_six_seconds)
{
    AUTO_RESPONSE response = {0};
    const int64_t begun_ms = clock_ms(), waits = metric_read(METRIC_LEASE_WAIT, 0, 0);
    fixture_post_payment(&response);
    assert_int_equal(metric_read(METRIC_LEASE_WAIT, 0, 0), waits + 1);
    assert_in_range(clock_ms() - begun_ms, ENGINE_WAIT_MS, slower(ENGINE_WAIT_MS + 1000));
    assert_refused(&response, 503, "CHANNEL_ACCOUNT_UNAVAILABLE");
    assert_string_equal(response_header(&response, "Retry-After"), "5");
    assert_int_equal(service_leases(&service), FIXTURE_ACCOUNTS);
}

/* Only a notification ends the wait this soon: polling would take up to a second. */
TEST(DL7_the_ledger_that_releases_an_account_ends_the_wait)
{
    AUTO_RESPONSE response = {0};
    int waiting = service_send(&service, "POST", PATH, fixture_payment());
    await_waiting(1, 2000);
    service_include(&service, &leases[0], NULL, 0);
    int64_t committed_ms = clock_ms();
    service_receive(waiting, &response);
    assert_int_equal(response.status, 201);
    int took_ms = (int)(clock_ms() - committed_ms);
    print_message("from the ledger's commit to the next lease: %d ms\n", took_ms);
    assert_true(took_ms < slower(500));
}

TEST(DL7_the_first_request_gets_the_first_account)
{
    AUTO_RESPONSE first = {0}, second = {0};
    int one = service_send(&service, "POST", PATH, fixture_payment());
    await_waiting(1, 2000);
    int other = service_send(&service, "POST", PATH, fixture_payment());
    await_waiting(2, 2000);
    service_include(&service, &leases[0], NULL, 0);
    service_receive(one, &first);
    assert_int_equal(first.status, 201);
    await_waiting(1, 2000);
    service_include(&service, &leases[1], NULL, -1);
    service_receive(other, &second);
    assert_int_equal(second.status, 201);
}

static int64_t cancelled(void)
{
    return metric_read(METRIC_CLIENT_REQUESTS, METRIC_NO_CLIENT, ERR_CANCELLED);
}

TEST(DL7_a_client_that_hangs_up_leaves_the_queue_and_takes_no_account)
{
    const int64_t before = cancelled();
    int gone = service_send(&service, "POST", PATH, fixture_payment());
    await_waiting(1, 2000);
    close(gone);
    close(service_send(&service, "POST", PATH, fixture_payment())); /* leaves before it waits */
    for (int64_t end = clock_ms() + slower(2000); cancelled() != before + 2; clock_sleep_ms(2))
        if (clock_left_ms(end) == 0)
            fail_msg("%d requests were cancelled, not 2", (int)(cancelled() - before));
    assert_int_equal(engine_waiting(service.engine), 0);
    service_include(&service, &leases[0], NULL, 0);
    clock_sleep_ms(300);
    assert_int_equal(service_leases(&service), FIXTURE_ACCOUNTS);
    assert_int_equal(service_leased_accounts(&service), FIXTURE_ACCOUNTS - 1);
}

int main(void)
{
    return check_run(all_leased, NULL, fixture_start, fixture_stop);
}
