/* Rules of reply_problem_text of src/http/reply.h (RFC 9457). */
#include "client.h"

#include <jansson.h>

#include "reply.h"

static json_t *problem(enum err e, const struct detail *detail, const char *extra)
{
    AUTO_FREE char *text = reply_problem_text(e, detail, "id-1", extra);
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_is_object(object));
    return object;
}

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

TEST(members_are_those_of_the_registry)
{
    const struct detail detail = {"maxFee is \"big\"."};
    json_t *object = problem(ERR_FEE_EXCEEDS_MAXIMUM, &detail, NULL);
    assert_string_equal(text_of(object, "type"), "about:blank");
    assert_string_equal(text_of(object, "title"), "Bad Request");
    assert_int_equal(json_integer_value(json_object_get(object, "status")), 400);
    assert_string_equal(text_of(object, "detail"), "maxFee is \"big\".");
    assert_string_equal(text_of(object, "code"), "FEE_EXCEEDS_MAXIMUM");
    assert_string_equal(text_of(object, "requestId"), "id-1");
    assert_int_equal(json_object_size(object), 6);
    json_decref(object);
}

TEST(detail_of_a_server_error_is_not_sent)
{
    const struct detail detail = {"connection to 10.0.0.7 refused"};
    static const enum err inside[] = {ERR_INTERNAL, ERR_DATABASE_UNAVAILABLE, ERR_XDR_INVALID, ERR_CONFIG};
    for (size_t i = 0; i < ARRAY_LEN(inside); i++) {
        AUTO_FREE char *text = reply_problem_text(inside[i], &detail, "id", NULL);
        assert_null(strstr(text, "10.0.0.7"));
        assert_non_null(strstr(text, err_text(inside[i])));
    }
}

TEST(without_a_detail_the_text_of_the_registry_is_sent)
{
    const struct detail empty = {0};
    json_t *object = problem(ERR_INVALID_HASH, &empty, NULL);
    assert_string_equal(text_of(object, "detail"), err_text(ERR_INVALID_HASH));
    json_decref(object);
}

TEST(a_detail_that_is_not_utf8_still_makes_json)
{
    const struct detail detail = {"unknown member \"\xc3"};
    json_t *object = problem(ERR_INVALID_REQUEST, &detail, NULL);
    assert_string_equal(text_of(object, "detail"), "unknown member \"?");
    json_decref(object);
}

TEST(extra_members_are_added)
{
    json_t *object = problem(ERR_NOT_ELIGIBLE, NULL, "{\"resultCode\":\"txFAILED\"}");
    assert_string_equal(text_of(object, "resultCode"), "txFAILED");
    assert_string_equal(text_of(object, "code"), "ACCOUNT_NOT_ELIGIBLE_FOR_BEING_SPONSORED");
    assert_int_equal(json_integer_value(json_object_get(object, "status")), 400);
    json_decref(object);
}

TEST(every_code_of_the_registry_makes_a_problem)
{
    for (enum err e = ERR_OK + 1; e <= ERR_INTERNAL; e++) {
        json_t *object = problem(e, NULL, NULL);
        assert_string_equal(text_of(object, "code"), err_code(e));
        assert_true(strlen(text_of(object, "title")) > 0);
        assert_string_not_equal(text_of(object, "title"), "Unknown");
        json_decref(object);
    }
}
