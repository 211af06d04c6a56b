/* Rules of base/log.h: an event is one line, and no value can end it or look like another field. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "base/log.h"
#include "base/mem.h"

static char line[8192];

/* Runs the statement with standard error in a pipe; what it writes is in line, without the time. */
#define LOGGED(statement)                                                                                    \
    do {                                                                                                     \
        int ends[2], before = dup(STDERR_FILENO);                                                            \
        assert_int_equal(pipe(ends), 0);                                                                     \
        dup2(ends[1], STDERR_FILENO);                                                                        \
        statement;                                                                                           \
        dup2(before, STDERR_FILENO);                                                                         \
        close(before);                                                                                       \
        close(ends[1]);                                                                                      \
        read_line(ends[0]);                                                                                  \
    } while (0)

static void read_line(int fd)
{
    ssize_t len = read(fd, line, sizeof line - 1);
    close(fd);
    line[len < 0 ? 0 : len] = '\0';
    char *level = strstr(line, log_is_json() ? ",\"level\":" : " level=");
    if (level != NULL)
        memmove(line, level + 1, strlen(level));
}

TEST(an_event_is_one_line_with_its_fields)
{
    LOGGED(log_info("ledger committed", "ledger=%u settled=%zu lag_s=%" PRId64 " fee=%d share=%.1f hash=%s",
        7u, (size_t)3, INT64_MIN, -5, 0.25, "abc"));
    assert_string_equal(line,
        "level=info msg=\"ledger committed\" ledger=7 settled=3 lag_s=-9223372036854775808"
        " fee=-5 share=0.250 hash=abc\n");
    LOGGED(log_error("no fields", NULL));
    assert_string_equal(line, "level=error msg=\"no fields\"\n");
    LOGGED(log_warn("cut", "text=\"%.3s\" big=%" PRIu64 " long=%ld", "abcdef", UINT64_MAX, -1L));
    assert_string_equal(line, "level=warn msg=\"cut\" text=\"abc\" big=18446744073709551615 long=-1\n");
}

TEST(a_quoted_value_is_escaped)
{
    static const char *const cases[][2] = {
        {"say \"no\"", "say \\\"no\\\""},
        {"a\\b", "a\\\\b"},
        {"one\ntwo\r\tthree", "one\\ntwo\\r\\tthree"},
        {"\x1b[31m\x7f", "\\x1b[31m\\x7f"},
        {"\" level=error msg=\"forged", "\\\" level=error msg=\\\"forged"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xc2\x9b"
         "2J\xc2\xa0\x9b",
            "\\x9b2J\xc2\xa0\\x9b"}, /* U+009B begins what ESC [ does */
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *expected = mem_format("level=info msg=\"m\" detail=\"%s\" next=1\n", cases[i][1]);
        LOGGED(log_info("m", "detail=\"%s\" next=%d", cases[i][0], 1));
        assert_string_equal(line, expected);
    }
}

TEST(a_value_without_quotes_gets_them_when_it_needs_them)
{
    LOGGED(log_info("m", "id=%s next=%d", "abc-1.2:/+", 1));
    assert_string_equal(line, "level=info msg=\"m\" id=abc-1.2:/+ next=1\n");
    LOGGED(log_info("m", "id=%s next=%d", "a level=error", 1));
    assert_string_equal(line, "level=info msg=\"m\" id=\"a level=error\" next=1\n");
    LOGGED(log_info("m", "id=%s next=%d", "a\nb", 1));
    assert_string_equal(line, "level=info msg=\"m\" id=\"a\\nb\" next=1\n");
}

TEST(a_long_value_is_cut_and_its_quote_closed)
{
    static char text[4000];
    memset(text, '"', sizeof text - 1);
    LOGGED(log_info("m", "detail=\"%s\" next=%d", text, 1));
    size_t len = strlen(line), backslashes = 0;
    assert_true(len < 2048 && len > 2000);
    assert_string_equal(line + len - 2, "\"\n");
    while (line[len - 3 - backslashes] == '\\')
        backslashes++;
    assert_int_equal(backslashes % 2, 0); /* the last quote is not escaped */
    assert_null(strstr(line, "next="));
}

