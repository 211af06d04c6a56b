/* Rules of stellar/envelope.h and envelope_build.h without the SDK: strictness, views, signatures. */
#include "check.h"

#include <sodium.h>

#include "stellar/envelope_build.h"
#include "sample.h"

TEST(trailing_bytes_are_refused)
{
    AUTO_SAMPLE sample = SAMPLE;
    add_payment(&sample, PLAIN, 1);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    buf_add_u32(&sample.xdr, 0);
    assert_int_equal(
        envelope_decode(buf_bytes(&sample.xdr), &sample.view, NULL), ERR_INVALID_TRANSACTION_XDR);
}

TEST(more_than_100_operations_do_not_decode)
{
    AUTO_SAMPLE sample = SAMPLE;
    for (int i = 0; i < OPERATIONS_MAX; i++)
        add_payment(&sample, PLAIN, 1);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    assert_int_equal(sample.view.operation_count, 100);
    add_payment(&sample, PLAIN, 1);
    assert_int_equal(sample_decode(&sample, NULL), ERR_INVALID_TRANSACTION_XDR);
}

TEST(DA6_unknown_operations_and_envelopes_do_not_decode)
{
    AUTO_SAMPLE sample = SAMPLE;
    add_operation(&sample, PLAIN, 1, 27);
    assert_int_equal(sample_decode(&sample, NULL), ERR_INVALID_TRANSACTION_XDR);
    static const uint32_t types[] = {1, 3, 4, 6, 7, 8, 9, 10, 11, UINT32_MAX};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        AUTO_SAMPLE other = SAMPLE;
        add_payment(&other, PLAIN, 1);
        assert_int_equal(sample_decode(&other, NULL), ERR_OK);
        be32_put(other.xdr.data, types[i]);
        assert_int_equal(
            envelope_decode(buf_bytes(&other.xdr), &other.view, NULL), ERR_INVALID_TRANSACTION_XDR);
    }
}

TEST(preconditions_of_every_form_decode_alike)
{
    AUTO_SAMPLE sample = SAMPLE;
    CLEANUP(buf_free) struct buf signer = {0};
    buf_add_u32(&signer, 2);
    add_key(&signer, 9);
    set_v2(&sample, (struct sample_v2){true, true, true, 1, 2, 3, 4, -5, 6, 7, 1, &signer});
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    const struct preconditions *seen = &sample.view.preconditions;
    assert_int_equal(seen->min_time_s, 1);
    assert_int_equal(seen->max_time_s, 2);
    assert_int_equal(seen->min_ledger, 3);
    assert_int_equal(seen->max_ledger, 4);
    assert_true(seen->has_min_sequence);
    assert_int_equal(seen->min_sequence, -5);
    assert_int_equal(seen->min_sequence_age_s, 6);
    assert_int_equal(seen->min_sequence_ledger_gap, 7);
    assert_int_equal(seen->extra_signer_count, 1);
    assert_int_equal(seen->extra_signers.len, 4 + signer.len);

    set_v2(&sample, (struct sample_v2){0});
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    assert_true(
        seen->min_time_s == 0 && seen->max_time_s == 0 && seen->min_ledger == 0 && seen->max_ledger == 0);
    assert_true(
        !seen->has_min_sequence && seen->min_sequence_age_s == 0 && seen->min_sequence_ledger_gap == 0);
    assert_true(seen->extra_signer_count == 0 && seen->extra_signers.len == 0);

    set_times(&sample, 8, 9);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    assert_int_equal(sample.view.preconditions.min_time_s, 8);
    assert_int_equal(sample.view.preconditions.max_time_s, 9);
    sample.form = ENVELOPE_V0; /* the flag of an option is the same number as PRECOND_TIME */
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    assert_int_equal(sample.view.preconditions.min_time_s, 8);
    assert_int_equal(sample.view.preconditions.max_time_s, 9);
}

