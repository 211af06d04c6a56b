/* Rules of xdr_take and xdr_each: strict, bounded, and the position of a fault. Values are written as words.
 */
#include "check.h"
#include "base/mem.h"
#include "xdr/xdr.h"

enum {
    SCV_VOID = 1,
    SCV_VEC = 16,
    SCV_MAP = 17,
    SCV_ADDRESS = 18,
    PREDICATE_UNCONDITIONAL = 0,
    PREDICATE_NOT = 3,
};

static struct buf words(size_t count, const uint32_t values[])
{
    struct buf buf = {0};
    for (size_t i = 0; i < count; i++)
        buf_add_u32(&buf, values[i]);
    return buf;
}

#define WORDS(...) words(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (uint32_t[]){__VA_ARGS__})

/* Asserts the result of xdr_take, and the position in bytes after it. */
static void assert_verdict(enum xdr_type type, struct buf buf, enum err verdict, size_t at)
{
    struct xdr_reader reader = xdr_reader(buf_bytes(&buf));
    xdr_take(&reader, type);
    assert_string_equal(err_code(reader.e), err_code(verdict));
    assert_int_equal(reader.at - buf.data, at);
    buf_free(&buf);
}

TEST(a_value_is_read_to_its_last_byte)
{
    struct buf buf CLEANUP(buf_free) = WORDS(1, 4, 0x41424344, 77); /* memo text, then something else */
    struct xdr_reader reader = xdr_reader(buf_bytes(&buf));
    const struct bytes span = xdr_take(&reader, XDR_Memo);
    assert_ptr_equal(span.data, buf.data);
    assert_int_equal(span.len, 12);
    assert_int_equal(xdr_end(&reader), ERR_XDR_TRAILING);
    assert_int_equal(xdr_check(XDR_Memo, buf_bytes(&buf)), ERR_XDR_TRAILING);
    assert_int_equal(xdr_check(XDR_Memo, span), ERR_OK);
}

TEST(every_truncation_is_refused)
{
    /* AccountEntry with everything optional: inflation destination, home domain, signer, extension 3 */
    struct buf buf CLEANUP(buf_free) = WORDS(0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 0, 2, 1, 1, 0, 1, 2, 3, 4, 5, 6,
        7, 8, 0, 3, 0x61626300, 0x01000000, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 0, 1, 0, 1, 2, 0, 0, 1, 1, 0,
        1, 2, 3, 4, 5, 6, 7, 8, 3, 0, 9, 0, 5);
    assert_int_equal(xdr_check(XDR_AccountEntry, buf_bytes(&buf)), ERR_OK);
    for (size_t len = 0; len < buf.len; len++)
        assert_int_equal(xdr_check(XDR_AccountEntry, (struct bytes){buf.data, len}), ERR_XDR_TRUNCATED);
}

TEST(unknown_arms_and_enum_values_are_refused_at_their_position)
{
    assert_verdict(XDR_Memo, WORDS(5), ERR_XDR_UNKNOWN_ARM, 0);
    assert_verdict(XDR_Memo, WORDS(0xffffffff), ERR_XDR_UNKNOWN_ARM, 0);
    assert_verdict(XDR_EnvelopeType, WORDS(11), ERR_XDR_UNKNOWN_ARM, 0);
    /* an EnvelopeType, but no arm of TransactionEnvelope */
    assert_verdict(XDR_TransactionEnvelope, WORDS(1), ERR_XDR_UNKNOWN_ARM, 0);
    /* arms with a gap between them: CryptoKeyType 0 and 256 */
    assert_verdict(XDR_MuxedAccount, WORDS(1), ERR_XDR_UNKNOWN_ARM, 0);
    assert_verdict(XDR_MuxedAccount, WORDS(256, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8), ERR_OK, 44);
    /* inside another value: the asset type of a trust line */
    assert_verdict(
        XDR_LedgerEntryChange, WORDS(0, 7, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 99), ERR_XDR_UNKNOWN_ARM, 48);
}

