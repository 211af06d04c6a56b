/* getLedgerEntries for the list of frozen ledger keys (CAP-77). */
#include "fake_rpc.h"

#include "base/text.h"

static struct detail detail;

/* Key and, unless it is to be another's, entry with one account whose key is all 7s. */
static enum err ask(struct fake_rpc *fake, bool right_key, const char *spoil, struct frozen_accounts *out)
{
    struct buf key = {0}, entry = {0};
    uint32_t ledger;
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
    buf_free(&key);
    buf_free(&entry);
    return e;
}

static void R4_frozen_accounts_are_read_from_the_setting(void **state)
{
    struct fake_rpc *fake = *state;
    struct frozen_accounts frozen;
    struct public_key key;
    memset(key.bytes, 7, sizeof key.bytes);
    assert_int_equal(ask(fake, true, "", &frozen), ERR_OK);
    assert_int_equal(frozen.count, 1);
    assert_true(frozen_has(&frozen, &key));
    frozen_accounts_free(&frozen);
    assert_true(fake_heard(fake, "\"keys\":[\"AAAACAAAABE=\"]")); /* CONFIG_SETTING 17 */
}

static void R4_a_network_without_the_setting_has_frozen_nothing(void **state)
{
    struct fake_rpc *fake = *state;
    static const char *const bodies[] = {
        FAKE_RESULT("{\"entries\":[],\"latestLedger\":9}"), FAKE_RESULT("{\"latestLedger\":9}")};
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct frozen_accounts frozen;
        uint32_t ledger = 0;
        fake_says(fake, bodies[i]);
        assert_int_equal(rpc_frozen(fake->rpc, &frozen, &ledger, &detail), ERR_OK);
        assert_int_equal(frozen.count, 0);
        assert_int_equal(ledger, 9);
    }
}

static void R4_another_entry_is_refused(void **state)
{
    struct fake_rpc *fake = *state;
    struct frozen_accounts frozen;
    assert_int_equal(ask(fake, false, "", &frozen), ERR_RPC_REFUSED);
    assert_int_equal(ask(fake, true, "AAAAAAAA", &frozen), ERR_RPC_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAKE_TEST(R4_frozen_accounts_are_read_from_the_setting),
        FAKE_TEST(R4_a_network_without_the_setting_has_frozen_nothing),
        FAKE_TEST(R4_another_entry_is_refused),
    };
    return cmocka_run_group_tests_name("rpc/frozen", tests, NULL, NULL);
}
