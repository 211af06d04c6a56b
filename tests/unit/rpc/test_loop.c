/* Rules of loop.h: limits of time and size, no redirects or proxies, shares, and the end of all calls. */
#include "fake_rpc.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop.h"
#include "slowness.h"

static const char healthy[] = FAKE_RESULT("{\"passphrase\":\"Test SDF Network ; September 2015\"}");

static struct detail detail;

static enum err ask(struct rpc *rpc)
{
    struct rpc_network network CLEANUP(rpc_network_free) = {0};
    memset(&detail, 0, sizeof detail);
    return rpc_network(rpc, &network, &detail);
}

FAKE_TEST(a_request_is_a_json_post_with_our_name)
{
    struct fake_rpc *fake = *state;
    fake_says(fake, healthy);
    assert_int_equal(ask(fake->rpc), ERR_OK);
    assert_true(fake_heard(fake, "POST /rpc HTTP/1.1\r\n"));
    assert_true(fake_heard(fake, "Content-Type: application/json\r\n"));
    assert_true(fake_heard(fake, "User-Agent: fairway\r\n"));
    assert_true(fake_heard(fake, "\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getNetwork\"}"));
}

FAKE_TEST(one_connection_serves_many_calls)
{
    struct fake_rpc *fake = *state;
    fake_says(fake, healthy);
    for (int i = 0; i < 5; i++)
        assert_int_equal(ask(fake->rpc), ERR_OK);
    assert_int_equal(fake_requests(fake), 5);
    pthread_mutex_lock(&fake->lock);
    assert_int_equal(fake->connections, 1);
    pthread_mutex_unlock(&fake->lock);
}

FAKE_TEST(a_closed_connection_is_unavailable_and_the_next_call_reconnects)
{
    struct fake_rpc *fake = *state;
    fake_set_reply(fake, 0, (struct fake_reply){.manner = FAKE_HANGS_UP});
    assert_int_equal(ask(fake->rpc), ERR_RPC_UNAVAILABLE);
    fake_says(fake, healthy);
    assert_int_equal(ask(fake->rpc), ERR_OK);
}

FAKE_TEST(a_refused_connection_is_unavailable)
{
    AUTO_RPC rpc = rpc_new(&(struct rpc_settings){.url = "http://127.0.0.1:1/"});
    assert_int_equal(ask(rpc), ERR_RPC_UNAVAILABLE);
    assert_non_null(strstr(detail.text, "getNetwork: "));
}

FAKE_TEST(a_slow_server_is_unavailable_after_the_timeout)
{
    struct fake_rpc *fake = *state;
    static const enum fake_manner manners[] = {FAKE_SILENT, FAKE_TRICKLES};
    AUTO_FREE char *url = fake_url(fake);
    AUTO_RPC rpc = rpc_new(&(struct rpc_settings){.url = url, .timeout_ms = 400});
    for (size_t i = 0; i < ARRAY_LEN(manners); i++) {
        fake_set_reply(fake, 0,
            (struct fake_reply){
                .header = "X-Long: 0123456789012345678901234567890123456789\r\n", .manner = manners[i]});
        int64_t start_ms = clock_ms();
        assert_int_equal(ask(rpc), ERR_RPC_UNAVAILABLE);
        assert_in_range(clock_ms() - start_ms, 350, slower(1300));
    }
}

FAKE_TEST(a_body_over_the_limit_ends_the_transfer)
{
    struct fake_rpc *fake = *state;
    static const enum fake_manner manners[] = {FAKE_ENDLESS, FAKE_BOASTS};
    for (size_t i = 0; i < ARRAY_LEN(manners); i++) {
        fake_set_reply(fake, 0, (struct fake_reply){.manner = manners[i]});
        assert_int_equal(ask(fake->rpc), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "larger than 65536 bytes"));
    }
}

FAKE_TEST(a_body_of_just_the_limit_is_read)
{
    struct fake_rpc *fake = *state;
    static const char start[] = FAKE_RESULT("{\"passphrase\":\"p\"}");
    AUTO_FREE char *body = mem_format("%s%*s", start, (int)(FAKE_MAX_BODY - strlen(start) + 2), "");
    fake_says(fake, body); /* "$id" becomes one digit */
    assert_int_equal(ask(fake->rpc), ERR_OK);
    AUTO_FREE char *longer = mem_format("%s ", body);
    fake_says(fake, longer);
    assert_int_equal(ask(fake->rpc), ERR_RPC_UNAVAILABLE);
}

