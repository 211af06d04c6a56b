/*
 * The operations on a pool as steps: each runs on the real tables and on the reference machine. What a step
 * does depends on its random number and on the state before it.
 */
#pragma once

#include "pool.h"
#include "reference.h"

enum kind {
    GRANT,
    GRANT_BAD, /* the database refuses one of its rows */
    GRANT_CUT, /* its session is killed while it records leases */
    LEDGER,
    TIME, /* time passes: the max times of open leases move into the past */
    RETIRE,
    GAP,          /* grants stop or resume */
    HOLD,         /* grants are put on hold, as after a restore, or resume */
    LOSE_SESSION, /* the server ends the pool's session */
    KINDS
};
struct step {
    enum kind kind;
    unsigned random;
};

/* A pool and its reference machine. The caller opens pool and calls steps_install once. */
struct run {
    struct test_pool pool;
    struct reference reference;
    unsigned counter; /* makes every transaction different */
    char wrong[300];  /* why a step failed */
};

/* Returns a number below `below` and advances the seed. */
unsigned draw(unsigned *random, unsigned below);

/* Installs the triggers that make GRANT_BAD and GRANT_CUT fail, and saves the initial accounts. */
void steps_install(struct run *run);
/* Resets: six idle accounts, two that do not exist yet, no lease, and the same seed for random(). */
void steps_begin(struct run *run);
/* Returns false, with run->wrong set, when the pool did what the machine does not allow. */
bool step_take(struct run *run, const struct step *step);