TEST(negative_discriminants_are_numbers)
{
    assert_verdict(XDR_TransactionResult, WORDS(0, 100, (uint32_t)-18, 0), ERR_OK, 16);
    assert_verdict(XDR_TransactionResult, WORDS(0, 100, (uint32_t)-19, 0), ERR_XDR_UNKNOWN_ARM, 8);
    assert_verdict(XDR_TransactionResult, WORDS(0, 100, 2, 0), ERR_XDR_UNKNOWN_ARM, 8);
}

TEST(a_boolean_is_0_or_1)
{
    assert_verdict(XDR_ScVal, WORDS(0, 0), ERR_OK, 8);
    assert_verdict(XDR_ScVal, WORDS(0, 1), ERR_OK, 8);
    assert_verdict(XDR_ScVal, WORDS(0, 2), ERR_XDR_INVALID, 4);
    assert_verdict(XDR_ScVal, WORDS(0, 0x80000001), ERR_XDR_INVALID, 4);
    /* so is the flag of an option */
    assert_verdict(XDR_SponsorshipDescriptor, WORDS(0), ERR_OK, 4);
    assert_verdict(XDR_SponsorshipDescriptor, WORDS(2), ERR_XDR_INVALID, 0);
}

TEST(padding_is_zero)
{
    assert_verdict(XDR_Memo, WORDS(1, 1, 0x41000000), ERR_OK, 12);
    assert_verdict(XDR_Memo, WORDS(1, 1, 0x41010000), ERR_XDR_INVALID, 9);
    assert_verdict(XDR_Memo, WORDS(1, 1, 0x41000001), ERR_XDR_INVALID, 11);
    assert_verdict(XDR_Memo, WORDS(1, 3, 0x41414101), ERR_XDR_INVALID, 11);
}

TEST(a_length_above_its_maximum_is_refused)
{
    assert_verdict(XDR_Memo, WORDS(1, 28, 1, 2, 3, 4, 5, 6, 7), ERR_OK, 36);
    assert_verdict(XDR_Memo, WORDS(1, 29, 1, 2, 3, 4, 5, 6, 7, 0), ERR_XDR_INVALID, 4);
    assert_verdict(XDR_Memo, WORDS(1, 0xffffffff), ERR_XDR_INVALID, 4);
    assert_verdict(XDR_String32, WORDS(33), ERR_XDR_INVALID, 0);
    /* signers<20> of an account: 16 words before them */
    assert_verdict(XDR_AccountEntry, WORDS(0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 0, 2, 0, 0, 0, 0, 1, 21),
        ERR_XDR_INVALID, 72);
}

/* Time and memory depend on the length of the input, not on its counts. */
TEST(a_count_of_4_billion_ends_with_the_input)
{
    assert_verdict(XDR_ScVec, WORDS(0xffffffff, SCV_VOID, SCV_VOID), ERR_XDR_TRUNCATED, 12);
    assert_verdict(XDR_ScBytes, WORDS(0xffffffff, 0), ERR_XDR_TRUNCATED, 4);
    assert_verdict(XDR_ScBytes, WORDS(0xfffffffd, 0), ERR_XDR_TRUNCATED, 4);
    /* elements of plain bytes, which are skipped: uint32<> of SorobanResourcesExtV0 */
    assert_verdict(XDR_SorobanResourcesExtV0, WORDS(0xffffffff, 0), ERR_XDR_TRUNCATED, 4);
    assert_verdict(XDR_SorobanResourcesExtV0, WORDS(0x40000001, 0), ERR_XDR_TRUNCATED, 4);
}

/* NOT(NOT(... UNCONDITIONAL)), nested to this depth */
static struct buf predicates(size_t depth)
{
    struct buf buf = {0};
    for (size_t i = 0; i < depth; i++) {
        buf_add_u32(&buf, PREDICATE_NOT);
        buf_add_u32(&buf, 1);
    }
    buf_add_u32(&buf, PREDICATE_UNCONDITIONAL);
    return buf;
}

