/* Encodes parameters in PostgreSQL's binary format, each with an explicit type, so that the server infers
 * none. */
#pragma once

#include "db/db.h"

/* Object ids in pg_type of built-in types, which never change. */
enum params_pg_type {
    PG_UNKNOWN = 0, /* of an untyped NULL: the server infers the type */
    PG_BOOL = 16,
    PG_BYTEA = 17,
    PG_NAME = 19,
    PG_INT8 = 20,
    PG_INT4 = 23,
    PG_TEXT = 25,
    PG_BYTEAS = 1001,
    PG_TEXTS = 1009,
    PG_INT8S = 1016
};

/* The longest statement has about a third of this. */
#define DB_PARAMS_MAX 64

/* The arguments of libpq. values point into storage. */
struct params {
    int count;
    uint32_t types[DB_PARAMS_MAX];
    const char *values[DB_PARAMS_MAX];
    int lengths[DB_PARAMS_MAX];
    int formats[DB_PARAMS_MAX];
    struct buf storage;
};

/* Encodes from into *params, reusing its storage: {0} before the first use, params_free after the last. More
 * than DB_PARAMS_MAX parameters are a bug and end the process. */
void params_encode(struct params *params, const struct db_param from[], size_t count);
void params_free(struct params *params);
