/* Rules of base/text.h: each value has one spelling; hexadecimal digits may be of either case. */
#include <string.h>

#include "check.h"
#include "base/mem.h"
#include "base/text.h"

TEST(base64_round_trips_every_length)
{
    uint8_t data[67];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 37 + 11);
    for (size_t len = 0; len <= sizeof data; len++) {
        AUTO_FREE char *text = base64_encode((struct bytes){data, len});
        struct buf out = {0};
        assert_int_equal(base64_decode(text, strlen(text), &out), ERR_OK);
        assert_true(bytes_equal(buf_bytes(&out), (struct bytes){data, len}));
        buf_free(&out);
        size_t in_place;
        assert_int_equal(base64_decode_to(text, strlen(text), (uint8_t *)text, &in_place), ERR_OK);
        assert_true(bytes_equal((struct bytes){(uint8_t *)text, in_place}, (struct bytes){data, len}));
    }
}

TEST(base64_gives_the_texts_of_RFC_4648)
{
    static const char *const pairs[][2] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        AUTO_FREE char *text =
            base64_encode((struct bytes){(const uint8_t *)pairs[i][0], strlen(pairs[i][0])});
        assert_string_equal(text, pairs[i][1]);
    }
}

TEST(base64_refuses_what_is_not_canonical)
{
    static const char *const bad[] = {
        "Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zg==Zg==", "Zm 9", "Zm9v\n", "====", "Z===", "Zm-_", "Zm9\x80"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct buf out CLEANUP(buf_free) = {0};
        assert_int_equal(base64_decode(bad[i], strlen(bad[i]), &out), ERR_MALFORMED);
    }
}

TEST(hex_accepts_exactly_its_digits)
{
    uint8_t out[2];
    char text[5];
    assert_int_equal(hex_decode("00fF", 4, out, 2), ERR_OK);
    hex_encode(out, 2, text);
    assert_string_equal(text, "00ff");
    assert_int_equal(hex_decode("00f", 3, out, 2), ERR_MALFORMED);
    assert_int_equal(hex_decode("00fff", 5, out, 2), ERR_MALFORMED);
    assert_int_equal(hex_decode("00fg", 4, out, 2), ERR_MALFORMED);
}

TEST(numbers_have_one_spelling)
{
    uint64_t u;
    int64_t i;
    assert_int_equal(text_to_u64("18446744073709551615", UINT64_MAX, &u), ERR_OK);
    assert_true(u == UINT64_MAX);
    assert_int_equal(text_to_u64("300", 300, &u), ERR_OK);
    assert_int_equal(text_to_i64("-9223372036854775808", &i), ERR_OK);
    assert_true(i == INT64_MIN);
    static const char *const bad[] = {
        "", "-", "-0", "+1", " 1", "1 ", "01", "1.0", "1e3", "9223372036854775808", "0x10", NULL};
    for (size_t n = 0; n < ARRAY_LEN(bad); n++)
        assert_int_equal(text_to_i64(bad[n], &i), ERR_MALFORMED);
    assert_int_equal(text_to_u64("18446744073709551616", UINT64_MAX, &u), ERR_MALFORMED);
    assert_int_equal(text_to_u64("301", 300, &u), ERR_MALFORMED);
}