static struct buf vectors(size_t depth)
{
    struct buf buf = {0};
    for (size_t i = 0; i < depth; i++) {
        buf_add_u32(&buf, SCV_VEC);
        buf_add_u32(&buf, 1); /* present */
        buf_add_u32(&buf, 1); /* of one element */
    }
    buf_add_u32(&buf, SCV_VOID);
    return buf;
}

static struct buf maps(size_t depth)
{
    struct buf buf = {0};
    for (size_t i = 0; i < depth; i++) {
        buf_add_u32(&buf, SCV_MAP);
        buf_add_u32(&buf, 1);        /* present */
        buf_add_u32(&buf, 1);        /* of one entry */
        buf_add_u32(&buf, SCV_VOID); /* its key; its value follows */
    }
    buf_add_u32(&buf, SCV_VOID);
    return buf;
}

/* The protocol's Rust parser stops at 1,000 levels, and a nested SCVal is at least three of them (the SCVal,
   its option, its array). Its C++ parser stops at 500 levels, and a nested SCVal is one of them. */
TEST(nesting_that_the_protocol_allows_decodes)
{
    assert_verdict(XDR_ScVal, vectors(500), ERR_OK, 500 * 12 + 4);
    assert_verdict(XDR_ScVal, maps(500), ERR_OK, 500 * 16 + 4);
    assert_verdict(XDR_ClaimPredicate, predicates(1000), ERR_OK, 8004);
}

TEST(deeper_nesting_is_refused)
{
    assert_verdict(XDR_ClaimPredicate, predicates(XDR_MAX_DEPTH - 1), ERR_OK, 8 * (XDR_MAX_DEPTH - 1) + 4);
    assert_verdict(XDR_ClaimPredicate, predicates(XDR_MAX_DEPTH), ERR_XDR_TOO_DEEP, 8 * XDR_MAX_DEPTH);
    assert_verdict(XDR_ClaimPredicate, predicates(1000000), ERR_XDR_TOO_DEEP, 8 * XDR_MAX_DEPTH);
    assert_verdict(XDR_ScVal, vectors(1000000), ERR_XDR_TOO_DEEP, 12 * XDR_MAX_DEPTH / 2);
}

struct seen {
    size_t count, stop_at;
    struct bytes spans[8];
};

static enum err note(struct bytes span, void *context)
{
    struct seen *seen = context;
    if (seen->count < ARRAY_LEN(seen->spans))
        seen->spans[seen->count] = span;
    seen->count++;
    return seen->count == seen->stop_at ? ERR_CANCELLED : ERR_OK;
}

/* The vector [ [void], void ]: words 3 to 6 and 7 are its elements, word 6 the innermost. */
TEST(each_finds_inner_values_before_outer_ones)
{
    struct buf buf CLEANUP(buf_free) = WORDS(SCV_VEC, 1, 2, SCV_VEC, 1, 1, SCV_VOID, SCV_VOID);
    static const size_t expected[][2] = {{24, 4}, {12, 16}, {28, 4}, {0, 32}};
    struct xdr_reader reader = xdr_reader(buf_bytes(&buf));
    struct seen seen = {0};
    assert_int_equal(xdr_each(&reader, XDR_ScVal, XDR_ScVal, note, &seen), ERR_OK);
    assert_int_equal(xdr_end(&reader), ERR_OK);
    assert_int_equal(seen.count, ARRAY_LEN(expected));
    for (size_t i = 0; i < seen.count; i++) {
        assert_int_equal(seen.spans[i].data - buf.data, expected[i][0]);
        assert_int_equal(seen.spans[i].len, expected[i][1]);
    }
}

