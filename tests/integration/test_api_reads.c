/* GET /v1/transactions/{hash}, /v1/pool and /v1/channel-accounts: what a client sees, and when. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "support/fixture.h"
#include "slowness.h"

#define TX_BAD_AUTH (-6)

static struct hash lease(void)
{
    AUTO_RESPONSE response = {0};
    struct sample sample CLEANUP(sample_wipe) = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    service_post(&service, &response, "/v1/transactions", service_body(buf_bytes(&sample.xdr)));
    return response_hash(&response, "hash");
}

static char *path_of(const struct hash *hash, const char *query)
{
    char text[HASH_HEX_SIZE];
    hash_encode(hash, text);
    return mem_format("/v1/transactions/%s%s", text, query);
}

static void get_transaction(struct response *response, const struct hash *hash, const char *query)
{
    AUTO_FREE char *path = path_of(hash, query);
    service_get(&service, response, path);
}

TEST(a_pending_transaction_has_no_ledger_yet)
{
    static const char *const members[] = {
        "hash", "status", "channelAccount", "sequence", "maxTime", "bids", NULL};
    AUTO_RESPONSE response = {0};
    struct hash hash = lease();
    get_transaction(&response, &hash, "");
    assert_int_equal(response.status, 200);
    assert_json_members(response.json, members);
    struct hash said = response_hash(&response, "hash");
    assert_true(hash_equal(&said, &hash));
    assert_string_equal(response_text(&response, "status"), "pending");
}

TEST(a_settled_transaction_has_ledger_close_time_and_result_code)
{
    static const char *const members[] = {"hash", "status", "channelAccount", "sequence", "maxTime", "ledger",
        "closedAt", "ledgerHash", "resultCode", "feeCharged", "operationResults", "resultXdr", NULL};
    static const struct {
        int32_t code;
        const char *status, *name;
    } cases[] = {
        {0, "confirmed", "txSUCCESS"}, {-1, "failed", "txFAILED"}, {TX_BAD_AUTH, "failed", "txBAD_AUTH"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_RESPONSE response = {0};
        struct hash hash = lease();
        service_include(&service, &hash, NULL, cases[i].code);
        get_transaction(&response, &hash, "?wait=60");
        assert_int_equal(response.status, 200);
        assert_json_members(response.json, members);
        assert_string_equal(response_text(&response, "status"), cases[i].status);
        assert_string_equal(response_text(&response, "resultCode"), cases[i].name);
        struct hash included = response_hash(&response, "ledgerHash");
        assert_true(hash_equal(&included, &hash));
        assert_int_equal(strtoll(response_text(&response, "feeCharged"), NULL, 10), SERVICE_FEE_CHARGED);
        assert_int_equal(json_integer_value(json_object_get(response.json, "ledger")),
            test_db_number(&service.db, "SELECT sequence FROM fairway.cursor"));
        assert_int_equal(strtoll(response_text(&response, "closedAt"), NULL, 10),
            test_db_number(&service.db, "SELECT close_time FROM fairway.cursor"));
    }
}

TEST(an_expired_transaction_has_a_ledger_but_no_result_code)
{
    static const char *const members[] = {
        "hash", "status", "channelAccount", "sequence", "maxTime", "ledger", "closedAt", NULL};
    AUTO_RESPONSE response = {0};
    struct hash hash = lease();
    test_db_exec(&service.db, TEST_CHANGE_LEASES("max_time = 1"));
    service_close_ledger(&service);
    get_transaction(&response, &hash, "");
    assert_json_members(response.json, members);
    assert_string_equal(response_text(&response, "status"), "expired");
}

TEST(a_fee_bumps_hash_finds_its_lease)
{
    AUTO_RESPONSE leased = {0}, bumped = {0}, pending = {0}, ended = {0};
    fixture_post_payment(&leased);
    fixture_bump(&bumped, &leased);
    struct hash inner = response_hash(&leased, "hash"), outer = response_hash(&bumped, "hash");
    get_transaction(&pending, &outer, "");
    assert_string_equal(response_text(&pending, "hash"), response_text(&leased, "hash"));
    assert_string_equal(response_text(&pending, "status"), "pending");
    const json_t *bids = json_object_get(pending.json, "bids"), *bid = json_array_get(bids, 0);
    assert_int_equal(json_array_size(bids), 1);
    assert_string_equal(json_string_value(json_object_get(bid, "hash")), response_text(&bumped, "hash"));
    assert_string_equal(json_string_value(json_object_get(bid, "fee")), response_text(&bumped, "fee"));
    service_include(&service, &inner, &outer, 0);
    get_transaction(&ended, &outer, "");
    assert_string_equal(response_text(&ended, "status"), "confirmed");
    assert_string_equal(response_text(&ended, "hash"), response_text(&leased, "hash"));
    assert_string_equal(response_text(&ended, "ledgerHash"), response_text(&bumped, "hash"));
    assert_null(json_object_get(ended.json, "bids"));
}

/* Posts a payment with this member; the text is JSON. */
static void post_with(struct response *response, const char *reference)
{
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    AUTO_FREE char *xdr = base64_encode(buf_bytes(&sample.xdr));
    sample_wipe(&sample);
    AUTO_FREE char *body = mem_format("{\"transactionXdr\":\"%s\",\"reference\":%s}", xdr, reference);
    service_post(&service, response, "/v1/transactions", json_loads(body, 0, NULL));
}

