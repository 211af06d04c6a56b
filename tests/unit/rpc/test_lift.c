/* Rules of lift: which strings are taken out of a JSON text, and that the rest stays as it is. */
#include <string.h>

#include "base/mem.h"
#include "check.h"
#include "lift.h"

static struct lift lifted = {.member = "meta"};

static void lift_text(const char *text)
{
    struct buf copy = {0};
    buf_add(&copy, text, strlen(text));
    lift_values(&lifted, copy);
}

static void check_rest(const char *text, const char *rest, size_t count)
{
    lift_text(text);
    assert_int_equal(lifted.count, count);
    assert_true(bytes_equal(buf_bytes(&lifted.rest), (struct bytes){(const uint8_t *)rest, strlen(rest)}));
}

TEST(values_of_the_member_are_decoded_in_place)
{
    check_rest("{\"a\":[{\"meta\":\"Zm9vYmFy\",\"b\":1},{\"meta\" :\n\"Zg==\"},{\"meta\":\"\"}]}",
        "{\"a\":[{\"meta\":\"0\",\"b\":1},{\"meta\" :\n\"1\"},{\"meta\":\"2\"}]}", 3);
    assert_true(bytes_equal(lifted.items[0], (struct bytes){(const uint8_t *)"foobar", 6}));
    assert_true(bytes_equal(lifted.items[1], (struct bytes){(const uint8_t *)"f", 1}));
    assert_int_equal(lifted.items[2].len, 0);
    for (size_t i = 0; i < lifted.count; i++)
        assert_true(lifted.items[i].data >= lifted.text.data &&
                    lifted.items[i].data + lifted.items[i].len <= lifted.text.data + lifted.text.len);
}

TEST(what_is_no_base64_becomes_null)
{
    check_rest("{\"meta\":\"Zg=\"}", "{\"meta\":null}", 0);
    check_rest("{\"meta\":\"Zh==\"}", "{\"meta\":null}", 0);
    check_rest("{\"meta\":\"0\"}", "{\"meta\":null}", 0); /* or it would be the place of another one */
    check_rest("{\"meta\":\"AA\\/A\",\"c\":2}", "{\"meta\":null,\"c\":2}", 0);
    check_rest("{\"meta\":\"AA\\\"\",\"c\":2}", "{\"meta\":null,\"c\":2}", 0);
}

TEST(other_strings_stay)
{
    static const char *const texts[] = {
        "{\"a\":\"Zg==\"}",
        "{\"a\":\"meta\",\"b\":\"Zg==\"}",
        "[\"meta\",\"Zg==\"]",
        "{\"meta2\":\"Zg==\",\"xmeta\":\"Zg==\",\"a\\\"meta\":\"Zg==\",\"a\\\\\":\"meta\"}",
        "{\"meta\":7,\"b\":\"Zg==\"}",
        "{\"meta\":[\"Zg==\"]}",
        "{\"meta\"::\"Zg==\"}",
        "{\"meta\" \"Zg==\"}",
        "{\"meta\":\"Zg==",
        "{\"meta\":\"Zg==\\\"",
        "{\"meta\":",
        "\"",
        "\"\\",
        "",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        check_rest(texts[i], texts[i], 0);
}

TEST(no_more_than_the_limits_are_kept)
{
    struct buf text = {0};
    for (size_t i = 0; i <= LIFT_MAX; i++)
        buf_add(&text, "\"meta\":\"Zg==\",", 14);
    lift_values(&lifted, text);
    assert_int_equal(lifted.count, LIFT_MAX);
    assert_memory_equal(lifted.rest.data + lifted.rest.len - 12, "\"meta\":null,", 12);

    text = (struct buf){0};
    buf_add(&text, "\"meta\":\"Zg==\",\"", 15);
    for (size_t i = 0; i < LIFT_REST_MAX; i++)
        buf_add(&text, "x", 1);
    buf_add(&text, "\"", 1);
    lift_values(&lifted, text);
    assert_int_equal(lifted.rest.len, 0);
}

static int clean_up(void **state)
{
    lift_free(&lifted);
    return 0;
}

GROUP_FIXTURE(NULL, clean_up)
