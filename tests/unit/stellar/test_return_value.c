/* Rules of stellar/return_value.h. */
#include "check.h"
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
    struct buf result = {0}, image = {0};
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
    buf_free(&image);
    return result;
}

static bool proves(uint32_t version, uint32_t events, int32_t code, uint32_t hashed_events)
{
    struct buf meta = meta_of(version, events), result = result_of(code, hashed_events);
    const struct bytes found = return_value(buf_bytes(&result), buf_bytes(&meta));
    const bool proved = bytes_equal(found, BYTES_OF(value));
    assert_true(proved || found.len == 0);
    buf_free(&meta);
    buf_free(&result);
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

TEST(without_a_call_or_metadata_there_is_no_value)
{
    struct buf meta = meta_of(4, 1), result = result_of(0, 1);
    static const uint8_t payment[] = {
        0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
    assert_int_equal(return_value(BYTES_OF(payment), buf_bytes(&meta)).len, 0);
    assert_int_equal(return_value((struct bytes){0}, buf_bytes(&meta)).len, 0);
    assert_int_equal(return_value(buf_bytes(&result), (struct bytes){0}).len, 0);
    buf_free(&meta);
    buf_free(&result);
}
