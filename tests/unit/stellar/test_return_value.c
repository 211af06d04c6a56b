/* Rules of stellar/return_value.h. */
#include "check.h"
#include "base/mem.h"
#include "stellar/ids.h"
#include "stellar/return_value.h"
#include "xdr/xdr.h"

/* An SCVal: u32 7. */
#define SCV_U32 3
static const uint8_t value[] = {0, 0, 0, SCV_U32, 0, 0, 0, 7};

/* A ContractEvent without contract, of the type `contract`, with no topics and the value above. */
static void add_event(struct buf *out)
{
    buf_add_u32(out, 0); /* ext */
    buf_add_u32(out, 0); /* no contractId */
    buf_add_u32(out, 1);
    buf_add_u32(out, 0); /* body v0 */
    buf_add_u32(out, 0); /* topics */
    buf_add(out, value, sizeof value);
}

static void add_events(struct buf *out, uint32_t count)
{
    buf_add_u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        add_event(out);
}

static void add_zeros(struct buf *out, int count)
{
    for (int i = 0; i < count; i++)
        buf_add_u32(out, 0);
}

/* The metadata of a call, with so many events. */
static struct buf meta_of(uint32_t version, uint32_t events)
{
    struct buf meta = {0};
    buf_add_u32(&meta, version);
    add_zeros(&meta, 2); /* ext, txChangesBefore */
    if (version == 3) {
        add_zeros(&meta, 2); /* operations, txChangesAfter */
        buf_add_u32(&meta, 1);
        add_zeros(&meta, 1); /* ext */
        add_events(&meta, events);
        buf_add(&meta, value, sizeof value);
        add_zeros(&meta, 1); /* diagnosticEvents */
    } else {
        buf_add_u32(&meta, 1); /* operations */
        add_zeros(&meta, 2);
        add_events(&meta, events);
        add_zeros(&meta, 1); /* txChangesAfter */
        buf_add_u32(&meta, 1);
        add_zeros(&meta, 1); /* ext */
        buf_add_u32(&meta, 1);
        buf_add(&meta, value, sizeof value);
        add_zeros(&meta, 2); /* events, diagnosticEvents */
    }
    assert_int_equal(xdr_check(XDR_TransactionMeta, buf_bytes(&meta)), ERR_OK);
    return meta;
}

/* The result of one InvokeHostFunction: its code, and after success the hash of the value and so many events.
 */
static struct buf result_of(int32_t code, uint32_t events)
{
    struct buf result = {0}, image CLEANUP(buf_free) = {0};
    buf_add(&image, value, sizeof value);
    add_events(&image, events);
    const struct hash hash = sha256(buf_bytes(&image));
    buf_add_u64(&result, 100);
    buf_add_u32(&result, code == 0 ? 0 : (uint32_t)-1);
    buf_add_u32(&result, 1);
    buf_add_u32(&result, 0);
    buf_add_u32(&result, 24);
    buf_add_u32(&result, (uint32_t)code);
    if (code == 0)
        buf_add(&result, hash.bytes, sizeof hash.bytes);
    buf_add_u32(&result, 0);
    assert_int_equal(xdr_check(XDR_TransactionResult, buf_bytes(&result)), ERR_OK);
    return result;
}

static bool proves(uint32_t version, uint32_t events, int32_t code, uint32_t hashed_events)
{
    CLEANUP(buf_free) struct buf meta = meta_of(version, events), result = result_of(code, hashed_events);
    const struct bytes found = return_value(buf_bytes(&result), buf_bytes(&meta));
    const bool proved = bytes_equal(found, BYTES_OF(value));
    assert_true(proved || found.len == 0);
    return proved;
}

TEST(a_value_is_returned_only_if_the_result_has_its_hash_with_the_events)
{
    for (uint32_t version = 3; version <= 4; version++)
        for (uint32_t events = 0; events <= 2; events++) {
            assert_true(proves(version, events, 0, events));
            assert_false(proves(version, events, 0, events + 1));
            assert_false(proves(version, events, -2, events));
        }
}

/* A DiagnosticEvent with this topic and words. */
static void add_diagnostic(struct buf *out, const char topic[static 8], const char *words, uint32_t len)
{
    buf_add_u32(out, 0);
    add_zeros(out, 2);
    buf_add_u32(out, 2); /* diagnostic */
    buf_add_u32(out, 0);
    buf_add_u32(out, 2); /* topics */
    buf_add_u32(out, 15);
    buf_add_u32(out, 5);
    buf_add(out, topic, 8);
    buf_add_u32(out, 2); /* Error(Auth, ExistingValue) */
    buf_add_u32(out, 9);
    buf_add_u32(out, 4);
    buf_add_u32(out, 14);
    buf_add_u32(out, len);
    buf_add(out, words, len);
}

TEST(of_a_call_that_failed_the_events_from_the_first_error_on_are_returned_up_to_4_KiB)
{
    static const char long_words[1600] = "x", frame[] = "frame is already authorized!",
                      nonce[] = "nonce already exists for address";
    CLEANUP(buf_free) struct buf result = result_of(-2, 0), empty = meta_of(4, 1), errors = {0}, meta = {0};
    const size_t tail = 4;
    assert_int_equal(return_value(buf_bytes(&result), buf_bytes(&empty)).len, 0);
    buf_add(&meta, empty.data, empty.len - tail);
    buf_add_u32(&meta, 5);
    add_diagnostic(&meta, "calls\0\0", "", 0);
    add_diagnostic(&errors, "error\0\0", "used", 4);
    add_diagnostic(&errors, "other\0\0", long_words, sizeof long_words);
    buf_add_bytes(&meta, buf_bytes(&errors));
    add_diagnostic(&meta, "error\0\0", long_words, sizeof long_words); /* it does not fit */
    add_diagnostic(&meta, "error\0\0", "", 0);                         /* would leave a hole */
    assert_int_equal(xdr_check(XDR_TransactionMeta, buf_bytes(&meta)), ERR_OK);
    assert_true(bytes_equal(return_value(buf_bytes(&result), buf_bytes(&meta)), buf_bytes(&errors)));
    assert_true(return_value_nonce_used(buf_bytes(&errors)));
    add_diagnostic(&errors, "error\0\0", frame, sizeof frame - 1);
    assert_false(return_value_nonce_used(buf_bytes(&errors)));
    add_diagnostic(&errors, "error\0\0", nonce, sizeof nonce - 1); /* the other words are an argument */
    assert_true(return_value_nonce_used(buf_bytes(&errors)));
    assert_false(return_value_nonce_used((struct bytes){0}));
}

TEST(without_a_call_or_metadata_there_is_no_value)
{
    CLEANUP(buf_free) struct buf meta = meta_of(4, 1), result = result_of(0, 1);
    static const uint8_t payment[] = {
        0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
    assert_int_equal(return_value(BYTES_OF(payment), buf_bytes(&meta)).len, 0);
    assert_int_equal(return_value((struct bytes){0}, buf_bytes(&meta)).len, 0);
    assert_int_equal(return_value(buf_bytes(&result), (struct bytes){0}).len, 0);
}
