/* Objects that are written straight into text are JSON, and say the same as a tree would. */
#include "check.h"

#include <jansson.h>

#include "base/mem.h"
#include "base/json_write.h"

TEST(every_kind_of_member_is_read_back)
{
    struct json_write out = {0};
    const uint8_t hash[32] = {0xab, [31] = 1};
    json_write_begin(&out, 1);
    json_write_number(&out, "number", INT64_MIN);
    json_write_decimal(&out, "decimal", INT64_MAX);
    json_write_hex(&out, "hash", BYTES_OF(hash));
    json_write_base64(&out, "bytes", (struct bytes){(const uint8_t *)"ab", 2});
    json_write_base64(&out, "none", (struct bytes){0});
    json_write_text(&out, "text", "plain");
    AUTO_FREE char *text = json_write_end(&out);
    assert_string_equal(text, "{\"number\":-9223372036854775808,\"decimal\":\"9223372036854775807\",\"hash\":"
                              "\"ab00000000000000000000000000000000000000000000000000000000000001\","
                              "\"bytes\":\"YWI=\",\"none\":\"\","
                              "\"text\":\"plain\"}");
}

TEST(objects_and_arrays_are_nested)
{
    struct json_write out = {0};
    json_write_begin(&out, 1);
    json_write_open(&out, "array", '[');
    for (int i = 0; i < 2; i++) {
        json_write_open(&out, NULL, '{');
        json_write_bool(&out, "first", i == 0);
        json_write_null(&out, "null");
        json_write_close(&out, '}');
        json_write_number(&out, NULL, i);
    }
    json_write_close(&out, ']');
    json_write_open(&out, "empty", '{');
    json_write_close(&out, '}');
    json_write_members(&out, "{}");
    json_write_members(&out, "{\"a\":1,\"b\":2}");
    AUTO_FREE char *text = json_write_end(&out);
    assert_string_equal(text,
        "{\"array\":[{\"first\":true,\"null\":null},0,{\"first\":false,\"null\":null},1],"
        "\"empty\":{},\"a\":1,\"b\":2}");
}

TEST(bytes_that_are_not_UTF8_become_question_marks)
{
    struct json_write out = {0};
    json_write_begin(&out, 1);
    json_write_bytes(&out, "t", "\xc3\xa4\"\xc3(\xff");
    AUTO_FREE char *text = json_write_end(&out);
    assert_string_equal(text, "{\"t\":\"\xc3\xa4\\\"?(?\"}");
}

TEST(an_object_without_members_is_empty)
{
    struct json_write out = {0};
    json_write_begin(&out, 0);
    AUTO_FREE char *text = json_write_end(&out);
    assert_string_equal(text, "{}");
}

/* Every byte before, between and after others. jansson is the judge: what it refuses is not written, and what
 * it accepts is read back. */
TEST(any_text_is_escaped_or_found_not_to_be_UTF8)
{
    unsigned accepted = 0;
    for (unsigned pair = 0; pair < 256u * 256u * 4u; pair++) {
        static const char *const after[] = {"", "x", "\x80\x80", "\xbf"};
        const char text[] = {'a', (char)(pair >> 2 & 255), (char)(pair >> 10), '\0'};
        AUTO_FREE char *all = mem_format("%s%s", text, after[pair & 3]);
        json_t *expected = json_string(all);
        struct json_write out = {0};
        json_write_begin(&out, 16);
        json_write_text(&out, "t", all);
        AUTO_FREE char *object = json_write_end(&out);
        assert_int_equal(object != NULL, expected != NULL);
        accepted += expected != NULL;
        if (expected != NULL) {
            json_t *read = json_loads(object, JSON_REJECT_DUPLICATES, NULL);
            assert_non_null(read);
            assert_string_equal(json_string_value(json_object_get(read, "t")), all);
            json_decref(read);
        }
        json_decref(expected);
    }
    assert_in_range(accepted, 1000, 256u * 256u * 4u - 1000);
}
