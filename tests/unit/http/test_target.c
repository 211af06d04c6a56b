/* Rules of src/http/target.h. */
#include "client.h"

#include "target.h"

static enum err parse(struct target *target, const char *raw)
{
    struct detail detail;
    return target_parse(target, raw, &detail);
}

TEST(query_is_split_from_the_path_and_decoded)
{
    struct target target CLEANUP(target_wipe);
    assert_int_equal(parse(&target, "/v1/pool?wait=60&after=G%41+b%2B&flag&&last=a=b"), ERR_OK);
    assert_string_equal(target.path, "/v1/pool");
    assert_string_equal(target_query(&target, "wait"), "60");
    assert_string_equal(target_query(&target, "after"), "GA b+");
    assert_string_equal(target_query(&target, "flag"), "");
    assert_string_equal(target_query(&target, "last"), "a=b");
    assert_null(target_query(&target, "WAIT"));
    assert_null(target_query(&target, ""));
}

TEST(path_stays_as_sent)
{
    struct target target CLEANUP(target_wipe);
    assert_int_equal(parse(&target, "/a%2Fb+c/?"), ERR_OK);
    assert_string_equal(target.path, "/a%2Fb+c/");
    assert_int_equal(target.query_count, 0);
}

TEST(ambiguous_targets_are_refused)
{
    static const char *const bad[] = {
        "",
        "*",
        "http://host/v1/pool",
        "v1/pool",
        "/a?b=%",
        "/a?b=%4",
        "/a?b=%zz",
        "/a?b=%00",
        "/a?%00=b",
        "/a?b=1&b=2",
        "/a?b=1&%62=2",
        "/a\x7f",
        "/a\tb",
        "/\xc3\xa9",
        "/a?b=\xc3\xa9",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct target target CLEANUP(target_wipe);
        struct detail detail = {0};
        assert_int_equal(target_parse(&target, bad[i], &detail), ERR_INVALID_REQUEST);
        assert_true(detail.text[0] != '\0');
    }
}

TEST(query_parameters_are_bounded)
{
    char raw[200] = "/a?";
    struct target target;
    for (int i = 0; i < TARGET_QUERY_MAX; i++)
        snprintf(raw + strlen(raw), sizeof raw - strlen(raw), "p%d=%d&", i, i);
    assert_int_equal(parse(&target, raw), ERR_OK);
    assert_string_equal(target_query(&target, "p15"), "15");
    target_wipe(&target);
    strcat(raw, "more=1");
    assert_int_equal(parse(&target, raw), ERR_INVALID_REQUEST);
    target_wipe(&target);
}
