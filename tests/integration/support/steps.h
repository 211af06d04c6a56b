/*
 * Everything that happens to the pool, step by step: on the real tables, and on the reference machine beside
 * them. What a step does is drawn from its random number and from the state that it meets.
 */
#ifndef FAIRWAY_TESTS_STEPS_H
#define FAIRWAY_TESTS_STEPS_H

#include "pool.h"
#include "reference.h"

enum kind {
    GRANT,
    GRANT_BAD, /* one of its rows is refused by the database */
    GRANT_CUT, /* its session is killed while it records */
    LEDGER,
    TIME,
    RETIRE,
    GAP,  /* grants stop, or go on */
    HOLD, /* the same for a database that may have forgotten */
    LOSE_SESSION,
    KINDS
};
struct step {
    enum kind kind;
    unsigned random;
};

/* One pool and its machine. pool is open, and steps_plant was called once. */
struct run {
    struct test_pool pool;
    struct reference reference;
    unsigned counter; /* makes each request another transaction */
    char wrong[300];  /* when a step went wrong */
};

/* Numbers that a seed decides. */
unsigned draw(unsigned *random, unsigned below);

/* Has the database fail grants as GRANT_BAD and GRANT_CUT want it, and remembers how the accounts were
 * seeded. */
void steps_plant(struct run *run);
/* Six idle accounts, two that do not exist yet, no lease; choices at random will be as after each such call.
 */
void steps_begin(struct run *run);
/* False, with run->wrong set, when the pool did what the machine does not allow. */
bool step_take(struct run *run, const struct step *step);

#endif
