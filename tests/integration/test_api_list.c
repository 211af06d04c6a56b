/* GET /v1/transactions and GET /v1/info: the ends of a client's leases by a cursor, and what it must know. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/version.h"
#include "support/fixture.h"
#include "slowness.h"

static struct hash lease(void)
{
    AUTO_RESPONSE response = {0};
    fixture_post_payment(&response);
    return response_hash(&response, "hash");
}

static struct hash lease_and_end(int32_t code)
{
    struct hash hash = lease();
    service_include(&service, &hash, NULL, code);
    return hash;
}

static void list(struct response *response, const char *query)
{
    AUTO_FREE char *path = mem_format("/v1/transactions%s", query);
    service_get(&service, response, path);
}

static void list_after(struct response *response, const char *cursor, const char *more)
{
    AUTO_FREE char *query = mem_format("?after=%s%s", cursor, more);
    list(response, query);
    assert_int_equal(response->status, 200);
}

static const json_t *item(const struct response *response, size_t i)
{
    return json_array_get(json_object_get(response->json, "transactions"), i);
}

static void assert_items(const struct response *response, const struct hash hashes[], size_t count)
{
    assert_int_equal(json_array_size(json_object_get(response->json, "transactions")), count);
    for (size_t i = 0; i < count; i++) {
        char text[HASH_HEX_SIZE];
        hash_encode(&hashes[i], text);
        assert_string_equal(json_string_value(json_object_get(item(response, i), "hash")), text);
    }
}

TEST(an_item_is_what_the_status_of_its_transaction_says)
{
    static const char *const members[] = {"transactions", "next", NULL};
    AUTO_RESPONSE response = {0}, status = {0};
    const struct hash ended = lease_and_end(-1);
    lease();
    list(&response, "");
    assert_json_members(response.json, members);
    assert_items(&response, &ended, 1);
    AUTO_FREE char *path =
        mem_format("/v1/transactions/%s", json_string_value(json_object_get(item(&response, 0), "hash")));
    service_get(&service, &status, path);
    assert_true(json_equal(item(&response, 0), status.json));
}

TEST(pages_follow_each_other_in_the_order_of_the_ends)
{
    AUTO_RESPONSE first = {0}, second = {0}, third = {0}, now = {0};
    const struct hash hashes[] = {lease_and_end(0), lease_and_end(-1), lease_and_end(0)};
    list(&first, "?limit=2");
    assert_items(&first, hashes, 2);
    list_after(&second, response_text(&first, "next"), "&limit=2");
    assert_items(&second, &hashes[2], 1);
    service_close_ledger(&service);
    list_after(&third, response_text(&second, "next"), "");
    assert_items(&third, NULL, 0);
    AUTO_FREE char *cursor = mem_format(
        "%" PRId64, LEASE_ENDS(test_db_number(&service.db, "SELECT sequence FROM fairway.cursor")));
    assert_string_equal(response_text(&third, "next"), cursor);
    list(&now, "?after=now&wait=60");
    assert_items(&now, NULL, 0);
    assert_string_equal(response_text(&now, "next"), cursor);
}

TEST(another_clients_leases_are_never_listed)
{
    AUTO_RESPONSE response = {0};
    lease_and_end(0);
    test_db_exec(&service.db, TEST_UNCHECKED("UPDATE fairway.lease_results SET client = 'somebody'"));
    list(&response, "?after=0");
    assert_items(&response, NULL, 0);
}

TEST(what_is_not_a_cursor_a_limit_or_a_wait_is_refused)
{
    static const char *const wrong[] = {"after=x", "after=", "after=-", "after=-1", "after=01", "after=1.5",
        "after=1%20", "after=NOW", "after=4000000000000000000", "after=111111111111111111111111111111",
        "limit=0", "limit=1001", "limit=x", "after=now&limit=0", "wait=61", "wait=x", "affter=0"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_RESPONSE response = {0};
        AUTO_FREE char *query = mem_format("?%s", wrong[i]);
        list(&response, query);
        assert_refused(&response, 400, "INVALID_REQUEST");
    }
}

/* A failover may have lost the ledger that a cursor names. */
TEST(a_cursor_from_before_what_is_kept_is_gone_and_one_far_after_the_last_ledger_is_wrong)
{
    const int64_t tip = test_db_number(&service.db, "SELECT sequence FROM fairway.cursor");
    const struct {
        int64_t after;
        int status;
    } cases[] = {{LEASE_ENDS((int64_t)900) - 1, 410}, {LEASE_ENDS((int64_t)900), 200}, {0, 200},
        {LEASE_ENDS(tip + 3), 200}, {LEASE_ENDS(tip + 100) + 1, 400}};
    struct response responses[ARRAY_LEN(cases)] = {0};
    test_db_exec(&service.db, "INSERT INTO fairway.dropped_ends (ended_ledger) VALUES (900)");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *query = mem_format("?after=%" PRId64, cases[i].after);
        list(&responses[i], query);
    }
    test_db_exec(&service.db, "DELETE FROM fairway.dropped_ends");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(responses[i].status, cases[i].status);
    assert_refused(&responses[0], 410, "CURSOR_TOO_OLD");
    AUTO_FREE char *waits = mem_format("%" PRId64, cases[3].after); /* for the ledgers that were lost */
    assert_string_equal(response_text(&responses[3], "next"), waits);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        response_wipe(&responses[i]);
}

