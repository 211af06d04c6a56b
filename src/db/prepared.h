/* The prepared statements of one session. A statement is found by its text and the types of its parameters.
 * (An untyped NULL counts as another type.) */
#pragma once

#include "params.h"

#define PREPARED_NAME_SIZE 16

struct prepared_statement {
    char *sql;
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

/* Returns the index of the statement in items; adds it as PREPARED_NOT when it is new. */
size_t prepared_find(struct prepared *prepared, const char *sql, const struct params *params);
/* Forgets all statements: the session has ended. */
void prepared_forget(struct prepared *prepared);
/* After a pipeline: statements that were sent but not confirmed are not prepared. */
void prepared_settle(struct prepared *prepared);
