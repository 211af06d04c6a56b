/* The natural key of a contract call: what changes it and what does not. */
#include "check.h"
#include "stellar/authorization.h"
#include "sample.h"

static const struct network_id network = {{9}};

/* A call of a contract whose entries are by address. */
struct call {
    enum sample_source source; /* of the operation */
    uint32_t kind;             /* of the credentials */
    uint8_t address, expires, nonce, function, invoked;
    bool twice, reversed; /* two entries; in the other order */
    bool unprepared;      /* without resource data */
};

static void add_entry(struct buf *auth, const struct call *call, uint8_t address)
{
    if (call->kind == 0) {
        add_source_account_entry(auth);
        return;
    }
    const size_t from = auth->len;
    add_address_entry(auth, call->kind, ACCOUNT, address);
    auth->data[from + 4 + 40 + 7] = call->nonce;
    auth->data[from + 4 + 40 + 11] = call->expires;
    auth->data[auth->len - 12] = call->invoked; /* a byte of the invoked function's name */
}

static bool key_of(const struct call *call, struct hash *out)
{
    struct sample sample = SAMPLE;
    struct buf auth CLEANUP(buf_free) = {0};
    add_entry(&auth, call, call->reversed ? 99 : call->address);
    if (call->twice)
        add_entry(&auth, call, call->reversed ? call->address : 99);
    add_invoke(&sample, call->source, 8, call->twice ? 2 : 1, &auth);
    sample.operations.data[(call->source == NO_SOURCE ? 4 : 40) + 4 + 4 + 36 - 1] = call->function;
    sample.soroban = !call->unprepared;
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    const bool has = authorization_natural_key(&network, &sample.view, out);
    sample_wipe(&sample);
    return has;
}

static const struct call usual = {
    .source = NO_SOURCE, .kind = 1, .address = 5, .expires = 2, .nonce = 3, .function = 4, .invoked = 'f'};

TEST(the_key_is_that_of_the_call_however_it_is_signed_and_wrapped)
{
    struct call same[] = {usual, usual, usual, usual};
    struct hash key, other;
    same[0].expires = 77;
    same[1].kind = 2;
    same[2].kind = 3;
    same[3].unprepared = true;
    assert_true(key_of(&usual, &key));
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        assert_true(key_of(&same[i], &other));
        assert_true(hash_equal(&key, &other));
    }
}

TEST(another_call_has_another_key)
{
    struct call others[] = {usual, usual, usual, usual, usual, usual};
    struct hash keys[ARRAY_LEN(others) + 1];
    others[0].address = 6;
    others[1].nonce = 6;
    others[2].function = 6;
    others[3].invoked = 'g';
    others[4].twice = true;
    others[5].twice = others[5].reversed = true;
    assert_true(key_of(&usual, &keys[ARRAY_LEN(others)]));
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_true(key_of(&others[i], &keys[i]));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        for (size_t k = 0; k < i; k++)
            assert_false(hash_equal(&keys[i], &keys[k]));
}

TEST(the_network_is_in_the_key)
{
    struct sample sample = SAMPLE;
    struct buf auth CLEANUP(buf_free) = {0};
    struct hash key, other;
    add_address_entry(&auth, 1, CONTRACT, 5);
    add_invoke(&sample, NO_SOURCE, 0, 1, &auth);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    assert_true(authorization_natural_key(&network, &sample.view, &key));
    assert_true(authorization_natural_key(&(struct network_id){{8}}, &sample.view, &other));
    assert_false(hash_equal(&key, &other));
    sample_wipe(&sample);
}

TEST(what_entries_alone_do_not_ask_for_has_none)
{
    struct call sourced = usual;
    struct sample payments = SAMPLE;
    struct hash key;
    sourced.source = PLAIN;
    assert_false(key_of(&sourced, &key));
    add_payment(&payments, PLAIN, 5);
    assert_int_equal(sample_decode(&payments, NULL), ERR_OK);
    assert_false(authorization_natural_key(&network, &payments.view, &key));
    sample_wipe(&payments);
}