TEST(a_reference_is_1_to_255_bytes_not_unique_and_returned_with_its_lease)
{
    char longest[259];
    snprintf(longest, sizeof longest, "\"%0256d\"", 7);
    const char *const wrong[] = {"\"\"", "7", "[]", longest};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_RESPONSE refused = {0};
        post_with(&refused, wrong[i]);
        assert_refused(&refused, 400, "INVALID_REQUEST");
    }
    assert_int_equal(service_leases(&service), 0);
    snprintf(longest, sizeof longest, "\"%0255d\"", 7);
    const char *const right[] = {"\"caf\xc3\xa9 \\u263a\"", "\"caf\xc3\xa9 \\u263a\"", longest};
    for (size_t i = 0; i < ARRAY_LEN(right); i++) {
        AUTO_RESPONSE leased = {0}, read = {0};
        post_with(&leased, right[i]);
        assert_int_equal(leased.status, 201);
        const struct hash hash = response_hash(&leased, "hash");
        get_transaction(&read, &hash, "");
        assert_string_equal(response_text(&read, "reference"), response_text(&leased, "reference"));
        assert_int_equal(strlen(response_text(&read, "reference")), i == 2 ? 255 : 9);
    }
}

TEST(an_unknown_hash_is_404_at_once_also_with_wait)
{
    AUTO_RESPONSE response = {0};
    struct hash hash = {{1, 2, 3}};
    int64_t begun_ms = clock_ms();
    get_transaction(&response, &hash, "?wait=60");
    assert_refused(&response, 404, "TRANSACTION_NOT_FOUND");
    assert_true(clock_ms() - begun_ms < slower(2000));
}

TEST(DA8_another_clients_hash_is_unknown)
{
    AUTO_RESPONSE response = {0};
    struct hash hash = lease();
    test_db_exec(&service.db, TEST_CHANGE_LEASES("client = 'somebody'"));
    get_transaction(&response, &hash, "");
    assert_refused(&response, 404, "TRANSACTION_NOT_FOUND");
}

TEST(a_hash_is_64_hexadecimal_digits_of_either_case)
{
    static const char digits[] = "ABCDEFabcdef0123456789ABCDEFabcdef0123456789ABCDEFabcdef01234567";
    AUTO_RESPONSE well = {0};
    AUTO_FREE char *good = mem_format("/v1/transactions/%s", digits);
    service_get(&service, &well, good);
    assert_refused(&well, 404, "TRANSACTION_NOT_FOUND");
    static const char *const wrong[] = {"/v1/transactions/0", "/v1/transactions/%.63s",
        "/v1/transactions/%s0", "/v1/transactions/%.63sg", "/v1/transactions/0x%.62s",
        "/v1/transactions/%%20%.63s"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_RESPONSE response = {0};
        char path[200];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(path, sizeof path, wrong[i], digits);
#pragma GCC diagnostic pop
        service_get(&service, &response, path);
        assert_refused(&response, 400, "INVALID_HASH");
    }
}

TEST(wait_is_whole_seconds_from_0_to_60)
{
    static const char *const wrong[] = {"61", "-1", "1.5", "", "1s", "%201", "01", "18446744073709551617"};
    struct hash hash = lease();
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_RESPONSE response = {0};
        AUTO_FREE char *query = mem_format("?wait=%s", wrong[i]);
        get_transaction(&response, &hash, query);
        assert_refused(&response, 400, "INVALID_REQUEST");
    }
    AUTO_RESPONSE response = {0};
    get_transaction(&response, &hash, "?wait=0");
    assert_string_equal(response_text(&response, "status"), "pending");
}