FAKE_TEST(redirects_are_not_followed)
{
    struct fake_rpc *fake = *state;
    fake_set_reply(fake, 0, (struct fake_reply){.status = 307, .header = "Location: /elsewhere\r\n"});
    assert_int_equal(ask(fake->rpc), ERR_RPC_UNAVAILABLE);
    assert_non_null(strstr(detail.text, "307"));
    assert_int_equal(fake_requests(fake), 1);
}

FAKE_TEST(proxies_of_the_environment_are_ignored)
{
    struct fake_rpc *fake = *state;
    fake_says(fake, healthy);
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("all_proxy", "http://127.0.0.1:1", 1);
    struct rpc *rpc = fake_client(fake);
    assert_int_equal(ask(rpc), ERR_OK);
    rpc_free(rpc);
    unsetenv("http_proxy");
    unsetenv("all_proxy");
}

FAKE_TEST(only_http_and_https_urls_are_used)
{
    static const char *const urls[] = {
        "", "file:///etc/hostname", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "http://"};
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        AUTO_RPC rpc = rpc_new(&(struct rpc_settings){.url = urls[i]});
        assert_int_equal(ask(rpc), ERR_CONFIG);
    }
}

FAKE_TEST(no_detail_contains_the_url)
{
    static const char *const urls[] = {"http://user:s3cret@127.0.0.1:1/s3cret?key=s3cret",
        "http://127.0.0.1:s3cret/", "s3cret://127.0.0.1/"};
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        AUTO_RPC rpc = rpc_new(&(struct rpc_settings){.url = urls[i]});
        assert_int_not_equal(ask(rpc), ERR_OK);
        assert_null(strstr(detail.text, "s3cret"));
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

static void *cancel_later(void *rpc)
{
    clock_sleep_ms(50);
    rpc_cancel(rpc);
    return NULL;
}

FAKE_TEST(cancel_ends_a_call_at_once)
{
    struct fake_rpc *fake = *state;
    pthread_t thread;
    AUTO_RPC rpc = fake_client(fake);
    fake_says(fake, healthy);
    assert_int_equal(ask(rpc), ERR_OK);
    fake_set_reply(fake, 0, (struct fake_reply){.manner = FAKE_SILENT});
    int64_t start_ms = clock_ms();
    assert_int_equal(pthread_create(&thread, NULL, cancel_later, rpc), 0);
    assert_int_equal(ask(rpc), ERR_CANCELLED);
    assert_in_range(clock_ms() - start_ms, 40, FAKE_TIMEOUT_MS / 2);
    pthread_join(thread, NULL);
    fake_says(fake, healthy);
    assert_int_equal(ask(rpc), ERR_CANCELLED); /* and all later ones */
}

/* ---- shares */

/* Of a listener that accepts and never answers, so that transfers stay open. */
static struct address *silent_address(int *listener)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    *listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(*listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(*listener, 512), 0);
    assert_int_equal(getsockname(*listener, (struct sockaddr *)&address, &len), 0);
    AUTO_FREE char *url = mem_format("http://127.0.0.1:%d/", ntohs(address.sin_port));
    return address_of(url);
}

#define SIMULATED 64 /* of one address at a time */
#define ALL 128

static atomic_bool cancelled, gone;
static atomic_uint ended;

static void note_end(struct loop_transfer *transfer)
{
    buf_free(&transfer->body);
    atomic_fetch_add(&ended, 1);
}

static void hand_over(struct loop_transfer *transfer, struct address *address, enum rpc_class class,
    const char *client, int begin_ms)
{
    *transfer = (struct loop_transfer){.item = {.client = client, .deadline_ms = clock_ms() + begin_ms},
        .address = address,
        .class = class,
        .json = "{}",
        .max_body = 100,
        .timeout_ms = FAKE_TIMEOUT_MS,
        .cancelled = &cancelled,
        .gone = &gone,
        .done = note_end};
    loop_run(transfer);
}

static void await_ended(unsigned count)
{
    for (const int64_t end_ms = clock_ms() + FAKE_TIMEOUT_MS; atomic_load(&ended) < count;) {
        assert_true(clock_left_ms(end_ms) > 0);
        clock_sleep_ms(5);
    }
    assert_int_equal(atomic_load(&ended), count);
}

