/* Rules of base/json.h. */
#include <string.h>

#include "check.h"
#include "base/clock.h"
#include "base/json.h"
#include "slowness.h"

static enum err read_text(const char *text, json_t **out, struct detail *detail)
{
    *detail = (struct detail){0};
    return json_read_object((struct bytes){(const uint8_t *)text, strlen(text)}, out, detail);
}

static json_t *object_of(const char *text)
{
    json_t *object;
    struct detail detail;
    if (read_text(text, &object, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    return object;
}

TEST(anything_but_one_strict_object_is_refused)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "empty"},
        {" ", "expected"},
        {"[]", "not an object"},
        {"null", "not an object"},
        {"\"{}\"", "not an object"},
        {"{", "expected"},
        {"{}{}", "end of file expected"},
        {"{} x", "end of file expected"},
        {"{\"a\":1,\"a\":1}", "duplicate"},
        {"{\"a\":1,\"\\u0061\":2}", "duplicate"},
        {"{\"a\":\"\\u0000\"}", "NUL"},
        {"{\"\\u0000\":1}", "NUL"},
        {"{\"a\":\"\xff\"}", "unable to decode"},
        {"{\"a\":\"\xc0\x80\"}", "unable to decode"},
        {"{\"a\":\"\xed\xa0\x80\"}", "unable to decode"},
        {"\xef\xbb\xbf{}", "not JSON"},
        {"{\"a\":01}", "not JSON"},
        {"{a:1}", "not JSON"},
        {"{\"a\":1,}", "not JSON"},
        {"{'a':1}", "not JSON"},
        {"{\"a\":NaN}", "not JSON"},
        {"{\"a\":1e400}", "overflow"},
        {"{\"a\":9223372036854775808}", "too big"},
        {"{\"a\":\"\\ud800\"}", "not JSON"},
        {"{\"a\":\"\n\"}", "not JSON"},
        {"{\"a\":[[[[[[[[1]]]]]]]]}", "deep"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        json_t *object = (json_t *)&object;
        struct detail detail;
        if (read_text(bad[i].text, &object, &detail) != ERR_INVALID_JSON)
            fail_msg("taken: %s", bad[i].text);
        assert_null(object);
        if (strstr(detail.text, bad[i].why) == NULL)
            fail_msg("%s: %s", bad[i].text, detail.text);
    }
}

/* jansson alone ignores it after a number. */
TEST(DX4_a_NUL_anywhere_is_refused)
{
    static const char text[] = "{\"a\":\"b\",\"c\":12,\"d\":[1.5,true,null]}";
    for (size_t at = 0; at < sizeof text; at++) {
        uint8_t changed[sizeof text];
        json_t *object;
        struct detail detail;
        memcpy(changed, text, at);
        changed[at] = '\0';
        memcpy(changed + at + 1, text + at, sizeof text - 1 - at);
        assert_int_equal(
            json_read_object((struct bytes){changed, sizeof changed}, &object, &detail), ERR_INVALID_JSON);
        assert_non_null(strstr(detail.text, "a NUL at byte"));
    }
}

TEST(brackets_inside_strings_are_not_depth)
{
    AUTO_JSON json_t *object =
        object_of("{\"a\":\"[[[[[[[[[[{{{{{{\\\"[[[[[[[[[\\\\\",\"b\":[[[[[[[]]]]]]]}");
    assert_true(json_read_has(object, "a"));
}

static size_t allocated, allocated_most;

static void *counting_malloc(size_t size)
{
    size_t *block = malloc(sizeof(size_t) * 2 + size);
    *block = size;
    allocated += size;
    if (allocated > allocated_most)
        allocated_most = allocated;
    return block + 2;
}

static void counting_free(void *data)
{
    if (data == NULL)
        return;
    size_t *block = (size_t *)data - 2;
    allocated -= *block;
    free(block);
}

