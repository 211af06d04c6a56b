/* Reads columns by their types. A wrong column, type or NULL is a bug and ends the process. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/mem.h"
#include "params.h"

struct db_rows {
    PGresult *result;
};

struct db_rows *rows_new(PGresult *result)
{
    struct db_rows *rows = NEW(struct db_rows);
    rows->result = result;
    return rows;
}

const char *rows_tag(const struct db_rows *rows)
{
    return PQcmdStatus(rows->result);
}

void db_rows_free(struct db_rows *rows)
{
    if (rows == NULL)
        return;
    PQclear(rows->result);
    free(rows);
}

void db_rows_free_at(struct db_rows **rows)
{
    db_rows_free(*rows);
}

void db_rows_free_all(struct db_rows *(*rows)[])
{
    for (size_t i = 0; (*rows)[i] != NULL; i++)
        db_rows_free((*rows)[i]);
}

size_t db_count(const struct db_rows *rows)
{
    return (size_t)PQntuples(rows->result);
}

size_t db_count_at_most(const struct db_rows *rows, size_t most)
{
    const size_t count = db_count(rows);
    if (count > most)
        log_fatal(EX_SOFTWARE, "a statement returned more rows than it may", "rows=%zu most=%zu column=%s",
            count, most, PQfname(rows->result, 0));
    return count;
}

static void check_place(const struct db_rows *rows, size_t row, int column)
{
    if (row >= db_count(rows) || column < 0 || column >= PQnfields(rows->result))
        log_fatal(EX_SOFTWARE, "a result has no such row or column", "row=%zu column=%d", row, column);
}

bool db_is_null(const struct db_rows *rows, size_t row, int column)
{
    check_place(rows, row, column);
    return PQgetisnull(rows->result, (int)row, column);
}

/* The column's bytes; NULL data for SQL NULL. */
static struct bytes value(
    const struct db_rows *rows, size_t row, int column, enum params_pg_type type, enum params_pg_type other)
{
    check_place(rows, row, column);
    Oid actual = PQftype(rows->result, column);
    if (actual != (Oid)type && actual != (Oid)other)
        log_fatal(EX_SOFTWARE, "a column does not have the expected type", "column=%s type=%u expected=%u",
            PQfname(rows->result, column), actual, (unsigned)type);
    if (PQgetisnull(rows->result, (int)row, column))
        return (struct bytes){0};
    return (struct bytes){(const uint8_t *)PQgetvalue(rows->result, (int)row, column),
        (size_t)PQgetlength(rows->result, (int)row, column)};
}

static struct bytes present(const struct db_rows *rows, size_t row, int column, enum params_pg_type type)
{
    struct bytes bytes = value(rows, row, column, type, type);
    if (bytes.data == NULL)
        log_fatal(EX_SOFTWARE, "a column is unexpectedly NULL", "column=%s", PQfname(rows->result, column));
    return bytes;
}

int64_t db_i64(const struct db_rows *rows, size_t row, int column)
{
    return (int64_t)be64_get(present(rows, row, column, PG_INT8).data);
}

size_t db_ordinal(const struct db_rows *rows, size_t row, int column, size_t count)
{
    const int64_t ordinal = db_i64(rows, row, column);
    if (ordinal < 1 || (uint64_t)ordinal > count)
        log_fatal(EX_SOFTWARE, "a row is of no item of the statement", "ordinal=%lld items=%zu column=%s",
            (long long)ordinal, count, PQfname(rows->result, column));
    return (size_t)ordinal - 1;
}

int32_t db_i32(const struct db_rows *rows, size_t row, int column)
{
    return (int32_t)be32_get(present(rows, row, column, PG_INT4).data);
}

bool db_bool(const struct db_rows *rows, size_t row, int column)
{
    return present(rows, row, column, PG_BOOL).data[0] != 0;
}

const char *db_text(const struct db_rows *rows, size_t row, int column)
{
    return (const char *)value(rows, row, column, PG_TEXT, PG_NAME)
        .data; /* libpq adds a NUL to every value */
}

struct bytes db_bytea(const struct db_rows *rows, size_t row, int column)
{
    return value(rows, row, column, PG_BYTEA, PG_BYTEA);
}

void db_copy(const struct db_rows *rows, size_t row, int column, void *out, size_t size)
{
    const struct bytes bytes = db_bytea(rows, row, column);
    if (bytes.len != size)
        log_fatal(EX_SOFTWARE, "a column does not have the expected length",
            "column=%s bytes=%zu expected=%zu", PQfname(rows->result, column), bytes.len, size);
    memcpy(out, bytes.data, size);
}
