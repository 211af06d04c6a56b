/* Rules of rpc_accounts and rpc_frozen: entries are matched by key, and a wrong entry is an error. */
#include "fake_rpc.h"

#include "base/text.h"
#include "stellar/account.h"
#include "stellar/ledger.h"

static struct detail detail;
static struct account_entry account; /* of the last answer, */
static uint32_t ledger;              /* as of this one */

static struct public_key key_of(uint8_t n)
{
    struct public_key key;
    memset(key.bytes, n, sizeof key.bytes);
    return key;
}

/* LedgerEntryData of an account, in base64; the caller frees it. */
static char *account_entry(const struct public_key *key, int64_t balance, int64_t sequence, uint32_t ext)
{
    struct buf xdr CLEANUP(buf_free) = {0};
    buf_add_u32(&xdr, 0); /* ACCOUNT */
    buf_add_u32(&xdr, 0); /* PUBLIC_KEY_TYPE_ED25519 */
    buf_add(&xdr, key->bytes, sizeof key->bytes);
    buf_add_u64(&xdr, (uint64_t)balance);
    buf_add_u64(&xdr, (uint64_t)sequence);
    buf_add_u32(&xdr, 0);         /* numSubEntries */
    buf_add_u32(&xdr, 0);         /* inflationDest */
    buf_add_u32(&xdr, 0);         /* flags */
    buf_add_u32(&xdr, 0);         /* homeDomain */
    buf_add(&xdr, "\1\0\0\0", 4); /* thresholds */
    buf_add_u32(&xdr, 0);         /* signers */
    buf_add_u32(&xdr, ext);
    char *text = base64_encode(buf_bytes(&xdr));
    return text;
}

static char *key_text(const struct public_key *key)
{
    struct buf xdr CLEANUP(buf_free) = {0};
    account_ledger_key(key, &xdr);
    char *text = base64_encode(buf_bytes(&xdr));
    return text;
}

static char *entry(const struct public_key *named, const struct public_key *inside, int64_t sequence)
{
    AUTO_FREE char *key = key_text(named);
    AUTO_FREE char *xdr = account_entry(inside, 5, sequence, 0);
    return mem_format("{\"key\":\"%s\",\"xdr\":\"%s\",\"lastModifiedLedgerSeq\":2552504}", key, xdr);
}

static enum err ask(struct fake_rpc *fake, const char *entries, const struct public_key keys[], size_t count,
    struct account_entry out[])
{
    AUTO_FREE char *body = mem_format(FAKE_RESULT("{\"entries\":%s,\"latestLedger\":2552990}"), entries);
    memset(&detail, 0, sizeof detail);
    fake_says(fake, body);
    enum err e = rpc_accounts(fake->rpc, keys, count, out, &ledger, &detail);
    fake_says(fake, NULL);
    return e;
}

FAKE_TEST(entries_are_matched_by_key_whatever_their_order)
{
    struct fake_rpc *fake = *state;
    const struct public_key keys[] = {key_of(1), key_of(2), key_of(3)};
    struct account_entry accounts[3];
    AUTO_FREE char *one = entry(&keys[0], &keys[0], 100);
    AUTO_FREE char *three = entry(&keys[2], &keys[2], INT64_MAX);
    AUTO_FREE char *entries = mem_format("[%s,%s]", three, one);
    assert_int_equal(ask(fake, entries, keys, 3, accounts), ERR_OK);
    assert_int_equal(ledger, 2552990);
    assert_false(accounts[0].removed);
    assert_true(accounts[0].sequence == 100);
    assert_true(accounts[0].balance_stroops == 5);
    assert_true(accounts[0].own_authority);
    assert_true(accounts[1].removed);
    assert_false(accounts[2].removed);
    assert_true(accounts[2].sequence == INT64_MAX);
    AUTO_FREE char *second = key_text(&keys[1]);
    assert_true(fake_heard(fake, second));
}