static void cancel_all(unsigned count)
{
    atomic_store(&cancelled, true);
    loop_look();
    await_ended(count);
    atomic_store(&cancelled, false);
    atomic_store(&ended, 0);
}

static size_t begun_of(const struct loop_transfer transfers[], size_t count)
{
    size_t begun = 0;
    for (size_t i = 0; i < count; i++)
        begun += transfers[i].begun_ms != 0;
    return begun;
}

/* Otherwise ingestion, requests and the end of the process wait for the resolver. */
FAKE_TEST(DX7_a_name_server_that_does_not_answer_delays_nothing_beyond_the_timeout)
{
    int64_t begun_ms = clock_ms();
    struct loop_transfer *others AUTO_FREE = NEW_ARRAY(ALL, struct loop_transfer);
    struct rpc *rpc = rpc_new(&(struct rpc_settings){.url = "http://silent.invalid/", .timeout_ms = 300});
    assert_int_equal(ask(rpc), ERR_RPC_UNAVAILABLE);
    assert_in_range(clock_ms() - begun_ms, 299, NO_ANSWER_MS / 2);
    rpc_cancel(rpc);
    begun_ms = clock_ms();
    assert_int_equal(ask(rpc), ERR_CANCELLED);
    rpc_free(rpc);
    assert_in_range(clock_ms() - begun_ms, 0, NO_ANSWER_MS / 2);
    for (size_t i = 0; i < ALL; i++)
        hand_over(&others[i], address_of("http://silent.invalid"), RPC_SENDS, NULL, FAKE_TIMEOUT_MS);
    clock_sleep_ms(200);
    assert_int_equal(atomic_load(&resolving), 2); /* and not a thread for each */
    fake_says(*state, healthy);
    AUTO_FREE char *url = fake_url(*state), *both = mem_format("http://silent.invalid,%s", url);
    rpc = rpc_new(&(struct rpc_settings){.url = both, .wait_ms = 100});
    assert_int_equal(ask(rpc), ERR_OK);
    rpc_free(rpc);
    cancel_all(ALL);
    while (atomic_load(&resolving) > 0) /* libcurl's threads end before the process does */
        clock_sleep_ms(10);
    clock_sleep_ms(100);
}

/* Otherwise what clients ask for delays ledgers and sends. */
TEST(simulations_get_half_of_an_address_and_ledgers_all_of_it)
{
    int listener;
    struct address *address = silent_address(&listener);
    struct loop_transfer *simulations AUTO_FREE = NEW_ARRAY(ALL, struct loop_transfer),
                                      *ledgers AUTO_FREE = NEW_ARRAY(64, struct loop_transfer);
    for (size_t i = 0; i < ALL; i++)
        hand_over(&simulations[i], address, RPC_SIMULATIONS, NULL, 300);
    await_ended(ALL - SIMULATED); /* those that did not begin in time */
    for (size_t i = 0; i < 64; i++)
        hand_over(&ledgers[i], address, RPC_LEDGERS, NULL, FAKE_TIMEOUT_MS);
    clock_sleep_ms(200);
    cancel_all(ALL + 64);
    assert_int_equal(begun_of(simulations, ALL), SIMULATED);
    assert_int_equal(begun_of(ledgers, 64), 64);
    size_t late = 0;
    for (size_t i = 0; i < ALL; i++)
        late += simulations[i].e == ERR_OVERLOADED;
    assert_int_equal(late, ALL - SIMULATED);
    close(listener);
}

/* Also both together: simulations, and reads of signers. */
TEST(what_clients_ask_for_never_has_all_of_an_address)
{
    int listener;
    struct address *address = silent_address(&listener);
    struct loop_transfer *reads AUTO_FREE = NEW_ARRAY(ALL, struct loop_transfer),
                                *simulations AUTO_FREE = NEW_ARRAY(ALL, struct loop_transfer),
                                *sends AUTO_FREE = NEW_ARRAY(ALL, struct loop_transfer), ledger;
    for (size_t i = 0; i < ALL; i++) {
        hand_over(&reads[i], address, RPC_READS, NULL, FAKE_TIMEOUT_MS);
        hand_over(&simulations[i], address, RPC_SIMULATIONS, NULL, FAKE_TIMEOUT_MS);
    }
    clock_sleep_ms(200);
    for (size_t i = 0; i < ALL; i++)
        hand_over(&sends[i], address, RPC_SENDS, NULL, FAKE_TIMEOUT_MS);
    clock_sleep_ms(200);
    hand_over(&ledger, address, RPC_LEDGERS, NULL, FAKE_TIMEOUT_MS);
    clock_sleep_ms(200);
    cancel_all(3 * ALL + 1);
    assert_true(begun_of(sends, ALL) > 0);
    assert_int_equal(begun_of(&ledger, 1), 1);
    close(listener);
}

