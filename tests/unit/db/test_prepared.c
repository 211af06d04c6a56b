/* Rules of prepared.h: how statements are found and confirmed. */

#include "check.h"
#include "prepared.h"

static const char first_sql[] = "SELECT $1", second_sql[] = "SELECT $1 ";
static const struct db_param number = DB_I64(1), text = DB_TEXT("a"), none = DB_NONE;

static size_t find(struct prepared *prepared, const char *sql, const struct db_param *param, size_t count)
{
    struct params params CLEANUP(params_free) = {0};
    params_encode(&params, param, count);
    size_t at = prepared_find(prepared, sql, &params);
    return at;
}

TEST(a_statement_is_found_by_its_text_and_types)
{
    struct prepared prepared = {0};
    size_t at = find(&prepared, first_sql, &number, 1);
    char copy[] = "SELECT $1";
    assert_int_equal(find(&prepared, copy, &number, 1), at);
    assert_int_not_equal(find(&prepared, second_sql, &number, 1), at);
    assert_int_not_equal(find(&prepared, first_sql, &text, 1), at);
    assert_int_not_equal(find(&prepared, first_sql, &none, 1), at);
    assert_int_not_equal(find(&prepared, first_sql, NULL, 0), at);
    assert_int_equal(find(&prepared, first_sql, &number, 1), at);
    assert_int_equal(prepared.count, 5);
    for (size_t i = 0; i < prepared.count; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(prepared.items[i].name, prepared.items[j].name);
    prepared_forget(&prepared);
    assert_int_equal(prepared.count, 0);
}

TEST(unconfirmed_statements_are_not_prepared)
{
    struct prepared prepared = {0};
    size_t sent = find(&prepared, first_sql, &number, 1), ready = find(&prepared, second_sql, &number, 1);
    prepared.items[sent].state = PREPARED_SENT;
    prepared.items[ready].state = PREPARED_READY;
    prepared_settle(&prepared);
    assert_int_equal(prepared.items[sent].state, PREPARED_NOT);
    assert_int_equal(prepared.items[ready].state, PREPARED_READY);
    prepared_forget(&prepared);
}