/* Repeats a piece of JSON, numbered where it has %, to about 1 MiB. */
static char *repeated(const char *begin, const char *piece, const char *end)
{
    enum {
        SIZE = 1 << 20
    };
    char *text = NEW_ARRAY(SIZE + 200, char), *at = text;
    at += sprintf(at, "%s", begin);
    for (int i = 0; at < text + SIZE; i++)
        for (const char *from = piece; *from != '\0'; from++)
            at += *from == '%' ? sprintf(at, "%d", i) : sprintf(at, "%c", *from);
    strcpy(at, end);
    return text;
}

TEST(DX3_malicious_sizes_are_refused_in_little_time_and_memory)
{
    static const struct {
        const char *begin, *piece, *end;
    } bodies[] = {{"", "[", ""}, {"", "{\"a\":", "1"}, {"{\"a\":", "9", "}"}, {"{\"a\":1e", "9", "}"},
        {"{", "\"a\":1,", "\"b\":1}"}, {"{", "\"a%\":1,", "\"b\":1}"}, {"{", "\"a%\":{},", "\"b\":1}"},
        {"{\"a\":[", "[],", "1]}"}, {"{\"a\":[", "{},", "1]}"}, {"{\"a\":[", "\"\",", "1]}"},
        {"{\"a\":\"", "\\u0000", "\"}"}, {"{\"a\":\"", "\xff", "\"}"}, {"{\"a\":\"", "\\ud800", "\"}"},
        {"{\"", "\\x", "\":1}"}, {"", ",", ""}, {"", "\"", ""}, {"", "]", ""}};
    json_set_alloc_funcs(counting_malloc, counting_free);
    int64_t took_ms = 0;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        json_t *object;
        struct detail detail;
        AUTO_FREE char *text = repeated(bodies[i].begin, bodies[i].piece, bodies[i].end);
        allocated_most = 0;
        const int64_t start = clock_ms();
        assert_int_equal(read_text(text, &object, &detail), ERR_INVALID_JSON);
        took_ms += clock_ms() - start;
        if (allocated_most > 4 * strlen(text))
            fail_msg("%zu bytes for %.20s", allocated_most, text);
        assert_int_equal(allocated, 0);
    }
    assert_true(took_ms < slower(500));
    json_set_alloc_funcs(malloc, free);
}

static bool within(const char *json, size_t values, unsigned depth)
{
    struct detail why = {0};
    const bool is_within =
        json_is_within((struct bytes){(const uint8_t *)json, strlen(json)}, depth, values, &why);
    assert_int_equal(why.text[0] == '\0', is_within);
    return is_within;
}

TEST(values_are_counted_outside_strings)
{
    static const struct {
        const char *json;
        size_t values;
    } cases[] = {
        {"1", 1}, {"[[],[],[]]", 7}, {"{\"a\":1,\"b\":[2,3]}", 5}, {"{\"a\":\"[,:{}]\\\",,,\\\\\"}", 2},
        {"[\"a,b", 2},   /* ends in a string */
        {"[\"a,b\\", 2}, /* and in an escape */
        {"]]]]],,,", 4}, /* no JSON */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_true(within(cases[i].json, cases[i].values, 9));
        assert_false(within(cases[i].json, cases[i].values - 1, 9));
    }
}

TEST(depth_is_that_of_the_deepest_value)
{
    assert_true(within("[[{\"a\":\"[[[[\"}],[]]", 99, 3));
    assert_false(within("[[{\"a\":\"[[[[\"}],[]]", 99, 2));
    assert_true(within("]]]][[", 99, 2)); /* no JSON */
}

TEST(a_body_may_have_as_many_values_as_are_allowed)
{
    char text[1000] = "{\"a\":[0";
    for (int i = 0; i < JSON_READ_VALUES - 3; i++)
        strcat(text, ",0");
    json_t *object;
    struct detail detail;
    strcat(text, "],\"b\":1}");
    assert_int_equal(read_text(text, &object, &detail), ERR_INVALID_JSON);
    assert_string_equal(detail.text, "The body has more than 64 values.");
    strcpy(strstr(text, "],\"b\""), "]}");
    json_decref(object_of(text));
}

