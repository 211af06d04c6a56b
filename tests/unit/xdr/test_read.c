/* Rules of the primitive reads of xdr/xdr.h: big endian, checked, position kept after an error. */
#include "check.h"
#include "xdr/xdr.h"

static const uint8_t bytes[] = {0xff, 0xfe, 0xfd, 0xfc, 0x80, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2};

TEST(numbers_are_big_endian)
{
    uint32_t u32;
    int32_t i32;
    uint64_t u64;
    int64_t i64;
    struct xdr_reader reader = xdr_reader(BYTES_OF(bytes));
    assert_int_equal(xdr_u32(&reader, &u32), ERR_OK);
    assert_int_equal(u32, 0xfffefdfc);
    assert_int_equal(xdr_u64(&reader, &u64), ERR_OK);
    assert_true(u64 == 0x8000000100000001);
    reader = xdr_reader(BYTES_OF(bytes));
    assert_int_equal(xdr_i32(&reader, &i32), ERR_OK);
    assert_int_equal(i32, -66052);
    assert_int_equal(xdr_i64(&reader, &i64), ERR_OK);
    assert_true(i64 == INT64_MIN + 0x100000001);
}

TEST(missing_bytes_are_not_read)
{
    uint32_t u32;
    int32_t i32;
    uint64_t u64;
    int64_t i64;
    bool flag;
    uint8_t out[16];
    struct xdr_reader reader = xdr_reader((struct bytes){bytes, 3});
    assert_int_equal(xdr_u32(&reader, &u32), ERR_XDR_TRUNCATED);
    assert_int_equal(xdr_i32(&reader, &i32), ERR_XDR_TRUNCATED);
    assert_int_equal(xdr_bool(&reader, &flag), ERR_XDR_TRUNCATED);
    assert_int_equal(xdr_count(&reader, 1, &u32), ERR_XDR_TRUNCATED);
    reader = xdr_reader((struct bytes){bytes, 7});
    assert_int_equal(xdr_u64(&reader, &u64), ERR_XDR_TRUNCATED);
    assert_int_equal(xdr_i64(&reader, &i64), ERR_XDR_TRUNCATED);
    assert_int_equal(xdr_opaque(&reader, out, 8), ERR_XDR_TRUNCATED);
    assert_ptr_equal(reader.at, bytes);
    assert_int_equal(xdr_opaque(&reader, out, 7), ERR_OK);
    assert_memory_equal(out, bytes, 7);
    assert_int_equal(xdr_end(&reader), ERR_OK);
}

TEST(a_count_or_boolean_above_its_maximum_is_not_consumed)
{
    uint32_t count;
    bool flag;
    struct xdr_reader reader = {.at = bytes + 8, .end = bytes + 16};
    assert_int_equal(xdr_bool(&reader, &flag), ERR_OK);
    assert_true(flag);
    assert_int_equal(xdr_bool(&reader, &flag), ERR_XDR_INVALID);
    assert_int_equal(xdr_count(&reader, 1, &count), ERR_XDR_INVALID);
    assert_ptr_equal(reader.at, bytes + 12);
    assert_int_equal(xdr_end(&reader), ERR_XDR_TRAILING);
    assert_int_equal(xdr_count(&reader, 2, &count), ERR_OK);
    assert_int_equal(count, 2);
}