TEST(wait_delays_a_pending_reply_until_its_time_is_over)
{
    AUTO_RESPONSE response = {0};
    struct hash hash = lease();
    int64_t begun_ms = clock_ms();
    get_transaction(&response, &hash, "?wait=1");
    assert_in_range(clock_ms() - begun_ms, 1000, slower(2000));
    assert_int_equal(response.status, 200);
    assert_string_equal(response_text(&response, "status"), "pending");
}

static json_int_t member(const struct response *response, const char *object, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(response->json, object), name));
}

TEST(the_pool_is_returned_as_counts_by_state)
{
    static const char *const members[] = {"accounts", "oldestLeaseSeconds", "cursor", "grants", NULL};
    static const char *const counts[] = {"idle", "leased", "creating", "retiring", "quarantined", NULL};
    static const char *const cursor[] = {"sequence", "closeTime", "lagSeconds", NULL};
    AUTO_RESPONSE response = {0};
    lease();
    test_db_exec(&service.db,
        TEST_UNCHECKED("UPDATE fairway.channel_accounts SET locked_at = locked_at - interval '100 s'"));
    service_get(&service, &response, "/v1/pool");
    assert_int_equal(response.status, 200);
    assert_json_members(response.json, members);
    assert_json_members(json_object_get(response.json, "accounts"), counts);
    assert_json_members(json_object_get(response.json, "cursor"), cursor);
    assert_int_equal(member(&response, "accounts", "idle"), FIXTURE_ACCOUNTS - 1);
    assert_int_equal(member(&response, "accounts", "leased"), 1);
    assert_in_range(json_integer_value(json_object_get(response.json, "oldestLeaseSeconds")), 100, 110);
    assert_int_equal(member(&response, "cursor", "sequence"),
        test_db_number(&service.db, "SELECT sequence FROM fairway.cursor"));
    assert_true(json_is_string(json_object_get(json_object_get(response.json, "cursor"), "closeTime")));
    assert_in_range(member(&response, "cursor", "lagSeconds"), 0, 10);
}

static const char *grants_text(const struct response *response, const char *name)
{
    const char *text = json_string_value(json_object_get(json_object_get(response->json, "grants"), name));
    return text == NULL ? "" : text;
}

static bool grants_allowed(const struct response *response)
{
    return json_is_true(json_object_get(json_object_get(response->json, "grants"), "allowed"));
}

TEST(DO5_the_pool_shows_whether_grants_are_allowed_and_if_not_the_reason_and_the_end)
{
    AUTO_RESPONSE allowed = {0}, on_hold = {0}, stopped = {0}, restored = {0};
    service_get(&service, &allowed, "/v1/pool");
    test_db_exec(&service.db,
        "UPDATE fairway.cursor SET held_until = 4102444800, hold_reason = 'the volume was copied'");
    service_get(&service, &on_hold, "/v1/pool");
    test_db_exec(&service.db, "UPDATE fairway.cursor SET held_until = NULL, hold_reason = NULL,"
                              " grants_allowed = false, grants_reason = 'the ledgers have a gap'");
    service_get(&service, &stopped, "/v1/pool");
    test_db_exec(&service.db,
        "UPDATE fairway.cursor SET grants_allowed = true, grants_reason = NULL, timeline = timeline + 1");
    service_get(&service, &restored, "/v1/pool");
    test_db_exec(&service.db, "UPDATE fairway.cursor SET timeline = timeline - 1");
    assert_true(grants_allowed(&allowed));
    assert_int_equal(json_object_size(json_object_get(allowed.json, "grants")), 1);
    assert_false(grants_allowed(&on_hold));
    assert_string_equal(grants_text(&on_hold, "reason"), "the volume was copied");
    assert_string_equal(grants_text(&on_hold, "onHoldUntil"), "4102444800");
    assert_false(grants_allowed(&stopped));
    assert_string_equal(grants_text(&stopped, "reason"), "the ledgers have a gap");
    assert_string_equal(grants_text(&stopped, "onHoldUntil"), "");
    assert_false(grants_allowed(&restored));
    assert_non_null(strstr(grants_text(&restored, "reason"), "the database was restored or failed over"));
}

TEST(before_the_first_ledger_the_cursor_is_null)
{
    AUTO_RESPONSE response = {0};
    test_db_exec(&service.db, "CREATE TABLE fairway.kept AS SELECT * FROM fairway.cursor;"
                              "DELETE FROM fairway.cursor");
    service_get(&service, &response, "/v1/pool");
    test_db_exec(
        &service.db, "INSERT INTO fairway.cursor SELECT * FROM fairway.kept; DROP TABLE fairway.kept");
    assert_int_equal(response.status, 200);
    assert_true(json_is_null(json_object_get(response.json, "cursor")));
}

