/* Rules of transport.h: limits of time and size, no redirects or proxies, cancel_fd. */
#include "fake_rpc.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "slowness.h"

static const char healthy[] =
    FAKE_RESULT("{\"status\":\"healthy\",\"latestLedger\":3730763,\"oldestLedger\":3609804}");

static struct detail detail;

static enum err ask(struct fake_rpc *fake)
{
    struct rpc_health health;
    memset(&detail, 0, sizeof detail);
    return rpc_health(fake->rpc, &health, &detail);
}

FAKE_TEST(a_request_is_a_json_post_with_our_name)
{
    struct fake_rpc *fake = *state;
    fake_says(fake, healthy);
    assert_int_equal(ask(fake), ERR_OK);
    assert_true(fake_heard(fake, "POST /rpc HTTP/1.1\r\n"));
    assert_true(fake_heard(fake, "Content-Type: application/json\r\n"));
    assert_true(fake_heard(fake, "User-Agent: fairway\r\n"));
    assert_true(fake_heard(fake, "\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getHealth\"}"));
}

FAKE_TEST(one_connection_serves_many_calls)
{
    struct fake_rpc *fake = *state;
    fake_says(fake, healthy);
    for (int i = 0; i < 5; i++)
        assert_int_equal(ask(fake), ERR_OK);
    assert_int_equal(fake_requests(fake), 5);
    pthread_mutex_lock(&fake->lock);
    assert_int_equal(fake->connections, 1);
    pthread_mutex_unlock(&fake->lock);
}

FAKE_TEST(a_closed_connection_is_unavailable_and_the_next_call_reconnects)
{
    struct fake_rpc *fake = *state;
    fake_set_reply(fake, 0, (struct fake_reply){.manner = FAKE_HANGS_UP});
    assert_int_equal(ask(fake), ERR_RPC_UNAVAILABLE);
    fake_says(fake, healthy);
    assert_int_equal(ask(fake), ERR_OK);
}

FAKE_TEST(a_refused_connection_is_unavailable)
{
    struct rpc_health health;
    struct rpc *rpc = rpc_new(&(struct rpc_settings){.url = "http://127.0.0.1:1/", .cancel_fd = -1});
    assert_int_equal(rpc_health(rpc, &health, &detail), ERR_RPC_UNAVAILABLE);
    assert_non_null(strstr(detail.text, "getHealth: "));
    rpc_free(rpc);
}

FAKE_TEST(a_slow_server_is_unavailable_after_the_timeout)
{
    struct fake_rpc *fake = *state;
    static const enum fake_manner manners[] = {FAKE_SILENT, FAKE_TRICKLES};
    AUTO_FREE char *url = fake_url(fake);
    struct rpc *rpc = rpc_new(&(struct rpc_settings){.url = url, .timeout_ms = 400, .cancel_fd = -1});
    for (size_t i = 0; i < ARRAY_LEN(manners); i++) {
        struct rpc_health health;
        fake_set_reply(fake, 0,
            (struct fake_reply){
                .header = "X-Long: 0123456789012345678901234567890123456789\r\n", .manner = manners[i]});
        int64_t start_ms = clock_ms();
        assert_int_equal(rpc_health(rpc, &health, &detail), ERR_RPC_UNAVAILABLE);
        assert_in_range(clock_ms() - start_ms, 350, slower(1300));
    }
    rpc_free(rpc);
}

FAKE_TEST(a_body_over_the_limit_ends_the_transfer)
{
    struct fake_rpc *fake = *state;
    static const enum fake_manner manners[] = {FAKE_ENDLESS, FAKE_BOASTS};
    for (size_t i = 0; i < ARRAY_LEN(manners); i++) {
        fake_set_reply(fake, 0, (struct fake_reply){.manner = manners[i]});
        assert_int_equal(ask(fake), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "larger than 50000 bytes"));
    }
}

FAKE_TEST(a_body_of_just_the_limit_is_read)
{
    struct fake_rpc *fake = *state;
    static const char start[] = FAKE_RESULT("{\"status\":\"healthy\",\"latestLedger\":2,\"oldestLedger\":1}");
    AUTO_FREE char *body = mem_format("%s%*s", start, (int)(FAKE_MAX_BODY - strlen(start) + 2), "");
    fake_says(fake, body); /* "$id" becomes one digit */
    assert_int_equal(ask(fake), ERR_OK);
    AUTO_FREE char *longer = mem_format("%s ", body);
    fake_says(fake, longer);
    assert_int_equal(ask(fake), ERR_RPC_UNAVAILABLE);
}

FAKE_TEST(redirects_are_not_followed)
{
    struct fake_rpc *fake = *state;
    fake_set_reply(fake, 0, (struct fake_reply){.status = 307, .header = "Location: /elsewhere\r\n"});
    assert_int_equal(ask(fake), ERR_RPC_UNAVAILABLE);
    assert_non_null(strstr(detail.text, "307"));
    assert_int_equal(fake_requests(fake), 1);
}

