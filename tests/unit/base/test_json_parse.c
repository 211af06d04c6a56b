/* Rules of json_parse: the values are those that jansson's own parser makes. */
#include <string.h>
#include <time.h>

#include "check.h"
#include "base/json.h"
#include "base/mem.h"

static json_t *parse(const char *text, struct detail *detail)
{
    return json_parse((struct bytes){(const uint8_t *)text, strlen(text)}, detail);
}

static json_t *parse_by_jansson(const char *text)
{
    return json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
}

static void each_text_is_read_as_jansson_reads_it(void **state)
{
    static const char *const texts[] = {"{}", "[]", "null", "true", "false", "0", "-0", "-1", "1.5", "1e3",
        "1E+3", "\"\"", "\"a\"", " { \"a\" : [ 1 , 2 ] , \"b\" : { } } ", "\t\r\n[\n]", "{\"\":1}",
        "[[],[[]],{}]", "[\"]\",\"}\"]",
        /* escapes */
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\u0041\\u00e4\\u20aC\\uD83D\\ude00\"", "\"a\\/b\\/\"",
        "\"\\\\\"", "\"\\\\\\\"\"", "{\"\\u0061\":\"\\u0062\"}", "\"\\uffff\"", "\"\\ud7ff\\ue000\"",
        /* UTF-8 */
        "\"\xc3\xa4\"", "\"\xe2\x82\xac\"", "\"\xf0\x9f\x98\x80\"", "\"\xf4\x8f\xbf\xbf\"", "\"\\n\xc3\xa4\"",
        "\"\x7f\"",
        /* numbers that just fit */
        "9223372036854775807", "-9223372036854775808", "1e308",
        /* refused */
        "", " ", "{", "[", "\"", "\"a", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "[1", "[1,", "{}}",
        "[]]", "{]", "[}", "{\"a\"}", "{\"a\",1}", "{1:2}", "{a:1}", "[1 2]", "[,1]", "[1,]", "{,}",
        "{\"a\":1,}", "[1]x", "1 2", "nul", "nulll", "True", "NaN", "Infinity", "01", "-", "+1", "1.", ".5",
        "1e", "0x1", "1e309", "9223372036854775808", "'a'", "//", "/**/1", "\v1", "{\"a\":1 \"b\":2}",
        "{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":1}", "\"\\\"", "\"\\", "\"\\a\"", "\"\\u\"", "\"\\u12\"",
        "\"\\u12g4\"", "\"\\u0000\"", "\"a\\u0000\"", "\"\\ud800\"", "\"\\ud800x\"", "\"\\ud800\\n\"",
        "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\\ud800\\ud800\"", "\"\n\"", "\"\x1f\"", "\"\\n\x01\"",
        "\"\x80\"", "\"\xc0\x80\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\\n\xff\"",
        "\xff", "\xef\xbb\xbf{}", "\xc2\xa0{}"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct detail detail = {0};
        json_t *ours = parse(texts[i], &detail), *theirs = parse_by_jansson(texts[i]);
        if ((ours == NULL) != (theirs == NULL) || (ours != NULL && !json_equal(ours, theirs)))
            fail_msg("%s: %s", texts[i], detail.text);
        if ((ours == NULL) != (strncmp(detail.text, "The body is not JSON: ", 22) == 0))
            fail_msg("%s: \"%s\"", texts[i], detail.text);
        json_decref(ours);
        json_decref(theirs);
    }
}

static void a_detail_says_where_the_text_goes_wrong(void **state)
{
    static const struct {
        const char *text, *detail;
    } cases[] = {
        {"{\"a\":1,}", "a syntax error at byte 8."},
        {"{\"a\":", "it ends early at byte 5."},
        {"{} x", "something follows its end at byte 4."},
        {"[\"\\u0000\"]", "a string contains a NUL at byte 3."},
        {"{\"a\":1,\"a\":2}", "a member occurs twice at byte 8."},
        {"[\"\xff\"]", "a string is not UTF-8 at byte 3."},
        {"[1e400]", "a number is too large at byte 2."},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct detail detail = {0};
        assert_null(parse(cases[i].text, &detail));
        assert_string_equal(detail.text + strlen("The body is not JSON: "), cases[i].detail);
    }
}

static void DX3_a_number_has_a_longest_length(void **state)
{
    char text[JSON_READ_NUMBER_MAX + 2] = "1.";
    struct detail detail;
    memset(text + 2, '0', JSON_READ_NUMBER_MAX - 2);
    json_t *value = parse(text, &detail);
    assert_true(json_is_real(value));
    json_decref(value);
    strcat(text, "0");
    assert_null(parse(text, &detail));
    assert_string_equal(detail.text, "The body is not JSON: a number is too long at byte 1.");
}

static int64_t cpu_us(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

/* Transactions come as long strings, which some clients escape ("\/"). */
static void DX3_a_long_string_takes_less_time_than_jansson_needs(void **state)
{
    enum {
        SIZE = 4 << 20
    };
    static const char *const pieces[] = {"A", "AAAAAAAAAAAAAA\\/"};
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        const size_t len = strlen(pieces[i]);
        AUTO_FREE char *text = NEW_ARRAY(SIZE + 3, char);
        struct detail detail;
        for (size_t at = 1; at <= SIZE; at += len)
            memcpy(text + at, pieces[i], len);
        text[0] = text[SIZE + 1] = '"';
        const int64_t begun = cpu_us();
        json_t *ours = parse(text, &detail);
        const int64_t between = cpu_us();
        json_t *theirs = parse_by_jansson(text);
        const int64_t ended = cpu_us();
        assert_true(json_equal(ours, theirs));
        json_decref(ours);
        json_decref(theirs);
        print_message("%s: %lld us; jansson: %lld us\n", pieces[i], (long long)(between - begun),
            (long long)(ended - between));
#ifndef FAIRWAY_SANITIZED /* jansson is not instrumented then */
        assert_in_range(between - begun, 0, (ended - between) / 2);
#endif
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_text_is_read_as_jansson_reads_it),
        cmocka_unit_test(a_detail_says_where_the_text_goes_wrong),
        cmocka_unit_test(DX3_a_number_has_a_longest_length),
        cmocka_unit_test(DX3_a_long_string_takes_less_time_than_jansson_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