TEST(pages_follow_each_other_to_the_end)
{
    for (int limit = 1; limit <= FIXTURE_ACCOUNTS + 1; limit++) {
        AUTO_FREE char *path = mem_format("/v1/channel-accounts?limit=%d", limit);
        char last[ADDRESS_SIZE] = "";
        int seen = 0, pages = 0;
        for (bool more = true; more; pages++) {
            AUTO_RESPONSE response = {0};
            size_t i;
            json_t *item;
            service_get(&service, &response, path);
            assert_int_equal(response.status, 200);
            json_array_foreach(json_object_get(response.json, "items"), i, item)
            {
                const char *key = json_string_value(json_object_get(item, "publicKey"));
                assert_true(strcmp(last, key) < 0);
                snprintf(last, sizeof last, "%s", key);
                seen++;
            }
            more = json_object_get(response.json, "next") != NULL;
            if (more)
                assert_string_equal(response_text(&response, "next"), last);
            mem_free_at(&path);
            path = mem_format("/v1/channel-accounts?limit=%d&after=%s", limit, last);
        }
        assert_int_equal(seen, FIXTURE_ACCOUNTS);
        assert_int_equal(pages, (FIXTURE_ACCOUNTS + limit - 1) / limit);
    }
}

TEST(an_account_shows_its_state_and_lease_and_never_its_seed)
{
    static const char *const leased[] = {"publicKey", "state", "sequence", "sequenceLedger", "lease", NULL};
    static const char *const quarantined[] = {
        "publicKey", "state", "reason", "sequence", "sequenceLedger", NULL};
    static const char *const of_lease[] = {"hash", "maxTime", NULL};
    AUTO_RESPONSE one = {0}, other = {0}, none = {0};
    char text[HASH_HEX_SIZE];
    struct hash hash = lease();
    hash_encode(&hash, text);
    service_get(&service, &one, "/v1/channel-accounts?state=leased");
    json_t *items = json_object_get(one.json, "items"), *item = json_array_get(items, 0);
    assert_int_equal(json_array_size(items), 1);
    assert_json_members(item, leased);
    assert_json_members(json_object_get(item, "lease"), of_lease);
    assert_string_equal(json_string_value(json_object_get(json_object_get(item, "lease"), "hash")), text);
    test_db_exec(&service.db, "UPDATE fairway.channel_accounts SET state = 'quarantined',"
                              " quarantine_reason = 'its signers changed' WHERE lease_hash IS NULL");
    service_get(&service, &other, "/v1/channel-accounts?state=quarantined&limit=1");
    item = json_array_get(json_object_get(other.json, "items"), 0);
    assert_json_members(item, quarantined);
    assert_string_equal(json_string_value(json_object_get(item, "reason")), "its signers changed");
    service_get(&service, &none, "/v1/channel-accounts?state=idle");
    assert_int_equal(json_array_size(json_object_get(none.json, "items")), 0);
    assert_null(json_object_get(none.json, "next"));
}

TEST(DA8_another_clients_lease_is_not_shown)
{
    static const char *const members[] = {"publicKey", "state", "sequence", "sequenceLedger", NULL};
    AUTO_RESPONSE response = {0};
    lease();
    test_db_exec(&service.db, TEST_CHANGE_LEASES("client = 'somebody'"));
    service_get(&service, &response, "/v1/channel-accounts?state=leased");
    json_t *items = json_object_get(response.json, "items"), *item = json_array_get(items, 0);
    assert_int_equal(json_array_size(items), 1);
    assert_json_members(item, members);
    assert_string_equal(json_string_value(json_object_get(item, "state")), "leased");
}

TEST(invalid_page_parameters_are_refused)
{
    static const char *const wrong[] = {"state=active", "state=", "state=IDLE", "limit=0", "limit=1001",
        "limit=-1", "limit=1.0", "limit=", "after=", "after=x",
        "after=GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_RESPONSE response = {0};
        AUTO_FREE char *path = mem_format("/v1/channel-accounts?%s", wrong[i]);
        service_get(&service, &response, path);
        assert_refused(&response, 400, "INVALID_REQUEST");
    }
    AUTO_RESPONSE response = {0};
    service_get(&service, &response, "/v1/channel-accounts?limit=1000");
    assert_int_equal(response.status, 200);
}

TEST_FIXTURE(fixture_reset, NULL)
GROUP_FIXTURE(fixture_start, fixture_stop)
