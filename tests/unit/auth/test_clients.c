/* Rules of src/auth/clients.h: how the clients are given, and what is refused. */
#include "check.h"

#include <sodium.h>
#include <string.h>

#include "auth/token_sign.h"
#include "base/mem.h"
#include "clients.h"

static char a[ADDRESS_SIZE], b[ADDRESS_SIZE];

static int set_up(void **state)
{
    char seed[ADDRESS_SIZE];
    token_key_new(seed, a);
    token_key_new(seed, b);
    return 0;
}

static enum err read(const char *list, const char *file, struct clients *out, struct detail *detail)
{
    const struct bytes text = {(const uint8_t *)file, file == NULL ? 0 : strlen(file)};
    return clients_read(list, file == NULL ? NULL : &text, out, detail);
}

static const char *name_of(const struct clients *clients, const char *address)
{
    struct public_key key;
    assert_int_equal(address_decode(address, &key), ERR_OK);
    const struct clients_client *client = clients_find(clients, &key);
    return client == NULL ? NULL : client->name;
}

TEST(every_key_of_the_list_is_a_client_of_its_own_name)
{
    struct clients clients;
    AUTO_FREE char *list = mem_format(" %s,\n%s,", a, b);
    assert_int_equal(read(list, NULL, &clients, NULL), ERR_OK);
    assert_int_equal(clients.count, 2);
    assert_string_equal(name_of(&clients, a), a);
    assert_string_equal(name_of(&clients, b), b);
    clients_wipe(&clients);
}

TEST(a_client_of_the_file_has_a_name_keys_and_scopes)
{
    struct clients clients;
    AUTO_FREE char *file = mem_format(
        "{\"wallet.eu_1\": {\"keys\": [\"%s\", \"%s\"], \"scopes\": [\"lease\", \"status\"]}}", a, b);
    assert_int_equal(read(NULL, file, &clients, NULL), ERR_OK);
    assert_int_equal(clients.count, 1);
    assert_string_equal(name_of(&clients, a), "wallet.eu_1");
    assert_string_equal(name_of(&clients, b), "wallet.eu_1");
    assert_int_equal(clients.list[0].scopes, AUTH_LEASE | AUTH_STATUS);
    clients_wipe(&clients);
}

TEST(a_client_of_the_file_may_have_limits)
{
    struct clients clients;
    AUTO_FREE char *file = mem_format(
        "{\"w\": {\"keys\": [\"%s\"], \"limits\": {\"openLeases\": 500, \"waits\": 3,"
        " \"requestsPerSecond\": 200, \"poolPercent\": 40, \"feeBumps\": 20, \"contractPercent\": 30,"
        " \"stroopsPerDay\": \"50000000000\"}}}",
        a);
    const struct limits wanted = {.most = {[LIMIT_OPEN_LEASES] = 500,
                                      [LIMIT_REQUESTS_PER_SECOND] = 200,
                                      [LIMIT_POOL_PERCENT] = 40,
                                      [LIMIT_CONTRACT_PERCENT] = 30,
                                      [LIMIT_WAITS] = 3,
                                      [LIMIT_FEE_BUMPS] = 20,
                                      [LIMIT_STROOPS_PER_DAY] = 50000000000}};
    assert_int_equal(read(b, file, &clients, NULL), ERR_OK);
    assert_memory_equal(&clients.list[1].limits, &wanted, sizeof wanted);
    const struct limits usual = {.most = {[LIMIT_FEE_BUMPS] = 50}};
    assert_memory_equal(&clients.list[0].limits, &usual, sizeof usual);
    clients_wipe(&clients);
    static const char *const bad[] = {"1", "{\"openLeases\": 0}", "{\"openLeases\": -1}",
        "{\"openLeases\": 1.5}", "{\"openLeases\": \"1\"}", "{\"openLeases\": null}", "{\"openLeases\": 1e3}",
        "{\"openLeases\": 1000001}", "{\"openLeases\": 9223372036854775807}", "{\"openLeases\": true}",
        "{\"waits\": []}", "{\"feeBumps\": 0}", "{\"OpenLeases\": 1}", "null", "[]",
        "{\"stroopsPerDay\": \"0\"}", "{\"stroopsPerDay\": \"-1\"}", "{\"stroopsPerDay\": \"1.5\"}",
        "{\"poolPercent\": 101}", "{\"contractPercent\": 101}", "{\"contractPercent\": 0}",
        "{\"requestsPerSecond\": 0}", "{\"requestsPerSecond\": 100001}", "{\"leases\": 1}",
        "{\"leasesPerSecond\": 1}", "{\"requestsInFlight\": 1}", "{\"\": 1}", "{\"stroopsPerDay\": 1}",
        "{\"stroopsPerDay\": \"9223372036854775808\"}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO_FREE char *text = mem_format("{\"w\": {\"keys\": [\"%s\"], \"limits\": %s}}", a, bad[i]);
        struct detail detail = {0};
        if (read(NULL, text, &clients, &detail) != ERR_CONFIG ||
            strstr(detail.text, "client w: limits: ") == NULL)
            fail_msg("%s: %s", bad[i], detail.text);
    }
}

