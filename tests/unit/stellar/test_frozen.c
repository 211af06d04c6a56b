/* The list of frozen ledger keys (CAP-77). */
#include "check.h"
#include "ledger_meta.h"
#include "stellar/frozen.h"

static void add_frozen_account(struct buf *out, uint8_t key)
{
    buf_add_u32(out, 40); /* length of the LedgerKey */
    add_words(out, 2, 0); /* ACCOUNT, Ed25519 */
    add_key(out, key);
}

/* LedgerKey of a native trust line: frozen as well, but no account. */
static void add_frozen_trustline(struct buf *out, uint8_t key)
{
    buf_add_u32(out, 44);
    buf_add_u32(out, 1);
    buf_add_u32(out, 0);
    add_key(out, key);
    buf_add_u32(out, 0);
}

static struct public_key key_of(uint8_t n)
{
    struct public_key key;
    for (size_t i = 0; i < sizeof key.bytes; i++)
        key.bytes[i] = n;
    return key;
}

static bool has(const struct frozen_accounts *frozen, uint8_t n)
{
    struct public_key key = key_of(n);
    return frozen_has(frozen, &key);
}

static struct buf list_of_three(void)
{
    struct buf list = {0};
    buf_add_u32(&list, 3);
    add_frozen_account(&list, 9);
    add_frozen_trustline(&list, 5);
    add_frozen_account(&list, 3);
    return list;
}

TEST(a_list_with_a_malformed_key_is_refused)
{
    static const uint32_t unknown_key_type[] = {1, 8, 0, 7}, cut[] = {1, 4, 0}, nothing[] = {1, 0},
                          too_long[] = {1, 44, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const struct {
        const uint32_t *words;
        size_t count;
        enum err e;
    } cases[] = {{unknown_key_type, 4, ERR_XDR_UNKNOWN_ARM}, {cut, 3, ERR_XDR_TRUNCATED},
        {nothing, 2, ERR_XDR_TRUNCATED}, {too_long, 13, ERR_XDR_TRAILING}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf entry CLEANUP(buf_free) = {0};
        struct frozen_accounts frozen;
        frozen_ledger_key(&entry); /* begins as the entry does */
        for (size_t word = 0; word < cases[i].count; word++)
            buf_add_u32(&entry, cases[i].words[word]);
        assert_int_equal(frozen_entry_decode(buf_bytes(&entry), &frozen), cases[i].e);
    }
}

TEST(every_key_of_a_list_of_any_length_is_found)
{
    for (uint8_t count = 0; count <= 40; count++) {
        struct buf entry CLEANUP(buf_free) = {0};
        struct frozen_accounts frozen;
        frozen_ledger_key(&entry);
        buf_add_u32(&entry, count);
        for (uint8_t n = count; n > 0; n--)
            add_frozen_account(&entry, n);
        assert_int_equal(frozen_entry_decode(buf_bytes(&entry), &frozen), ERR_OK);
        assert_int_equal(frozen.count, count);
        for (uint8_t n = 0; n <= count + 1; n++)
            assert_int_equal(has(&frozen, n), n >= 1 && n <= count);
        frozen_accounts_free(&frozen);
    }
}

/* The padding of an EncodedLedgerKey is no part of the key. */
TEST(a_frozen_key_ends_with_its_length)
{
    struct buf entry CLEANUP(buf_free) = {0};
    struct frozen_accounts frozen;
    frozen_ledger_key(&entry);
    buf_add_u32(&entry, 2);
    add_frozen_account(&entry, 3);
    buf_add_u32(&entry, 38);
    add_words(&entry, 2, 0); /* ACCOUNT, Ed25519 */
    add_key(&entry, 0);      /* 30 bytes and the padding */
    assert_int_equal(frozen_entry_decode(buf_bytes(&entry), &frozen), ERR_XDR_TRUNCATED);
    assert_true(frozen.count == 0 && frozen.keys == NULL);
}

TEST(an_entry_that_is_not_the_list_is_refused)
{
    CLEANUP(buf_free) struct buf list = list_of_three(), entry = {0}, other = {0}, account = {0}, pool = {0};
    struct frozen_accounts frozen;
    frozen_ledger_key(&entry);
    buf_add_bytes(&entry, buf_bytes(&list));
    assert_int_equal(frozen_entry_decode(buf_bytes(&entry), &frozen), ERR_OK);
    assert_true(frozen.count == 2 && has(&frozen, 3) && has(&frozen, 9));
    frozen_accounts_free(&frozen);
    assert_int_equal(frozen.count, 0);
    buf_add_u32(&other, 8);
    buf_add_u32(&other, 0); /* CONFIG_SETTING_CONTRACT_MAX_SIZE_BYTES */
    buf_add_u32(&other, 1);
    assert_int_equal(frozen_entry_decode(buf_bytes(&other), &frozen), ERR_MALFORMED);
    buf_add_u32(&account, 0);
    add_account_entry(&account, 3, 1);
    assert_int_equal(frozen_entry_decode(buf_bytes(&account), &frozen), ERR_MALFORMED);
    for (size_t len = 0; len < entry.len; len++) {
        frozen.count = 1;
        assert_int_not_equal(frozen_entry_decode((struct bytes){entry.data, len}, &frozen), ERR_OK);
        assert_int_equal(frozen.count, 0);
    }
    /* A liquidity pool whose id reads as an empty list. */
    buf_add_u32(&pool, 5);
    buf_add_bytes(&pool, (struct bytes){entry.data + 4, 4});
    add_words(&pool, 19, 0); /* id, constant product, two native assets, fee, reserves, shares, trust lines */
    assert_int_equal(frozen_entry_decode(buf_bytes(&pool), &frozen), ERR_MALFORMED);
}