FAKE_TEST(proxies_of_the_environment_are_ignored)
{
    struct fake_rpc *fake = *state;
    fake_says(fake, healthy);
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("all_proxy", "http://127.0.0.1:1", 1);
    struct rpc *rpc = fake_client(fake, -1);
    struct rpc_health health;
    assert_int_equal(rpc_health(rpc, &health, NULL), ERR_OK);
    rpc_free(rpc);
    unsetenv("http_proxy");
    unsetenv("all_proxy");
}

FAKE_TEST(only_http_and_https_urls_are_used)
{
    static const char *const urls[] = {
        "", "file:///etc/hostname", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "http://"};
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct rpc_health health;
        struct rpc *rpc = rpc_new(&(struct rpc_settings){.url = urls[i], .cancel_fd = -1});
        assert_int_equal(rpc_health(rpc, &health, &detail), ERR_CONFIG);
        rpc_free(rpc);
    }
}

FAKE_TEST(no_detail_contains_the_url)
{
    static const char *const urls[] = {"http://user:s3cret@127.0.0.1:1/s3cret?key=s3cret",
        "http://127.0.0.1:s3cret/", "s3cret://127.0.0.1/"};
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct rpc_health health;
        struct rpc *rpc = rpc_new(&(struct rpc_settings){.url = urls[i], .cancel_fd = -1});
        assert_int_not_equal(rpc_health(rpc, &health, &detail), ERR_OK);
        assert_null(strstr(detail.text, "s3cret"));
        rpc_free(rpc);
    }
}

/* ---- a name server that does not answer */

#define NO_ANSWER_MS 8000

static atomic_uint resolving;

/* Called in place of glibc's, by libcurl's threads. */
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **addresses)
{
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        (__typeof__(next))dlsym(RTLD_NEXT, "getaddrinfo");
    if (strcmp(host, "silent.invalid") != 0)
        return next(host, port, hints, addresses);
    atomic_fetch_add(&resolving, 1);
    clock_sleep_ms(NO_ANSWER_MS);
    atomic_fetch_sub(&resolving, 1);
    return EAI_AGAIN;
}

/* Otherwise ingestion, requests and the end of the process wait for the resolver. */
FAKE_TEST(DX7_a_name_server_that_does_not_answer_delays_nothing_beyond_the_timeout)
{
    const int cancel_fd = eventfd(0, 0);
    int64_t begun_ms = clock_ms();
    struct rpc_health health;
    struct rpc *rpc = rpc_new(
        &(struct rpc_settings){.url = "http://silent.invalid/", .timeout_ms = 300, .cancel_fd = cancel_fd});
    assert_int_equal(rpc_health(rpc, &health, &detail), ERR_RPC_UNAVAILABLE);
    assert_in_range(clock_ms() - begun_ms, 299, NO_ANSWER_MS / 2);
    assert_int_equal(eventfd_write(cancel_fd, 1), 0);
    begun_ms = clock_ms();
    assert_int_equal(rpc_health(rpc, &health, &detail), ERR_CANCELLED);
    rpc_free(rpc);
    assert_in_range(clock_ms() - begun_ms, 0, NO_ANSWER_MS / 2);
    assert_true(atomic_load(&resolving) > 0);
    while (atomic_load(&resolving) > 0) /* libcurl's threads end before the process does */
        clock_sleep_ms(10);
    clock_sleep_ms(100);
    close(cancel_fd);
}

static void *close_later(void *context)
{
    clock_sleep_ms(50);
    close(*(int *)context);
    return NULL;
}

FAKE_TEST(cancel_ends_a_call_at_once)
{
    struct fake_rpc *fake = *state;
    int wake[2];
    pthread_t thread;
    struct rpc_health health;
    assert_int_equal(pipe(wake), 0);
    struct rpc *rpc = fake_client(fake, wake[0]);
    fake_says(fake, healthy);
    assert_int_equal(rpc_health(rpc, &health, NULL), ERR_OK);
    fake_set_reply(fake, 0, (struct fake_reply){.manner = FAKE_SILENT});
    int64_t start_ms = clock_ms();
    assert_int_equal(pthread_create(&thread, NULL, close_later, &wake[1]), 0);
    assert_int_equal(rpc_health(rpc, &health, NULL), ERR_CANCELLED);
    assert_in_range(clock_ms() - start_ms, 40, FAKE_TIMEOUT_MS / 2);
    pthread_join(thread, NULL);
    fake_says(fake, healthy);
    assert_int_equal(rpc_health(rpc, &health, NULL), ERR_CANCELLED); /* and all later ones */
    rpc_free(rpc);
    close(wake[0]);
}