/* A ledger that ends nothing of this client's ends no wait. */
TEST(a_wait_ends_with_its_time)
{
    AUTO_RESPONSE now = {0}, response = {0};
    list(&now, "?after=now");
    const int64_t begun_ms = clock_ms();
    AUTO_FREE char *query = mem_format("/v1/transactions?wait=3&after=%s", response_text(&now, "next"));
    int fd = service_send(&service, "GET", query, NULL);
    clock_sleep_ms(300);
    service_close_ledger(&service);
    test_db_exec(&service.db, "NOTIFY fairway_pool");
    service_receive(fd, &response);
    assert_in_range(clock_ms() - begun_ms, 3000, slower(4000));
    assert_int_equal(response.status, 200);
    assert_items(&response, NULL, 0);
    assert_string_not_equal(response_text(&response, "next"), response_text(&now, "next"));
}

TEST(a_wait_ends_at_once_when_a_lease_ends)
{
    AUTO_RESPONSE now = {0}, response = {0};
    const struct hash hash = lease();
    list(&now, "?after=now");
    AUTO_FREE char *query = mem_format("/v1/transactions?wait=60&after=%s", response_text(&now, "next"));
    int fd = service_send(&service, "GET", query, NULL);
    clock_sleep_ms(300);
    const int64_t begun_ms = clock_ms();
    service_include(&service, &hash, NULL, 0);
    service_receive(fd, &response);
    assert_in_range(clock_ms() - begun_ms, 0, slower(900));
    assert_items(&response, &hash, 1);
}

TEST(info_says_what_a_client_must_know)
{
    static const char *const members[] = {"networkPassphrase", "distributionAccount", "protocol",
        "newestProtocol", "version", "baseFee", "maxFee", "client", NULL};
    AUTO_RESPONSE response = {0};
    char address[ADDRESS_SIZE];
    address_encode(&service.distribution, address);
    test_db_exec(&service.db, "UPDATE fairway.ledgers SET protocol = 28");
    service_get(&service, &response, "/v1/info");
    assert_int_equal(response.status, 200);
    assert_json_members(response.json, members);
    assert_string_equal(response_text(&response, "networkPassphrase"), SERVICE_PASSPHRASE);
    assert_string_equal(response_text(&response, "distributionAccount"), address);
    assert_string_equal(response_text(&response, "version"), FAIRWAY_VERSION);
    assert_string_equal(response_text(&response, "baseFee"), "10000");
    assert_string_equal(response_text(&response, "maxFee"), "1000000");
    assert_int_equal(json_integer_value(json_object_get(response.json, "newestProtocol")), PROTOCOL_KNOWN);
    assert_int_equal(json_integer_value(json_object_get(response.json, "protocol")), 28);
    const json_t *limits = json_object_get(json_object_get(response.json, "client"), "limits");
    assert_int_equal(json_integer_value(json_object_get(limits, "feeBumps")), 50);
    assert_int_equal(json_object_size(limits), 1);
}

TEST_FIXTURE(fixture_reset, NULL)
GROUP_FIXTURE(fixture_start, fixture_stop)