TEST(list_and_file_add_up)
{
    struct clients clients;
    AUTO_FREE char *file = mem_format("{\"wallet\": {\"keys\": [\"%s\"]}}", b);
    assert_int_equal(read(a, file, &clients, NULL), ERR_OK);
    assert_string_equal(name_of(&clients, a), a);
    assert_string_equal(name_of(&clients, b), "wallet");
    assert_int_equal(clients.list[1].scopes, AUTH_ALL);
    clients_wipe(&clients);
}

TEST(what_is_no_client_is_refused_with_its_place)
{
    AUTO_FREE char *twice = mem_format("%s,%s", a, a);
    const struct {
        const char *list, *file, *says;
    } cases[] = {
        {twice, NULL, "given twice"},
        {"G", NULL, "not the public key"},
        {"SBU2RRGLXH3E5CQHTD3ODLDF2BWDCYUSSBLLZ5GNW7JXHDIYKXZWHXL7", NULL, "not the public key"},
        {NULL, "", "the file is not JSON: line 1"},
        {NULL, " \n ", "the file is not JSON: line 2"},
        {NULL, "[]", "not a JSON object of clients"},
        {NULL, "{\"x\": {\"keys\": [\"G", "the file is not JSON: line 1"},
        {NULL, "{} {}", "the file is not JSON: line 1"},
        {NULL, "{\"x\": null}", "members are keys, scopes and limits"},
        {NULL, "{\"x\": {}}", "keys must be a list"},
        {NULL, "{\"x\": []}", "members are keys, scopes and limits"},
        {NULL, "{\"x\": {\"keys\": []}}", "keys must be a list"},
        {NULL, "{\"x\": {\"keys\": \"G\"}}", "keys must be a list"},
        {NULL, "{\"x\": {\"keys\": [7]}}", "not the public key"},
        {NULL, "{\"x\": {\"keys\": [\"G\"], \"limit\": 1}}", "members are keys, scopes and limits"},
        {NULL, "{\"x\": {\"keys\": [\"G\"], \"scopes\": []}}", "at least one"},
        {NULL, "{\"x\": {\"keys\": [\"G\"], \"scopes\": \"lease\"}}", "at least one"},
        {NULL, "{\"x\": {\"keys\": [\"G\"], \"scopes\": [\"admin\"]}}", "a scope must be"},
        {NULL, "{\"x\": {\"keys\": [\"G\"]}, \"x\": {\"keys\": [\"G\"]}}", "duplicate object key"},
        {NULL, "{\"x\": {\"keys\": [\"G\"], \"\\u006beys\": [\"G\"]}}", "duplicate object key"},
        {NULL, "{\"x\": {\"keys\": [\"G\"]}, \"\\u0078\": {\"keys\": [\"G\"]}}", "duplicate object key"},
        {NULL, "{\"\": {\"keys\": [\"G\"]}}", "1 to 64 characters"},
        {NULL, "{\"a b\": {\"keys\": [\"G\"]}}", "1 to 64 characters"},
        {NULL, "{\"\u00e9\": {\"keys\": [\"G\"]}}", "1 to 64 characters"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct clients clients;
        struct detail detail = {0};
        assert_int_equal(read(cases[i].list, cases[i].file, &clients, &detail), ERR_CONFIG);
        if (strstr(detail.text, cases[i].says) == NULL)
            fail_msg("%zu: %s", i, detail.text);
        assert_null(clients.list);
    }
    AUTO_FREE char *file = mem_format("{\"x\": {\"keys\": [\"%s\"]}}", a);
    struct clients clients;
    assert_int_equal(read(a, file, &clients, NULL), ERR_CONFIG);
}

TEST(no_client_is_a_list_of_its_own)
{
    static const char *const lists[] = {NULL, "", " , ,"};
    struct clients clients;
    struct public_key key;
    assert_int_equal(address_decode(a, &key), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        assert_int_equal(read(lists[i], "{}", &clients, NULL), ERR_OK);
        assert_int_equal(clients.count + clients.key_count, 0);
        assert_null(clients_find(&clients, &key));
        clients_wipe(&clients);
    }
}

TEST(a_thousand_clients_with_two_keys_each_are_read)
{
    struct buf text CLEANUP(buf_free) = {0};
    struct clients clients;
    char last[ADDRESS_SIZE];
    buf_add(&text, "{", 1);
    for (int i = 0; i <= CLIENTS_MAX; i++) {
        char seed[ADDRESS_SIZE], one[ADDRESS_SIZE];
        token_key_new(seed, one);
        token_key_new(seed, last);
        AUTO_FREE char *client =
            mem_format("%s\"c%d\": {\"keys\": [\"%s\", \"%s\"], \"limits\": {\"openLeases\": %d}}",
                i == 0 ? "" : ",\n", i, one, last, i + 1);
        if (i == CLIENTS_MAX) {
            AUTO_FREE char *file = mem_format("%.*s}", (int)text.len, (const char *)text.data);
            assert_int_equal(read(NULL, file, &clients, NULL), ERR_OK);
            assert_int_equal(clients.count, CLIENTS_MAX);
            assert_int_equal(clients.key_count, 2 * CLIENTS_MAX);
            clients_wipe(&clients);
        }
        buf_add(&text, client, strlen(client));
    }
    struct detail detail = {0};
    AUTO_FREE char *file = mem_format("%.*s}", (int)text.len, (const char *)text.data);
    assert_int_equal(read(NULL, file, &clients, &detail), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "more than 1000 clients"));
}