FAKE_TEST(missing_accounts_are_not_an_error)
{
    struct fake_rpc *fake = *state;
    const struct public_key key = key_of(1);
    assert_int_equal(ask(fake, "[]", &key, 1, &account), ERR_OK);
    assert_true(account.removed);
    assert_int_equal(ask(fake, "null", &key, 1, &account), ERR_OK);
    assert_true(account.removed);
    assert_int_equal(ledger, 2552990);
}

FAKE_TEST(an_entry_of_another_account_is_refused)
{
    struct fake_rpc *fake = *state;
    const struct public_key key = key_of(1), other = key_of(2);
    AUTO_FREE char *good = entry(&key, &key, 1);
    AUTO_FREE char *foreign = entry(&other, &other, 1);
    AUTO_FREE char *mislabelled = entry(&key, &other, 1);
    AUTO_FREE char *name = key_text(&key);
    /* TTL: type 9, keyHash and liveUntilLedgerSeq. */
    AUTO_FREE char *ttl = mem_format(
        "{\"key\":\"%s\",\"xdr\":\"AAAACQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQ==\"}", name);
    AUTO_FREE char *cut = mem_format("{\"key\":\"%s\",\"xdr\":\"AAAAAA==\"}", name);
    AUTO_FREE char *twice = mem_format("%s,%s", good, good);
    const char *const bad[] = {foreign, mislabelled, ttl, cut, twice};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO_FREE char *entries = mem_format("[%s]", bad[i]);
        assert_int_equal(ask(fake, entries, &key, 1, &account), ERR_RPC_REFUSED);
        assert_non_null(strstr(detail.text, "getLedgerEntries"));
    }
    AUTO_FREE char *entries = mem_format("[%s]", good);
    assert_int_equal(ask(fake, entries, &key, 1, &account), ERR_OK);
}

/* A newer fairway is needed, not another RPC. */
FAKE_TEST(an_entry_of_a_newer_protocol_is_reported_as_such)
{
    struct fake_rpc *fake = *state;
    const struct public_key key = key_of(1);
    AUTO_FREE char *name = key_text(&key);
    AUTO_FREE char *xdr = account_entry(&key, 5, 1, 7);
    AUTO_FREE char *entries = mem_format("[{\"key\":\"%s\",\"xdr\":\"%s\"}]", name, xdr);
    assert_int_equal(ask(fake, entries, &key, 1, &account), ERR_RPC_REFUSED);
    assert_non_null(strstr(detail.text, "newer protocol"));
}

FAKE_TEST(missing_members_are_unavailable)
{
    struct fake_rpc *fake = *state;
    const struct public_key key = key_of(1);
    AUTO_FREE char *name = key_text(&key);
    AUTO_FREE char *without_xdr = mem_format("[{\"key\":\"%s\"}]", name);
    assert_int_equal(ask(fake, without_xdr, &key, 1, &account), ERR_RPC_UNAVAILABLE);
    assert_int_equal(ask(fake, "[{\"xdr\":\"AAAA\"}]", &key, 1, &account), ERR_RPC_UNAVAILABLE);
    assert_int_equal(ask(fake, "[null]", &key, 1, &account), ERR_RPC_UNAVAILABLE);
    fake_says(fake, FAKE_RESULT("{\"entries\":[]}"));
    assert_int_equal(rpc_accounts(fake->rpc, &key, 1, &account, &ledger, &detail), ERR_RPC_UNAVAILABLE);
}

FAKE_TEST(at_most_200_accounts_are_requested_at_once)
{
    struct fake_rpc *fake = *state;
    struct public_key keys[RPC_ENTRIES_MAX + 1];
    struct account_entry accounts[RPC_ENTRIES_MAX + 1];
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        keys[i] = key_of((uint8_t)i);
    assert_int_equal(ask(fake, "[]", keys, RPC_ENTRIES_MAX, accounts), ERR_OK);
    assert_int_equal(fake_requests(fake), 1);
    assert_int_equal(ask(fake, "[]", keys, RPC_ENTRIES_MAX + 1, accounts), ERR_INTERNAL);
    assert_int_equal(ask(fake, "[]", keys, 0, accounts), ERR_INTERNAL);
    assert_int_equal(fake_requests(fake), 1);
}

