/* What authorization entries say about signatures and time. */
#include "check.h"
#include "sample.h"
#include "stellar/authorization.h"

#define AUTO_SAMPLE CLEANUP(sample_wipe) struct sample
#define AUTO_BUF CLEANUP(buf_free) struct buf

/* Up to the delegates of kind 3. */
static void add(
    struct buf *auth, uint32_t kind, enum sample_address address, uint8_t n, uint32_t expires, bool is_signed)
{
    add_credentials(auth, kind, address, n);
    be32_put(auth->data + auth->len - 8, expires);
    be32_put(auth->data + auth->len - 4, is_signed ? 20 : 1); /* a value without content; void */
}

static void assert_unsigned(struct bytes address, const char *expected)
{
    char text[AUTHORIZATION_ADDRESS_SIZE];
    authorization_address(address, text);
    assert_string_equal(text, expected);
}

static struct authorization read_call(struct sample *sample, uint32_t count, const struct buf *auth)
{
    struct authorization authorization;
    add_invoke(sample, NO_SOURCE, 0, count, auth);
    assert_int_equal(sample_decode(sample, NULL), ERR_OK);
    assert_int_equal(authorization_read(&sample->view, &authorization), ERR_OK);
    return authorization;
}

TEST(the_least_expiration_of_all_kinds_counts)
{
    for (uint32_t least = 1; least <= 3; least++) {
        AUTO_SAMPLE sample = SAMPLE;
        AUTO_BUF auth = {0};
        add_source_account_entry(&auth);
        for (uint32_t kind = 1; kind <= 3; kind++) {
            add(&auth, kind, ACCOUNT, 9, kind == least ? 70 : 80, true);
            if (kind == 3)
                buf_add_u32(&auth, 0);
            add_invocation(&auth);
        }
        const struct authorization authorization = read_call(&sample, 4, &auth);
        assert_int_equal(authorization.expires_ledger, 70);
        assert_int_equal(authorization.unsigned_count, 0);
    }
    AUTO_SAMPLE none = SAMPLE;
    assert_int_equal(read_call(&none, 0, NULL).expires_ledger, UINT32_MAX);
}

TEST(addresses_without_a_signature_are_listed_unless_they_have_delegates)
{
    AUTO_SAMPLE sample = SAMPLE;
    AUTO_BUF auth = {0};
    char account[ADDRESS_SIZE];
    const struct public_key key = sample_key(9);
    address_encode(&key, account);
    add(&auth, 1, MUXED_ACCOUNT, 9, 70, false);
    add_invocation(&auth);
    add(&auth, 2, CONTRACT, 9, 70, false);
    add_invocation(&auth);
    add(&auth, 2, CLAIMABLE_BALANCE, 9, 70, false);
    add_invocation(&auth);
    add(&auth, 3, CONTRACT, 8, 70, false); /* leaves it to its delegates */
    buf_add_u32(&auth, 2);
    add_delegate(&auth, ACCOUNT, 8, 1);
    add_delegate(&auth, ACCOUNT, 9, 0);
    add_delegate(&auth, ACCOUNT, 8, 0);
    be32_put(auth.data + auth.len - 8, 20); /* this one has signed */
    add_invocation(&auth);
    add(&auth, 3, ACCOUNT, 9, 70, false); /* has none */
    buf_add_u32(&auth, 0);
    add_invocation(&auth);
    const struct authorization authorization = read_call(&sample, 5, &auth);
    assert_int_equal(authorization.unsigned_count, 5);
    assert_unsigned(authorization.unsigned_addresses[0], account);
    assert_unsigned(authorization.unsigned_addresses[1],
        "CAEQSCIJBEEQSCIJBEEQSCIJBEEQSCIJBEEQSCIJBEEQSCIJBEEQTD2L"); /* the SDK's text */
    assert_unsigned(authorization.unsigned_addresses[2], "");
    assert_unsigned(authorization.unsigned_addresses[3], account);
    assert_unsigned(authorization.unsigned_addresses[4], account);
}

TEST(more_addresses_than_are_listed_are_counted)
{
    AUTO_SAMPLE sample = SAMPLE;
    AUTO_BUF auth = {0};
    for (uint8_t i = 0; i < AUTHORIZATION_UNSIGNED_MAX + 5; i++) {
        add(&auth, 1, ACCOUNT, i, 70, false);
        add_invocation(&auth);
    }
    assert_int_equal(read_call(&sample, AUTHORIZATION_UNSIGNED_MAX + 5, &auth).unsigned_count,
        AUTHORIZATION_UNSIGNED_MAX + 5);
}
