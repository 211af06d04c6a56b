/*
 * The statements that one direct session has prepared: by the address of their text, which must be a literal,
 * and the types of their parameters (an untyped NULL is a type of its own).
 */
#ifndef FAIRWAY_DB_PREPARED_H
#define FAIRWAY_DB_PREPARED_H

#include "params.h"

#define PREPARED_NAME_SIZE 16

struct prepared_statement {
    const char *sql;
    uint32_t *types;
    int type_count;
    enum {
        PREPARED_NOT,
        PREPARED_SENT,
        PREPARED_READY
    } state;
    char name[PREPARED_NAME_SIZE];
};

struct prepared {
    struct prepared_statement *items;
    size_t count;
};

/* The place of the statement in items; new ones are added as PREPARED_NOT. */
size_t prepared_find(struct prepared *prepared, const char *sql, const struct params *params);
/* The session is gone, and what it had prepared with it. */
void prepared_forget(struct prepared *prepared);
/* After a pipeline: what was sent and not confirmed was not prepared. */
void prepared_settle(struct prepared *prepared);

#endif