TEST(unknown_members_are_refused_by_name)
{
    static const char *const known[] = {"transactionXdr", "timeoutSeconds"};
    struct detail detail;
    AUTO_JSON json_t *good = object_of("{\"timeoutSeconds\":30,\"transactionXdr\":\"A\"}");
    assert_int_equal(json_read_only(good, known, ARRAY_LEN(known), &detail), ERR_OK);
    AUTO_JSON json_t *typo = object_of("{\"transactionXdr\":\"A\",\"timeout\":30}");
    assert_int_equal(json_read_only(typo, known, ARRAY_LEN(known), &detail), ERR_INVALID_REQUEST);
    assert_non_null(strstr(detail.text, "\"timeout\"; the known ones are: transactionXdr, timeoutSeconds."));
    AUTO_JSON json_t *empty = object_of("{}");
    assert_int_equal(json_read_only(empty, NULL, 0, &detail), ERR_OK);
}

TEST(null_counts_as_absent)
{
    struct detail detail;
    const char *text;
    AUTO_JSON json_t *object = object_of("{\"a\":null,\"b\":0}");
    assert_false(json_read_has(object, "a"));
    assert_true(json_read_has(object, "b"));
    assert_false(json_read_has(object, "c"));
    assert_int_equal(json_read_text(object, "a", &text, &detail), ERR_INVALID_REQUEST);
    assert_string_equal(detail.text, "a is missing.");
}

TEST(text_must_be_a_string)
{
    struct detail detail;
    const char *text;
    AUTO_JSON json_t *object = object_of("{\"a\":\"b\",\"n\":1}");
    assert_int_equal(json_read_text(object, "a", &text, &detail), ERR_OK);
    assert_string_equal(text, "b");
    assert_int_equal(json_read_text(object, "n", &text, &detail), ERR_INVALID_REQUEST);
    assert_string_equal(detail.text, "n must be a string.");
    assert_int_equal(json_read_text(object, "x", &text, &detail), ERR_INVALID_REQUEST);
    assert_string_equal(detail.text, "x is missing.");
}

TEST(numbers_are_whole_and_within_bounds)
{
    struct detail detail;
    uint64_t value;
    AUTO_JSON json_t *object = object_of(
        "{\"lo\":19,\"min\":20,\"max\":300,\"hi\":301,\"neg\":-1,\"real\":20.0,\"exp\":2e1,\"text\":\"20\"}");
    assert_int_equal(json_read_number(object, "min", 20, 300, &value, &detail), ERR_OK);
    assert_int_equal(value, 20);
    assert_int_equal(json_read_number(object, "max", 20, 300, &value, &detail), ERR_OK);
    assert_int_equal(value, 300);
    static const char *const bad[] = {"lo", "hi", "neg", "real", "exp", "text", "none"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(json_read_number(object, bad[i], 20, 300, &value, &detail), ERR_INVALID_REQUEST);
        assert_int_equal(strncmp(detail.text, bad[i], strlen(bad[i])), 0);
    }
    assert_int_equal(json_read_number(object, "lo", 20, 300, &value, &detail), ERR_INVALID_REQUEST);
    assert_string_equal(detail.text, "lo must be from 20 to 300.");
}

TEST(decimals_are_strings_within_bounds)
{
    struct detail detail;
    uint64_t value;
    AUTO_JSON json_t *object =
        object_of("{\"max\":\"18446744073709551615\",\"over\":\"18446744073709551616\","
                  "\"zero\":\"0\",\"lead\":\"01\",\"plus\":\"+1\",\"neg\":\"-1\","
                  "\"space\":\" 1\",\"empty\":\"\",\"number\":1}");
    assert_int_equal(json_read_decimal(object, "max", 0, UINT64_MAX, &value, &detail), ERR_OK);
    assert_true(value == UINT64_MAX);
    assert_int_equal(json_read_decimal(object, "zero", 0, 5, &value, &detail), ERR_OK);
    assert_int_equal(json_read_decimal(object, "zero", 1, 5, &value, &detail), ERR_INVALID_REQUEST);
    static const char *const bad[] = {"over", "lead", "plus", "neg", "space", "empty", "number", "none"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(
            json_read_decimal(object, bad[i], 0, UINT64_MAX, &value, &detail), ERR_INVALID_REQUEST);
}