/* The response of a healthy stellar-rpc while its captive core has not published the snapshot yet. */
#define NO_SNAPSHOT                                                                                          \
    FAKE_ERROR(-32603, "could not query captive core: http request failed with non-200 status code (404)")

FAKE_TEST(an_internal_error_is_retried_until_the_snapshot_is_published)
{
    struct fake_rpc *fake = *state;
    const struct public_key key = key_of(1);
    struct frozen_accounts frozen;
    fake_set_reply(fake, 0, (struct fake_reply){.body = NO_SNAPSHOT, .times = 3});
    fake_set_reply(fake, 1, (struct fake_reply){.body = FAKE_RESULT("{\"entries\":[],\"latestLedger\":7}")});
    assert_int_equal(rpc_accounts(fake->rpc, &key, 1, &account, &ledger, &detail), ERR_OK);
    assert_int_equal(ledger, 7);
    assert_int_equal(fake_requests(fake), 4);
    fake_set_reply(fake, 0, (struct fake_reply){.body = NO_SNAPSHOT, .times = 3});
    assert_int_equal(rpc_frozen(fake->rpc, &frozen, &ledger, &detail), ERR_OK);
    assert_int_equal(fake_requests(fake), 8);
}

FAKE_TEST(a_lasting_internal_error_is_returned_after_two_seconds)
{
    struct fake_rpc *fake = *state;
    const struct public_key key = key_of(1);
    fake_says(fake, NO_SNAPSHOT);
    int64_t start_ms = clock_ms();
    assert_int_equal(rpc_accounts(fake->rpc, &key, 1, &account, &ledger, &detail), ERR_RPC_UNAVAILABLE);
    assert_true(clock_ms() - start_ms >= 2000);
    assert_in_range(fake_requests(fake), 2, 15); /* with growing pauses */
    assert_string_equal(detail.text,
        "getLedgerEntries: error -32603 could not query captive core: http request "
        "failed with non-200 status code (404)");
}

/* Errors that a healthy server does not return: the caller decides when to retry. */
FAKE_TEST(other_errors_are_returned_at_once)
{
    struct fake_rpc *fake = *state;
    const struct public_key key = key_of(1);
    const struct fake_reply others[] = {{.body = FAKE_ERROR(-32602, "bad key")}, {.status = 503},
        {.body = FAKE_ERROR(-32001, "request queue is full")}};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        fake_set_reply(fake, 0, others[i]);
        unsigned before = fake_requests(fake);
        assert_int_equal(rpc_accounts(fake->rpc, &key, 1, &account, &ledger, &detail),
            i == 0 ? ERR_RPC_REFUSED : ERR_RPC_UNAVAILABLE);
        assert_int_equal(fake_requests(fake), before + 1);
    }
}

static void *cancel_after_two_requests(void *context)
{
    struct fake_rpc *fake = context;
    while (fake_requests(fake) < 2)
        clock_sleep_ms(1);
    rpc_cancel(fake->rpc);
    return NULL;
}

FAKE_TEST(cancel_ends_the_retries)
{
    struct fake_rpc *fake = *state;
    const struct public_key key = key_of(1);
    pthread_t thread;
    fake_says(fake, NO_SNAPSHOT);
    assert_int_equal(pthread_create(&thread, NULL, cancel_after_two_requests, fake), 0);
    assert_int_equal(rpc_accounts(fake->rpc, &key, 1, &account, &ledger, &detail), ERR_CANCELLED);
    pthread_join(thread, NULL);
}

/* Requests the list. The response has one frozen account, whose bytes are all 7; spoil is put before the
 * entry, and the key of the entry is right or wrong. */
