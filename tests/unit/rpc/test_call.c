/* Rules of call.h: which responses are accepted, and what an error means. */
#include "fake_rpc.h"

#include <sys/mman.h>

#include "base/metric.h"

static struct detail detail;

/* Calls getNetwork: all methods read their responses by the same rules. */
static enum err ask(struct fake_rpc *fake)
{
    struct rpc_network network;
    memset(&detail, 0, sizeof detail);
    enum err e = rpc_network(fake->rpc, &network, &detail);
    rpc_network_free(&network);
    return e;
}

#define NETWORK "{\"passphrase\":\"p\",\"protocolVersion\":28}"

FAKE_TEST(a_malformed_json_rpc_response_is_unavailable)
{
    struct fake_rpc *fake = *state;
    static const char *const bodies[] = {
        "",
        "<html>502</html>",
        "null",
        "[]",
        "[" FAKE_RESULT(NETWORK) "]",
        "{\"jsonrpc\":\"2.0\",\"id\":$id}",
        FAKE_RESULT("null"),
        FAKE_RESULT("[]"),
        FAKE_RESULT("\"text\""),
        FAKE_RESULT(NETWORK) "x",
        "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"passphrase\":\"p\",\"protocolVersion\":28}",
        "{\"id\":$id,\"result\":{\"passphrase\":\"a\\u0000b\",\"protocolVersion\":28}}",
        "{\"id\":$id,\"result\":{\"passphrase\":\"\xff\",\"protocolVersion\":28}}",
        "{\"id\":$id,\"result\":{\"passphrase\":\"p\",\"protocolVersion\":99999999999999999999999}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        fake_says(fake, bodies[i]);
        assert_int_equal(ask(fake), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "getNetwork: "));
    }
    fake_says(fake, FAKE_RESULT(NETWORK)); /* the same, well formed */
    assert_int_equal(ask(fake), ERR_OK);
}

FAKE_TEST(duplicate_members_are_refused)
{
    struct fake_rpc *fake = *state;
    fake_says(fake, FAKE_RESULT("{\"passphrase\":\"p\",\"passphrase\":\"q\",\"protocolVersion\":28}"));
    assert_int_equal(ask(fake), ERR_RPC_UNAVAILABLE);
}

FAKE_TEST(deep_nesting_is_refused)
{
    struct fake_rpc *fake = *state;
    AUTO_FREE char *deep = NEW_ARRAY(50001, char);
    memset(deep, '[', 50000);
    fake_says(fake, deep);
    assert_int_equal(ask(fake), ERR_RPC_UNAVAILABLE);
}

FAKE_TEST(limits_are_checked_before_the_response_is_read)
{
    struct fake_rpc *fake = *state;
    fake_says(fake, "{\"id\":\"$id\",\"result\":{\"a\":[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]}}");
    assert_int_equal(ask(fake), ERR_RPC_UNAVAILABLE);
    assert_non_null(strstr(detail.text, "nested more than 16 levels deep"));
}

/* The first address is a port that nobody listens on. */
FAKE_TEST(a_call_fails_over_to_the_next_address_and_stays_there)
{
    struct fake_rpc *fake = *state;
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    struct rpc_network network;
    getsockname(fake->listener, (struct sockaddr *)&address, &len);
    AUTO_FREE char *url =
        mem_format(" http://127.0.0.1:1/ , http://127.0.0.1:%u/rpc,", ntohs(address.sin_port));
    assert_int_equal(rpc_address_count(url), 2);
    fake_says(fake, FAKE_RESULT(NETWORK));
    struct rpc *rpc = rpc_new(&(struct rpc_settings){.url = url});
    assert_int_equal(rpc->last, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rpc_network(rpc, &network, &detail), ERR_OK);
        assert_int_equal(rpc->last, 2);
        rpc_network_free(&network);
    }
    rpc_free(rpc);
    rpc = rpc_new(&(struct rpc_settings){.url = url, .only = 1});
    assert_int_equal(rpc_network(rpc, &network, &detail), ERR_RPC_UNAVAILABLE);
    rpc_free(rpc);
    rpc = rpc_new(&(struct rpc_settings){.url = url, .only = 2});
    assert_int_equal(rpc->last, 2);
    assert_int_equal(rpc_network(rpc, &network, &detail), ERR_OK);
    rpc_network_free(&network);
    rpc_free(rpc);
}