/* What follows is of LOG_FORMAT=json. */
static int as_json(void **state)
{
    return log_set_format("JSON") == ERR_OK ? 0 : 1;
}

static int as_logfmt(void **state)
{
    return log_set_format("logfmt") == ERR_OK ? 0 : 1;
}

TEST_WITH(a_json_line_has_the_same_members, as_json, as_logfmt)
{
    LOGGED(log_info("ledger committed",
        "ledger=%u settled=%zu lag_s=%" PRId64
        " fee=%d share=%.1f hash=%s digits=%s at=%s:%d sql=\"f(%d) = 1\"",
        7u, (size_t)3, INT64_MIN, -5, 0.25, "abc", "12", "file.c", 9, 4));
    assert_string_equal(line,
        "\"level\":\"info\",\"msg\":\"ledger committed\",\"ledger\":7,\"settled\":3,"
        "\"lag_s\":-9223372036854775808,\"fee\":-5,\"share\":0.250,\"hash\":\"abc\",\"digits\":\"12\","
        "\"at\":\"file.c:9\",\"sql\":\"f(4) = 1\"}\n");
    LOGGED(log_error("no fields", NULL));
    assert_string_equal(line, "\"level\":\"error\",\"msg\":\"no fields\"}\n");
    LOGGED(log_warn("odd", "text=\"%.3s\" none=%s big=%" PRIu64, "abcdef", "", UINT64_MAX));
    assert_string_equal(line,
        "\"level\":\"warn\",\"msg\":\"odd\",\"text\":\"abc\",\"none\":\"\",\"big\":18446744073709551615}\n");
    assert_int_equal(log_set_format("xml"), ERR_CONFIG);
    assert_true(log_is_json());
}

TEST_WITH(a_json_value_is_escaped, as_json, as_logfmt)
{
    static const char *const cases[][2] = {
        {"say \"no\" a\\b", "say \\\"no\\\" a\\\\b"},
        {"one\ntwo\r\tthree", "one\\u000atwo\\u000d\\u0009three"},
        {"\x1b[31m\x7f", "\\u001b[31m\\u007f"},
        {"\",\"level\":\"error", "\\\",\\\"level\\\":\\\"error"},
        {"gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\x80", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\x80"},
        {"\xff \xc0\x80 \xed\xa0\x80", "\\ufffd \\ufffd\\ufffd \\ufffd\\ufffd\\ufffd"},
        {"cut \xe2\x82", "cut \\ufffd\\ufffd"},
        {"\xc2\x9b", "\\u009b"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *expected =
            mem_format("\"level\":\"info\",\"msg\":\"m\",\"detail\":\"%s\",\"bare\":\"%s\",\"next\":1}\n",
                cases[i][1], cases[i][1]);
        LOGGED(log_info("m", "detail=\"%s\" bare=%s next=%d", cases[i][0], cases[i][0], 1));
        assert_string_equal(line, expected);
    }
    LOGGED(log_info("m", "detail=%.2s next=%d", "a\xc3\xbc", 1)); /* the precision cuts a character */
    assert_string_equal(line, "\"level\":\"info\",\"msg\":\"m\",\"detail\":\"a\\ufffd\",\"next\":1}\n");
}

/* Wherever a line is full, it is a JSON object and has whole members. */
TEST_WITH(a_long_json_line_is_cut_and_whole, as_json, as_logfmt)
{
    static const char *const fill[] = {"x", "\"", "\xc3\xbc", "\x01", "\xff"};
    static char text[4200];
    for (size_t f = 0; f < ARRAY_LEN(fill); f++)
        for (size_t count = 300; count < 2100; count++) {
            char *end = text;
            for (size_t i = 0; i < count; i++)
                end = stpcpy(end, fill[f]);
            LOGGED(log_info("m", "detail=\"%s\" number=%" PRIu64 " text=%s", text, UINT64_MAX, text));
            assert_true(strlen(line) < 2048);
            AUTO_FREE char *whole = mem_format("{%s", line);
            json_t *object = json_loads(whole, JSON_DECODE_INT_AS_REAL, NULL);
            assert_non_null(object);
            const json_t *number = json_object_get(object, "number");
            assert_true(number == NULL || json_real_value(number) > 1e19);
            json_decref(object);
        }
}