/* One that floods it has half of the queue, and no more turns than another. */
TEST(clients_take_turns)
{
    int listener;
    struct address *address = silent_address(&listener);
    struct loop_transfer *greedy AUTO_FREE = NEW_ARRAY(200, struct loop_transfer),
                                 *modest = NEW(struct loop_transfer);
    for (size_t i = 0; i < 200; i++)
        hand_over(&greedy[i], address, RPC_SIMULATIONS, "greedy", FAKE_TIMEOUT_MS);
    clock_sleep_ms(200);
    hand_over(modest, address, RPC_SIMULATIONS, "modest", FAKE_TIMEOUT_MS);
    clock_sleep_ms(200);
    const unsigned refused = atomic_load(&ended);
    cancel_all(201);
    assert_in_range(refused, 200 - SIMULATED - 64, 200 - 64);
    assert_int_equal(modest->e, ERR_CANCELLED);
    free(modest);
    close(listener);
}

TEST(nobody_waits_for_one_whose_client_has_left)
{
    int listener;
    struct address *address = silent_address(&listener);
    struct loop_transfer *transfers AUTO_FREE = NEW_ARRAY(ALL, struct loop_transfer);
    for (size_t i = 0; i < ALL; i++)
        hand_over(&transfers[i], address, RPC_SIMULATIONS, NULL, FAKE_TIMEOUT_MS);
    clock_sleep_ms(200);
    assert_int_equal(atomic_load(&ended), 0);
    atomic_store(&gone, true);
    await_ended(ALL - SIMULATED); /* those that have begun go on */
    atomic_store(&gone, false);
    cancel_all(ALL);
    for (size_t i = 0; i < ALL; i++)
        assert_int_equal(transfers[i].e, ERR_CANCELLED);
    close(listener);
}

FAKE_TEST(a_transfer_does_not_begin_before_its_time)
{
    struct fake_rpc *fake = *state;
    AUTO_FREE char *url = fake_url(fake);
    struct loop_transfer transfer = {.item = {.deadline_ms = INT64_MAX},
        .address = address_of(url),
        .class = RPC_READS,
        .json = "{}",
        .max_body = 100,
        .not_before_ms = clock_ms() + 200,
        .timeout_ms = FAKE_TIMEOUT_MS,
        .cancelled = &cancelled,
        .done = note_end};
    fake_says(fake, "{}");
    loop_run(&transfer);
    await_ended(1);
    atomic_store(&ended, 0);
    assert_true(transfer.begun_ms >= transfer.not_before_ms);
    assert_int_equal(transfer.e, ERR_OK);
}

FAKE_TEST(what_an_answer_says_of_a_retry_is_told)
{
    struct fake_rpc *fake = *state;
    AUTO_FREE char *url = fake_url(fake);
    const time_t then = time(NULL) + 100;
    char date[80];
    struct tm utc;
    strftime(date, sizeof date, "Retry-After: %a, %d %b %Y %H:%M:%S GMT\r\n", gmtime_r(&then, &utc));
    const char *const headers[] = {"Retry-After: 30\r\n", date, "Retry-After: soon\r\n"};
    static const unsigned told[][2] = {{30, 30}, {60, 100}, {0, 0}};
    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        struct loop_transfer transfer;
        fake_set_reply(fake, 0, (struct fake_reply){.status = 429, .header = headers[i]});
        hand_over(&transfer, address_of(url), RPC_READS, NULL, FAKE_TIMEOUT_MS);
        await_ended(1);
        atomic_store(&ended, 0);
        assert_int_equal(transfer.status, 429);
        assert_in_range(transfer.retry_after_s, told[i][0], told[i][1]);
    }
}