TEST(calls_without_end_do_not_fill_the_log_while_no_address_answers)
{
    enum {
        CALLS = 100,
        LOG_SIZE = 1 << 18
    };
    struct rpc_network network;
    AUTO_FREE char *log = NEW_ARRAY(LOG_SIZE, char);
    struct rpc *rpc = rpc_new(&(struct rpc_settings){.url = "http://127.0.0.1:1/,http://127.0.0.1:2/"});
    const int64_t begun_ms = clock_ms();
    const int real_stderr = dup(STDERR_FILENO), log_file = memfd_create("log", MFD_CLOEXEC);
    dup2(log_file, STDERR_FILENO);
    for (int i = 0; i < CALLS; i++)
        assert_int_equal(rpc_network(rpc, &network, &detail), ERR_RPC_UNAVAILABLE);
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    rpc_free(rpc);
    assert_true(pread(log_file, log, LOG_SIZE - 1, 0) > 0);
    close(log_file);
    int64_t lines = 0;
    for (const char *at = log; (at = strstr(at, "trying the next one of RPC_URL")) != NULL; at++)
        lines++;
    assert_in_range(lines, 10, 20 * (2 + (clock_ms() - begun_ms) / 10000));
}

static unsigned port_of(const struct fake_rpc *fake)
{
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    assert_int_equal(getsockname(fake->listener, (struct sockaddr *)&address, &len), 0);
    return ntohs(address.sin_port);
}

/* Every call of simulations, signers and commands: without that, one broken RPC is asked for ever. */
FAKE_TEST(a_call_fails_over_from_an_rpc_that_answers_with_errors)
{
    struct fake_rpc *first = *state;
    static const struct fake_reply errors[] = {{.body = FAKE_ERROR(-32603, "m")},
        {.status = 402, .body = FAKE_ERROR(7, "quota")}, {.status = 400, .body = FAKE_ERROR(-32600, "m")},
        {.status = 503, .body = ""}};
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        void *started;
        struct rpc_network network;
        const struct public_key key = {{1}};
        struct account_entry account;
        uint32_t ledger;
        fake_start(&started);
        struct fake_rpc *second = started;
        AUTO_FREE char *url =
            mem_format("http://127.0.0.1:%u/,http://127.0.0.1:%u/", port_of(first), port_of(second));
        fake_set_reply(first, 0, errors[i]);
        fake_set_reply(second, 0, (struct fake_reply){.method = "getNetwork", .body = FAKE_RESULT(NETWORK)});
        fake_set_reply(second, 1,
            (struct fake_reply){
                .method = "getLedgerEntries", .body = FAKE_RESULT("{\"entries\":[],\"latestLedger\":9}")});
        struct rpc *rpc = rpc_new(&(struct rpc_settings){.url = url});
        assert_int_equal(rpc_network(rpc, &network, &detail), ERR_OK);
        assert_int_equal(rpc->last, 2);
        rpc_network_free(&network);
        rpc_free(rpc);
        rpc = rpc_new(&(struct rpc_settings){.url = url});
        assert_int_equal(rpc_accounts(rpc, &key, 1, &account, &ledger, &detail), ERR_OK); /* after retries */
        assert_int_equal(ledger, 9);
        rpc_free(rpc);
        fake_stop(&started);
    }
}

/* A refusal of the request would be the same elsewhere. */
static int64_t calls(unsigned rpc, unsigned result)
{
    return metric_read(METRIC_RPC_CALLS, rpc - 1,
        METRIC_PAIR(metric_label_find(METRIC_METHOD, "getNetwork"), result, RESULT));
}

/* Each call once, at the address that it was made to, by what came of it. */
FAKE_TEST(calls_are_counted_by_address_and_result)
{
    struct fake_rpc *fake = *state;
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    struct rpc_network network;
    getsockname(fake->listener, (struct sockaddr *)&address, &len);
    AUTO_FREE char *url = mem_format("http://127.0.0.1:1,http://127.0.0.1:%u", ntohs(address.sin_port));
    struct rpc *rpc = rpc_new(&(struct rpc_settings){.url = url});
    const int64_t failed = calls(1, METRIC_CALL_FAILED), ok = calls(2, METRIC_CALL_OK),
                  error = calls(2, METRIC_CALL_ERROR), malformed = calls(2, METRIC_CALL_FAILED);
    fake_says(fake, FAKE_RESULT(NETWORK));
    assert_int_equal(rpc_network(rpc, &network, &detail), ERR_OK);
    rpc_network_free(&network);
    rpc_free(rpc);
    rpc = rpc_new(&(struct rpc_settings){.url = url, .only = 2});
    fake_says(fake, FAKE_ERROR(-32602, "m"));
    assert_int_equal(rpc_network(rpc, &network, &detail), ERR_RPC_REFUSED);
    fake_says(fake, "[]");
    assert_int_equal(rpc_network(rpc, &network, &detail), ERR_RPC_UNAVAILABLE);
    rpc_free(rpc);
    assert_int_equal(calls(1, METRIC_CALL_FAILED), failed + 1);
    assert_int_equal(calls(2, METRIC_CALL_OK), ok + 1);
    assert_int_equal(calls(2, METRIC_CALL_ERROR), error + 1);
    assert_int_equal(calls(2, METRIC_CALL_FAILED), malformed + 1);
}