/* A signed sample of the network "n". Returns its source. */
static struct public_key sign_sample(struct sample *sample, struct buf *xdr, struct hash *hash)
{
    struct public_key key;
    struct signature signature;
    struct network_id network = network_id_of("n");
    uint8_t secret[crypto_sign_SECRETKEYBYTES], seed[crypto_sign_SEEDBYTES] = {1};
    crypto_sign_seed_keypair(key.bytes, secret, seed);
    add_payment(sample, PLAIN, 1);
    assert_int_equal(sample_decode(sample, NULL), ERR_OK);
    *hash = envelope_hash(&network, &sample->view);
    crypto_sign_detached(signature.bytes, NULL, hash->bytes, sizeof hash->bytes, secret);
    envelope_build(sample->view.body, &key, &signature, 1, xdr);
    return key;
}

TEST(a_signature_is_matched_by_hint_hash_and_length)
{
    AUTO_SAMPLE sample = SAMPLE;
    CLEANUP(buf_free) struct buf xdr = {0};
    struct hash hash, other = {{0}};
    struct envelope view;
    struct public_key key = sign_sample(&sample, &xdr, &hash), stranger = sample_key(3);
    assert_int_equal(envelope_decode(buf_bytes(&xdr), &view, NULL), ERR_OK);
    assert_true(envelope_signed_by(&view, &key, &hash));
    assert_false(envelope_signed_by(&view, &key, &other));
    assert_false(envelope_signed_by(&view, &stranger, &hash));

    struct envelope bad = view;
    bad.signatures[0].hint[3] ^= 1;
    assert_false(envelope_signed_by(&bad, &key, &hash));
    bad = view;
    bad.signatures[0].signature.len = 63;
    assert_false(envelope_signed_by(&bad, &key, &hash));
    bad = view;
    bad.signature_count = 0;
    assert_false(envelope_signed_by(&bad, &key, &hash));
    /* It is found after 19 others. */
    bad = view;
    bad.signature_count = SIGNATURES_MAX;
    bad.signatures[SIGNATURES_MAX - 1] = view.signatures[0];
    bad.signatures[0].hint[0] ^= 1;
    assert_true(envelope_signed_by(&bad, &key, &hash));
}

TEST(a_transaction_without_envelope_decodes_alone)
{
    AUTO_SAMPLE sample = SAMPLE;
    struct envelope view;
    struct detail detail = {0};
    add_payment(&sample, PLAIN, 1);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    assert_int_equal(transaction_decode(sample.view.body, &view, &detail), ERR_OK);
    assert_true(bytes_equal(view.tail, sample.view.tail));
    assert_int_equal(view.signature_count, 0);
    assert_int_equal(transaction_decode(buf_bytes(&sample.xdr), &view, &detail), ERR_INVALID_TRANSACTION_XDR);
    assert_non_null(strstr(detail.text, "Not a Transaction: "));
    struct bytes shorter = {sample.view.body.data, sample.view.body.len - 4};
    assert_int_equal(transaction_decode(shorter, &view, &detail), ERR_INVALID_TRANSACTION_XDR);
}

TEST(an_inner_transaction_of_form_V0_is_sent_as_V1)
{
    AUTO_SAMPLE sample = SAMPLE;
    CLEANUP(buf_free) struct buf bump = {0}, envelope = {0};
    struct network_id network = network_id_of("n");
    struct public_key fee_source = sample_key(4);
    struct envelope inner;
    sample.form = ENVELOPE_V0;
    add_payment(&sample, PLAIN, 1);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    /* One signature, appended here. */
    be32_put(sample.xdr.data + sample.xdr.len - 4, 1);
    buf_add(&sample.xdr, "hint\0\0\0\4sign", 12);
    assert_int_equal(envelope_decode(buf_bytes(&sample.xdr), &sample.view, NULL), ERR_OK);

    fee_bump_build(&sample.view, &fee_source, 5, &bump);
    fee_bump_envelope_build(buf_bytes(&bump), &fee_source, &(struct signature){{0}}, &envelope);
    assert_int_equal(envelope_decode(buf_bytes(&envelope), &inner, NULL), ERR_OK);
    assert_int_equal(inner.form, ENVELOPE_FEE_BUMP);
    assert_true(public_key_equal(&inner.source, &sample.view.source));
    assert_true(bytes_equal(inner.tail, sample.view.tail));
    assert_true(bytes_equal(inner.signature_list, sample.view.signature_list));
    struct hash before = envelope_hash(&network, &sample.view), after = envelope_hash(&network, &inner);
    assert_true(hash_equal(&before, &after));
}
