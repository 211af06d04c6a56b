/* Rules of the primitive reads of xdr/xdr.h: big endian, checked, position and error kept after an error. */
#include "check.h"
#include "xdr/xdr.h"

static const uint8_t bytes[] = {0xff, 0xfe, 0xfd, 0xfc, 0x80, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2};

TEST(numbers_are_big_endian)
{
    struct xdr_reader reader = xdr_reader(BYTES_OF(bytes));
    assert_int_equal(xdr_u32(&reader), 0xfffefdfc);
    assert_true(xdr_u64(&reader) == 0x8000000100000001);
    assert_int_equal(reader.e, ERR_OK);
    reader = xdr_reader(BYTES_OF(bytes));
    assert_int_equal(xdr_i32(&reader), -66052);
    assert_true(xdr_i64(&reader) == INT64_MIN + 0x100000001);
    assert_int_equal(reader.e, ERR_OK);
}

/* Each read alone, then what comes after an error: zeros, though the bytes would do. */
TEST(missing_bytes_are_not_read)
{
    uint32_t count;
    uint8_t out[16];
    for (int read = 0; read < 8; read++) {
        struct xdr_reader reader = xdr_reader((struct bytes){bytes, read < 4 ? 3 : 7});
        out[0] = 1;
        uint64_t value = read == 0   ? xdr_u32(&reader)
                         : read == 1 ? (uint32_t)xdr_i32(&reader)
                         : read == 2 ? xdr_bool(&reader)
                         : read == 3 ? xdr_count(&reader, UINT32_MAX)
                         : read == 4 ? xdr_u64(&reader)
                         : read == 5 ? (uint64_t)xdr_i64(&reader)
                         : read == 6 ? (xdr_opaque(&reader, out, 8), out[0])
                                     : xdr_take(&reader, XDR_Uint64).len;
        assert_true(value == 0);
        assert_int_equal(reader.e, ERR_XDR_TRUNCATED);
        reader.end = bytes + sizeof bytes;
        assert_int_equal(xdr_u32(&reader), 0);
        assert_null(xdr_take(&reader, XDR_Uint64).data);
        assert_null(xdr_take_array(&reader, XDR_Uint64, UINT32_MAX, &count).data);
        assert_int_equal(count, 0);
        xdr_fail(&reader, ERR_XDR_INVALID);
        assert_ptr_equal(reader.at, bytes);
        assert_int_equal(xdr_end(&reader), ERR_XDR_TRUNCATED);
    }
    struct xdr_reader reader = xdr_reader((struct bytes){bytes, 7});
    xdr_opaque(&reader, out, 7);
    assert_memory_equal(out, bytes, 7);
    assert_int_equal(xdr_end(&reader), ERR_OK);
}

TEST(a_count_or_boolean_above_its_maximum_is_not_consumed)
{
    struct xdr_reader reader = {.at = bytes + 8, .end = bytes + 16};
    assert_true(xdr_bool(&reader));
    assert_int_equal(xdr_end(&reader), ERR_XDR_TRAILING);
    struct xdr_reader count = reader;
    assert_false(xdr_bool(&reader));
    assert_int_equal(reader.e, ERR_XDR_INVALID);
    assert_ptr_equal(reader.at, bytes + 12);
    reader = count;
    assert_int_equal(xdr_count(&reader, 1), 0);
    assert_int_equal(xdr_end(&reader), ERR_XDR_INVALID);
    assert_int_equal(xdr_count(&count, 2), 2);
}