/* In a field (accountID), an option (inflationDest) and an array of options (signerSponsoringIDs). */
TEST(each_finds_a_union_wherever_it_stands)
{
    struct buf buf CLEANUP(buf_free) = WORDS(0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 0, 2, 0, 1, 0, 1, 2, 3, 4, 5, 6,
        7, 8, 0, 0, 1, 0, 1, 0, 1, 0, 1, 2, 0, 0, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0);
    struct xdr_reader reader = xdr_reader(buf_bytes(&buf));
    struct seen seen = {0};
    assert_int_equal(xdr_each(&reader, XDR_AccountEntry, XDR_PublicKey, note, &seen), ERR_OK);
    assert_int_equal(xdr_end(&reader), ERR_OK);
    assert_int_equal(seen.count, 3);
    static const size_t expected[] = {0, 15 * 4, 38 * 4};
    for (size_t i = 0; i < seen.count; i++) {
        assert_int_equal(seen.spans[i].data - buf.data, expected[i]);
        assert_int_equal(seen.spans[i].len, 36);
    }
}

TEST(each_ends_when_found_returns_an_error)
{
    struct buf buf CLEANUP(buf_free) = WORDS(SCV_VEC, 1, 2, SCV_VOID, SCV_VOID);
    struct xdr_reader reader = xdr_reader(buf_bytes(&buf));
    struct seen seen = {.stop_at = 1};
    assert_int_equal(xdr_each(&reader, XDR_ScVal, XDR_ScVal, note, &seen), ERR_CANCELLED);
    assert_int_equal(seen.count, 1);
}

/* The same vector, and an address in it. */
TEST(a_search_for_several_types_finds_each_of_them)
{
    struct buf buf CLEANUP(buf_free) = WORDS(SCV_VEC, 1, 2, SCV_VOID, SCV_ADDRESS, 1, 1, 2, 3, 4, 5, 6, 7, 8);
    struct seen values = {0}, addresses = {0};
    const struct xdr_search searches[] = {{XDR_ScAddress, note, &addresses}, {XDR_ScVal, note, &values}};
    struct xdr_reader reader = xdr_reader(buf_bytes(&buf));
    assert_int_equal(xdr_search(&reader, XDR_ScVal, searches, 2), ERR_OK);
    assert_int_equal(xdr_end(&reader), ERR_OK);
    assert_int_equal(values.count, 3);
    assert_int_equal(addresses.count, 1);
    assert_int_equal(addresses.spans[0].data - buf.data, 20);
    assert_int_equal(addresses.spans[0].len, 36);
    const struct xdr_search plain[] = {{XDR_ScVal, note, &values}, {XDR_Hash, note, &values}};
    assert_int_equal(xdr_search(&reader, XDR_ScVal, plain, 2), ERR_INTERNAL);
}

TEST(each_refuses_types_of_plain_bytes)
{
    struct buf buf CLEANUP(buf_free) = WORDS(3, 1, 2, 3, 4, 5, 6, 7, 8); /* memo hash */
    struct xdr_reader reader = xdr_reader(buf_bytes(&buf));
    struct seen seen = {0};
    assert_int_equal(xdr_each(&reader, XDR_Memo, XDR_Hash, note, &seen), ERR_INTERNAL);
}

TEST(a_result_has_the_name_of_its_innermost_code)
{
    static const struct {
        int32_t words[3];
        size_t count;
        const char *name;
    } cases[] = {
        {{-2}, 1, "opNO_ACCOUNT"},
        {{0, 1, -2}, 3, "PAYMENT_UNDERFUNDED"},
        {{0, 4, 0}, 3, "MANAGE_SELL_OFFER_SUCCESS"},              /* createPassiveSellOffer */
        {{0, 2, -9}, 3, "PATH_PAYMENT_STRICT_RECEIVE_NO_ISSUER"}, /* an asset follows */
        {{0, 24, -3}, 3, "INVOKE_HOST_FUNCTION_RESOURCE_LIMIT_EXCEEDED"},
        {{0, 1, 1}, 3, NULL},
        {{1}, 1, NULL},
        {{0}, 0, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf result CLEANUP(buf_free) = {0};
        for (size_t k = 0; k < cases[i].count; k++)
            buf_add_u32(&result, (uint32_t)cases[i].words[k]);
        const char *name = xdr_result_name(buf_bytes(&result));
        assert_true(name == NULL ? cases[i].name == NULL : cases[i].name != NULL);
        if (name != NULL)
            assert_string_equal(name, cases[i].name);
    }
}