static enum err ask_frozen(
    struct fake_rpc *fake, bool right_key, const char *spoil, struct frozen_accounts *out)
{
    CLEANUP(buf_free) struct buf key = {0}, entry = {0};
    struct public_key frozen;
    memset(frozen.bytes, 7, sizeof frozen.bytes);
    frozen_ledger_key(&key);
    buf_add_bytes(&entry, buf_bytes(&key));
    buf_add_u32(&entry, 1);
    buf_add_u32(&entry, 40);
    account_ledger_key(&frozen, &entry);
    if (!right_key)
        buf_add_u32(&key, 1);
    AUTO_FREE char *key_text = base64_encode(buf_bytes(&key));
    AUTO_FREE char *entry_text = base64_encode(buf_bytes(&entry));
    AUTO_FREE char *body =
        mem_format(FAKE_RESULT("{\"entries\":[{\"key\":\"%s\",\"xdr\":\"%s%s\"}],\"latestLedger\":2552990}"),
            key_text, spoil, entry_text);
    fake_says(fake, body);
    enum err e = rpc_frozen(fake->rpc, out, &ledger, &detail);
    fake_says(fake, NULL);
    if (e == ERR_OK)
        assert_int_equal(ledger, 2552990);
    return e;
}

FAKE_TEST(frozen_accounts_are_read_from_the_setting)
{
    struct fake_rpc *fake = *state;
    struct frozen_accounts frozen;
    struct public_key key;
    memset(key.bytes, 7, sizeof key.bytes);
    assert_int_equal(ask_frozen(fake, true, "", &frozen), ERR_OK);
    assert_int_equal(frozen.count, 1);
    assert_true(frozen_has(&frozen, &key));
    frozen_accounts_free(&frozen);
    assert_true(fake_heard(fake, "\"keys\":[\"AAAACAAAABE=\"]")); /* CONFIG_SETTING 17 */
}

FAKE_TEST(a_network_without_the_setting_has_no_frozen_accounts)
{
    struct fake_rpc *fake = *state;
    static const char *const bodies[] = {
        FAKE_RESULT("{\"entries\":[],\"latestLedger\":9}"), FAKE_RESULT("{\"latestLedger\":9}")};
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct frozen_accounts frozen;
        fake_says(fake, bodies[i]);
        assert_int_equal(rpc_frozen(fake->rpc, &frozen, &ledger, &detail), ERR_OK);
        assert_int_equal(frozen.count, 0);
        assert_int_equal(ledger, 9);
    }
}

FAKE_TEST(limits_are_read_from_two_settings)
{
    struct fake_rpc *fake = *state;
    uint32_t limits[RPC_LIMITS];
    fake_says(fake, FAKE_LIMITS(FAKE_400_MILLION));
    assert_int_equal(rpc_limits(fake->rpc, limits, &detail), ERR_OK);
    assert_true(fake_heard(fake, "\"keys\":[\"AAAACAAAAAE=\",\"AAAACAAAAAI=\"]"));
    assert_int_equal(limits[0], 400000000);
    assert_int_equal(limits[1], 200000);
    assert_int_equal(limits[2], 132096);
    fake_says(fake, FAKE_RESULT("{\"entries\":[{\"xdr\":\"" FAKE_COST "\"}],\"latestLedger\":1}"));
    assert_int_equal(rpc_limits(fake->rpc, limits, &detail), ERR_OK);
    assert_int_equal(limits[0], 0);
    assert_int_equal(limits[2], 132096);
    fake_says(fake, FAKE_RESULT("{\"entries\":[{\"xdr\":\"AAAACAAAAAE=\"}],\"latestLedger\":1}"));
    assert_int_not_equal(rpc_limits(fake->rpc, limits, &detail), ERR_OK);
}

FAKE_TEST(a_wrong_entry_instead_of_the_list_is_refused)
{
    struct fake_rpc *fake = *state;
    struct frozen_accounts frozen;
    assert_int_equal(ask_frozen(fake, false, "", &frozen), ERR_RPC_REFUSED);
    assert_int_equal(ask_frozen(fake, true, "AAAAAAAA", &frozen), ERR_RPC_REFUSED);
}
