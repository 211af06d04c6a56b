/* Rules of sqlstate.h: an unknown SQLSTATE is a bug, never a fault of the environment. */
#include "check.h"
#include "base/mem.h"
#include "sqlstate.h"

TEST(each_SQLSTATE_maps_to_its_error)
{
    static const struct {
        const char *state;
        enum err e;
    } cases[] = {
        {"40001", ERR_SERIALIZATION},
        {"40P01", ERR_SERIALIZATION},
        {"0A000", ERR_SERIALIZATION},
        {"26000", ERR_SERIALIZATION},
        {"23505", ERR_CONSTRAINT},
        {"23503", ERR_CONSTRAINT},
        {"23514", ERR_CONSTRAINT},
        {"23P01", ERR_CONSTRAINT},
        {"P0001", ERR_CONSTRAINT},
        {"08006", ERR_DATABASE_UNAVAILABLE},
        {"08P01", ERR_DATABASE_UNAVAILABLE},
        {"25006", ERR_DATABASE_UNAVAILABLE},
        {"25P03", ERR_DATABASE_UNAVAILABLE},
        {"25P04", ERR_DATABASE_UNAVAILABLE},
        {"28P01", ERR_DATABASE_UNAVAILABLE},
        {"3D000", ERR_DATABASE_UNAVAILABLE},
        {"53100", ERR_DATABASE_UNAVAILABLE},
        {"53300", ERR_DATABASE_UNAVAILABLE},
        {"55P03", ERR_DATABASE_UNAVAILABLE},
        {"57014", ERR_DATABASE_UNAVAILABLE},
        {"57P01", ERR_DATABASE_UNAVAILABLE},
        {"57P03", ERR_DATABASE_UNAVAILABLE},
        {"58030", ERR_DATABASE_UNAVAILABLE},
        {NULL, ERR_DATABASE_UNAVAILABLE},
        {"42P01", ERR_INTERNAL},
        {"42501", ERR_INTERNAL},
        {"22P03", ERR_INTERNAL},
        {"25P02", ERR_INTERNAL},
        {"40002", ERR_INTERNAL},
        {"P0002", ERR_INTERNAL},
        {"XX000", ERR_INTERNAL},
        {"", ERR_INTERNAL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(sqlstate_err(cases[i].state), cases[i].e);
}

TEST(only_errors_that_outlive_the_statement_spoil_the_session)
{
    assert_true(sqlstate_spoils_session("25006"));
    assert_true(sqlstate_spoils_session("0A000"));
    assert_true(sqlstate_spoils_session("26000"));
    assert_false(sqlstate_spoils_session("40001"));
    assert_false(sqlstate_spoils_session("57014"));
    assert_false(sqlstate_spoils_session(NULL));
}