FAKE_TEST(a_call_that_is_refused_with_http_200_does_not_fail_over)
{
    struct fake_rpc *fake = *state;
    struct rpc_network network;
    AUTO_FREE char *url = mem_format("http://127.0.0.1:%u/,http://127.0.0.1:1/", port_of(fake));
    AUTO_RPC rpc = rpc_new(&(struct rpc_settings){.url = url});
    fake_says(fake, FAKE_ERROR(-32602, "m"));
    assert_int_equal(rpc_network(rpc, &network, &detail), ERR_RPC_REFUSED);
    assert_int_equal(rpc->last, 1);
}

/* One that has used up its quota is no reason to let clients simulate less at the others. */
TEST(what_an_avoided_address_refuses_is_scarce_only_when_all_are_avoided)
{
    AUTO_RPC rpc = rpc_new(&(struct rpc_settings){.url = "http://127.0.0.1:1/,http://127.0.0.1:2/"});
    address_forget();
    assert_false(rpc_is_scarce(rpc));
    address_note(rpc->addresses[1], ADDRESS_REFUSES, clock_ms(), 0);
    assert_true(rpc_is_scarce(rpc));
    atomic_store(&rpc->addresses[1]->avoided, true);
    assert_false(rpc_is_scarce(rpc));
    atomic_store(&rpc->addresses[0]->avoided, true);
    assert_true(rpc_is_scarce(rpc));
    atomic_store(&rpc->addresses[0]->avoided, false);
    atomic_store(&rpc->addresses[1]->avoided, false);
    address_forget();
}

TEST(addresses_are_counted_and_compared)
{
    assert_int_equal(rpc_address_count(" a , b,, c\t"), 3);
    assert_int_equal(rpc_address_count("1,2,3,4,5,6,7,8,9"), 9);
    assert_int_equal(rpc_address_count(","), 0);
    static const char url[] = "https://a/,https://b, https://a ,https://b/x,https://b//";
    static const bool repeats[] = {false, false, true, false, true};
    for (unsigned i = 0; i < ARRAY_LEN(repeats); i++)
        assert_int_equal(rpc_address_repeats(url, i + 1), repeats[i]);
}

FAKE_TEST(plain_http_beyond_this_host_is_recognized)
{
    static const char *const plain[] = {"http://rpc.example", "https://a.example,http://b.example/x",
        "http://localhost.example", "http://127.0.0.1.example:80", "http://10.0.0.1:8000",
        "http://localhost:key@a.example"},
                             *const others[] = {"https://a.example", "http://localhost:8000/rpc",
                                 "http://127.0.0.1", "https://a.example, http://[::1]:1/",
                                 "http://user:key@127.0.0.1:8000", ""};
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        assert_true(rpc_is_plain(plain[i]));
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_false(rpc_is_plain(others[i]));
}

TEST(the_origin_of_an_address_has_no_password_and_no_key)
{
    static const char *const origins[][2] = {
        {"https://rpc.example", "https://rpc.example"},
        {"https://user:secret@rpc.example:8000/key/secret?key=secret#secret", "https://rpc.example:8000"},
        {"http://secret@[::1]:8000/secret", "http://[::1]:8000"},
        {"http://user:sec/ret@rpc.example/", "an address"}, /* the host would be user, the port sec */
        {"secret", "an address"},
        {"", "an address"},
    };
    for (size_t i = 0; i < ARRAY_LEN(origins); i++) {
        AUTO_FREE char *origin = rpc_origin(origins[i][0], 1);
        assert_string_equal(origin, origins[i][1]);
    }
    AUTO_FREE char *second = rpc_origin("http://one/secret, https://u:secret@two/ ,http://three", 2);
    assert_string_equal(second, "https://two");
    AUTO_FREE char *third = rpc_origin("http://one/secret, https://u:secret@two/ ,http://three", 3);
    assert_string_equal(third, "http://three");
}