TEST(a_key_of_two_clients_is_refused)
{
    struct clients clients;
    struct detail detail = {0};
    AUTO_FREE char *file = mem_format("{\"x\": {\"keys\": [\"%s\"]}, \"y\": {\"keys\": [\"%s\"]}}", b, b),
                   *both = mem_format("{\"x\": {\"keys\": [\"%s\"]}}", b);
    assert_int_equal(read(NULL, file, &clients, &detail), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "given twice"));
    assert_int_equal(read(b, both, &clients, &detail), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "given twice"));
}

/* A key in whose group others can sign: of small order, or with a part of small order. */
TEST(DA1_a_key_outside_the_main_group_is_no_client)
{
    static const struct public_key eighth = {
        {0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5,
            0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05}};
    struct public_key keys[] = {{{0}}, {{1}}, eighth, {{2}}, {{0}}};
    assert_int_equal(address_decode(a, &keys[4]), ERR_OK);
    assert_int_equal(crypto_core_ed25519_add(keys[4].bytes, keys[4].bytes, eighth.bytes), 0);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        char address[ADDRESS_SIZE];
        struct clients clients;
        address_encode(&keys[i], address);
        assert_int_equal(read(address, NULL, &clients, NULL), ERR_CONFIG);
    }
}

GROUP_FIXTURE(set_up, NULL)
