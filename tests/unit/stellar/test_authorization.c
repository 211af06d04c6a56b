/* What authorization entries say about signatures and time, and what they claim. */
#include "check.h"
#include "sample.h"
#include "stellar/authorization.h"
#include "xdr/xdr.h"

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

#define AUTO_AUTHORIZATION CLEANUP(authorization_free) struct authorization

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
            add(&auth, kind, ACCOUNT, (uint8_t)kind, kind == least ? 70 : 80, true);
            if (kind == 3)
                buf_add_u32(&auth, 0);
            add_invocation(&auth);
        }
        AUTO_AUTHORIZATION authorization = read_call(&sample, 4, &auth);
        assert_int_equal(authorization.expires_ledger, 70);
        assert_int_equal(authorization.unsigned_count, 0);
    }
    AUTO_SAMPLE none = SAMPLE;
    AUTO_AUTHORIZATION nothing = read_call(&none, 0, NULL);
    assert_int_equal(nothing.expires_ledger, UINT32_MAX);
    assert_int_equal(nothing.count, 0);
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
    AUTO_AUTHORIZATION authorization = read_call(&sample, 5, &auth);
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
    AUTO_AUTHORIZATION authorization = read_call(&sample, AUTHORIZATION_UNSIGNED_MAX + 5, &auth);
    assert_int_equal(authorization.unsigned_count, AUTHORIZATION_UNSIGNED_MAX + 5);
}

/* ---- claims */

/* An entry of a call; with delegates if it is of kind 3. */
struct entry {
    uint32_t kind;
    enum sample_address address;
    uint8_t n, nonce, expires, invoked;
};
static const struct entry A = {1, ACCOUNT, 5, 3, 70, 'f'}, B = {2, CONTRACT, 6, 4, 80, 'f'};

static void add_entry(struct buf *auth, const struct entry *entry)
{
    add(auth, entry->kind, entry->address, entry->n, entry->expires, true);
    auth->data[auth->len - 9] = entry->nonce;
    if (entry->kind == 3) {
        buf_add_u32(auth, 1);
        add_delegate(auth, ACCOUNT, 8, 0);
    }
    add_invocation(auth);
    auth->data[auth->len - 12] = entry->invoked; /* a byte of the invoked contract's argument */
}

static struct authorization read_entries(struct sample *sample, const struct entry entries[], size_t count)
{
    AUTO_BUF auth = {0};
    for (size_t i = 0; i < count; i++)
        add_entry(&auth, &entries[i]);
    return read_call(sample, (uint32_t)count, &auth);
}

static struct hash digest_of(const struct entry entries[], size_t count)
{
    AUTO_SAMPLE sample = SAMPLE;
    AUTO_AUTHORIZATION authorization = read_entries(&sample, entries, count);
    return authorization_digest(&authorization, NULL);
}

TEST(the_digest_is_that_of_the_call_however_its_entries_are_signed_listed_and_repeated)
{
    const struct entry both[] = {A, B}, reversed[] = {B, A}, again[] = {A, B, A, B};
    struct entry later[] = {A, B}, delegated[] = {A, B};
    later[1].expires = 99;
    delegated[0].kind = 3;
    const struct hash digest = digest_of(both, 2), same[] = {digest_of(reversed, 2), digest_of(again, 4),
                                                       digest_of(later, 2), digest_of(delegated, 2)};
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        assert_true(hash_equal(&same[i], &digest));
}

TEST(another_call_has_another_digest)
{
    struct entry other[] = {A, A, A, A}, both[] = {A, B};
    struct hash digests[7] = {digest_of(&A, 1), digest_of(both, 2), digest_of(NULL, 0)};
    other[0].n = other[1].nonce = other[2].invoked = 9;
    for (size_t i = 0; i < 3; i++)
        digests[3 + i] = digest_of(&other[i], 1);
    AUTO_SAMPLE sample = SAMPLE;
    AUTO_AUTHORIZATION of_another = read_entries(&sample, &A, 1);
    sample.operations.data[4 + 4 + 4 + 36 - 1] ^= 1; /* the function's contract */
    authorization_free(&of_another);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    assert_int_equal(authorization_read(&sample.view, &of_another), ERR_OK);
    digests[6] = authorization_digest(&of_another, NULL);
    for (size_t i = 0; i < ARRAY_LEN(digests); i++)
        for (size_t k = 0; k < i; k++)
            assert_false(hash_equal(&digests[i], &digests[k]));
}

static void add_nonce_key(struct buf *out, const struct entry *entry, uint32_t kind, uint32_t durability)
{
    buf_add_u32(out, 6);
    add_address(out, entry->address, entry->n);
    buf_add_u32(out, kind);
    buf_add_u64(out, entry->nonce);
    buf_add_u32(out, durability);
}

TEST(what_the_network_will_not_consume_claims_nothing)
{
    static const uint8_t zeros[20] = {0}; /* resources and fee */
    const struct entry entries[] = {A, B, {3, CONTRACT, 7, 9, 75, 'f'}};
    struct entry other_nonce = A;
    AUTO_SAMPLE sample = SAMPLE;
    AUTO_BUF data = {0};
    AUTO_AUTHORIZATION authorization = read_entries(&sample, entries, 3);
    assert_int_equal(authorization.count, 3); /* the delegate adds none */
    other_nonce.nonce++;
    buf_add_u32(&data, 1); /* ext of the transaction, which follows its operations */
    buf_add_u32(&data, 0);
    buf_add_u32(&data, 1);
    add_nonce_key(&data, &A, 21, 0); /* only read */
    buf_add_u32(&data, 4);
    add_nonce_key(&data, &other_nonce, 21, 0);
    add_nonce_key(&data, &A, 5, 0);  /* a number, which a contract stores */
    add_nonce_key(&data, &A, 21, 1); /* persistent */
    add_nonce_key(&data, &B, 21, 0);
    buf_add(&data, zeros, sizeof zeros);
    assert_int_equal(xdr_check(XDR_TransactionExt, buf_bytes(&data)), ERR_OK);
    const struct envelope envelope = {.operations = {data.data, 0}, .tail = buf_bytes(&data)};
    assert_int_equal(authorization.expires_ledger, A.expires);
    assert_int_equal(authorization_keep_consumed(&authorization, &envelope), ERR_OK);
    assert_int_equal(authorization.count, 1);
    assert_int_equal(authorization.expires_ledger, B.expires);
    AUTO_BUF key = {0};
    add_address(&key, B.address, B.n);
    buf_add_u64(&key, B.nonce);
    assert_true(bytes_equal(authorization.entries[0].key, buf_bytes(&key)));
    assert_int_equal(authorization.entries[0].expires_ledger, B.expires);
    const struct hash digest = authorization_digest(&authorization, NULL), of_b = digest_of(&B, 1);
    assert_true(hash_equal(&digest, &of_b));
}

TEST(of_copies_the_longest_valid_one_counts)
{
    struct entry copies[] = {A, A, A};
    AUTO_SAMPLE sample = SAMPLE;
    copies[1].expires = A.expires + 9;
    AUTO_AUTHORIZATION authorization = read_entries(&sample, copies, 3);
    assert_int_equal(authorization.count, 1);
    assert_int_equal(authorization.entries[0].expires_ledger, A.expires + 9);
}