FAKE_TEST(a_response_must_have_the_id_of_the_request)
{
    struct fake_rpc *fake = *state;
    static const char *const bodies[] = {
        "{\"result\":" NETWORK "}",
        "{\"id\":null,\"result\":" NETWORK "}",
        "{\"id\":0,\"result\":" NETWORK "}",
        "{\"id\":$id5,\"result\":" NETWORK "}",
        "{\"id\":-1,\"result\":" NETWORK "}",
        "{\"id\":{},\"result\":" NETWORK "}",
        "{\"id\":\"x\",\"result\":" NETWORK "}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        fake_says(fake, bodies[i]);
        assert_int_equal(ask(fake), ERR_RPC_UNAVAILABLE);
    }
    fake_says(fake, "{\"id\":\"$id\",\"result\":" NETWORK "}"); /* some gateways turn numbers into strings */
    assert_int_equal(ask(fake), ERR_OK);
}

FAKE_TEST(ids_differ_from_call_to_call)
{
    struct fake_rpc *fake = *state;
    fake_says(fake, "{\"id\":1,\"result\":" NETWORK "}");
    assert_int_equal(ask(fake), ERR_OK);
    assert_int_equal(ask(fake), ERR_RPC_UNAVAILABLE); /* a response with the id of the first request */
}

FAKE_TEST(a_request_error_is_refused_and_a_server_error_is_unavailable)
{
    struct fake_rpc *fake = *state;
    static const char *const refused[] = {FAKE_ERROR(-32600, "m"), FAKE_ERROR(-32601, "m"),
        FAKE_ERROR(-32602, "m"), FAKE_ERROR(-32700, "m"), FAKE_ERROR(1, "m"), FAKE_ERROR(-31999, "m"),
        FAKE_ERROR(-32100, "m")};
    static const char *const unavailable[] = {FAKE_ERROR(-32603, "m"), FAKE_ERROR(-32000, "m"),
        FAKE_ERROR(-32001, "m"), FAKE_ERROR(-32003, "m"), FAKE_ERROR(-32098, "m"), FAKE_ERROR(-32099, "m")};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        fake_says(fake, refused[i]);
        assert_int_equal(ask(fake), ERR_RPC_REFUSED);
    }
    for (size_t i = 0; i < ARRAY_LEN(unavailable); i++) {
        fake_says(fake, unavailable[i]);
        assert_int_equal(ask(fake), ERR_RPC_UNAVAILABLE);
    }
    fake_says(fake, FAKE_ERROR(-32602, "bad \\n \\\"limit\\\""));
    assert_int_equal(ask(fake), ERR_RPC_REFUSED);
    assert_string_equal(detail.text, "getNetwork: error -32602 bad ' 'limit'");
}

FAKE_TEST(an_error_may_have_no_id)
{
    struct fake_rpc *fake = *state;
    fake_says(fake, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"parse\"}}");
    assert_int_equal(ask(fake), ERR_RPC_REFUSED);
    fake_says(fake, "{\"jsonrpc\":\"2.0\",\"error\":{}}"); /* without any member */
    assert_int_equal(ask(fake), ERR_RPC_REFUSED);
    fake_says(fake, "{\"jsonrpc\":\"2.0\",\"id\":77,\"error\":{\"code\":-32602,\"message\":\"other\"}}");
    assert_int_equal(ask(fake), ERR_RPC_UNAVAILABLE); /* it is to another request */
}

FAKE_TEST(http_errors_are_unavailable_whatever_the_body)
{
    struct fake_rpc *fake = *state;
    static const int statuses[] = {201, 204, 301, 400, 401, 403, 404, 415, 429, 500, 502, 503, 504};
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        AUTO_FREE char *number = mem_format("HTTP status %d", statuses[i]);
        fake_set_reply(fake, 0,
            (struct fake_reply){
                .status = statuses[i], .body = statuses[i] == 204 ? "" : FAKE_RESULT(NETWORK)});
        assert_int_equal(ask(fake), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, number));
    }
}

FAKE_TEST(a_json_rpc_error_with_a_4xx_status_is_read)
{
    struct fake_rpc *fake = *state;
    fake_set_reply(fake, 0, (struct fake_reply){.status = 400, .body = FAKE_ERROR(-32602, "limit")});
    assert_int_equal(ask(fake), ERR_RPC_REFUSED);
    /* but not when the status says "too many" */
    fake_set_reply(fake, 0, (struct fake_reply){.status = 429, .body = FAKE_ERROR(-32602, "limit")});
    assert_int_equal(ask(fake), ERR_RPC_UNAVAILABLE);
}
