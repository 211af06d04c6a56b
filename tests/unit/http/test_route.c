/* Rules of src/http/route.h. */
#include "client.h"

#include "route.h"

static void handler(struct http_request *request, void *context)
{
    (void)request, (void)context;
}

static const struct http_route routes[] = {
    {"GET", "/", 0, handler, NULL, NULL},
    {"POST", "/v1/transactions", 100, handler, NULL, NULL},
    {"GET", "/v1/transactions/{hash}", 0, handler, NULL, NULL},
    {"POST", "/v1/transactions/{hash}", 0, handler, NULL, NULL},
};

static enum err find(struct route_match *match, const char *method, const char *path)
{
    return route_find(routes, ARRAY_LEN(routes), method, path, match);
}

TEST(parameter_takes_one_segment_as_it_was_sent)
{
    struct route_match match;
    assert_int_equal(find(&match, "GET", "/v1/transactions/ab%2fC%"), ERR_OK);
    assert_ptr_equal(match.route, &routes[2]);
    assert_string_equal(match.parameter, "ab%2fC%");
    assert_int_equal(find(&match, "GET", "/"), ERR_OK);
    assert_null(match.parameter);
}

TEST(other_spellings_of_a_path_are_not_found)
{
    static const char *const paths[] = {"/v1", "/v1/transactions/", "/v1/transactions/a/",
        "/v1/transactions/a/b", "//v1/transactions", "/v1//transactions", "/V1/transactions",
        "/v1/transaction%73", "/v1/../v1/transactions", "/v1/transactionsx", ""};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct route_match match;
        assert_int_equal(find(&match, "GET", paths[i]), ERR_NOT_FOUND);
        assert_int_equal(find(&match, "POST", paths[i]), ERR_NOT_FOUND);
        assert_null(match.route);
    }
}

TEST(known_path_with_another_method_names_the_allowed_ones)
{
    struct route_match match;
    assert_int_equal(find(&match, "DELETE", "/v1/transactions/a"), ERR_METHOD_NOT_ALLOWED);
    assert_string_equal(match.allow, "GET, HEAD, POST");
    assert_int_equal(find(&match, "get", "/"), ERR_METHOD_NOT_ALLOWED);
    assert_string_equal(match.allow, "GET, HEAD");
    assert_int_equal(find(&match, "HEAD", "/v1/transactions"), ERR_METHOD_NOT_ALLOWED);
    assert_string_equal(match.allow, "POST");
}
