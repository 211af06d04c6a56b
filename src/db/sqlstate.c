/* What an error of the server means for us. No message is read, only the code. */
#include "sqlstate.h"

#include "base/mem.h"
#include "base/text.h"

/* The first prefix that matches counts. */
static const struct {
    const char *prefix;
    enum err e;
} meanings[] = {
    {"40001", ERR_SERIALIZATION},     /* serialization_failure */
    {"40P01", ERR_SERIALIZATION},     /* deadlock_detected */
    {"0A000", ERR_SERIALIZATION},     /* feature_not_supported: "cached plan must not change result type" */
    {"26000", ERR_SERIALIZATION},     /* invalid_sql_statement_name: the prepared statement was deallocated */
    {"23", ERR_CONSTRAINT},           /* integrity constraints */
    {"P0001", ERR_CONSTRAINT},        /* raise_exception, by a trigger */
    {"08", ERR_DATABASE_UNAVAILABLE}, /* connection exceptions, also PgBouncer's own errors */
    {"25006", ERR_DATABASE_UNAVAILABLE}, /* read_only_sql_transaction: a standby */
    {"25P03", ERR_DATABASE_UNAVAILABLE}, /* idle_in_transaction_session_timeout */
    {"25P04", ERR_DATABASE_UNAVAILABLE}, /* transaction_timeout */
    {"28", ERR_DATABASE_UNAVAILABLE},    /* invalid authorization */
    {"3D000", ERR_DATABASE_UNAVAILABLE}, /* invalid_catalog_name: the database does not exist */
    {"53", ERR_DATABASE_UNAVAILABLE},    /* insufficient resources: disk full, too many connections */
    {SQLSTATE_LOCK_TIMEOUT, ERR_DATABASE_UNAVAILABLE}, /* lock_not_available */
    {"57", ERR_DATABASE_UNAVAILABLE}, /* operator intervention: cancelled, shutting down, crashed */
    {"58", ERR_DATABASE_UNAVAILABLE}, /* system errors */
};

enum err sqlstate_err(const char *state)
{
    if (state == NULL)
        return ERR_DATABASE_UNAVAILABLE;
    for (size_t i = 0; i < ARRAY_LEN(meanings); i++)
        if (text_starts(state, meanings[i].prefix))
            return meanings[i].e;
    return ERR_INTERNAL;
}

bool sqlstate_spoils_session(const char *state)
{
    return text_equal(state, "25006") || text_equal(state, "0A000") || text_equal(state, "26000");
}
