/* DS3: views, hashes, leased transactions and fee bumps are those of the official SDK, byte for byte. */
#include "check.h"
#include "stellar/envelope.h"
#include "stellar/envelope_build.h"
#include "sample.h"
#include "vectors.h"

/* Each check reads its columns in the order in which vectors.mjs writes them. */

static void check_view(
    struct vectors *vectors, const struct network_id *network, const char *form, const struct envelope *input)
{
    static const char *const forms[] = {"V0", "V1", "FEE_BUMP"};
    struct hash hash = vector_hash(vectors);
    assert_same_hash(envelope_hash(network, input), hash);
    assert_string_equal(forms[input->form], form);
    assert_int_equal(input->source_muxed, vector_i64(vectors) != 0);
    assert_int_equal(input->operation_count, vector_i64(vectors));
    assert_int_equal(input->has_memo, vector_i64(vectors) != 0);
    assert_int_equal(input->soroban, vector_i64(vectors) == 1);
    assert_int_equal(input->resource_fee_stroops, vector_i64(vectors));
    assert_int_equal(input->fee_stroops, 100);
    assert_int_equal(input->sequence, 17);
    assert_int_equal(input->signature_count, 1);
    assert_true(envelope_signed_by(input, &input->source, &hash));
}

static void check_fee_bump(
    struct vectors *vectors, const struct network_id *network, struct bytes inner_xdr, struct hash inner_hash)
{
    struct envelope inner, again;
    struct detail detail = {0};
    assert_int_equal(envelope_decode(inner_xdr, &inner, &detail), ERR_OK);
    struct public_key fee_source = vector_key(vectors);
    int64_t fee_stroops = vector_i64(vectors);
    CLEANUP(buf_free) struct buf expected = vector_bytes(vectors);
    struct hash expected_hash = vector_hash(vectors);
    struct signature signature = vector_signature(vectors);
    CLEANUP(buf_free) struct buf expected_envelope = vector_bytes(vectors);

    CLEANUP(buf_free) struct buf bump = {0}, envelope = {0};
    fee_bump_build(&inner, &fee_source, fee_stroops, &bump);
    assert_bytes(buf_bytes(&bump), buf_bytes(&expected));
    assert_same_hash(fee_bump_hash(network, buf_bytes(&bump)), expected_hash);
    fee_bump_envelope_build(buf_bytes(&bump), &fee_source, &signature, &envelope);
    assert_bytes(buf_bytes(&envelope), buf_bytes(&expected_envelope));

    assert_int_equal(envelope_decode(buf_bytes(&envelope), &again, &detail), ERR_OK);
    assert_int_equal(again.form, ENVELOPE_FEE_BUMP);
    assert_same_hash(envelope_hash(network, &again), inner_hash);
}

static void check_lease(struct vectors *vectors)
{
    (void)vector_text(vectors); /* the name */
    struct network_id network = network_id_of(vector_text(vectors));
    const char *form = vector_text(vectors);
    CLEANUP(buf_free) struct buf input_xdr = vector_bytes(vectors);
    struct envelope input, signed_view;
    struct detail detail = {0};
    assert_int_equal(envelope_decode(buf_bytes(&input_xdr), &input, &detail), ERR_OK);
    check_view(vectors, &network, form, &input);

    struct transaction_head head;
    head.source = vector_key(vectors);
    head.fee_stroops = (uint32_t)vector_i64(vectors);
    head.sequence = vector_i64(vectors);
    head.max_time_s = (uint64_t)vector_i64(vectors);
    CLEANUP(buf_free) struct buf expected = vector_bytes(vectors);
    struct hash hash = vector_hash(vectors);
    struct signature signature = vector_signature(vectors);
    CLEANUP(buf_free) struct buf expected_envelope = vector_bytes(vectors);

    CLEANUP(buf_free) struct buf transaction = {0}, envelope = {0};
    transaction_build(&input, &head, &transaction);
    assert_bytes(buf_bytes(&transaction), buf_bytes(&expected));
    assert_same_hash(transaction_hash(&network, buf_bytes(&transaction)), hash);
    envelope_build(buf_bytes(&transaction), &head.source, &signature, 1, &envelope);
    assert_bytes(buf_bytes(&envelope), buf_bytes(&expected_envelope));
    assert_int_equal(envelope_decode(buf_bytes(&envelope), &signed_view, &detail), ERR_OK);
    assert_true(envelope_signed_by(&signed_view, &head.source, &hash));
    check_fee_bump(vectors, &network, buf_bytes(&envelope), hash);
}

TEST(DS3_leases_and_fee_bumps_are_those_of_the_sdk)
{
    struct vectors vectors;
    size_t count = 0;
    vectors_open(&vectors);
    for (; vectors_next(&vectors, "lease"); count++)
        check_lease(&vectors);
    vectors_close(&vectors);
    assert_true(count >= 300);
}
